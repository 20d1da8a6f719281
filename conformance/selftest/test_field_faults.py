"""The faults of the field: each is found by the cases of the requirements that forbid it, under one of these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from workcert.backends.protocol import Ability
from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases.cost import cost
from workcert.cases.library import builtin_cases
from workcert.cases.model import Case, Restart, every_step
from workcert.faults.derived import derived
from workcert.faults.fault import Fault, Kind
from workcert.faults.field import NOT_APPLICABLE, field_faults
from workcert.faults.field.model import Tier
from workcert.faults.footprint import MOST_CHEAP
from workcert.faults.restarts import forgotten_facts
from workcert.faults.views import stale_views
from workcert.judge.verdict import Failure
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest

CONTRACTS = ("workload", "jobs")
FAULTS = [
    (contract, fault)
    for contract in CONTRACTS
    for fault in field_faults(bindings()[contract])
    # Those that only a kill shows are caught in `test_crash_faults`.
    if fault.tier != Tier.CRASH
]


def own_cases(contract: str, fault: Fault) -> list[Case]:
    """The cases of its requirements that come to the fault, the cheapest first; those that restart the store, and say
    what a restart loses, come last where the fault is of no restart."""
    own = [case for case in by_cost(contract) if set(fault.requirements) & set(case.header.requirements)]
    return own if fault.needs == Ability.RESTART else sorted(own, key=restarts)


def restarts(case: Case) -> bool:
    return any(isinstance(step, Restart) for step in every_step(case.steps))


@cache
def by_cost(contract: str) -> tuple[Case, ...]:
    return tuple(sorted((case for case in builtin_cases(contract) if cost(case) <= MOST_CHEAP), key=cost))


def failures(contract: str, fault: Fault) -> Iterator[tuple[Case, Failure]]:
    with StoreUnderTest.of(describe(fault.name, fault.make())) as store:
        for case in own_cases(contract, fault):
            run = run_case(store, case)
            if run.verdict is Verdict.FAILED and run.failure is not None:
                yield case, run.failure


@pytest.mark.parametrize(("contract", "fault"), FAULTS, ids=[f"{c}: {f.name}" for c, f in FAULTS])
def test_is_found_by_the_cases_of_its_requirements(contract: str, fault: Fault) -> None:
    found = next(failures(contract, fault), None)
    assert found is not None
    case, failure = found
    assert failure.requirement in fault.requirements
    with StoreUnderTest.of(describe("the specification", of(bindings()[contract]))) as right:
        assert run_case(right, case).verdict is Verdict.PASSED


@pytest.mark.parametrize("contract", CONTRACTS)
def test_says_what_it_is(contract: str) -> None:
    binding = bindings()[contract]
    known = {requirement.id for requirement in binding.contract.catalogue}
    for fault in field_faults(binding):
        assert fault.kind is Kind.FIELD
        assert known.issuperset(fault.requirements)
        assert all(binding.contract.has(name) for name in fault.touched)
        assert fault.tier in set(Tier)
        assert re.fullmatch(r"[A-Z][^.]+\.", fault.cause)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_names_are_unique(contract: str) -> None:
    binding = bindings()[contract]
    made = (*derived(binding), *forgotten_facts(binding), *stale_views(binding), *field_faults(binding))
    names = [fault.name for fault in made]
    assert len(names) == len(set(names))


def test_there_are_enough_of_them() -> None:
    assert [len(field_faults(bindings()[contract])) for contract in CONTRACTS] == [33, 53]
    assert all(name and reason for name, reason in NOT_APPLICABLE)
