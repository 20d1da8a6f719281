"""What is committed: values that never change. An edit makes a new one."""

from __future__ import annotations

from attrs import frozen

from workspec.jobs.vocabulary import Checkpoint, Envelope, HistoryEntry, JobOutput, JobProgress, JobResult, State
from workstore.memory.carriers import changed
from workstore.memory.jobs.numbers import MINUTE_MS, minute_of

UNFINISHED = frozenset({State.PENDING, State.SCHEDULED, State.AVAILABLE, State.RUNNING, State.RETRYABLE})
"""Section 2.2; just these hold their lifecycle key (2.1)."""
WAITING = UNFINISHED - {State.RUNNING}
WAITING_FOR_DUE_TIME = frozenset({State.SCHEDULED, State.RETRYABLE})
EVICTABLE = frozenset({State.COMPLETED, State.ARCHIVED, State.CANCELLED, State.UNDECODABLE})

HISTORY_MAX = 50

EMPTY_CHECKPOINT = Checkpoint(
    last_completed_step=None,
    completed_steps=(),
    in_progress_step=None,
    cursor_step=None,
    cursor=None,
    schema_version=0,
    step_set_hash="",
    crashes_by_step=(),
)


@frozen
class Lease:
    lease_id: str
    expires_at_ms: int
    claimed_at_ms: int


@frozen(eq=False)
class Row:
    """One job. The envelope is the present one: with stored defaults, the due time and the counters as they are
    now, and without the parts that belong to the request alone. A lease is there exactly while the job runs
    (JOB-GEN-06)."""

    number: int
    """Never given twice: tells a row from a later one of the same id (A-44)."""
    envelope: Envelope
    state: State
    enqueued_at_ms: int
    lifecycle_key: bytes | None
    """None without a unique key, and where the key is a throttle."""
    fence: int = 0
    lease: Lease | None = None
    finalized_at_ms: int | None = None
    charge: int = 0
    checkpoint: Checkpoint = EMPTY_CHECKPOINT
    history: tuple[HistoryEntry, ...] = ()
    result: JobResult | None = None
    output: JobOutput | None = None
    progress: JobProgress | None = None

    @property
    def id(self) -> str:
        return self.envelope.id

    @property
    def queue(self) -> str:
        return self.envelope.queue

    @property
    def due_ms(self) -> int:
        return self.envelope.scheduled_at_ms

    @property
    def unfinished(self) -> bool:
        return self.state in UNFINISHED


def due_at(row: Row, state: State, at_ms: int) -> Row:
    """The row without lease or end, in a state that waits, due at this instant."""
    envelope = changed(row.envelope, scheduled_at_ms=at_ms)
    return changed(row, envelope=envelope, state=state, lease=None, finalized_at_ms=None)


def finalized(row: Row, state: State, now_ms: int) -> Row:
    """The row in a terminal state; its due time stays."""
    return changed(row, state=state, lease=None, finalized_at_ms=now_ms)


def with_entry(row: Row, entry: HistoryEntry) -> Row:
    """The row with one entry more; the newest 50 are kept (JOB-ACK-17)."""
    return changed(row, history=(*row.history, entry)[-HISTORY_MAX:])


def effective_weight(row: Row) -> int:
    return row.envelope.weight or 1


@frozen
class Hold:
    """Who holds a unique key: the row by its number, since its id may name another one later (A-44)."""

    job_id: str
    number: int
    until_ms: int | None
    """The end of a throttle window; None holds for the life of the row."""


@frozen
class Bucket:
    """The tokens of a rate class. They may be negative (JOB-RATE-10)."""

    tokens: int
    burst: int
    limit: int
    window_ms: int
    refilled_at_ms: int
    paused: bool = False


@frozen
class Duty:
    holder: str
    expires_at_ms: int


@frozen
class Flow:
    """How many rows came, or were completed, in the last minute that saw any, and in the one before it."""

    minute_ms: int
    count: int
    before: int

    def in_minute(self, minute_ms: int) -> int:
        if minute_ms == self.minute_ms:
            return self.count
        return self.before if minute_ms == self.minute_ms - MINUTE_MS else 0


def counted(flow: Flow | None, now_ms: int) -> Flow:
    """One more in the minute of this instant (JOB-ENQ-17, JOB-ACK-16)."""
    minute_ms = minute_of(now_ms)
    if flow is None:
        return Flow(minute_ms, 1, 0)
    return Flow(minute_ms, flow.in_minute(minute_ms) + 1, flow.in_minute(minute_ms - MINUTE_MS))
