"""The jobs contract in one value."""

from __future__ import annotations

from typing import Any, Final

from workspec.core.contract import Contract
from workspec.core.record import Record
from workspec.core.rule import ids
from workspec.core.scope import Call
from workspec.jobs.choices import CHOICES
from workspec.jobs.facts import EMPTY_LOG, INSTANTS, JobFacts, present
from workspec.jobs.invariants import INVARIANTS
from workspec.jobs.operations import OPERATIONS
from workspec.jobs.operations.enqueue import blanked
from workspec.jobs.operations.inspection import BLOCKER
from workspec.jobs.operations.worker import by_outcome
from workspec.jobs.requirements import CATALOGUE
from workspec.jobs.symptoms import SYMPTOMS
from workspec.jobs.tables import NEW, STATES, TRANSITIONS


def resolved(call: Call) -> Call:
    """A call of the port as that of an operation: an ack by its outcome, one inside a transaction as one outside."""
    if call.name == "ack":
        return by_outcome(call)
    if call.name == "enqueue_without_uniqueness":
        return blanked(call)
    if call.name == "complete_tx":
        return Call("ack success", {**call.arguments, "error": None, "logs": (), "delay_ms": None})
    if call.name.endswith("_tx"):
        return Call(call.name.removesuffix("_tx"), call.arguments)
    return call


def absorb(_shown: Any, _version: int | None) -> Record:
    """Raises:
    TypeError: always; a job store takes no rows from outside.
    """
    raise TypeError("the jobs contract has no injection")


def instant(_call: Call, at_ms: int | None) -> int:
    """JOB-GEN-02: the store's clock; the kit says where it has put it."""
    return 0 if at_ms is None else at_ms


CONTRACT: Final = Contract(
    name="jobs",
    version=CATALOGUE.version,
    catalogue=CATALOGUE,
    operations=OPERATIONS,
    transitions=TRANSITIONS,
    tables=(BLOCKER,),
    choices=CHOICES,
    invariants=INVARIANTS,
    uniques=(),
    states=STATES,
    conflict_code=None,
    conflict_requirements=ids("JOB-GEN-01"),
    start_state=NEW,
    empty_log=EMPTY_LOG,
    present=present,
    absorb=absorb,
    instants=INSTANTS,
    shows=lambda record: isinstance(record.facts, JobFacts),
    instant=instant,
    comparisons={
        "version": ids("JOB-GEN-05"),
        "refusal": ids("JOB-GEN-05 JOB-INV-11"),
        "others": ids("JOB-GEN-05"),
        "restart": ids("JOB-DUR-01 JOB-DUR-02 JOB-DUR-03"),
        "stale view": ids("JOB-MWR-01"),
        "read": ids("JOB-INS-01"),
        "count": ids("JOB-INS-05 JOB-INV-10"),
        "clock": ids("JOB-CLK-02 JOB-CLK-01"),
        "transaction": ids("JOB-TXN-01"),
        "enqueue_tx": ids("JOB-TXN-02"),
        "complete_tx": ids("JOB-TXN-03"),
        "checkpoint_tx": ids("JOB-TXN-05"),
    },
    shown_as={
        "log.history": "history",
        "expires_at_ms": "lease_expires_at_ms",
        "lease_id": "lease_expires_at_ms",
        "fence": "state",
        "tokens": "available_tokens",
    },
    resolved=resolved,
    symptoms=SYMPTOMS,
)
