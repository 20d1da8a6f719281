"""All committed state as plain values, and its removal: what a certification needs."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Any, Final

from .rows import Row

_BY_NAME: Final = {
    "queue": ("queues", "name"),
    "bucket": ("buckets", "name"),
    "fingerprint": ("fingerprints", "fingerprint"),
    "duty": ("duties", "name"),
    "effect": ("effects", "key"),
    "hold": ("throttles", "key"),
}
_ON_JOBS: Final = ("contents", "checkpoints", "results", "outputs", "progress", "history")
_EMPTIED: Final = (*_ON_JOBS, "jobs", *(table for table, _ in _BY_NAME.values()))


def _plain(value: Any) -> Any:
    """Bytes by their digest: they may be large, and only whether they changed is asked."""
    return hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value


def take(connection: sqlite3.Connection) -> dict[str, Any]:
    """``kind/name`` to the columns of the row; a job's with all that hangs on it. The clock is left out."""
    taken: dict[str, Any] = {}
    jobs: dict[int, dict[str, Any]] = {}
    columns = Row._fields
    for found in connection.execute(f"SELECT {', '.join(columns)} FROM jobs ORDER BY id"):
        job = dict(zip(columns, map(_plain, found), strict=True))
        jobs[found[0]] = taken[f"job/{job['id']}"] = job
    for table in _ON_JOBS:
        for row_id, *values in connection.execute(f"SELECT * FROM {table}"):
            jobs[row_id].setdefault(table, []).append([_plain(value) for value in values])
    for kind, (table, key) in _BY_NAME.items():
        selection = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in selection.description]
        for found in selection:
            row = dict(zip(names, found, strict=True))
            name = row.pop(key)
            taken[f"{kind}/{name.hex() if isinstance(name, bytes) else name}"] = row
    return taken


def empty(connection: sqlite3.Connection) -> None:
    """Delete every row but the setting of the clock."""
    for table in _EMPTIED:
        connection.execute(f"DELETE FROM {table}")
