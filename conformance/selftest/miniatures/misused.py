"""Stores that are wrong, or refuse in a way of their own, only where a handle is misused. Each goes around the SQLite
store, named by import path so that other processes find it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attrs import define, field

from workcert.backends.protocol import Place
from workcert.binding import bindings
from workcert.children import worker
from workstore.backends import SqliteBackend, SqliteJobsBackend

SHORT_S = 0.002
"""Long enough for another thread to come between."""


class Around:
    """What it does not say itself, the right handle does; each call of the contract goes through `do`."""

    calls: frozenset[str]

    def __init__(self, inner: Any, place: Place) -> None:
        self.inner, self.place = inner, place
        self.thread, self.process = threading.get_ident(), os.getpid()
        self.is_closed = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name not in self.calls:
            return found
        return lambda **arguments: self.do(found, name, arguments)

    def do(self, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        return call(**arguments)

    def close(self) -> None:
        self.is_closed = True
        self.inner.close()


class Jobs(Around):
    calls = frozenset(bindings()["jobs"].calls.calls)


class Workload(Around):
    calls = frozenset(bindings()["workload"].calls.calls)


# Right, in a way of their own -----------------------------------------------------------------------------------------


class OneThread:
    """As a connection of the standard library that was opened without more words."""

    def do(self: Any, call: Callable[..., Any], name: str, arguments: dict[str, Any]) -> Any:
        if threading.get_ident() != self.thread and name != "begin":
            raise sqlite3.ProgrammingError(f"this handle belongs to thread {self.thread}")
        return call(**arguments)


class OneAtATime:
    """A call that meets another one is turned away."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        if not self.__dict__.setdefault("lock", threading.Lock()).acquire(blocking=False):
            raise RuntimeError("this handle is at work for another thread")
        try:
            time.sleep(SHORT_S)
            return call(**arguments)
        finally:
            self.lock.release()


class _Pooled:
    """Every call is made by one thread of the handle's own, which no forked process has."""

    def __init__(self, inner: Any, place: Place) -> None:
        super().__init__(inner, place)  # type: ignore[call-arg]
        self.pool = ThreadPoolExecutor(1)
        self.pool.submit(int).result()

    def close(self: Any) -> None:
        self.pool.shutdown()
        self.inner.close()


class BlocksOnAPool(_Pooled):
    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        return self.pool.submit(lambda: call(**arguments)).result()


class AwaitsAPool(_Pooled):
    """What it gives back must be awaited, and nothing about its methods says so."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        async def made() -> Any:
            return await asyncio.get_running_loop().run_in_executor(self.pool, lambda: call(**arguments))

        return made()


class WritesThenWaits(_Pooled):
    """The call has been made when it waits."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        if os.getpid() != self.process:
            self.inner = reopened(self)
            answer = getattr(self.inner, _name)(**arguments)
        else:
            answer = call(**arguments)
        self.pool.submit(int).result()
        return answer


class OpensAnew:
    """In a process that was forked it opens the store once more."""

    def do(self: Any, call: Callable[..., Any], name: str, arguments: dict[str, Any]) -> Any:
        if os.getpid() == self.process:
            return call(**arguments)
        inner = reopened(self)
        try:
            return getattr(inner, name)(**arguments)
        finally:
            inner.close()


def reopened(handle: Any) -> Any:
    """The store of a handle once more; its clock stands where it stood."""
    return type(handle.inner).open(next(handle.place.path.glob("*.db")))


# Wrong ----------------------------------------------------------------------------------------------------------------


class MixesAnswers:
    """What is answered last is answered to all."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        self.answer = call(**arguments)
        time.sleep(SHORT_S)
        return self.answer


class LosesWrites:
    """What is asked last is done for all."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        self.asked = arguments
        time.sleep(SHORT_S)
        return call(**self.asked) if self.asked.keys() == arguments.keys() else call(**arguments)


class Deadlocks:
    """Whoever meets another one waits for ever, and so does the other one."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        self.inside = self.__dict__.get("inside", 0) + 1
        time.sleep(SHORT_S)
        if self.inside > 1:
            threading.Event().wait()
        self.inside -= 1
        return call(**arguments)


class Unsteady:
    """Another thread is refused every other time."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        self.times = self.__dict__.get("times", 0) + (threading.get_ident() != self.thread)
        if self.times % 2:
            raise sqlite3.ProgrammingError("another thread")
        return call(**arguments)


class RefusesLate:
    """Another thread is refused when all is done."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        answer = call(**arguments)
        if threading.get_ident() != self.thread:
            raise sqlite3.ProgrammingError("another thread")
        return answer


class SilentWhenForked:
    """In a process that was forked everything is answered as if it had been done."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        if os.getpid() != self.process:
            return None
        return call(**arguments)


class CarriesOn:
    """In a process that was forked it asks no question, and goes on with the connection that it has."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        self.inner._connection._process = os.getpid()
        return call(**arguments)


class BrokenByFork:
    """What a forked process closes is closed for its owner too."""

    @property
    def mark(self: Any) -> Any:
        return self.place.path / "closed-in-a-fork"

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        if self.mark.exists():
            raise ConnectionResetError("the connection was closed by somebody else")
        return call(**arguments)

    def close(self: Any) -> None:
        if os.getpid() != self.process:
            self.mark.touch()
        self.inner.close()


class SilentWhenClosed:
    """A closed handle finds nothing and complains of nothing."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        return None if self.is_closed else call(**arguments)


class FallsWhenClosed:
    """Nobody thought of it."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        if self.is_closed:
            raise AttributeError("'NoneType' object has no attribute 'execute'")
        return call(**arguments)


class ClosesOnce:
    def close(self: Any) -> None:
        if self.is_closed:
            raise AttributeError("'NoneType' object has no attribute 'close'")
        self.is_closed = True
        self.inner.close()


class AnswersWhenClosedMeanwhile:
    """A call whose handle is closed meanwhile answers as if it had been done."""

    def do(self: Any, call: Callable[..., Any], name: str, arguments: dict[str, Any]) -> Any:
        try:
            return call(**arguments)
        except Exception:
            if self.is_closed and name in ("cancel", "start"):
                return "CANCELLED" if name == "cancel" else None
            raise


class CommitsAtTheEnd:
    """A transaction that nobody ends is committed when it is let go of."""

    def do(self: Any, call: Callable[..., Any], _name: str, arguments: dict[str, Any]) -> Any:
        transaction = arguments.get("transaction")
        inner = transaction.inner if isinstance(transaction, Committing) else transaction
        return call(**arguments) if inner is transaction else call(**{**arguments, "transaction": inner})

    def begin(self: Any) -> Any:
        return Committing(self.inner.begin())


class Committing:
    def __init__(self, inner: Any) -> None:
        self.inner, self.has_ended = inner, False

    def commit(self) -> None:
        self.has_ended = True
        self.inner.commit()

    def rollback(self) -> None:
        self.has_ended = True
        self.inner.rollback()

    def __del__(self) -> None:
        if not self.has_ended:
            self.inner.commit()


class TrustsItsClock:
    """A lease that is over by the clock of this process is given away, and nobody is told."""

    def do(self: Any, call: Callable[..., Any], name: str, arguments: dict[str, Any]) -> Any:
        if name == "admit":
            now_ms = int(time.time() * 1000)
            self.inner._connection.write(
                lambda connection: connection.execute(
                    "UPDATE jobs SET state = 'available', lease_id = NULL, lease_expires_at_ms = NULL, "
                    "claimed_at_ms = NULL WHERE state = 'running' AND lease_expires_at_ms <= ?",
                    (now_ms,),
                )
            )
        return call(**arguments)


class SweepsByItsClock:
    """What is over by the clock of this process is swept, whatever the caller says."""

    def do(self: Any, call: Callable[..., Any], name: str, arguments: dict[str, Any]) -> Any:
        if name == "recover_expired":
            ahead_s = round((time.time() - float(os.environ.get(STARTED, time.time()))) / 3600) * 3600
            arguments = {**arguments, "now_s": arguments["now_s"] + ahead_s}
        return call(**arguments)


STARTED = "WORKCERT_SELFTEST_STARTED"
"""The time of the system when the test began, as its own process saw it."""
PATIENCE_S = os.environ.get("WORKCERT_SELFTEST_PATIENCE_S")
"""How long processes in which these stores are opened wait for one that is forked from them and hangs."""
if PATIENCE_S is not None:
    vars(worker)["WITHOUT_THREADS_S"] = float(PATIENCE_S)


@define
class MisusedJobs(SqliteJobsBackend):
    around: type[Any] = field(kw_only=True)

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return type(self.around.__name__, (self.around, Jobs), {})(super().open(place, config), place)


@define
class MisusedWorkload(SqliteBackend):
    around: type[Any] = field(kw_only=True)

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return type(self.around.__name__, (self.around, Workload), {})(super().open(place, config), place)


ONE_THREAD = (MisusedWorkload(around=OneThread), MisusedJobs(around=OneThread))
ONE_AT_A_TIME = (MisusedWorkload(around=OneAtATime), MisusedJobs(around=OneAtATime))
MIXES_ANSWERS = (MisusedWorkload(around=MixesAnswers), MisusedJobs(around=MixesAnswers))
LOSES_WRITES = (MisusedWorkload(around=LosesWrites), MisusedJobs(around=LosesWrites))
DEADLOCKS = (MisusedWorkload(around=Deadlocks), MisusedJobs(around=Deadlocks))
UNSTEADY = (MisusedWorkload(around=Unsteady), MisusedJobs(around=Unsteady))
REFUSES_LATE = (MisusedWorkload(around=RefusesLate), MisusedJobs(around=RefusesLate))
SILENT_WHEN_FORKED = (MisusedWorkload(around=SilentWhenForked), MisusedJobs(around=SilentWhenForked))
BLOCKS_ON_A_POOL = (MisusedWorkload(around=BlocksOnAPool), MisusedJobs(around=BlocksOnAPool))
AWAITS_A_POOL = (MisusedWorkload(around=AwaitsAPool), MisusedJobs(around=AwaitsAPool))
WRITES_THEN_WAITS = (MisusedWorkload(around=WritesThenWaits), MisusedJobs(around=WritesThenWaits))
OPENS_ANEW = (MisusedWorkload(around=OpensAnew), MisusedJobs(around=OpensAnew))
CARRIES_ON = (MisusedWorkload(around=CarriesOn), MisusedJobs(around=CarriesOn))
BROKEN_BY_FORK = (MisusedWorkload(around=BrokenByFork), MisusedJobs(around=BrokenByFork))
SILENT_WHEN_CLOSED = (MisusedWorkload(around=SilentWhenClosed), MisusedJobs(around=SilentWhenClosed))
FALLS_WHEN_CLOSED = (MisusedWorkload(around=FallsWhenClosed), MisusedJobs(around=FallsWhenClosed))
CLOSES_ONCE = (MisusedWorkload(around=ClosesOnce), MisusedJobs(around=ClosesOnce))
ANSWERS_WHEN_CLOSED_MEANWHILE = MisusedWorkload(around=AnswersWhenClosedMeanwhile)
COMMITS_AT_THE_END = MisusedJobs(around=CommitsAtTheEnd)
TRUSTS_ITS_CLOCK = MisusedJobs(around=TrustsItsClock)
SWEEPS_BY_ITS_CLOCK = MisusedWorkload(around=SweepsByItsClock)
