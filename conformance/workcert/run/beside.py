"""Work in a thread of its own beside a held call, which stands still until that is done or has to wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import define, field

from workcert.binding import BUSY_TIMEOUT_MS
from workcert.run.calling import CALL_LIMIT_S, CallHung
from workcert.watched import Beside, is_seen

if TYPE_CHECKING:
    from workcert.run.store import StoreUnderTest

PATIENCE_S: Final = 0.25
"""How long a held call stands still for others that do not come back, where nobody can see whether they wait for what
it holds. Then it goes on with them still waiting, which is right in any order; so no verdict hangs on this time."""
LONG_PATIENCE_S: Final = 5.0
"""The same where waiting is seen, or the store was asked not to wait for locks: then a slow machine must not be taken
for a lock."""


def tells_waiting(store: StoreUnderTest) -> bool:
    """Who has to wait is seen at once by the kit. Of a store that has hidden it once that is not said again."""
    return not store.hides_waiting and store.statements_seen() is not None and is_seen(store.backend.dbapi)


@define(eq=False)
class Companion:
    """``came_back``: it was done when the held call went on; ``is_timed``: whether it was hangs on how fast it is."""

    store: StoreUnderTest
    work: Callable[[], None]
    came_back: bool = False
    is_timed: bool = False
    _held: Beside = field(factory=Beside)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin it, and stand still."""
        asked = self.store.config.get(BUSY_TIMEOUT_MS) == 0
        is_told = asked or tells_waiting(self.store)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        in_time = self._held.stand(LONG_PATIENCE_S if is_told else PATIENCE_S)
        self.came_back = self._held.has_ended
        self.is_timed = not (is_told and in_time)
        self.store.hides_waiting |= not in_time

    def go_on(self) -> None:
        """The held call has come to its next point, and stands still again."""
        if self._thread is None or self._held.has_ended or self.is_timed:
            return
        self.is_timed = not self._held.move(LONG_PATIENCE_S)
        self.store.hides_waiting |= self.is_timed

    def finish(self, what: str) -> None:
        """The held call has ended: wait for the work. Where it never came to its point nothing was begun.

        Raises:
            CallHung: it does not come back though nothing holds it up any more.
        """
        if self._thread is None:
            return
        self._held.over()
        self._thread.join(CALL_LIMIT_S)
        if self._thread.is_alive():
            raise CallHung(what, CALL_LIMIT_S)

    def next_call(self) -> None:
        self._held.next_call()

    def _run(self) -> None:
        with self._held.entered():
            self.work()
