"""The nouns of the jobs contract.

These types only carry: no validators, no defaults, no helpers. A store must see bad input to be able to refuse it, and
a fault in a shared helper would be a fault that no certification can find.

Units: a name ending in ``_ms`` is an instant or a duration in integer milliseconds, by the store's own clock.

JSON forms, wherever one is written (case file, report): an object with the field names below, a tuple as an array, an
absent optional as null, an enumeration as its value, bytes as ``{"$bytes": base64}``.

Those with many members keep them in a dictionary: frozen ones with slots take twice as long to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag, StrEnum
from typing import TypeAlias

from attrs import frozen

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class State(StrEnum):
    """The states of a row. A deleted row is absent; *deleted* is no stored state."""

    PENDING = "pending"
    SCHEDULED = "scheduled"
    AVAILABLE = "available"
    RUNNING = "running"
    RETRYABLE = "retryable"
    COMPLETED = "completed"
    ARCHIVED = "archived"
    CANCELLED = "cancelled"
    UNDECODABLE = "undecodable"
    QUARANTINED = "quarantined"


class Outcome(StrEnum):
    """What a worker says of a run. ``LEASE_LOST`` is what the reclaimer writes into a history; nobody may ack it."""

    SUCCESS = "success"
    RETRY = "retry"
    SKIP = "skip"
    REVOKE = "revoke"
    SNOOZE = "snooze"
    LEASE_LOST = "lease_lost"
    UNDECODABLE = "undecodable"
    RATE_LIMITED = "rate_limited"


class Replace(IntFlag):
    """Bits of ``Envelope.unique_replace``: what a conflicting enqueue copies to the holder of the key."""

    PAYLOAD = 1
    SCHEDULED_AT = 2
    PRIORITY = 4
    MAX_ATTEMPTS = 8


class ErrorCode(StrEnum):
    """Every refusal of the contract; `JobError.code` is one of these for a conformant store."""

    DUPLICATE = "Duplicate"
    ID_CONFLICT = "IdConflict"
    QUARANTINED = "Quarantined"
    BACKPRESSURE = "Backpressure"
    LEASE_REJECTED = "LeaseRejected"
    NOT_FOUND = "NotFound"
    INVALID = "Invalid"


class JobError(Exception):
    """A refusal. ``code`` is an `ErrorCode` (or a store's own spelling, which its adapter maps). ``details`` by code:
    Duplicate ``existing_id``, ``replaced``; IdConflict and LeaseRejected ``job_id``; Quarantined ``fingerprint``;
    Backpressure ``queue``, ``limit``, ``current``, ``incoming``; NotFound ``what`` (job, fingerprint) and
    ``id``; Invalid ``reason`` and, where the reason is ``wrong_state``, ``state``."""

    def __init__(self, code: str, details: Mapping[str, Json] | None = None, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code
        self.details = details


class StoreUnavailable(Exception):  # noqa: N818 - the name of the field, not of an error of the caller
    """The storage is busy, full or broken; never a refusal. ``definite`` is True when nothing was written for
    certain, False when the outcome is unknown and the caller must look."""

    def __init__(self, message: str, definite: bool) -> None:
        super().__init__(message)
        self.definite = definite


# What is enqueued ------------------------------------------------------------------------------------------------


@frozen(slots=False)
class Envelope:
    """One job as a producer hands it in, and as a claim gives it back.

    Zero and the empty text mean *omitted* where the contract has a default: ``schema_version``, ``queue``, ``weight``,
    ``max_attempts``, ``scheduled_at_ms``. ``attempt`` and ``crash_attempt`` are the store's: what a producer sends is
    not taken over. ``unique_*`` and ``pending`` belong to the request; a claim need not give them back.
    """

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
    attempt: int
    crash_attempt: int
    max_attempts: int
    scheduled_at_ms: int
    timeout_ms: int
    deadline_ms: int
    unique_key: bytes | None
    unique_states: int
    unique_window_ms: int
    unique_replace: int
    unique_debounce_ms: int
    unique_exclude_kind: bool
    retention_ms: int
    periodic_schedule_id: str
    periodic_tick_ms: int
    headers: Mapping[str, str]
    tags: tuple[str, ...]
    pending: bool
    sticky_worker: str


# Leases ----------------------------------------------------------------------------------------------------------


@frozen
class Checkpoint:
    """What a run left for the next: stored whole and replaced whole. ``crashes_by_step`` counts the lost leases of each
    step; the reclaimer adds to it."""

    last_completed_step: str | None
    completed_steps: tuple[str, ...]
    in_progress_step: str | None
    cursor_step: str | None
    cursor: bytes | None
    schema_version: int
    step_set_hash: str
    crashes_by_step: tuple[tuple[str, int], ...]


@frozen
class Claim:
    """One admitted job. ``expires_at_ms`` is the end of the lease, ``checkpoint`` what earlier runs left."""

    envelope: Envelope
    lease_id: str
    fence: int
    expires_at_ms: int
    checkpoint: Checkpoint


@frozen
class AdmissionUnit:
    """Claims that are run together. A store gives one claim for each unit."""

    claims: tuple[Claim, ...]


@frozen
class LeaseRef:
    """Who holds a job: all three are needed, for one lease id covers a whole admission and fences count per job."""

    job_id: str
    lease_id: str
    fence: int


@frozen
class Reclaimed:
    """A lost lease. ``crash_attempt`` counts this one too."""

    job_id: str
    fingerprint: str
    crash_attempt: int
    quarantined: bool


# What a run writes -----------------------------------------------------------------------------------------------


@frozen
class JobResult:
    """Bytes with a version of their schema: a result, and what is written as output."""

    schema_version: int
    content: bytes


@frozen
class JobOutput:
    schema_version: int
    content: bytes
    fence: int
    updated_at_ms: int


@frozen
class ProgressUpdate:
    current: int
    total: int
    message: str | None


@frozen
class JobProgress:
    current: int
    total: int
    message: str | None
    fence: int
    updated_at_ms: int


# What operators see ----------------------------------------------------------------------------------------------


@frozen
class HistoryEntry:
    """One finished run. ``attempt`` is the count after it: of retries, or of crashes where the outcome is
    ``lease_lost``."""

    at_ms: int
    outcome: Outcome
    attempt: int
    error: str | None
    logs: tuple[str, ...]


@frozen(slots=False)
class Job:
    """A row as operators read it; never with result, output, progress or cursor. ``payload`` and ``headers`` are None
    where they were not asked for. ``orphaned`` is true once a lease was lost."""

    id: str
    kind: str
    queue: str
    state: State
    schema_version: int
    priority: int
    attempt: int
    crash_attempt: int
    max_attempts: int
    partition_key: str
    rate_class: str
    sticky_worker: str
    weight: int
    fingerprint: str
    enqueued_at_ms: int
    scheduled_at_ms: int
    claimed_at_ms: int | None
    lease_expires_at_ms: int | None
    finalized_at_ms: int | None
    retention_ms: int
    timeout_ms: int
    deadline_ms: int
    periodic_schedule_id: str
    periodic_tick_ms: int
    orphaned: bool
    payload: bytes | None
    headers: Mapping[str, str] | None
    history: tuple[HistoryEntry, ...]
    tags: tuple[str, ...]


@frozen
class JobFilter:
    """Parts combine with *and*; None and the empty tuple ask nothing."""

    queue: str | None
    state: State | None
    kind: str | None
    kind_prefix: str | None
    partition_key: str | None
    id: str | None
    fingerprint: str | None
    rate_class: str | None
    priority: int | None
    tags_all: tuple[str, ...]
    tags_any: tuple[str, ...]


@frozen
class JobPage:
    """``cursor`` goes into the call for the next page; None on the last one."""

    jobs: tuple[Job, ...]
    cursor: str | None


@frozen
class JobCounts:
    """Rows by state, those of no rows left out. ``approximate``: not all rows were looked at."""

    by_state: Mapping[str, int]
    approximate: bool


@frozen
class QueueStats:
    """``oldest_available_ms`` is the age of the longest due available row since its due time. The two rates are rows
    of the last whole minute; they and ``time_to_drain_ms`` are not asserted."""

    queue: str
    paused: bool
    unfinished_jobs: int
    max_unfinished_jobs: int | None
    by_state: Mapping[str, int]
    oldest_available_ms: int | None
    arrived_last_minute: int
    completed_last_minute: int
    time_to_drain_ms: int | None


@frozen
class Blocker:
    """Why a row is not admitted now. ``eta_ms``: how long at least, None where nobody can say."""

    policy: str
    eta_ms: int | None


@frozen
class AdmissionExplanation:
    """``admissible`` with no blocker: running, or available and nothing stands against it."""

    job_id: str
    state: State
    admissible: bool
    blocker: Blocker | None


@frozen
class QuarantineEntry:
    fingerprint: str
    kind: str
    crash_attempt: int
    since_ms: int
    reason: str


@frozen
class RateClass:
    """A token bucket as an operator reads it. ``available_tokens`` counts what has been gained since the last
    refill."""

    name: str
    limit: int
    window_ms: int
    burst: int
    paused: bool
    available_tokens: int
