"""Job stores that read their clock at other moments: before they have their place in the order of calls, or in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from attrs import define, field

from workcert.backends.protocol import Place
from workspec.core.scope import Call
from workstore.backends import SqliteJobsBackend
from workstore.sqlite.connection import Connection
from workstore.sqlite.jobs import JobStore

from .sql_stores import SqlHandle

Value = TypeVar("Value")


@define(eq=False)
class ReadBefore(SqlHandle):
    """The clock is read before the transaction that uses it; by one operation alone, where one is named."""

    operation: str | None = field(default=None, kw_only=True)
    _early: int | None = None

    def serial(self, call: Call) -> Any:
        self._early = self.now() if self.operation in (None, call.name) else None
        try:
            return SqlHandle.serial(self, call)
        finally:
            self._early = None

    def now(self) -> int:
        return SqlHandle.now(self) if self._early is None else self._early


class OnItsSnapshot(SqlHandle):
    """The clock is read before the lock is taken, and SQLite refuses to write once anybody else has."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN")
        try:
            self.now()
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")


class BesideTheFile(SqlHandle):
    """The clock is in no file, so that no transaction keeps it from being moved; read in the transaction."""

    clocks: ClassVar[dict[str, int]] = {}

    def made(self, call: Call, stated: int | None) -> Any:
        if call.name != "freeze_clock":
            return SqlHandle.made(self, call, stated)
        self.clocks[self.path] = call.arguments["at_ms"]
        return None

    def now(self) -> int:
        return self.clocks[self.path]


class _Early(Connection):
    """Each transaction finds the clock in a temporary table, which was made before it and hides the one of the file."""

    is_early = True

    def _transaction(self, connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Value]) -> Value:
        if not self.is_early:
            return super()._transaction(connection, work)
        connection.execute("CREATE TEMP TABLE settings AS SELECT * FROM main.settings")
        try:
            return super()._transaction(connection, work)
        finally:
            connection.execute("DROP TABLE temp.settings")


class EarlyJobStore(JobStore):
    """The shipped store, working at the instant at which its clock stood before the transaction. Stepping it is not for
    this one."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._connection.__class__ = _Early

    def freeze_clock(self, *, at_ms: int) -> None:
        self._connection.is_early = False  # type: ignore[attr-defined]
        try:
            super().freeze_clock(at_ms=at_ms)
        finally:
            self._connection.is_early = True  # type: ignore[attr-defined]


class EarlySqlite(SqliteJobsBackend):
    """The shipped backend with it."""

    def open(self, place: Place, config: Mapping[str, Any]) -> JobStore:
        return EarlyJobStore.open(place.path / "jobs.db", **config)
