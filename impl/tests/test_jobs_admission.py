"""Admission: candidates, rotation, order in a partition, routes, pause (sections 6 to 6.4, 8.8)."""

from __future__ import annotations

import time

import pytest

from workspec.jobs.vocabulary import Outcome, State

from .jobs_driver import T0, Driver, OpenJobs, envelope, invalid, ref


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs(crash_limit=1)


def spread(jobs: Driver, partitions: str, count: int, queue: str = "q") -> None:
    """Jobs A1, A2, ... in partition A, and so on."""
    for partition in partitions:
        names = [f"{partition}{number}" for number in range(1, count + 1)]
        jobs.put_all(*(envelope(name, partition_key=partition, queue=queue) for name in names))


# --- what is leased


def test_what_a_claim_says(jobs: Driver) -> None:
    jobs.put_all(envelope("a"), envelope("b"))
    claims = jobs.later(5).admit(lease_id="L", lease_ms=1_000)
    assert [(claim.lease_id, claim.fence, claim.expires_at_ms) for claim in claims] == [("L", 1, T0 + 1_005)] * 2
    job = jobs.job("a")
    assert (job.state, job.claimed_at_ms, job.lease_expires_at_ms) == (State.RUNNING, T0 + 5, T0 + 1_005)
    assert (job.scheduled_at_ms, job.attempt, job.crash_attempt, job.enqueued_at_ms) == (T0, 0, 0, T0)


def test_one_claim_in_each_unit(jobs: Driver) -> None:
    jobs.put_all(envelope("a"), envelope("b"))
    units = jobs.store.admit(worker="w", lease_id="l", queues=["q"], capacity=9, lease_ms=1, quantum=9)
    assert [len(unit.claims) for unit in units] == [1, 1]


@pytest.mark.parametrize("lease_ms", [0, -1])
@pytest.mark.parametrize(("capacity", "queues"), [(1, ("q",)), (0, ("q",)), (1, ())])
def test_a_lease_lasts_a_millisecond_at_least(jobs: Driver, lease_ms: int, capacity: int, queues: tuple[str]) -> None:
    jobs.put()
    assert jobs.unchanged_by(jobs.admit, capacity, queues=queues, lease_ms=lease_ms) == invalid("bad_lease")
    assert jobs.admitted(lease_ms=1) == ["x"]


@pytest.mark.parametrize(("capacity", "queues"), [(0, ("q",)), (-1, ("q",)), (1, ()), (5, ("other",))])
def test_nothing_asked_for_is_nothing_done(jobs: Driver, capacity: int, queues: tuple[str]) -> None:
    jobs.put()
    before = jobs.store.snapshot()
    assert jobs.admitted(capacity, queues=queues) == []
    assert jobs.store.snapshot() == before


def test_only_available_and_due_rows_are_candidates(jobs: Driver) -> None:
    jobs.put("pending", pending=True)
    jobs.put("scheduled", scheduled_at_ms=T0 + 1)
    jobs.put("retryable")
    jobs.finish("retryable", Outcome.RETRY)
    assert jobs.later(100_000).admitted() == []
    assert jobs.promote() == 2
    assert sorted(jobs.admitted()) == ["retryable", "scheduled"]
    assert jobs.admitted() == []


def test_an_available_row_that_is_not_due_any_more_waits(jobs: Driver) -> None:
    jobs.put()
    jobs.put("earlier", scheduled_at_ms=1)
    assert jobs.at(T0 - 1).admitted() == ["earlier"]
    assert jobs.at(T0).admitted() == ["x"]


def test_capacity_counts_over_all_queues(jobs: Driver) -> None:
    spread(jobs, "A", 2, "p")
    spread(jobs, "B", 2, "q")
    assert jobs.admitted(3, queues=("q", "p")) == ["B1", "B2", "A1"]


def test_a_queue_is_drained_before_the_next_and_repeats_count_once(jobs: Driver) -> None:
    spread(jobs, "AB", 1, "p")
    spread(jobs, "CD", 1, "q")
    assert jobs.admitted(queues=("q", "p", "q")) == ["C1", "D1", "A1", "B1"]
    spread(jobs, "EFG", 1, "q")
    # The cursor of q has moved once.
    assert jobs.admitted(queues=("q",)) == ["F1", "G1", "E1"]


def test_the_fence_counts_the_runs(jobs: Driver) -> None:
    jobs.put()
    for fence in (1, 2, 3):
        claim = jobs.run()
        assert claim.fence == fence
        jobs.ack(claim, Outcome.RATE_LIMITED)


# --- rotation


def test_rotation(jobs: Driver) -> None:
    spread(jobs, "ABC", 2)
    assert [jobs.admitted(2) for _ in range(4)] == [["A1", "B1"], ["B2", "C1"], ["A2", "C2"], []]


def test_rotation_of_one_at_a_time(jobs: Driver) -> None:
    spread(jobs, "ABCD", 2)
    assert [jobs.admitted(1) for _ in range(5)] == [["A1"], ["B1"], ["C1"], ["D1"], ["A2"]]


def test_rounds_take_one_of_each_partition(jobs: Driver) -> None:
    spread(jobs, "AB", 3)
    jobs.put("C1", partition_key="C")
    assert jobs.admitted(6) == ["A1", "B1", "C1", "A2", "B2", "A3"]


def test_the_cursor_moves_with_candidates_even_if_none_passes(jobs: Driver) -> None:
    jobs.put("crasher", fingerprint="F")
    jobs.put("sibling", fingerprint="F", partition_key="A")
    jobs.lose("crasher")
    jobs.store.delete_job(job_id="crasher")
    # One call so far; the next one finds a candidate, and no candidate passes.
    assert jobs.admitted() == []
    assert jobs.admitted(queues=("empty",)) == []
    spread(jobs, "BC", 1)
    # Two calls: the third of A, B, C begins.
    assert jobs.admitted(1) == ["C1"]


def test_groups_are_counted_before_policies(jobs: Driver) -> None:
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1, burst=1)
    jobs.put("A1", partition_key="A", rate_class="c", weight=9)
    spread(jobs, "BC", 2)
    # Of A, B, C: start 0, then 1, then 2, though A never gets through.
    assert [jobs.admitted(1) for _ in range(3)] == [["B1"], ["B2"], ["C1"]]


def test_routed_rows_of_others_make_no_group(jobs: Driver) -> None:
    jobs.put("A1", partition_key="A", sticky_worker="other")
    spread(jobs, "BC", 2)
    assert [jobs.admitted(1) for _ in range(3)] == [["B1"], ["C1"], ["B2"]]


def test_a_partition_with_nothing_due_makes_no_group(jobs: Driver) -> None:
    jobs.put("A1", partition_key="A")
    for name in ("B1", "B2", "C1", "C2"):
        jobs.put(name, partition_key=name[0], scheduled_at_ms=1)
    jobs.at(T0 - 1)
    assert [jobs.admitted(1) for _ in range(5)] == [["B1"], ["C1"], ["B2"], ["C2"], []]
    jobs.put("D1", partition_key="D", scheduled_at_ms=T0)
    jobs.at(T0).promote()
    jobs.at(T0 - 1)
    assert jobs.admitted(1) == jobs.admitted(2) == []
    assert [jobs.at(T0).admitted(1) for _ in range(3)] == [["A1"], ["D1"], []]


def test_a_flood_hides_nobody(jobs: Driver) -> None:
    flood = [envelope(f"n{number:04}", partition_key="noisy", priority=100) for number in range(5_000)]
    for start in range(0, 5_000, 1_000):
        jobs.put_all(*flood[start : start + 1_000])
    spread(jobs, "AB", 3)
    drawn = jobs.admitted(9)
    assert sorted(drawn) == ["A1", "A2", "A3", "B1", "B2", "B3", "n0000", "n0001", "n0002"]


def test_work_is_conserved(jobs: Driver) -> None:
    spread(jobs, "A", 4)
    spread(jobs, "B", 1)
    assert len(jobs.admitted(5)) == 5


# --- order in a partition


def test_order_in_a_partition(jobs: Driver) -> None:
    for job_id, priority, due_ms in [("b", 5, 10), ("a", 5, 20), ("c", 5, 10), ("z", 6, 999), ("y", -1, 1)]:
        jobs.put(job_id, priority=priority, scheduled_at_ms=due_ms)
    assert jobs.admitted() == ["z", "b", "c", "a", "y"]


def test_ids_are_ordered_by_their_bytes(jobs: Driver) -> None:
    jobs.put_all(*(envelope(job_id, scheduled_at_ms=1) for job_id in ("é", "a", "Z", "\U0001f600", "\uffff")))
    assert jobs.admitted() == ["Z", "a", "é", "\uffff", "\U0001f600"]


def test_a_rate_limited_job_keeps_its_place_and_a_retried_one_does_not(jobs: Driver) -> None:
    for number in (1, 2, 3):
        jobs.put(f"p{number}", scheduled_at_ms=number)
    [first] = jobs.admit(1)
    jobs.ack(first, Outcome.RATE_LIMITED)
    [again] = jobs.admit(1)
    assert again.envelope.id == "p1"
    jobs.ack(again, Outcome.RETRY)
    jobs.later(1_000).promote()
    assert jobs.admitted() == ["p2", "p3", "p1"]


def test_a_blocked_head_blocks_nobody_behind_it(jobs: Driver) -> None:
    jobs.put("crasher", fingerprint="F", priority=9)
    jobs.lose("crasher")
    jobs.put("x")
    jobs.store.edit_payload(job_id="x", payload=b"", schema_version=1, fingerprint="F")
    jobs.put("behind")
    before = jobs.job()
    assert jobs.admitted() == ["behind"]
    assert jobs.job() == before


# --- routes


def test_a_route_is_for_one_worker(jobs: Driver) -> None:
    jobs.put("routed", sticky_worker="Worker")
    jobs.put("free")
    for worker in ("worker", " Worker", "Worker ", ""):
        assert jobs.admitted(worker=worker, queues=("q", "r")) in (["free"], [])
    assert jobs.admitted(worker="Worker") == ["routed"]


def test_routed_and_free_rows_are_ordered_together(jobs: Driver) -> None:
    jobs.put("a", priority=1)
    jobs.put("b", priority=2, sticky_worker="w")
    jobs.put("c", priority=3)
    jobs.put("d", priority=4, sticky_worker="other")
    assert jobs.admitted(worker="w") == ["c", "b", "a"]


def test_five_thousand_rows_of_others_hide_nothing(jobs: Driver) -> None:
    rows = [
        envelope(f"b-{number:04}", partition_key="tenant", priority=10_000, sticky_worker="worker-b")
        for number in range(5_000)
    ]
    rows.append(envelope("a", partition_key="tenant", priority=50, sticky_worker="worker-a"))
    rows.append(envelope("general", partition_key="tenant", priority=1))
    for start in range(0, len(rows), 500):
        jobs.put_all(*rows[start : start + 500])
    began = time.process_time()
    claims = jobs.admit(2, worker="worker-a", lease_id="la")
    assert [(claim.envelope.id, claim.envelope.sticky_worker) for claim in claims] == [
        ("a", "worker-a"),
        ("general", ""),
    ]
    jobs.ack(claims[0], Outcome.RATE_LIMITED)
    jobs.ack(claims[1], Outcome.SUCCESS)
    assert jobs.admitted(2, worker="worker-c") == []
    [again] = jobs.admit(1, worker="worker-a", lease_id="la2")
    assert (again.envelope.id, again.fence, again.envelope.attempt) == ("a", 2, 0)
    assert jobs.admitted(1, worker="worker-b") == ["b-0000"]
    # Not a measurement: a search through all rows for each candidate would take a hundred times as long. Time of the
    # processor, since a busy machine lets each wait.
    assert time.process_time() - began < 2


def test_a_route_survives_everything(jobs: Driver) -> None:
    jobs.put(sticky_worker="w", scheduled_at_ms=T0 - 1)
    for outcome, delay_ms in [(Outcome.RETRY, 5), (Outcome.SNOOZE, 5), (Outcome.RATE_LIMITED, None)]:
        [claim] = jobs.admit(worker="w")
        jobs.ack(claim, outcome, delay_ms=delay_ms)
        jobs.later(5).promote()
        assert jobs.later(10**9).admitted(worker="other") == []
    jobs.store.operator_cancel(job_id="x")
    jobs.store.operator_retry(job_id="x")
    assert jobs.admitted(worker="other") == []
    jobs.admit(worker="w", lease_ms=1)
    jobs.later(1).reclaim()
    jobs.store.release_fingerprint(fingerprint="fp-x")
    assert jobs.admitted(worker="other") == []
    assert jobs.admitted(worker="w") == ["x"]


# --- pause


def test_a_paused_queue_gives_nothing_and_keeps_its_cursor(jobs: Driver) -> None:
    spread(jobs, "ABC", 2)
    jobs.put("p1", queue="p")
    running = jobs.admit(1)
    jobs.store.pause_queue(queue="q")
    jobs.store.pause_queue(queue="q")
    assert jobs.admitted(queues=("q", "p")) == ["p1"]
    assert jobs.stats().paused
    jobs.put("late", scheduled_at_ms=T0 + 1)
    assert jobs.later(1).promote() == 1
    assert jobs.renew(*running) == []
    jobs.ack(running[0], Outcome.SUCCESS)
    jobs.store.unpause_queue(queue="q")
    jobs.store.unpause_queue(queue="q")
    jobs.store.unpause_queue(queue="unknown")
    # The cursor stands at 1 among the groups of late, A, B, C.
    assert jobs.admitted(1) == ["A2"]


def test_no_mapping_of_the_empty_name(jobs: Driver) -> None:
    jobs.put(queue="")
    jobs.store.pause_queue(queue="")
    assert jobs.admitted(queues=("",)) == []
    assert jobs.admitted(queues=("default",)) == ["x"]


def test_a_lease_covers_a_whole_admission(jobs: Driver) -> None:
    jobs.put_all(envelope("a"), envelope("b"))
    first, second = jobs.admit(lease_id="L")
    assert (ref(first).lease_id, ref(second).lease_id) == ("L", "L")
    jobs.ack(first, Outcome.SUCCESS)
    assert jobs.state("b") == State.RUNNING
