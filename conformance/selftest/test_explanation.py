"""What an explanation says of a shrunk case: on runs that are made up, and on stores that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, field, frozen

from workcert.backends.registry import BackendError
from workcert.cases import Call, Case, Restart, builtin_cases, calls_of
from workcert.cases.model import Crash
from workcert.explaining.explain import explain
from workcert.explaining.model import NOT_NEEDED, Explanation, Spot
from workcert.explaining.others import MOST, others
from workcert.explaining.varying import place_of, spots
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.ordinary import WORKLOAD_REQUEST
from workcert.references import Ref, references
from workcert.report.failure_text import reproduced_text
from workcert.report.failures import failure_of
from workcert.report.model import FailureReport
from workcert.run.case import CaseRun
from workcert.run.events import CaseEnded, Verdict
from workcert.shrink.places import Place
from workcert.structuring import AnyJson
from workspec.core.interpreter import Accepted, Refused
from workspec.workload.vocabulary import State

from .report_samples import (
    LATE,
    admit,
    backend_answering,
    case,
    claim,
    events_of,
    fenced,
    late_heartbeat,
    specification,
)

ORDINARY = {"request": WORKLOAD_REQUEST}
PASSED = CaseRun(Verdict.PASSED)


@frozen
class Tried:
    """A store that fails where ``fails`` says so, at the last call, and every case that it was asked."""

    fails: Callable[[Case], bool]
    requirement: Callable[[Case], str] = lambda _case: "WRK-CLM-01"
    expected: Callable[[Case], Any] = lambda _case: Accepted(None)
    asked: list[Case] = field(factory=list)

    def __call__(self, tried: Case) -> CaseRun:
        self.asked.append(tried)
        calls = list(calls_of(tried))
        steps = [StepRun(call.id, call.on, call.at, call.call, call.args, None, self.expected(tried)) for call in calls]
        if not self.fails(tried):
            return CaseRun(Verdict.PASSED, tuple(steps))
        failure = Failure((self.requirement(tried),), Kind.ANSWER, "wrong")
        steps[-1] = evolve(steps[-1], failure=failure)
        return CaseRun(Verdict.FAILED, tuple(steps), failure)

    def explained(self, tried: Case, budget: int = 200) -> Explanation:
        return explain(self, tried, self(tried), ORDINARY, budget)


def always(_case: Case) -> bool:
    return True


def call_of(tried: Case, step: str) -> Call:
    return next(call for call in calls_of(tried) if call.id == step)


def has(tried: Case, step: str) -> bool:
    return any(call.id == step for call in calls_of(tried))


# Values ----------------------------------------------------------------------------------------------------------


def test_a_value_that_matters_is_told_from_those_that_do_not() -> None:
    found = Tried(lambda each: call_of(each, "c1").args["lease_ms"] == 7).explained(case(admit(), claim("c1", 11, 7)))
    free = [spot.text for spot in found.free]
    assert "c1.args.lease_ms" not in free
    assert {"c1.args.worker_id", "c1.args.capabilities[0]", "c1.at"} <= set(free)


def test_every_variation_has_to_fail() -> None:
    """With a neighbour it fails, with a value far from it not."""
    found = Tried(lambda each: call_of(each, "c1").args["lease_ms"] < 10).explained(case(admit(), claim("c1", 11, 7)))
    assert "c1.args.lease_ms" not in [spot.text for spot in found.free]


def test_a_number_that_may_be_larger_and_not_smaller() -> None:
    """The shrinker has found the least that will do."""
    found = Tried(lambda each: call_of(each, "c1").args["lease_ms"] >= 7).explained(case(admit(), claim("c1", 11, 7)))
    assert [spot.text for spot in found.least] == ["c1.args.lease_ms"]
    assert Spot("c1", ("at",)) in found.free
    assert not set(found.least) & set(found.free)


def test_a_step_that_may_be_later_and_not_earlier() -> None:
    tried = Tried(lambda each: (call_of(each, "c1").at or 0) >= 11)
    found = tried.explained(case(admit(), claim("c1", 11)))
    moved = ["w.args.request.created_at", "c1.at"]
    assert [spot.text for spot in found.least] == moved, "what comes before moves it along"
    at_once = Tried(always).explained(case(admit(), claim("c1", 11), fenced("s1", "start", 11)))
    assert {"c1.at", "s1.at"} <= {spot.text for spot in at_once.free}, "none is made before the one that it follows"


def test_a_number_is_not_free_up_to_a_bound_alone() -> None:
    """Near and far it fails, beyond all that a short case has it does not."""
    found = Tried(lambda each: call_of(each, "c1").args["lease_ms"] < 9_000).explained(
        case(admit(), claim("c1", 11, 7))
    )
    assert "c1.args.lease_ms" not in [spot.text for spot in (*found.free, *found.least)]


def test_another_requirement_is_not_the_same_failure() -> None:
    tried = Tried(always, lambda each: f"WRK-CLM-0{call_of(each, 'c1').args['lease_ms'] % 10}")
    assert "c1.args.lease_ms" not in [spot.text for spot in tried.explained(case(admit(), claim("c1", 11, 7))).free]


def test_a_name_that_has_to_be_the_same_twice() -> None:
    def same_worker(each: Case) -> bool:
        return call_of(each, "c1").args["worker_id"] == call_of(each, "s1").args["worker_id"]

    found = Tried(same_worker).explained(case(admit(), claim("c1", 11), fenced("s1", "start", 12)))
    assert [spot.text for spot in found.names] == ["c1.args.worker_id", "s1.args.worker_id"]
    assert not set(found.names) & set(found.free)
    fixed = Tried(lambda each: call_of(each, "c1").args["worker_id"] == "a")
    assert fixed.explained(case(admit(), claim("c1", 11), fenced("s1", "start", 12))).names == ()


def test_references_are_left_as_they_are() -> None:
    tried = Tried(always)
    whole = case(admit(), claim("c1", 11), fenced("s1", "start", 12))
    tried.explained(whole)
    kept = [list(references(each.steps)) for each in tried.asked if len(each.steps) == 3]
    assert kept
    assert all(found == list(references(whole.steps)) for found in kept)


def test_a_later_instant_moves_what_follows_along() -> None:
    tried = Tried(lambda each: call_of(each, "s1").at - call_of(each, "c1").at == 1)  # type: ignore[operator]
    found = tried.explained(case(admit(), claim("c1", 11), fenced("s1", "start", 12)))
    assert Spot("c1", ("at",)) in found.free
    assert Spot("s1", ("at",)) not in found.free
    for each in tried.asked:
        times = [call.at for call in calls_of(each) if call.at is not None]
        assert times == sorted(times)


def test_the_instant_of_an_admission_is_one_too() -> None:
    found = Tried(always).explained(case(admit(), claim("c1", 11)))
    assert Spot("w", ("args", "request", "created_at")) in found.free


def test_handles_are_varied_where_there_are_several() -> None:
    steps = (admit(), claim("c1", 11, on="B"))
    found = Tried(lambda each: call_of(each, "c1").on == "B").explained(case(*steps, handles=("A", "B")))
    assert Spot("w", ("on",)) in found.free
    assert Spot("c1", ("on",)) not in found.free
    alone = Tried(always).explained(case(admit(), claim("c1", 11)))
    assert not [spot for spot in alone.free if spot.path == ("on",)]


def test_what_is_ordinary_is_not_asked_about() -> None:
    tried = case(admit(priority=7), claim("c1", 11))
    texts = [spot.text for spot in spots(tried, ORDINARY) if spot.step == "w"]
    assert texts == ["w.args.request.created_at", "w.args.request.priority"]


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        (1, int, (2, 12, 100_001)),
        (-1, int, (-2, -12, -100_001)),
        (True, bool, (False,)),
        ("a", str, ("ax", "other")),
        ("other", str, ("otherx", "another")),
        (b"a", bytes, (b"ax", b"other")),
        ([], tuple[str, ...], (["other"], ["x"])),
        ({}, AnyJson, ({"other": 1}, {"other": "other"})),
        (None, int, (1, 10)),
        (Ref("c1.claim_id"), str, ()),
        (["a"], tuple[str, ...], ()),
        (None, Call, ()),
    ],
)
def test_other_values_are_of_the_type(value: Any, wanted: Any, expected: tuple[Any, ...]) -> None:
    assert others(Place("c1", ("x",), value, wanted, False)) == expected


def test_other_names_of_an_enumeration_are_names_of_it() -> None:
    found = others(Place("c1", ("x",), "READY", State, False))
    assert len(found) == MOST
    assert set(found) <= {state.value for state in State} - {"READY"}


# Steps -----------------------------------------------------------------------------------------------------------


def whys(found: Explanation) -> dict[str, str]:
    return {need.step: need.why for need in found.needed}


def test_why_a_step_is_needed() -> None:
    second = evolve(claim("c2", 13), args={**claim("c2", 13).args, "workload_id": "w-1"})
    whole = case(admit(), claim("c1", 11), claim("early", 12), Restart("r1"), second)
    tried = Tried(
        lambda each: has(each, "c1"),
        lambda each: "WRK-CLM-01" if any(step.id == "r1" for step in each.steps) else "WRK-CLM-02",
    )
    assert whys(tried.explained(whole)) == {
        "w": "c1 and early use its answer",
        "c1": "without it c2 passes",
        "early": NOT_NEEDED,
        "r1": "without it c2 breaks WRK-CLM-02 instead",
    }


def test_who_uses_an_answer_in_a_process_that_is_killed_is_shown_by_the_name_of_the_kill() -> None:
    killed = Crash("c1_killed", evolve(claim("c1", 11), id="c1_unheard"), 1)
    whole = evolve(case(admit()), steps=(admit(), killed, claim("c1", 11)))
    assert whys(Tried(always).explained(whole))["w"] == "c1_killed and c1 use its answer"


def test_a_step_without_which_another_answer_is_right() -> None:
    tried = Tried(lambda each: has(each, "c1"), expected=lambda each: None if has(each, "c1") else Refused("X", {}))
    second = evolve(claim("c2", 13), args={**claim("c2", 13).args, "workload_id": "w-1"})
    assert whys(tried.explained(case(admit(), claim("c1", 11), second)))["c1"] == (
        "without it c2 must be answered otherwise, and is"
    )


# The budget ------------------------------------------------------------------------------------------------------


def test_the_budget_bounds_the_executions() -> None:
    tried = Tried(always)
    whole = case(admit(), claim("c1", 11))
    found = tried.explained(whole, budget=3)
    assert (found.executions, found.finished, len(tried.asked)) == (3, False, 4)
    more = Tried(always).explained(whole)
    assert more.finished
    assert more.executions < 25


def test_two_explanations_are_the_same() -> None:
    whole = case(admit(), claim("c1", 11), fenced("s1", "start", 12))
    assert Tried(always).explained(whole) == Tried(always).explained(whole)


def test_a_store_that_hangs_or_an_adapter_that_lies_ends_it() -> None:
    whole = case(admit(), claim("c1", 11))
    seen = Tried(always)(whole)
    hung = explain(lambda _: CaseRun(Verdict.UNKNOWN, hung=True), whole, seen, ORDINARY)
    assert (hung.executions, hung.finished, hung.free) == (1, False, ())

    def lying(_case: Case) -> CaseRun:
        raise BackendError("it lies")

    assert not explain(lying, whole, seen, ORDINARY).finished


def test_a_report_says_when_the_budget_ended_it(ended: CaseEnded) -> None:
    assert ended.explanation is not None
    found = failure_of(specification().binding, evolve(ended, explanation=evolve(ended.explanation, finished=False)))
    assert reproduced_text(found).startswith("Reproduced 3 of 3; shrunk, and explained in part, in ")
    assert "; shrunk and explained in " in reproduced_text(failure_of(specification().binding, ended))
    bare = failure_of(specification().binding, evolve(ended, explanation=None))
    assert "; shrunk in " in reproduced_text(bare)


# In a report -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ended() -> CaseEnded:
    found = events_of(backend_answering(late_heartbeat), [case(*LATE)])
    return next(each for each in found if isinstance(each, CaseEnded))


@pytest.fixture(scope="module")
def report(ended: CaseEnded) -> FailureReport:
    return failure_of(specification().binding, ended)


def test_a_failure_that_was_shrunk_is_explained(ended: CaseEnded) -> None:
    assert ended.explanation is not None
    assert ended.executions > ended.explanation.executions > 0
    assert ended.case is not None
    assert all(place_of(ended.case, spot) for spot in ended.explanation.free if spot.path[0] == "args")


def test_marks_stand_where_the_values_are(report: FailureReport) -> None:
    rows = {row.id: row for row in report.steps}
    assert "h1.args.extension_ms" in report.least
    assert rows["h1"].arguments == "fence of c1, extension_ms=1+"
    assert rows["h1"].time.endswith("*") == ("h1.at" in report.free)
    assert rows["c1"].needed == "h1 uses its answer"
    assert rows["h1"].needed == ""
    assert 'worker_id="a"**' in rows["c1"].arguments


def test_a_failure_that_was_not_shrunk_is_not_explained() -> None:
    late = [case(*LATE), evolve(case(*LATE), header=evolve(case(*LATE).header, name="workload/again"))]
    first, second = (e for e in events_of(backend_answering(late_heartbeat), late) if isinstance(e, CaseEnded))
    assert first.explanation is not None
    assert second.explanation is None
    assert second.executions == 0


def test_a_right_store_has_nothing_to_explain() -> None:
    cases = builtin_cases("workload")[:5]
    assert all(e.explanation is None for e in events_of(specification(), cases) if isinstance(e, CaseEnded))
