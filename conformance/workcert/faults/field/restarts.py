"""What is lost, or begins anew, when a store is opened again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import define, evolve, field

from workcert.backends.protocol import Ability, Place
from workcert.backends.specification import Handle, SpecificationBackend, of
from workcert.binding import Binding
from workcert.faults.field.handles import operation_of, written_by
from workcert.faults.field.model import Seen, Tier, by_backend, by_restart
from workspec.core.interpreter import commit
from workspec.core.record import Record, replaced
from workspec.jobs.facts import HoldFacts, JobFacts, QueueFacts


def _with(record: Record, kind: type[Any], **facts: Any) -> Record:
    return evolve(record, facts=replaced(record.facts, facts)) if isinstance(record.facts, kind) else record


def _token_restarts(record: Record) -> Record:
    return evolve(record, facts=replaced(record.facts, {"last_token": 0}))


def _lease_restarts(record: Record) -> Record:
    claim = record.facts.claim
    if claim is None:
        return record
    whole = evolve(claim, expires_at=2 * claim.expires_at - claim.last_heartbeat)
    return evolve(record, facts=replaced(record.facts, {"claim": whole}))


def _fence_restarts(record: Record) -> Record:
    return _with(record, JobFacts, fence=0)


def _job_lease_restarts(record: Record) -> Record:
    facts = record.facts
    if not isinstance(facts, JobFacts) or facts.expires_at_ms is None or facts.claimed_at_ms is None:
        return record
    return _with(record, JobFacts, expires_at_ms=2 * facts.expires_at_ms - facts.claimed_at_ms)


def _window_is_lost(record: Record) -> Record | None:
    return None if isinstance(record.facts, HoldFacts) else record


def _settings_are_lost(record: Record) -> Record:
    return _with(record, QueueFacts, paused=False, limit=None)


# Admissions of before ------------------------------------------------------------------------------------------------


@define(eq=False)
class _NewcomerHandle(Handle):
    """Finds no scope that was admitted before it was opened on a closed store: its index is filled by admissions."""

    unseen: set[str] = field(kw_only=True)

    def _in_two_halves(self, name: str, arguments: dict[str, Any]) -> Any:
        if operation_of(self, name, arguments) != "admit":
            return Handle._in_two_halves(self, name, arguments)
        with self._shelf.lock:
            all_of_it = self._shelf.state
            known = {key: record for key, record in all_of_it.items() if key not in self.unseen}
            done = commit(self._contract, known, self._decided(known, name, arguments))
            written = written_by(known, done.state)
            self.unseen -= written.keys()
            self._shelf.state = {**all_of_it, **written}
        return self._answered(done.outcome)


@define(eq=False)
class _NewcomersBackend(SpecificationBackend):
    _unseen: dict[str, set[str]] = field(factory=dict, repr=False)
    _opened: dict[str, list[Handle]] = field(factory=dict, repr=False)

    def open(self, place: Place, config: Mapping[str, Any]) -> Handle:
        right = SpecificationBackend.open(self, place, config)
        opened = self._opened.setdefault(place.name, [])
        unseen = self._unseen.setdefault(place.name, set())
        if opened and all(handle.closed for handle in opened):
            opened.clear()
            unseen.update(right._shelf.state)
        handle = _NewcomerHandle(right._contract, right._binding, right._shelf, right._choose, unseen=unseen)
        opened.append(handle)
        return handle

    def forget(self, place: Place) -> None:
        self._unseen.pop(place.name, None)
        self._opened.pop(place.name, None)
        SpecificationBackend.forget(self, place)


def _newcomers(binding: Binding) -> _NewcomersBackend:
    right = of(binding)
    return _NewcomersBackend(right.binding, right.specification, right.profiles, right.abilities, right.configurable)


WORKLOAD: Final = (
    Seen(
        "tokens begin anew after a restart",
        "WRK-CLM-10 WRK-INV-14",
        "",
        Tier.CLOCK,
        "The counter lives in the process, and starts where the code says.",
        by_restart(_token_restarts),
    ),
    Seen(
        "a restart forgets what was admitted under which key",
        "WRK-REP-06 WRK-REP-01 WRK-REP-05 WRK-INV-14",
        "admit",
        Tier.CLOCK,
        "Keys are looked up in an index in memory that is filled by admissions and never from the rows.",
        by_backend(_newcomers, Ability.RESTART),
    ),
    Seen(
        "a restart gives every lease its whole length again",
        "WRK-INV-14 WRK-DLN-05 WRK-REC-01",
        "",
        Tier.CLOCK,
        "What is kept is the length of a lease, and a timer starts with it when the store is opened.",
        by_restart(_lease_restarts),
    ),
)
JOBS: Final = (
    Seen(
        "fences begin anew after a restart",
        "JOB-GEN-07 JOB-DUR-01 JOB-DUR-02",
        "",
        Tier.CLOCK,
        "The counter lives in the process, and starts where the code says.",
        by_restart(_fence_restarts),
    ),
    Seen(
        "a restart forgets the windows of keys",
        "JOB-UNQ-05 JOB-DUR-03",
        "",
        Tier.CLOCK,
        "What was seen lately is kept in memory, as if only the same process could see it again.",
        by_restart(_window_is_lost),
    ),
    Seen(
        "a restart gives every lease its whole length again",
        "JOB-DUR-02 JOB-DUR-01 JOB-DUR-03 JOB-RCL-01",
        "",
        Tier.CLOCK,
        "What is kept is the length of a lease, and a timer starts with it when the store is opened.",
        by_restart(_job_lease_restarts),
    ),
    Seen(
        "a restart loses pauses and limits",
        "JOB-DUR-03 JOB-PAU-01 JOB-BPR-01",
        "",
        Tier.CLOCK,
        "Settings are applied to what is in memory, and what was stored of them is only shown.",
        by_restart(_settings_are_lost),
    ),
)
