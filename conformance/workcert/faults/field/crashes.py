"""What is lost, or left half done, when a process dies between two writes of one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from attrs import evolve, frozen

from workcert.backends.protocol import Ability
from workcert.backends.registry import LoadedBackend, describe
from workcert.binding import Binding, bindings
from workcert.faults.durable import DurableBackend, durable
from workcert.faults.field.model import Made, Seen, Tier, by_backend
from workspec.core.record import Record, State, replaced
from workspec.jobs.facts import JobFacts


@frozen
class _Recipe:
    """By the name that a fault has among those of this module."""

    contract: str
    name: str

    def __call__(self) -> LoadedBackend:
        seen = next(each for each in OF_CONTRACT[self.contract] if each.name == self.name)
        return describe(seen.name, seen.made.backend(bindings()[self.contract]))


Half = Callable[[Record | None, Record], "Record | None"]
"""From a row before an operation and after it, to what the first of two writes makes of it."""


def _in_two_writes(name: str, operation: str, half: Half) -> Made:
    def writes(made: str, before: State, after: State) -> Iterable[State]:
        if made == operation:
            rows = {key: record for key, record in after.items() if before.get(key) is not record}
            first = {key: half(before.get(key), record) for key, record in rows.items()}
            yield {**before, **{key: record for key, record in first.items() if record is not None}}
        yield after

    return _made(name, writes)


def _row_by_row(name: str, operation: str) -> Made:
    def writes(made: str, before: State, after: State) -> Iterable[State]:
        written = {key: record for key, record in after.items() if before.get(key) is not record}
        stored = dict(before)
        for key, record in written.items() if made == operation else ():
            stored = {**stored, key: record}
            yield stored
        yield after

    return _made(name, writes)


def _made(name: str, writes: Callable[[str, State, State], Iterable[State]]) -> Made:
    def backend(binding: Binding) -> DurableBackend:
        return durable(binding, _Recipe(binding.name, name), writes)

    return by_backend(backend, Ability.KILL)


def _without_lease(_before: Record | None, record: Record) -> Record:
    return evolve(record, facts=replaced(record.facts, {"claim": None}))


def _state_first(before: Record | None, record: Record) -> Record | None:
    """The new state on the row as it was."""
    if before is None:
        return None
    return evolve(before, facts=replaced(before.facts, {"state": record.facts.state}), version=record.version)


def _state_last(before: Record | None, record: Record) -> Record:
    if before is None:
        return record
    return evolve(record, facts=replaced(record.facts, {"state": before.facts.state}))


def _running_without_lease(_before: Record | None, record: Record) -> Record:
    facts: Any = record.facts
    if not isinstance(facts, JobFacts):
        return record
    return evolve(record, facts=replaced(facts, {"lease_id": "", "expires_at_ms": None}))


def _job_state_last(before: Record | None, record: Record) -> Record:
    return _state_last(before, record) if isinstance(record.facts, JobFacts) else record


CLAIM, RESULT, PASS = (
    "a claim dies before its lease is stored",
    "a result is stored, and the end of its work is not",
    "a recovery dies before the attempt is closed",
)
WORKLOAD: Final = (
    Seen(
        CLAIM,
        "WRK-GEN-01 WRK-INV-14 WRK-REC-01 WRK-CLM-09",
        "claim",
        Tier.CRASH,
        "The state is written first, and the record by which recovery finds lost work comes after it.",
        _in_two_writes(CLAIM, "claim", _without_lease),
    ),
    Seen(
        RESULT,
        "WRK-GEN-01 WRK-INV-14 WRK-CMP-07",
        "complete",
        Tier.CRASH,
        "Result and state are kept in two places, each with a transaction of its own.",
        _in_two_writes(RESULT, "complete", _state_last),
    ),
    Seen(
        PASS,
        "WRK-GEN-01 WRK-INV-14 WRK-REC-02",
        "recover_expired",
        Tier.CRASH,
        "The row is made free for others first, and what has happened to it is noted down later.",
        _in_two_writes(PASS, "recover_expired", _state_first),
    ),
)
ADMISSION, BATCH, SWEEP = (
    "an admission dies before the lease is stored",
    "a batch is stored row by row",
    "a sweep counts a lost lease before it frees the job",
)
JOBS: Final = (
    Seen(
        ADMISSION,
        "JOB-GEN-01 JOB-DUR-01 JOB-GEN-06 JOB-ADM-10",
        "admit",
        Tier.CRASH,
        "The job is moved to the running ones first, and its lock is set after that.",
        _in_two_writes(ADMISSION, "admit", _running_without_lease),
    ),
    Seen(
        BATCH,
        "JOB-GEN-01 JOB-DUR-01 JOB-ENQ-01",
        "enqueue",
        Tier.CRASH,
        "Each row is inserted and committed by itself, since one statement takes one row.",
        _row_by_row(BATCH, "enqueue"),
    ),
    Seen(
        SWEEP,
        "JOB-GEN-01 JOB-DUR-01 JOB-RCL-02",
        "reclaim_expired",
        Tier.CRASH,
        "The counter is raised at once and by itself, so that it is right whatever comes after.",
        _in_two_writes(SWEEP, "reclaim_expired", _job_state_last),
    ),
)
OF_CONTRACT: Final = {"workload": WORKLOAD, "jobs": JOBS}
