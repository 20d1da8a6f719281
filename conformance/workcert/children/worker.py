"""Inside a child: one handle on the store, and what is asked of it."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Final

from attrs import define, evolve, field

from workcert.backends.coroutines import LoopLostError, Synchronous, settled
from workcert.backends.protocol import Place
from workcert.backends.registry import LoadedBackend
from workcert.cases.contracts import TRANSACTION
from workcert.children.messages import (
    Begin,
    Close,
    End,
    Forked,
    Make,
    Open,
    Reached,
    Reply,
    Request,
    StopClock,
    Unsendable,
)
from workcert.children.points import commit_order, watching
from workcert.raised import told
from workcert.run import calling
from workcert.run.calling import Answered, Crashed, Observed, Unavailable, observe
from workcert.watched import Promised, carried, installed

BEGIN: Final = "begin"
WITHOUT_THREADS_S: Final = 3.0
"""How long a forked process may take whose parent had threads, of which it has none: it may wait for one for ever."""
WAITED: Final = (
    "its handle works by threads of its own, none of which outlives a fork: the forked process waited in vain"
)


class ElsewhereError(Exception):
    """What was raised in another process; of its type only the name is left, in the text."""


@define(eq=False)
class Served:
    """A handle and the transaction that is open on it."""

    backend: LoadedBackend
    _handle: Any = None
    _transaction: Any = None
    _stopped_at: int | None = None
    methods: tuple[str, ...] = ()
    promised: Promised | None = field(init=False)

    @promised.default
    def _asks(self) -> Promised | None:
        return Promised(self.backend.promises) if self.backend.promises else None

    def open(self, place: Place, config: Mapping[str, Any]) -> Observed:
        """Open the store; a store that is not available says so as with any call."""
        try:
            opened = settled(self.backend.adapter.open(place, config))
        except self.backend.binding.unavailable as error:
            return Unavailable(error.definite, str(error))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Crashed(told(error), error)
        if opened is None:
            return Crashed("open(place, config) returned None; it must return a handle", ElsewhereError("None"))
        self._handle = Synchronous(opened)
        # A handle may make its methods when they are asked for.
        calls = (name for name in self.backend.binding.calls.calls if hasattr(opened, name))
        self.methods = tuple({*calls, *(name for name in dir(opened) if not name.startswith("_"))})
        return Answered(None)

    @property
    def handle(self) -> Any:
        return self._handle

    @property
    def in_transaction(self) -> bool:
        """One has begun, and has neither been committed nor rolled back."""
        return self._transaction is not None

    def make(
        self, name: str, arguments: Mapping[str, Any], instant: int | None = None, inside: bool = False
    ) -> Observed:
        """Make a call at an instant: its keyword, or where the store has a clock, the instant at which that is
        stopped before."""
        keywords = dict(arguments)
        keyword = self.backend.binding.calls.instant
        if instant is not None and keyword is not None:
            keywords[keyword] = instant
        if inside:
            keywords[TRANSACTION] = self._transaction
        return observe(self.backend, self._handle, name, keywords)

    def stop_clock(self, instant: int | None) -> Observed | None:
        """Stop the clock of a store that has one, where it does not stand there by this child's own doing; what was
        said instead of doing so."""
        if instant is None or self.backend.binding.calls.instant is not None or instant == self._stopped_at:
            return None
        seen = observe(self.backend, self._handle, "freeze_clock", {"at_ms": instant})
        if not isinstance(seen, Answered):
            return seen
        self._stopped_at = instant
        return None

    def begin(self) -> Observed:
        seen = observe(self.backend, self._handle, BEGIN, {})
        if not isinstance(seen, Answered):
            return seen
        self._transaction = seen.value
        return Answered(None)

    def end(self, how: str) -> Observed:
        transaction, self._transaction = self._transaction, None
        seen = observe(self.backend, Synchronous(transaction), how, {})
        return Answered(None) if isinstance(seen, Answered) else seen

    def close(self) -> Observed:
        """Close the handle; a transaction that is open is rolled back."""
        if self._transaction is not None:
            self.end("rollback")
        handle, self._handle, self._transaction, self._stopped_at = self._handle, None, None, None
        if not hasattr(handle, "close"):
            return Answered(None)
        return observe(self.backend, handle, "close", {})


def live(backend: LoadedBackend, connection: Connection) -> None:
    """Answer until the other end is closed, which it is when the kit ends, in whatever way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever this process opens is of the one store.
    watched = contextlib.nullcontext() if backend.dbapi is None else installed(backend.dbapi)
    with watched:
        _serve(Served(backend), connection)


def _serve(served: Served, connection: Connection) -> None:
    before = frozenset(sys.modules)
    known = len(before)
    while True:
        try:
            request: Request = connection.recv()
        except (EOFError, OSError):
            return
        reply = _answered(served, connection, request)
        if len(sys.modules) != known:
            known = len(sys.modules)
            reply = evolve(reply, imported=tuple(name for name in sys.modules if name not in before))
        try:
            connection.send(reply)
        except OSError:
            return
        except Exception as error:
            # Of what an adapter answers nothing is known, not even that it can be pickled.
            connection.send(Unsendable(told(error)))


def _answered(served: Served, connection: Connection, request: Request) -> Reply:
    match request:
        case Open(place, config):
            reply = _watched(served, connection, request, lambda: served.open(place, config))
            return evolve(reply, methods=served.methods)
        case StopClock(instant):
            return _reply(served.stop_clock(instant) or Answered(None))
        case Make(name, arguments, instant):
            refused = served.stop_clock(instant)
            if refused is not None:
                return _reply(refused)
            inside = request.inside
            return _watched(served, connection, request, lambda: served.make(name, arguments, instant, inside))
        case Forked(call):
            return forked(lambda: served.make(call.name, call.arguments, call.instant), served.close)
        case Begin():
            return _watched(served, connection, request, served.begin)
        case End(how):
            return _watched(served, connection, request, lambda: served.end(how))
        case Close():
            return _reply(served.close())
    raise AssertionError(f"unknown request {request!r}")


def forked(make: Callable[[], Observed], close: Callable[[], Observed]) -> Reply:
    """A call made by a process that is forked from this one, which then closes the handle that both have open."""
    ours, theirs = Pipe(duplex=False)
    limit_s = min(WITHOUT_THREADS_S, calling.CALL_LIMIT_S) if _threads() > 1 else math.inf
    pid = os.fork()
    if not pid:
        try:
            # By then nobody waits for it any more.
            signal.alarm(math.ceil(2 * calling.CALL_LIMIT_S))
            ours.close()
            theirs.send(_made_by_fork(make))
            close()
        finally:
            # Nothing of this process may be ended twice.
            os._exit(0)
    theirs.close()
    give_up_at = time.monotonic() + limit_s
    reply: Reply | None = None
    with contextlib.suppress(EOFError, OSError):
        is_late = not ours.poll(None if limit_s == math.inf else limit_s)
        reply = Reply(Answered(None), in_vain=WAITED) if is_late else ours.recv()
    ours.close()
    status = _ended_by(pid, give_up_at)
    if reply is not None:
        return reply
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "no signal"
    return _reply(
        Crashed(f"SystemError: the forked process ended by {how} before it had answered", ElsewhereError(how))
    )


def _made_by_fork(make: Callable[[], Observed]) -> Reply:
    with carried.noting() as noted:
        observed = make()
    lost = observed.error if isinstance(observed, Crashed) else None
    in_vain = str(lost) if isinstance(lost, LoopLostError) else ""
    return evolve(_reply(observed), carried=next(iter(noted.statements), None), in_vain=in_vain)


def _threads() -> int:
    """How many there are in this process, those that Python does not know of too where the system tells."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def _ended_by(pid: int, give_up_at: float) -> int:
    """How a forked process has ended. By then it is killed: what closing waits for may have been left behind, too."""
    ended, status = os.waitpid(pid, 0 if give_up_at == math.inf else os.WNOHANG)
    while not ended and time.monotonic() < give_up_at:
        time.sleep(0.0005)
        ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    return status


def _watched(
    served: Served, connection: Connection, request: Open | Make | Begin | End, work: Callable[[], Observed]
) -> Reply:
    passed: list[str] = []

    def at(label: str) -> None:
        passed.append(label)
        if len(passed) == request.kill_at:
            connection.send(Reached(len(passed), label))
            os.kill(os.getpid(), signal.SIGKILL)

    is_asked = request.watch or request.kill_at is not None
    with watching(served.backend, served.handle, at if is_asked else None, served.promised) as watch:
        observed = work()
    order = commit_order(served.backend, served.handle, watch)
    reply = evolve(_reply(observed), points=tuple(passed), commit_order=order)
    if served.promised is None:
        return reply
    return evolve(reply, broken=tuple(served.promised.broken), unasked=tuple(served.promised.unasked))


def _reply(observed: Observed) -> Reply:
    if isinstance(observed, Crashed):
        observed = evolve(observed, error=ElsewhereError(observed.text))
    return Reply(observed)
