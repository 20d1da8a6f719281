"""Sweeps, quarantine, duties and the clock (sections 8.3 to 8.7, 11.1)."""

from __future__ import annotations

import time

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import HistoryEntry, Outcome, Reclaimed, State

from .jobs_driver import (
    DAY_MS,
    NOTHING_DONE,
    T0,
    Driver,
    OpenJobs,
    duplicate,
    envelope,
    invalid,
    lease_rejected,
    ref,
    refusal,
)


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs()


@pytest.fixture
def fragile(open_jobs: OpenJobs) -> Driver:
    """A store that quarantines at the first crash."""
    return open_jobs(crash_limit=1)


# --- reclaim


def test_a_lease_that_ends_now_has_ended(jobs: Driver) -> None:
    jobs.put(scheduled_at_ms=T0 - 1)
    claim = jobs.run()
    before = jobs.store.snapshot()
    assert jobs.at(T0 + 29_999).reclaim() == []
    assert jobs.store.snapshot() == before
    assert jobs.at(T0 + 30_000).reclaim() == [Reclaimed("x", "fp-x", 1, False)]
    job = jobs.job()
    assert (job.state, job.scheduled_at_ms, job.attempt, job.crash_attempt) == (State.RETRYABLE, T0 + 31_000, 0, 1)
    assert (job.orphaned, job.claimed_at_ms, job.finalized_at_ms) == (True, None, None)
    assert job.history == (HistoryEntry(T0 + 30_000, Outcome.LEASE_LOST, 1, None, ()),)
    assert jobs.renew(claim) == ["x"]
    assert refusal(jobs.ack, claim, Outcome.SUCCESS) == lease_rejected("x")
    assert jobs.reclaim() == []


def test_who_is_not_swept_goes_on(jobs: Driver) -> None:
    jobs.put()
    claim = jobs.run()
    assert jobs.at(T0 + 30_000).renew(claim) == []
    assert jobs.job().lease_expires_at_ms == T0 + 60_000
    jobs.at(T0 + 70_000).ack(claim, Outcome.SUCCESS)
    assert jobs.state() == State.COMPLETED


def test_crashes_and_retries_are_counted_apart(jobs: Driver) -> None:
    jobs.put(fingerprint="F")
    jobs.put("sib", fingerprint="F", queue="p")
    seen = []
    for crash in (True, False, True, False, True):
        claim = jobs.run(lease_ms=1_000)
        if crash:
            jobs.later(1_000).reclaim()
        else:
            jobs.ack(claim, Outcome.RETRY)
        job = jobs.job()
        wait_ms = jobs.store.explain_admission(job_id="x").blocker.eta_ms
        seen.append((job.state.value, job.attempt, job.crash_attempt, wait_ms))
        jobs.later(10_000).promote()
    assert seen == [
        ("retryable", 0, 1, 1_000),
        ("retryable", 1, 1, 1_000),
        ("retryable", 1, 2, 2_000),
        ("retryable", 2, 2, 2_000),
        ("quarantined", 2, 3, None),
    ]
    assert claim.fence == 5
    assert jobs.admitted(queues=("p",)) == []
    assert jobs.state("sib") == State.AVAILABLE
    assert jobs.unchanged_by(jobs.put, "new", fingerprint="F") == ("Quarantined", {"fingerprint": "F"})
    jobs.put("sib", fingerprint="F", queue="p")
    # Release and quarantine again (S-30).
    assert jobs.store.sweep_quarantined(limit=10) == 1
    assert jobs.state("sib") == State.QUARANTINED
    assert jobs.store.release_fingerprint(fingerprint="F") == 2
    for job_id, crashes in (("x", 3), ("sib", 0)):
        job = jobs.job(job_id)
        assert (job.state, job.crash_attempt, job.finalized_at_ms) == (State.AVAILABLE, crashes, None)
        assert job.scheduled_at_ms == jobs.job("sib").scheduled_at_ms
    jobs.put("new", fingerprint="F", queue="elsewhere")
    assert sorted(jobs.admitted(queues=("q", "p"), lease_ms=1_000)) == ["sib", "x"]
    assert sorted(jobs.later(1_000).reclaim(), key=lambda lost: lost.job_id) == [
        Reclaimed("sib", "F", 1, False),
        Reclaimed("x", "F", 4, True),
    ]
    assert jobs.state("sib") == State.RETRYABLE
    assert refusal(jobs.put, "newer", fingerprint="F")[0] == "Quarantined"


def test_a_quarantined_row_keeps_its_due_time(fragile: Driver) -> None:
    fragile.put(max_attempts=1, scheduled_at_ms=T0 - 3)
    fragile.lose("x")
    job = fragile.job()
    assert (job.state, job.finalized_at_ms, job.scheduled_at_ms, job.attempt) == (
        State.QUARANTINED,
        T0 + 1_000,
        T0 - 3,
        0,
    )
    assert fragile.stats().unfinished_jobs == 0


def test_max_attempts_plays_no_part_in_crashes(jobs: Driver) -> None:
    jobs.put(max_attempts=1)
    jobs.lose("x")
    jobs.later(10_000).promote()
    jobs.lose("x")
    assert (jobs.state(), jobs.job().crash_attempt) == (State.RETRYABLE, 2)


def test_crashes_of_the_step_in_progress(jobs: Driver) -> None:
    jobs.put()
    left = evolve(NOTHING_DONE, completed_steps=("download",), in_progress_step="transcode", cursor=b"42")
    jobs.store.checkpoint(lease=ref(jobs.run(lease_ms=1)), checkpoint=left)
    jobs.later(1).reclaim()
    jobs.later(10_000).promote()
    claim = jobs.run(lease_ms=1)
    assert claim.checkpoint == evolve(left, crashes_by_step=(("transcode", 1),))
    jobs.later(1).reclaim()
    assert jobs.store.get_checkpoint(job_id="x") == evolve(left, crashes_by_step=(("transcode", 2),))


def test_crashes_of_other_steps_stay(jobs: Driver) -> None:
    jobs.put_all(envelope("a"), envelope("b"))
    a, b = jobs.admit(lease_ms=1)
    idle = evolve(NOTHING_DONE, crashes_by_step=(("s", 1), ("t", 2)))
    jobs.store.checkpoint(lease=ref(a), checkpoint=idle)
    jobs.store.checkpoint(lease=ref(b), checkpoint=evolve(idle, in_progress_step="s"))
    jobs.later(1).reclaim()
    assert jobs.store.get_checkpoint(job_id="a") == idle
    assert jobs.store.get_checkpoint(job_id="b").crashes_by_step == (("s", 2), ("t", 2))


def test_the_order_of_reclaiming(jobs: Driver) -> None:
    jobs.put_all(*(envelope(job_id) for job_id in "abcd"))
    a, b, c, _ = jobs.admit(lease_ms=50)
    jobs.renew(a, lease_ms=80)
    jobs.renew(b, c, lease_ms=60)
    jobs.later(80)
    assert (jobs.reclaim(0), jobs.reclaim(-1)) == ([], [])
    assert [lost.job_id for lost in jobs.reclaim(3)] == ["d", "b", "c"]
    assert [lost.job_id for lost in jobs.reclaim(3)] == ["a"]


def test_the_empty_fingerprint_is_never_registered(fragile: Driver) -> None:
    fragile.put(fingerprint="")
    fragile.lose("x")
    assert fragile.state() == State.QUARANTINED
    assert fragile.store.list_quarantined() == []
    fragile.put("next", fingerprint="")
    assert fragile.admitted() == ["next"]


# --- quarantine


def test_while_a_fingerprint_is_registered(fragile: Driver) -> None:
    names = ("running", "crasher", "scheduled", "pending")
    fragile.put_all(
        *(envelope(name, fingerprint="F", pending=name == "pending") for name in names if name != "scheduled"),
        envelope("scheduled", fingerprint="F", scheduled_at_ms=T0 + 10),
    )
    running = next(claim for claim in fragile.admit() if claim.envelope.id == "running")
    fragile.renew(running, lease_ms=DAY_MS)
    fragile.at(T0 + 30_000).reclaim()
    assert fragile.promote() == 1
    assert fragile.state("scheduled") == State.AVAILABLE
    assert fragile.admitted() == []
    before = fragile.job("scheduled")
    assert fragile.store.sweep_quarantined(limit=0) == 0
    assert fragile.store.sweep_quarantined(limit=-1) == 0
    # By due time, then id: pending is due at T0.
    assert fragile.store.sweep_quarantined(limit=1) == 1
    assert (fragile.state("pending"), fragile.state("scheduled")) == (State.QUARANTINED, State.AVAILABLE)
    assert fragile.later(1).store.sweep_quarantined(limit=9) == 1
    assert fragile.job("scheduled") == evolve(before, state=State.QUARANTINED, finalized_at_ms=T0 + 30_001)
    assert fragile.stats().unfinished_jobs == 1
    fragile.ack(running, Outcome.SUCCESS)
    assert fragile.state("running") == State.COMPLETED


def test_the_sweep_takes_retryable_rows_and_no_others(fragile: Driver) -> None:
    fragile.put_all(envelope("a", fingerprint="F"), envelope("b", fingerprint="F"), envelope("other"))
    a, _, _ = fragile.admit(lease_ms=1)
    fragile.ack(a, Outcome.RETRY)
    fragile.later(1).reclaim()
    assert fragile.store.sweep_quarantined(limit=9) == 1
    assert [fragile.state(job_id) for job_id in ("a", "b")] == [State.QUARANTINED] * 2
    assert fragile.store.sweep_quarantined(limit=9) == 0


def test_the_register(fragile: Driver) -> None:
    fragile.put_all(envelope("a", fingerprint="F", kind="k1"), envelope("b", fingerprint="F", kind="k2"))
    fragile.put("c", fingerprint="E")
    a, b, c = fragile.admit(lease_ms=1)
    fragile.renew(b, c, lease_ms=5)
    fragile.later(1).reclaim()
    fragile.later(5).reclaim()
    entries = [(entry.fingerprint, entry.kind, entry.crash_attempt, entry.since_ms) for entry in quarantined(fragile)]
    assert entries == [("E", "w", 1, T0 + 6), ("F", "k1", 1, T0 + 1)]
    fragile.store.release_fingerprint(fingerprint="F")
    fragile.lose("a")
    [entry] = [entry for entry in quarantined(fragile) if entry.fingerprint == "F"]
    assert entry.crash_attempt == 2
    assert a.envelope.kind == entry.kind


def quarantined(jobs: Driver) -> list:
    return list(jobs.store.list_quarantined())


def test_release_of_nothing(fragile: Driver) -> None:
    unknown = ("NotFound", {"what": "fingerprint", "id": "F"})
    assert fragile.unchanged_by(fragile.store.release_fingerprint, fingerprint="F") == unknown
    fragile.put(fingerprint="F")
    assert fragile.unchanged_by(fragile.store.release_fingerprint, fingerprint="F") == unknown
    fragile.lose("x")
    fragile.store.delete_job(job_id="x")
    assert fragile.store.release_fingerprint(fingerprint="F") == 0
    fragile.put("y", fingerprint="F")


def test_release_leaves_a_row_whose_key_is_taken(fragile: Driver) -> None:
    fragile.put_all(*(envelope(job_id, fingerprint="F") for job_id in "ab"))
    fragile.put("c", fingerprint="F", unique_key=b"K")
    fragile.lose("a", "b", "c")
    fragile.put("holder", unique_key=b"K")
    assert fragile.store.release_fingerprint(fingerprint="F") == 2
    assert [fragile.state(job_id) for job_id in "abc"] == [State.AVAILABLE, State.AVAILABLE, State.QUARANTINED]
    assert quarantined(fragile) == []
    fragile.put("new", fingerprint="F")
    # It is found again, and freed once the key is free (P-09).
    assert fragile.store.release_fingerprint(fingerprint="F") == 0
    fragile.store.delete_job(job_id="holder")
    assert fragile.store.release_fingerprint(fingerprint="F") == 1
    assert refusal(fragile.put, "d", unique_key=b"K") == duplicate("c")


def test_rows_of_one_release_take_their_keys_by_id(fragile: Driver) -> None:
    for job_id in "ba":
        fragile.put(job_id, unique_key=b"K")
        fragile.lose(job_id)
        fragile.store.edit_payload(job_id=job_id, payload=b"", schema_version=1, fingerprint="F")
    assert fragile.store.release_fingerprint(fingerprint="F") == 1
    assert (fragile.state("a"), fragile.state("b")) == (State.AVAILABLE, State.QUARANTINED)


# --- promote


def test_promotion_at_the_due_time(jobs: Driver) -> None:
    jobs.put(scheduled_at_ms=T0 + 10)
    before = jobs.job()
    assert jobs.at(T0 + 9).promote() == 0
    assert jobs.at(T0 + 10).promote(0) == 0
    assert jobs.promote(-1) == 0
    assert jobs.promote() == 1
    assert jobs.job() == evolve(before, state=State.AVAILABLE)
    assert jobs.promote() == 0


def test_promotion_goes_by_due_time_then_id(jobs: Driver) -> None:
    for job_id, due_ms in [("c", T0 + 1), ("b", T0 + 2), ("a", T0 + 2), ("d", T0 + 3)]:
        jobs.put(job_id, scheduled_at_ms=due_ms)
    jobs.later(10)
    taken = []
    for _ in range(4):
        assert jobs.promote(1) == 1
        taken += jobs.admitted()
    assert taken == ["c", "a", "b", "d"]


# --- evict


def test_eviction_at_the_end_of_the_retention(jobs: Driver) -> None:
    jobs.put(retention_ms=60_000)
    jobs.finish()
    assert jobs.at(T0 + 59_999).evict() == 0
    assert jobs.at(T0 + 60_000).evict() == 1
    assert jobs.state() is None
    jobs.put(kind="v", fingerprint="other")


@pytest.mark.parametrize("ending", ["completed", "archived", "cancelled", "undecodable"])
def test_what_is_evicted(jobs: Driver, ending: str) -> None:
    jobs.put(retention_ms=5)
    if ending == "cancelled":
        jobs.store.operator_cancel(job_id="x")
    else:
        outcome = {"completed": Outcome.SUCCESS, "archived": Outcome.SKIP, "undecodable": Outcome.UNDECODABLE}[ending]
        jobs.finish(outcome=outcome)
    assert jobs.state() == ending
    assert (jobs.later(4).evict(), jobs.later(1).evict()) == (0, 1)


def test_what_is_never_evicted(fragile: Driver) -> None:
    fragile.put("quarantined", retention_ms=1)
    fragile.lose("quarantined")
    fragile.put("kept", retention_ms=0)
    fragile.finish("kept", Outcome.SKIP)
    fragile.put("pending", retention_ms=1, pending=True)
    assert fragile.later(10**9).evict() == 0


def test_retention_counts_from_the_last_end(jobs: Driver) -> None:
    jobs.put(retention_ms=10)
    jobs.later(100).finish(outcome=Outcome.SKIP)
    jobs.later(9).store.operator_retry(job_id="x")
    assert jobs.later(100).evict() == 0
    jobs.finish(outcome=Outcome.SKIP)
    assert (jobs.later(9).evict(), jobs.later(1).evict()) == (0, 1)


def test_eviction_is_bounded(jobs: Driver) -> None:
    jobs.put_all(*(envelope(job_id, retention_ms=retention) for job_id, retention in [("a", 5), ("b", 1), ("c", 9)]))
    for claim in jobs.admit():
        jobs.ack(claim, Outcome.SUCCESS)
    jobs.later(5)
    assert (jobs.evict(0), jobs.evict(-1)) == (0, 0)
    assert [jobs.evict(2), jobs.later(4).evict(2), jobs.evict(2)] == [2, 1, 0]


def test_endless_retention_is_no_past_instant(jobs: Driver) -> None:
    jobs.put(retention_ms=2**63 - 1)
    jobs.finish()
    assert jobs.evict() == 0


# --- duties


def test_duties(jobs: Driver) -> None:
    def claim(holder: str, lease_ms: int = 1_000, name: str = "d") -> bool:
        return bool(jobs.store.claim_duty(name=name, holder=holder, lease_ms=lease_ms))

    jobs.at(0)
    assert (claim("A"), claim("B"), claim("B", name="other")) == (True, False, True)
    before = jobs.store.snapshot()
    assert jobs.at(999).store.snapshot() == before
    assert not claim("B")
    assert jobs.store.snapshot() == before
    assert (jobs.at(1_000) and claim("B"), claim("A")) == (True, False)
    jobs.store.release_duty(name="d", holder="A")
    jobs.store.release_duty(name="unknown", holder="A")
    assert not claim("A")
    jobs.store.release_duty(name="d", holder="B")
    assert claim("A")
    assert (claim("A", 10), jobs.at(1_010) and claim("B")) == (True, True)
    for lease_ms in (0, -1):
        assert jobs.unchanged_by(claim, "B", lease_ms) == invalid("bad_lease")


# --- clock


def test_a_stopped_clock_stands(jobs: Driver) -> None:
    jobs.put_all(envelope("a"))
    jobs.put("b")
    assert (jobs.job("a").enqueued_at_ms, jobs.job("b").enqueued_at_ms) == (T0, T0)
    jobs.later(7)
    jobs.later(0)
    jobs.put("c")
    assert jobs.job("c").enqueued_at_ms == T0 + 7


def test_a_running_clock_is_stopped_before_it_is_stepped(jobs: Driver) -> None:
    jobs.store.unfreeze_clock()
    before = time.time_ns() // 1_000_000
    jobs.put("live")
    jobs.later(1_000_000)
    after = time.time_ns() // 1_000_000
    jobs.put("stepped")
    assert before <= jobs.job("live").enqueued_at_ms <= after
    stepped = jobs.job("stepped").enqueued_at_ms
    assert before + 1_000_000 <= stepped <= after + 1_000_000
    jobs.later(5)
    jobs.put("next")
    assert jobs.job("next").enqueued_at_ms == stepped + 5


def test_moving_the_clock_moves_no_job(jobs: Driver) -> None:
    jobs.put(retention_ms=1)
    jobs.put("y", scheduled_at_ms=T0 + 1)
    jobs.run(lease_ms=1)
    before = jobs.store.snapshot()
    assert jobs.later(10**9).store.snapshot() == before
