"""`workstore.transactions` over the stores with transactions (contract, 10.1)."""

from __future__ import annotations

import doctest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import workstore.transactions
from workspec.jobs.ports import Transaction
from workspec.jobs.vocabulary import Claim, JobError, Outcome, State, StoreUnavailable
from workstore.memory.jobs import JobStore as MemoryStore
from workstore.sqlite.jobs import JobStore as SqliteStore
from workstore.testing import LEASE_MS, Crash, drain, envelope, fresh_store
from workstore.transactions import Once, RepeatedStepError, StaleCheckpointError, Steps, once, step_once

from .jobs_driver import DAY_MS, NOTHING_DONE, T0, Driver, invalid, lease_rejected, ref, refusal


@pytest.fixture(params=["memory", "sqlite"])
def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    with MemoryStore() if request.param == "memory" else SqliteStore.open(tmp_path / "jobs.db") as store:
        yield Driver(store).at(T0)


@pytest.fixture
def memory() -> Driver:
    return Driver(fresh_store(T0))


def enqueues(jobs: Driver, job_id: str) -> Callable[[Transaction], None]:
    """An effect that one can see: a job in another queue."""
    return lambda transaction: jobs.store.enqueue_tx(
        transaction=transaction, envelopes=[envelope(job_id, "effect", queue="effects")]
    )


def fails(error: BaseException, first: Callable[[Transaction], object]) -> Callable[[Transaction], None]:
    def effect(transaction: Transaction) -> None:
        first(transaction)
        raise error

    return effect


def forbidden(_: Transaction) -> None:
    raise AssertionError("this effect must not run")


def key_is_free(jobs: Driver, key: str) -> bool:
    transaction = jobs.store.begin()
    free = jobs.store.claim_effect(transaction=transaction, key=key)
    transaction.rollback()
    return bool(free)


def claim_key(jobs: Driver, key: str) -> None:
    transaction = jobs.store.begin()
    assert jobs.store.claim_effect(transaction=transaction, key=key)
    transaction.commit()


def run_again(jobs: Driver, claim: Claim) -> Claim:
    """The claim of the next run, after a retry of this one."""
    jobs.ack(claim, Outcome.RETRY, delay_ms=1)
    jobs.later(1).promote()
    return jobs.run(claim.envelope.id)


class Without:
    """A store that lacks some methods."""

    def __init__(self, store: Any, *missing: str) -> None:
        self._store = store
        self._missing = missing

    def __getattr__(self, name: str) -> Any:
        if name in self._missing:
            raise AttributeError(name)
        return getattr(self._store, name)


TXN_VERBS = ("begin", "enqueue_tx", "complete_tx", "checkpoint_tx", "claim_effect")


def test_the_examples_run() -> None:
    ran = doctest.testmod(workstore.transactions)
    assert (ran.failed, ran.attempted > 10) == (0, True)


# --- once


def test_effect_key_and_completion_are_committed(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    assert once(jobs.store, claim, enqueues(jobs, "e")) is Once.COMPLETED
    assert (jobs.state("x"), jobs.state("e")) == (State.COMPLETED, State.AVAILABLE)
    assert not key_is_free(jobs, "x")
    assert refusal(jobs.ack, claim, Outcome.SUCCESS) == lease_rejected("x")


def test_the_effect_sees_an_open_transaction(jobs: Driver) -> None:
    jobs.put("x")
    seen = []
    once(jobs.store, jobs.run("x"), lambda _: seen.append(jobs.state("x")))
    assert seen == [State.RUNNING]


def test_what_is_done_already_is_not_done_again_and_not_completed(jobs: Driver) -> None:
    jobs.put("x")
    claim_key(jobs, "x")
    claim = jobs.run("x")
    assert once(jobs.store, claim, forbidden) is Once.ALREADY_DONE
    assert jobs.state("x") == State.RUNNING
    jobs.ack(claim, Outcome.SUCCESS)
    assert jobs.state("x") == State.COMPLETED


@pytest.mark.parametrize("error", [ValueError("no"), Crash(), KeyboardInterrupt()])
def test_an_effect_that_fails_leaves_no_trace(jobs: Driver, error: BaseException) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    with pytest.raises(type(error)) as caught:
        once(jobs.store, claim, fails(error, enqueues(jobs, "e")))
    assert caught.value is error
    assert (jobs.state("x"), jobs.state("e"), key_is_free(jobs, "x")) == (State.RUNNING, None, True)
    assert once(jobs.store, claim, enqueues(jobs, "e")) is Once.COMPLETED


def test_a_lost_lease_rolls_the_effect_back(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    jobs.later(LEASE_MS).reclaim()
    assert refusal(once, jobs.store, claim, enqueues(jobs, "e")) == lease_rejected("x")
    assert (jobs.state("e"), key_is_free(jobs, "x")) == (None, True)


def test_the_weight_settles_with_the_completion(jobs: Driver) -> None:
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1_000, burst=10)
    jobs.put("x", rate_class="c", weight=4)
    jobs.put("y", rate_class="c", weight=4)
    x, y = jobs.admit()
    assert jobs.tokens() == 2
    once(jobs.store, x, enqueues(jobs, "e"), actual_weight=1)
    assert jobs.tokens() == 5
    once(jobs.store, y, enqueues(jobs, "f"))
    assert jobs.tokens() == 5


def test_an_effect_that_ends_the_transaction_is_told_so(jobs: Driver) -> None:
    jobs.put("x")
    assert refusal(once, jobs.store, jobs.run("x"), lambda own: own.rollback()) == invalid("foreign_transaction")
    assert jobs.state("x") == State.RUNNING


def test_a_commit_that_does_not_hold_is_told_as_it_is(memory: Driver) -> None:
    memory.put("x")

    def overtaken(transaction: Transaction) -> None:
        enqueues(memory, "e")(transaction)
        memory.put("e", kind="other")

    with pytest.raises(StoreUnavailable) as caught:
        once(memory.store, memory.run("x"), overtaken)
    assert caught.value.definite
    assert (memory.state("x"), key_is_free(memory, "x")) == (State.RUNNING, True)


@pytest.mark.parametrize("missing", [TXN_VERBS, *((verb,) for verb in TXN_VERBS)])
def test_a_store_without_transactions_is_refused(memory: Driver, missing: tuple[str, ...]) -> None:
    memory.put("x")
    claim = memory.run("x")
    store: Any = Without(memory.store, *missing)
    assert memory.unchanged_by(once, store, claim, forbidden) == invalid("no_transactions")
    assert memory.unchanged_by(Steps, store, claim) == invalid("no_transactions")


def test_once_in_a_handler(jobs: Driver) -> None:
    """The runtime does not ack what is completed, and acks what was done already."""
    jobs.put("x")
    jobs.put("y")
    claim_key(jobs, "y")
    performed = drain(jobs.store, lambda claim: once(jobs.store, claim, enqueues(jobs, "e")), 10)
    assert [tuple(run) for run in performed] == [("x", "w", Outcome.SUCCESS), ("y", "w", Outcome.SUCCESS)]
    assert (jobs.state("x"), jobs.state("y"), jobs.state("e")) == (State.COMPLETED, State.COMPLETED, State.AVAILABLE)


# --- step_once


def test_a_step_is_in_progress_before_its_effect_and_completed_with_it(jobs: Driver) -> None:
    jobs.put("x")
    steps = Steps(jobs.store, jobs.run("x"))
    seen = []

    def effect(transaction: Transaction) -> None:
        enqueues(jobs, "e")(transaction)
        seen.append((jobs.store.get_checkpoint(job_id="x"), jobs.state("e")))

    assert step_once(steps, "a", effect) is True
    assert seen == [(evolve(NOTHING_DONE, in_progress_step="a"), None)]
    done = evolve(NOTHING_DONE, completed_steps=("a",), last_completed_step="a")
    assert jobs.store.get_checkpoint(job_id="x") == steps.checkpoint == done
    assert (jobs.state("x"), jobs.state("e")) == (State.RUNNING, State.AVAILABLE)
    assert (key_is_free(jobs, "x/a"), key_is_free(jobs, "x")) == (False, True)


def test_the_next_run_replays_by_position(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    steps = Steps(jobs.store, claim)
    assert [step_once(steps, name, enqueues(jobs, f"e-{name}")) for name in "ab"] == [True, True]
    steps = Steps(jobs.store, run_again(jobs, claim))
    before = jobs.store.snapshot()
    assert [step_once(steps, name, forbidden) for name in "ab"] == [False, False]
    assert jobs.store.snapshot() == before
    assert step_once(steps, "c", enqueues(jobs, "e-c")) is True
    assert steps.checkpoint.completed_steps == ("a", "b", "c")
    assert jobs.counts("effects") == {"available": 3}


@pytest.mark.parametrize("error", [ValueError("no"), Crash()])
def test_a_step_that_fails_is_rolled_back_and_stays_in_progress(jobs: Driver, error: BaseException) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    steps = Steps(jobs.store, claim)
    step_once(steps, "a", enqueues(jobs, "e-a"))
    with pytest.raises(type(error)):
        step_once(steps, "b", fails(error, enqueues(jobs, "e-b")))
    left = jobs.store.get_checkpoint(job_id="x")
    assert (left.completed_steps, left.last_completed_step, left.in_progress_step) == (("a",), "a", "b")
    assert (jobs.state("e-b"), key_is_free(jobs, "x/b")) == (None, True)
    steps = Steps(jobs.store, run_again(jobs, claim))
    assert [step_once(steps, name, enqueues(jobs, f"e-{name}")) for name in "ab"] == [False, True]


def test_the_counts_of_crashes_are_carried_on(jobs: Driver) -> None:
    jobs.put("x")
    steps = Steps(jobs.store, jobs.run("x"))
    with pytest.raises(Crash):
        step_once(steps, "a", fails(Crash(), enqueues(jobs, "e")))
    jobs.later(LEASE_MS).reclaim()
    jobs.later(1_000).promote()
    steps = Steps(jobs.store, jobs.run("x"))
    step_once(steps, "a", enqueues(jobs, "e"))
    step_once(steps, "b", enqueues(jobs, "f"))
    left = jobs.store.get_checkpoint(job_id="x")
    assert (left.completed_steps, left.crashes_by_step) == (("a", "b"), (("a", 1),))


def test_cursor_and_versions_are_left_alone(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    own = evolve(NOTHING_DONE, cursor_step="z", cursor=b"42", schema_version=7, step_set_hash="h")
    jobs.store.checkpoint(lease=ref(claim), checkpoint=own)
    steps = Steps(jobs.store, run_again(jobs, claim))
    step_once(steps, "a", enqueues(jobs, "e"))
    done = evolve(own, completed_steps=("a",), last_completed_step="a")
    assert jobs.store.get_checkpoint(job_id="x") == done


@pytest.mark.parametrize(("called", "position", "recorded"), [("b", 0, "a"), ("ac", 1, "b"), ("z", 0, "a")])
def test_another_name_at_a_recorded_position_is_stale(jobs: Driver, called: str, position: int, recorded: str) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    steps = Steps(jobs.store, claim)
    for name in "ab":
        step_once(steps, name, enqueues(jobs, f"e-{name}"))
    steps = Steps(jobs.store, run_again(jobs, claim))
    before = jobs.store.snapshot()
    for name in called[:-1]:
        assert step_once(steps, name, forbidden) is False
    with pytest.raises(StaleCheckpointError, match="undecodable") as caught:
        step_once(steps, called[-1], forbidden)
    error = caught.value
    assert (error.job_id, error.position, error.recorded, error.called) == ("x", position, recorded, called[-1])
    assert jobs.store.snapshot() == before


def test_a_stale_checkpoint_makes_the_job_undecodable(jobs: Driver) -> None:
    jobs.put("x")
    names = iter(["old", "new"])

    def handler(claim: Claim) -> Outcome:
        step_once(Steps(jobs.store, claim), next(names), enqueues(jobs, f"e-{claim.fence}"))
        return Outcome.RETRY

    assert [run.outcome for run in drain(jobs.store, handler, 1, queues=["q"])] == [Outcome.RETRY]
    jobs.later(DAY_MS)
    assert [run.outcome for run in drain(jobs.store, handler, 1, queues=["q"])] == [Outcome.UNDECODABLE]
    assert jobs.state("x") == State.UNDECODABLE
    assert "'old' in a former run and is 'new' now" in str(jobs.job("x").history[-1].error)


def test_a_name_is_used_once_in_a_run(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    steps = Steps(jobs.store, claim)
    step_once(steps, "done", enqueues(jobs, "e"))
    with pytest.raises(ValueError, match="no"):
        step_once(steps, "failed", fails(ValueError("no"), enqueues(jobs, "f")))
    for name in ("done", "failed"):
        with pytest.raises(RepeatedStepError, match=name):
            step_once(steps, name, forbidden)
    steps = Steps(jobs.store, run_again(jobs, claim))
    assert step_once(steps, "done", forbidden) is False
    with pytest.raises(RepeatedStepError):
        step_once(steps, "done", forbidden)


def test_a_step_needs_a_name(jobs: Driver) -> None:
    jobs.put("x")
    with pytest.raises(ValueError, match="name"):
        step_once(Steps(jobs.store, jobs.run("x")), "", forbidden)


def test_a_key_that_is_claimed_completes_the_step_without_its_effect(jobs: Driver) -> None:
    """Another writer has put an older checkpoint over the one that was committed with the effect."""
    jobs.put("x")
    claim = jobs.run("x")
    step_once(Steps(jobs.store, claim), "a", enqueues(jobs, "e"))
    jobs.store.checkpoint(lease=ref(claim), checkpoint=NOTHING_DONE)
    steps = Steps(jobs.store, run_again(jobs, claim))
    assert step_once(steps, "a", forbidden) is False
    assert jobs.store.get_checkpoint(job_id="x").completed_steps == ("a",)
    assert step_once(steps, "b", enqueues(jobs, "f")) is True
    assert jobs.store.get_checkpoint(job_id="x").completed_steps == ("a", "b")


def test_a_step_begins_with_a_fence_check(jobs: Driver) -> None:
    jobs.put("x")
    steps = Steps(jobs.store, jobs.run("x"))
    step_once(steps, "a", enqueues(jobs, "e"))
    jobs.later(LEASE_MS).reclaim()
    assert refusal(step_once, steps, "b", forbidden) == lease_rejected("x")
    assert key_is_free(jobs, "x/b")


def test_a_step_ends_with_a_fence_check(memory: Driver) -> None:
    memory.put("x")
    steps = Steps(memory.store, memory.run("x"))

    def cancelled(transaction: Transaction) -> None:
        enqueues(memory, "e")(transaction)
        memory.store.operator_cancel(job_id="x")

    assert refusal(step_once, steps, "a", cancelled) == lease_rejected("x")
    assert (memory.state("e"), key_is_free(memory, "x/a")) == (None, True)
    assert memory.store.get_checkpoint(job_id="x").completed_steps == ()


def test_a_lost_lease_ends_the_handler_without_an_ack(memory: Driver) -> None:
    memory.put("x")

    def handler(claim: Claim) -> Outcome:
        memory.later(LEASE_MS).reclaim()
        step_once(Steps(memory.store, claim), "a", forbidden)
        raise AssertionError("unreachable")

    assert [run.outcome for run in drain(memory.store, handler, 1)] == [Outcome.LEASE_LOST]
    assert memory.job("x").attempt == 0


def test_refusals_are_job_errors_with_a_text(memory: Driver) -> None:
    memory.put("x")
    store: Any = Without(memory.store, "begin")
    with pytest.raises(JobError, match=r"once needs a store with the profile TXN, and Without is none"):
        once(store, memory.run("x"), forbidden)
