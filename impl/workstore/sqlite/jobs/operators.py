"""What operators do to single jobs (contract, 10)."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Final

from workspec.jobs.vocabulary import State

from . import queues, rows, uniqueness
from .refusals import duplicate, wrong_state
from .rows import NO_LEASE, Row

_RETRIABLE: Final = (State.ARCHIVED, State.CANCELLED, State.UNDECODABLE)
_NOT_RUNNING: Final = tuple(state for state in State if state != State.RUNNING)


def _in_state(connection: sqlite3.Connection, job_id: str, states: Collection[State]) -> Row:
    """Raises:
    JobError: NotFound, Invalid (``wrong_state``) (JOB-OPR-01).
    """
    row = rows.existing(connection, job_id)
    if row.state not in states:
        raise wrong_state(job_id, row.state)
    return row


def cancel(connection: sqlite3.Connection, now: int, job_id: str) -> None:
    """JOB-OPR-02."""
    row = _in_state(connection, job_id, queues.UNFINISHED)
    rows.change(connection, row.row_id, state=State.CANCELLED, finalized_at_ms=now, **NO_LEASE)
    queues.moved(connection, row.queue, {row.state: -1, State.CANCELLED: 1})


def retry(connection: sqlite3.Connection, now: int, job_id: str) -> None:
    """JOB-OPR-04, JOB-OPR-05.

    Raises:
        JobError: NotFound, Invalid, Duplicate (another live row holds the key).
    """
    row = _in_state(connection, job_id, _RETRIABLE)
    if row.lifecycle_key is not None:
        holder = uniqueness.lifecycle_holder(connection, row.lifecycle_key)
        if holder is not None:
            raise duplicate(holder.id, False)
    rows.change(connection, row.row_id, state=State.AVAILABLE, scheduled_at_ms=now, finalized_at_ms=None)
    queues.moved(connection, row.queue, {row.state: -1, State.AVAILABLE: 1})


def promote(connection: sqlite3.Connection, now: int, job_id: str) -> None:
    """JOB-OPR-07."""
    row = _in_state(connection, job_id, (State.PENDING,))
    rows.change(connection, row.row_id, state=State.AVAILABLE, scheduled_at_ms=now)
    queues.moved(connection, row.queue, {State.PENDING: -1, State.AVAILABLE: 1})


def schedule_pending(connection: sqlite3.Connection, job_id: str, at_ms: int) -> None:
    """JOB-OPR-08."""
    row = _in_state(connection, job_id, (State.PENDING,))
    rows.change(connection, row.row_id, state=State.SCHEDULED, scheduled_at_ms=at_ms)
    queues.moved(connection, row.queue, {State.PENDING: -1, State.SCHEDULED: 1})


def reschedule(connection: sqlite3.Connection, job_id: str, at_ms: int) -> None:
    """JOB-OPR-09."""
    row = _in_state(connection, job_id, (State.SCHEDULED, State.RETRYABLE))
    rows.change(connection, row.row_id, scheduled_at_ms=at_ms)


def edit_payload(
    connection: sqlite3.Connection, job_id: str, payload: bytes, schema_version: int, fingerprint: str
) -> None:
    """JOB-OPR-10; a quarantined fingerprint is allowed, and then keeps the row back (A-33)."""
    row = _in_state(connection, job_id, _NOT_RUNNING)
    rows.change(connection, row.row_id, schema_version=schema_version, fingerprint=fingerprint)
    connection.execute("UPDATE contents SET payload = ? WHERE row_id = ?", (payload, row.row_id))


def delete(connection: sqlite3.Connection, job_id: str) -> None:
    """JOB-OPR-11."""
    row = _in_state(connection, job_id, _NOT_RUNNING)
    rows.delete(connection, row.row_id)
    queues.moved(connection, row.queue, {row.state: -1})
