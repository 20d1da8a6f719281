"""Adapters whose methods are coroutines: one event loop in a thread of its own runs them, the kit waits.

The engine is synchronous, since a step is judged before the next one is made. Calls at once come from several threads
and meet in the loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable
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
    """A handle whose answers are awaited where they have to be: whether a method is a coroutine shows in what it gives
    back, not in how it was written."""

    _handle: Any

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._handle, name)
        return _waiting(found) if callable(found) else found


def _waiting(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **keywords: settled(method(*args, **keywords))
