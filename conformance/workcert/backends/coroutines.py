"""Adapters whose methods are coroutines: one event loop in a thread of its own runs them, the kit waits.

The engine is synchronous, since a step is judged before the next one is made. Calls at once come from several threads
and meet in the loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

from attrs import define


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="workcert coroutines", daemon=True).start()
    return loop


def settled(value: Any) -> Any:
    """The value, or what it comes to if it has to be awaited."""
    if not inspect.isawaitable(value):
        return value

    async def wait() -> Any:
        return await value

    return asyncio.run_coroutine_threadsafe(wait(), _loop()).result()


@define(eq=False)
class Synchronous:
    """A handle of coroutines as one of plain methods."""

    _handle: Any

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._handle, name)
        return _waiting(found) if callable(found) else found


def _waiting(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **keywords: settled(method(*args, **keywords))


def synchronous(handle: Any, methods: Iterable[str]) -> Any:
    """The handle itself, or a `Synchronous` one if one of these methods, or its closing, is a coroutine."""
    found = (getattr(handle, name, None) for name in (*methods, "close", "reset", "snapshot"))
    return Synchronous(handle) if any(map(inspect.iscoroutinefunction, found)) else handle
