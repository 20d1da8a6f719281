"""Connections of any DB-API module, watched through objects that stand for them.

What a statement does is told by its first word: these modules have no common way to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from workcert.watched.call import AFTER_COMMIT, of_statement, ticket, verb_of

Value = TypeVar("Value")
_BEGINS: Final = frozenset({"BEGIN", "START"})
_COMMITS: Final = frozenset({"COMMIT", "END"})
_READS: Final = frozenset(
    {"SELECT", "PRAGMA", "SHOW", "EXPLAIN", "SET", "SAVEPOINT", "RELEASE", "VALUES", "LISTEN", "FETCH", "DECLARE", ""}
)
_OWN: Final = frozenset({"_real", "_transaction", "_connection"})


class _Transaction:
    """``is_open``: begun by a statement; ``wrote``: something that a commit would keep."""

    def __init__(self) -> None:
        self.is_open = False
        self.wrote = False


class _Proxy:
    """Stands for an object: what it has not itself is that one's."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self._real, name, value)


class ConnectionProxy(_Proxy):
    """A watched connection."""

    def __init__(self, real: Any) -> None:
        super().__init__(real)
        self._transaction = _Transaction()

    def cursor(self, *arguments: Any, **keywords: Any) -> CursorProxy:
        return CursorProxy(self._real.cursor(*arguments, **keywords), self)

    def commit(self) -> Any:
        return self._ended("COMMIT", self._real.commit)

    def rollback(self) -> Any:
        return self._ended("ROLLBACK", self._real.rollback)

    def __enter__(self) -> Any:
        entered = self._real.__enter__()
        return self if entered is self._real else entered

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        leave = lambda: self._real.__exit__(kind, error, trace)  # noqa: E731
        # What leaving does is the module's own affair; most commit, and roll back after an exception.
        return self._ended("COMMIT" if kind is None else "ROLLBACK", leave)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name not in ("execute", "executemany", "executescript"):
            return found

        def made(sql: Any, *arguments: Any, **keywords: Any) -> Any:
            given = self.seen(sql, lambda: found(sql, *arguments, **keywords))
            return CursorProxy(given, self) if hasattr(given, "fetchone") else given

        return made

    def seen(self, sql: object, run: Callable[[], Value]) -> Value:
        """Run one statement, with the points around it."""
        verb = verb_of(sql)
        if verb in ("COMMIT", "END", "ROLLBACK", "ABORT"):
            return self._ended(verb, run, sql)
        watch, transaction = of_statement(), self._transaction
        if watch is not None:
            watch.statement(sql)
        taken = ticket()
        value = run()
        if verb in _BEGINS:
            transaction.is_open = True
        elif verb not in _READS:
            transaction.wrote = True
            if watch is not None and not transaction.is_open and getattr(self._real, "autocommit", False) is True:
                watch.committed(self, taken)
        return value

    def _ended(self, verb: str, run: Callable[[], Value], statement: object = None) -> Value:
        watch, transaction = of_statement(), self._transaction
        if watch is not None:
            watch.statement(statement or verb)
        taken = ticket()
        value = run()
        wrote, transaction.wrote, transaction.is_open = transaction.wrote, False, False
        if watch is not None and verb in _COMMITS:
            if wrote:
                watch.committed(self, taken)
            watch.point(AFTER_COMMIT)
        return value


class CursorProxy(_Proxy):
    """A watched cursor."""

    def __init__(self, real: Any, connection: ConnectionProxy) -> None:
        super().__init__(real)
        self._connection = connection

    @property
    def connection(self) -> ConnectionProxy:
        return self._connection

    def execute(self, sql: Any, *arguments: Any, **keywords: Any) -> Any:
        return self._made("execute", sql, arguments, keywords)

    def executemany(self, sql: Any, *arguments: Any, **keywords: Any) -> Any:
        return self._made("executemany", sql, arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name != "executescript":
            return found
        return lambda sql: self._made(name, sql, (), {})

    def _made(self, name: str, sql: Any, arguments: Any, keywords: Any) -> Any:
        run = getattr(self._real, name)
        given = self._connection.seen(sql, lambda: run(sql, *arguments, **keywords))
        return self if given is self._real else given

    def __iter__(self) -> Iterator[Any]:
        return iter(self._real)

    def __next__(self) -> Any:
        return next(self._real)

    def __enter__(self) -> Any:
        entered = self._real.__enter__()
        return self if entered is self._real else entered

    def __exit__(self, *exception: Any) -> Any:
        return self._real.__exit__(*exception)


def connecting(connect: Callable[..., Any]) -> Callable[..., Any]:
    """The ``connect`` of a module, with connections that are watched."""
    return lambda *arguments, **keywords: ConnectionProxy(connect(*arguments, **keywords))
