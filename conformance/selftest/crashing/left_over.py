"""Stores that are wrong, or odd, in what outlasts a call: what a kill, a full disk or a reset leaves to the next one.

Loaded by its path, as `stores` beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any

from workspec.jobs.vocabulary import Envelope, StoreUnavailable
from workstore.backends import MemoryBackend, SqliteJobsBackend
from workstore.sqlite.jobs import JobStore


class JobsBackend(SqliteJobsBackend):
    def __init__(self, store: type[Any], around: Callable[[Any], Any] = lambda real: real) -> None:
        super().__init__()
        self.abilities = frozenset({"restart", "kill", "second_handle", "reset"})
        self._store, self._around = store, around

    def open(self, place: Any, config: Mapping[str, Any]) -> Any:
        store = self._store.open(place.path / "jobs.db", **config)
        store.mark = place.path / "mark"
        return self._around(store)


class SwallowsAFullDisk(JobStore):
    """In one operation of many."""

    def enqueue(self, *, envelopes: list[Envelope]) -> None:
        try:
            super().enqueue(envelopes=envelopes)
        except StoreUnavailable:
            return


class LeavesALock(JobStore):
    """Who is killed while it promotes leaves a lock that no reset takes away."""

    mark: Any

    def promote_due(self, **arguments: Any) -> Any:
        if self.mark.exists():
            raise StoreUnavailable("another one promotes", True)
        self.mark.touch()
        try:
            return super().promote_due(**arguments)
        finally:
            self.mark.unlink()


class Worn(JobStore):
    """Forgets what is enqueued where a queue has been paused, and where the place has been reset."""

    mark: Any
    _has_paused = False

    def pause_queue(self, **arguments: Any) -> None:
        self._has_paused = True
        super().pause_queue(**arguments)

    def enqueue(self, *, envelopes: list[Envelope]) -> None:
        if not (self._has_paused or self.mark.exists()):
            super().enqueue(envelopes=envelopes)

    def reset(self) -> None:
        super().reset()
        self._has_paused = False
        self.mark.touch()


class Actor:
    """A thread of the handle's own makes every call, and so every statement but those of the opening."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._asked: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while (work := self._asked.get()) is not None:
            work()

    def _made(self, name: str, arguments: Mapping[str, Any]) -> Any:
        answer: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

        def work() -> None:
            try:
                answer.put((True, getattr(self._real, name)(**arguments)))
            except BaseException as error:  # raised again where the caller hears it
                answer.put((False, error))

        self._asked.put(work)
        is_answer, value = answer.get()
        if is_answer:
            return value
        raise value

    def close(self) -> None:
        self._made("close", {})
        self._asked.put(None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not callable(getattr(self._real, name)):
            raise AttributeError(name)
        return lambda **arguments: self._made(name, arguments)


class InTwo(JobStore):
    """A batch is committed job by job."""

    def enqueue(self, *, envelopes: list[Envelope]) -> None:
        for each in envelopes:
            super().enqueue(envelopes=[each])


SWALLOWS_A_FULL_DISK = JobsBackend(SwallowsAFullDisk)
LEAVES_A_LOCK = JobsBackend(LeavesALock)
WORN = JobsBackend(Worn)
RIGHT = JobsBackend(JobStore)
ACTOR = JobsBackend(JobStore, Actor)
ACTOR_IN_TWO = JobsBackend(InTwo, Actor)
NO_STATEMENT = JobsBackend(JobStore)
NO_STATEMENT.promises = {"is it durable": 1}
NOWHERE_ELSE = MemoryBackend()
NOWHERE_ELSE.abilities = frozenset({*NOWHERE_ELSE.abilities, "kill", "restart"})
