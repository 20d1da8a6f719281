"""What tells two records of a job store apart, for a search that merges all others.

Left out of a row: its instant of enqueueing, its fence (a caller names it by what it is now), how often each step of
its checkpoint crashed, and what its last run was charged, once that run is over. Left out of a register entry: since
when, and after how many crashes. No rule reads them.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import lcm
from typing import Any, Final

from attrs import evolve, frozen

from workspec.core.record import Record
from workspec.jobs.facts import (
    BucketFacts,
    DutyFacts,
    FingerprintFacts,
    HoldFacts,
    JobFacts,
    StoreFacts,
)
from workspec.jobs.rules import DEFAULT_CRASH_LIMIT

PASSED: Final = -1
"""Milliseconds from now to every instant that lies behind."""


@frozen
class Fineness:
    """How much of the records can make a difference in a configuration.

    ``partitions``: so many at most have candidates in one queue, so that a cursor counts modulo every number up to
    that. ``rows``: a key may outlive the row that took it, so that rows of one id must be told apart. ``order``: draws
    and sweeps end before they have looked at everything, so that of two past instants the earlier one matters.
    ``attempts``: the most that a replacement may set.
    """

    partitions: int = 1
    rows: bool = False
    order: bool = False
    attempts: int = 0


def fold(record: Record, now_ms: int, fineness: Fineness) -> Hashable:
    """The identity of a record at an instant: all that can still make a difference to what is decided."""
    facts = record.facts
    match facts:
        case JobFacts():
            return _row(facts, now_ms, fineness)
        case HoldFacts():
            held = max(facts.until_ms - now_ms, PASSED)
            return (facts.holder, held, facts.row if fineness.rows else None)
        case BucketFacts():
            return (*_class(facts), facts.tokens, _elapsed(facts, now_ms))
        case FingerprintFacts():
            return (facts.fingerprint, facts.kind)
        case DutyFacts():
            return (facts.holder, max(facts.expires_at_ms - now_ms, PASSED))
        case StoreFacts():
            period = lcm(*range(1, fineness.partitions + 1))
            turns = tuple((queue, count % period) for queue, count in sorted(facts.cursors.items()))
            return (turns, facts.rows if fineness.rows else None)
    return tuple(sorted(vars(facts).items()))


def _row(facts: JobFacts, now_ms: int, fineness: Fineness) -> Hashable:
    """What a state cannot use again is left out: only waiting rows are due, and only kept ones are ever evicted. Counts
    are the same beyond the limit that they are compared with."""

    def left(instant_ms: int | None) -> int | None:
        if instant_ms is None or fineness.order:
            return None if instant_ms is None else instant_ms - now_ms
        return max(instant_ms - now_ms, PASSED)

    attempt = min(facts.attempt, max(facts.max_attempts, fineness.attempts))
    crashes = min(facts.crash_attempt, DEFAULT_CRASH_LIMIT)
    kept = (
        *(facts.kind, facts.schema_version, facts.payload, facts.queue, facts.partition_key, facts.rate_class),
        *(facts.weight, facts.fingerprint, facts.priority, facts.max_attempts, facts.retention_ms, facts.tags),
        *(facts.sticky_worker, facts.unique_key, facts.state, attempt, crashes),
        *(facts.row if fineness.rows else None, *_written(facts)),
    )
    if facts.finalized_at_ms is not None:
        ends = facts.retention_ms > 0 and facts.state != "quarantined"
        return (*kept, left(facts.finalized_at_ms + facts.retention_ms) if ends else None)
    due = left(facts.scheduled_at_ms)
    if facts.state == "running":
        return (*kept, due, facts.lease_id, left(facts.expires_at_ms), facts.charge)
    return (*kept, due)


def _written(facts: JobFacts) -> tuple[Any, ...]:
    output, progress, checkpoint = facts.output, facts.progress, facts.checkpoint
    return (
        facts.result,
        output and (output.schema_version, output.content),
        evolve(checkpoint, crashes_by_step=tuple((step, 0) for step, _count in checkpoint.crashes_by_step)),
        progress and (progress.current, progress.total, progress.message),
    )


def _class(facts: BucketFacts) -> tuple[Any, ...]:
    return (facts.name, facts.limit, facts.window_ms, facts.burst, facts.paused)


def _elapsed(facts: BucketFacts, now_ms: int) -> int:
    """How long ago tokens were last gained, as far as it matters: until the bucket is full and would gain."""
    if facts.paused or facts.limit <= 0:
        return 0
    lacking = max(facts.burst - facts.tokens, 1)
    enough_ms = -(-lacking * facts.window_ms // facts.limit)
    return min(now_ms - facts.refilled_at_ms, enough_ms)
