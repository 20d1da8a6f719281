"""What is done beside a held call, in a thread of its own: where it has to wait, the held one goes on at once.

While something waits it tries again at each later point of the held call, which stands still there until that is done.
So who comes first hangs on what the calls do and not on how fast they are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from attrs import define, field

PAUSE_S: Final = 0.05
"""After this long what waits tries again by itself: the held call may wait for something too, or make no statement."""
LAST_PAUSE_S: Final = 0.01
"""The same when the held call has ended, and nobody tells any more when to try."""


@define(eq=False)
class Beside:
    """One held call, and what is done beside it. The held one asks `stand`, `move` and `over`; all else is said by what
    is done beside it."""

    _changed: threading.Condition = field(factory=threading.Condition)
    _moves: int = 0
    """How often the held call has gone on since it was held."""
    _tried_at: int = 0
    """How often it had done so when what waits last began to try."""
    _waits: bool = False
    _is_over: bool = False
    _has_ended: bool = False
    _moved_at_s: float = field(factory=time.monotonic)
    _refused: set[object] = field(factory=set)

    # The held call -----------------------------------------------------------------------------------------------

    @property
    def has_ended(self) -> bool:
        """All that was to be done beside it is done."""
        return self._has_ended

    def stand(self, patience_s: float) -> bool:
        """Stand still until that has ended or has to wait; False where neither was seen in time."""
        with self._changed:
            return self._changed.wait_for(self._is_told, patience_s)

    def move(self, patience_s: float) -> bool:
        """The held call has gone on: what waits tries again, while the held one stands still as before."""
        with self._changed:
            self._moved()
            return self._changed.wait_for(self._is_told, patience_s)

    def over(self) -> None:
        """The held call has ended."""
        with self._changed:
            self._is_over = True
            self._moved()

    def _is_told(self) -> bool:
        return self._has_ended or self._waits

    def _moved(self) -> None:
        self._moves += 1
        self._waits = False
        self._moved_at_s = time.monotonic()
        self._changed.notify_all()

    # Beside it ---------------------------------------------------------------------------------------------------

    @contextmanager
    def entered(self) -> Iterator[None]:
        """What is done inside, in this context, is done beside the held call; then it has ended."""
        token = _BESIDE.set(self)
        try:
            yield
        finally:
            _BESIDE.reset(token)
            with self._changed:
                self._has_ended = True
                self._changed.notify_all()

    def next_call(self) -> None:
        """Another call begins: what the last one was refused says nothing of it."""
        self._refused.clear()

    def waits(self) -> None:
        """Nothing can be done before the held call has gone on; comes back when it may be tried again."""
        with self._changed:
            if not self._is_over:
                if self._tried_at == self._moves:
                    self._waits = True
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._tried_at != self._moves, PAUSE_S)
                # Otherwise that was tried before the held call went on, or while it did.
                self._tried_at = self._moves
                return
        time.sleep(LAST_PAUSE_S)

    def waited_s(self, since_s: float) -> float:
        """How long something has waited since then. While the held call comes from point to point no time counts: on a
        slow machine it would be this that decides."""
        return time.monotonic() - max(since_s, self._moved_at_s)

    def refused(self, statement: object) -> None:
        """The database has said at once that it is held up. Who makes the same statement again in the same call has a
        patience of its own."""
        if statement in self._refused:
            self.waits()
        self._refused.add(statement)


_BESIDE: Final[ContextVar[Beside | None]] = ContextVar("workcert_beside", default=None)


def beside() -> Beside | None:
    """The held call beside which this is done, None where there is none."""
    return _BESIDE.get()
