"""Admission (sections 3.1 and 3.2)."""

from __future__ import annotations

from typing import Final

from workspec.core.rule import (
    Evidence,
    Move,
    Operation,
    Refuse,
    Reply,
    ids,
)
from workspec.core.scope import Scope
from workspec.workload import choices, effects, terms
from workspec.workload.facts import present
from workspec.workload.operations.shared import (
    record_of,
    secret,
)
from workspec.workload.rules import conflicting_fields
from workspec.workload.vocabulary import Admitted, ErrorCode


def _locate_admission(scope: Scope) -> str:
    """The record of this scope under whatever id, else the id that a new one gets."""
    found = terms.key_of_scope(scope)
    return found if found is not None else str(scope.choose(choices.WORKLOAD_ID, scope))


ADMIT: Final = Operation(
    "admit",
    locate=_locate_admission,
    order=ids("WRK-ADM-02"),
    checks=(
        secret(terms.secret_in_input, "WRK-ADM-03"),
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.unsound_request, unordered=True),
        Refuse(ids("WRK-ADM-04"), ErrorCode.INVALID, when=terms.blank_key),
        Refuse(ids("WRK-ADM-05"), ErrorCode.INVALID, when=terms.zero_timeout),
        Refuse(ids("WRK-ADM-06"), ErrorCode.UNAUTHORIZED, when=terms.grant_differs),
        Refuse(
            ids("WRK-REP-01 WRK-REP-02 WRK-REP-03 WRK-GEN-05"),
            ErrorCode.IDEMPOTENCY_KEY_REUSED,
            when=terms.exists & terms.request_differs,
            details=lambda scope: {"fields": list(conflicting_fields(scope.call["request"], scope.facts.terms))},
        ),
        Reply(
            ids("WRK-REP-05 WRK-REP-01 WRK-ADM-14"),
            when=terms.exists,
            answer=lambda scope: Admitted(present(scope.state[scope.key or ""]), created=False),
        ),
    ),
    steps=(
        effects.create_record,
        Move(
            "admit",
            choices.CREATION_ACTOR,
            ids("WRK-ADM-12 WRK-GEN-06"),
            (Evidence("not_before", terms.not_before),),
            choices.OPEN_EVIDENCE,
        ),
    ),
    answer=lambda scope, after: Admitted(present(record_of(scope, after)), created=True),
    requirements=ids("WRK-ADM-07 WRK-ADM-14"),
    again=True,
)
