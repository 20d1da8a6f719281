"""Ids, unique keys, limits and batches: S-02 to S-14, on either store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import Outcome, State

from .jobs_driver import (
    T0,
    Driver,
    OpenJobs,
    backpressure,
    duplicate,
    envelope,
    invalid,
    refusal,
)

KEY = b"K"


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs()


def test_s02_backpressure(jobs: Driver) -> None:
    jobs.store.set_enqueue_limit(queue="q", limit=25)
    for number in range(25):
        jobs.put(f"j{number}")
    assert jobs.unchanged_by(jobs.put, "more") == backpressure(25, 25, 1)
    jobs.put("j3")
    assert (jobs.stats().unfinished_jobs, jobs.stats().max_unfinished_jobs) == (25, 25)
    assert jobs.unchanged_by(jobs.put_all, envelope("n1"), envelope("n2")) == backpressure(25, 25, 2)
    jobs.store.operator_cancel(job_id="j3")
    jobs.put("instead")
    jobs.store.set_enqueue_limit(queue="q", limit=10)
    assert jobs.unchanged_by(jobs.put, "more") == backpressure(10, 25, 1)
    jobs.store.operator_retry(job_id="j3")
    assert jobs.stats().unfinished_jobs == 26
    jobs.store.set_enqueue_limit(queue="q", limit=None)
    jobs.put("more")
    assert (jobs.stats().unfinished_jobs, jobs.stats().max_unfinished_jobs) == (27, None)


def test_the_first_queue_over_its_limit_is_named(jobs: Driver) -> None:
    for queue in ("a", "b"):
        jobs.store.set_enqueue_limit(queue=queue, limit=0)
    answer = jobs.unchanged_by(jobs.put_all, envelope("x", queue="b"), envelope("y", queue="a"))
    assert answer == ("Backpressure", {"queue": "a", "limit": 0, "current": 0, "incoming": 1})
    for limit in (-1, 2**63):
        assert refusal(jobs.store.set_enqueue_limit, queue="a", limit=limit) == invalid("bad_limit")


def test_s03_and_s06_ids(jobs: Driver) -> None:
    jobs.put("x", fingerprint="F", payload=b"1")
    before = jobs.store.snapshot()
    jobs.put("x", fingerprint="F", payload=b"2", priority=9)
    assert jobs.store.snapshot() == before
    conflict = ("IdConflict", {"job_id": "x"})
    for changes in ({"fingerprint": "G"}, {"queue": "p"}, {"kind": "v"}):
        assert jobs.unchanged_by(jobs.put, "x", **{"fingerprint": "F", **changes}) == conflict
    assert jobs.unchanged_by(jobs.put_all, envelope("z"), envelope("x", fingerprint="G")) == conflict
    jobs.put("y", queue="")
    jobs.put("y", queue="default")
    jobs.finish("x")
    jobs.put("x", fingerprint="F")
    assert jobs.state("x") == State.COMPLETED
    assert refusal(jobs.put, "x", fingerprint="G") == conflict


def test_s04_a_replay_outranks_policy(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(crash_limit=1)
    jobs.put("x", unique_key=KEY)
    jobs.put("sibling", queue="p", fingerprint="fp-x")
    jobs.admit(queues=["p"], lease_ms=1)
    jobs.later(1).reclaim()
    jobs.store.set_enqueue_limit(queue="q", limit=1)
    jobs.put("x", unique_key=KEY)
    assert refusal(jobs.put, "n", fingerprint="fp-x", unique_key=KEY) == ("Quarantined", {"fingerprint": "fp-x"})
    assert refusal(jobs.put, "n", unique_key=KEY) == duplicate("x")
    assert refusal(jobs.put, "n") == backpressure(1, 1, 1)


def test_s07_a_lifecycle_key_is_held_until_the_end(jobs: Driver) -> None:
    held = partial(jobs.unchanged_by, jobs.put, "other", unique_key=KEY)
    jobs.put("x", unique_key=KEY, scheduled_at_ms=T0 + 5_000)
    assert held() == duplicate("x")
    jobs.later(5_000).promote()
    assert held() == duplicate("x")
    claim = jobs.run()
    assert held() == duplicate("x")
    jobs.ack(claim, Outcome.RETRY)
    assert held() == duplicate("x")


def _retry_at_once(jobs: Driver) -> None:
    jobs.finish("x", Outcome.RETRY)


ENDS: dict[str, tuple[dict[str, Any], Callable[[Driver], object]]] = {
    "success": ({}, lambda jobs: jobs.finish("x")),
    "success that is not kept": ({"retention_ms": 0}, lambda jobs: jobs.finish("x")),
    "skip": ({}, lambda jobs: jobs.finish("x", Outcome.SKIP)),
    "undecodable": ({}, lambda jobs: jobs.finish("x", Outcome.UNDECODABLE)),
    "revoke": ({}, lambda jobs: jobs.finish("x", Outcome.REVOKE)),
    "exhaustion": ({"max_attempts": 1}, _retry_at_once),
    "quarantine": ({}, lambda jobs: jobs.lose("x")),
    "cancel": ({}, lambda jobs: jobs.store.operator_cancel(job_id="x")),
    "delete": ({}, lambda jobs: jobs.store.delete_job(job_id="x")),
}


@pytest.mark.parametrize("end", ENDS)
def test_s07_each_end_frees_the_key_and_the_slot(open_jobs: OpenJobs, end: str) -> None:
    changes, finish = ENDS[end]
    jobs = open_jobs(crash_limit=1)
    jobs.put("x", unique_key=KEY, **changes)
    jobs.store.set_enqueue_limit(queue="q", limit=1)
    finish(jobs)
    jobs.put("other", unique_key=KEY)
    assert jobs.stats().unfinished_jobs == 1


def test_s08_and_s09_a_throttle_outlives_its_holder(jobs: Driver) -> None:
    throttled = {"unique_key": KEY, "unique_window_ms": 60_000, "retention_ms": 0}
    jobs.put("t1", **throttled)
    jobs.at(T0 + 59_999)
    assert refusal(jobs.put, "t2", **throttled) == duplicate("t1")
    jobs.finish("t1")
    assert jobs.state("t1") is None
    assert jobs.unchanged_by(jobs.put, "t2", **throttled) == duplicate("t1")
    jobs.at(T0 + 60_000).put("t2", **throttled)
    jobs.at(T0 + 119_999)
    assert refusal(jobs.put, "t3", **throttled) == duplicate("t2")
    jobs.at(T0 + 120_000).put("t3", **throttled)


def test_a_later_job_with_the_id_of_a_gone_holder_is_not_edited(jobs: Driver) -> None:
    throttled: dict[str, Any] = {"unique_key": KEY, "unique_window_ms": 60_000}
    jobs.put("t1", retention_ms=0, **throttled)
    jobs.finish("t1")
    jobs.put("t1", priority=3)
    answer = jobs.unchanged_by(jobs.put, "t2", unique_replace=15, priority=9, **throttled)
    assert answer == duplicate("t1")
    assert jobs.job("t1").priority == 3


def test_a_throttle_holder_that_waits_is_edited(jobs: Driver) -> None:
    throttled: dict[str, Any] = {"unique_key": KEY, "unique_window_ms": 60_000}
    jobs.put("t1", **throttled)
    assert refusal(jobs.put, "t2", unique_replace=4, priority=9, **throttled) == duplicate("t1", True)
    assert jobs.job("t1").priority == 9


def test_s10_key_namespaces(jobs: Driver) -> None:
    jobs.put("a", unique_key=KEY)
    jobs.put("b", unique_key=KEY, kind="v")
    jobs.put("c", unique_key=KEY, unique_exclude_kind=True)
    assert refusal(jobs.put, "d", unique_key=KEY, unique_exclude_kind=True, kind="v") == duplicate("c")
    jobs.put("e", unique_key=KEY, unique_window_ms=1_000)
    assert refusal(jobs.put, "f", unique_key=KEY, queue="p") == duplicate("a")
    jobs.put("g", unique_key=b"")
    assert refusal(jobs.put, "h", unique_key=b"") == duplicate("g")
    jobs.put("i")
    jobs.put("j")


def test_s11_two_of_one_key_in_a_batch(jobs: Driver) -> None:
    batch = envelope("p1", unique_key=KEY), envelope("p2", unique_key=KEY)
    assert jobs.unchanged_by(jobs.put_all, *batch) == duplicate("p1")
    jobs.put_all(batch[0], evolve(batch[1], unique_window_ms=1))


HOLDERS: dict[str, tuple[bool, bool]] = {
    "scheduled": (True, True),
    "available": (True, False),
    "retryable": (True, False),
    "running": (False, False),
    "pending": (False, False),
}


@pytest.mark.parametrize("state", HOLDERS)
def test_s12_replacement(jobs: Driver, state: str) -> None:
    replaced, moves = HOLDERS[state]
    due = T0 + 9_000 if state == "scheduled" else 0
    jobs.put("x", unique_key=KEY, scheduled_at_ms=due, pending=state == "pending", payload=b"old", tags=("t",))
    if state in ("retryable", "running"):
        claim = jobs.run()
        if state == "retryable":
            jobs.ack(claim, Outcome.RETRY)
    before = jobs.job()
    assert before.state == state
    changes: dict[str, Any] = {"payload": b"new", "scheduled_at_ms": T0 + 4_000, "priority": 9, "max_attempts": 3}
    answer = refusal(jobs.put, "y", unique_key=KEY, unique_replace=15, schema_version=2, **changes)
    assert answer == duplicate("x", replaced)
    if not replaced:
        assert jobs.job() == before
        return
    if not moves:
        del changes["scheduled_at_ms"]
    assert jobs.job() == evolve(before, schema_version=2, fingerprint="fp-y", **changes)
    assert refusal(jobs.put, "x") == ("IdConflict", {"job_id": "x"})
    only_schedule = refusal(jobs.put, "y", unique_key=KEY, unique_replace=2, scheduled_at_ms=T0 - 1)
    assert only_schedule == duplicate("x", moves)
    assert jobs.state() == state
    assert jobs.promote() == int(moves)


def test_s14_debounce(jobs: Driver) -> None:
    def put(job_id: str, *tags: str) -> None:
        jobs.put(job_id, unique_key=b"e", unique_debounce_ms=500, payload=job_id.encode(), tags=tags)

    jobs.at(1_000)
    put("d1", "blue", "billing")
    first = jobs.job("d1")
    assert (first.state, first.scheduled_at_ms, first.tags) == ("scheduled", 1_500, ("billing", "blue"))
    jobs.at(1_200)
    assert refusal(put, "d2", "urgent") == duplicate("d1", True)
    second = jobs.job("d1")
    assert (second.scheduled_at_ms, second.payload, second.tags) == (1_700, b"d2", ("urgent",))
    assert jobs.at(1_699).promote() == 0
    assert jobs.at(1_700).promote() == 1
    assert refusal(put, "d3") == duplicate("d1", True)
    third = jobs.job("d1")
    assert (third.state, third.scheduled_at_ms, third.tags) == ("scheduled", 2_200, ())
    assert jobs.counts() == {"scheduled": 1}
    assert jobs.admit() == []
    assert jobs.at(2_200).promote() == 1
    jobs.admit()
    assert jobs.unchanged_by(put, "d4") == duplicate("d1")


def test_debounce_with_a_mask_keeps_its_own_instant(jobs: Driver) -> None:
    jobs.put("d1", unique_key=KEY, unique_debounce_ms=500)
    jobs.put_all()
    answer = refusal(
        jobs.put, "d2", unique_key=KEY, unique_debounce_ms=700, unique_replace=14, priority=5, scheduled_at_ms=1
    )
    assert answer == duplicate("d1", True)
    job = jobs.job("d1")
    assert (job.scheduled_at_ms, job.priority, job.fingerprint) == (T0 + 700, 5, "fp-d2")


def test_the_bypass_holds_no_key(jobs: Driver) -> None:
    jobs.put("x", unique_key=KEY)
    asked = envelope("y", unique_key=KEY, unique_replace=15, unique_debounce_ms=50)
    jobs.store.enqueue_without_uniqueness(envelopes=[asked, envelope("z", unique_key=KEY)])
    assert jobs.state("y") == jobs.state("z") == State.AVAILABLE
    assert refusal(jobs.put, "n", unique_key=KEY) == duplicate("x")
    jobs.store.operator_cancel(job_id="x")
    jobs.put("n", unique_key=KEY)
