"""Jobs go out: the draw (6.1) and the gate that each candidate must pass (JOB-ADM-05).

The profiles QUANTUM, QWEIGHT and CONCURRENCY would replace `_draw`, the order of the queues, and add to the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from attrs import frozen

from workspec.jobs.vocabulary import AdmissionUnit, Claim, State
from workstore.memory.carriers import changed
from workstore.memory.jobs import buckets
from workstore.memory.jobs.numbers import plus
from workstore.memory.jobs.refusals import invalid
from workstore.memory.jobs.rows import Bucket, Lease, Row, effective_weight
from workstore.memory.jobs.tables import View


@frozen
class Request:
    worker: str
    lease_id: str
    queues: Sequence[str]
    capacity: int
    lease_ms: int


def check_lease_length(lease_ms: int) -> None:
    """
    Raises:
        JobError: Invalid (``bad_lease``) (JOB-ADM-01, JOB-RNW-01, JOB-DTY-01).
    """
    if lease_ms < 1:
        raise invalid("bad_lease", "a lease lasts at least one millisecond")


def admit(view: View, request: Request, now_ms: int) -> list[AdmissionUnit]:
    """Lease up to ``capacity`` jobs. Queues are served in the order of the request, repeats dropped (JOB-ADM-14),
    each until it is drained."""
    gate = Gate(view, now_ms)
    units: list[AdmissionUnit] = []
    for queue in dict.fromkeys(request.queues):
        room = request.capacity - len(units)
        if room <= 0:
            break
        if view.pauses.get(queue):
            continue
        for row in _drawn_from(view, queue, request.worker, room, gate.passes, now_ms):
            units.append(AdmissionUnit(claims=(_claim(view, gate, row, request, now_ms),)))
    gate.charge()
    return units


class Gate:
    """The policies of one call. A row that does not pass stays as it is (JOB-GEN-11)."""

    def __init__(self, view: View, now_ms: int) -> None:
        self._view = view
        self._now_ms = now_ms
        self._spent: dict[str, int] = {}

    def passes(self, row: Row) -> bool:
        """Quarantine first, then the rate class (JOB-ADM-05). What passes is counted as spent."""
        if self._view.registry.get(row.envelope.fingerprint) is not None:
            return False
        bucket = self._refilled(row)
        if bucket is None:
            return True
        rate_class, cost = row.envelope.rate_class, effective_weight(row)
        spent = self._spent.get(rate_class, 0)
        if bucket.paused or spent + cost > bucket.tokens:
            return False
        self._spent[rate_class] = spent + cost
        return True

    def charge_of(self, row: Row) -> int:
        """What the row is charged with: nothing where its class has no bucket (JOB-RATE-04)."""
        return 0 if self._bucket(row) is None else effective_weight(row)

    def charge(self) -> None:
        """After the draw: take from each bucket what was spent."""
        for rate_class, spent in self._spent.items():
            bucket = self._view.buckets.get(rate_class)
            if bucket is not None:
                self._view.buckets.put(rate_class, buckets.charged(bucket, spent))

    def _bucket(self, row: Row) -> Bucket | None:
        """None for a row without a class, too: no class is no limit (JOB-RATE-02)."""
        return self._view.buckets.get(row.envelope.rate_class) if row.envelope.rate_class else None

    def _refilled(self, row: Row) -> Bucket | None:
        bucket = self._bucket(row)
        if bucket is None:
            return None
        refilled = buckets.refilled(bucket, self._now_ms)
        if refilled is not bucket:
            self._view.buckets.put(row.envelope.rate_class, refilled)
        return refilled


def _drawn_from(
    view: View, queue: str, worker: str, room: int, passes: Callable[[Row], bool], now_ms: int
) -> list[Row]:
    """The draw from one queue. Its cursor moves whenever there was a candidate, even if none passed."""
    partitions = _candidates(view, queue, worker, now_ms)
    if not partitions:
        return []
    cursor = view.cursors.get(queue) or 0
    view.cursors.put(queue, cursor + 1)
    start = cursor % len(partitions)
    return _draw(partitions[start:] + partitions[:start], room, passes)


def _candidates(view: View, queue: str, worker: str, now_ms: int) -> list[Iterator[Row]]:
    """For each partition with a candidate, ascending by name, its candidates, best first (JOB-ADM-03, JOB-ADM-11).
    Policies have no say in this (JOB-FAIR-04)."""
    partitions: list[Iterator[Row]] = []
    for partition in view.index.partitions(queue):
        candidates = _candidates_of(view, queue, partition, worker, now_ms)
        first = next(candidates, None)
        if first is not None:
            partitions.append(chain((first,), candidates))
    return partitions


def _candidates_of(view: View, queue: str, partition: str, worker: str, now_ms: int) -> Iterator[Row]:
    for _, due_ms, job_id in view.index.places(queue, partition, worker):
        if due_ms <= now_ms:
            yield view.present(job_id)


def _draw(partitions: Sequence[Iterator[Row]], room: int, passes: Callable[[Row], bool]) -> list[Row]:
    """Round after round, one row of each partition: the first that passes. Those before it are out for this
    call (JOB-ADM-09)."""
    drawn: list[Row] = []
    while True:
        drawn_before = len(drawn)
        for candidates in partitions:
            if len(drawn) == room:
                return drawn
            row = next((candidate for candidate in candidates if passes(candidate)), None)
            if row is not None:
                drawn.append(row)
        if len(drawn) == drawn_before:
            return drawn


def _claim(view: View, gate: Gate, row: Row, request: Request, now_ms: int) -> Claim:
    """JOB-ADM-06..08."""
    lease = Lease(request.lease_id, plus(now_ms, request.lease_ms), now_ms)
    running = changed(row, state=State.RUNNING, fence=row.fence + 1, lease=lease, charge=gate.charge_of(row))
    view.put(running)
    return Claim(
        envelope=changed(row.envelope, headers=dict(row.envelope.headers)),
        lease_id=lease.lease_id,
        fence=running.fence,
        expires_at_ms=lease.expires_at_ms,
        checkpoint=row.checkpoint,
    )
