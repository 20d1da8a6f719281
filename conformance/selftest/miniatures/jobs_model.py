"""What a miniature job store is: the in-memory one with a line that reads otherwise, or a changed specification."""

from __future__ import annotations
import __future__

import inspect
import os
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType
from typing import Any, cast

from attrs import evolve, frozen

from workcert.binding import bindings
from workstore.backends import MemoryJobsBackend

from .model import SCENARIOS

JOBS = bindings()["jobs"]


@frozen
class Edit:
    """One passage of a function, which stands there just once, in other words."""

    function: Callable[..., Any]
    old: str
    new: str

    @contextmanager
    def made(self) -> Iterator[None]:
        """The function does as edited, for everybody who calls it, until the block ends."""
        function = cast(FunctionType, self.function)
        right, function.__code__ = function.__code__, self._code(function)
        try:
            yield
        finally:
            function.__code__ = right

    def _code(self, function: FunctionType) -> Any:
        source = textwrap.dedent(inspect.getsource(function))
        # What an edit may say, whether its module imports it or not.
        function.__globals__.setdefault("evolve", evolve)
        function.__globals__.setdefault("os", os)
        assert source.count(self.old) == 1, f"{function.__qualname__} has not once: {self.old}"
        flags = __future__.annotations.compiler_flag
        made: dict[str, Any] = {}
        name = f"<{function.__qualname__}, edited>"
        exec(compile(source.replace(self.old, self.new), name, "exec", flags), function.__globals__, made)
        return made[function.__name__].__code__


@frozen
class JobMiniature:
    """A job store that is wrong in one thing. ``right``: the requirements of which one must be named; ``suite``: the
    one that has to find it, alone. The edits are in force inside of `applied` only. ``shrunk`` is False where that
    takes longer than all the rest: then it is caught and named, and no more."""

    name: str
    right: frozenset[str]
    make: Callable[[], Any]
    edits: tuple[Edit, ...] = ()
    suite: str = SCENARIOS
    shrunk: bool = True

    @contextmanager
    def applied(self) -> Iterator[Any]:
        """The wrong store, as a backend."""
        with ExitStack() as stack:
            for edit in self.edits:
                stack.enter_context(edit.made())
            yield self.make()


def edited(name: str, right: str, *edits: Edit, suite: str = SCENARIOS, shrunk: bool = True) -> JobMiniature:
    """The in-memory store with a few words of it changed."""
    return JobMiniature(name, ids(right), MemoryJobsBackend, edits, suite, shrunk)


def ids(text: str) -> frozenset[str]:
    return frozenset(f"JOB-{name}" for name in text.split())
