"""The points of a call at which a child may be ended."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from workcert.backends.registry import LoadedBackend


@contextlib.contextmanager
def watching(backend: LoadedBackend, handle: Any, at: Callable[[str], None]) -> Iterator[None]:
    """While this lasts ``at`` is called with a label at every point of what the store does, on every connection. A
    child works with one thread and lives for one store, so that nothing of other stores is seen.

    ``handle`` is None while the store is being opened.
    """
    own = getattr(handle, "points", None)
    if backend.dbapi is None and own is not None:
        own(at)
        try:
            yield
        finally:
            own(None)
        return
    _install()
    global _at
    before, _at = _at, at
    try:
        yield
    finally:
        _at = before


_at: Callable[[str], None] | None = None


def _say(label: str) -> None:
    if _at is not None:
        _at(label)


class _Cursor(sqlite3.Cursor):
    def execute(self, sql: str, *rest: Any) -> Any:
        _say(sql)
        found = super().execute(sql, *rest)
        if sql == "COMMIT":
            _say("after COMMIT")
        return found

    def executemany(self, sql: str, *rest: Any) -> Any:
        _say(sql)
        return super().executemany(sql, *rest)


class _Connection(sqlite3.Connection):
    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, *arguments: Any) -> Any:
        return self.cursor().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        return self.cursor().executemany(*arguments)


_connect = sqlite3.connect


def _install() -> None:
    def connect(*arguments: Any, **keywords: Any) -> Any:
        return _connect(*arguments, factory=_Connection, **keywords)

    sqlite3.connect = connect
