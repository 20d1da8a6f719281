"""Callers' own transactions on the SQLite job store (contract, 10.1 and P-06, P-07)."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import JobError, Outcome, State, StoreUnavailable
from workstore.sqlite.connection import Connection
from workstore.sqlite.jobs import JobStore, outcomes
from workstore.sqlite.jobs.transactions import JobTransaction

from .jobs_driver import NOTHING_DONE, T0, Driver, duplicate, envelope, invalid, lease_rejected, ref, refusal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def jobs(path: Path) -> Iterator[Driver]:
    with JobStore.open(path, synchronous="NORMAL", busy_timeout_ms=200) as store:
        yield Driver(store).at(T0)


@pytest.fixture
def other(path: Path, jobs: Driver) -> Iterator[Driver]:
    assert jobs
    with JobStore.open(path, synchronous="NORMAL", busy_timeout_ms=10_000) as store:
        yield Driver(store)


def put(jobs: Driver, transaction: Any, job_id: str, **changes: Any) -> None:
    jobs.store.enqueue_tx(transaction=transaction, envelopes=[envelope(job_id, **changes)])


def test_work_is_seen_when_it_is_committed(jobs: Driver, other: Driver) -> None:
    jobs.put("x")
    claim = jobs.run()
    transaction = jobs.store.begin()
    put(jobs, transaction, "y")
    jobs.store.checkpoint_tx(transaction=transaction, lease=ref(claim), checkpoint=NOTHING_DONE)
    jobs.store.complete_tx(transaction=transaction, lease=ref(claim), actual_weight=None)
    assert jobs.store.claim_effect(transaction=transaction, key="k")
    for handle in (jobs, other):
        assert (handle.state("x"), handle.state("y"), handle.counts()) == ("running", None, {"running": 1})
    transaction.commit()
    assert other.counts() == {"completed": 1, "available": 1}
    assert set(other.store.snapshot()) == {"job/x", "job/y", "queue/q", "effect/k"}


def test_a_rollback_leaves_no_trace(jobs: Driver) -> None:
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1, burst=3)
    jobs.put("x", rate_class="c", weight=3, unique_key=b"K")
    claim = jobs.run()
    jobs.put("held", unique_key=b"H")
    before = jobs.store.snapshot()
    transaction = jobs.store.begin()
    jobs.store.complete_tx(transaction=transaction, lease=ref(claim), actual_weight=1)
    put(jobs, transaction, "y", unique_key=b"K", unique_window_ms=9)
    assert jobs.store.claim_effect(transaction=transaction, key="k")
    assert refusal(put, jobs, transaction, "z", unique_key=b"H", unique_replace=4, priority=3) == duplicate(
        "held", True
    )
    transaction.rollback()
    assert jobs.store.snapshot() == before
    jobs.ack(claim, Outcome.SUCCESS, actual=1)
    assert jobs.tokens() == 2


def test_a_refusal_does_not_end_it_and_leaves_nothing(jobs: Driver) -> None:
    jobs.put("held", unique_key=b"H")
    jobs.put("x")
    claim = jobs.run("x", worker="w")
    transaction = jobs.store.begin()
    put(jobs, transaction, "a")
    batch = [envelope("b"), envelope("c", unique_key=b"H")]
    assert refusal(jobs.store.enqueue_tx, transaction=transaction, envelopes=batch) == duplicate("held")
    assert refusal(put, jobs, transaction, "") == invalid("empty_id")
    stale = evolve(ref(claim), fence=9)
    for call in (
        partial(jobs.store.complete_tx, actual_weight=None),
        partial(jobs.store.checkpoint_tx, checkpoint=NOTHING_DONE),
    ):
        assert refusal(call, transaction=transaction, lease=stale) == lease_rejected("x")
    put(jobs, transaction, "d")
    transaction.commit()
    assert [job_id for job_id in "abcd" if jobs.state(job_id)] == ["a", "d"]


def test_what_fails_half_way_is_undone_alone(jobs: Driver) -> None:
    def half(connection: sqlite3.Connection, _now: int) -> None:
        connection.execute("DELETE FROM jobs")
        raise ArithmeticError

    transaction = jobs.store.begin()
    put(jobs, transaction, "a")
    with pytest.raises(ArithmeticError):
        transaction.do(half)
    put(jobs, transaction, "b")
    transaction.commit()
    assert jobs.counts() == {"available": 2}
    assert [one.id for one in jobs.store.envelopes()] == ["a", "b"]


def test_the_edit_of_a_duplicate_is_committed_with_it(jobs: Driver) -> None:
    jobs.put("held", unique_key=b"H")
    transaction = jobs.store.begin()
    answer = refusal(put, jobs, transaction, "z", unique_key=b"H", unique_replace=4, priority=3)
    assert answer == duplicate("held", True)
    assert jobs.job("held").priority == 0
    transaction.commit()
    assert jobs.job("held").priority == 3


def test_an_effect_is_claimed_once_by_a_commit(jobs: Driver) -> None:
    def claimed(commit: bool) -> bool:
        transaction = jobs.store.begin()
        first = bool(jobs.store.claim_effect(transaction=transaction, key="k"))
        assert not jobs.store.claim_effect(transaction=transaction, key="k")
        transaction.commit() if commit else transaction.rollback()
        return first

    assert [claimed(False), claimed(True), claimed(True)] == [True, True, False]
    transaction = jobs.store.begin()
    answer = refusal(jobs.store.claim_effect, transaction=transaction, key="")
    assert answer == invalid("empty_effect_key")
    transaction.rollback()


def test_foreign_and_ended_transactions(jobs: Driver, other: Driver) -> None:
    def calls(handle: Driver, transaction: Any) -> list[Any]:
        jobs.put("x") if not jobs.state() else None
        lease = evolve(ref(jobs.run())) if jobs.state() == State.AVAILABLE else ref(claim)
        return [
            partial(put, handle, transaction, "n"),
            partial(handle.store.complete_tx, transaction=transaction, lease=lease, actual_weight=None),
            partial(handle.store.checkpoint_tx, transaction=transaction, lease=lease, checkpoint=NOTHING_DONE),
            partial(handle.store.claim_effect, transaction=transaction, key="k"),
        ]

    jobs.put("x")
    claim = jobs.run()
    committed, rolled_back = jobs.store.begin(), None
    committed.commit()
    rolled_back = jobs.store.begin()
    rolled_back.rollback()
    for ended in (committed, rolled_back):
        for call in [*calls(jobs, ended), ended.commit, ended.rollback]:
            assert refusal(call) == invalid("foreign_transaction")
    own = other.store.begin()
    for call in calls(jobs, own):
        assert refusal(call) == invalid("foreign_transaction")
    for call in calls(jobs, object()):
        with pytest.raises(TypeError, match="transaction"):
            call()
    assert other.store.claim_effect(transaction=own, key="k")
    own.rollback()


def test_other_writers_wait_for_it_and_readers_do_not(jobs: Driver, other: Driver) -> None:
    transaction = other.store.begin()
    put(other, transaction, "a")
    with pytest.raises(StoreUnavailable) as caught:
        jobs.put("b")
    assert caught.value.definite
    with pytest.raises(StoreUnavailable):
        jobs.store.begin()
    assert jobs.counts() == {}
    # Malformed input is told even now.
    assert refusal(jobs.put, "") == invalid("empty_id")
    with pytest.raises(TypeError):
        jobs.put(1)  # type: ignore[arg-type]
    transaction.commit()
    jobs.put("b")
    assert jobs.counts() == {"available": 2}


@pytest.mark.parametrize("commit", [True, False])
def test_a_second_claimer_of_an_effect_waits_for_the_first(jobs: Driver, other: Driver, commit: bool) -> None:
    first = jobs.store.begin()
    assert jobs.store.claim_effect(transaction=first, key="k")
    answers: list[bool] = []

    def claim() -> None:
        second = other.store.begin()
        answers.append(other.store.claim_effect(transaction=second, key="k"))
        second.commit()

    waiting = threading.Thread(target=claim)
    waiting.start()
    time.sleep(0.1)
    assert answers == []
    first.commit() if commit else first.rollback()
    waiting.join(timeout=60)
    assert answers == [not commit]


def test_a_handle_that_closes_or_a_transaction_that_is_dropped_rolls_back(path: Path, jobs: Driver) -> None:
    with JobStore.open(path) as closing:
        transaction = closing.begin()
        put(Driver(closing), transaction, "a")
    assert refusal(transaction.commit) == invalid("foreign_transaction")
    dropped = jobs.store.begin()
    put(jobs, dropped, "b")
    del dropped
    gc.collect()
    jobs.put("c")
    assert jobs.counts() == {"available": 1}


def test_a_process_that_ends_rolls_back(path: Path, jobs: Driver) -> None:
    program = """
import os, sys
from workstore.sqlite.connection import Connection
from workstore.sqlite.jobs import JobStore, outcomes
from workstore.sqlite.jobs.transactions import JobTransaction
store = JobStore.open(sys.argv[1])
transaction = store.begin()
assert store.claim_effect(transaction=transaction, key="k")
os._exit(3)
"""
    assert subprocess.run([sys.executable, "-c", program, str(path)], timeout=60, check=False).returncode == 3
    transaction = jobs.store.begin()
    assert jobs.store.claim_effect(transaction=transaction, key="k")
    transaction.commit()


def test_a_stopped_clock_reaches_into_a_transaction(jobs: Driver) -> None:
    transaction = jobs.store.begin()
    put(jobs, transaction, "a", scheduled_at_ms=T0 + 1)
    transaction.commit()
    assert (jobs.state("a"), jobs.job("a").enqueued_at_ms) == ("scheduled", T0)


def test_a_read_only_handle_begins_none(path: Path, jobs: Driver) -> None:
    jobs.put("x")
    with JobStore.open(path, read_only=True) as reader:
        with pytest.raises(StoreUnavailable, match="reading only"):
            reader.begin()
        assert Driver(reader).counts() == {"available": 1}


def test_a_committed_transaction_leaves_its_connection_to_the_next(jobs: Driver) -> None:
    first = jobs.store.begin()
    used = first._connection
    put(jobs, first, "x")
    first.commit()
    second = jobs.store.begin()
    assert second._connection is used
    put(jobs, second, "y")
    second.rollback()
    assert refusal(second.commit) == invalid("foreign_transaction")
    third = jobs.store.begin()
    assert third._connection is not used
    put(jobs, third, "z")
    third.commit()
    assert jobs.counts() == {"available": 2}


def test_a_spare_connection_is_closed_with_its_handle(jobs: Driver, path: Path) -> None:
    transaction = jobs.store.begin()
    spare = transaction._connection
    put(jobs, transaction, "x")
    transaction.commit()
    jobs.store.close()
    with pytest.raises(StoreUnavailable):
        spare.refuse_closed()
    # The last one to close removes the log.
    assert not path.with_name("jobs.db-wal").exists()


def test_a_fence_that_no_column_can_hold_is_no_holder(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run()
    forged = evolve(ref(claim), fence=2**70)
    assert refusal(jobs.ack, forged, Outcome.SUCCESS) == lease_rejected("x")
    assert jobs.store.renew(leases=[forged], lease_ms=1_000) == ["x"]
    assert jobs.state("x") == "running"


def complete(jobs: Driver, transaction: Any, *claims: Any) -> None:
    for claim in claims:
        jobs.store.complete_tx(transaction=transaction, lease=ref(claim), actual_weight=None)


def test_successes_of_one_transaction_are_counted_in_their_own_minutes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with JobStore.open(path, synchronous="NORMAL") as store:
        jobs, now = Driver(store), 60_000 * 1_000
        monkeypatch.setattr(store._clock, "system_ms", lambda: now)
        for job_id, queue, retention_ms in (("a", "q", 1), ("b", "q", 0), ("c", "r", 1), ("d", "q", 1), ("e", "q", 1)):
            jobs.put(job_id, queue=queue, retention_ms=retention_ms)
        claims = sorted(jobs.admit(5, queues=["q", "r"]), key=lambda claim: claim.envelope.id)
        transaction = store.begin()
        complete(jobs, transaction, *claims[:3])
        now += 60_000
        complete(jobs, transaction, *claims[3:])
        transaction.commit()

        def stats() -> dict[str, tuple[dict[str, int], int]]:
            return {one.queue: (dict(one.by_state), one.completed_last_minute) for one in store.queue_stats()}

        assert stats() == {"q": ({"completed": 3}, 2), "r": ({"completed": 1}, 1)}
        now += 60_000
        assert stats() == {"q": ({"completed": 3}, 2), "r": ({"completed": 1}, 0)}


def test_a_limit_sees_what_the_transaction_has_completed(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run()
    jobs.store.set_enqueue_limit(queue="q", limit=1)
    transaction = jobs.store.begin()
    complete(jobs, transaction, claim)
    put(jobs, transaction, "y")
    transaction.commit()
    assert jobs.counts() == {"completed": 1, "available": 1}


def test_a_success_that_is_rolled_back_is_not_counted(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run()
    transaction = jobs.store.begin()
    complete(jobs, transaction, claim)
    transaction.rollback()
    assert jobs.counts() == {"running": 1}
    second = jobs.store.begin()
    complete(jobs, second, claim)
    second.commit()
    assert jobs.counts() == {"completed": 1}


def test_a_completion_that_fails_half_way_loses_the_transaction_and_an_earlier_one_nothing(
    jobs: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs.put("x")
    claim = jobs.run()

    def fail(*_: object) -> None:
        raise ArithmeticError

    transaction = jobs.store.begin()
    put(jobs, transaction, "y")
    for place, name in ((outcomes, "_finish"), (transaction._successes, "add")):
        put(jobs, transaction, name)
        monkeypatch.setattr(place, name, fail)
        with pytest.raises(ArithmeticError):
            complete(jobs, transaction, claim)
        monkeypatch.undo()
    for call in (partial(complete, jobs, transaction, claim), partial(put, jobs, transaction, "u"), transaction.commit):
        with pytest.raises(StoreUnavailable, match="lost") as caught:
            call()
        assert caught.value.definite
    assert jobs.counts() == {"running": 1}
    jobs.ack(claim, Outcome.SUCCESS)
    assert jobs.counts() == {"completed": 1}


def test_a_handle_that_is_closed_while_it_begins_leaves_no_lock(
    jobs: Driver, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Connection.begin

    def closed_meanwhile(connection: Connection) -> None:
        begin(connection)
        jobs.store.close()

    monkeypatch.setattr(Connection, "begin", closed_meanwhile)
    with pytest.raises(StoreUnavailable, match="was closed meanwhile") as raised:
        jobs.store.begin()
    assert raised.value.definite
    with JobStore.open(path, synchronous="NORMAL", busy_timeout_ms=0) as after:
        after.enqueue(envelopes=[envelope("x")])


def test_a_transaction_that_is_ended_by_the_end_of_its_handle_says_so(
    jobs: Driver, other: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction = jobs.store.begin()

    def closed_meanwhile(_self: JobTransaction, _connection: Connection) -> None:
        jobs.store.close()

    monkeypatch.setattr(JobTransaction, "_count_successes", closed_meanwhile)
    with pytest.raises(StoreUnavailable, match="is closed"):
        put(jobs, transaction, "x")
    with pytest.raises(JobError, match="foreign_transaction"):
        transaction.commit()
    assert other.state("x") is None
