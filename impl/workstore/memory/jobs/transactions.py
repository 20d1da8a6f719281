"""Transactions of a caller (10.1): what several calls do becomes one commit.

A transaction sees what is committed and, above it, its own changes. At its commit all its calls run once more, at the
instants at which they ran, on what is committed then: if each gives the same answer, what they do is committed as one;
else what was answered does not hold any more, and nothing is written (P-07). So it takes effect at its commit, as
one serial step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from attrs import frozen

from workspec.jobs.ports import Transaction
from workspec.jobs.vocabulary import Checkpoint, Envelope, JobError, LeaseRef, Outcome, StoreUnavailable
from workstore.memory.jobs import arguments, channels, enqueue, outcomes, storable, validation
from workstore.memory.jobs.handle import Handle, commit_one
from workstore.memory.jobs.refusals import invalid
from workstore.memory.jobs.tables import Tables, View

Answer = TypeVar("Answer")
Decide = Callable[[View, int], object]


@frozen
class _Call:
    """A call of a transaction, as it may be run again."""

    decide: Decide
    now_ms: int
    answer: object


class JobTransaction:
    """An open transaction of one handle. `Transactions.begin` makes it."""

    def __init__(self, owner: Transactions) -> None:
        self._owner = owner
        self._view = View(owner.committed_tables())
        self._calls: list[_Call] = []
        self._ended = False

    def commit(self) -> None:
        """Make all of it visible. Implements JOB-TXN-01.

        Raises:
            JobError: Invalid (``foreign_transaction``): it has ended already.
            StoreUnavailable: definite; what was read does not hold any more, nothing was written (P-07).
        """
        self._owner.commit_transaction(self)

    def rollback(self) -> None:
        """Leave no trace of it. Implements JOB-TXN-01.

        Raises:
            JobError: Invalid (``foreign_transaction``): it has ended already.
        """
        self._owner.roll_transaction_back(self)

    # --- for the store, under its lock

    def belongs_to(self, handle: Handle) -> bool:
        return self._owner is handle

    @property
    def ended(self) -> bool:
        return self._ended

    def end(self) -> None:
        self._ended = True

    def claims(self, key: str) -> bool:
        """Whether it has claimed this effect key, and may yet commit that."""
        return not self._ended and key in self._view.effects.changes

    def run(self, decide: Callable[[View, int], Answer], now_ms: int) -> Answer:
        """Run a call above the changes made so far. A refusal is remembered, and changes nothing (JOB-TXN-02)."""
        try:
            answer = commit_one(self._view, decide, now_ms)
        except JobError as error:
            self._calls.append(_Call(decide, now_ms, _comparable(error)))
            raise
        self._calls.append(_Call(decide, now_ms, _comparable(answer)))
        return answer

    def replayed(self, tables: Tables) -> View | None:
        """All its changes, made anew on what is committed now; None if any call is answered otherwise."""
        view = View(tables)
        for call in self._calls:
            if _answered(view, call) != call.answer:
                return None
        return view


def _answered(view: View, call: _Call) -> object:
    try:
        return _comparable(commit_one(view, call.decide, call.now_ms))
    except JobError as error:
        return _comparable(error)


def _comparable(answer: object) -> object:
    return (answer.code, dict(answer.details or {})) if isinstance(answer, JobError) else answer


class Transactions(Handle):
    """Profile TXN. A transaction belongs to the handle that began it; another handle is another store (P-07). That
    is looked at after the types of all arguments and before their values: one that is of no use any more is that
    whatever it is asked for (JOB-TXN-01)."""

    def begin(self) -> JobTransaction:
        """Open a transaction. It holds no lock. Implements JOB-TXN-01."""
        with self._opened() as shared:
            transaction = JobTransaction(self)
            shared.open_transactions.add(transaction)
            return transaction

    def enqueue_tx(self, *, transaction: Transaction, envelopes: Sequence[Envelope]) -> None:
        """`enqueue` inside a transaction; a refusal does not end it. Implements JOB-TXN-02, P-06.

        Raises:
            JobError: as `enqueue`, and Invalid (``foreign_transaction``).
        """
        batch = arguments.envelopes(envelopes)
        own = self._own(transaction)
        validation.check_batch(batch)
        refusal = self._run(own, lambda view, now_ms: enqueue.enqueue(view, batch, now_ms))
        if refusal is not None:
            raise refusal

    def complete_tx(self, *, transaction: Transaction, lease: LeaseRef, actual_weight: int | None) -> None:
        """Success inside a transaction. Implements JOB-TXN-03.

        Raises:
            JobError: LeaseRejected, Invalid (``foreign_transaction``).
        """
        arguments.check_lease(lease)
        arguments.check_optional_integers(actual_weight=actual_weight)
        own = self._own(transaction)
        storable.check_integers(actual_weight=actual_weight)
        storable.check_lease(lease)
        report = outcomes.Report(Outcome.SUCCESS, actual_weight=actual_weight)
        backoff = self._shared.backoff
        self._run(own, lambda view, now_ms: outcomes.ack(view, lease, report, backoff, now_ms))

    def checkpoint_tx(self, *, transaction: Transaction, lease: LeaseRef, checkpoint: Checkpoint) -> None:
        """A checkpoint inside a transaction. Implements JOB-TXN-05.

        Raises:
            JobError: LeaseRejected, Invalid (``foreign_transaction``).
        """
        arguments.check_lease(lease)
        left = arguments.checkpoint(checkpoint)
        own = self._own(transaction)
        storable.check_checkpoint(left)
        storable.check_lease(lease)
        self._run(own, lambda view, _: channels.write_checkpoint(view, lease, left))

    def claim_effect(self, *, transaction: Transaction, key: str) -> bool:
        """True the first time that this key is claimed, False once a commit, or this transaction itself, has claimed
        it. Implements JOB-TXN-04.

        A second open claimer does not wait for the first: nobody but its own caller could end that one here, and
        that may be the very thread that would wait. It is told so at once, as after a wait of no time (P-07).

        Raises:
            JobError: Invalid (``empty_effect_key``, ``foreign_transaction``).
            StoreUnavailable: definite; another open transaction claims the key.
        """
        arguments.check_texts(key=key)
        own = self._own(transaction)
        if not key:
            raise invalid("empty_effect_key", "an effect needs a key")
        storable.check_texts(key)
        with self._opened() as shared:
            if any(other is not own and other.claims(key) for other in shared.open_transactions):
                raise StoreUnavailable(
                    f"another open transaction claims the effect {key}; end it, then try again", definite=True
                )
            return self._run(own, lambda view, _: _claim_effect(view, key))

    # --- for JobTransaction

    def committed_tables(self) -> Tables:
        return self._shared.tables

    def commit_transaction(self, transaction: JobTransaction) -> None:
        with self._opened() as shared:
            _check_open(transaction)
            self._end(transaction)
            view = transaction.replayed(shared.tables)
            if view is None:
                raise StoreUnavailable(
                    "what this transaction saw does not hold any more; nothing was written, run it again",
                    definite=True,
                )
            shared.tables.apply(view)

    def roll_transaction_back(self, transaction: JobTransaction) -> None:
        with self._opened():
            _check_open(transaction)
            self._end(transaction)

    def _end(self, transaction: JobTransaction) -> None:
        transaction.end()
        self._shared.open_transactions.discard(transaction)

    def _run(self, transaction: JobTransaction, decide: Callable[[View, int], Answer]) -> Answer:
        with self._opened() as shared:
            _check_open(transaction)
            return transaction.run(decide, shared.clock.now_ms())

    def _own(self, transaction: object) -> JobTransaction:
        """The transaction, if it is one of this handle and has not ended.

        Raises:
            TypeError: this is no transaction of any store.
            JobError: Invalid (``foreign_transaction``).
        """
        if not isinstance(transaction, JobTransaction):
            if not all(callable(getattr(transaction, verb, None)) for verb in ("commit", "rollback")):
                raise arguments.wrong_type("transaction", "a Transaction", transaction)
            raise _foreign()
        if not transaction.belongs_to(self):
            raise _foreign()
        if not self._closed:
            _check_open(transaction)
        return transaction


def _claim_effect(view: View, key: str) -> bool:
    if view.effects.get(key):
        return False
    view.effects.put(key, True)
    return True


def _check_open(transaction: JobTransaction) -> None:
    if transaction.ended:
        raise _foreign()


def _foreign() -> JobError:
    return invalid("foreign_transaction", "this transaction has ended, or belongs to another handle; begin another")
