"""The connection that the last transaction of a handle has left, for the next one.

To open a connection takes as long as a dozen acks: SQLite reads the schema anew for each.
"""

from __future__ import annotations

import threading

from ..connection import Connection


class Spare:
    """Keeps at most one idle connection, with no transaction open on it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._closed = False

    def take(self) -> Connection | None:
        with self._lock:
            connection, self._connection = self._connection, None
            return connection

    def keep(self, connection: Connection) -> None:
        """Closes it where there is one already, or where the handle has been closed."""
        with self._lock:
            if self._connection is None and not self._closed:
                self._connection = connection
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            self._closed = True
        if connection is not None:
            connection.close()
