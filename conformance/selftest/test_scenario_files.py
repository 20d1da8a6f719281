"""The cases that ship with the kit: well formed, canonical, together showing every scenario requirement."""

from __future__ import annotations

import re
from importlib import resources
from itertools import pairwise

import pytest

from workcert.binding import bindings
from workcert.cases import (
    UNCHANGED,
    builtin_cases,
    builtin_names,
    calls_of,
    contracts,
    every_step,
    load_case,
    parse,
    required_abilities,
    unrolled,
    write,
)
from workcert.cases.model import Call, Inject, Transaction
from workcert.codec import references, resolve, structure
from workspec.core.requirement import Kind, Requirement

NAMES = [name for contract in contracts() for name in builtin_names(contract)]
NUMBERED = {"workload": re.compile(r"workload/(\d\d)"), "jobs": re.compile(r"jobs/s-(\d\d)")}
"""How a case is named that shows a scenario of its contract."""
NUMBERS = {
    "workload": (
        *("01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "13", "15", "16", "17", "18", "19"),
        *("21", "22", "23", "25", "26", "27", "28", "29", "31", "32", "34", "36", "38", "40", "42", "43", "44"),
        *("45", "46", "47", "48", "50", "51", "52", "53", "55", "56"),
    ),
    "jobs": (
        *("01", "02", "03", "04", "06", "07", "08", "09", "10", "11", "12", "13", "14", "16", "17", "19", "21"),
        *("23", "24", "25", "26", "27", "29", "30", "31", "32", "34", "35", "36", "37", "39", "40"),
    ),
}


def catalogue(contract: str) -> dict[str, Requirement]:
    return {requirement.id: requirement for requirement in bindings()[contract].contract.catalogue}


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
    known = catalogue(header.contract)
    assert sorted(set(header.requirements)) == sorted(header.requirements)
    unknown = set(header.requirements) - known.keys()
    assert not unknown
    # A requirement of a profile that the case does not ask for would count for stores that do not claim it.
    foreign = {each: known[each].profile for each in header.requirements}
    assert {each for each, profile in foreign.items() if profile not in {"CORE", *header.profiles}} == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_case_calls_only_what_its_profiles_have(name: str) -> None:
    case = load_case(name)
    binding = bindings()[case.header.contract]
    profile_of = {method: profile for profile, methods in binding.profile_methods.items() for method in methods}
    asked = {"CORE", *case.header.profiles}
    assert {call.call for call in calls_of(case) if profile_of.get(call.call, "CORE") not in asked} == set()
    # A record that is only to stay as it is can be judged by later answers too; a matcher needs a read.
    reads = {profile_of.get(method, "CORE") for method in binding.reading}
    assert reads <= asked or all(call.record in (None, UNCHANGED) for call in calls_of(case))


@pytest.mark.parametrize("name", NAMES)
def test_arguments_without_references_fit_the_port(name: str) -> None:
    case = load_case(name)
    calls = contracts()[case.header.contract].calls
    for call in calls_of(case):
        for argument, value in call.args.items():
            if not any(references(value)):
                structure(calls[call.call].arguments[argument], resolve(value, {}), argument)


@pytest.mark.parametrize("name", NAMES)
def test_time_runs_forward(name: str) -> None:
    # One scenario steps back by one second on purpose: a frozen call at the last good second of a lease.
    case = load_case(name)
    steps = [step for step in every_step(tuple(unrolled(case.steps))) if isinstance(step, (Call, Transaction))]
    times = [step.at for step in steps if step.at is not None and abs(step.at) < 2**62]
    back = [early - late for late, early in pairwise(times) if early < late]
    assert not back or "pause" in case.header.abilities


@pytest.mark.parametrize("contract", NUMBERS)
def test_names_are_unique_and_every_scenario_is_there(contract: str) -> None:
    names = builtin_names(contract)
    assert len(set(names)) == len(names)
    numbers = {found[1] for name in names if (found := NUMBERED[contract].match(name))}
    assert [number for number in NUMBERS[contract] if number not in numbers] == []


@pytest.mark.parametrize("contract", NUMBERS)
def test_every_scenario_requirement_is_shown_by_a_case(contract: str) -> None:
    shown = {each for case in builtin_cases(contract) for each in case.header.requirements}
    known = catalogue(contract).values()
    wanted = {each.id for each in known if each.kind is Kind.SCENARIO and each.not_asserted is None}
    assert sorted(wanted - shown) == []


@pytest.mark.parametrize("contract", NUMBERS)
def test_every_call_of_the_port_is_used(contract: str) -> None:
    used = {call.call for case in builtin_cases(contract) for call in calls_of(case)}
    assert used == contracts()[contract].calls.keys()
