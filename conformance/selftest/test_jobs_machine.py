"""The machine of the jobs contract: it accuses no store that is right, drives one that claims little, and makes steps
that a case file can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import frozen
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import run_state_machine_as_test

from workcert.backends import specification
from workcert.backends.protocol import Place
from workcert.backends.registry import LoadedBackend, describe, find
from workcert.binding import bindings
from workcert.cases import parse, write
from workcert.cases.model import Call, Case, Header, Plain, Transaction
from workcert.machines.jobs import JobsMachine
from workcert.run import stateful
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Event, StepJudged, Verdict
from workcert.run.stateful import run_stateful
from workcert.run.store import StoreUnderTest
from workspec.jobs.vocabulary import Outcome

JOBS = bindings()["jobs"]
EXAMPLES = 12
HEADER = Header("jobs", "jobs/example", "an example", abilities=("restart", "second_handle"), handles=("A", "B"))
CORE_METHODS = {
    "enqueue",
    "admit",
    "ack",
    "renew",
    "checkpoint",
    "promote_due",
    "reclaim_expired",
    "evict_retained",
    "claim_duty",
}
"""Those that a few examples are sure to reach."""


@frozen
class _Least:
    """Of a handle only what CORE needs, and the clock, which the kit moves."""

    handle: Any

    def __getattr__(self, name: str) -> Any:
        if name not in {*CORE_METHODS, "enqueue_without_uniqueness", "release_duty", "freeze_clock"}:
            raise AttributeError(name)
        return getattr(self.handle, name)


class _CoreAlone:
    contract = "jobs"
    profiles = frozenset({"CORE"})

    def __init__(self) -> None:
        self.whole = specification.of(JOBS)

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return _Least(self.whole.open(place, config))


class _Costly(_Least):
    """A snooze costs an attempt."""

    def ack(self, **arguments: Any) -> None:
        if arguments["outcome"] is Outcome.SNOOZE and (arguments["delay_ms"] or 0) > 0:
            arguments["outcome"] = Outcome.RETRY
        self.handle.ack(**arguments)


class _CostlySnooze(_CoreAlone):
    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return _Costly(self.whole.open(place, config))


def _driven(backend: LoadedBackend, examples: int = EXAMPLES) -> tuple[list[CaseEnded], Counter[str]]:
    ended: list[CaseEnded] = []
    calls: Counter[str] = Counter()

    def note(event: Event) -> None:
        if isinstance(event, CaseEnded) and event.case is not None:
            ended.append(event)
        elif isinstance(event, StepJudged):
            calls[event.run.call] += 1

    with StoreUnderTest.of(backend) as store:
        run_stateful(store, Options(examples=examples, seed=1), note)
    return ended, calls


def _of_jobs(name: str) -> LoadedBackend:
    return next(backend for backend in find(name) if backend.binding is JOBS)


@pytest.mark.parametrize("name", ["workstore.backends:MEMORY", "workcert.backends.specification:SPECIFICATION"])
def test_a_store_that_is_right_is_not_accused(name: str) -> None:
    ended, calls = _driven(_of_jobs(name))
    assert ended == []
    assert len(calls) > 20


def test_a_store_of_the_core_alone_is_driven_and_not_accused() -> None:
    ended, calls = _driven(describe("core", _CoreAlone()))
    assert ended == []
    assert calls.keys() >= CORE_METHODS


def test_a_fault_that_only_later_answers_show_is_found_without_reading_rows() -> None:
    ended, _ = _driven(describe("costly snooze", _CostlySnooze()), examples=40)
    assert ended


def test_the_steps_of_an_example_can_be_written_and_time_does_not_run_back(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[Plain]] = []
    monkeypatch.setattr(JobsMachine, "teardown", lambda machine: made.append(machine.made))
    _driven(_of_jobs("workcert.backends.specification:SPECIFICATION"))
    assert any(isinstance(step, Transaction) for steps in made for step in steps)
    for steps in made:
        instants = [step.at or 0 for step in steps if isinstance(step, Call | Transaction)]
        assert instants == sorted(instants)
        case = Case(
            Header("jobs", "jobs/example", "an example", abilities=_ABILITIES, handles=("A", "B")), tuple(steps)
        )
        case = Case(HEADER, tuple(steps))
        assert parse(write(case)) == case


_ABILITIES = ("restart", "second_handle")


def test_a_store_that_answers_otherwise_each_time_is_driven_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep may take any of what is due, another each time: Hypothesis gives up where an example cannot be made
    again, and the suite goes on with shorter engines."""
    sizes: list[int] = []

    def giving_up_once(machine: Any, settings: Any) -> None:
        sizes.append(settings.max_examples)
        run_state_machine_as_test(machine, settings=settings)
        if len(sizes) == 1:
            raise FlakyStrategyDefinition("went on otherwise")

    monkeypatch.setattr(stateful, "run_state_machine_as_test", giving_up_once)
    (backend,) = (each for each in find("memory") if each.binding is JOBS)
    events: list[Event] = []
    with StoreUnderTest.of(backend) as store:
        campaign = run_stateful(store, Options(examples=stateful.BATCH + 3), events.append)
    assert sizes[0] == stateful.BATCH
    assert set(sizes[1:]) <= {stateful.BATCH_OF_CHANGEABLE, 1}
    assert campaign.examples >= stateful.BATCH + 3
    assert [event.verdict for event in events if isinstance(event, CaseEnded)] == [Verdict.PASSED]
