"""Migration of the legacy file (3.19)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from workspec.core.condition import flag
from workspec.core.record import Record
from workspec.core.rule import (
    Batch,
    Phase,
    Refuse,
    Skip,
    ids,
)
from workspec.core.scope import Scope
from workspec.workload import effects, legacy, terms
from workspec.workload.vocabulary import ErrorCode


def _file(scope: Scope) -> legacy.LegacyFile | None:
    if "legacy file" not in scope.settled:
        try:
            scope.settled["legacy file"] = legacy.read(scope.call["source"])
        except legacy.MalformedFile:
            scope.settled["legacy file"] = None
    found: legacy.LegacyFile | None = scope.settled["legacy file"]
    return found


@flag("the file is no legacy file", source="call")
def malformed_file(scope: Scope) -> bool:
    return _file(scope) is None


@flag("a workload of the file differs from the committed one", source="store")
def file_differs(scope: Scope) -> bool:
    file = _file(scope)
    return file is not None and legacy.differs_from_store(file, scope.state)


@flag("the derived parts of the file differ from those of file and store together", source="store")
def derived_parts_differ(scope: Scope) -> bool:
    file = _file(scope)
    return file is not None and not legacy.derived_parts_agree(file, scope.state)


def _records_of_file(scope: Scope) -> Iterable[Record]:
    file = _file(scope)
    return () if file is None else file.records.values()


MIGRATE: Final = Batch(
    "migrate",
    elements=_records_of_file,
    locate=lambda scope: str(scope.element.facts.workload_id),
    checks=(
        Refuse(ids("WRK-PRT-04"), ErrorCode.INVALID, when=malformed_file),
        Refuse(ids("WRK-MIG-02 WRK-PRT-05"), ErrorCode.MIGRATION_CONFLICT, when=file_differs),
        Refuse(ids("WRK-MIG-04 WRK-PRT-05"), ErrorCode.MIGRATION_CONFLICT, when=derived_parts_differ),
    ),
    phases=(Phase((Skip(ids("WRK-MIG-01"), when=terms.exists),)),),
    steps=(effects.take_over,),
    answer=lambda _scope, held, _after: len(held),
    atomic=False,
    requirements=ids("WRK-MIG-01 WRK-PRT-05"),
)
