"""Named duties: who sweeps (contract, 8.7). They never touch jobs (JOB-DTY-05)."""

from __future__ import annotations

import sqlite3
from typing import Final

from .numbers import within_instants

_CLAIM: Final = (
    "INSERT INTO duties (name, holder, expires_at_ms) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE "
    "SET holder = excluded.holder, expires_at_ms = excluded.expires_at_ms "
    "WHERE duties.holder = excluded.holder OR duties.expires_at_ms <= ?4"
)


def claim(connection: sqlite3.Connection, now: int, name: str, holder: str, lease_ms: int) -> bool:
    """Take it where nobody else holds it at this instant; a holder renews (JOB-DTY-01, JOB-DTY-02, A-02)."""
    return connection.execute(_CLAIM, (name, holder, within_instants(now + lease_ms), now)).rowcount == 1


def release(connection: sqlite3.Connection, name: str, holder: str) -> None:
    """Give it up; silent for anybody but its holder (JOB-DTY-03)."""
    connection.execute("DELETE FROM duties WHERE name = ? AND holder = ?", (name, holder))
