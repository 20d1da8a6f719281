"""A run that is told to end (SIGTERM, as a service that cancels a job does) ends as one that is interrupted."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

from attrs import define

POSIX: Final = hasattr(signal, "SIGTERM") and hasattr(signal, "SIGKILL")


@define
class Told:
    """``to_end``: the signal has come."""

    to_end: bool = False


@contextlib.contextmanager
def ending_in_order() -> Iterator[Told]:
    """Around a command: the first SIGTERM does what Ctrl-C does, whatever that is by then, so that nothing is left
    behind; those after it are not heard, for it is ending. Without this the process would be gone at once."""
    told = Told()
    if not POSIX or threading.current_thread() is not threading.main_thread():
        yield told
        return

    def end(_number: int, frame: FrameType | None) -> None:
        if told.to_end:
            return
        told.to_end = True
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):
            interrupt(signal.SIGINT, frame)
        # A shell has what it starts in the background ignore Ctrl-C.
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield told
    finally:
        signal.signal(signal.SIGTERM, before)
