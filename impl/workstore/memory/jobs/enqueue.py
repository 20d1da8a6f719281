"""A batch comes in: all of it or nothing (JOB-ENQ, 5.1). Its form has been checked by `validation`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workspec.jobs.vocabulary import Envelope, JobError, State
from workstore.memory.carriers import changed
from workstore.memory.jobs import uniqueness
from workstore.memory.jobs.numbers import plus
from workstore.memory.jobs.refusals import backpressure, duplicate, id_conflict, quarantined
from workstore.memory.jobs.rows import Row, counted
from workstore.memory.jobs.tables import View

DEFAULT_QUEUE = "default"


def without_uniqueness(batch: Sequence[Envelope]) -> tuple[Envelope, ...]:
    """The batch with its uniqueness blanked (JOB-ENQ-16)."""
    return tuple(
        changed(envelope, unique_key=None, unique_window_ms=0, unique_replace=0, unique_debounce_ms=0)
        for envelope in batch
    )


def enqueue(view: View, batch: Sequence[Envelope], now_ms: int) -> JobError | None:
    """Phases 2 to 5 of 5.1; None when the batch is stored. The one refusal that it returns is to be raised after
    the commit: Duplicate, whose replacement stays (JOB-GEN-05).

    Raises:
        JobError: IdConflict, Quarantined, Duplicate, Backpressure.
    """
    fresh = [envelope for envelope in batch if not _is_replay(view, envelope)]
    taken: dict[tuple[bool, bytes], str] = {}
    for envelope in fresh:
        _check_quarantine(view, envelope)
        key = uniqueness.effective_key(envelope)
        if key is None:
            continue
        hold = uniqueness.holding(view, envelope, key, now_ms)
        if hold is not None:
            return _settled(uniqueness.resolve_conflict(view, envelope, hold, now_ms))
        earlier = taken.setdefault((uniqueness.is_throttle(envelope), key), envelope.id)
        if earlier != envelope.id:
            raise duplicate(earlier, replaced=False)
    _check_limits(view, fresh)
    for envelope in fresh:
        _write(view, envelope, now_ms)
    return None


def effective_queue(queue: str) -> str:
    return queue or DEFAULT_QUEUE


def _settled(error: JobError) -> JobError:
    """A conflict that edited nothing is raised at once, as every other refusal."""
    if error.details is not None and error.details["replaced"]:
        return error
    raise error


def _is_replay(view: View, envelope: Envelope) -> bool:
    """JOB-ENQ-05..07. The payload is not compared (A-34)."""
    row = view.jobs.get(envelope.id)
    if row is None:
        return False
    stored = row.envelope
    if (envelope.kind, envelope.fingerprint, effective_queue(envelope.queue)) != (
        stored.kind,
        stored.fingerprint,
        stored.queue,
    ):
        raise id_conflict(envelope.id)
    return True


def _check_quarantine(view: View, envelope: Envelope) -> None:
    """JOB-ENQ-09; the empty fingerprint is never registered."""
    if view.registry.get(envelope.fingerprint) is not None:
        raise quarantined(envelope.fingerprint)


def _check_limits(view: View, fresh: Sequence[Envelope]) -> None:
    """JOB-BPR-02..04: equality is accepted."""
    incoming = Counter(effective_queue(envelope.queue) for envelope in fresh)
    for queue in sorted(incoming):
        limit = view.limits.get(queue)
        current = view.unfinished.get(queue) or 0
        if limit is not None and current + incoming[queue] > limit:
            raise backpressure(queue, limit, current, incoming[queue])


def _write(view: View, envelope: Envelope, now_ms: int) -> None:
    stored = _stored(envelope, now_ms)
    throttled = uniqueness.is_throttle(envelope)
    row = Row(
        number=next(view.row_numbers),
        envelope=stored,
        state=_initial_state(envelope, stored.scheduled_at_ms, now_ms),
        enqueued_at_ms=now_ms,
        lifecycle_key=None if throttled else uniqueness.effective_key(envelope),
    )
    view.put(row)
    uniqueness.take_throttle(view, envelope, row, now_ms)
    view.arrivals.put(row.queue, counted(view.arrivals.get(row.queue), now_ms))


def _stored(envelope: Envelope, now_ms: int) -> Envelope:
    """The envelope as it is kept: defaults put in, counters at zero (A-30), the request's own dropped (SIM-10)."""
    return changed(
        envelope,
        schema_version=envelope.schema_version or 1,
        queue=effective_queue(envelope.queue),
        weight=envelope.weight or 1,
        attempt=0,
        crash_attempt=0,
        max_attempts=envelope.max_attempts or uniqueness.DEFAULT_MAX_ATTEMPTS,
        scheduled_at_ms=_due_ms(envelope, now_ms),
        unique_key=None,
        unique_states=0,
        unique_window_ms=0,
        unique_replace=0,
        unique_debounce_ms=0,
        unique_exclude_kind=False,
        tags=tuple(sorted(envelope.tags)),
        pending=False,
    )


def _due_ms(envelope: Envelope, now_ms: int) -> int:
    """JOB-ENQ-12."""
    if envelope.unique_debounce_ms > 0:
        return plus(now_ms, envelope.unique_debounce_ms)
    return envelope.scheduled_at_ms or now_ms


def _initial_state(envelope: Envelope, due_ms: int, now_ms: int) -> State:
    """JOB-ENQ-13; JOB-ENQ-14 for a pending job with debounce."""
    if envelope.pending:
        return State.PENDING
    return State.SCHEDULED if due_ms > now_ms else State.AVAILABLE
