"""`once` and `step_once` with an effect that has only been set up when it returns: a coroutine, a generator."""

from __future__ import annotations

import functools
import gc
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workspec.jobs.ports import Transaction
from workspec.jobs.vocabulary import Claim, Outcome, State
from workstore.memory.jobs import JobStore as MemoryStore
from workstore.sqlite.jobs import JobStore as SqliteStore
from workstore.testing import envelope, perform_job
from workstore.transactions import Once, Steps, once, step_once

from .jobs_driver import Driver


@pytest.fixture(params=["memory", "sqlite"])
def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    store = MemoryStore() if request.param == "memory" else SqliteStore.open(tmp_path / "jobs.db")
    with store:
        yield Driver(store)


def ships(jobs: Driver) -> None:
    jobs.store.enqueue(envelopes=[envelope("never", "parcel")])


class Effects:
    """Each would enqueue, if it were ever run."""

    def __init__(self, jobs: Driver) -> None:
        self._jobs = jobs

    async def coroutine(self, _: Transaction) -> None:
        ships(self._jobs)

    def generator(self, _: Transaction) -> Iterator[None]:
        ships(self._jobs)
        yield

    async def asynchronous_generator(self, _: Transaction) -> AsyncIterator[None]:
        ships(self._jobs)
        yield

    def answers_with_a_coroutine(self, transaction: Transaction) -> Any:
        return functools.partial(self.coroutine)(transaction)

    def answers_with_an_awaitable(self, _: Transaction) -> Any:
        class Later:
            def __await__(self) -> Iterator[None]:
                yield

        return Later()


KINDS = [
    ("coroutine", "async def"),
    ("generator", "yield"),
    ("asynchronous_generator", "yields"),
    ("answers_with_a_coroutine", "awaited"),
    ("answers_with_an_awaitable", "awaited"),
]


def refused(act: Callable[[], object], *words: str) -> None:
    """It is a TypeError that says these words, and nothing is left behind that warns when it is collected."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(TypeError) as caught:
            act()
        text = str(caught.value)
        del caught
        gc.collect()
    assert [str(each.message) for each in said if "never awaited" in str(each.message)] == []
    for word in (*words, "has not happened", "plain function"):
        assert word in text


@pytest.mark.parametrize(("kind", "word"), KINDS)
def test_once_refuses_it_and_the_job_still_runs(jobs: Driver, kind: str, word: str) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    refused(lambda: once(jobs.store, claim, getattr(Effects(jobs), kind)), word, "job x")
    assert (jobs.state("x"), jobs.state("never")) == (State.RUNNING, None)
    assert once(jobs.store, claim, lambda _: None) is Once.COMPLETED, "its key was kept"


@pytest.mark.parametrize(("kind", "word"), KINDS)
def test_step_once_refuses_it_and_the_step_is_not_completed(jobs: Driver, kind: str, word: str) -> None:
    jobs.put("x")
    claim = jobs.run("x")
    refused(lambda: step_once(Steps(jobs.store, claim), "pay", getattr(Effects(jobs), kind)), word, "'pay' of job x")
    stored = jobs.store.get_checkpoint(job_id="x")
    assert (stored.completed_steps, stored.in_progress_step, jobs.state("never")) == ((), "pay", None)
    jobs.ack(claim, Outcome.RETRY, delay_ms=1)
    jobs.later(1).promote()
    assert step_once(Steps(jobs.store, jobs.run("x")), "pay", lambda _: None) is True


def test_an_effect_may_answer_anything_else(jobs: Driver) -> None:
    jobs.put("x")
    assert once(jobs.store, jobs.run("x"), lambda _: [1, 2]) is Once.COMPLETED


def test_a_handler_with_such_an_effect_is_a_retry_that_says_why(jobs: Driver) -> None:
    jobs.put("x")

    def handler(claim: Claim) -> Once:
        return once(jobs.store, claim, Effects(jobs).coroutine)

    assert perform_job(jobs.store, handler) == ("x", "w", Outcome.RETRY)
    assert "async def" in jobs.job("x").history[-1].error
