"""Opening the store of a soak, and asking it, within a limit: nothing that a store does may keep a soak for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from attrs import frozen

from workcert.backends.coroutines import Synchronous, settled
from workcert.backends.protocol import Place
from workcert.backends.registry import BackendError, LoadedBackend
from workcert.raised import told
from workcert.run import calling
from workcert.run.calling import CallHung, observe, time_limit

AGAIN_S: Final = 0.01
"""How long who was turned away at opening waits before it tries again."""


def opened(backend: LoadedBackend, place: Place) -> Synchronous:
    """A handle on the store, opened by the kit itself.

    Raises:
        BackendError: whatever the adapter raises instead; also when it wants to end the process.
        CallHung: not within the limit of a call.
    """
    try:
        with time_limit(f"opening the store of {backend.name}"):
            return Synchronous(settled(backend.adapter.open(place, {})))
    except (CallHung, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise BackendError(f"{backend.name} cannot open a store: {told(error)}") from error


def opened_patiently(backend: LoadedBackend, place: Place) -> Synchronous:
    """The same for one of many: a busy store may turn it away, as it may any call. Whether it takes too long is for
    the kit to see."""
    give_up_at = time.monotonic() + calling.CALL_LIMIT_S
    while True:
        try:
            return Synchronous(settled(backend.adapter.open(place, {})))
        except backend.binding.unavailable as error:
            if not error.definite or time.monotonic() > give_up_at:
                raise
            time.sleep(AGAIN_S)


def close(backend: LoadedBackend, handle: Any) -> None:
    """Close it if it can be closed; how that went is not a soak's question.

    Raises:
        CallHung: it did not come back.
    """
    if hasattr(handle, "close"):
        observe(backend, handle, "close", {})


@frozen(slots=False)
class Limited:
    """A handle each call of which has a limit."""

    _handle: Any

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._handle, name)
        return _limited(name, found) if callable(found) else found


def _limited(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def limited(*args: Any, **keywords: Any) -> Any:
        with time_limit(name):
            return call(*args, **keywords)

    return limited
