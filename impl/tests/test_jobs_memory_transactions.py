"""Transactions of a caller (section 10.1, P-06, P-07)."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import LeaseRef, Outcome, State, StoreUnavailable
from workstore.memory.jobs import JobStore

from .jobs_driver import NOTHING_DONE, T0, Driver, duplicate, envelope, invalid, lease_rejected, ref, refusal


@pytest.fixture
def jobs() -> Driver:
    return Driver(JobStore(crash_limit=1)).at(T0)


def put_in(jobs: Driver, transaction: Any, job_id: str = "x", **changes: Any) -> None:
    jobs.store.enqueue_tx(transaction=transaction, envelopes=[envelope(job_id, **changes)])


def complete_in(jobs: Driver, transaction: Any, lease: LeaseRef, actual: int | None = None) -> None:
    jobs.store.complete_tx(transaction=transaction, lease=lease, actual_weight=actual)


def lost(call: Any) -> None:
    """The commit answers that it does not hold any more."""
    with pytest.raises(StoreUnavailable) as caught:
        call()
    assert caught.value.definite is True


# --- commit and rollback


def everything_in(jobs: Driver, transaction: Any) -> None:
    claim = jobs.run("running")
    jobs.store.checkpoint_tx(
        transaction=transaction, lease=ref(claim), checkpoint=evolve(NOTHING_DONE, completed_steps=("a",))
    )
    complete_in(jobs, transaction, ref(claim), 0)
    put_in(jobs, transaction, "new", unique_key=b"K")
    assert jobs.store.claim_effect(transaction=transaction, key="mail")


@pytest.fixture
def filled(jobs: Driver) -> Driver:
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1, burst=3)
    jobs.put("running", rate_class="c", weight=2)
    return jobs


def test_nobody_sees_a_transaction_before_its_commit(filled: Driver) -> None:
    transaction = filled.store.begin()
    everything_in(filled, transaction)
    before = filled.store.snapshot()
    assert (filled.state("running"), filled.state("new"), filled.tokens()) == (State.RUNNING, None, 1)
    assert not any(key.startswith("effect/") for key in before)
    transaction.commit()
    assert (filled.state("running"), filled.state("new"), filled.tokens()) == (State.COMPLETED, State.AVAILABLE, 3)
    assert filled.store.get_checkpoint(job_id="running").completed_steps == ("a",)
    assert "effect/mail" in filled.store.snapshot()
    assert refusal(filled.put, "next", unique_key=b"K") == duplicate("new")


def test_a_rollback_leaves_no_trace(filled: Driver) -> None:
    transaction = filled.store.begin()
    everything_in(filled, transaction)
    before = filled.store.snapshot()
    transaction.rollback()
    assert filled.store.snapshot() == before
    again = filled.store.begin()
    assert filled.store.claim_effect(transaction=again, key="mail")


def test_a_transaction_sees_its_own_work(jobs: Driver) -> None:
    transaction = jobs.store.begin()
    put_in(jobs, transaction, "a", unique_key=b"K")
    put_in(jobs, transaction, "a", unique_key=b"K")
    assert refusal(put_in, jobs, transaction, "b", unique_key=b"K") == duplicate("a")
    jobs.store.set_enqueue_limit(queue="q", limit=1)
    assert refusal(put_in, jobs, transaction, "c")[1]["current"] == 1
    transaction.commit()
    assert [found.id for found in jobs.store.envelopes()] == ["a"]


def test_each_call_has_its_own_instant(jobs: Driver) -> None:
    transaction = jobs.store.begin()
    put_in(jobs, transaction, "a")
    put_in(jobs.later(5), transaction, "b")
    jobs.later(5)
    transaction.commit()
    assert (jobs.job("a").enqueued_at_ms, jobs.job("b").enqueued_at_ms) == (T0, T0 + 5)


def test_an_empty_transaction(jobs: Driver) -> None:
    before = jobs.store.snapshot()
    jobs.store.begin().commit()
    jobs.store.begin().rollback()
    assert jobs.store.snapshot() == before


def test_the_caller_may_edit_what_it_handed_in(jobs: Driver) -> None:
    headers = {"a": "1"}
    transaction = jobs.store.begin()
    put_in(jobs, transaction, headers=headers)
    headers["a"] = "2"
    transaction.commit()
    assert jobs.job().headers == {"a": "1"}


# --- refusals inside


def test_a_refusal_does_not_end_a_transaction(jobs: Driver) -> None:
    jobs.put("holder", unique_key=b"K")
    transaction = jobs.store.begin()
    assert refusal(put_in, jobs, transaction, "a", unique_key=b"K") == duplicate("holder")
    assert refusal(put_in, jobs, transaction, "") == invalid("empty_id")
    assert refusal(put_in, jobs, transaction, "holder", fingerprint="G") == ("IdConflict", {"job_id": "holder"})
    stale = LeaseRef("holder", "l", 1)
    assert refusal(complete_in, jobs, transaction, stale) == lease_rejected("holder")
    written = {"transaction": transaction, "lease": stale, "checkpoint": NOTHING_DONE}
    assert refusal(jobs.store.checkpoint_tx, **written) == lease_rejected("holder")
    put_in(jobs, transaction, "b")
    transaction.commit()
    assert jobs.state("b") == State.AVAILABLE


@pytest.mark.parametrize("commit", [True, False])
def test_a_replacement_goes_with_its_transaction(jobs: Driver, commit: bool) -> None:
    jobs.put("holder", unique_key=b"K", payload=b"old")
    transaction = jobs.store.begin()
    asked = {"unique_key": b"K", "unique_replace": 1, "payload": b"new"}
    assert refusal(put_in, jobs, transaction, "n", **asked) == duplicate("holder", replaced=True)
    assert jobs.job("holder").payload == b"old"
    if commit:
        transaction.commit()
    else:
        transaction.rollback()
    assert jobs.job("holder").payload == (b"new" if commit else b"old")


def test_completion_inside_is_success(jobs: Driver) -> None:
    jobs.put(retention_ms=0, unique_key=b"K")
    claim = jobs.run()
    transaction = jobs.store.begin()
    complete_in(jobs, transaction, ref(claim))
    assert refusal(complete_in, jobs, transaction, ref(claim)) == lease_rejected("x")
    put_in(jobs, transaction, "next", unique_key=b"K")
    transaction.commit()
    assert (jobs.state("x"), jobs.state("next")) == (None, State.AVAILABLE)


# --- beside other writers


def test_a_commit_that_does_not_hold_writes_nothing(jobs: Driver) -> None:
    jobs.put("running")
    claim = jobs.run("running")
    transaction = jobs.store.begin()
    put_in(jobs, transaction, "new")
    complete_in(jobs, transaction, ref(claim))
    jobs.store.operator_cancel(job_id="running")
    before = jobs.store.snapshot()
    lost(transaction.commit)
    assert jobs.store.snapshot() == before
    assert refusal(transaction.commit) == invalid("foreign_transaction")


def test_a_key_taken_meanwhile(jobs: Driver) -> None:
    transaction = jobs.store.begin()
    put_in(jobs, transaction, "a", unique_key=b"K")
    jobs.put("b", unique_key=b"K")
    lost(transaction.commit)
    assert refusal(jobs.put, "c", unique_key=b"K") == duplicate("b")


def test_a_limit_reached_meanwhile(jobs: Driver) -> None:
    jobs.store.set_enqueue_limit(queue="q", limit=2)
    transaction = jobs.store.begin()
    put_in(jobs, transaction, "a")
    jobs.put_all(envelope("b"), envelope("c"))
    lost(transaction.commit)
    assert jobs.stats().unfinished_jobs == 2


def test_a_replay_that_is_none_any_more(jobs: Driver) -> None:
    jobs.put("a")
    transaction = jobs.store.begin()
    put_in(jobs, transaction, "a")
    jobs.store.edit_payload(job_id="a", payload=b"", schema_version=1, fingerprint="other")
    lost(transaction.commit)


def test_a_refusal_that_is_none_any_more(jobs: Driver) -> None:
    jobs.put("holder", unique_key=b"K")
    transaction = jobs.store.begin()
    refusal(put_in, jobs, transaction, "a", unique_key=b"K")
    jobs.store.operator_cancel(job_id="holder")
    lost(transaction.commit)


def test_writers_that_touch_nothing_of_it_are_no_obstacle(jobs: Driver) -> None:
    jobs.store.set_enqueue_limit(queue="q", limit=9)
    jobs.put("running")
    claim = jobs.run("running")
    transaction = jobs.store.begin()
    put_in(jobs, transaction, "a")
    complete_in(jobs, transaction, ref(claim))
    jobs.put("b")
    jobs.renew(claim, lease_ms=5)
    jobs.finish("b", Outcome.SKIP)
    transaction.commit()
    assert (jobs.state("a"), jobs.state("running"), jobs.state("b")) == (
        State.AVAILABLE,
        State.COMPLETED,
        State.ARCHIVED,
    )
    assert jobs.stats().unfinished_jobs == 1


def test_settlement_is_done_on_what_is_there_at_the_commit(jobs: Driver) -> None:
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1, burst=10)
    jobs.put_all(*(envelope(job_id, rate_class="c", weight=3) for job_id in "ab"))
    a, b = jobs.admit()
    transaction = jobs.store.begin()
    complete_in(jobs, transaction, ref(a), 1)
    jobs.ack(b, Outcome.SUCCESS, actual=2)
    transaction.commit()
    assert jobs.tokens() == 7


# --- effects


def test_an_effect_is_claimed_once(jobs: Driver) -> None:
    first = jobs.store.begin()
    assert jobs.store.claim_effect(transaction=first, key="k")
    assert jobs.store.claim_effect(transaction=first, key="other")
    assert not jobs.store.claim_effect(transaction=first, key="k")
    first.commit()
    second = jobs.store.begin()
    assert not jobs.store.claim_effect(transaction=second, key="k")
    second.commit()
    assert not jobs.store.claim_effect(transaction=jobs.store.begin(), key="k")


def test_a_second_open_claimer_is_told_at_once(jobs: Driver) -> None:
    first, second = jobs.store.begin(), jobs.store.handle().begin()
    assert jobs.store.claim_effect(transaction=first, key="k")
    owner = second._owner
    lost(lambda: owner.claim_effect(transaction=second, key="k"))
    assert owner.claim_effect(transaction=second, key="other")
    first.rollback()
    assert owner.claim_effect(transaction=second, key="k")
    second.commit()


def test_whatever_ends_a_claimer_frees_its_claim(jobs: Driver) -> None:
    def free() -> bool:
        transaction = jobs.store.begin()
        claimed = bool(jobs.store.claim_effect(transaction=transaction, key="k"))
        transaction.rollback()
        return claimed

    other = jobs.store.handle()
    other.claim_effect(transaction=other.begin(), key="k")
    gc.collect()
    assert free()
    held = other.begin()
    other.claim_effect(transaction=held, key="k")
    lost(free)
    other.close()
    assert free()
    failing = jobs.store.begin()
    jobs.store.claim_effect(transaction=failing, key="k")
    put_in(jobs, failing)
    jobs.put(kind="v")
    lost(failing.commit)
    assert free()


def test_an_effect_has_a_key(jobs: Driver) -> None:
    transaction = jobs.store.begin()
    assert refusal(jobs.store.claim_effect, transaction=transaction, key="") == invalid("empty_effect_key")


# --- whose it is


def calls_on(store: Any, transaction: Any) -> list[Any]:
    lease = LeaseRef("x", "l", 1)
    return [
        lambda: store.enqueue_tx(transaction=transaction, envelopes=[]),
        lambda: store.complete_tx(transaction=transaction, lease=lease, actual_weight=None),
        lambda: store.checkpoint_tx(transaction=transaction, lease=lease, checkpoint=NOTHING_DONE),
        lambda: store.claim_effect(transaction=transaction, key="k"),
    ]


class ForeignTransaction:
    def commit(self) -> None: ...

    def rollback(self) -> None: ...


def test_a_transaction_belongs_to_its_handle(jobs: Driver) -> None:
    foreign = [jobs.store.handle().begin(), JobStore().begin(), ForeignTransaction()]
    for ending in ("commit", "rollback"):
        ended = jobs.store.begin()
        getattr(ended, ending)()
        foreign.append(ended)
        assert refusal(ended.commit) == refusal(ended.rollback) == invalid("foreign_transaction")
    for transaction in foreign:
        for call in calls_on(jobs.store, transaction):
            assert jobs.unchanged_by(call) == invalid("foreign_transaction")
    for nothing in (None, "transaction", object()):
        for call in calls_on(jobs.store, nothing):
            with pytest.raises(TypeError):
                call()


def test_reset_rolls_back(jobs: Driver) -> None:
    transaction = jobs.store.begin()
    put_in(jobs, transaction)
    jobs.store.reset()
    assert refusal(transaction.commit) == invalid("foreign_transaction")
    assert jobs.store.snapshot() == {}


def test_a_closed_handle_commits_nothing(jobs: Driver) -> None:
    other = jobs.store.handle()
    transaction = other.begin()
    put_in(jobs.on(other), transaction)
    other.close()
    lost(transaction.commit)
    lost(transaction.rollback)
    lost(other.begin)
    for call in calls_on(other, transaction):
        lost(call)
    assert jobs.state() is None
