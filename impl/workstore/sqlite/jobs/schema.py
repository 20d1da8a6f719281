"""The tables of the job store.

``jobs`` holds what changes often and is small; what may be large stands in tables of its own under the same
``row_id``, so that a change of state rewrites no payload. A row number is never given twice, which is how a throttle
hold knows its holder from a later job of the same id (A-44).

Each index is partial and holds only rows that its operation may have to change. ``queues`` counts the rows of each
state in the transaction that moves them: no count reads rows.
"""

from __future__ import annotations

from typing import Final

from sqlite_utils import Database

from workspec.jobs.vocabulary import State

from ..schema import Tables

APPLICATION_ID: Final = 0x776B6A62
"""Marks a file as one of the job store, in SQLite's header."""
PAGE_SIZE: Final = 2048
"""A change writes whole pages, four or five for a claim or an ack, and each holds one small row that changed. Half of
SQLite's default makes a claim with its ack a tenth cheaper; a quarter would gain no more, and make deeper trees."""


def _is_one_of(*states: State) -> str:
    """Not by IN: SQLite builds a table of its values for each statement that has to ask, so that a write which moves
    one row would build seven."""
    return "(" + " OR ".join(f"state = '{state}'" for state in states) + ")"


WAITING: Final = _is_one_of(State.PENDING, State.SCHEDULED, State.AVAILABLE, State.RETRYABLE)
UNFINISHED: Final = _is_one_of(State.PENDING, State.SCHEDULED, State.AVAILABLE, State.RUNNING, State.RETRYABLE)
TIMED: Final = _is_one_of(State.SCHEDULED, State.RETRYABLE)
EVICTABLE: Final = _is_one_of(State.COMPLETED, State.ARCHIVED, State.CANCELLED, State.UNDECODABLE)
TO_QUARANTINE: Final = f"fingerprint <> '' AND {WAITING}"
HOLDS_KEY: Final = f"lifecycle_key IS NOT NULL AND {UNFINISHED}"
"""Conditions of the partial indexes: a statement that is to use one has to repeat its condition word for word."""

_STATEMENTS: Final = (
    f"""
    CREATE TABLE jobs (
        row_id INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        schema_version INTEGER NOT NULL,
        queue TEXT NOT NULL,
        partition_key TEXT NOT NULL,
        sticky_worker TEXT NOT NULL,
        rate_class TEXT NOT NULL,
        weight INTEGER NOT NULL,
        fingerprint TEXT NOT NULL,
        precedence INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        crash_attempt INTEGER NOT NULL,
        max_attempts INTEGER NOT NULL,
        scheduled_at_ms INTEGER NOT NULL,
        timeout_ms INTEGER NOT NULL,
        deadline_ms INTEGER NOT NULL,
        retention_ms INTEGER NOT NULL,
        periodic_schedule_id TEXT NOT NULL,
        periodic_tick_ms INTEGER NOT NULL,
        lifecycle_key BLOB,
        state TEXT NOT NULL,
        fence INTEGER NOT NULL,
        lease_id TEXT,
        lease_expires_at_ms INTEGER,
        claimed_at_ms INTEGER,
        charge INTEGER NOT NULL,
        enqueued_at_ms INTEGER NOT NULL,
        finalized_at_ms INTEGER,
        CHECK ((state = 'running') = (lease_id IS NOT NULL)),
        CHECK ((lease_id IS NULL) = (lease_expires_at_ms IS NULL)),
        CHECK ({UNFINISHED} = (finalized_at_ms IS NULL))
    ) STRICT
    """,
    "CREATE INDEX jobs_to_draw ON jobs (queue, sticky_worker, partition_key, precedence, scheduled_at_ms, id) "
    "WHERE state = 'available'",
    f"CREATE INDEX jobs_to_promote ON jobs (scheduled_at_ms, id) WHERE {TIMED}",
    "CREATE INDEX jobs_to_reclaim ON jobs (lease_expires_at_ms, id) WHERE state = 'running'",
    f"CREATE INDEX jobs_to_evict ON jobs (retention_ms, finalized_at_ms, id) WHERE {EVICTABLE}",
    f"CREATE INDEX jobs_to_quarantine ON jobs (fingerprint, scheduled_at_ms, id) WHERE {TO_QUARANTINE}",
    "CREATE INDEX jobs_to_release ON jobs (fingerprint, id) WHERE state = 'quarantined'",
    f"CREATE UNIQUE INDEX jobs_by_lifecycle_key ON jobs (lifecycle_key) WHERE {HOLDS_KEY}",
    # The payload comes last: what stands behind a large value is reached through all of its pages.
    "CREATE TABLE contents (row_id INTEGER PRIMARY KEY, headers TEXT, tags TEXT, payload BLOB NOT NULL) STRICT",
    "CREATE TABLE checkpoints (row_id INTEGER PRIMARY KEY, document TEXT NOT NULL, cursor BLOB) STRICT",
    "CREATE TABLE results (row_id INTEGER PRIMARY KEY, schema_version INTEGER NOT NULL, content BLOB NOT NULL) STRICT",
    """
    CREATE TABLE outputs (
        row_id INTEGER PRIMARY KEY,
        schema_version INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        content BLOB NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE progress (
        row_id INTEGER PRIMARY KEY,
        current INTEGER NOT NULL,
        total INTEGER NOT NULL,
        message TEXT,
        fence INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE history (
        row_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        error TEXT,
        logs TEXT,
        PRIMARY KEY (row_id, number)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TRIGGER jobs_vanish_whole AFTER DELETE ON jobs BEGIN
        DELETE FROM contents WHERE row_id = OLD.row_id;
        DELETE FROM checkpoints WHERE row_id = OLD.row_id;
        DELETE FROM results WHERE row_id = OLD.row_id;
        DELETE FROM outputs WHERE row_id = OLD.row_id;
        DELETE FROM progress WHERE row_id = OLD.row_id;
        DELETE FROM history WHERE row_id = OLD.row_id;
    END
    """,
    """
    CREATE TABLE queues (
        name TEXT PRIMARY KEY,
        cursor INTEGER NOT NULL DEFAULT 0,
        paused INTEGER NOT NULL DEFAULT 0,
        enqueue_limit INTEGER,
        pending INTEGER NOT NULL DEFAULT 0,
        scheduled INTEGER NOT NULL DEFAULT 0,
        available INTEGER NOT NULL DEFAULT 0,
        running INTEGER NOT NULL DEFAULT 0,
        retryable INTEGER NOT NULL DEFAULT 0,
        completed INTEGER NOT NULL DEFAULT 0,
        archived INTEGER NOT NULL DEFAULT 0,
        cancelled INTEGER NOT NULL DEFAULT 0,
        undecodable INTEGER NOT NULL DEFAULT 0,
        quarantined INTEGER NOT NULL DEFAULT 0,
        arrival_minute_ms INTEGER NOT NULL DEFAULT 0,
        arrivals INTEGER NOT NULL DEFAULT 0,
        arrivals_before INTEGER NOT NULL DEFAULT 0,
        completion_minute_ms INTEGER NOT NULL DEFAULT 0,
        completions INTEGER NOT NULL DEFAULT 0,
        completions_before INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE throttles (
        key BLOB PRIMARY KEY,
        row_id INTEGER NOT NULL,
        job_id TEXT NOT NULL,
        expires_at_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX throttles_by_expiry ON throttles (expires_at_ms)",
    """
    CREATE TABLE buckets (
        name TEXT PRIMARY KEY,
        tokens INTEGER NOT NULL,
        burst INTEGER NOT NULL,
        refill INTEGER NOT NULL,
        window_ms INTEGER NOT NULL,
        refilled_at_ms INTEGER NOT NULL,
        paused INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE fingerprints (
        fingerprint TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        crash_attempt INTEGER NOT NULL,
        since_ms INTEGER NOT NULL,
        reason TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE TABLE duties (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at_ms INTEGER NOT NULL) "
    "STRICT, WITHOUT ROWID",
    "CREATE TABLE effects (key TEXT PRIMARY KEY, claimed_at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
)


def _create(database: Database) -> None:
    for statement in _STATEMENTS:
        database.execute(statement)


TABLES: Final = Tables(APPLICATION_ID, (_create,))
"""A file's ``user_version`` says how many migrations it has seen. Only ever append; see the note on those that change
the meaning of rows at `workstore.sqlite.schema.MIGRATIONS`."""
