"""The least that a job queue on SQLite has to do, written by hand: the yardstick of the benches of the job store.

One indexed ``UPDATE ... RETURNING`` claims, one ``UPDATE`` acks; each is a transaction of its own. There are no queues
with limits, partitions, rate classes, unique keys, checkpoints, histories or counters, no checks of arguments, and no
look whether the file is still there. A lease has an end and a token, as any queue needs that is to survive its workers.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_SCHEMA: Final = """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        queue TEXT NOT NULL,
        state TEXT NOT NULL,
        priority INTEGER NOT NULL,
        run_at_ms INTEGER NOT NULL,
        lease_until_ms INTEGER,
        token TEXT,
        attempts INTEGER NOT NULL,
        payload BLOB NOT NULL
    ) STRICT;
    CREATE INDEX waiting ON jobs (queue, priority DESC, run_at_ms, id) WHERE state = 'waiting';
    CREATE INDEX leased ON jobs (lease_until_ms) WHERE state = 'leased';
"""
_ENQUEUE: Final = (
    "INSERT INTO jobs (id, queue, state, priority, run_at_ms, attempts, payload) VALUES (?, ?, 'waiting', 0, ?, 0, ?)"
)
_CLAIM: Final = (
    "UPDATE jobs SET state = 'leased', token = ?1, lease_until_ms = ?2, attempts = attempts + 1 "
    "WHERE id = (SELECT id FROM jobs WHERE state = 'waiting' AND queue = ?3 AND run_at_ms <= ?4 "
    "ORDER BY priority DESC, run_at_ms, id LIMIT 1) RETURNING id, payload, attempts"
)
_ACK: Final = (
    "UPDATE jobs SET state = 'done', token = NULL, lease_until_ms = NULL "
    "WHERE id = ? AND token = ? AND state = 'leased'"
)


class MinimalQueue:
    """A queue in one file, for one thread."""

    def __init__(self, path: Path, synchronous: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self.set_synchronous(synchronous)
        self._connection.executescript(_SCHEMA)

    def set_synchronous(self, level: str) -> None:
        self._connection.execute(f"PRAGMA synchronous = {level}")

    def enqueue_all(self, queue: str, jobs: Sequence[tuple[str, bytes]]) -> None:
        now_ms = _now_ms()
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(_ENQUEUE, [(job_id, queue, now_ms, payload) for job_id, payload in jobs])
        self._connection.execute("COMMIT")

    def claim(self, queue: str, token: str, lease_ms: int) -> tuple[Any, ...] | None:
        """Id, payload and number of the attempt."""
        now_ms = _now_ms()
        claimed: tuple[Any, ...] | None
        # Read to its end, so that the transaction of the statement ends with it.
        claimed, *_ = self._connection.execute(_CLAIM, (token, now_ms + lease_ms, queue, now_ms)).fetchall() or [None]
        return claimed

    def ack(self, job_id: str, token: str) -> bool:
        return self._connection.execute(_ACK, (job_id, token)).rowcount == 1

    def close(self) -> None:
        self._connection.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
