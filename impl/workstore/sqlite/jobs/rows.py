"""The rows of the jobs table and what hangs on them: reading, changing, deleting.

Every move of a job from one state to another also goes through `queues`, in the same transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from workspec.jobs.vocabulary import Envelope, HistoryEntry, LeaseRef, Outcome, State

from .clock import STOPPED_AT
from .refusals import lease_rejected, not_found

GREATEST_HISTORY: Final = 50


class Row(NamedTuple):
    """A row of ``jobs``; ``precedence`` is the negated priority, so that one index order serves the draw."""

    row_id: int
    id: str
    kind: str
    schema_version: int
    queue: str
    partition_key: str
    sticky_worker: str
    rate_class: str
    weight: int
    fingerprint: str
    precedence: int
    attempt: int
    crash_attempt: int
    max_attempts: int
    scheduled_at_ms: int
    timeout_ms: int
    deadline_ms: int
    retention_ms: int
    periodic_schedule_id: str
    periodic_tick_ms: int
    lifecycle_key: bytes | None
    state: State
    fence: int
    lease_id: str | None
    lease_expires_at_ms: int | None
    claimed_at_ms: int | None
    charge: int
    enqueued_at_ms: int
    finalized_at_ms: int | None


class Run(NamedTuple):
    """What the end of a run has to know of its job, few columns, for this is read at every ack; and `STOPPED_AT`."""

    row_id: int
    queue: str
    rate_class: str
    charge: int
    attempt: int
    max_attempts: int
    scheduled_at_ms: int
    retention_ms: int
    fence: int
    stopped_at_ms: int | None


COLUMNS: Final = ", ".join(f"jobs.{name}" for name in Row._fields)
FIND: Final = f"SELECT {COLUMNS} FROM jobs WHERE id = ?"
FIND_BY_NUMBER: Final = f"SELECT {COLUMNS} FROM jobs WHERE row_id = ?"
HELD: Final = (
    f"SELECT {', '.join(Run._fields[:-1])}, {STOPPED_AT} FROM jobs WHERE id = ? AND state = 'running' AND lease_id = ?"
)
INSERT: Final = f"INSERT INTO jobs ({', '.join(Row._fields)}) VALUES ({', '.join('?' * len(Row._fields))})"
INSERT_CONTENT: Final = "INSERT INTO contents (row_id, headers, tags, payload) VALUES (?, ?, ?, ?)"

_STATE: Final = Row._fields.index("state")
_STATES: Final = {state.value: state for state in State}

NO_LEASE: Final[dict[str, None]] = {"lease_id": None, "lease_expires_at_ms": None, "claimed_at_ms": None}


def row_of(values: Sequence[Any]) -> Row:
    """A row out of the values of `COLUMNS`, or of as many of those that come first."""
    columns = list(values[: len(Row._fields)])
    columns[_STATE] = _STATES[columns[_STATE]]
    return Row._make(columns)


def find(connection: sqlite3.Connection, job_id: str) -> Row | None:
    values = connection.execute(FIND, (job_id,)).fetchone()
    return None if values is None else row_of(values)


def find_by_number(connection: sqlite3.Connection, row_id: int) -> Row | None:
    values = connection.execute(FIND_BY_NUMBER, (row_id,)).fetchone()
    return None if values is None else row_of(values)


def existing(connection: sqlite3.Connection, job_id: str) -> Row:
    """Raises:
    JobError: NotFound (JOB-OPR-01).
    """
    row = find(connection, job_id)
    if row is None:
        raise not_found("job", job_id)
    return row


def find_held(connection: sqlite3.Connection, lease: LeaseRef) -> Run | None:
    """The run that this lease holds. Whether the lease has ended is not asked: it counts until it is reclaimed
    (JOB-ACK-01, JOB-ACK-02)."""
    values = connection.execute(HELD, (lease.job_id, lease.lease_id)).fetchone()
    if values is None:
        return None
    run = Run._make(values)
    # Compared here: a caller may name a fence that no column can hold.
    return run if run.fence == lease.fence else None


def held(connection: sqlite3.Connection, lease: LeaseRef) -> Run:
    """Raises:
    JobError: LeaseRejected (JOB-ACK-01).
    """
    run = find_held(connection, lease)
    if run is None:
        raise lease_rejected(lease.job_id)
    return run


def change(connection: sqlite3.Connection, row_id: int, **columns: object) -> None:
    """Write these columns of a row."""
    assignments = ", ".join(f"{name} = ?" for name in columns)
    connection.execute(f"UPDATE jobs SET {assignments} WHERE row_id = ?", (*columns.values(), row_id))


def delete(connection: sqlite3.Connection, row_id: int) -> None:
    """Remove a row with all that hangs on it, which a trigger sees to (JOB-EVT-02)."""
    connection.execute("DELETE FROM jobs WHERE row_id = ?", (row_id,))


# Contents ----------------------------------------------------------------------------------------------------------


def headers_text(envelope: Envelope) -> str | None:
    return json.dumps(dict(envelope.headers), ensure_ascii=False) if envelope.headers else None


def headers_of(text: str | None) -> dict[str, str]:
    return {} if text is None else json.loads(text)


def tags_text(tags: Sequence[str]) -> str | None:
    """Sorted, each once (section 3.4)."""
    return json.dumps(sorted(set(tags))) if tags else None


def tags_of(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(json.loads(text))


ENVELOPE_COLUMNS: Final = (
    "jobs.id, kind, jobs.schema_version, payload, queue, partition_key, rate_class, weight, fingerprint, precedence, "
    "attempt, crash_attempt, max_attempts, scheduled_at_ms, timeout_ms, deadline_ms, retention_ms, "
    "periodic_schedule_id, periodic_tick_ms, headers, tags, sticky_worker"
)
"""Of ``jobs`` and ``contents``: the members of an envelope in their order, without what belongs to a request."""
CLAIM_COLUMNS: Final = f"jobs.row_id, fence, document, checkpoints.cursor, {ENVELOPE_COLUMNS}"
"""The same with the number of the row, the fence and the columns of ``checkpoints``: what a claim is made of."""
FIND_FOR_CLAIM: Final = (
    f"SELECT {CLAIM_COLUMNS} FROM jobs JOIN contents USING (row_id) LEFT JOIN checkpoints USING (row_id) "
    "WHERE jobs.row_id = ?"
)


def envelope_of(stored: Sequence[Any]) -> Envelope:
    """A stored job as a claim gives it back, out of the values of `ENVELOPE_COLUMNS`; what belonged to the request
    alone is blank (section 3.1).

    By position, in the order of the members: one is made with each claim, and names would double what it takes.
    """
    (
        job_id,
        kind,
        schema_version,
        payload,
        queue,
        partition_key,
        rate_class,
        weight,
        fingerprint,
        precedence,
        attempt,
        crash_attempt,
        max_attempts,
        scheduled_at_ms,
        timeout_ms,
        deadline_ms,
        retention_ms,
        periodic_schedule_id,
        periodic_tick_ms,
        headers,
        tags,
        sticky_worker,
    ) = stored
    return Envelope(
        job_id,
        kind,
        schema_version,
        payload,
        queue,
        partition_key,
        rate_class,
        weight,
        fingerprint,
        -precedence,
        attempt,
        crash_attempt,
        max_attempts,
        scheduled_at_ms,
        timeout_ms,
        deadline_ms,
        None,  # unique_key, and what goes with it
        0,
        0,
        0,
        0,
        False,
        retention_ms,
        periodic_schedule_id,
        periodic_tick_ms,
        {} if headers is None else headers_of(headers),
        () if tags is None else tags_of(tags),
        False,
        sticky_worker,
    )


# History -----------------------------------------------------------------------------------------------------------

_APPEND: Final = (
    "INSERT INTO history (row_id, number, at_ms, outcome, attempt, error, logs) "
    "VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM history WHERE row_id = ?1), ?2, ?3, ?4, ?5, ?6)"
)
_FORGET: Final = (
    "DELETE FROM history WHERE row_id = ?1 AND number <= (SELECT max(number) FROM history WHERE row_id = ?1) - ?2"
)
_HISTORY: Final = "SELECT at_ms, outcome, attempt, error, logs FROM history WHERE row_id = ? ORDER BY number"


def remember(connection: sqlite3.Connection, row_id: int, entry: HistoryEntry) -> None:
    """Append an entry and keep the 50 newest (JOB-ACK-17)."""
    logs = json.dumps(entry.logs, ensure_ascii=False) if entry.logs else None
    values = (row_id, entry.at_ms, entry.outcome, entry.attempt, entry.error, logs)
    connection.execute(_APPEND, values)
    connection.execute(_FORGET, (row_id, GREATEST_HISTORY))


def history(connection: sqlite3.Connection, row_id: int) -> tuple[HistoryEntry, ...]:
    """Oldest first."""
    return tuple(
        HistoryEntry(at_ms, Outcome(outcome), attempt, error, () if logs is None else tuple(json.loads(logs)))
        for at_ms, outcome, attempt, error, logs in connection.execute(_HISTORY, (row_id,))
    )
