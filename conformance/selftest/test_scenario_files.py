"""The cases that ship with the kit: well formed, canonical, together showing every scenario requirement."""

from __future__ import annotations

from importlib import resources
from itertools import pairwise

import pytest

from workcert.cases import builtin_cases, builtin_names, calls_of, contracts, load_case, parse, write
from workcert.cases.model import Call, Inject, every_step, required_abilities
from workcert.codec import references, resolve, structure
from workspec.core.requirement import Kind
from workspec.workload.requirements import CATALOGUE

NAMES = builtin_names("workload")
NUMBERS = (
    *("01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "13", "15", "16", "17", "18", "19"),
    *("21", "22", "23", "25", "26", "27", "28", "29", "31", "32", "34", "36", "38", "40", "42", "43", "44"),
    *("45", "46", "47", "48", "50", "51", "52", "53", "55", "56"),
)
KNOWN = {requirement.id: requirement for requirement in CATALOGUE}


@pytest.mark.parametrize("name", NAMES)
def test_a_case_parses_and_is_canonical(name: str) -> None:
    file = resources.files("workcert.cases").joinpath(f"{name}.jsonl")
    text = file.read_bytes().decode("utf-8")
    case = parse(text, name)
    assert write(case) == text
    assert case.header.name == name
    assert load_case(name) == case


@pytest.mark.parametrize("name", NAMES)
def test_a_case_asks_for_no_more_than_it_uses(name: str) -> None:
    case = load_case(name)
    header = case.header
    # A snapshot is used by the judge, not by a step.
    assert set(header.abilities) - {"snapshot"} == required_abilities(case)
    assert header.title
    assert not header.title.endswith(".")
    assert header.requirements
    steps = [step for step in every_step(case.steps) if isinstance(step, (Call, Inject))]
    assert {step.on for step in steps} == set(header.handles)


@pytest.mark.parametrize("name", NAMES)
def test_a_case_names_known_requirements_that_it_may_show(name: str) -> None:
    header = load_case(name).header
    assert sorted(set(header.requirements)) == sorted(header.requirements)
    unknown = set(header.requirements) - KNOWN.keys()
    assert not unknown
    # A requirement of a profile that the case does not ask for would count for stores that do not claim it.
    foreign = {each: KNOWN[each].profile for each in header.requirements}
    assert {each for each, profile in foreign.items() if profile not in {"CORE", *header.profiles}} == set()


@pytest.mark.parametrize("name", NAMES)
def test_arguments_without_references_fit_the_port(name: str) -> None:
    contract = contracts()["workload"]
    for call in calls_of(load_case(name)):
        for argument, value in call.args.items():
            if not any(references(value)):
                structure(contract.calls[call.call].arguments[argument], resolve(value, {}), argument)


@pytest.mark.parametrize("name", NAMES)
def test_time_runs_forward(name: str) -> None:
    # One scenario steps back by one second on purpose: a frozen call at the last good second of a lease.
    case = load_case(name)
    times = [call.at_s for call in calls_of(case) if call.at_s is not None and call.at_s < 2**62]
    back = [early - late for late, early in pairwise(times) if early < late]
    assert not back or "pause" in case.header.abilities


def test_names_are_unique_and_every_scenario_is_there() -> None:
    assert len(set(NAMES)) == len(NAMES)
    numbers = {name.removeprefix("workload/")[:2] for name in NAMES}
    assert [number for number in NUMBERS if number not in numbers] == []


def test_every_scenario_requirement_is_shown_by_a_case() -> None:
    shown = {each for case in builtin_cases("workload") for each in case.header.requirements}
    wanted = {each.id for each in CATALOGUE if each.kind is Kind.SCENARIO}
    assert sorted(wanted - shown) == []


def test_every_call_of_the_port_is_used() -> None:
    used = {call.call for case in builtin_cases("workload") for call in calls_of(case)}
    assert used == contracts()["workload"].calls.keys()
