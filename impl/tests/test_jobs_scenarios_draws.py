"""Routing, rates, fairness and order: S-01, S-17 to S-26, on either store."""

from __future__ import annotations

from functools import partial

import pytest

from workspec.jobs.vocabulary import Outcome

from .jobs_driver import (
    Driver,
    OpenJobs,
    envelope,
    invalid,
    rate,
)


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs()


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
