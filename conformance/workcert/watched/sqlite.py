"""Connections of `sqlite3` that are watched: subclasses, below any class that the store itself asks for.

A write transaction holds the lock of the whole file until it has committed, so that tickets taken just before its
COMMIT are in the order of the commits, whatever connections and processes take them. Where a statement commits by
itself its ticket is taken before it waits for the lock: two such that meet may be numbered the other way round.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, TypeVar

from workcert.watched import busy, carried
from workcert.watched.beside import beside
from workcert.watched.call import AFTER_COMMIT, of_statement, ticket, verb_of

Value = TypeVar("Value")
FACTORY_PLACE: Final = 5
"""Of the positional arguments of `sqlite3.connect`, that which is the class of the connection."""
_ENDS: Final = frozenset({"COMMIT", "END"})


class _Connection(sqlite3.Connection):
    """The innermost class: a store's own connection class calls it as it would call the module's."""

    _changes_before = 0
    """What was counted as changed before the transaction that is open."""
    _database: int | None = None
    """Where the library keeps it while it is open, as far as that is known."""
    _handler: Any = None
    """Who is asked there whether to go on waiting."""
    _is_overheard = False
    """Each statement is told to somebody, and the kit makes none of its own."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        with busy.opening() as opened:
            super().__init__(*arguments, **keywords)
        self._database = opened.database

    def close(self) -> None:
        self._database = None
        super().close()

    def set_trace_callback(self, *arguments: Any, **keywords: Any) -> None:
        self._is_overheard = True
        super().set_trace_callback(*arguments, **keywords)

    def set_authorizer(self, *arguments: Any, **keywords: Any) -> None:
        self._is_overheard = True
        super().set_authorizer(*arguments, **keywords)

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        return super().cursor(_watched_cursor(factory) if isinstance(factory, type) else factory)

    # As the module does it: on a plain cursor of their own, whatever class a store's `cursor` gives.

    def execute(self, sql: str, *parameters: Any) -> Any:
        return _Connection.cursor(self).execute(sql, *parameters)

    def executemany(self, sql: str, *parameters: Any) -> Any:
        return _Connection.cursor(self).executemany(sql, *parameters)

    def executescript(self, sql_script: str) -> Any:
        return _Connection.cursor(self).executescript(sql_script)

    def commit(self) -> None:
        if not self.in_transaction:
            return super().commit()
        return _seen(self, "COMMIT", super().commit)

    def rollback(self) -> None:
        if not self.in_transaction:
            return super().rollback()
        return _seen(self, "ROLLBACK", super().rollback)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if kind is not None:
            self.rollback()
            return False
        try:
            self.commit()
        except BaseException:
            # As the module does: a commit that fails leaves no transaction open.
            self.rollback()
            raise
        return False


class _Cursor(sqlite3.Cursor):
    def execute(self, sql: str, *parameters: Any) -> Any:
        run = super().execute
        return _seen(self.connection, sql, lambda: run(sql, *parameters))

    def executemany(self, sql: str, *parameters: Any) -> Any:
        run = super().executemany
        return _seen(self.connection, sql, lambda: run(sql, *parameters))

    def executescript(self, sql_script: str) -> Any:
        run = super().executescript
        return _seen(self.connection, sql_script, lambda: run(sql_script))


def _seen(connection: Any, sql: object, run: Callable[[], Value]) -> Value:
    """Run one statement, with the points around it and the ticket of what it commits."""
    run = carried.seen(connection, sql, run)
    watch, held = of_statement(), beside()
    if held is not None:
        run = partial(busy.patiently, connection, held, sql, run)
    is_open = connection.in_transaction
    if not is_open:
        connection._changes_before = connection.total_changes
    if watch is None:
        return run()
    watch.statement(sql)
    taken = ticket()
    value = run()
    if connection.in_transaction:
        return value
    if connection.total_changes != connection._changes_before and verb_of(sql) != "ROLLBACK":
        watch.committed(connection, taken)
    if is_open and verb_of(sql) in _ENDS:
        watch.point(AFTER_COMMIT)
    return value


@cache
def _watched_cursor(kind: type[Any]) -> type[Any]:
    if issubclass(kind, _Cursor) or not issubclass(kind, sqlite3.Cursor):
        return kind
    return _Cursor if kind is sqlite3.Cursor else type(kind.__name__, (kind, _Cursor), {})


@cache
def _watched_connection(kind: type[Any]) -> type[Any]:
    if issubclass(kind, _Connection) or not issubclass(kind, sqlite3.Connection):
        return kind
    return _Connection if kind is sqlite3.Connection else type(kind.__name__, (kind, _Connection), {})


def connecting(connect: Callable[..., Any]) -> Callable[..., Any]:
    """`sqlite3.connect`, with connections that are watched. A factory that is no class is asked as it is."""

    def watched(*arguments: Any, **keywords: Any) -> Any:
        place = list(arguments)
        if len(place) > FACTORY_PLACE:
            place[FACTORY_PLACE] = _class_of(place[FACTORY_PLACE])
        else:
            keywords["factory"] = _class_of(keywords.get("factory", sqlite3.Connection))
        return carried.opened(connect(*place, **keywords))

    return watched


def _class_of(factory: Any) -> Any:
    return _watched_connection(factory) if isinstance(factory, type) else factory
