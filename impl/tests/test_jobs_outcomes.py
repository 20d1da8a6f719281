"""The end of a run, leases, checkpoints, and what a run writes (sections 7, 8.1, 8.2, 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import (
    HistoryEntry,
    JobOutput,
    JobProgress,
    JobResult,
    LeaseRef,
    Outcome,
    ProgressUpdate,
    State,
)

from .jobs_driver import NOTHING_DONE, T0, Driver, OpenJobs, envelope, invalid, lease_rejected, ref

ACKED = [outcome for outcome in Outcome if outcome != Outcome.LEASE_LOST]


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs()


# --- identity


def fenced_calls(jobs: Driver, lease: LeaseRef) -> dict[str, Callable[[], object]]:
    store = jobs.store
    return {
        "ack": lambda: jobs.ack(lease, Outcome.SUCCESS),
        "result": lambda: store.ack_success_with_result(
            lease=lease, result=JobResult(1, b""), logs=[], actual_weight=None
        ),
        "checkpoint": lambda: store.checkpoint(lease=lease, checkpoint=NOTHING_DONE),
        "output": lambda: store.write_job_output(lease=lease, output=JobResult(1, b"")),
        "progress": lambda: store.write_job_progress(lease=lease, progress=ProgressUpdate(1, 2, None)),
    }


CALLS = ["ack", "result", "checkpoint", "output", "progress"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "changes", [{"job_id": "unknown"}, {"lease_id": "L"}, {"lease_id": ""}, {"fence": 0}, {"fence": 2}]
)
def test_whoever_does_not_hold_the_job_is_rejected(jobs: Driver, call: str, changes: dict[str, Any]) -> None:
    jobs.put()
    lease = evolve(ref(jobs.run()), **changes)
    assert jobs.unchanged_by(fenced_calls(jobs, lease)[call]) == lease_rejected(lease.job_id)
    assert list(jobs.store.renew(leases=[lease], lease_ms=1)) == [lease.job_id]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("outcome", ACKED)
def test_an_acked_run_has_ended(jobs: Driver, call: str, outcome: Outcome) -> None:
    jobs.put()
    claim = jobs.run()
    jobs.ack(claim, outcome, delay_ms=1)
    assert jobs.unchanged_by(fenced_calls(jobs, ref(claim))[call]) == lease_rejected("x")
    assert jobs.renew(claim) == ["x"]


@pytest.mark.parametrize("call", CALLS)
def test_the_holder_of_an_earlier_run_is_rejected(jobs: Driver, call: str) -> None:
    jobs.put()
    first = jobs.run(lease_id="same")
    jobs.ack(first, Outcome.RATE_LIMITED)
    jobs.run(lease_id="same")
    assert jobs.unchanged_by(fenced_calls(jobs, ref(first))[call]) == lease_rejected("x")


@pytest.mark.parametrize("call", CALLS)
def test_a_holder_past_its_lease_still_holds(jobs: Driver, call: str) -> None:
    jobs.put()
    claim = jobs.run(lease_ms=1)
    jobs.later(10**9)
    assert jobs.renew(claim, lease_ms=1) == []
    fenced_calls(jobs.later(10**9), ref(claim))[call]()


@pytest.mark.parametrize(
    ("outcome", "delay_ms", "reason"),
    [
        (Outcome.LEASE_LOST, None, "lease_lost_not_ackable"),
        (Outcome.SNOOZE, None, "snooze_needs_delay"),
        (Outcome.SNOOZE, 0, "snooze_needs_delay"),
        (Outcome.SNOOZE, -1, "snooze_needs_delay"),
        ("done", None, "unknown_outcome"),
    ],
)
def test_arguments_come_before_identity(jobs: Driver, outcome: str, delay_ms: int | None, reason: str) -> None:
    jobs.put()
    claim = jobs.run()
    assert jobs.unchanged_by(jobs.ack, claim, outcome, delay_ms=delay_ms) == invalid(reason)
    stale = LeaseRef("x", "stale", 9)
    assert jobs.unchanged_by(jobs.ack, stale, outcome, delay_ms=delay_ms) == invalid(reason)
    assert jobs.state() == State.RUNNING


# --- outcomes


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.SUCCESS, State.COMPLETED),
        (Outcome.RETRY, State.RETRYABLE),
        (Outcome.SKIP, State.ARCHIVED),
        (Outcome.UNDECODABLE, State.UNDECODABLE),
        (Outcome.SNOOZE, State.SCHEDULED),
        (Outcome.RATE_LIMITED, State.AVAILABLE),
    ],
)
def test_where_an_outcome_leads(jobs: Driver, outcome: Outcome, state: State) -> None:
    jobs.put(scheduled_at_ms=T0 - 5)
    claim = jobs.later(10).run()
    jobs.later(10).ack(claim, outcome, delay_ms=700)
    job = jobs.job()
    assert job.state == state
    assert (job.claimed_at_ms, job.lease_expires_at_ms) == (None, None)
    assert job.attempt == (1 if outcome == Outcome.RETRY else 0)
    ended = state in (State.COMPLETED, State.ARCHIVED, State.UNDECODABLE)
    assert job.finalized_at_ms == (T0 + 20 if ended else None)
    delayed = outcome in (Outcome.RETRY, Outcome.SNOOZE)
    assert job.scheduled_at_ms == (T0 + 720 if delayed else T0 - 5)


@pytest.mark.parametrize("outcome", [Outcome.SKIP, Outcome.UNDECODABLE, Outcome.RETRY])
def test_without_retention_only_success_and_revoke_remove(jobs: Driver, outcome: Outcome) -> None:
    for job_id, retention_ms, ending, state in [
        ("a", 0, Outcome.SUCCESS, None),
        ("b", 1, Outcome.REVOKE, None),
        ("c", 0, Outcome.REVOKE, None),
        ("d", 1, Outcome.SUCCESS, State.COMPLETED),
    ]:
        jobs.put(job_id, retention_ms=retention_ms)
        jobs.finish(job_id, ending)
        assert jobs.state(job_id) == state
    jobs.put("e", retention_ms=0, max_attempts=1)
    jobs.finish("e", outcome)
    assert jobs.later(10**9).evict() == 1
    assert jobs.state("e") is not None


def test_a_rate_limited_job_is_due_at_once(jobs: Driver) -> None:
    jobs.put("early", scheduled_at_ms=T0 - 9)
    jobs.put("late", scheduled_at_ms=T0 + 9)
    jobs.at(T0 + 9).promote()
    early, late = jobs.admit()
    jobs.at(T0 + 5)
    for claim in (early, late):
        jobs.ack(claim, Outcome.RATE_LIMITED, delay_ms=10**6)
    assert (jobs.job("early").scheduled_at_ms, jobs.job("late").scheduled_at_ms) == (T0 - 9, T0 + 5)


def test_exhaustion(jobs: Driver) -> None:
    jobs.put(max_attempts=2)
    jobs.finish(outcome=Outcome.RETRY)
    assert (jobs.state(), jobs.job().attempt) == (State.RETRYABLE, 1)
    jobs.later(1_000).promote()
    due_ms = jobs.job().scheduled_at_ms
    jobs.later(7).finish(outcome=Outcome.RETRY, delay_ms=5)
    job = jobs.job()
    assert (job.state, job.attempt, job.finalized_at_ms) == (State.ARCHIVED, 2, T0 + 1_007)
    assert job.scheduled_at_ms == due_ms
    jobs.store.operator_retry(job_id="x")
    claim = jobs.run()
    assert (claim.fence, claim.envelope.attempt) == (3, 2)
    jobs.ack(claim, Outcome.RETRY)
    assert (jobs.state(), jobs.job().attempt) == (State.ARCHIVED, 3)


def test_an_omitted_budget_is_twenty_five(jobs: Driver) -> None:
    jobs.put()
    for attempt in range(1, 25):
        jobs.finish(outcome=Outcome.RETRY, delay_ms=1)
        assert (jobs.state(), jobs.job().attempt) == (State.RETRYABLE, attempt)
        jobs.later(1).promote()
    jobs.finish(outcome=Outcome.RETRY, delay_ms=1)
    assert (jobs.state(), jobs.job().attempt) == (State.ARCHIVED, 25)


# --- delays


def test_the_back_off_doubles_up_to_its_cap(jobs: Driver) -> None:
    jobs.put(max_attempts=40)
    seen = {}
    now_ms = T0
    for attempt in range(1, 15):
        jobs.finish(outcome=Outcome.RETRY)
        due_ms = jobs.job().scheduled_at_ms
        seen[attempt] = due_ms - now_ms
        now_ms = due_ms
        jobs.at(now_ms).promote()
    assert [seen[1], seen[2], seen[3], seen[11], seen[12], seen[13], seen[14]] == [
        1_000,
        2_000,
        4_000,
        1_024_000,
        2_048_000,
        3_600_000,
        3_600_000,
    ]


def test_the_back_off_stops_doubling(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(retry_base_ms=1, retry_cap_ms=2**62)
    jobs.put(max_attempts=40)
    for attempt in range(1, 24):
        claim = jobs.run()
        jobs.ack(claim, Outcome.RETRY)
        assert jobs.job().attempt == attempt
        wait_ms = jobs.store.explain_admission(job_id="x").blocker.eta_ms
        assert wait_ms == 2 ** min(attempt - 1, 20)
        jobs.later(wait_ms).promote()


@pytest.mark.parametrize(("delay_ms", "wait_ms"), [(None, 1_000), (0, 1_000), (-5, 1_000), (1, 1), (10**10, 10**10)])
def test_a_given_delay_is_taken_as_it_is(jobs: Driver, delay_ms: int | None, wait_ms: int) -> None:
    jobs.put()
    jobs.finish(outcome=Outcome.RETRY, delay_ms=delay_ms)
    assert jobs.job().scheduled_at_ms == T0 + wait_ms


def test_a_delay_beyond_all_time_saturates(jobs: Driver) -> None:
    jobs.put()
    jobs.finish(outcome=Outcome.SNOOZE, delay_ms=2**63 - 1)
    assert jobs.job().scheduled_at_ms == 2**63 - 1


# --- history


@pytest.mark.parametrize(
    ("outcome", "error", "logs", "expected"),
    [
        (Outcome.SUCCESS, "ignored", (), None),
        (Outcome.SUCCESS, "ignored", ("a", "b"), (0, None)),
        (Outcome.RETRY, None, (), (1, "")),
        (Outcome.RETRY, "boom", ("a",), (1, "boom")),
        (Outcome.SKIP, None, (), None),
        (Outcome.SKIP, "", (), (0, "")),
        (Outcome.SKIP, None, ("a",), (0, None)),
        (Outcome.UNDECODABLE, None, (), None),
        (Outcome.UNDECODABLE, "why", (), (0, "why")),
        (Outcome.SNOOZE, "e", ("a",), None),
        (Outcome.RATE_LIMITED, "e", ("a",), None),
    ],
)
def test_what_an_outcome_leaves_in_the_history(
    jobs: Driver, outcome: Outcome, error: str | None, logs: tuple[str, ...], expected: tuple[int, str | None] | None
) -> None:
    jobs.put()
    jobs.later(3).finish(outcome=outcome, error=error, logs=list(logs), delay_ms=1)
    entries = () if expected is None else (HistoryEntry(T0 + 3, outcome, expected[0], expected[1], logs),)
    assert jobs.job().history == entries


def test_the_newest_fifty_entries_are_kept(jobs: Driver) -> None:
    jobs.put(max_attempts=100)
    for number in range(1, 53):
        jobs.finish(outcome=Outcome.RETRY, delay_ms=1, error=str(number))
        jobs.later(1).promote()
    history = jobs.job().history
    assert [entry.error for entry in history] == [str(number) for number in range(3, 53)]
    assert [entry.attempt for entry in history] == list(range(3, 53))
    assert jobs.store.errors("x") == list(history)


def test_completions_are_counted_by_the_minute(jobs: Driver) -> None:
    jobs.at(60_000)
    jobs.put_all(*(envelope(job_id) for job_id in "abcde"), envelope("f", retention_ms=0))
    claims = jobs.admit()
    outcomes = [Outcome.SUCCESS, Outcome.SKIP, Outcome.REVOKE, Outcome.RETRY, Outcome.UNDECODABLE, Outcome.SUCCESS]
    for claim, outcome in zip(claims, outcomes, strict=True):
        jobs.ack(claim, outcome)
    assert (jobs.stats().arrived_last_minute, jobs.stats().completed_last_minute) == (0, 0)
    jobs.at(119_999)
    assert jobs.stats().completed_last_minute == 0
    jobs.at(120_000)
    assert (jobs.stats().arrived_last_minute, jobs.stats().completed_last_minute) == (6, 2)
    jobs.put("a")
    jobs.put("g")
    assert (jobs.stats().arrived_last_minute, jobs.stats().completed_last_minute) == (6, 2)
    jobs.at(180_000)
    assert (jobs.stats().arrived_last_minute, jobs.stats().completed_last_minute) == (1, 0)


# --- renew


def test_renewing_moves_the_end_of_the_lease_alone(jobs: Driver) -> None:
    jobs.put()
    claim = jobs.run()
    before = jobs.job()
    assert jobs.later(5).renew(claim, lease_ms=100_000) == []
    assert jobs.job() == evolve(before, lease_expires_at_ms=T0 + 100_005)
    assert jobs.renew(claim, lease_ms=1) == []
    assert jobs.job() == evolve(before, lease_expires_at_ms=T0 + 6)


def test_lost_leases_are_named_in_order_and_stop_nobody(jobs: Driver) -> None:
    jobs.put_all(*(envelope(job_id) for job_id in "abc"))
    a, b, c = jobs.admit(lease_ms=5)
    jobs.ack(c, Outcome.SUCCESS)
    jobs.ack(a, Outcome.SUCCESS)
    assert jobs.renew(c, b, a, c, lease_ms=50) == ["c", "a", "c"]
    assert jobs.job("b").lease_expires_at_ms == T0 + 50
    assert jobs.renew() == []


@pytest.mark.parametrize("lease_ms", [0, -1])
def test_a_renewal_lasts_a_millisecond_at_least(jobs: Driver, lease_ms: int) -> None:
    jobs.put()
    claim = jobs.run()
    assert jobs.unchanged_by(jobs.renew, claim, lease_ms=lease_ms) == invalid("bad_lease")
    assert jobs.unchanged_by(jobs.renew, lease_ms=lease_ms) == invalid("bad_lease")


# --- checkpoint


def test_a_checkpoint_goes_to_the_next_run(jobs: Driver) -> None:
    jobs.put()
    claim = jobs.run()
    assert claim.checkpoint == NOTHING_DONE
    assert jobs.store.get_checkpoint(job_id="x") == NOTHING_DONE
    left = evolve(
        NOTHING_DONE,
        last_completed_step="b",
        completed_steps=("a", "b"),
        in_progress_step="c",
        cursor_step="c",
        cursor=b"\x00",
        schema_version=3,
        step_set_hash="hash",
        crashes_by_step=(("c", 2),),
    )
    before = jobs.job()
    jobs.store.checkpoint(lease=ref(claim), checkpoint=left)
    assert (jobs.job(), jobs.store.get_checkpoint(job_id="x")) == (before, left)
    jobs.store.checkpoint(lease=ref(claim), checkpoint=evolve(NOTHING_DONE, completed_steps=("d",)))
    jobs.ack(claim, Outcome.RETRY, delay_ms=1)
    jobs.later(1).promote()
    # Replaced whole; the crashes are the writer's to carry on.
    assert jobs.run().checkpoint == evolve(NOTHING_DONE, completed_steps=("d",))
    assert jobs.store.get_checkpoint(job_id="unknown") is None


# --- result, output, progress


def with_result(jobs: Driver, lease: LeaseRef, result: JobResult, **options: Any) -> None:
    jobs.store.ack_success_with_result(lease=lease, result=result, **{"logs": [], "actual_weight": None, **options})


def test_a_result_comes_with_success(jobs: Driver) -> None:
    jobs.put()
    claim = jobs.run()
    assert jobs.store.get_job_result(job_id="x") is None
    with_result(jobs.later(2), ref(claim), JobResult(3, b""), logs=["done"])
    assert (jobs.state(), jobs.job().finalized_at_ms) == (State.COMPLETED, T0 + 2)
    assert jobs.job().history == (HistoryEntry(T0 + 2, Outcome.SUCCESS, 0, None, ("done",)),)
    assert jobs.store.get_job_result(job_id="x") == JobResult(3, b"")
    jobs.later(10**9).evict()
    assert jobs.store.get_job_result(job_id="x") is None


def test_a_result_goes_with_its_row(jobs: Driver) -> None:
    jobs.put(retention_ms=0, rate_class="c", weight=2, unique_key=b"K")
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1, burst=2)
    with_result(jobs, ref(jobs.run()), JobResult(1, b"r"), actual_weight=0)
    assert (jobs.state(), jobs.store.get_job_result(job_id="x"), jobs.tokens()) == (None, None, 2)
    jobs.put("next", unique_key=b"K")


def test_plain_success_stores_no_result(jobs: Driver) -> None:
    jobs.put()
    jobs.finish()
    assert jobs.store.get_job_result(job_id="x") is None


CONTENT_MAX = 33_554_432


@pytest.mark.parametrize(
    ("version", "size", "reason"),
    [
        (0, CONTENT_MAX + 1, "schema_zero"),
        (2_147_483_648, CONTENT_MAX + 1, "schema_too_large"),
        (1, CONTENT_MAX + 1, "too_large"),
    ],
)
@pytest.mark.parametrize("stale", [True, False])
def test_content_is_looked_at_before_identity(jobs: Driver, version: int, size: int, reason: str, stale: bool) -> None:
    jobs.put()
    lease = evolve(ref(jobs.run()), fence=9 if stale else 1)
    written = JobResult(version, bytes(size))
    assert jobs.unchanged_by(with_result, jobs, lease, written) == invalid(reason)
    assert jobs.unchanged_by(jobs.store.write_job_output, lease=lease, output=written) == invalid(reason)


def test_the_largest_content(jobs: Driver) -> None:
    jobs.put()
    lease = ref(jobs.run())
    largest = JobResult(2_147_483_647, bytes(CONTENT_MAX))
    jobs.store.write_job_output(lease=lease, output=largest)
    with_result(jobs, lease, largest)
    assert jobs.store.get_job_result(job_id="x") == largest


@pytest.mark.parametrize(
    ("progress", "reason"),
    [
        (ProgressUpdate(1, 0, None), "progress_zero_total"),
        (ProgressUpdate(-2, -1, None), "progress_zero_total"),
        (ProgressUpdate(2**53 + 1, 2**53, None), "progress_over_total"),
        (ProgressUpdate(3, 2, "m" * 513), "progress_over_total"),
        (ProgressUpdate(0, 2**53, "m" * 513), "progress_total_too_large"),
        (ProgressUpdate(0, 1, "m" * 512 + "\0"), "progress_message_too_long"),
        (ProgressUpdate(0, 1, "é" * 257), "progress_message_too_long"),
        (ProgressUpdate(0, 1, "\0"), "progress_message_nul"),
        (ProgressUpdate(-1, 1, None), "out_of_range"),
    ],
)
@pytest.mark.parametrize("fence", [1, 9])
def test_progress_is_looked_at_before_identity(jobs: Driver, progress: ProgressUpdate, reason: str, fence: int) -> None:
    jobs.put()
    lease = evolve(ref(jobs.run()), fence=fence)
    assert jobs.unchanged_by(jobs.store.write_job_progress, lease=lease, progress=progress) == invalid(reason)


def test_output_and_progress_carry_the_fence_of_their_writer(jobs: Driver) -> None:
    store = jobs.store
    jobs.put()
    assert (store.get_job_output(job_id="x"), store.get_job_progress(job_id="x")) == (None, None)
    first = ref(jobs.run())
    before = jobs.job()
    assert store.write_job_output(lease=first, output=JobResult(2, b"p")) == JobOutput(2, b"p", 1, T0)
    assert store.write_job_progress(lease=first, progress=ProgressUpdate(5, 5, "")) == JobProgress(5, 5, "", 1, T0)
    down = jobs.later(1).store.write_job_progress(lease=first, progress=ProgressUpdate(2, 5, None))
    assert down == JobProgress(2, 5, None, 1, T0 + 1)
    assert jobs.job() == before
    jobs.ack(first, Outcome.RETRY, delay_ms=1)
    jobs.later(1).promote()
    second = ref(jobs.run())
    assert store.get_job_output(job_id="x") == JobOutput(2, b"p", 1, T0)
    assert store.get_job_progress(job_id="x") == down
    assert store.write_job_output(lease=second, output=JobResult(1, b"q")) == JobOutput(1, b"q", 2, T0 + 2)
    with_result(jobs, second, JobResult(3, b"r"))
    assert store.get_job_output(job_id="x") == JobOutput(1, b"q", 2, T0 + 2)
    assert store.get_job_progress(job_id="x") == down


@pytest.mark.parametrize("progress", [ProgressUpdate(0, 1, "é" * 256), ProgressUpdate(2**53 - 1, 2**53 - 1, None)])
def test_the_most_progress(jobs: Driver, progress: ProgressUpdate) -> None:
    jobs.put()
    jobs.store.write_job_progress(lease=ref(jobs.run()), progress=progress)
    assert jobs.store.get_job_progress(job_id="x").current == progress.current


@pytest.mark.parametrize("outcome", [*ACKED, None])
def test_what_was_written_survives_every_end_that_leaves_the_row(jobs: Driver, outcome: Outcome | None) -> None:
    store = jobs.store
    jobs.put()
    claim = jobs.run(lease_ms=1)
    left = evolve(NOTHING_DONE, completed_steps=("a",))
    store.checkpoint(lease=ref(claim), checkpoint=left)
    output = store.write_job_output(lease=ref(claim), output=JobResult(1, b"o"))
    progress = store.write_job_progress(lease=ref(claim), progress=ProgressUpdate(1, 2, "m"))
    if outcome is None:
        jobs.later(1).reclaim()
    else:
        jobs.ack(claim, outcome, delay_ms=1)
    found = (store.get_checkpoint(job_id="x"), store.get_job_output(job_id="x"), store.get_job_progress(job_id="x"))
    assert found == ((None, None, None) if outcome == Outcome.REVOKE else (left, output, progress))
