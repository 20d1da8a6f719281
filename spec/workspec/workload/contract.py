"""The workload contract in one value."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from workspec.core.contract import Contract, Unique
from workspec.core.rule import ids
from workspec.core.scope import Call
from workspec.workload.choices import CHOICES
from workspec.workload.facts import EMPTY_LOG, INSTANTS, Facts, absorb, present
from workspec.workload.invariants import INVARIANTS
from workspec.workload.operations import OPERATIONS
from workspec.workload.requirements import CATALOGUE
from workspec.workload.tables import STATES, TABLES, TRANSITIONS
from workspec.workload.vocabulary import ErrorCode, State


def result_id_of(facts: Facts) -> Hashable | None:
    return None if facts.result is None else facts.result.result_id


def instant(call: Call, at_s: int | None) -> int:
    """P-01: an admission happens at the request's ``created_at``; reads and migration have no instant."""
    if call.name == "admit":
        return int(call.arguments["request"].created_at)
    return 0 if at_s is None else at_s


CONTRACT: Final = Contract(
    name="workload",
    version=CATALOGUE.version,
    catalogue=CATALOGUE,
    operations=OPERATIONS,
    transitions=TRANSITIONS,
    tables=TABLES,
    choices=CHOICES,
    invariants=INVARIANTS,
    uniques=(Unique(ids("WRK-PRT-08 WRK-CMP-04"), result_id_of, ErrorCode.RESULT_DUPLICATE),),
    states=STATES,
    conflict_code=ErrorCode.CONFLICT,
    conflict_requirements=ids("WRK-MWR-05 WRK-PRT-09"),
    start_state=State.CREATED,
    empty_log=EMPTY_LOG,
    present=present,
    absorb=absorb,
    instants=INSTANTS,
    instant=instant,
    comparisons={
        "version": ids("WRK-GEN-04"),
        "refusal": ids("WRK-GEN-02 WRK-GEN-01 WRK-INV-10"),
        "others": ids("WRK-INV-15"),
        "restart": ids("WRK-INV-14"),
        "stale view": ids("WRK-MWR-04"),
        "read": ids("WRK-PRT-12 WRK-PRT-06"),
    },
    shown_as={
        "claim": "current_claim",
        "attempt": "attempts",
        "log.attempts": "attempts",
        "log.checkpoints": "checkpoints",
        "log.history": "execution_history",
        "reports": "last_failure",
    },
)
