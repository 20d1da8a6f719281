"""A handle on one file: opening it, the one way to read and to write, and what certification needs to reach."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from weakref import WeakSet

from workspec.jobs.vocabulary import Envelope, HistoryEntry, JobError, State, StoreUnavailable

from ..arguments import require_integers, require_texts, require_within
from ..connection import Connection, Contract, Settings
from ..opening import checked_settings
from . import inspection, snapshot
from .arguments import refuse_unstorable_texts
from .clock import Clock
from .numbers import GREATEST_COUNT, GREATEST_INSTANT
from .outcomes import Policy
from .refusals import invalid
from .schema import PAGE_SIZE, TABLES
from .spare import Spare
from .transactions import JobTransaction

Value = TypeVar("Value")
Work = Callable[[sqlite3.Connection, int], Value]


def _does_not_fit(_text: str) -> JobError:
    return invalid("too_large")


_CONTRACT: Final = Contract(TABLES, StoreUnavailable, _does_not_fit, PAGE_SIZE)


class Handle:
    """Open a store with `open`; the constructor is for `open` alone."""

    def __init__(self, settings: Settings, policy: Policy) -> None:
        self._settings = settings
        self._policy = policy
        self._clock = Clock()
        self._connection = Connection(settings, _CONTRACT)
        self._transactions: WeakSet[JobTransaction] = WeakSet()
        self._closing = threading.Lock()
        self._is_closed = False
        self._spare = Spare()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        synchronous: str = "FULL",
        busy_timeout_ms: int = 5000,
        max_page_count: int | None = None,
        read_only: bool = False,
        crash_limit: int = 3,
        retry_base_ms: int = 1000,
        retry_cap_ms: int = 3_600_000,
    ) -> Self:
        """A handle on the store in this file, which is created when it does not exist yet.

        ``synchronous`` is ``FULL`` (a commit survives loss of power) or ``NORMAL`` (it survives the end of the
        process). ``busy_timeout_ms`` bounds each wait for another writer. ``max_page_count`` limits the file.
        ``crash_limit`` is the number of lost leases that quarantines a job, at least 1 (SIM-19); ``retry_base_ms`` and
        ``retry_cap_ms`` shape the delay of a retry that names none (JOB-ACK-08). They belong to the handle: give
        every handle on one file the same.

        Raises:
            TypeError, ValueError: an option that is none; the text names it, the rule and the value.
            StoreUnavailable: definite; no store can be opened there, and the text says why.
        """
        settings = checked_settings(
            path,
            synchronous=synchronous,
            busy_timeout_ms=busy_timeout_ms,
            max_page_count=max_page_count,
            read_only=read_only,
            unavailable=StoreUnavailable,
        )
        require_integers(crash_limit=crash_limit, retry_base_ms=retry_base_ms, retry_cap_ms=retry_cap_ms)
        require_within("crash_limit", crash_limit, 1, GREATEST_COUNT, "all that can be counted")
        require_within("retry_base_ms", retry_base_ms, 1, GREATEST_INSTANT, "the last instant")
        require_within("retry_cap_ms", retry_cap_ms, 1, GREATEST_INSTANT, "the last instant")
        return cls(settings, Policy(crash_limit, retry_base_ms, retry_cap_ms))

    def close(self) -> None:
        """Close the handle and roll back its open transactions; every later call raises `StoreUnavailable`. Closing
        twice is no fault."""
        with self._closing:
            self._is_closed, left_open = True, list(self._transactions)
        for transaction in left_open:
            transaction.abandon()
        self._spare.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, work: Work[Value]) -> Value:
        """One operation that only reads, on one state of the file and at one instant."""
        return self._connection.view(lambda connection: work(connection, self._clock.now(connection)))

    def _write(self, work: Work[Value]) -> Value:
        """One operation in one transaction, which an exception undoes (JOB-GEN-01, JOB-GEN-03, JOB-GEN-05). Admission
        and ack go to the connection themselves: they read the clock in a statement which they make anyway."""
        return self._connection.write(lambda connection: work(connection, self._clock.now(connection)))

    def _begin(self) -> JobTransaction:
        self._connection.refuse_closed()
        connection = self._spare.take() or Connection(self._settings, _CONTRACT)
        transaction = JobTransaction(connection, self._clock, self._spare.keep)
        with self._closing:
            if not self._is_closed:
                self._transactions.add(transaction)
                return transaction
        # Another thread has closed the handle meanwhile, and could not know of this one, which holds the file's lock.
        transaction.abandon()
        raise StoreUnavailable(f"This handle on {self._settings.path} was closed meanwhile. Open the store anew.", True)

    def envelopes(self) -> list[Envelope]:
        """Every stored job in id order, whatever its state: what the assertions of tests ask (contract, 11.2)."""
        return self._read(lambda connection, _: inspection.envelopes(connection))

    def job_state(self, job_id: str) -> tuple[Envelope, State] | None:
        """A stored job and its state, None without a row (JOB-AST-06)."""
        require_texts(job_id=job_id)
        refuse_unstorable_texts(job_id)
        return self._connection.view(lambda connection: inspection.job_state(connection, job_id))

    def errors(self, job_id: str) -> list[HistoryEntry]:
        """The history of a job, oldest first; empty for an unknown id (JOB-AST-06)."""
        require_texts(job_id=job_id)
        refuse_unstorable_texts(job_id)
        return self._connection.view(lambda connection: inspection.errors(connection, job_id))

    def reset(self) -> None:
        """Delete every row, for a certification that needs an empty store again; a stopped clock stays."""
        self._connection.write(snapshot.empty)

    def snapshot(self) -> dict[str, Any]:
        """All committed state by ``kind/name``, as values that can be compared."""
        return self._connection.view(snapshot.take)
