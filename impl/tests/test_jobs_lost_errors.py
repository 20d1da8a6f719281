"""`workstore.testing`: what a handler raises when its job can be acked no more is said, since no history has it."""

from __future__ import annotations

import warnings

import pytest

from workspec.jobs.vocabulary import Claim, Outcome, State
from workstore.testing import LostErrorWarning, Report, envelope, fresh_store, perform_job
from workstore.transactions import Once, once

from .jobs_driver import DAY_MS, Driver


@pytest.fixture
def jobs() -> Driver:
    jobs = Driver(fresh_store())
    jobs.store.enqueue(envelopes=[envelope("x", "mail", retention_ms=DAY_MS)])
    return jobs


def test_an_error_after_once_is_said(jobs: Driver) -> None:
    def handler(claim: Claim) -> Once:
        once(jobs.store, claim, lambda _: None)
        raise ValueError("no such template")

    with pytest.warns(LostErrorWarning, match=r"job x ended in retry \(no such template\).*as with once") as said:
        performed = perform_job(jobs.store, handler)
    assert performed == ("x", "mail", Outcome.LEASE_LOST)
    assert jobs.state("x") == State.COMPLETED
    assert said[0].filename == __file__, "it names the line of the test"


def test_an_error_after_the_job_was_taken_away_is_said(jobs: Driver) -> None:
    def handler(_: Claim) -> Report:
        jobs.store.operator_cancel(job_id="x")
        return Report(Outcome.SKIP, error="not wanted")

    with pytest.warns(LostErrorWarning, match=r"ended in skip \(not wanted\)"):
        assert perform_job(jobs.store, handler) == ("x", "mail", Outcome.LEASE_LOST)


def test_what_is_kept_or_says_nothing_is_not_warned_of(jobs: Driver) -> None:
    def cancelled(_: Claim) -> Outcome:
        jobs.store.operator_cancel(job_id="x")
        return Outcome.SUCCESS

    def fails(_: Claim) -> Outcome:
        raise ValueError("no")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jobs.store.enqueue(envelopes=[envelope("y", "mail")])
        assert perform_job(jobs.store, cancelled) == ("x", "mail", Outcome.LEASE_LOST)
        assert perform_job(jobs.store, fails) == ("y", "mail", Outcome.RETRY)
    assert jobs.job("y").history[-1].error == "no"
