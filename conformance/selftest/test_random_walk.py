"""The walks: a seed repeats them on any store, a right store is not accused, wrong ones are caught and named, and what
a walk made is a case like any other."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from attrs import evolve

from workcert.backends.registry import LoadedBackend, describe, find
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases import parse, write
from workcert.cases.model import Call, Case
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import CallHung, time_limit, watched
from workcert.run.campaign import Campaign, case_of
from workcert.run.case import run_case
from workcert.run.engine import Effort, Options
from workcert.run.events import CaseEnded, Event, ExamplesRun, StepJudged, SuiteEnded, SuiteStarted, Verdict, silent
from workcert.run.execution import Execution
from workcert.run.store import StoreUnderTest
from workcert.shrink import size
from workcert.walk import run_walk
from workcert.walk.suite import LOOKS_EVERY, walk
from workspec.jobs.vocabulary import State
from workstore.backends import MemoryJobsBackend

from .miniatures import MINIATURES, STATEFUL, Miniature
from .test_jobs_machine import _CoreAlone, _CostlySnooze

CONTRACTS = tuple(bindings())
WALKS = 6
SEED = 3
MOST_STEPS = 8
FAULTS = tuple(each for each in MINIATURES if each.suite == STATEFUL)[::8]
"""Some of those that a machine finds."""
MOST_WALKS = 200


def specification(contract: str) -> LoadedBackend:
    return describe("specification", of(bindings()[contract]))


def memory(contract: str) -> LoadedBackend:
    return _found("MEMORY", contract)


def sqlite(contract: str) -> LoadedBackend:
    return _found("SQLITE", contract)


def _found(name: str, contract: str) -> LoadedBackend:
    return next(each for each in find(f"workstore.backends:{name}") if each.binding.name == contract)


def made(backend: LoadedBackend, number: int, *, seed: int = SEED) -> Case:
    """The steps of one walk, as a case."""
    kept: list[Case] = []

    class Keeping(Campaign):
        def end(self, execution: Any, steps: Any) -> None:
            super().end(execution, steps)
            failure = execution.failure
            assert failure is None, failure
            kept.append(_as_case(execution, steps))

    with StoreUnderTest.of(backend) as store:
        walk(Keeping(store, Options(effort=Effort.QUICK, seed=seed), silent, "walk"), number)
    return kept[0]


def _as_case(execution: Any, steps: Any) -> Case:
    return case_of(execution, steps, Failure(("WRK-GEN-01",), Kind.ANSWER, "none: a walk of a right store"))


def events_of(backend: LoadedBackend, walks: int, seed: int = SEED) -> list[Event]:
    events: list[Event] = []
    with StoreUnderTest.of(backend) as store:
        run_walk(store, Options(effort=Effort.QUICK, examples=walks, seed=seed), events.append)
    return events


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_walk_is_the_same_on_any_store_that_claims_the_same(contract: str) -> None:
    claims = {"profiles": memory(contract).profiles, "abilities": memory(contract).abilities}
    on_one, on_other = made(evolve(sqlite(contract), **claims), 4), made(memory(contract), 4)
    assert on_one.steps == on_other.steps
    assert on_one.steps != made(memory(contract), 5).steps
    assert on_one.steps != made(memory(contract), 4, seed=SEED + 1).steps


@pytest.mark.parametrize("contract", CONTRACTS)
def test_what_a_walk_made_is_a_case_that_replays(contract: str) -> None:
    for number in range(2):
        case = made(memory(contract), number)
        assert parse(write(case)) == case
        with StoreUnderTest.of(memory(contract)) as store:
            assert run_case(store, case).verdict is Verdict.PASSED


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("backend", [specification, memory])
def test_a_right_store_is_not_accused(contract: str, backend: Any) -> None:
    events = events_of(backend(contract), WALKS)
    ended = [event for event in events if isinstance(event, CaseEnded)]
    assert [(event.suite, event.verdict) for event in ended] == [("walk", Verdict.PASSED)]
    counted = [event for event in events if isinstance(event, ExamplesRun)][-1]
    assert (counted.suite, counted.done) == ("walk", WALKS)
    judged = [event for event in events if isinstance(event, StepJudged) and event.run.traces]
    assert len(judged) > WALKS * 20, "the evidence of a walk counts"
    assert isinstance(events[0], SuiteStarted)
    assert isinstance(events[-1], SuiteEnded)


def test_a_store_that_has_little_is_walked_with_what_it_has() -> None:
    backend = describe("core", _CoreAlone())
    events = events_of(backend, WALKS)
    assert [event.verdict for event in events if isinstance(event, CaseEnded)] == [Verdict.PASSED]
    assert sum(isinstance(event, StepJudged) for event in events) > WALKS * 20


@pytest.mark.parametrize("miniature", FAULTS, ids=lambda each: each.name)
def test_a_wrong_store_is_caught_named_and_shown_by_a_short_case(miniature: Miniature) -> None:
    events = events_of(describe(miniature.name, miniature.make()), MOST_WALKS)
    failed = [event for event in events if isinstance(event, CaseEnded) and event.verdict is Verdict.FAILED]
    assert failed, "the walks do not find it"
    first = failed[0]
    assert first.case is not None
    assert first.failure is not None
    assert {event.failure.requirement for event in failed if event.failure} & set(miniature.right)
    assert size(first.case) <= MOST_STEPS
    assert parse(write(first.case)) == first.case


def test_a_wrong_store_that_has_little_is_caught() -> None:
    events = events_of(describe("costly", _CostlySnooze()), 60)
    failed = [event for event in events if isinstance(event, CaseEnded) and event.verdict is Verdict.FAILED]
    assert failed
    assert failed[0].case is not None
    assert size(failed[0].case) <= MOST_STEPS


class _Meddling:
    """Whatever it is asked to admit, it edits a job beside."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def __getattr__(self, name: str) -> Any:
        return getattr(self.handle, name)

    def admit(self, **arguments: Any) -> Any:
        admitted = self.handle.admit(**arguments)
        rows = self.handle._shared.tables.jobs
        waiting = [row for row in rows.values() if row.state == State.PENDING]
        for row in waiting[:1]:
            rows[row.id] = evolve(row, envelope=evolve(row.envelope, kind="another"))
        return admitted


class _Twofold(_Meddling):
    """It keeps a job of its own beside each batch."""

    def enqueue(self, **arguments: Any) -> None:
        self.handle.enqueue(**arguments)
        self.handle.enqueue(envelopes=[evolve(arguments["envelopes"][0], id="another", unique_key=None)])


def _around(handles: type[_Meddling]) -> LoadedBackend:
    class Backend(MemoryJobsBackend):
        def open(self, place: Any, config: Any) -> Any:
            return handles(super().open(place, config))

    return describe(handles.__name__, Backend())


def _first_failure(backend: LoadedBackend, looks_every: int) -> tuple[Case, Failure] | None:
    with StoreUnderTest.of(backend) as store:
        campaign = Campaign(store, Options(effort=Effort.QUICK, seed=SEED), silent, "walk", looks_every=looks_every)
        for number in range(WALKS):
            walk(campaign, number)
            if campaign.failed is not None:
                return campaign.failed
    return None


def test_a_record_that_goes_wrong_beside_a_call_is_found_later_and_told_of_as_if_each_step_had_looked() -> None:
    at_once, later = (_first_failure(_around(_Meddling), looks_every) for looks_every in (1, LOOKS_EVERY))
    assert at_once is not None
    assert later is not None
    assert len(later[0].steps) > len(at_once[0].steps)
    assert later[1] == at_once[1]
    assert later[0].header.requirements == at_once[0].header.requirements


def test_who_has_looked_at_nothing_beside_a_call_looks_at_the_end() -> None:
    with StoreUnderTest.of(_around(_Twofold)) as store:
        store.begin()
        execution = Execution(store, looks_every=10_000)
        step = Call("s1", "A", "enqueue", {"envelopes": [{"id": "a", "kind": "w", "queue": "q"}]}, 10_000)
        assert execution.step(step).failure is None
        failure = execution.finish()
    assert failure is not None
    assert failure.text == "the store holds 2 rows; it should hold 1"


def _wait_in_vain(what: str) -> None:
    with time_limit(what):
        while True:
            pass


def test_a_hung_call_ends_under_a_watch_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workcert.run.calling.CALL_LIMIT_S", 0.05)
    with watched(), pytest.raises(CallHung, match="step s1"):
        _wait_in_vain("step s1")


def test_a_walk_needs_no_hypothesis() -> None:
    script = (
        "import sys; sys.modules['hypothesis'] = None; import workcert.walk.suite, workcert.machines.histories as h; "
    )
    script += "h.history_of('jobs'), h.history_of('workload')"
    subprocess.run([sys.executable, "-c", script], check=True)
