"""A caller's own transaction, and effects that happen once (contract, 10.1)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final, TypeVar

from workspec.jobs.vocabulary import LeaseRef

from ..connection import Connection
from .clock import Clock
from .outcomes import Policy, Report, ack
from .queues import Successes
from .refusals import invalid

_CLAIM_EFFECT: Final = "INSERT INTO effects (key, claimed_at_ms) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"

Value = TypeVar("Value")


class JobTransaction:
    """Open from `begin` to `commit` or `rollback`, on a connection that it has for itself.

    It holds the file's one write lock: every other writer, the handle that began it included, waits up to its busy
    timeout. So a commit can always hold. One that is dropped, or open when the process ends, is rolled back. Another
    thread may end it at any point by closing the handle, so that each call looks at its connection once.
    """

    def __init__(self, connection: Connection, clock: Clock, give_back: Callable[[Connection], None]) -> None:
        """For `JobStore.begin`; the connection is the transaction's from now on, until a commit gives it back."""
        self._connection: Connection | None = connection
        self._clock = clock
        self._successes = Successes()
        self._give_back = give_back
        try:
            connection.begin()
        except BaseException:
            self.abandon()
            raise

    def refuse_ended(self) -> None:
        """Raises:
        JobError: Invalid (``foreign_transaction``), after commit or rollback.
        """
        self._own()

    def _own(self) -> Connection:
        connection = self._connection
        if connection is None:
            raise invalid("foreign_transaction")
        return connection

    def do(self, work: Callable[[sqlite3.Connection, int], Value]) -> Value:
        """One operation, at one instant; where it raises, it alone is undone (JOB-TXN-02)."""
        own = self._own()
        self._count_successes(own)
        return own.inside(lambda connection: work(connection, self._clock.now(connection)))

    def complete(self, policy: Policy, lease: LeaseRef, report: Report) -> None:
        """End a run that has succeeded. A refusal comes before anything is written, so it needs no savepoint; where
        the file fails, the transaction is lost."""
        self._own().inside_or_lose(
            lambda connection: ack(connection, self._clock, policy, lease, report, self._successes.add)
        )

    def _count_successes(self, connection: Connection) -> None:
        if self._successes:
            connection.inside_or_lose(self._successes.write)

    def commit(self) -> None:
        """Make all of it visible (JOB-TXN-01).

        Raises:
            JobError: Invalid (``foreign_transaction``), when it has ended.
            StoreUnavailable: not definite only when the disk failed in the commit itself.
        """
        own = self._own()
        try:
            self._count_successes(own)
            own.commit()
        except BaseException:
            self.abandon()
            raise
        self._connection = None
        self._give_back(own)

    def rollback(self) -> None:
        """Leave no trace of it (JOB-TXN-01).

        Raises:
            JobError: Invalid (``foreign_transaction``), when it has ended.
        """
        self.refuse_ended()
        self.abandon()

    def abandon(self) -> None:
        """End it if it has not ended; to close its connection rolls it back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def claim_effect(connection: sqlite3.Connection, now: int, key: str) -> bool:
    """Whether this is the first claim of the key (JOB-TXN-04)."""
    return connection.execute(_CLAIM_EFFECT, (key, now)).rowcount == 1
