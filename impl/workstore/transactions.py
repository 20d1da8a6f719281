"""Effects that happen once: client code over the transactions of any store that has them (profile TXN).

A job may run more than once: a worker dies after it has done its work and before it has said so. What such a run does
*through a transaction of the store* can still happen once only, since it is committed together with an effect key that
is never given out again.

`once` is for a handler that does one thing; the job ends with it:

>>> from workspec.jobs.vocabulary import Outcome
>>> from workstore.testing import drain, envelope, fresh_store
>>> store = fresh_store()
>>> store.enqueue(envelopes=[envelope("order-1", "order", b"3 books")])
>>> def order(claim):
...     def effect(transaction):
...         store.enqueue_tx(transaction=transaction, envelopes=[envelope("parcel-1", "parcel")])
...     return once(store, claim, effect)
>>> [(run.job_id, run.outcome.value) for run in drain(store, order, 10)]
[('order-1', 'success')]
>>> [stored.id for stored in store.envelopes()]
['parcel-1']

`step_once` is for a handler of several steps. A later run goes on where the last one stopped:

>>> store = fresh_store()
>>> store.enqueue(envelopes=[envelope("trip-1", "trip")])
>>> def trip(claim):
...     steps = Steps(store, claim)
...     step_once(steps, "flight", lambda transaction: print("flight booked"))
...     if claim.envelope.attempt == 0:
...         raise ConnectionError("the hotel does not answer")
...     step_once(steps, "hotel", lambda transaction: print("hotel booked"))
...     return Outcome.SUCCESS
>>> [run.outcome.value for run in drain(store, trip, 10)]
flight booked
['retry']
>>> store.advance_clock(delta_ms=1_000)
>>> [run.outcome.value for run in drain(store, trip, 10)]
hotel booked
['success']

Known limits. What an effect does elsewhere (a mail, a call to a service) is not undone by a rollback, and the next run
does it again. An effect must write to the store through its transaction alone: on a store with one writer, a call
beside it waits for the transaction that waits for it. The effect key of a step is the job id, a slash and the name of
the step (JOB-TXN-07): job ``a/b`` and step ``b`` of job ``a`` share a key, so use ids or step names without a slash.
Keys are never released (JOB-TXN-04): a job that takes the id of an older one finds its effects done. Stores with
coroutine methods are not served, and neither are effects that do nothing when they are called: an ``async def``, a
generator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Protocol, TypeAlias, runtime_checkable

from attrs import evolve

from workspec.jobs.ports import Transaction, TransactionalStore
from workspec.jobs.vocabulary import Checkpoint, Claim, ErrorCode, JobError, LeaseRef, StoreUnavailable

__all__ = ["Effect", "Once", "RepeatedStepError", "StaleCheckpointError", "StepStore", "Steps", "once", "step_once"]

Effect: TypeAlias = Callable[[Transaction], object]
"""What is to happen once. It writes through the transaction that it is given, and neither commits it nor rolls it back;
what it returns is not used, what it raises undoes it. It is done when it returns: one that answers with something yet
to be awaited or iterated over is a TypeError."""


class Once(Enum):
    """What `once` did."""

    COMPLETED = "completed"
    """The effect and the success of the job are committed. The job has ended: do not ack it again."""
    ALREADY_DONE = "already done"
    """A former run has committed the effect. Nothing was done, and the job still runs: ack it as usual."""


class StaleCheckpointError(Exception):
    """The steps of the handler are not those that a former run has recorded: the code has changed under a job that was
    under way. Its job cannot be continued: ack it undecodable (JOB-TXN-08)."""

    def __init__(self, job_id: str, position: int, recorded: str, called: str) -> None:
        super().__init__(
            f"step {position + 1} of job {job_id} was {recorded!r} in a former run and is {called!r} now; "
            "the handler has changed while the job was under way: ack it as undecodable"
        )
        self.job_id = job_id
        self.position = position
        self.recorded = recorded
        self.called = called


class RepeatedStepError(Exception):
    """A step name was used twice in one run: the second use would find the effect of the first done (JOB-TXN-08)."""

    def __init__(self, job_id: str, name: str) -> None:
        super().__init__(f"job {job_id} has used the step name {name!r} before in this run; give each step its own")
        self.job_id = job_id
        self.name = name


@runtime_checkable
class StepStore(TransactionalStore, Protocol):
    """What `step_once` needs of a store: TXN, and the checkpoint of CORE."""

    def checkpoint(self, *, lease: LeaseRef, checkpoint: Checkpoint) -> None: ...


def once(store: TransactionalStore, claim: Claim, effect: Effect, *, actual_weight: int | None = None) -> Once:
    """Run an effect and complete the job in one commit, if no former run has. The effect key is the job id.

    Implements JOB-TXN-06, JOB-CAP-02.

    Args:
        actual_weight: what the run really cost; None settles nothing (JOB-RATE-08).

    Raises:
        JobError: Invalid (``no_transactions``), before anything is done: the store has no TXN. LeaseRejected: the lease
            is lost and all is rolled back; stop, and ack nothing.
        StoreUnavailable: as from the store. If ``definite``, nothing was written, and the job may be retried; else it
            may have been completed.
        TypeError: the effect is a coroutine or a generator, and has done nothing; all is rolled back.
        BaseException: whatever the effect raised; all is rolled back, and the job still runs.
    """
    _refuse_without(store, TransactionalStore, "once")
    with _transaction(store) as transaction:
        if not store.claim_effect(transaction=transaction, key=claim.envelope.id):
            transaction.rollback()
            return Once.ALREADY_DONE
        _happen(effect, transaction, f"the effect of job {claim.envelope.id}")
        store.complete_tx(transaction=transaction, lease=_lease(claim), actual_weight=actual_weight)
        transaction.commit()
    return Once.COMPLETED


class Steps:
    """The steps of one run of a job: make one for each claim, and give it to `step_once`. Not for several threads.

    ``checkpoint`` is what the store holds for this job as far as this run knows. It carries ``crashes_by_step`` on, as
    the store does not merge (JOB-CKP-04), and leaves the cursor, the schema version and the hash of the step set alone.

    Raises:
        JobError: Invalid (``no_transactions``): the store has no TXN (JOB-CAP-02).
    """

    def __init__(self, store: StepStore, claim: Claim) -> None:
        _refuse_without(store, StepStore, "step_once")
        self._store = store
        self._claim = claim
        self._used: set[str] = set()
        self._position = 0
        self.checkpoint = claim.checkpoint

    def _replays(self, name: str) -> bool:
        """Whether a former run has done this step. A name is used up by this, whatever comes of the step."""
        job_id = self._claim.envelope.id
        if not name:
            raise ValueError("a step needs a name: it is a part of its effect key")
        if name in self._used:
            raise RepeatedStepError(job_id, name)
        self._used.add(name)
        done = self.checkpoint.completed_steps
        if self._position == len(done):
            return False
        if done[self._position] != name:
            raise StaleCheckpointError(job_id, self._position, recorded=done[self._position], called=name)
        self._position += 1
        return True

    def _begin(self, name: str) -> None:
        """Persisted before the body, so that a crash in it is counted for this step (JOB-RCL-04)."""
        begun = evolve(self.checkpoint, in_progress_step=name)
        self._store.checkpoint(lease=_lease(self._claim), checkpoint=begun)
        self.checkpoint = begun

    def _commit(self, name: str, effect: Effect) -> bool:
        """Effects, key and completion in one commit. False if the key has been claimed: then the effect is done, but
        another writer has replaced the checkpoint that was committed with it, and the completion is recorded anew."""
        completed = _with_completed(self.checkpoint, name)
        lease = _lease(self._claim)
        with _transaction(self._store) as transaction:
            first = self._store.claim_effect(transaction=transaction, key=f"{self._claim.envelope.id}/{name}")
            if first:
                _happen(effect, transaction, f"the effect of step {name!r} of job {self._claim.envelope.id}")
                self._store.checkpoint_tx(transaction=transaction, lease=lease, checkpoint=completed)
                transaction.commit()
            else:
                transaction.rollback()
        if not first:
            self._store.checkpoint(lease=lease, checkpoint=completed)
        self.checkpoint = completed
        self._position += 1
        return first


def step_once(steps: Steps, name: str, effect: Effect) -> bool:
    """Run the effect of a step, if no former run has: True if it ran now. The effect key is job id, slash, name.

    Steps are known again by their position: the handler must call them in the order of the former run, and may add
    steps behind those. That a step is in progress is written before its effect, outside the transaction; the effect,
    its key and the completion of the step are one commit. Each write is a fence check. Implements JOB-TXN-07,
    JOB-TXN-08.

    Raises:
        ValueError: the name is empty.
        RepeatedStepError: this run has used the name before, with success or not.
        StaleCheckpointError: a former run has recorded another name at this position; ack the job undecodable.
        JobError: LeaseRejected: the lease is lost, nothing of this step is committed; stop, and ack nothing.
        StoreUnavailable: as from the store. If ``definite``, nothing of the effect was written; else it may have been,
            and the next run will know.
        TypeError: the effect is a coroutine or a generator, and has done nothing; the step stays in progress.
        BaseException: whatever the effect raised; it is rolled back, and the step stays in progress.
    """
    if steps._replays(name):
        return False
    steps._begin(name)
    return steps._commit(name, effect)


def _happen(effect: Effect, transaction: Transaction, whose: str) -> None:
    """Run an effect to its end.

    Raises:
        TypeError: it has only been set up. Its key would be committed and what it stands for would never happen.
    """
    made = effect(transaction)
    kind = _unfinished(made)
    if not kind:
        return
    if isinstance(made, Coroutine | Generator):
        # Else the collector says later, far from here, that it was never awaited.
        made.close()
    raise TypeError(
        f"{whose} answered with {kind}, so it has not happened, and nothing of it is committed; "
        "an effect must have done its work when it returns: make it a plain function without await and yield "
        "(where the work is a coroutine, run it to its end inside the effect)"
    )


def _unfinished(made: object) -> str:
    """What an effect has answered with that still has to be run; empty for anything else."""
    if inspect.isawaitable(made):
        return "something to be awaited (is it an async def?)"
    if inspect.isgenerator(made):
        return "a generator (does it yield?)"
    if inspect.isasyncgen(made):
        return "an asynchronous generator (is it an async def that yields?)"
    return ""


def _with_completed(checkpoint: Checkpoint, name: str) -> Checkpoint:
    return evolve(
        checkpoint,
        last_completed_step=name,
        completed_steps=(*checkpoint.completed_steps, name),
        in_progress_step=None,
    )


def _lease(claim: Claim) -> LeaseRef:
    return LeaseRef(job_id=claim.envelope.id, lease_id=claim.lease_id, fence=claim.fence)


@contextmanager
def _transaction(store: TransactionalStore) -> Iterator[Transaction]:
    """A transaction that its body ends; if the body raises, it is rolled back."""
    transaction = store.begin()
    try:
        yield transaction
    except BaseException:
        # What went wrong first is what the caller must see; after a failed commit there is nothing left to end.
        with suppress(JobError, StoreUnavailable):
            transaction.rollback()
        raise


def _refuse_without(store: object, needed: type, verb: str) -> None:
    if isinstance(store, needed):
        return
    raise JobError(
        ErrorCode.INVALID,
        {"reason": "no_transactions"},
        f"Invalid(no_transactions): {verb} needs a store with the profile TXN, and {type(store).__name__} is none; "
        "make the handler idempotent and ack it as usual",
    )
