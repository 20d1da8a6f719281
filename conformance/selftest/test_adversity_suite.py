"""The suite as a whole: its parts, what they count, and what a backend lacks for them."""

from __future__ import annotations

import pytest

from workcert.adversity import run_adversity
from workcert.adversity.crashes.sweep import wanted
from workcert.adversity.part import SUITE, Part
from workcert.adversity.steps import requirements_of
from workcert.backends.registry import find
from workcert.binding import bindings
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Emit, Event, ExamplesRun, SuiteEnded, SuiteStarted, Verdict
from workcert.run.store import StoreUnderTest

from .report_samples import specification


def counting(*counts: tuple[int, int]) -> Part:
    def run(_store: StoreUnderTest, _options: Options, emit: Emit) -> None:
        for done, steps in counts:
            emit(ExamplesRun("its own", done, steps))

    return Part("counting", frozenset(), run)


def test_what_the_parts_try_adds_up_and_what_cannot_be_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Part("lacking", frozenset({"kill"}), counting((9, 9)).run)
    parts = (counting((1, 10), (2, 20)), lacking, counting((3, 5)))
    monkeypatch.setattr("workcert.adversity.suite.PARTS", parts)
    events: list[Event] = []
    with StoreUnderTest.of(specification()) as store:
        run_adversity(store, Options(), events.append)
    assert [event for event in events if isinstance(event, ExamplesRun)] == [
        ExamplesRun(SUITE, 1, 10),
        ExamplesRun(SUITE, 2, 20),
        ExamplesRun(SUITE, 5, 25),
    ]
    (skipped,) = (event for event in events if isinstance(event, CaseEnded))
    assert (skipped.name, skipped.verdict) == ("lacking", Verdict.SKIPPED)
    assert skipped.reason == "the backend has not the ability kill"
    assert (type(events[0]), type(events[-1])) == (SuiteStarted, SuiteEnded)


@pytest.mark.parametrize(
    ("contract", "operation", "shown"),
    [("jobs", "ack", {"JOB-ACK-05", "JOB-ACK-06", "JOB-ACK-12"}), ("workload", "claim", {"WRK-CLM-06"})],
)
def test_an_operation_is_asked_for_by_what_its_outcomes_come_to(contract: str, operation: str, shown: set[str]) -> None:
    binding = bindings()[contract]
    assert shown <= requirements_of(binding, operation)
    assert not requirements_of(binding, "open")


@pytest.mark.parametrize(("only", "operations"), [("JOB-ACK-06", {"ack"}), ("JOB-PAU-01", {"pause_queue"})])
def test_a_crash_sweep_is_narrowed_to_the_operations_that_are_asked_for(only: str, operations: set[str]) -> None:
    (jobs,) = (each for each in find("workstore.backends:SQLITE") if each.binding.name == "jobs")
    with StoreUnderTest.of(jobs) as store:
        found = {target.operation for target in wanted(store, Options(only=(only,)))}
    assert operations <= found
    assert "enqueue" not in found
