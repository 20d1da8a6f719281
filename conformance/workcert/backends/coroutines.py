"""Adapters whose methods are coroutines: one event loop in a thread of its own runs them, the kit waits.

The engine is synchronous, since a step is judged before the next one is made. Calls at once come from several threads
and meet in the loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from collections.abc import Callable, Generator
from types import GeneratorType
from typing import Any, Final

from attrs import define


class LoopLostError(Exception):
    """What would have to be awaited belongs to a loop whose thread is in another process."""


_loop_of: int | None = None
"""The process that has the loop."""


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    global _loop_of
    _loop_of = os.getpid()
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="workcert coroutines", daemon=True).start()
    return loop


_PLAIN: Final[set[type[Any]]] = set()
"""Types of answers that nobody has to await."""


def settled(value: Any) -> Any:
    """The value, or what it comes to if it has to be awaited."""
    if not inspect.isawaitable(value):
        if not isinstance(value, GeneratorType):
            # Of a generator its code tells, so that each is asked; of anything else the type.
            _PLAIN.add(type(value))
        return value

    if _loop_of not in (None, os.getpid()):
        # Never begun, and not to be complained of by Python.
        getattr(value, "close", lambda: None)()
        raise LoopLostError("its calls are coroutines, and no event loop outlives a fork")

    async def wait() -> Any:
        return await value

    return asyncio.run_coroutine_threadsafe(wait(), _loop()).result()


def meanwhile(work: Callable[[], None]) -> Any:
    """Do the work now; or, where a coroutine of the store asks for it, give it what it must await: the loop has to go
    on with the calls that the work makes."""
    if not is_running_here():
        work()
        return None
    return _Elsewhere(work)


def is_running_here() -> bool:
    try:
        return asyncio.get_running_loop() is _loop()
    except RuntimeError:
        return False


@define(eq=False)
class _Elsewhere:
    """Work that another thread does while it is awaited."""

    _work: Callable[[], None]

    def __await__(self) -> Generator[Any, None, None]:
        return _loop().run_in_executor(None, self._work).__await__()


@define(eq=False, slots=False)
class Synchronous:
    """A handle whose answers are awaited where they have to be: whether a method is a coroutine shows in what it gives
    back, not in how it was written."""

    _handle: Any

    def is_coroutine(self, name: str) -> bool:
        """A method that was written as one; what only gives back something to be awaited is not known beforehand."""
        return inspect.iscoroutinefunction(getattr(self._handle, name, None))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._handle, name)
        if not callable(found):
            return found
        # Found without this function from now on: every step asks for several methods.
        waiting = self.__dict__[name] = _waiting(self._handle, name)
        return waiting


def _waiting(handle: Any, name: str) -> Callable[..., Any]:
    def waiting(*args: Any, **keywords: Any) -> Any:
        value = getattr(handle, name)(*args, **keywords)
        return value if type(value) in _PLAIN else settled(value)

    return waiting
