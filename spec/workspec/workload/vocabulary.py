"""The nouns of the workload contract.

These types only carry: no validators, no defaults, no helpers. A store must see bad input to be able to
refuse it, and a fault in a shared helper would be a fault that no certification can find.

Units: a name ending in ``_ms`` is a duration in milliseconds, ``_s`` an instant in seconds; ``created_at``,
``not_before``, ``next_attempt_at``, ``claimed_at``, ``expires_at``, ``last_heartbeat``, ``started_at``,
``ended_at`` and an event's ``at`` are instants in seconds too (signed 64 bits).

JSON forms, wherever one is written (legacy file, case file, report): an object with the field names below, a
set as a sorted array, a tuple as an array, an absent optional as null, an enumeration as its value.

Those with many members, and events, of which there are most, keep them in a dictionary: frozen ones with slots take up
to twice as long to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from attrs import frozen

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class State(StrEnum):
    """The twelve states that may appear anywhere, history included."""

    CREATED = "CREATED"
    READY = "READY"
    CLAIMED = "CLAIMED"
    RUNNING = "RUNNING"
    CHECKPOINTED = "CHECKPOINTED"
    CANCELLATION_REQUESTED = "CANCELLATION_REQUESTED"
    RECOVERING = "RECOVERING"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    DEAD_LETTER = "DEAD_LETTER"
    SUCCEEDED = "SUCCEEDED"
    CANCELLED = "CANCELLED"


class AttemptStatus(StrEnum):
    """What became of an attempt. CLAIMED and RUNNING are open, the others have ended."""

    CLAIMED = "CLAIMED"
    RUNNING = "RUNNING"
    FAILED = "FAILED"
    SUCCEEDED = "SUCCEEDED"
    TIMED_OUT = "TIMED_OUT"
    WORKER_LOST = "WORKER_LOST"
    CANCELLED = "CANCELLED"


class ErrorCode(StrEnum):
    """Every refusal of the contract; `WorkloadError.code` is one of these for a conformant store."""

    INVALID = "WORKLOAD_INVALID"
    UNAUTHORIZED = "WORKLOAD_UNAUTHORIZED"
    SECRET_MATERIAL = "WORKLOAD_SECRET_MATERIAL"
    NOT_FOUND = "WORKLOAD_NOT_FOUND"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    NOT_READY = "WORKLOAD_NOT_READY"
    CAPABILITY_MISSING = "WORKLOAD_CAPABILITY_MISSING"
    DEPENDENCY_PENDING = "WORKLOAD_DEPENDENCY_PENDING"
    ATTEMPTS_EXHAUSTED = "WORKLOAD_ATTEMPTS_EXHAUSTED"
    TIMED_OUT = "WORKLOAD_TIMED_OUT"
    CLAIM_INVALID = "WORKLOAD_CLAIM_INVALID"
    STALE_FENCE = "WORKLOAD_STALE_FENCE"
    STATE_INVALID = "WORKLOAD_STATE_INVALID"
    RESULT_CONFLICT = "WORKLOAD_RESULT_CONFLICT"
    RESULT_DUPLICATE = "WORKLOAD_RESULT_DUPLICATE"
    RETRY_EXHAUSTED = "WORKLOAD_RETRY_EXHAUSTED"
    CONFLICT = "WORKLOAD_CONFLICT"
    MIGRATION_CONFLICT = "WORKLOAD_MIGRATION_CONFLICT"


class WorkloadError(Exception):
    """A refusal. ``code`` is an `ErrorCode` (or a store's own spelling, which its adapter maps); ``details``
    is a JSON object, or None when the contract gives the code none (WRK-GEN-05)."""

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


@frozen
class Subject:
    kind: str
    id: str


@frozen
class Grant:
    """The signed authorization snapshot of an admission. Its signature and expiry are the caller's duty."""

    subject: Subject
    tenant_id: str
    application_id: str
    signature: str


@frozen
class RetryPolicy:
    max_attempts: int
    backoff: str
    """``fixed`` or ``exponential``."""
    initial_delay_ms: int
    max_delay_ms: int
    retry_on: frozenset[str]


@frozen
class Timeouts:
    queue_ms: int | None
    claim_ms: int | None
    execution_ms: int | None
    heartbeat_ms: int | None
    overall_ms: int | None


@frozen
class Dependency:
    workload_id: str
    required_state: str


@frozen
class AdmissionRequest:
    """What a requester asks for. Members that may be None are absent then, and take the contract's default."""

    tenant_id: str
    application_id: str
    requested_by: Subject
    idempotency_key: str
    definition_id: str
    definition_revision: str
    environment: str
    input: Json
    capability_snapshot: tuple[str, ...]
    connection_scopes: tuple[str, ...] | None
    priority: int | None
    retry_policy: RetryPolicy | None
    timeouts: Timeouts | None
    dependencies: tuple[Dependency, ...] | None
    not_before: int | None
    trigger: str | None
    session_id: str | None
    created_at: int
    authorization_snapshot: Grant


@frozen
class Claim:
    claim_id: str
    worker_id: str
    fencing_token: int
    claimed_at: int
    expires_at: int
    last_heartbeat: int


@frozen
class Attempt:
    attempt_id: str
    claim_id: str
    worker_id: str
    fencing_token: int
    status: str
    started_at: int | None
    ended_at: int | None
    error: str | None


@frozen(slots=False)
class Event:
    """One state change. ``sequence`` counts from 1 within the workload."""

    sequence: int
    from_state: str
    to_state: str
    actor: str
    at: int
    evidence: Mapping[str, str]


@frozen
class Checkpoint:
    attempt_id: str
    state: Json


@frozen
class Result:
    result_id: str
    attempt_id: str
    output: Json
    output_hash: str
    produced_by: str
    provenance: Mapping[str, str]
    references: tuple[str, ...]
    schema_version: int


@frozen
class ExecutionContext:
    attempt_id: str
    secret_references: tuple[str, ...]
    expires_at: int
    fencing_token: int
    input: Json
    checkpoints: tuple[Checkpoint, ...]


@frozen(slots=False)
class Workload:
    """The committed record."""

    contract_version: int
    workload_id: str
    tenant_id: str
    application_id: str
    requested_by: Subject
    idempotency_key: str
    definition_id: str
    definition_revision: str
    environment: str
    input: Json
    input_hash: str
    capability_snapshot: frozenset[str]
    connection_scopes: frozenset[str]
    priority: int
    retry_policy: RetryPolicy
    timeouts: Timeouts
    dependencies: tuple[Dependency, ...]
    created_at: int
    state: str
    attempt_count: int
    retry_count: int
    attempts: tuple[Attempt, ...]
    current_claim: Claim | None
    next_attempt_at: int | None
    last_failure: str | None
    checkpoints: tuple[Checkpoint, ...]
    result: Result | None
    execution_history: tuple[Event, ...]


@frozen
class Versioned:
    """A record as read, with its row version. A row that has none reads as version 1 (WRK-ROW-01)."""

    version: int
    workload: Workload


@frozen
class Admitted:
    workload: Workload
    created: bool
    """True when this call created the workload, False when it answered with an existing one (WRK-ADM-14)."""
