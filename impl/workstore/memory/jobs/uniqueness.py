"""Unique keys: whose they are, and what a conflicting enqueue does to their holder (5.3)."""

from __future__ import annotations

from workspec.jobs.vocabulary import Envelope, JobError, Replace, State
from workstore.memory.carriers import changed
from workstore.memory.jobs.numbers import plus
from workstore.memory.jobs.refusals import duplicate
from workstore.memory.jobs.rows import Hold, Row
from workstore.memory.jobs.tables import View

EDITABLE = frozenset({State.SCHEDULED, State.AVAILABLE, State.RETRYABLE})
"""States in which a conflict may edit the holder (JOB-UNQ-20, JOB-UNQ-31, A-11)."""

DEFAULT_MAX_ATTEMPTS = 25


def effective_key(envelope: Envelope) -> bytes | None:
    """The key within its namespace, of the kind or of all kinds; None without one (JOB-UNQ-01)."""
    if envelope.unique_key is None:
        return None
    if envelope.unique_exclude_kind:
        return b"\x01G" + envelope.unique_key
    kind = envelope.kind.encode()
    return b"\x01K" + len(kind).to_bytes(4, "big") + kind + envelope.unique_key


def is_throttle(envelope: Envelope) -> bool:
    return envelope.unique_window_ms > 0


def holding(view: View, envelope: Envelope, key: bytes, now_ms: int) -> Hold | None:
    """The hold that an enqueue conflicts with. Its own mode says where to look (JOB-UNQ-08)."""
    if not is_throttle(envelope):
        return view.lifecycle_holds.get(key)
    hold = view.throttle_holds.get(key)
    if hold is None or hold.until_ms is None or now_ms >= hold.until_ms:
        # At the very end of the window the key is free (JOB-UNQ-05).
        return None
    return hold


def take_throttle(view: View, envelope: Envelope, row: Row, now_ms: int) -> None:
    """Hold the key of a new row for its window, if it has one; lifecycle keys go with their row."""
    key = effective_key(envelope)
    if key is not None and is_throttle(envelope):
        view.throttle_holds.put(key, Hold(row.id, row.number, plus(now_ms, envelope.unique_window_ms)))


def resolve_conflict(view: View, envelope: Envelope, hold: Hold, now_ms: int) -> JobError:
    """Edit the holder as far as the newcomer asks for it and the holder's state allows; the refusal to raise once
    the edit is committed (JOB-UNQ-20..35)."""
    holder = view.jobs.get(hold.job_id)
    if holder is None or holder.number != hold.number or holder.state not in EDITABLE:
        return duplicate(hold.job_id, replaced=False)
    edited = edited_holder(holder, envelope, now_ms)
    if edited is None:
        return duplicate(hold.job_id, replaced=False)
    view.put(edited)
    return duplicate(hold.job_id, replaced=True)


def edited_holder(holder: Row, newcomer: Envelope, now_ms: int) -> Row | None:
    """The holder with what the newcomer brings, None where nothing of it applies (JOB-UNQ-21)."""
    mask = newcomer.unique_replace
    changes: dict[str, object] = {}
    state = holder.state
    if newcomer.unique_debounce_ms > 0:
        # The debounce decides the due time, so the bit for it says nothing here (JOB-UNQ-34).
        state = State.SCHEDULED
        changes["scheduled_at_ms"] = plus(now_ms, newcomer.unique_debounce_ms)
        changes["tags"] = tuple(sorted(newcomer.tags))
        mask = (mask | Replace.PAYLOAD) & ~Replace.SCHEDULED_AT
    if mask & Replace.PAYLOAD:
        changes["schema_version"] = newcomer.schema_version or 1
        changes["payload"] = newcomer.payload
        changes["fingerprint"] = newcomer.fingerprint
    if mask & Replace.SCHEDULED_AT and holder.state == State.SCHEDULED:
        changes["scheduled_at_ms"] = newcomer.scheduled_at_ms or now_ms
    if mask & Replace.PRIORITY:
        changes["priority"] = newcomer.priority
    if mask & Replace.MAX_ATTEMPTS:
        changes["max_attempts"] = newcomer.max_attempts or DEFAULT_MAX_ATTEMPTS
    if not changes:
        return None
    return changed(holder, state=state, envelope=changed(holder.envelope, **changes))
