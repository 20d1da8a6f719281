"""What anybody may call at any time: promotion, reclamation, eviction (contract, 8.3, 8.5, 8.6)."""

from __future__ import annotations

import sqlite3
from typing import Final

from workspec.jobs.vocabulary import HistoryEntry, Outcome, Reclaimed, State

from . import checkpoints, quarantine, queues, rows
from .merging import first_rows
from .numbers import counted, within_instants
from .outcomes import Policy
from .rows import COLUMNS, NO_LEASE, Row, row_of
from .schema import EVICTABLE, TIMED

DUE: Final = (
    f"SELECT row_id, queue, state FROM jobs INDEXED BY jobs_to_promote WHERE {TIMED} AND scheduled_at_ms <= ? "
    "ORDER BY scheduled_at_ms, id LIMIT ?"
)
EXPIRED: Final = (
    f"SELECT {COLUMNS} FROM jobs INDEXED BY jobs_to_reclaim WHERE state = 'running' AND lease_expires_at_ms <= ? "
    "ORDER BY lease_expires_at_ms, id LIMIT ?"
)
NEXT_RETENTION: Final = (
    f"SELECT min(retention_ms) FROM jobs INDEXED BY jobs_to_evict WHERE {EVICTABLE} AND retention_ms > ?"
)
LAPSED: Final = (
    f"SELECT finalized_at_ms, id, row_id, queue, state FROM jobs INDEXED BY jobs_to_evict WHERE {EVICTABLE} "
    "AND retention_ms = ? AND finalized_at_ms <= ? ORDER BY finalized_at_ms, id LIMIT ?"
)


def promote_due(connection: sqlite3.Connection, now: int, limit: int) -> int:
    """Make due rows available, earliest first; how many (JOB-PRM)."""
    if limit <= 0:
        return 0
    due = connection.execute(DUE, (now, limit)).fetchall()
    connection.executemany("UPDATE jobs SET state = 'available' WHERE row_id = ?", [found[:1] for found in due])
    queues.moved_all(connection, [(queue, State(state)) for _, queue, state in due], State.AVAILABLE)
    return len(due)


def reclaim_expired(connection: sqlite3.Connection, now: int, policy: Policy, limit: int) -> list[Reclaimed]:
    """Take back leases that have ended, those that ended first before others (JOB-RCL)."""
    if limit <= 0:
        return []
    lost = [row_of(found) for found in connection.execute(EXPIRED, (now, limit)).fetchall()]
    return [_reclaim(connection, now, policy, row) for row in lost]


def _reclaim(connection: sqlite3.Connection, now: int, policy: Policy, row: Row) -> Reclaimed:
    """JOB-RCL-02 to JOB-RCL-04."""
    crashes = counted(row.crash_attempt + 1)
    parked = crashes >= policy.crash_limit
    state = State.QUARANTINED if parked else State.RETRYABLE
    due = row.scheduled_at_ms if parked else within_instants(now + policy.backoff_ms(crashes))
    rows.change(
        connection,
        row.row_id,
        state=state,
        crash_attempt=crashes,
        scheduled_at_ms=due,
        finalized_at_ms=now if parked else None,
        **NO_LEASE,
    )
    queues.moved(connection, row.queue, {State.RUNNING: -1, state: 1})
    checkpoints.count_crash(connection, row.row_id)
    rows.remember(connection, row.row_id, HistoryEntry(now, Outcome.LEASE_LOST, crashes, None, ()))
    if parked:
        quarantine.register(connection, now, row, crashes)
    return Reclaimed(row.id, row.fingerprint, crashes, parked)


def evict_retained(connection: sqlite3.Connection, now: int, limit: int) -> int:
    """Delete finished rows whose retention has ended, those that finished first before others; how many (JOB-EVT).

    Known limit: one row is read for each different retention among the finished rows, beside those that go.
    """
    if limit <= 0:
        return 0
    selections = (
        connection.execute(LAPSED, (retention, within_instants(now - retention), limit))
        for retention in _retentions(connection)
    )
    lapsed = first_rows(selections, limit)
    connection.executemany("DELETE FROM jobs WHERE row_id = ?", [(found[2],) for found in lapsed])
    queues.moved_all(connection, [(found[3], State(found[4])) for found in lapsed], None)
    return len(lapsed)


def _retentions(connection: sqlite3.Connection) -> list[int]:
    """Every retention among finished rows, by one step of the index for each; 0 keeps for ever (JOB-EVT-03)."""
    found: list[int] = []
    while True:
        (retention,) = connection.execute(NEXT_RETENTION, (found[-1] if found else 0,)).fetchone()
        if retention is None:
            return found
        found.append(retention)
