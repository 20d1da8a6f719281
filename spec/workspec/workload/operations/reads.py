"""Reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workspec.core.record import Record
from workspec.core.rule import Operation, ids
from workspec.core.scope import Scope
from workspec.workload.facts import versioned
from workspec.workload.operations.shared import (
    locate,
)


def _get(scope: Scope, after: Mapping[str, Record]) -> Any:
    record = after.get(scope.key or "")
    return None if record is None else versioned(record)


def _list(scope: Scope, after: Mapping[str, Record]) -> Any:
    wanted = (scope.call["tenant_id"], scope.call["application_id"])
    return [
        versioned(record)
        for _key, record in sorted(after.items())
        if (record.facts.terms.tenant_id, record.facts.terms.application_id) == wanted
    ]


GET: Final = Operation("get", locate=locate, checks=(), steps=(), answer=_get, requirements=ids("WRK-PRT-12"))
LIST: Final = Operation(
    "list_workloads",
    locate=lambda _scope: "",
    checks=(),
    steps=(),
    answer=_list,
    requirements=ids("WRK-PRT-12"),
)
