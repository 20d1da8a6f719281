"""What only the rows of the SQLite store show: the cursor of a queue, the charge of a job."""

from __future__ import annotations

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import Outcome

from .jobs_driver import (
    T0,
    Driver,
    OpenJobs,
    invalid,
    lease_rejected,
    rate,
    ref,
)


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs()


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
