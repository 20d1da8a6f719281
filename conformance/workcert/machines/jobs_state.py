"""What the model of the jobs contract holds, as the machine asks: rows, holders of leases, instants that turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from workspec.core.record import State as Records
from workspec.jobs import rules
from workspec.jobs.facts import (
    EVICTABLE,
    UNFINISHED,
    BucketFacts,
    DutyFacts,
    FingerprintFacts,
    HoldFacts,
    JobFacts,
    QueueFacts,
)

DUE, LEASE, RETENTION, WINDOW, REFILL, DUTY = "due", "lease", "retention", "window", "refill", "duty"
TURNS_OF_TIME: Final = (DUE, LEASE, RETENTION, WINDOW, REFILL, DUTY)


@frozen(eq=False)
class Present:
    """One state of the model."""

    rows: Mapping[str, JobFacts]
    holds: tuple[HoldFacts, ...]
    buckets: tuple[BucketFacts, ...]
    duties: tuple[DutyFacts, ...]
    queues: tuple[QueueFacts, ...]
    fingerprints: tuple[FingerprintFacts, ...]

    @classmethod
    def of(cls, state: Records) -> Present:
        of_kind: defaultdict[type[Any], list[Any]] = defaultdict(list)
        for record in state.values():
            of_kind[type(record.facts)].append(record.facts)
        return cls(
            {row.id: row for row in of_kind[JobFacts]},
            tuple(of_kind[HoldFacts]),
            tuple(of_kind[BucketFacts]),
            tuple(of_kind[DutyFacts]),
            tuple(of_kind[QueueFacts]),
            tuple(of_kind[FingerprintFacts]),
        )

    def in_states(self, *states: str) -> list[JobFacts]:
        return [row for row in self.rows.values() if row.state in states]

    def admissible(self, now_ms: int) -> list[JobFacts]:
        """Available rows that are due and that no pause or quarantine holds back; of tokens nothing is asked."""
        paused = {queue.queue for queue in self.queues if queue.paused}
        blocked = {entry.fingerprint for entry in self.fingerprints}
        return [
            row
            for row in self.in_states("available")
            if row.scheduled_at_ms <= now_ms and row.queue not in paused and row.fingerprint not in blocked
        ]

    def holders(self, now_ms: int) -> set[str]:
        """Ids of jobs that hold a key in either mode."""
        living = {row.id for row in self.in_states(*UNFINISHED) if row.unique_key is not None}
        return living | {hold.holder for hold in self.holds if hold.until_ms > now_ms}

    def turning(self, kind: str, now_ms: int) -> Iterator[int]:
        """The instants at which something of this kind turns; those that have passed too."""
        match kind:
            case "due":
                yield from (row.scheduled_at_ms for row in self.in_states("scheduled", "retryable"))
            case "lease":
                yield from (row.expires_at_ms or 0 for row in self.in_states("running"))
            case "retention":
                yield from (
                    rules.later(row.finalized_at_ms or 0, row.retention_ms)
                    for row in self.in_states(*EVICTABLE)
                    if row.retention_ms > 0
                )
            case "window":
                yield from (hold.until_ms for hold in self.holds)
            case "refill":
                yield from (instant for bucket in self.buckets for instant in _refills(bucket, now_ms))
            case "duty":
                yield from (duty.expires_at_ms for duty in self.duties)

    def around(self, kind: str, now_ms: int) -> list[int]:
        """Before, at and after each instant of this kind that is still to come, in order of time."""
        later = {instant + side for instant in self.turning(kind, now_ms) for side in (-1, 0, 1)}
        return sorted(instant for instant in later if instant > now_ms)


def _refills(bucket: BucketFacts, now_ms: int) -> Iterator[int]:
    """The next instant at which a bucket gains a token, and the one at which it is full."""
    if bucket.paused or bucket.limit <= 0 or bucket.window_ms <= 0:
        return
    gained = rules.gain(now_ms, bucket.limit, bucket.window_ms, bucket.refilled_at_ms)
    missing = bucket.burst - bucket.tokens
    if gained >= missing:
        return
    for gain in sorted({gained + 1, missing}):
        yield bucket.refilled_at_ms - (-gain * bucket.window_ms // bucket.limit)
