"""What holds of every committed row (14)."""

from __future__ import annotations

from typing import Final

from workspec.core.contract import Invariant
from workspec.jobs.facts import HISTORY_LIMIT, UNFINISHED
from workspec.jobs.vocabulary import Job


def _lease_iff_running(job: Job) -> bool:
    return (job.lease_expires_at_ms is not None) == (job.state == "running") == (job.claimed_at_ms is not None)


def _finalized_iff_finished(job: Job) -> bool:
    return (job.finalized_at_ms is None) == (job.state in UNFINISHED)


def _orphaned(job: Job) -> bool:
    return job.orphaned == (job.crash_attempt > 0)


def _bounded(job: Job) -> bool:
    return len(job.history) <= HISTORY_LIMIT


def _counters_rise(before: Job | None, after: Job | None, _code: str | None) -> bool:
    if before is None or after is None or before.enqueued_at_ms != after.enqueued_at_ms:
        return True
    return after.attempt >= before.attempt and after.crash_attempt >= before.crash_attempt


INVARIANTS: Final = (
    Invariant(
        "JOB-INV-01",
        "record",
        "a lease is there exactly while the job runs",
        _lease_iff_running,
        ("lease_expires_at_ms", "state", "claimed_at_ms"),
    ),
    Invariant(
        "JOB-INV-08",
        "record",
        "finished rows have an instant of it, others none",
        _finalized_iff_finished,
        ("finalized_at_ms", "state"),
    ),
    Invariant("JOB-INS-03", "record", "orphaned means that a lease was lost", _orphaned, ("orphaned", "crash_attempt")),
    Invariant("JOB-ACK-17", "record", "the history holds the newest 50 entries at most", _bounded, ("history",)),
    Invariant(
        "JOB-GEN-08",
        "step",
        "neither counter ever falls",
        _counters_rise,
        ("enqueued_at_ms", "attempt", "crash_attempt"),
    ),
)
