"""Forced interleavings of a further kind: a record that comes back looking the same, and reads of two states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from workcert.adversity.interleavings.chains import Way, chains, chosen_chains
from workcert.adversity.interleavings.library import cases_from, chained_from, kept
from workcert.adversity.interleavings.meetings import searched
from workcert.adversity.interleavings.readings import chosen_readings, readings
from workcert.adversity.interleavings.suite import turned
from workcert.backends.registry import describe
from workcert.binding import bindings
from workcert.cases.model import Call, Case, Frozen, Together
from workcert.cases.parse import parse
from workcert.cases.reading import CaseError
from workcert.cases.write import write
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workcert.search.command import CONFIGURATIONS

from .miniatures.late_stores import AsItBegan, ByState, Torn
from .miniatures.sql_stores import SqlBackend

WORKLOAD, JOBS = bindings()["workload"], bindings()["jobs"]
POINTS = range(1, 12)


def named(name: str) -> Case:
    return next(case for case in kept(name.partition("/")[0]) if case.header.name == name)


def held(case: Case) -> Frozen:
    return next(step for step in case.steps if isinstance(step, Frozen))


def at(case: Case, point: int) -> Case:
    steps = (evolve(step, point=point) if isinstance(step, Frozen) else step for step in case.steps)
    return parse(write(Case(case.header, tuple(steps))))


def verdicts(backend: Any, case: Case) -> set[Verdict]:
    """Of the case at each point, as the suite tries it."""
    with StoreUnderTest.of(describe("miniature", backend)) as store:
        return {run_case(store, at(case, point)).verdict for point in POINTS}


LATE = [
    (JOBS, "ack", Way.RETURNED),
    (JOBS, "renew", Way.RETURNED),
    (JOBS, "write_job_output", Way.RETURNED),
    (JOBS, "ack", Way.MADE_ANEW),
    (JOBS, "reclaim_expired", Way.RETURNED),
    (JOBS, "claim_duty", Way.MADE_ANEW),
    (JOBS, "release_duty", Way.MADE_ANEW),
    (WORKLOAD, "heartbeat", Way.RETURNED),
    (WORKLOAD, "complete", Way.RETURNED),
]


@pytest.mark.parametrize(("binding", "operation", "way"), LATE, ids=[f"{o} {w}" for _b, o, w in LATE])
def test_a_late_call_that_asks_for_the_state_alone_is_caught(binding: Any, operation: str, way: Way) -> None:
    """Each time, at one of its points; a store that asks for the record itself is right at all of them."""
    case = named(f"{binding.name}/{operation}-record-{way}".replace("_", "-"))
    assert len(held(case).during) > 1
    for _time in range(2):
        assert Verdict.FAILED in verdicts(SqlBackend(binding, partial(ByState, operation=operation)), case)
    right = verdicts(SqlBackend(binding, partial(ByState, operation=operation, fenced=True)), case)
    assert right <= {Verdict.PASSED, Verdict.SKIPPED}
    assert Verdict.PASSED in right


TORN: list[tuple[Any, str, Callable[..., Any]]] = [
    (JOBS, "get_job", Torn),
    (JOBS, "list_jobs", Torn),
    (JOBS, "counts", partial(Torn, by_state=True)),
    (WORKLOAD, "get", Torn),
    (WORKLOAD, "list_workloads", Torn),
]


@pytest.mark.parametrize(("binding", "operation", "kind"), TORN, ids=[operation for _b, operation, _k in TORN])
def test_a_read_of_two_states_is_caught(binding: Any, operation: str, kind: Callable[..., Any]) -> None:
    start = f"{binding.name}/{operation}-against-".replace("_", "-")
    cases = {case.header.name: case for case in kept(binding.name) if case.header.name.startswith(start)}
    assert 1 < len(cases) < 6
    wrong, right = (SqlBackend(binding, partial(kind, operation=operation, at_once=each)) for each in (False, True))
    for _time in range(2):
        assert any(Verdict.FAILED in verdicts(wrong, case) for case in cases.values())
    found = set().union(*(verdicts(right, case) for case in cases.values()))
    assert found <= {Verdict.PASSED, Verdict.SKIPPED}
    assert Verdict.PASSED in found


@pytest.mark.parametrize("operation", ["ack", "complete"])
def test_a_right_store_that_waits_is_not_accused(operation: str) -> None:
    """The first of a chain has to wait for the held call, and the others come behind it."""
    binding = JOBS if operation == "ack" else WORKLOAD
    case = named(f"{binding.name}/{operation}-record-returned")
    patient = SqlBackend(binding, configurable=frozenset())
    assert verdicts(patient, case) <= {Verdict.PASSED, Verdict.SKIPPED}


@pytest.mark.parametrize(("kind", "is_right"), [(AsItBegan, True), (partial(Torn, at_once=True), True), (Torn, False)])
def test_a_held_plain_read_shows_any_committed_state_and_no_mixture(kind: Callable[..., Any], is_right: bool) -> None:
    case = named("workload/get-against-complete")
    step = held(case)
    read = evolve(step.frozen, args={**step.frozen.args, "fresh": False})
    plain = Case(case.header, tuple(evolve(each, frozen=read) if each is step else each for each in case.steps))
    store = SqlBackend(WORKLOAD, partial(kind, operation="get"))
    assert (Verdict.FAILED not in verdicts(store, plain)) is is_right


# What is found -------------------------------------------------------------------------------------------------------


def test_every_call_under_a_lease_has_its_chain() -> None:
    names = {case.header.name for binding in (JOBS, WORKLOAD) for case in kept(binding.name)}
    under_lease = {"ack", "ack-success-with-result", "renew", "checkpoint", "write-job-output", "write-job-progress"}
    assert {f"jobs/{each}-record-{way}" for each in under_lease for way in Way} <= names
    under_claim = {"heartbeat", "start", "checkpoint", "complete", "fail"}
    assert {f"workload/{each}-record-returned" for each in under_claim} <= names


def test_a_record_without_a_state_is_away_meanwhile_and_what_tells_comes_afterwards() -> None:
    """No call reads a duty: who holds it is told by another one that wants it."""
    case = named("jobs/release-duty-record-made-anew")
    step = held(case)
    assert [call.call for call in step.during] == ["release_duty", "claim_duty"]
    assert step.frozen.args["holder"] != step.during[-1].args["holder"]
    assert [call.call for call in case.steps[case.steps.index(step) + 1 :]] == ["claim_duty"]
    of_settings = [case for case in kept("jobs") if "queue-record" in case.header.name or "rate" in case.header.name]
    assert not any("-record-" in case.header.name for case in of_settings), "a setting is never taken away"


@pytest.mark.parametrize("binding", [JOBS, WORKLOAD], ids=["jobs", "workload"])
def test_every_read_is_held(binding: Any) -> None:
    met = {held(case).frozen.call for case in kept(binding.name)}
    assert binding.reads <= met


def test_those_that_ship_are_what_a_search_finds() -> None:
    """In a small world, byte for byte as they lie there but for what further worlds add."""
    small = [each for each in CONFIGURATIONS["workload"] if each.name == "ci"]
    searches = searched(WORKLOAD, small, limit=200)
    found = [write(chained_from(WORKLOAD, group[0])) for group in chosen_chains(chains(WORKLOAD, searches))]
    again = [write(chained_from(WORKLOAD, group[0])) for group in chosen_chains(chains(WORKLOAD, searches))]
    assert found == again
    assert write(named("workload/heartbeat-record-returned")) in found
    reads = [case.header.name for case in cases_from(WORKLOAD, chosen_readings(readings(WORKLOAD, searches)))]
    assert any(name.startswith("workload/get-against-") for name in reads)


def test_a_chain_is_not_turned() -> None:
    case = named("jobs/ack-record-returned")
    assert turned(case) is None


# The clock -----------------------------------------------------------------------------------------------------------


CLOCK = ({"call": "advance_clock", "args": {"delta_ms": 50}}, {"call": "unfreeze_clock", "args": {}})


@pytest.mark.parametrize("member", ["held", "during", "together"])
@pytest.mark.parametrize("moved", CLOCK, ids=[each["call"] for each in CLOCK])
def test_the_clock_moves_beside_no_call(member: str, moved: dict[str, Any]) -> None:
    case = named("jobs/ack-record-returned")
    step = held(case)
    clock = Call("clock", "A" if member == "held" else "B", moved["call"], moved["args"], step.frozen.at)
    before = case.steps[: case.steps.index(step)]
    text = write(Case(case.header, (*before, _with_clock(step, clock, member))))
    with pytest.raises(CaseError, match=f"{moved['call']} beside another call; a store has one clock"):
        parse(text)


def _with_clock(step: Frozen, clock: Call, member: str) -> Any:
    match member:
        case "held":
            return evolve(step, frozen=clock)
        case "during":
            return evolve(step, during=(clock,))
    return Together("t", (step.frozen, clock), 1, None)
