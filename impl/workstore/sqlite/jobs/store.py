"""The store as its users see it: all calls, with the clock of tests and the transactions of callers."""

from __future__ import annotations

from collections.abc import Sequence

from workspec.jobs.ports import Transaction
from workspec.jobs.vocabulary import Checkpoint, Envelope, JobError, LeaseRef

from ..arguments import require_integers, require_optional_integers, require_texts
from . import clock, transactions
from .arguments import (
    refuse_instants_out_of_range,
    refuse_unstorable_checkpoint,
    refuse_unstorable_lease,
    refuse_unstorable_texts,
    require_checkpoint,
    require_envelopes,
    require_lease,
    require_transaction,
)
from .enqueue import enqueue
from .operator_calls import OperatorCalls
from .outcomes import success
from .refusals import invalid
from .transactions import JobTransaction
from .validation import refuse_faulty_batch
from .worker import checkpoint_held


class JobStore(OperatorCalls):
    """The jobs contract on one SQLite file, for any number of threads, processes and handles of one machine.

    Profiles: CORE, PAUSE, RATE, RESULT, OUTPUT, PROGRESS, CLOCK, INSPECT, BACKPRESSURE, TXN, LIMITS, DURABLE and
    WRITERS. Sweeps take rows in the order of due time (promotion, quarantine), end of lease (reclamation) or end of
    the run (eviction), then id.

    Known limits: one writer at a time, and an open transaction is one, so that even the test clock waits for it; no
    network file systems. An admission costs more for each partition of its queues and for each row that stands
    blocked ahead of one that it takes. `list_jobs` walks rows in id order. What is said of a file that is removed or
    replaced under an open handle holds as for the workload store.
    """

    def freeze_clock(self, *, at_ms: int) -> None:
        """Stop the clock of every handle on the file at an instant (JOB-CLK-01).

        Raises:
            JobError: Invalid (``out_of_range``).
            StoreUnavailable: the file is busy, full or broken.
        """
        require_integers(at_ms=at_ms)
        refuse_instants_out_of_range(at_ms)
        self._connection.write(lambda connection: clock.freeze(connection, at_ms))

    def advance_clock(self, *, delta_ms: int) -> None:
        """Step a stopped clock; a running one is stopped first (JOB-CLK-03).

        Raises:
            JobError: Invalid (``out_of_range``).
            StoreUnavailable: the file is busy, full or broken.
        """
        require_integers(delta_ms=delta_ms)
        refuse_instants_out_of_range(delta_ms)
        self._write(lambda connection, now: clock.advance(connection, now, delta_ms))

    def unfreeze_clock(self) -> None:
        """Return to the time of the system.

        Raises:
            StoreUnavailable: the file is busy, full or broken.
        """
        self._connection.write(clock.unfreeze)

    def frozen_at_ms(self) -> int | None:
        """Where the clock has been stopped; None while it runs. No call of the port: `SteppedClock` asks it.

        Raises:
            StoreUnavailable: the file is busy or broken.
        """
        return self._connection.view(clock.frozen_at_ms)

    def begin(self) -> JobTransaction:
        """Open a transaction. It holds the write lock until it ends: see `JobTransaction`.

        Raises:
            StoreUnavailable: another writer held the lock for the whole busy timeout; the file is full or broken.
        """
        return self._begin()

    def enqueue_tx(self, *, transaction: Transaction, envelopes: Sequence[Envelope]) -> None:
        """`enqueue` inside it; a refusal does not end it (JOB-TXN-02). The edit of a Duplicate (``replaced``) is
        committed or dropped with the transaction (P-06).

        Raises:
            JobError: as `enqueue`, and Invalid (``foreign_transaction``).
            StoreUnavailable: the file is full or broken; the transaction may be lost.
        """
        require_envelopes(envelopes)
        own = self._own(transaction)
        refuse_faulty_batch(envelopes)
        batch = list(envelopes)
        committed: JobError | None = own.do(lambda connection, now: enqueue(connection, now, batch))
        if committed is not None:
            raise committed

    def complete_tx(self, *, transaction: Transaction, lease: LeaseRef, actual_weight: int | None) -> None:
        """Success inside it (JOB-TXN-03).

        Raises:
            JobError: LeaseRejected, Invalid.
            StoreUnavailable: the file is full or broken; the transaction may be lost.
        """
        require_lease(lease)
        if actual_weight is not None:
            require_optional_integers(actual_weight=actual_weight)
        own = self._own(transaction)
        refuse_instants_out_of_range(actual_weight)
        refuse_unstorable_lease(lease)
        own.complete(self._policy, lease, success(actual_weight))

    def checkpoint_tx(self, *, transaction: Transaction, lease: LeaseRef, checkpoint: Checkpoint) -> None:
        """A checkpoint inside it (JOB-TXN-05).

        Raises:
            JobError: LeaseRejected, Invalid.
            StoreUnavailable: the file is full or broken; the transaction may be lost.
        """
        require_lease(lease)
        require_checkpoint(checkpoint)
        own = self._own(transaction)
        refuse_unstorable_checkpoint(checkpoint)
        refuse_unstorable_lease(lease)
        own.do(lambda connection, _: checkpoint_held(connection, lease, checkpoint))

    def claim_effect(self, *, transaction: Transaction, key: str) -> bool:
        """True the first time that this key is claimed, False once a commit has claimed it (JOB-TXN-04).

        Raises:
            JobError: Invalid (``empty_effect_key``, ``foreign_transaction``).
            StoreUnavailable: the file is full or broken; the transaction may be lost.
        """
        require_texts(key=key)
        own = self._own(transaction)
        if not key:
            raise invalid("empty_effect_key")
        refuse_unstorable_texts(key)
        return own.do(lambda connection, now: transactions.claim_effect(connection, now, key))

    def _own(self, transaction: Transaction) -> JobTransaction:
        """The transaction, if this handle began it and it has not ended (JOB-TXN-01, P-07). Asked after the types of
        all arguments and before their values: one that is of no use any more is that whatever it is asked for.

        Raises:
            TypeError: this is no transaction of any store.
            JobError: Invalid (``foreign_transaction``).
        """
        if not isinstance(transaction, JobTransaction):
            require_transaction(transaction)
            raise invalid("foreign_transaction")
        if transaction not in self._transactions:
            raise invalid("foreign_transaction")
        transaction.refuse_ended()
        return transaction
