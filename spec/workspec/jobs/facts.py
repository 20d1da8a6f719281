"""The model's records: one kind of facts for each thing that a job store keeps.

A store is one map from keys to records; the prefix of a key says what kind of facts stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from workspec.core.record import Record
from workspec.jobs.vocabulary import (
    Checkpoint,
    Claim,
    Envelope,
    HistoryEntry,
    Job,
    JobOutput,
    JobProgress,
    JobResult,
    State,
)

HISTORY_LIMIT: Final = 50
"""JOB-ACK-17."""
UNFINISHED: Final = ("pending", "scheduled", "available", "running", "retryable")
WAITING: Final = ("pending", "scheduled", "available", "retryable")
EVICTABLE: Final = ("completed", "archived", "cancelled", "undecodable")
STORE_KEY: Final = "store"


@frozen(slots=False)
class JobFacts:
    """One row. ``unique_key`` is the effective key that it holds while unfinished; None without one, or in throttle
    mode. ``charge``: what its last admission took from the bucket of its class. ``row`` tells it from an earlier row of
    the same id (A-44)."""

    id: str
    kind: str
    schema_version: int
    payload: bytes
    queue: str
    partition_key: str
    rate_class: str
    weight: int
    fingerprint: str
    priority: int
    max_attempts: int
    scheduled_at_ms: int
    timeout_ms: int
    deadline_ms: int
    retention_ms: int
    periodic_schedule_id: str
    periodic_tick_ms: int
    headers: Mapping[str, str]
    tags: tuple[str, ...]
    sticky_worker: str
    unique_key: bytes | None
    row: int
    enqueued_at_ms: int
    checkpoint: Checkpoint
    state: str = "new"
    attempt: int = 0
    crash_attempt: int = 0
    fence: int = 0
    lease_id: str | None = None
    expires_at_ms: int | None = None
    claimed_at_ms: int | None = None
    finalized_at_ms: int | None = None
    charge: int = 0
    result: JobResult | None = None
    output: JobOutput | None = None
    progress: JobProgress | None = None

    def moved(self, target: str, _now_ms: int, _actor: str, _evidence: Mapping[str, str]) -> dict[str, Any]:
        """The changes of one state change. *deleted* is the row's absence."""
        return {"*": None} if target == "deleted" else {"state": target}


@frozen(slots=False)
class JobLog:
    history: tuple[HistoryEntry, ...] = ()


@frozen(slots=False)
class HoldFacts:
    """A key in throttle mode: held until its window ends, whatever becomes of the row that took it."""

    holder: str
    row: int
    until_ms: int


@frozen(slots=False)
class BucketFacts:
    name: str
    limit: int
    window_ms: int
    burst: int
    tokens: int
    refilled_at_ms: int
    paused: bool


@frozen(slots=False)
class QueueFacts:
    """What operators have set for a queue."""

    queue: str
    paused: bool = False
    limit: int | None = None


@frozen(slots=False)
class FingerprintFacts:
    """An entry of the quarantine register."""

    fingerprint: str
    kind: str
    crash_attempt: int
    since_ms: int


@frozen(slots=False)
class DutyFacts:
    name: str
    holder: str
    expires_at_ms: int


@frozen(slots=False)
class EffectFacts:
    """A claimed effect key; never released."""

    key: str


@frozen(slots=False)
class StoreFacts:
    """``cursors``: by queue, how often its draw has begun (6.1). ``rows``: how many rows there have ever been."""

    cursors: Mapping[str, int]
    rows: int


EMPTY_LOG: Final = JobLog()
INSTANTS: Final[Mapping[type, tuple[str, ...]]] = {
    JobFacts: ("scheduled_at_ms", "enqueued_at_ms", "expires_at_ms", "claimed_at_ms", "finalized_at_ms"),
    HistoryEntry: ("at_ms",),
    JobOutput: ("updated_at_ms",),
    JobProgress: ("updated_at_ms",),
    HoldFacts: ("until_ms",),
    BucketFacts: ("refilled_at_ms",),
    FingerprintFacts: ("since_ms",),
    DutyFacts: ("expires_at_ms",),
}
"""The members that are instants. A tick of a schedule is what its owner says it is."""
NEW_STORE: Final = StoreFacts({}, 0)


def job_key(job_id: str) -> str:
    return f"job/{job_id}"


def hold_key(effective_key: bytes) -> str:
    return f"hold/{effective_key.hex()}"


def bucket_key(name: str) -> str:
    return f"bucket/{name}"


def queue_key(queue: str) -> str:
    return f"queue/{queue}"


def fingerprint_key(fingerprint: str) -> str:
    return f"fingerprint/{fingerprint}"


def duty_key(name: str) -> str:
    return f"duty/{name}"


def effect_key(key: str) -> str:
    return f"effect/{key}"


# Shown -----------------------------------------------------------------------------------------------------------


def envelope_of(facts: JobFacts) -> Envelope:
    """A claim's copy of a row; what belonged to the request alone comes back empty (3.1)."""
    return Envelope(
        id=facts.id,
        kind=facts.kind,
        schema_version=facts.schema_version,
        payload=facts.payload,
        queue=facts.queue,
        partition_key=facts.partition_key,
        rate_class=facts.rate_class,
        weight=facts.weight,
        fingerprint=facts.fingerprint,
        priority=facts.priority,
        attempt=facts.attempt,
        crash_attempt=facts.crash_attempt,
        max_attempts=facts.max_attempts,
        scheduled_at_ms=facts.scheduled_at_ms,
        timeout_ms=facts.timeout_ms,
        deadline_ms=facts.deadline_ms,
        unique_key=None,
        unique_states=0,
        unique_window_ms=0,
        unique_replace=0,
        unique_debounce_ms=0,
        unique_exclude_kind=False,
        retention_ms=facts.retention_ms,
        periodic_schedule_id=facts.periodic_schedule_id,
        periodic_tick_ms=facts.periodic_tick_ms,
        headers=facts.headers,
        tags=facts.tags,
        pending=False,
        sticky_worker=facts.sticky_worker,
    )


def claim_of(facts: JobFacts) -> Claim:
    """What the holder of a running row was given (JOB-ADM-08)."""
    return Claim(envelope_of(facts), facts.lease_id or "", facts.fence, facts.expires_at_ms or 0, facts.checkpoint)


def present(record: Record) -> Job:
    """The row as operators read it, payload and headers included (JOB-INS-02)."""
    facts: JobFacts = record.facts
    log: JobLog = record.log
    # By position, in the order of the vocabulary: by name it takes twice as long.
    return Job(
        facts.id,
        facts.kind,
        facts.queue,
        State(facts.state),
        facts.schema_version,
        facts.priority,
        facts.attempt,
        facts.crash_attempt,
        facts.max_attempts,
        facts.partition_key,
        facts.rate_class,
        facts.sticky_worker,
        facts.weight,
        facts.fingerprint,
        facts.enqueued_at_ms,
        facts.scheduled_at_ms,
        facts.claimed_at_ms,
        facts.expires_at_ms,
        facts.finalized_at_ms,
        facts.retention_ms,
        facts.timeout_ms,
        facts.deadline_ms,
        facts.periodic_schedule_id,
        facts.periodic_tick_ms,
        facts.crash_attempt > 0,
        facts.payload,
        facts.headers,
        log.history[-HISTORY_LIMIT:],
        facts.tags,
    )
