"""Uniqueness: effective keys, who holds them, and what a conflicting enqueue does to the holder (contract, 5.3)."""

from __future__ import annotations

import sqlite3
from typing import Final

from attrs import frozen

from workspec.jobs.vocabulary import Envelope, Replace, State

from . import queues, rows
from .numbers import within_instants
from .rows import COLUMNS, Row, row_of
from .schema import HOLDS_KEY

_EDITABLE: Final = (State.SCHEDULED, State.AVAILABLE, State.RETRYABLE)
_LIFECYCLE_HOLDER: Final = (
    f"SELECT {COLUMNS} FROM jobs INDEXED BY jobs_by_lifecycle_key WHERE lifecycle_key = ? AND {HOLDS_KEY}"
)
_THROTTLE: Final = "SELECT job_id, row_id FROM throttles WHERE key = ? AND expires_at_ms > ?"
_HOLD: Final = (
    "INSERT INTO throttles (key, row_id, job_id, expires_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
    "row_id = excluded.row_id, job_id = excluded.job_id, expires_at_ms = excluded.expires_at_ms"
)
_PRUNE: Final = (
    "DELETE FROM throttles WHERE key IN (SELECT key FROM throttles INDEXED BY throttles_by_expiry "
    "WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT 100)"
)
_GRACE_MS: Final = 3_600_000
"""An ended hold is forgotten so long after its end: a clock that is set back by less finds it again."""


@frozen
class Key:
    """What two jobs may not share. Holds of the two modes do not see each other (JOB-UNQ-08)."""

    effective: bytes
    throttles: bool


@frozen
class Hold:
    """Who has a key; ``row`` is None where the row is gone, or where another took its id (A-44)."""

    job_id: str
    row: Row | None


def key_of(envelope: Envelope) -> Key | None:
    """The key that an envelope asks for, scoped by its kind unless it says otherwise; None without one."""
    raw = envelope.unique_key
    if raw is None:
        return None
    if envelope.unique_exclude_kind:
        effective = b"\x01G" + raw
    else:
        kind = envelope.kind.encode()
        effective = b"\x01K" + len(kind).to_bytes(4, "big") + kind + raw
    return Key(effective, envelope.unique_window_ms > 0)


def lifecycle_holder(connection: sqlite3.Connection, effective: bytes) -> Row | None:
    """The unfinished row that holds a lifecycle key; there is at most one (JOB-UNQ-02)."""
    values = connection.execute(_LIFECYCLE_HOLDER, (effective,)).fetchone()
    return None if values is None else row_of(values)


def find_hold(connection: sqlite3.Connection, now: int, key: Key) -> Hold | None:
    """The hold on a key. One of a throttle outlives its row, and ends at its instant (JOB-UNQ-05, JOB-UNQ-07)."""
    if not key.throttles:
        row = lifecycle_holder(connection, key.effective)
        return None if row is None else Hold(row.id, row)
    found = connection.execute(_THROTTLE, (key.effective, now)).fetchone()
    if found is None:
        return None
    return Hold(found[0], rows.find_by_number(connection, found[1]))


def hold_throttle(connection: sqlite3.Connection, now: int, key: Key, row_id: int, envelope: Envelope) -> None:
    """Hold a throttle key for its window from now on (JOB-UNQ-05)."""
    connection.execute(_PRUNE, (within_instants(now - _GRACE_MS),))
    ends_at = within_instants(now + envelope.unique_window_ms)
    connection.execute(_HOLD, (key.effective, row_id, envelope.id, ends_at))


def replace(connection: sqlite3.Connection, now: int, hold: Hold, incoming: Envelope) -> bool:
    """Edit the holder as the conflicting envelope asks; whether any part of it was applied (JOB-UNQ-20 to 22, 31)."""
    row = hold.row
    if row is None or row.state not in _EDITABLE:
        return False
    debounce = incoming.unique_debounce_ms > 0
    mask = incoming.unique_replace
    columns: dict[str, object] = {}
    if debounce or mask & Replace.PAYLOAD:
        columns["schema_version"] = incoming.schema_version or 1
        columns["fingerprint"] = incoming.fingerprint
        connection.execute("UPDATE contents SET payload = ? WHERE row_id = ?", (incoming.payload, row.row_id))
    if debounce:
        # The debounce instant wins over the schedule bit.
        columns["state"] = State.SCHEDULED
        columns["scheduled_at_ms"] = within_instants(now + incoming.unique_debounce_ms)
        tags = rows.tags_text(incoming.tags)
        connection.execute("UPDATE contents SET tags = ? WHERE row_id = ?", (tags, row.row_id))
    elif mask & Replace.SCHEDULED_AT and row.state == State.SCHEDULED:
        columns["scheduled_at_ms"] = incoming.scheduled_at_ms or now
    if mask & Replace.PRIORITY:
        columns["precedence"] = -incoming.priority
    if mask & Replace.MAX_ATTEMPTS:
        columns["max_attempts"] = incoming.max_attempts or 25
    if not columns:
        return False
    rows.change(connection, row.row_id, **columns)
    if debounce and row.state != State.SCHEDULED:
        queues.moved(connection, row.queue, {row.state: -1, State.SCHEDULED: 1})
    return True
