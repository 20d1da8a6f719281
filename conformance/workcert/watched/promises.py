"""What an adapter promises to be in force on every connection of its stores, asked of those that commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakSet

from attrs import define, field

from workcert.raised import told


@define(eq=False)
class Promised:
    """``due``: by statement, the first value of the first row that it is to answer with. ``broken``: in words, what was
    found otherwise. ``unasked``: the same of statements that a connection did not take."""

    due: Mapping[str, Any]
    broken: list[str] = field(factory=list)
    unasked: list[str] = field(factory=list)
    _asked: WeakSet[Any] = field(factory=WeakSet)

    def __call__(self, connection: Any) -> None:
        """A connection has committed: it is asked once."""
        if connection in self._asked:
            return
        self._asked.add(connection)
        for statement, due in self.due.items():
            try:
                seen = _asked_of(connection, statement)
            except Exception as error:
                self.unasked.append(f"{statement!r}, and a connection that was asked it raised {told(error)}")
                continue
            if not _same(due, seen):
                self.broken.append(f"{statement} gives {seen!r} on a connection that committed; promised is {due!r}")


def _asked_of(connection: Any, statement: str) -> Any:
    real = getattr(connection, "_real", connection)
    cursor = real.cursor()
    try:
        cursor.execute(statement)
        row = cursor.fetchone()
    finally:
        cursor.close()
    if row is None:
        return None
    return next(iter(row.values())) if isinstance(row, Mapping) else row[0]


def _same(due: Any, seen: Any) -> bool:
    """Numbers and texts as a database may give them: ``2`` and ``"2"``, ``wal`` and ``WAL``."""
    text = seen.decode(errors="replace") if isinstance(seen, bytes) else seen
    return str(due).casefold() == str(text).casefold()
