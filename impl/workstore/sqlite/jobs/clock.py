"""The store's clock: the time of the system, or an instant at which a test has stopped it.

A stopped clock is a row of the file, read in the transaction that uses it, so that every handle and process on the
file sees the same instant.
"""

from __future__ import annotations

import sqlite3
import threading
import time

from .numbers import within_instants

FROZEN_AT = "frozen_at_ms"
"""The name of the setting that holds the instant; there is none while the clock runs."""
STOPPED_AT = f"(SELECT value FROM settings WHERE name = '{FROZEN_AT}')"
"""As a column or an operand, for a statement that an operation has to make anyway: NULL while the clock runs."""
_READ = f"SELECT {STOPPED_AT}"
_WRITE = (
    f"INSERT INTO settings (name, value) VALUES ('{FROZEN_AT}', ?) ON CONFLICT (name) DO UPDATE SET value = "
    "excluded.value"
)
_DELETE = f"DELETE FROM settings WHERE name = '{FROZEN_AT}'"


class Clock:
    """The time of the system as one handle sees it never runs back, even where that of the machine does.

    Known limit: another handle may have seen a later instant. Nothing but due times and ages depends on it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest_ms = 0

    def system_ms(self) -> int:
        """The time of the system, which is that of the store while its clock is not stopped."""
        with self._lock:
            self._latest_ms = max(self._latest_ms, time.time_ns() // 1_000_000)
            return self._latest_ms

    def now(self, connection: sqlite3.Connection) -> int:
        """The instant of this transaction in milliseconds; asked for once in each (JOB-GEN-03)."""
        return self.at(connection.execute(_READ).fetchone()[0])

    def at(self, stopped_at_ms: int | None) -> int:
        """The same out of the value of `STOPPED_AT`, where another statement of the transaction has read it."""
        return self.system_ms() if stopped_at_ms is None else stopped_at_ms


def frozen_at_ms(connection: sqlite3.Connection) -> int | None:
    """The instant at which it is stopped, None while it runs."""
    found: int | None = connection.execute(_READ).fetchone()[0]
    return found


def freeze(connection: sqlite3.Connection, at_ms: int) -> None:
    """Stop the clock (JOB-CLK-01)."""
    connection.execute(_WRITE, (at_ms,))


def advance(connection: sqlite3.Connection, now: int, delta_ms: int) -> None:
    """Stop the clock where it stands and step it (JOB-CLK-03)."""
    freeze(connection, within_instants(now + delta_ms))


def unfreeze(connection: sqlite3.Connection) -> None:
    """Let it run again."""
    connection.execute(_DELETE)
