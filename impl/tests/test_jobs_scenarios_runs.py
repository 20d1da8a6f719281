"""Leases, crashes, outcomes, retention and what a run writes: S-27 to S-37, on either store."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import Checkpoint, JobResult, LeaseRef, Outcome, ProgressUpdate, State

from .jobs_driver import (
    DAY_MS,
    NOTHING_DONE,
    T0,
    Driver,
    OpenJobs,
    duplicate,
    invalid,
    lease_rejected,
    rate,
    ref,
    refusal,
    wrong_state,
)

KEY = b"K"


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs()


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


def test_a_released_row_whose_key_was_taken_stays(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(crash_limit=1)
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


def test_the_sweep_takes_the_earliest_of_all_fingerprints(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(crash_limit=1)
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


def test_s31_the_empty_fingerprint_is_never_quarantined(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(crash_limit=1)
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


def test_the_default_delay_grows_to_its_cap(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(retry_base_ms=1_000, retry_cap_ms=5_000)
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


def test_s35_retention(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(crash_limit=1)
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
