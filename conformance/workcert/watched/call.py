"""What is seen of one call: its points, and the place of its commit.

A call is known by its context, so that statements of other handles, of other threads, and of what runs at a point of
it do not count, and so that a coroutine may make it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from attrs import define

AFTER_COMMIT: Final = "after the commit"
"""The label of the point behind a commit that succeeded."""
LONGEST_LABEL: Final = 80


@define(eq=False)
class CallWatch:
    """One call on its way. ``on_point`` None: nobody wants to know its points. ``ticket``: of the last commit.
    ``on_commit``: run with each connection that has committed something."""

    on_point: Callable[[str], object] | None = None
    on_commit: Callable[[Any], object] | None = None
    statements: int = 0
    ticket: int | None = None
    _is_held: bool = False

    def point(self, statement: object) -> None:
        """Another call could come here. What the callback itself does has no points."""
        if self.on_point is None or self._is_held:
            return
        self._is_held = True
        try:
            self.on_point(labelled(statement))
        finally:
            self._is_held = False

    def committed(self, connection: Any, taken: int) -> None:
        """This connection has committed something, with this ticket."""
        self.ticket = taken
        if self.on_commit is None or self._is_held:
            return
        self._is_held = True
        try:
            self.on_commit(connection)
        finally:
            self._is_held = False

    def statement(self, statement: object) -> None:
        if not self._is_held:
            self.statements += 1
        self.point(statement)


@define(eq=False)
class _Strays:
    """Statements that were made in no call's context. ``watch``: of the one call of this process, to which they are
    then put down; None where there may be several."""

    statements: int = 0
    watch: CallWatch | None = None


_STRAYS: Final = _Strays()
_CURRENT: Final[ContextVar[CallWatch | None]] = ContextVar("workcert_call", default=None)


def current() -> CallWatch | None:
    """The watch of the call that runs here, None outside of any."""
    return _CURRENT.get()


def of_statement() -> CallWatch | None:
    """The watch of the call that makes a statement here. A store may have threads for its statements, which no context
    of a call comes into: they are counted."""
    found = _CURRENT.get()
    if found is not None:
        return found
    _STRAYS.statements += 1
    return _STRAYS.watch


def strays() -> int:
    """How many statements of this process were made in no call's context."""
    return _STRAYS.statements


@contextmanager
def alone(watch: CallWatch) -> Iterator[None]:
    """Meanwhile one call is made in this process and no more: what is done in no context is put down to this watch."""
    outer, _STRAYS.watch = _STRAYS.watch, watch
    try:
        yield
    finally:
        _STRAYS.watch = outer


@contextmanager
def seen_by(watch: CallWatch) -> Iterator[None]:
    """What is done inside belongs to this call."""
    token = _CURRENT.set(watch)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def ticket() -> int:
    """A place in the order of all commits of one machine: its monotonic clock, in nanoseconds."""
    return time.monotonic_ns()


def labelled(statement: object) -> str:
    """A statement in one short line."""
    text = statement.decode(errors="replace") if isinstance(statement, bytes) else str(statement)
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 1]}…"


def verb_of(statement: object) -> str:
    """The first word of a statement, in capitals; empty where there is none. Comments before it are passed over."""
    text = statement.decode(errors="replace") if isinstance(statement, bytes) else str(statement)
    text = text.lstrip(" \t\r\n;(")
    while text.startswith(("--", "/*")):
        _comment, _end, text = text.partition("\n" if text.startswith("--") else "*/")
        text = text.lstrip(" \t\r\n;(")
    word = text[:32].split(maxsplit=1)
    return word[0].rstrip(";").upper() if word else ""
