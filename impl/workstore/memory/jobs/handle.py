"""One handle on a store: how a call runs, and what a test may do to a store.

A call holds the lock of the store from the reading of the clock to its commit (JOB-GEN-01, JOB-GEN-03, SIM-20).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

from attrs import frozen

from workspec.jobs.vocabulary import Envelope, HistoryEntry, State, StoreUnavailable
from workstore.memory.carriers import changed
from workstore.memory.jobs import arguments, storable
from workstore.memory.jobs.clock import Clock
from workstore.memory.jobs.outcomes import Backoff
from workstore.memory.jobs.rows import Row
from workstore.memory.jobs.snapshot import snapshot
from workstore.memory.jobs.tables import Tables, View

if TYPE_CHECKING:
    from workstore.memory.jobs.transactions import JobTransaction

Answer = TypeVar("Answer")


@frozen(eq=False)
class Shared:
    """What all handles on one store share. The lock guards all of it."""

    crash_limit: int
    backoff: Backoff
    lock: threading.RLock
    tables: Tables
    clock: Clock
    open_transactions: WeakSet[JobTransaction]
    """Weak: a transaction that its owner has dropped must not keep its effect keys."""

    @classmethod
    def new(cls, crash_limit: int, backoff: Backoff) -> Shared:
        return cls(crash_limit, backoff, threading.RLock(), Tables(), Clock(), WeakSet())


def commit_one(below: Tables | View, decide: Callable[[View, int], Answer], now_ms: int) -> Answer:
    """Let a call decide on a view of its own; commit that if it is not refused (JOB-GEN-05)."""
    view = View(below)
    answer = decide(view, now_ms)
    below.apply(view)
    return answer


class Handle:
    """Everything that is not a verb of the port, but for the clock."""

    def __init__(self, shared: Shared, on_close: Callable[[], None] | None) -> None:
        self._shared = shared
        self._on_close = on_close
        self._closed = False

    # --- running a call

    @contextmanager
    def _opened(self) -> Iterator[Shared]:
        """The store, locked, if this handle is open.

        Raises:
            StoreUnavailable: the handle is closed; nothing was written.
        """
        with self._shared.lock:
            self._refuse_closed()
            yield self._shared

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable("this handle is closed; open another on the same store", definite=True)

    def _change(self, decide: Callable[[View, int], Answer]) -> Answer:
        """A call that may write. It is given the instant at which all of it happens."""
        shared = self._shared
        # As `_opened`, here and below, without a context manager of its own, which costs more than most reads.
        with shared.lock:
            self._refuse_closed()
            return commit_one(shared.tables, decide, shared.clock.now_ms())

    def _look(self, read: Callable[[Tables, int], Answer]) -> Answer:
        """A call that only reads."""
        shared = self._shared
        with shared.lock:
            self._refuse_closed()
            return read(shared.tables, shared.clock.now_ms())

    def _row(self, job_id: str) -> Row | None:
        if type(job_id) is not str or not job_id.isascii():
            arguments.check_texts(job_id=job_id)
            storable.check_texts(job_id)
        shared = self._shared
        with shared.lock:
            self._refuse_closed()
            return shared.tables.jobs.get(job_id)

    # --- the life of a handle

    def close(self) -> None:
        """Close this handle and roll its open transactions back; others on the same store stay open. Closing
        twice is harmless."""
        with self._shared.lock:
            if self._closed:
                return
            self._closed = True
            for transaction in list(self._shared.open_transactions):
                if transaction.belongs_to(self):
                    transaction.end()
        if self._on_close is not None:
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- the clock

    def freeze_clock(self, *, at_ms: int) -> None:
        """Stop the clock at an instant, for every handle (JOB-CLK-01)."""
        arguments.check_integers(at_ms=at_ms)
        storable.check_integers(at_ms=at_ms)
        with self._opened() as shared:
            shared.clock.freeze(at_ms)

    def advance_clock(self, *, delta_ms: int) -> None:
        """Step a stopped clock; a running one is stopped first (JOB-CLK-03). No job changes by this (JOB-CLK-04)."""
        arguments.check_integers(delta_ms=delta_ms)
        storable.check_integers(delta_ms=delta_ms)
        with self._opened() as shared:
            shared.clock.advance(delta_ms)

    def unfreeze_clock(self) -> None:
        """Return to the time of the system."""
        with self._opened() as shared:
            shared.clock.unfreeze()

    def frozen_at_ms(self) -> int | None:
        """Where the clock has been stopped; None while it runs. No verb of the port: `SteppedClock` asks it."""
        with self._opened() as shared:
            return shared.clock.frozen_at_ms

    # --- what tests may do

    def reset(self) -> None:
        """Empty the store, for every handle on it: rows, registers, buckets, limits, pauses, duties, cursors, effect
        keys. Open transactions are rolled back. The clock stays."""
        with self._opened() as shared:
            for transaction in list(shared.open_transactions):
                transaction.end()
            shared.tables.clear()

    def snapshot(self) -> dict[str, Any]:
        """All that is committed: ``job/<id>``, ``hold/lifecycle/<key in hex>``, ``hold/throttle/<key in hex>``,
        ``fingerprint/<name>``, ``bucket/<class>``, ``duty/<name>``, ``effect/<key>``, ``queue/<name>`` to a value that
        can be hashed and compared."""
        return self._look(lambda tables, _: snapshot(tables))

    def envelopes(self) -> list[Envelope]:
        """Copies of the envelopes of all rows, whatever their state, by id (JOB-AST-03)."""
        return self._look(lambda tables, _: [copied(tables.jobs[job_id].envelope) for job_id in tables.index.ids])

    def job_state(self, job_id: str) -> tuple[Envelope, State] | None:
        """A copy of the envelope as it is now, and the state; None if the job is absent (JOB-AST-06)."""
        row = self._row(job_id)
        return (copied(row.envelope), row.state) if row is not None else None

    def errors(self, job_id: str) -> list[HistoryEntry]:
        """What runs left behind, oldest first, at most 50; nothing for an unknown job (JOB-AST-06)."""
        row = self._row(job_id)
        return list(row.history) if row is not None else []


def copied(envelope: Envelope) -> Envelope:
    """An envelope whose headers its reader may edit."""
    return changed(envelope, headers=dict(envelope.headers))
