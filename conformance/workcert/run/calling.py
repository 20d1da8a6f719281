"""Making one call on a handle: what was answered, as a value that can be judged."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from attrs import define, frozen

from workcert.backends.registry import LoadedBackend
from workcert.raised import text_of, told
from workcert.run.actors import with_actors
from workcert.run.telling import call_text
from workspec.core.choice import UNSEEN

CALL_LIMIT_S: Final = 30.0
"""A call that takes longer counts as hung. POSIX and the main thread only; elsewhere a hung call hangs the run."""


@frozen
class Answered:
    value: Any


@frozen
class Refusal:
    """``code`` is mapped to the contract's; ``raw`` is the store's own."""

    code: str
    details: Mapping[str, Any] | None
    raw: str


@frozen
class Unavailable:
    """`StoreUnavailable`: never a refusal, and never right on a store that nobody disturbs."""

    definite: bool
    text: str


@frozen
class Crashed:
    """Anything else that was raised."""

    text: str
    error: BaseException


Observed: TypeAlias = "Answered | Refusal | Unavailable | Crashed"


class CallHung(Exception):  # noqa: N818 - a finding about the backend
    """The backend did not answer in time: the verdict is unknown, never failed. ``doing``: the call that was being
    made, where that is known."""

    def __init__(self, what: str, limit_s: float) -> None:
        super().__init__(what, limit_s)
        self.what = what
        self.limit_s = limit_s
        self.doing = ""

    def within(self, doing: str) -> None:
        """Said on the way out by all that it passes; the innermost is the call that hangs."""
        self.doing = self.doing or doing

    def __str__(self) -> str:
        doing = f", {self.doing}," if self.doing else ""
        return f"{self.what}{doing} has not answered within {self.limit_s:g} seconds"


def observe(backend: LoadedBackend, handle: Any, name: str, arguments: Mapping[str, Any]) -> Observed:
    """Call one method; whatever it does comes back as a value.

    Raises:
        CallHung: no answer within `CALL_LIMIT_S`.
    """
    binding = backend.binding
    try:
        return Answered(with_actors(getattr(handle, name)(**arguments), backend.actors))
    except binding.error as error:
        # A store may raise what a frame of its own still holds; that frame holds the others up to here, and all of an
        # example would wait for the collector of cycles.
        error.__traceback__ = None
        raw = str(error.code)
        return Refusal(backend.codes.get(raw, raw), _details(error.details, backend), raw)
    except binding.unavailable as error:
        return Unavailable(error.definite, text_of(error))
    except CallHung as hung:
        hung.within(call_text(name, arguments))
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Exits and cancellations too: whatever an adapter raises is a finding, not a fault of the kit.
        return Crashed(told(error), error)


def _details(given: Any, backend: LoadedBackend) -> Any:
    """What a refusal holds beside its code. Anything but a mapping is a finding, and must be printable as one.

    A reason is told in the words of the contract; one that is the store's own, and not mapped, is as one not shown:
    then the code alone is compared (JOB-PRT-01).
    """
    if given is None or given is UNSEEN:
        return given
    if isinstance(given, (dict, Mapping)):
        reason, known = given.get("reason"), backend.binding.reasons
        if not known or not isinstance(reason, str) or not reason:
            return given
        meant = backend.codes.get(reason, reason)
        return {**given, "reason": meant if meant in known else UNSEEN}
    return {f"(a {type(given).__name__}, which is no mapping)": text_of(given)}


CHECKS_PER_LIMIT: Final = 8
"""How often within a limit a watch looks at the clock."""


@define
class _Watch:
    """``thread``: the main one; a signal ends no call of any other. ``pending``: what is being waited for, and until
    when by the monotonic clock."""

    thread: int
    pending: tuple[str, float] | None = None


_watching: _Watch | None = None


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Around many limited calls: one timer for all of them, since to set and to take back one for each costs more than
    most calls. Where no signals can be used each limit is as it is without."""
    global _watching
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    watch, limit_s = _Watch(threading.get_ident()), CALL_LIMIT_S

    def look(_number: int, _frame: Any) -> None:
        pending = watch.pending
        if pending is not None and time.monotonic() > pending[1]:
            watch.pending = None
            raise CallHung(pending[0], limit_s)

    outer, _watching = _watching, watch
    before = signal.signal(signal.SIGALRM, look)
    left_s, _interval = signal.setitimer(signal.ITIMER_REAL, limit_s / CHECKS_PER_LIMIT, limit_s / CHECKS_PER_LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left_s)
        signal.signal(signal.SIGALRM, before)
        _watching = outer


def time_limit(what: str) -> contextlib.AbstractContextManager[None]:
    """Ends a hung call by a signal after `CALL_LIMIT_S`, where that is possible."""
    watch = _watching
    if watch is None or watch.thread != threading.get_ident():
        return _alarm(what)
    return _Pending(watch, what)


@define
class _Pending:
    """A limit under a watch; one within another ends first or not at all."""

    _watch: _Watch
    _what: str
    _outer: tuple[str, float] | None = None

    def __enter__(self) -> None:
        self._outer = self._watch.pending
        self._watch.pending = (self._what, time.monotonic() + CALL_LIMIT_S)

    def __exit__(self, *_exception: object) -> None:
        self._watch.pending = self._outer


@contextlib.contextmanager
def _alarm(what: str) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    limit_s = CALL_LIMIT_S

    def give_up(_number: int, _frame: Any) -> None:
        raise CallHung(what, limit_s)

    before = signal.signal(signal.SIGALRM, give_up)
    left_s, _interval = signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        # A limit around this one goes on.
        signal.setitimer(signal.ITIMER_REAL, left_s)
        signal.signal(signal.SIGALRM, before)
