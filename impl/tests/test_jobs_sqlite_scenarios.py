"""The scenarios of the jobs contract (section 15) on the SQLite store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import Checkpoint, JobResult, LeaseRef, Outcome, ProgressUpdate, State
from workstore.sqlite.jobs import JobStore

from .jobs_driver import (
    DAY_MS,
    EVERYTHING,
    NOTHING_DONE,
    T0,
    Driver,
    duplicate,
    envelope,
    ids,
    invalid,
    lease_rejected,
    no_job,
    ref,
    refusal,
    wrong_state,
)

KEY = b"K"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Driver]]:
    """Opens the one file of a test, with a clock that stands at T0."""
    stores = []

    def open_store(**options: Any) -> Driver:
        stores.append(JobStore.open(tmp_path / "jobs.db", synchronous="NORMAL", **options))
        return Driver(stores[-1]).at(T0)

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def jobs(opened: Callable[..., Driver]) -> Driver:
    return opened()


def backpressure(limit: int, current: int, incoming: int) -> tuple[str, dict[str, Any]]:
    return "Backpressure", {"queue": "q", "limit": limit, "current": current, "incoming": incoming}


def rate(jobs: Driver, burst: int, limit: int = 0, window_ms: int = 60_000) -> None:
    jobs.store.set_rate_limit(name="c", limit=limit, window_ms=window_ms, burst=burst)


def test_s01_sticky_routing_behind_a_flood(jobs: Driver) -> None:
    flood = [
        envelope(f"b-{number:04}", partition_key="tenant", priority=10_000, sticky_worker="worker-b")
        for number in range(5_000)
    ]
    for first in range(0, 5_000, 500):
        jobs.put_all(*flood[first : first + 500])
    jobs.put("a", partition_key="tenant", priority=50, sticky_worker="worker-a")
    jobs.put("general", partition_key="tenant", priority=1)
    claims = {claim.envelope.id: claim for claim in jobs.admit(2, worker="worker-a", lease_id="la")}
    assert set(claims) == {"a", "general"}
    assert claims["a"].envelope.sticky_worker == "worker-a"
    jobs.ack(claims["a"], Outcome.RATE_LIMITED)
    jobs.ack(claims["general"], Outcome.SUCCESS)
    assert jobs.admit(2, worker="worker-c") == []
    (again,) = jobs.admit(1, worker="worker-a", lease_id="la2")
    assert (again.envelope.id, again.fence, again.envelope.attempt) == ("a", 2, 0)
    assert jobs.admitted(1, worker="worker-b") == ["b-0000"]
    assert jobs.admit(1, worker="Worker-b") == jobs.admit(1, worker="") == []


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


def test_s04_a_replay_outranks_policy(opened: Callable[..., Driver]) -> None:
    jobs = opened(crash_limit=1)
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
def test_s07_each_end_frees_the_key_and_the_slot(opened: Callable[..., Driver], end: str) -> None:
    changes, finish = ENDS[end]
    jobs = opened(crash_limit=1)
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


def test_s17_the_fraction_of_a_refill_is_kept(jobs: Driver) -> None:
    jobs.at(10_000)
    rate(jobs, burst=1, limit=1, window_ms=1_000)
    for name in ("j0", "j1", "j2"):
        jobs.put(name, rate_class="c")
    drawn = [(at, jobs.at(at).admitted()) for at in (10_000, 10_500, 10_999, 11_000, 11_999, 12_000)]
    assert drawn == [(10_000, ["j0"]), (10_500, []), (10_999, []), (11_000, ["j1"]), (11_999, []), (12_000, ["j2"])]


def test_s19_cost_and_settlement(jobs: Driver) -> None:
    rate(jobs, burst=5)
    for name, weight in (("a", 3), ("b", 2), ("c", 1)):
        jobs.put(name, rate_class="c", weight=weight)
    a, b = jobs.admit()
    assert (a.envelope.id, b.envelope.id, jobs.tokens(), jobs.state("c")) == ("a", "b", 0, "available")
    jobs.ack(a, Outcome.SUCCESS, actual=1)
    assert jobs.tokens() == 2
    assert jobs.admitted() == ["c"]
    jobs.ack(b, Outcome.SUCCESS, actual=4)
    assert jobs.tokens() == -1
    jobs.put("d", rate_class="c")
    assert jobs.admit() == []
    rate(jobs, burst=3)
    jobs.put("e", rate_class="c", weight=3)
    jobs.put("f", rate_class="c", weight=3)
    jobs.store.delete_job(job_id="d")
    jobs.finish("e", actual=0)
    assert jobs.admitted() == ["f"]


def test_s21_what_settles_nothing(jobs: Driver) -> None:
    rate(jobs, burst=3)
    jobs.put("a", rate_class="c", weight=3)
    a = jobs.run("a")
    stale = evolve(ref(a), fence=2)
    assert jobs.unchanged_by(jobs.ack, stale, Outcome.SUCCESS, actual=0) == lease_rejected("a")
    assert jobs.unchanged_by(jobs.ack, a, Outcome.SNOOZE, actual=0) == invalid("snooze_needs_delay")
    assert jobs.unchanged_by(jobs.ack, a, Outcome.LEASE_LOST, actual=0) == invalid("lease_lost_not_ackable")
    assert jobs.unchanged_by(jobs.ack, a, "done", actual=0) == invalid("unknown_outcome")
    jobs.ack(a, Outcome.RATE_LIMITED, actual=0)
    assert (jobs.tokens(), jobs.store.snapshot()["job/a"]["charge"]) == (3, 0)
    jobs.ack(jobs.run("a"), Outcome.SUCCESS)
    assert jobs.tokens() == 0
    jobs.put("b", rate_class="later", weight=3)
    b = jobs.run("b")
    jobs.store.set_rate_limit(name="later", limit=0, window_ms=1, burst=5)
    jobs.ack(b, Outcome.SUCCESS, actual=10)
    assert jobs.tokens("later") == 5


def test_s23_one_class_over_partitions_and_queues(jobs: Driver) -> None:
    rate(jobs, burst=3)
    jobs.put("a1", partition_key="A", rate_class="c", weight=2)
    jobs.put("a2", partition_key="A", rate_class="c")
    jobs.put("b1", partition_key="B", rate_class="c", weight=2)
    jobs.put("b2", partition_key="B")
    assert jobs.admitted() == ["a1", "b2", "a2"]
    assert jobs.tokens() == 0
    rate(jobs, burst=5)
    for number in range(20):
        jobs.put(f"r{number}", queue=("r", "s")[number % 2], rate_class="c")
    assert len(jobs.admit(queues=["r", "s"])) == 5
    assert jobs.admit(worker="other", queues=["s", "r"]) == []


def test_an_operator_configures_a_class_without_giving_tokens_away(jobs: Driver) -> None:
    upsert = partial(jobs.store.upsert_rate_class, name="c", window_ms=1_000)
    for changes in ({"limit": -1}, {"burst": 0}, {"window_ms": 0}):
        answer = jobs.unchanged_by(upsert, **{"limit": 1, "burst": 1, "paused": False, **changes})
        assert answer == invalid("bad_rate_class")
    upsert(limit=2, burst=4, paused=False)
    jobs.put("a", rate_class="c", weight=3)
    a = jobs.run("a")
    upsert(limit=2, burst=9, paused=False)
    assert jobs.tokens() == 1
    jobs.later(1_000)
    assert jobs.tokens() == 3
    upsert(limit=2, burst=2, paused=True)
    assert jobs.later(5_000).tokens() == 0
    jobs.ack(a, Outcome.RETRY, actual=0, delay_ms=1)
    assert jobs.tokens() == 2
    jobs.later(1).promote()
    assert jobs.admit() == []
    assert jobs.store.explain_admission(job_id="a").blocker.eta_ms is None
    upsert(limit=2, burst=4, paused=False)
    assert jobs.tokens() == 2
    explained = jobs.store.explain_admission(job_id="a")
    assert (explained.admissible, explained.blocker.policy, explained.blocker.eta_ms) == (False, "rate_class", 500)


def test_s24_rotation(jobs: Driver) -> None:
    for number in (1, 2):
        for partition in "ABC":
            jobs.put(f"{partition}{number}", partition_key=partition)
    assert [jobs.admitted(2) for _ in range(4)] == [["A1", "B1"], ["B2", "C1"], ["A2", "C2"], []]
    for number in (1, 2):
        for partition in "ABCD":
            jobs.put(f"{partition}{number}r", queue="r", partition_key=partition)
    drawn = [jobs.admitted(1, queues=["r"])[0][0] for _ in range(5)]
    assert drawn == ["A", "B", "C", "D", "A"]


def test_the_turn_moves_where_a_policy_blocks_and_rests_where_nothing_waits(jobs: Driver) -> None:
    def turn() -> int:
        return int(jobs.store.snapshot()["queue/q"]["cursor"])

    rate(jobs, burst=0)
    jobs.put("a", rate_class="c")
    jobs.put("routed", partition_key="P", sticky_worker="other")
    jobs.admit()
    assert turn() == 1
    for nothing in ({"capacity": 0}, {"queues": []}):
        jobs.admit(**{"capacity": 5, **nothing})  # type: ignore[arg-type]
    jobs.store.pause_queue(queue="q")
    jobs.admit()
    assert turn() == 1
    jobs.store.unpause_queue(queue="q")
    jobs.admit(5, queues=["q", "q"])
    assert turn() == 2
    jobs.store.delete_job(job_id="a")
    assert jobs.admit() == []
    assert turn() == 2


def test_s25_flood(jobs: Driver) -> None:
    for first in range(0, 5_000, 1_000):
        jobs.put_all(*[envelope(f"n{n}", partition_key="noisy") for n in range(first, first + 1_000)])
    jobs.put_all(*[envelope(f"{p}{n}", partition_key=p) for p in "AB" for n in range(3)])
    drawn = [claim.envelope.partition_key for claim in jobs.admit(9)]
    assert sorted(drawn) == ["A"] * 3 + ["B"] * 3 + ["noisy"] * 3


def test_s26_order_in_a_partition(jobs: Driver) -> None:
    for name, priority, due in (("b", 5, 10), ("a", 5, 20), ("c", 5, 10), ("z", 6, 999)):
        jobs.put(name, priority=priority, scheduled_at_ms=due)
    assert jobs.admitted() == ["z", "b", "c", "a"]
    for number in (1, 2, 3):
        jobs.put(f"p{number}", queue="r", scheduled_at_ms=number)
    (p1,) = jobs.admit(1, queues=["r"])
    jobs.ack(p1, Outcome.RATE_LIMITED)
    (p1,) = jobs.admit(1, queues=["r"])
    assert p1.envelope.id == "p1"
    jobs.ack(p1, Outcome.RETRY)
    jobs.later(1_000).promote()
    assert jobs.admitted(queues=["r"]) == ["p2", "p3", "p1"]


def test_routed_and_unrouted_rows_are_ordered_together_over_many_pieces(jobs: Driver) -> None:
    expected = []
    for number in range(60):
        route = ("", "w", "other")[number % 3]
        jobs.put(f"j{number:02}", priority=-number, sticky_worker=route)
        if route != "other":
            expected.append(f"j{number:02}")
    assert jobs.admitted(1) + jobs.admitted(100) == expected


def test_blocked_rows_ahead_do_not_end_the_draw(jobs: Driver) -> None:
    rate(jobs, burst=0)
    for number in range(40):
        jobs.put(f"b{number}", priority=5, rate_class="c", scheduled_at_ms=number % 2)
    for partition in ("", "P"):
        jobs.put(f"free{partition}", partition_key=partition)
    assert sorted(jobs.admitted(2)) == ["free", "freeP"]
    assert jobs.counts() == {"available": 40, "running": 2}


def test_a_draw_goes_on_behind_the_last_row_that_it_has_read(jobs: Driver) -> None:
    rate(jobs, burst=0)
    jobs.put("blocked", priority=9, rate_class="c")
    for name in "abcdefghij":
        jobs.put(name)
    assert jobs.admitted(3) == ["a", "b", "c"]
    assert jobs.admitted(4) == ["d", "e", "f", "g"]
    assert jobs.counts() == {"available": 4, "running": 7}


def test_an_available_row_is_no_candidate_before_its_time(jobs: Driver) -> None:
    jobs.put("late", priority=9, partition_key="A")
    jobs.put("early", scheduled_at_ms=5, partition_key="B")
    jobs.at(T0 - 1)
    assert jobs.admitted() == ["early"]
    explained = jobs.store.explain_admission(job_id="late")
    assert (explained.blocker.policy, explained.blocker.eta_ms) == ("schedule", 1)
    assert jobs.store.snapshot()["queue/q"]["cursor"] == 1
    assert jobs.stats().oldest_available_ms is None
    assert jobs.at(T0).admitted() == ["late"]


def test_s27_end_of_a_lease(jobs: Driver) -> None:
    jobs.put()
    claim = jobs.run()
    assert claim.expires_at_ms == T0 + 30_000
    assert jobs.at(T0 + 29_999).reclaim() == []
    (lost,) = jobs.at(T0 + 30_000).reclaim()
    assert (lost.job_id, lost.fingerprint, lost.crash_attempt, lost.quarantined) == ("x", "fp-x", 1, False)
    job = jobs.job()
    assert (job.state, job.scheduled_at_ms, job.attempt, job.orphaned) == ("retryable", T0 + 31_000, 0, True)
    assert [(entry.outcome, entry.attempt) for entry in job.history] == [("lease_lost", 1)]
    assert jobs.renew(claim) == ["x"]
    assert jobs.unchanged_by(jobs.ack, claim, Outcome.SUCCESS) == lease_rejected("x")


def test_s27_a_holder_past_its_end_goes_on_until_a_sweep(jobs: Driver) -> None:
    jobs.put()
    claim = jobs.run()
    jobs.at(T0 + 30_000)
    stranger = LeaseRef("nobody", "l", 1)
    lost = jobs.store.renew(leases=[stranger, ref(claim), stranger], lease_ms=30_000)
    assert list(lost) == ["nobody", "nobody"]
    assert jobs.job().lease_expires_at_ms == T0 + 60_000
    jobs.at(T0 + 70_000).ack(claim, Outcome.SUCCESS)
    assert jobs.state() == State.COMPLETED


def test_s29_and_s30_crashes_retries_and_release(jobs: Driver) -> None:
    jobs.put("x", fingerprint="F")
    jobs.put("sibling", queue="p", fingerprint="F")
    seen = []
    for step in ("crash", "retry", "crash", "retry", "crash"):
        jobs.later(10_000).promote()
        claim = jobs.run(lease_ms=1_000)
        if step == "crash":
            jobs.later(1_000).reclaim()
        else:
            jobs.ack(claim, Outcome.RETRY)
        job = jobs.job()
        delay = job.scheduled_at_ms - job.history[-1].at_ms
        seen.append((job.state.value, job.attempt, job.crash_attempt, delay))
    assert seen[:4] == [
        ("retryable", 0, 1, 1_000),
        ("retryable", 1, 1, 1_000),
        ("retryable", 1, 2, 2_000),
        ("retryable", 2, 2, 2_000),
    ]
    assert seen[4][:3] == ("quarantined", 2, 3)
    assert jobs.admit(queues=["p"]) == []
    assert jobs.state("sibling") == State.AVAILABLE
    assert jobs.store.explain_admission(job_id="sibling").blocker.policy == "quarantine"
    assert refusal(jobs.put, "new", fingerprint="F") == ("Quarantined", {"fingerprint": "F"})
    jobs.put("sibling", queue="p", fingerprint="F")
    (entry,) = jobs.store.list_quarantined()
    assert (entry.fingerprint, entry.kind, entry.crash_attempt) == ("F", "w", 3)

    assert jobs.store.sweep_quarantined(limit=0) == 0
    assert jobs.store.sweep_quarantined(limit=10) == 1
    assert jobs.state("sibling") == State.QUARANTINED
    jobs.later(7)
    assert jobs.store.release_fingerprint(fingerprint="F") == 2
    assert [(jobs.job(name).crash_attempt, jobs.state(name)) for name in ("x", "sibling")] == [
        (3, "available"),
        (0, "available"),
    ]
    jobs.put("new", fingerprint="F")
    jobs.store.delete_job(job_id="new")
    jobs.admit(queues=["q", "p"], lease_ms=1_000)
    lost = {one.job_id: (one.crash_attempt, one.quarantined) for one in jobs.later(1_000).reclaim()}
    assert lost == {"x": (4, True), "sibling": (1, False)}
    answer = refusal(jobs.store.release_fingerprint, fingerprint="unknown")
    assert answer == ("NotFound", {"what": "fingerprint", "id": "unknown"})


def test_a_released_row_whose_key_was_taken_stays(opened: Callable[..., Driver]) -> None:
    jobs = opened(crash_limit=1)
    for name in ("b", "a"):
        jobs.put(name, fingerprint="F", unique_key=KEY)
        jobs.lose(name)
        jobs.store.release_fingerprint(fingerprint="F") if name == "b" else None
        jobs.store.operator_cancel(job_id="b") if name == "b" else None
    jobs.put("holder", unique_key=KEY)
    assert jobs.store.release_fingerprint(fingerprint="F") == 0
    assert jobs.state("a") == State.QUARANTINED
    jobs.put("c", fingerprint="F")
    jobs.store.operator_cancel(job_id="holder")
    assert jobs.store.release_fingerprint(fingerprint="F") == 1
    assert refusal(jobs.put, "late", unique_key=KEY) == duplicate("a")


def test_the_sweep_takes_the_earliest_of_all_fingerprints(opened: Callable[..., Driver]) -> None:
    jobs = opened(crash_limit=1)
    rows = [("b9", "F", 20), ("b1", "G", 10), ("b4", "F", 40), ("b3", "G", 30), ("b0", "H", 1)]
    for name, fingerprint, due in rows:
        jobs.put(name, queue="r", fingerprint=fingerprint, scheduled_at_ms=due, pending=False)
    jobs.put("held", queue="r", fingerprint="F", pending=True)
    for fingerprint in "FG":
        jobs.put(f"crasher-{fingerprint}", fingerprint=fingerprint)
    jobs.admit(lease_ms=1)
    jobs.later(1).reclaim()
    assert jobs.store.sweep_quarantined(limit=3) == 3
    parked = {name for name, *_ in rows if jobs.state(name) == State.QUARANTINED}
    assert parked == {"b1", "b9", "b3"}
    assert jobs.store.sweep_quarantined(limit=3) == 2
    assert jobs.state("held") == State.QUARANTINED
    assert jobs.counts("r") == {"available": 1, "quarantined": 5}


def test_s31_the_empty_fingerprint_is_never_quarantined(opened: Callable[..., Driver]) -> None:
    jobs = opened(crash_limit=1)
    jobs.put("x", fingerprint="")
    jobs.lose("x")
    assert jobs.state("x") == State.QUARANTINED
    jobs.put("y", fingerprint="")
    assert jobs.admitted() == ["y"]
    assert jobs.store.list_quarantined() == []


def test_s32_exhaustion_and_redrive(jobs: Driver) -> None:
    jobs.put(max_attempts=2)
    jobs.finish("x", Outcome.RETRY, error="one", logs=["a", "b"])
    assert (jobs.job().state, jobs.job().attempt) == ("retryable", 1)
    jobs.later(1_000).promote()
    jobs.finish("x", Outcome.RETRY)
    job = jobs.job()
    assert (job.state, job.attempt, job.finalized_at_ms) == ("archived", 2, T0 + 1_000)
    assert [(e.attempt, e.error, e.logs) for e in job.history] == [(1, "one", ("a", "b")), (2, "", ())]
    jobs.later(5).store.operator_retry(job_id="x")
    job = jobs.job()
    assert (job.state, job.scheduled_at_ms, job.attempt, job.finalized_at_ms) == ("available", T0 + 1_005, 2, None)
    claim = jobs.run()
    assert claim.fence == 3
    jobs.ack(claim, Outcome.RETRY)
    assert (jobs.job().state, jobs.job().attempt) == ("archived", 3)


def test_s32_the_default_budget_and_the_bound_of_history(jobs: Driver) -> None:
    jobs.put()
    for number in range(1, 26):
        jobs.later(3_600_000).promote()
        jobs.finish("x", Outcome.RETRY, error=str(number))
        assert jobs.state() == ("archived" if number == 25 else "retryable")
    for number in range(26, 61):
        jobs.store.operator_retry(job_id="x")
        jobs.finish("x", Outcome.RETRY, error=str(number))
    assert [entry.error for entry in jobs.job().history] == [str(number) for number in range(11, 61)]


@pytest.mark.parametrize(
    ("outcome", "options", "state", "delay_ms", "entries"),
    [
        (Outcome.RETRY, {"delay_ms": 7_200_000}, "retryable", 7_200_000, [(1, "", ())]),
        (Outcome.RETRY, {"delay_ms": 0}, "retryable", 1_000, [(1, "", ())]),
        (Outcome.RETRY, {"delay_ms": -5, "error": "e"}, "retryable", 1_000, [(1, "e", ())]),
        (Outcome.SNOOZE, {"delay_ms": 9, "error": "e", "logs": ["l"]}, "scheduled", 9, []),
        (Outcome.RATE_LIMITED, {"delay_ms": 9, "error": "e", "logs": ["l"]}, "available", -3, []),
        (Outcome.SKIP, {}, "archived", -3, []),
        (Outcome.SKIP, {"error": ""}, "archived", -3, [(0, "", ())]),
        (Outcome.UNDECODABLE, {"logs": ["l"]}, "undecodable", -3, [(0, None, ("l",))]),
        (Outcome.SUCCESS, {"error": "e"}, "completed", -3, []),
        (Outcome.SUCCESS, {"error": "e", "logs": ["l"]}, "completed", -3, [(0, None, ("l",))]),
    ],
)
def test_outcomes(
    jobs: Driver, outcome: Outcome, options: dict[str, Any], state: str, delay_ms: int, entries: list[Any]
) -> None:
    jobs.put(scheduled_at_ms=T0 - 3)
    claim = jobs.run()
    jobs.ack(claim, outcome, **options)
    job = jobs.job()
    assert (job.state, job.scheduled_at_ms) == (state, T0 + delay_ms)
    assert [(entry.attempt, entry.error, entry.logs) for entry in job.history] == entries
    assert all(entry.outcome == outcome and entry.at_ms == T0 for entry in job.history)
    assert (job.lease_expires_at_ms, job.claimed_at_ms) == (None, None)
    assert jobs.unchanged_by(jobs.ack, claim, outcome, **options) == lease_rejected("x")
    assert jobs.counts() == {state: 1}


def test_the_default_delay_grows_to_its_cap(opened: Callable[..., Driver]) -> None:
    jobs = opened(retry_base_ms=1_000, retry_cap_ms=5_000)
    jobs.put()
    delays = []
    for _ in range(4):
        jobs.finish("x", Outcome.RETRY)
        delays.append(jobs.job().scheduled_at_ms - jobs.job().history[-1].at_ms)
        jobs.later(5_000).promote()
    assert delays == [1_000, 2_000, 4_000, 5_000]


def test_s34_cancelling_a_runner(jobs: Driver) -> None:
    rate(jobs, burst=1)
    jobs.put(unique_key=KEY, rate_class="c")
    claim = jobs.run()
    saved = evolve(NOTHING_DONE, completed_steps=("a",))
    jobs.store.checkpoint(lease=ref(claim), checkpoint=saved)
    jobs.store.operator_cancel(job_id="x")
    assert jobs.renew(claim) == ["x"]
    for call in (
        partial(jobs.ack, claim, Outcome.SUCCESS),
        partial(jobs.store.checkpoint, lease=ref(claim), checkpoint=NOTHING_DONE),
        partial(jobs.store.write_job_output, lease=ref(claim), output=JobResult(1, b"")),
        partial(jobs.store.write_job_progress, lease=ref(claim), progress=ProgressUpdate(1, 1, None)),
        partial(
            jobs.store.ack_success_with_result,
            lease=ref(claim),
            result=JobResult(1, b""),
            logs=[],
            actual_weight=0,
        ),
    ):
        assert jobs.unchanged_by(call) == lease_rejected("x")
    assert (jobs.tokens(), jobs.stats().unfinished_jobs) == (0, 0)
    assert refusal(jobs.store.operator_cancel, job_id="x") == wrong_state("cancelled")
    jobs.put("other", unique_key=KEY)
    assert jobs.unchanged_by(jobs.store.operator_retry, job_id="x") == duplicate("other")
    jobs.store.delete_job(job_id="other")
    jobs.store.operator_retry(job_id="x")
    rate(jobs, burst=1)
    again = jobs.run()
    assert (again.fence, again.checkpoint) == (2, saved)


def test_s35_retention(opened: Callable[..., Driver]) -> None:
    jobs = opened(crash_limit=1)
    jobs.put("r1", retention_ms=60_000)
    jobs.put("z0", retention_ms=0)
    jobs.put("quarantined", retention_ms=1)
    claims = {claim.envelope.id: claim for claim in jobs.admit(lease_ms=1)}
    jobs.ack(claims["r1"], Outcome.SUCCESS)
    jobs.ack(claims["z0"], Outcome.SKIP)
    jobs.later(1).reclaim()
    assert jobs.at(T0 + 59_999).evict() == 0
    assert jobs.at(T0 + 60_000).evict(0) == jobs.evict(-1) == 0
    assert jobs.evict() == 1
    jobs.put("r1", kind="other")
    assert jobs.at(T0 + 10 * DAY_MS).evict() == 0
    assert (jobs.state("z0"), jobs.state("quarantined")) == ("archived", "quarantined")


def test_eviction_takes_those_that_finished_first(jobs: Driver) -> None:
    for name, retention in (("a", 900), ("b", 500), ("c", 100), ("d", 500)):
        jobs.put(name, retention_ms=retention)
        jobs.later(1).finish(name, Outcome.SKIP)
    jobs.later(10_000)
    assert jobs.evict(2) == 2
    assert [name for name in "abcd" if jobs.state(name)] == ["c", "d"]
    assert (jobs.evict(2), jobs.evict(2), jobs.counts()) == (2, 0, {})


def test_s36_checkpoints_and_steps_that_crash(jobs: Driver) -> None:
    saved = Checkpoint(
        last_completed_step="download",
        completed_steps=("download",),
        in_progress_step="transcode",
        cursor_step="transcode",
        cursor=b"\x00\xff",
        schema_version=2,
        step_set_hash="é\0",
        crashes_by_step=(("download", 4), ("transcode", 7), ("download", 5)),
    )
    jobs.put()
    assert jobs.store.get_checkpoint(job_id="x") == NOTHING_DONE
    assert jobs.store.get_checkpoint(job_id="absent") is None
    claim = jobs.run(lease_ms=1)
    assert claim.checkpoint == NOTHING_DONE
    jobs.store.checkpoint(lease=ref(claim), checkpoint=saved)
    jobs.later(1).reclaim()
    jobs.later(1_000).promote()
    crashed = evolve(saved, crashes_by_step=(("download", 4), ("transcode", 8), ("download", 5)))
    claim = jobs.run()
    assert claim.checkpoint == jobs.store.get_checkpoint(job_id="x") == crashed
    fresh = evolve(NOTHING_DONE, in_progress_step="s")
    jobs.store.checkpoint(lease=ref(claim), checkpoint=fresh)
    jobs.ack(claim, Outcome.RETRY, delay_ms=1)
    jobs.later(1).promote()
    assert jobs.run(lease_ms=1).checkpoint == fresh
    jobs.later(1).reclaim()
    assert jobs.store.get_checkpoint(job_id="x") == evolve(fresh, crashes_by_step=(("s", 1),))


def test_s37_three_channels(jobs: Driver) -> None:
    jobs.put()
    claim = jobs.run()
    output = jobs.store.write_job_output(lease=ref(claim), output=JobResult(2, b"p"))
    assert (output.schema_version, output.content, output.fence, output.updated_at_ms) == (2, b"p", 1, T0)
    progress = jobs.store.write_job_progress(lease=ref(claim), progress=ProgressUpdate(2, 5, "half"))
    assert (progress.current, progress.total, progress.fence) == (2, 5, 1)
    jobs.ack(claim, Outcome.RETRY)
    jobs.later(1_000).promote()
    again = jobs.run()
    assert jobs.store.get_job_output(job_id="x") == output
    assert jobs.store.get_job_progress(job_id="x") == progress
    stale = partial(jobs.store.write_job_output, lease=ref(claim), output=JobResult(1, b""))
    assert jobs.unchanged_by(stale) == lease_rejected("x")
    jobs.store.write_job_output(lease=ref(again), output=JobResult(9, b"q"))
    assert jobs.store.get_job_output(job_id="x").fence == 2
    assert jobs.store.get_job_output(job_id="x").updated_at_ms == T0 + 1_000
    result = JobResult(3, b"")
    jobs.store.ack_success_with_result(lease=ref(again), result=result, logs=["l"], actual_weight=None)
    assert jobs.store.get_job_result(job_id="x") == result
    assert jobs.store.get_job_progress(job_id="x") == progress
    jobs.later(DAY_MS).evict()
    assert jobs.store.get_job_output(job_id="x") is jobs.store.get_job_progress(job_id="x") is None
    assert jobs.store.get_job_result(job_id="x") is None
    jobs.put("gone", retention_ms=0)
    last = jobs.run("gone")
    jobs.store.ack_success_with_result(lease=ref(last), result=result, logs=[], actual_weight=None)
    assert jobs.store.get_job_result(job_id="gone") is None


def test_s37_values_of_the_channels(jobs: Driver) -> None:
    jobs.put()
    held, stale = ref(jobs.run()), LeaseRef("x", "l", 9)
    for version, reason in ((0, "schema_zero"), (2**31, "schema_too_large")):
        written = JobResult(version, b"")
        for lease in (held, stale):
            assert jobs.unchanged_by(jobs.store.write_job_output, lease=lease, output=written) == invalid(reason)
            done = partial(jobs.store.ack_success_with_result, logs=[], actual_weight=None)
            assert jobs.unchanged_by(done, lease=lease, result=written) == invalid(reason)
    for current, total, message, reason in (
        (0, 0, None, "progress_zero_total"),
        (-1, -1, None, "progress_zero_total"),
        (3, 2, None, "progress_over_total"),
        (0, 2**53, None, "progress_total_too_large"),
        (0, 1, "é" * 257, "progress_message_too_long"),
        (0, 1, "\0", "progress_message_nul"),
        (-1, 1, None, "out_of_range"),
    ):
        update = ProgressUpdate(current, total, message)
        for lease in (held, stale):
            answer = jobs.unchanged_by(jobs.store.write_job_progress, lease=lease, progress=update)
            assert answer == invalid(reason)
    last = ProgressUpdate(2**53 - 1, 2**53 - 1, "é" * 256)
    jobs.store.write_job_progress(lease=held, progress=last)
    assert jobs.store.get_job_progress(job_id="x").message == "é" * 256


def test_s37_the_largest_content(jobs: Driver) -> None:
    jobs.put()
    lease = ref(jobs.run())
    largest = JobResult(1, bytes(33_554_432))
    larger = JobResult(1, largest.content + b"x")
    assert jobs.unchanged_by(jobs.store.write_job_output, lease=lease, output=larger) == invalid("too_large")
    jobs.store.write_job_output(lease=lease, output=largest)
    done = partial(jobs.store.ack_success_with_result, lease=lease, logs=[], actual_weight=None)
    assert jobs.unchanged_by(done, result=larger) == invalid("too_large")
    done(result=largest)
    assert jobs.store.get_job_result(job_id="x") == largest
    assert jobs.store.get_job_output(job_id="x").content == largest.content


def test_s39_pause_promotion_and_duties(jobs: Driver) -> None:
    jobs.store.pause_queue(queue="q")
    jobs.put("x", scheduled_at_ms=T0 + 5)
    jobs.put("y", queue="p")
    jobs.put("z")
    assert jobs.admitted(queues=["q", "p"]) == ["y"]
    assert jobs.at(T0 + 4).promote() == 0
    assert jobs.at(T0 + 5).promote(0) == 0
    assert jobs.promote() == 1
    jobs.store.unpause_queue(queue="unknown")
    jobs.store.unpause_queue(queue="q")
    assert jobs.admitted(queues=["q", "p"]) == ["z", "x"]

    duty = partial(jobs.store.claim_duty, name="sweep", lease_ms=1_000)
    jobs.at(0)
    assert duty(holder="A")
    assert not duty(holder="B")
    assert not jobs.at(999).store.claim_duty(name="sweep", holder="B", lease_ms=1)
    jobs.at(1_000)
    assert [duty(holder=holder) for holder in "BAB"] == [True, False, True]
    jobs.store.release_duty(name="sweep", holder="A")
    assert not duty(holder="A")
    jobs.store.release_duty(name="sweep", holder="B")
    assert duty(holder="A")
    assert refusal(jobs.store.claim_duty, name="sweep", holder="A", lease_ms=0) == invalid("bad_lease")


def test_promotion_takes_the_earliest_first_and_keeps_due_times(jobs: Driver) -> None:
    for name, due in (("c", 30), ("a", 20), ("b", 20), ("d", 40)):
        jobs.put(name, scheduled_at_ms=T0 + due)
    jobs.later(100)
    assert jobs.promote(2) == 2
    assert {name for name in "abcd" if jobs.state(name) == State.AVAILABLE} == {"a", "b"}
    assert jobs.promote(2) == 2
    assert jobs.job("c").scheduled_at_ms == T0 + 30
    assert jobs.counts() == {"available": 4}


def test_reclamation_takes_the_leases_that_ended_first(jobs: Driver) -> None:
    for name, lease_ms in (("c", 10), ("a", 20), ("b", 20)):
        jobs.put(name)
        jobs.admit(lease_ms=lease_ms)
    jobs.later(100)
    assert [lost.job_id for lost in jobs.reclaim(2)] == ["c", "a"]
    assert jobs.reclaim(0) == jobs.reclaim(-1) == []
    assert [lost.job_id for lost in jobs.reclaim(2)] == ["b"]


def test_operator_verbs_know_their_states(jobs: Driver) -> None:
    store = jobs.store
    verbs: dict[str, tuple[Callable[..., Any], set[str]]] = {
        "cancel": (store.operator_cancel, {"pending", "scheduled", "available", "running", "retryable"}),
        "retry": (store.operator_retry, {"archived", "cancelled", "undecodable"}),
        "promote": (store.promote_job, {"pending"}),
        "schedule": (partial(store.schedule_pending_job, at_ms=T0 - 1), {"pending"}),
        "reschedule": (partial(store.reschedule_job, at_ms=T0 - 1), {"scheduled", "retryable"}),
        "edit": (
            partial(store.edit_payload, payload=b"e", schema_version=7, fingerprint="E"),
            set(State) - {"running"},
        ),
        "delete": (store.delete_job, set(State) - {"running"}),
    }
    for verb, (call, allowed) in verbs.items():
        assert refusal(call, job_id="absent") == no_job("absent")
        for state in State:
            store.reset()
            _reach(jobs, state)
            assert jobs.state() == state
            if state not in allowed:
                assert jobs.unchanged_by(call, job_id="x") == wrong_state(state), (verb, state)
                continue
            call(job_id="x")
            after = "cancelled" if verb == "cancel" else "available" if verb in ("retry", "promote") else state
            after = "scheduled" if verb == "schedule" else after
            assert jobs.counts() == ({} if verb == "delete" else {after: 1}), (verb, state)
            if verb == "edit":
                job = jobs.job()
                assert (job.payload, job.schema_version, job.fingerprint) == (b"e", 7, "E")
            if verb in ("schedule", "reschedule"):
                assert jobs.job().scheduled_at_ms == T0 - 1
                assert jobs.promote() == 1
    for version in (0, 2**31):
        answer = refusal(verbs["edit"][0], job_id="absent", schema_version=version)
        assert answer == invalid("bad_schema_version")


def _reach(jobs: Driver, state: State) -> None:
    jobs.at(T0).put(
        pending=state == State.PENDING, scheduled_at_ms=T0 + 1 if state == State.SCHEDULED else 0, unique_key=KEY
    )
    outcomes = {
        State.RETRYABLE: Outcome.RETRY,
        State.COMPLETED: Outcome.SUCCESS,
        State.ARCHIVED: Outcome.SKIP,
        State.UNDECODABLE: Outcome.UNDECODABLE,
    }
    if state in outcomes:
        jobs.finish("x", outcomes[state])
    if state == State.RUNNING:
        jobs.admit()
    if state == State.CANCELLED:
        jobs.store.operator_cancel(job_id="x")
    if state == State.QUARANTINED:
        for _ in range(3):
            jobs.lose("x")
            jobs.later(10_000).promote()
        jobs.at(T0)


def test_listing(jobs: Driver) -> None:
    for number in range(7):
        jobs.put(
            f"j{number}",
            kind=("mail:a", "mail:b", "index")[number % 3],
            queue=("q", "r")[number % 2],
            tags=("even",) if number % 2 == 0 else ("odd", "last") if number > 4 else ("odd",),
            priority=number,
            partition_key="P" if number < 3 else "",
            rate_class="c" if number > 3 else "",
        )

    def listed(**parts: Any) -> list[str]:
        found, cursor = [], None
        while True:
            page = jobs.store.list_jobs(where=evolve(EVERYTHING, **parts), cursor=cursor, limit=2)
            assert len(page.jobs) <= 2
            assert all(job.payload is None and job.headers is None for job in page.jobs)
            found += [job.id for job in page.jobs]
            cursor = page.cursor
            if cursor is None:
                return found

    assert listed() == [f"j{number}" for number in range(7)]
    assert listed(queue="r") == ["j1", "j3", "j5"]
    assert listed(kind_prefix="mail:") == ["j0", "j1", "j3", "j4", "j6"]
    assert listed(kind="index", queue="q") == ["j2"]
    assert listed(tags_all=("odd", "last")) == ["j5"]
    assert listed(tags_any=("last", "even")) == ["j0", "j2", "j4", "j5", "j6"]
    assert listed(priority=3) == listed(id="j3") == listed(fingerprint="fp-j3") == ["j3"]
    assert listed(partition_key="P", state=State.AVAILABLE) == ["j0", "j1", "j2"]
    assert listed(rate_class="c") == ["j4", "j5", "j6"]
    assert listed(state=State.RUNNING) == listed(id="absent") == []
    for limit in (0, 201):
        answer = refusal(jobs.store.list_jobs, where=EVERYTHING, cursor=None, limit=limit)
        assert answer == invalid("bad_page_limit")


def test_counts_and_statistics(jobs: Driver) -> None:
    jobs.at(600_000)
    jobs.put_all(*[envelope(f"j{number}", priority=number % 3, partition_key="AB"[number % 2]) for number in range(6)])
    jobs.put("other", queue="r", pending=True, kind="v")
    jobs.store.set_enqueue_limit(queue="limited", limit=3)
    jobs.store.pause_queue(queue="paused")
    jobs.at(630_000).finish("j0")
    jobs.at(660_500)
    stats = jobs.stats()
    assert stats.by_state == {"running": 5, "completed": 1}
    assert (stats.unfinished_jobs, stats.oldest_available_ms) == (5, None)
    assert (stats.arrived_last_minute, stats.completed_last_minute) == (6, 1)
    assert [stats.queue for stats in jobs.store.queue_stats()] == ["limited", "paused", "q", "r"]
    assert jobs.counts() == {"running": 5, "completed": 1, "pending": 1}
    assert jobs.counts("r") == {"pending": 1}
    assert jobs.counts("unknown") == {}
    jobs.put("older", scheduled_at_ms=660_000, partition_key="A", priority=-1)
    jobs.put("newer", scheduled_at_ms=660_400, partition_key="B", priority=7)
    assert jobs.stats().oldest_available_ms == 500
    assert jobs.store.distinct_kinds(limit=9) == ["v", "w"]
    assert jobs.store.distinct_kinds(limit=1) == ["v"]
    jobs.at(780_000)
    assert jobs.stats().arrived_last_minute == 0


def test_what_stands_against_an_admission(jobs: Driver) -> None:
    explain = jobs.store.explain_admission
    jobs.put("x", scheduled_at_ms=T0 + 7)
    assert explain(job_id="x").blocker.eta_ms == 7
    jobs.later(9)
    assert (explain(job_id="x").blocker.policy, explain(job_id="x").blocker.eta_ms) == ("schedule", 0)
    jobs.promote()
    assert (explain(job_id="x").admissible, explain(job_id="x").blocker) == (True, None)
    jobs.store.pause_queue(queue="q")
    assert explain(job_id="x").blocker.policy == "queue_paused"
    jobs.store.unpause_queue(queue="q")
    claim = jobs.run()
    assert explain(job_id="x").admissible
    jobs.ack(claim, Outcome.SUCCESS)
    assert (explain(job_id="x").admissible, explain(job_id="x").blocker) == (False, None)
    assert refusal(explain, job_id="absent") == no_job("absent")


def test_every_envelope_is_listed_in_id_order(jobs: Driver) -> None:
    jobs.put("b", tags=("z", "a"), headers={"h": "v"}, queue="")
    jobs.put("a")
    jobs.finish("a")
    found = jobs.store.envelopes()
    assert [one.id for one in found] == ["a", "b"]
    assert (found[1].tags, found[1].headers, found[1].queue) == (("a", "z"), {"h": "v"}, "default")


def test_looks_of_tests_at_one_job(jobs: Driver) -> None:
    jobs.put(payload=b"p", tags=("t",))
    jobs.finish("x", Outcome.RETRY, error="e")
    found, state = jobs.store.job_state("x")
    assert (found, state) == (jobs.store.envelopes()[0], State.RETRYABLE)
    assert [(entry.error, entry.attempt) for entry in jobs.store.errors("x")] == [("e", 1)]
    assert (jobs.store.job_state("absent"), jobs.store.errors("absent")) == (None, [])


def test_a_claim_gives_back_what_was_stored(jobs: Driver) -> None:
    asked = envelope(
        schema_version=3, payload=b"\0\xff", partition_key="p\0", rate_class="c", weight=4, priority=-5,
        max_attempts=6, scheduled_at_ms=T0 - 7, timeout_ms=8, deadline_ms=9, periodic_schedule_id="s",
        periodic_tick_ms=11, headers={"traceparent": "", "é\0": "\0"}, tags=("b", "a\0"), sticky_worker="w",
    )  # fmt: skip
    blank = {"unique_key": KEY, "unique_window_ms": 5, "unique_states": 3, "attempt": 3, "crash_attempt": 2}
    jobs.put_all(evolve(asked, **blank))
    assert jobs.run().envelope == evolve(asked, tags=("a\0", "b"))
    assert ids(jobs.admit()) == []
