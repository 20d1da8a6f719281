"""Quarantine: the register of fingerprints, the sweep of their waiting rows, and release (contract, 8.4)."""

from __future__ import annotations

import sqlite3
from typing import Final

from workspec.jobs.vocabulary import QuarantineEntry, State

from . import queues, rows, uniqueness
from .merging import first_rows
from .refusals import not_found
from .rows import COLUMNS, Row, row_of
from .schema import TO_QUARANTINE

_REGISTER: Final = (
    "INSERT INTO fingerprints (fingerprint, kind, crash_attempt, since_ms, reason) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (fingerprint) DO UPDATE SET crash_attempt = max(crash_attempt, excluded.crash_attempt)"
)
_IS_REGISTERED: Final = "SELECT 1 FROM fingerprints WHERE fingerprint = ?"
_LISTED: Final = "SELECT fingerprint, kind, crash_attempt, since_ms, reason FROM fingerprints ORDER BY fingerprint"
_WAITING: Final = (
    "SELECT scheduled_at_ms, id, row_id, queue, state FROM jobs INDEXED BY jobs_to_quarantine "
    f"WHERE fingerprint = ? AND {TO_QUARANTINE} ORDER BY scheduled_at_ms, id LIMIT ?"
)
_PARKED: Final = (
    f"SELECT {COLUMNS} FROM jobs INDEXED BY jobs_to_release WHERE fingerprint = ? AND state = 'quarantined' ORDER BY id"
)


def register(connection: sqlite3.Connection, now: int, row: Row, crash_attempt: int) -> None:
    """Quarantine a fingerprint; the empty one never is (JOB-QUA-02)."""
    if not row.fingerprint:
        return
    reason = f"lost its lease {crash_attempt} times"
    connection.execute(_REGISTER, (row.fingerprint, row.kind, crash_attempt, now, reason))


def is_registered(connection: sqlite3.Connection, fingerprint: str) -> bool:
    return bool(fingerprint) and connection.execute(_IS_REGISTERED, (fingerprint,)).fetchone() is not None


def registered(connection: sqlite3.Connection) -> list[QuarantineEntry]:
    """The register by fingerprint (JOB-QUA-07)."""
    return [QuarantineEntry(*found) for found in connection.execute(_LISTED)]


def sweep(connection: sqlite3.Connection, now: int, limit: int) -> int:
    """Park waiting rows of registered fingerprints, earliest due first; how many (JOB-QUA-04, P-08).

    Reads one row of each registered fingerprint beside those that it parks.
    """
    if limit <= 0:
        return 0

    fingerprints = [entry.fingerprint for entry in registered(connection)]
    parked = first_rows((connection.execute(_WAITING, (one, limit)) for one in fingerprints), limit)
    statement = "UPDATE jobs SET state = 'quarantined', finalized_at_ms = ? WHERE row_id = ?"
    connection.executemany(statement, [(now, found[2]) for found in parked])
    queues.moved_all(connection, [(found[3], State(found[4])) for found in parked], State.QUARANTINED)
    return len(parked)


def release(connection: sqlite3.Connection, now: int, fingerprint: str) -> int:
    """Take a fingerprint off the register and make its rows available, in id order; how many (JOB-QUA-05).

    A row whose lifecycle key another has taken meanwhile stays (A-26).

    Raises:
        JobError: NotFound, where there is neither entry nor row (P-09).
    """
    entries = connection.execute("DELETE FROM fingerprints WHERE fingerprint = ?", (fingerprint,)).rowcount
    parked = [row_of(found) for found in connection.execute(_PARKED, (fingerprint,)).fetchall()]
    if not entries and not parked:
        raise not_found("fingerprint", fingerprint)
    return sum(_free(connection, now, row) for row in parked)


def _free(connection: sqlite3.Connection, now: int, row: Row) -> bool:
    if row.lifecycle_key is not None and uniqueness.lifecycle_holder(connection, row.lifecycle_key) is not None:
        return False
    rows.change(connection, row.row_id, state=State.AVAILABLE, scheduled_at_ms=now, finalized_at_ms=None)
    queues.moved(connection, row.queue, {State.QUARANTINED: -1, State.AVAILABLE: 1})
    return True
