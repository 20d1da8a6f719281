"""A handle of a store that is seen through its connections: its calls have points, and places among all commits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define

from workcert.backends.coroutines import Synchronous, settled
from workcert.watched.call import CallWatch, seen_by, strays


@define(eq=False, slots=False)
class WatchedHandle(Synchronous):
    """A handle with the methods of the abilities ``points`` and ``commit_order``; one that has them itself keeps its
    own. To be opened while the database module is `installed`."""

    _on_point: Callable[[str], object] | None = None
    _last: CallWatch | None = None
    statements: int = 0
    """How many statements its calls have made, as far as they were seen."""
    strays: int = 0
    """How many were seen meanwhile that no call can be found for."""

    @property
    def has_own_points(self) -> bool:
        """The store tells its points itself."""
        return hasattr(self._handle, "points")

    def points(self, callback: Callable[[str], object] | None) -> None:
        """From now on its calls run the callback at each of their points, until it is None."""
        own = getattr(self._handle, "points", None)
        if own is not None:
            settled(own(callback))
            return
        self._on_point = callback

    def commit_order(self) -> int | None:
        """The ticket of what the last call committed, to be compared with that of any other on this machine; None
        where it committed nothing."""
        own = getattr(self._handle, "commit_order", None)
        if own is not None:
            given: int | None = settled(own())
            return given
        return None if self._last is None else self._last.ticket

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._handle, name)
        if not callable(found):
            return found
        waiting = self.__dict__[name] = self._watched(name)
        return waiting

    def _watched(self, name: str) -> Callable[..., Any]:
        def made(*arguments: Any, **keywords: Any) -> Any:
            watch, before = CallWatch(self._on_point), strays()
            try:
                with seen_by(watch):
                    return settled(getattr(self._handle, name)(*arguments, **keywords))
            finally:
                self._last = watch
                self.statements += watch.statements
                self.strays += strays() - before

        return made
