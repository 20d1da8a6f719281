"""What a pass is worth, from grades that are small enough to count by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from jsonschema import Draft202012Validator

from workcert.binding import bindings
from workcert.faults.grades import EQUIVALENT, SURVIVED, Grade, Grades
from workcert.report import build, json_text, markdown_text, schema, summary_text
from workcert.report.model import ContractReport, Strength
from workcert.report.strength import strength_of
from workcert.report.summary import strength_text
from workcert.run.engine import Effort, Options
from workspec.core.contract import digest

from .report_samples import collected, specification

CONTRACT = bindings()["workload"].contract


def of_profile(profile: str) -> str:
    return next(each.id for each in CONTRACT.catalogue if each.profile == profile and each.counted)


def grade(name: str, fate: str, *requirements: str, suite: str = "") -> Grade:
    return Grade(name, "a check is dropped", requirements, fate, suite)


CORE, DURABLE, SECRETS = map(of_profile, ("CORE", "DURABLE", "SECRETS"))
GRADES = Grades(
    "workload",
    CONTRACT.version,
    digest(CONTRACT),
    "ci",
    0,
    (
        grade("one", "caught", CORE, suite="scenarios"),
        grade("two", "caught", CORE, suite="walk"),
        grade("three", "flaky", CORE, suite="walk"),
        grade("four", "refused", CORE, suite="scenarios"),
        grade("five", SURVIVED, CORE),
        grade("six", EQUIVALENT, CORE),
        grade("of a profile", "caught", DURABLE, CORE, suite="scenarios"),
        grade("of another", EQUIVALENT, SECRETS),
        grade("of the field", "caught", "FIELD-1", CORE, suite="scenarios"),
        grade("of nobody", "caught", "FIELD-2", suite="scenarios"),
    ),
)


def strength(profiles: set[str], grades: Grades | None = GRADES, **options: Any) -> Strength:
    return strength_of(specification(profiles=frozenset(profiles)), Options(**options), grades)


def test_a_fault_counts_by_the_profile_of_its_first_known_requirement() -> None:
    """One to six and the one of the field; the last names nothing that anybody could claim."""
    assert strength({"CORE"}) == Strength("ci", 6, 5, 1, 1)
    assert strength({"CORE", "DURABLE"}) == Strength("ci", 7, 6, 1, 1)
    assert strength({"CORE", "DURABLE", "SECRETS"}) == Strength("ci", 7, 6, 2, 1)


def test_only_suites_that_ran_catch_something() -> None:
    """Of the others it is not known what they would have caught: of each fault the first suite alone is kept."""
    assert strength({"CORE"}, suites=("scenarios",)) == Strength("ci", 6, 3, 1, 1, at_least=True)
    assert strength({"CORE"}, suites=("walk",)) == Strength("ci", 6, 2, 1, 1, at_least=True)


NOT_GRADED = "not graded for this specification: workcert faults workload --write"


def test_without_fitting_grades_there_are_no_numbers() -> None:
    assert strength({"CORE"}, None) == Strength(note=NOT_GRADED)
    assert strength({"CORE"}, evolve(GRADES, digest="0" * 16)) == Strength(note=NOT_GRADED)
    quick = strength({"CORE"}, effort=Effort.QUICK)
    assert quick.note == "graded at effort ci, not at quick: workcert faults workload --effort quick --write"
    assert (quick.seeded, quick.caught, quick.equivalent, quick.survived) == (None, None, None, None)
    assert "not at 7 examples" in strength({"CORE"}, examples=7).note


def test_the_line_says_what_is_known() -> None:
    whole = "these suites at effort ci catch 1,012 of 1,012 seeded faults of what is claimed"
    assert strength_text(Strength("ci", 1012, 1012, 157, 0)) == f"{whole}; 157 more cannot be told from a right store"
    assert strength_text(Strength("ci", 1012, 1012, 0, 0)) == whole
    assert "catch at least 3 of 6" in strength_text(Strength("ci", 6, 3, 0, 0, at_least=True))
    assert strength_text(Strength("ci", 0, 0, 0, 0)).startswith("these suites at effort ci catch 0 of 0")
    assert strength_text(Strength(note=NOT_GRADED)) == NOT_GRADED


def report(grades: Grades, **options: Any) -> ContractReport:
    backend = specification(profiles=frozenset({"CORE"}))
    return build(backend, Options(**options), collected([]), grades=grades)


LINE = (
    "these suites at effort ci catch 5 of 6 seeded faults of what is claimed; 1 more cannot be told from a right store"
)


def test_every_form_of_a_report_has_it() -> None:
    found = report(GRADES)
    assert f"| Strength | {LINE} |" in markdown_text([found])
    assert f"\nStrength: {LINE}\n" in summary_text(found)
    document = json.loads(json_text([found]))
    assert document["contracts"][0]["strength"] == {
        "graded_effort": "ci",
        "seeded": 6,
        "caught": 5,
        "equivalent": 1,
        "survived": 1,
        "note": "",
        "at_least": False,
    }


@pytest.mark.parametrize("grades", [GRADES, evolve(GRADES, digest="0" * 16)], ids=["numbers", "a note"])
def test_the_schema_knows_it(grades: Grades) -> None:
    document = json.loads(json_text([report(grades)]))
    validator = Draft202012Validator(schema())
    assert validator.is_valid(document)
    document["contracts"][0]["strength"]["worth"] = "much"
    assert not validator.is_valid(document)


def test_a_run_narrowed_to_some_requirements_is_worth_nothing() -> None:
    found = report(GRADES, only=("claim",))
    assert found.strength is None
    assert "Strength" not in summary_text(found) + markdown_text([found]) + json_text([found])
    broken_off = build(specification(), Options(), collected([]), "no space is left", grades=GRADES)
    assert broken_off.strength is None
