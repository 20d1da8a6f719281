"""Known faults beside a store that fails."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest
from attrs import evolve, frozen
from jsonschema import Draft202012Validator

from workcert.cases import builtin_cases, load_case
from workcert.report import build, json_text, markdown_text, schema
from workcert.report.failure_text import look_alike_text
from workcert.report.lookalikes import MOST, USUAL, Known, known_faults, look_alikes
from workcert.report.model import LookAlike
from workcert.run.engine import Options

from .report_samples import SCENARIOS, collected, events_of, specification
from .test_groups import SHOWING, two_faults


def fault(name: str, *signature: str, kind: str = "", cause: str = "") -> Known:
    return Known(name, kind, cause or ("" if kind else f"cause of {name}"), signature)


def names(found: tuple[LookAlike, ...]) -> list[str]:
    return [each.what for each in found]


# Likeness --------------------------------------------------------------------------------------------------------


def test_the_nearest_come_first() -> None:
    known = (fault("half", "A", "X"), fault("whole", "A", "B"), fault("none", "Y"), fault("most", "A", "B", "C"))
    found = look_alikes({"A", "B"}, known)
    assert names(found) == ["whole", "most"]
    assert found[0] == LookAlike("whole", 2, 2, "cause of whole")
    assert found[1].either == 3


def test_what_few_faults_break_says_more() -> None:
    common = [fault(f"n{number}", "COMMON", f"N{number}") for number in range(9)]
    known = (*common, fault("rare", "RARE", "X"), fault("usual", "COMMON", "X"))
    assert names(look_alikes({"RARE", "COMMON"}, known))[0] == "rare"


def test_nothing_is_named_that_has_too_little_in_common() -> None:
    far = fault("far", "A", *(f"X{number}" for number in range(9)))
    assert look_alikes({"A"}, (far,)) == ()
    assert look_alikes({"A"}, ()) == ()
    assert look_alikes((), (fault("a", "A"),)) == ()


def test_no_more_than_three_and_ties_by_name() -> None:
    known = tuple(fault(name, "A") for name in "dbcea")
    assert names(look_alikes({"A"}, known)) == ["a", "b", "c"]
    assert names(look_alikes({"A"}, known[::-1])) == ["a", "b", "c"]
    assert MOST == 3


def test_of_faults_with_one_usual_cause_the_nearest_is_named() -> None:
    kind = "a check is dropped"
    other = fault("c", "A", "B", "C", kind="a guard is negated")
    known = (fault("b", "A", "B", "D", kind=kind), fault("a", "A", "B", kind=kind), other)
    found = look_alikes({"A", "B"}, known)
    assert [(each.what, each.cause) for each in found] == [
        ("a", USUAL[kind]),
        ("c", USUAL["a guard is negated"]),
    ]


def test_one_that_is_far_less_like_than_the_best_is_not_named() -> None:
    known = (fault("a", "A", "B"), fault("b", "A", "X"))
    assert names(look_alikes({"A"}, known[1:])) == ["b"]
    assert names(look_alikes({"A", "B"}, known)) == ["a"]


def test_every_kind_of_derived_fault_has_a_usual_cause() -> None:
    kinds = {kind.value for kind in pytest.importorskip("workcert.faults.fault").Kind}
    assert kinds - {"seen in the field"} == set(USUAL)


def test_a_narrowed_run_compares_by_what_it_asked() -> None:
    known = (fault("a", "A", "X", "Y", "Z"), fault("b", "B"))
    assert look_alikes({"A"}, known) == ()
    assert look_alikes({"A"}, known, {"A", "B"}) == (LookAlike("a", 1, 1, "cause of a"),)


def test_a_field_fault_has_a_cause_of_its_own() -> None:
    own = fault("a", "A", kind="a check is dropped", cause="a trigger was disabled")
    assert look_alikes({"A"}, (own,))[0].cause == "a trigger was disabled"
    unknown = fault("b", "A", kind="something new")
    assert look_alike_text(look_alikes({"A"}, (unknown,))[0]) == "Looks like: b (1 of 1 requirement in common)"


# The grades ------------------------------------------------------------------------------------------------------


@frozen
class Grade:
    """As `workcert.faults.grades` has them, as far as it is read."""

    name: str
    fate: str
    signature: tuple[str, ...]
    kind: str = "a check is dropped"


@frozen
class Grades:
    faults: tuple[Grade, ...]


def graded(monkeypatch: pytest.MonkeyPatch, kept: Grades | None) -> None:
    module: Any = ModuleType("workcert.faults.grades")
    module.kept = lambda contract: kept if contract == "workload" else None
    monkeypatch.setitem(sys.modules, "workcert.faults", ModuleType("workcert.faults"))
    monkeypatch.setitem(sys.modules, "workcert.faults.grades", module)


def test_only_faults_that_scenarios_catch_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    faults = (
        Grade("a", "caught", ("A",)),
        Grade("b", "survived", ("A",)),
        Grade("c", "equivalent", ()),
        Grade("d", "caught", ()),
        Grade("e", "flaky", ("B",)),
    )
    graded(monkeypatch, Grades(faults))
    assert [known.name for known in known_faults("workload")] == ["a", "e"]
    assert known_faults("jobs") == ()


def test_without_grades_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    graded(monkeypatch, None)
    assert known_faults("workload") == ()
    monkeypatch.setitem(sys.modules, "workcert.faults.grades", None)
    assert known_faults("workload") == ()


def test_an_import_that_fails_inside_of_it_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> Any:
        raise ModuleNotFoundError("No module named 'missing'", name="missing")

    monkeypatch.setattr("workcert.report.lookalikes.import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="missing"):
        known_faults("workload")


# In a report -----------------------------------------------------------------------------------------------------

TOUR = Options(suites=("tour",))
KNOWN = (
    fault("claims too late", "WRK-CLM-06", kind="a bound is moved by one unit"),
    fault("never times out", "WRK-CLM-02", "WRK-DLN-06", kind="a check is dropped"),
)


def test_a_failing_report_ends_with_what_the_store_looks_like() -> None:
    collector = collected(events_of(two_faults(), [load_case(name) for name in SHOWING]))
    # The same cases as tours: stores are compared by what these say of them.
    collector.ended[:] = [evolve(each, suite="tour") for each in collector.ended]
    report = build(two_faults(), TOUR, collector, known=KNOWN)
    lines = [look_alike_text(each) for each in report.looks_like]
    assert lines
    assert all(line.startswith("Looks like: ") and "in common): " in line for line in lines)
    document = json.loads(json_text([report]))
    assert list(Draft202012Validator(schema()).iter_errors(document)) == []
    assert [each["what"] for each in document["contracts"][0]["looks_like"]] == names(report.looks_like)
    assert f"### Looks like\n\n- {report.looks_like[0].what} (" in markdown_text([report])


def test_what_random_histories_find_is_no_signature() -> None:
    collector = collected(events_of(two_faults(), [load_case(SHOWING[0])]))
    collector.ended[:] = [evolve(each, suite="stateful") for each in collector.ended]
    assert build(two_faults(), Options(), collector, known=KNOWN).looks_like == ()


def test_a_store_that_passes_looks_like_nothing() -> None:
    cases = builtin_cases("workload")[:3]
    report = build(specification(), SCENARIOS, collected(events_of(specification(), cases)), known=KNOWN)
    assert report.looks_like == ()
    assert "looks_like" not in json.loads(json_text([report]))["contracts"][0]
