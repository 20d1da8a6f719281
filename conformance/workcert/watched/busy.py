"""SQLite asks the connection whether to try again, each time that a lock is not free: there it is seen that a statement
has to wait.

What answers otherwise is SQLite's own: it sleeps, up to the timeout of the connection. Python gives no way to put
anything in its place, so that this goes to the library below the module. No statement is made twice, and where SQLite
does not ask (a read that would write, on a file that has changed since) the error comes as it would. Where the library
cannot be reached nothing is seen, and nothing is otherwise.
"""

from __future__ import annotations

import atexit
import importlib
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, TypeVar

from attrs import define, field, frozen

from workcert.watched.beside import Beside

Value = TypeVar("Value")
_CONNECT: Final = sqlite3.connect
_SETTING: Final = "busy_timeout"
"""What a store calls its own timeout: a statement that names it may set it, and never waits."""
_PRIMARY: Final = 0xFF


@define
class Opened:
    """What was opened: where the library keeps it, None where that is not known."""

    database: int | None = None


class _Opening(threading.local):
    now: Opened | None = None


_opening: Final = _Opening()


def _note(database: int | None, _message: int | None, _routines: int | None) -> int:
    """Run by the library for each database that is opened, in the thread that opens it."""
    if _opening.now is not None:
        _opening.now.database = database
    return 0


@frozen
class _Library:
    """``handler``: makes what can be asked of a function; ``set_handler``: it is asked; ``set_timeout``: SQLite asks
    itself, and sleeps so many milliseconds in all; ``noting``: kept, since the library has only its
    address."""

    handler: Callable[[Callable[[int | None, int], int]], Any]
    set_handler: Callable[[int, Any, None], int]
    set_timeout: Callable[[int, int], int]
    noting: Any


@cache
def _library() -> _Library | None:
    """The library that the module itself uses, found through it so that it is no other one. Some systems have no
    `ctypes`, or do not let it make functions."""
    try:
        ctypes = importlib.import_module("ctypes")
        below = ctypes.CDLL(importlib.import_module("_sqlite3").__file__)
        pointer, number = ctypes.c_void_p, ctypes.c_int
        handler = ctypes.CFUNCTYPE(number, pointer, number)
        entry = ctypes.CFUNCTYPE(number, pointer, pointer, pointer)
        below.sqlite3_sourceid.restype = ctypes.c_char_p
        below.sqlite3_busy_handler.argtypes = (pointer, handler, pointer)
        below.sqlite3_busy_timeout.argtypes = (pointer, number)
        below.sqlite3_auto_extension.argtypes = below.sqlite3_cancel_auto_extension.argtypes = (entry,)
        source, noting = below.sqlite3_sourceid().decode(), entry(_note)
        is_noting = below.sqlite3_auto_extension(noting) == sqlite3.SQLITE_OK
    except (ImportError, AttributeError, TypeError, OSError, MemoryError):
        return None
    if not is_noting:
        return None
    # At the end of the process this module goes before a connection that somebody opens then.
    atexit.register(below.sqlite3_cancel_auto_extension, noting)
    with _noted() as opened:
        probe = _CONNECT(":memory:")
    (used,) = probe.execute("SELECT sqlite_source_id()").fetchone()
    probe.close()
    if not opened.database or used != source:
        return None
    return _Library(handler, below.sqlite3_busy_handler, below.sqlite3_busy_timeout, noting)


@contextmanager
def _noted() -> Iterator[Opened]:
    opened = Opened()
    outer, _opening.now = _opening.now, opened
    try:
        yield opened
    finally:
        _opening.now = outer


@contextmanager
def opening() -> Iterator[Opened]:
    """Around the opening of one connection."""
    if _library() is None:
        yield Opened()
        return
    with _noted() as opened:
        yield opened


def is_seen(module: str | None) -> bool:
    """A connection that this module gives while it is watched is seen to wait."""
    found = None if module is None else sys.modules.get(module)
    return found is not None and getattr(found, "connect", None) is sqlite3.connect and _library() is not None


def patiently(connection: Any, held: Beside, sql: object, run: Callable[[], Value]) -> Value:
    """Run a statement of a watched connection beside a held call."""
    try:
        return _heard(connection, held, sql, run)
    except sqlite3.Error as error:
        if (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY == sqlite3.SQLITE_BUSY:
            held.refused(sql)
        raise


def _heard(connection: Any, held: Beside, sql: object, run: Callable[[], Value]) -> Value:
    library, database = _library(), connection._database
    if library is None or database is None or _SETTING in str(sql).casefold():
        return run()
    timeout_ms = _timeout_ms(connection)
    if timeout_ms <= 0:
        return run()
    # Kept as long as the connection: the library must never come back to one that is gone.
    handler = connection._handler = library.handler(_Asked(held, timeout_ms))
    library.set_handler(database, handler, None)
    try:
        return run()
    finally:
        if connection._database == database:
            library.set_timeout(database, timeout_ms)


def _timeout_ms(connection: Any) -> int:
    """How long the connection waits by itself; 0 where it may not be asked, or somebody would hear of it."""
    if connection._is_overheard:
        return 0
    cursor = sqlite3.Cursor(connection)
    try:
        found: int = cursor.execute(f"PRAGMA {_SETTING}").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        cursor.close()
    return found


@define(eq=False)
class _Asked:
    """Asked by SQLite, within a statement, how often it has asked before: whether to try again."""

    held: Beside
    timeout_ms: int
    _since_s: float = field(factory=time.monotonic)

    def __call__(self, _argument: int | None, times: int) -> int:
        if times == 0:
            self._since_s = time.monotonic()
        if times and self.held.waited_s(self._since_s) * 1000 >= self.timeout_ms:
            return 0
        self.held.waits()
        return 1
