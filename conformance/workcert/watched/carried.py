"""Connections of `sqlite3` that a process made by fork uses, although its parent has opened them.

SQLite forbids it, and nothing need go wrong at once: so it is seen, and not waited for. A connection to no file is
its process's own copy, and a driver of another database may allow what SQLite does not: of neither is anything said.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from attrs import define, field

from workcert.watched.call import labelled

Value = TypeVar("Value")
_FILE: Final = 2
"""Of a row of ``PRAGMA database_list``, the path; empty where there is none."""


@define
class Carried:
    """``statements``: those that were seen on such connections, in order, each with the name of its file."""

    statements: list[tuple[str, str]] = field(factory=list)


_noting: Carried | None = None


@contextlib.contextmanager
def noting() -> Iterator[Carried]:
    """To be opened in the process that was made by fork."""
    global _noting
    outer, _noting = _noting, Carried()
    try:
        yield _noting
    finally:
        _noting = outer


def opened(connection: Any) -> Any:
    """The connection, which remembers the process that has opened it, where it can."""
    with contextlib.suppress(AttributeError):
        connection._opened_in = os.getpid()
    return connection


def seen(connection: Any, sql: object, run: Callable[[], Value]) -> Callable[[], Value]:
    """A statement that is noted once it has been made, if anybody wants to know."""
    noted = _noting
    if noted is None or getattr(connection, "_opened_in", os.getpid()) == os.getpid():
        return run

    def made() -> Value:
        try:
            value = run()
        except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
            # Refused by the module, as on a connection that was closed: it has not come to the file.
            raise
        except sqlite3.Error:
            _note(noted, connection, sql)
            raise
        _note(noted, connection, sql)
        return value

    return made


def _note(noted: Carried, connection: Any, sql: object) -> None:
    path = _file_of(connection)
    if path:
        noted.statements.append((labelled(sql), os.path.basename(path)))


def _file_of(connection: Any) -> str:
    """The file of a connection, empty where it has none, or where nobody can tell."""
    try:
        # None of the store's own classes: they would see it, too.
        cursor = sqlite3.Cursor(connection)
        cursor.row_factory = None
        rows = cursor.execute("PRAGMA database_list").fetchall()
        cursor.close()
    except (sqlite3.Error, UnicodeError):
        return ""
    return next((str(row[_FILE]) for row in rows if row[_FILE]), "")
