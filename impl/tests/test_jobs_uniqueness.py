"""Unique keys: their life, their namespaces, replacement and debounce (section 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import asdict

from workspec.jobs.vocabulary import Outcome, Replace, State

from .jobs_driver import DAY_MS, T0, Driver, OpenJobs, duplicate, envelope, refusal

ALL_BITS = 15


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs(crash_limit=1)


def taken(jobs: Driver, by: str, key: bytes = b"K") -> bool:
    """Whether a newcomer finds the key held by this job."""
    return jobs.unchanged_by(jobs.put, "newcomer", unique_key=key) == duplicate(by)


# --- lifecycle keys


def test_the_holder_keeps_its_key_as_long_as_it_is_unfinished(jobs: Driver) -> None:
    jobs.put(unique_key=b"K", scheduled_at_ms=T0 + 5_000)
    assert taken(jobs, "x")
    jobs.later(5_000).promote()
    assert taken(jobs, "x")
    claim = jobs.run()
    assert taken(jobs, "x")
    jobs.ack(claim, Outcome.RETRY)
    assert (jobs.state(), taken(jobs, "x")) == (State.RETRYABLE, True)
    jobs.later(1_000).promote()
    jobs.finish("x", Outcome.SNOOZE, delay_ms=1)
    assert (jobs.state(), taken(jobs, "x")) == (State.SCHEDULED, True)
    jobs.later(1).promote()
    jobs.finish("x", Outcome.RATE_LIMITED)
    assert (jobs.state(), taken(jobs, "x")) == (State.AVAILABLE, True)


def test_a_crash_below_the_limit_keeps_the_key(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(crash_limit=2)
    jobs.put(unique_key=b"K")
    jobs.lose("x")
    assert (jobs.state(), taken(jobs, "x")) == (State.RETRYABLE, True)


def test_a_pending_job_holds_its_key(jobs: Driver) -> None:
    jobs.put(unique_key=b"K", pending=True)
    assert taken(jobs, "x")


ENDINGS: dict[str, Callable[[Driver], None]] = {
    "success": lambda jobs: jobs.finish(),
    "success without retention": lambda jobs: jobs.finish(),
    "skip": lambda jobs: jobs.finish(outcome=Outcome.SKIP),
    "undecodable": lambda jobs: jobs.finish(outcome=Outcome.UNDECODABLE),
    "revoke": lambda jobs: jobs.finish(outcome=Outcome.REVOKE),
    "last retry": lambda jobs: jobs.finish(outcome=Outcome.RETRY),
    "last crash": lambda jobs: jobs.lose("x"),
    "cancel": lambda jobs: jobs.store.operator_cancel(job_id="x"),
    "delete": lambda jobs: jobs.store.delete_job(job_id="x"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_key_is_free_once_its_holder_has_ended(jobs: Driver, ending: str) -> None:
    retention_ms = 0 if "without" in ending else DAY_MS
    jobs.put(unique_key=b"K", max_attempts=1, retention_ms=retention_ms)
    ENDINGS[ending](jobs)
    jobs.put("next", unique_key=b"K")
    assert jobs.state("next") == State.AVAILABLE


def test_the_quarantine_sweep_frees_keys(jobs: Driver) -> None:
    jobs.put("sibling", unique_key=b"K", fingerprint="F", scheduled_at_ms=T0 + DAY_MS)
    jobs.put("crasher", fingerprint="F")
    jobs.lose("crasher")
    assert jobs.store.sweep_quarantined(limit=10) == 1
    jobs.put("next", unique_key=b"K")


def test_an_ended_job_does_not_free_the_key_of_a_later_holder(jobs: Driver) -> None:
    jobs.put("first", unique_key=b"K")
    jobs.finish("first", Outcome.SKIP)
    jobs.put("second", unique_key=b"K")
    jobs.store.delete_job(job_id="first")
    assert taken(jobs, "second")


def test_no_key_is_no_uniqueness_and_the_empty_key_is_one(jobs: Driver) -> None:
    jobs.put_all(envelope("a"), envelope("b"))
    jobs.put("c", unique_key=b"")
    assert jobs.unchanged_by(jobs.put, "d", unique_key=b"") == duplicate("c")
    jobs.put("e", unique_key=b"", kind="v")


# --- throttle keys


def test_a_throttle_holds_until_the_end_of_its_window(jobs: Driver) -> None:
    def put(job_id: str) -> None:
        jobs.put(job_id, unique_key=b"K", unique_window_ms=60_000)

    put("t1")
    assert jobs.at(T0 + 59_999).unchanged_by(put, "t2") == duplicate("t1")
    jobs.finish("t1")
    assert jobs.unchanged_by(put, "t2") == duplicate("t1")
    jobs.at(T0 + 60_000)
    put("t2")
    assert jobs.at(T0 + 119_999).unchanged_by(put, "t3") == duplicate("t2")
    jobs.at(T0 + 120_000)
    put("t3")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_throttle_outlives_its_job(jobs: Driver, ending: str) -> None:
    retention_ms = 0 if "without" in ending else DAY_MS
    jobs.put(unique_key=b"K", unique_window_ms=600_000, max_attempts=1, retention_ms=retention_ms)
    ENDINGS[ending](jobs)
    call = lambda: jobs.put("t2", unique_key=b"K", unique_window_ms=1)  # noqa: E731
    assert jobs.unchanged_by(call) == duplicate("x")


def test_a_throttle_hold_does_not_pass_to_a_later_job_of_the_same_id(jobs: Driver) -> None:
    jobs.put(unique_key=b"K", unique_window_ms=600_000, retention_ms=0)
    jobs.finish()
    jobs.put(payload=b"unrelated")
    asked = {"unique_key": b"K", "unique_window_ms": 600_000, "unique_replace": ALL_BITS, "payload": b"new"}
    assert jobs.unchanged_by(jobs.put, "t2", **asked) == duplicate("x")
    assert jobs.job().payload == b"unrelated"


def test_a_throttle_conflict_edits_a_holder_that_waits(jobs: Driver) -> None:
    asked = {"unique_key": b"K", "unique_window_ms": 600_000, "unique_replace": Replace.PRIORITY, "priority": 5}
    jobs.put(unique_key=b"K", unique_window_ms=600_000)
    assert refusal(jobs.put, "t2", **asked) == duplicate("x", replaced=True)
    assert jobs.job().priority == 5
    jobs.finish(outcome=Outcome.SKIP)
    assert jobs.unchanged_by(jobs.put, "t3", **asked) == duplicate("x")


# --- namespaces


def test_namespaces_of_keys(jobs: Driver) -> None:
    jobs.put("a", unique_key=b"K")
    jobs.put("b", unique_key=b"K", kind="v")
    jobs.put("c", unique_key=b"K", unique_exclude_kind=True)
    assert refusal(jobs.put, "d", unique_key=b"K", unique_exclude_kind=True, kind="v") == duplicate("c")
    jobs.put("e", unique_key=b"K", unique_window_ms=1_000)
    assert refusal(jobs.put, "f", unique_key=b"K", queue="p", partition_key="p") == duplicate("a")


def test_a_kind_does_not_run_into_its_key(jobs: Driver) -> None:
    jobs.put("a", kind="ab", unique_key=b"c")
    jobs.put("b", kind="a", unique_key=b"bc")


def test_two_members_of_one_batch_clash(jobs: Driver) -> None:
    first, second = envelope("p1", unique_key=b"K"), envelope("p2", unique_key=b"K")
    assert jobs.unchanged_by(jobs.put_all, first, second) == duplicate("p1")
    jobs.put_all(first)
    assert jobs.unchanged_by(jobs.put_all, first, second) == duplicate("p1")
    window = {"unique_key": b"K", "unique_window_ms": 5}
    jobs.put_all(envelope("p3", **window), envelope("p4", unique_key=b"L"))
    assert jobs.unchanged_by(jobs.put_all, envelope("p5"), envelope("p6", **window)) == duplicate("p3")


def test_modes_do_not_clash_in_one_batch_and_replays_take_no_key(jobs: Driver) -> None:
    jobs.put_all(envelope("a", unique_key=b"K"), envelope("b", unique_key=b"K", unique_window_ms=5))
    jobs.put("plain")
    jobs.put_all(envelope("plain", unique_key=b"L"), envelope("c", unique_key=b"L"))
    assert refusal(jobs.put, "d", unique_key=b"L") == duplicate("c")


# --- replacement


def holder_in(jobs: Driver, state: State) -> None:
    changes: dict[str, Any] = {"unique_key": b"K", "payload": b"old", "priority": 1}
    if state == State.SCHEDULED:
        changes["scheduled_at_ms"] = T0 + 9_000
    jobs.put(pending=state == State.PENDING, **changes)
    if state in (State.RUNNING, State.RETRYABLE):
        claim = jobs.run()
        if state == State.RETRYABLE:
            jobs.ack(claim, Outcome.RETRY)
    assert jobs.state() == state


REPLACING: dict[str, Any] = {
    "unique_key": b"K",
    "unique_replace": ALL_BITS,
    "payload": b"new",
    "schema_version": 7,
    "scheduled_at_ms": T0 + 4_000,
    "priority": 9,
    "max_attempts": 3,
}


@pytest.mark.parametrize("state", [State.SCHEDULED, State.AVAILABLE, State.RETRYABLE])
def test_replacement_edits_a_holder_that_waits(jobs: Driver, state: State) -> None:
    holder_in(jobs, state)
    before = jobs.job()
    replacing = {**REPLACING, "tags": ("t",), "headers": {"h": "v"}, "weight": 5, "retention_ms": 1}
    assert refusal(jobs.put, "new", **replacing) == duplicate("x", replaced=True)
    after = jobs.job()
    due_ms = T0 + 4_000 if state == State.SCHEDULED else before.scheduled_at_ms
    edited = {"payload": b"new", "schema_version": 7, "fingerprint": "fp-new", "scheduled_at_ms": due_ms}
    expected = {**asdict(before, recurse=False), **edited}
    expected |= {"priority": 9, "max_attempts": 3}
    assert {name: getattr(after, name) for name in expected} == expected
    assert jobs.state("new") is None
    assert jobs.stats().unfinished_jobs == 1
    assert taken(jobs, "x")


@pytest.mark.parametrize("state", [State.RUNNING, State.PENDING])
def test_replacement_leaves_other_holders_alone(jobs: Driver, state: State) -> None:
    holder_in(jobs, state)
    assert jobs.unchanged_by(jobs.put, "new", **REPLACING) == duplicate("x")


def test_each_bit_copies_its_own_part(jobs: Driver) -> None:
    holder_in(jobs, State.SCHEDULED)
    parts = {
        Replace.PAYLOAD: {"payload": b"new", "schema_version": 7, "fingerprint": "fp-new"},
        Replace.SCHEDULED_AT: {"scheduled_at_ms": T0 + 4_000},
        Replace.PRIORITY: {"priority": 9},
        Replace.MAX_ATTEMPTS: {"max_attempts": 3},
    }
    expected = jobs.job()
    for bit, changes in parts.items():
        assert refusal(jobs.put, "new", **{**REPLACING, "unique_replace": bit}) == duplicate("x", replaced=True)
        expected = type(expected)(
            **{name: changes.get(name, getattr(expected, name)) for name in asdict(expected, recurse=False)}
        )
        assert jobs.job() == expected


def test_omitted_parts_are_copied_with_their_defaults(jobs: Driver) -> None:
    jobs.put(unique_key=b"K", schema_version=4, max_attempts=4, scheduled_at_ms=T0 + 9)
    assert refusal(jobs.put, "new", unique_key=b"K", unique_replace=ALL_BITS) == duplicate("x", replaced=True)
    job = jobs.job()
    assert (job.schema_version, job.max_attempts, job.scheduled_at_ms) == (1, 25, T0)
    assert job.state == State.SCHEDULED


@pytest.mark.parametrize("state", [State.AVAILABLE, State.RETRYABLE])
def test_the_due_time_alone_is_not_replaced_where_it_does_not_count(jobs: Driver, state: State) -> None:
    holder_in(jobs, state)
    assert jobs.unchanged_by(jobs.put, "new", **{**REPLACING, "unique_replace": 2}) == duplicate("x")


def test_a_past_due_time_still_waits_for_promotion(jobs: Driver) -> None:
    holder_in(jobs, State.SCHEDULED)
    replacing = {**REPLACING, "unique_replace": 2, "scheduled_at_ms": T0 - 1}
    assert refusal(jobs.put, "new", **replacing) == duplicate("x", replaced=True)
    assert (jobs.state(), jobs.job().scheduled_at_ms) == (State.SCHEDULED, T0 - 1)
    assert (jobs.admitted(), jobs.promote(), jobs.admitted()) == ([], 1, ["x"])


def test_a_quarantined_newcomer_is_not_swapped_in(jobs: Driver) -> None:
    holder_in(jobs, State.SCHEDULED)
    jobs.put("crasher", fingerprint="B")
    jobs.lose("crasher")
    assert jobs.unchanged_by(jobs.put, "new", **REPLACING, fingerprint="B") == ("Quarantined", {"fingerprint": "B"})


def test_after_a_replacement_the_holder_answers_with_its_new_fingerprint(jobs: Driver) -> None:
    holder_in(jobs, State.AVAILABLE)
    refusal(jobs.put, "new", **REPLACING)
    assert refusal(jobs.put, "x", unique_key=b"K") == ("IdConflict", {"job_id": "x"})
    before = jobs.store.snapshot()
    jobs.put("x", **REPLACING, fingerprint="fp-new")
    assert jobs.store.snapshot() == before


def test_an_edited_priority_changes_the_place_in_the_queue(jobs: Driver) -> None:
    jobs.put("x", unique_key=b"K", priority=1)
    jobs.put("y", priority=5)
    refusal(jobs.put, "new", **REPLACING)
    assert jobs.admitted() == ["x", "y"]


def test_a_conflict_on_a_full_queue_still_coalesces(jobs: Driver) -> None:
    holder_in(jobs, State.AVAILABLE)
    jobs.store.set_enqueue_limit(queue="q", limit=0)
    assert refusal(jobs.put, "new", **REPLACING) == duplicate("x", replaced=True)


# --- debounce


def test_debounce_trails(jobs: Driver) -> None:
    def put(job_id: str, *tags: str) -> None:
        jobs.put(job_id, unique_key=b"e", unique_debounce_ms=500, tags=tags, payload=job_id.encode())

    jobs.at(1_000)
    put("d1", "blue", "billing")
    job = jobs.job("d1")
    assert (job.state, job.scheduled_at_ms, job.tags) == (State.SCHEDULED, 1_500, ("billing", "blue"))
    assert refusal(
        jobs.at(1_200).put, "d2", unique_key=b"e", unique_debounce_ms=500, tags=("urgent",), payload=b"2"
    ) == (duplicate("d1", replaced=True))
    job = jobs.job("d1")
    assert (job.scheduled_at_ms, job.payload, job.tags, job.fingerprint) == (1_700, b"2", ("urgent",), "fp-d2")
    assert jobs.at(1_699).promote() == 0
    assert jobs.at(1_700).promote() == 1
    assert refusal(put, "d3") == duplicate("d1", replaced=True)
    assert (jobs.state("d1"), jobs.job("d1").scheduled_at_ms, jobs.job("d1").tags) == (State.SCHEDULED, 2_200, ())
    assert jobs.admitted() == []
    assert jobs.at(2_200).promote() == 1
    jobs.run("d1")
    assert jobs.unchanged_by(put, "d4") == duplicate("d1")


def test_debounce_moves_a_retryable_holder_and_keeps_its_counters(jobs: Driver) -> None:
    jobs.put(unique_key=b"K", priority=3, max_attempts=9)
    jobs.finish("x", Outcome.RETRY)
    asked = {"unique_key": b"K", "unique_debounce_ms": 7, "priority": 8, "queue": "p", "sticky_worker": "v"}
    assert refusal(jobs.put, "new", **asked) == duplicate("x", replaced=True)
    job = jobs.job()
    assert (job.state, job.scheduled_at_ms, job.attempt) == (State.SCHEDULED, T0 + 7, 1)
    assert (job.priority, job.max_attempts, job.queue, job.sticky_worker) == (3, 9, "q", "")


def test_debounce_leaves_a_pending_holder_alone(jobs: Driver) -> None:
    holder_in(jobs, State.PENDING)
    assert jobs.unchanged_by(jobs.put, "new", unique_key=b"K", unique_debounce_ms=5) == duplicate("x")


@pytest.mark.parametrize("mask", [2, 15])
def test_the_debounce_instant_wins_over_the_mask(jobs: Driver, mask: int) -> None:
    holder_in(jobs, State.SCHEDULED)
    asked = {**REPLACING, "unique_replace": mask, "unique_debounce_ms": 50}
    assert refusal(jobs.put, "new", **asked) == duplicate("x", replaced=True)
    job = jobs.job()
    assert (job.scheduled_at_ms, job.payload) == (T0 + 50, b"new")
    assert (job.priority, job.max_attempts) == ((9, 3) if mask == 15 else (1, 25))


def test_a_pending_job_with_debounce_stays_pending(jobs: Driver) -> None:
    jobs.put(unique_key=b"K", unique_debounce_ms=500, pending=True)
    assert jobs.later(1_000).promote() == 0
    assert jobs.state() == State.PENDING
