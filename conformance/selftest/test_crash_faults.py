"""Faults of the field that only a kill shows: each is caught, and the specification on a file is not accused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workcert.adversity import run_part
from workcert.adversity.crashes import DAMAGED_FILES
from workcert.adversity.crashes.sweep import kill_each
from workcert.adversity.crashes.targets import Target, targets
from workcert.backends.registry import LoadedBackend, describe
from workcert.binding import bindings
from workcert.cases.model import Crash
from workcert.children import cannot
from workcert.faults.durable import Right
from workcert.faults.fault import Fault
from workcert.faults.field import field_faults
from workcert.faults.field.model import Tier
from workcert.run.case import run_case
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import StoreUnderTest

from .soon_told import soon_told  # noqa: F401 - a fixture

MOST = 8
"""Calls of one way that are killed."""
CONTRACTS = ("workload", "jobs")
FAULTS = [(name, fault) for name in CONTRACTS for fault in field_faults(bindings()[name]) if fault.tier == Tier.CRASH]
pytestmark = pytest.mark.skipif(bool(cannot(Right("jobs")())), reason="processes of its own need a system with fork")


def swept(
    backend: LoadedBackend, operations: frozenset[str], among: Callable[[Target], bool] = lambda _target: True
) -> list[CaseEnded]:
    events: list[Event] = []
    found = list(filter(among, targets(backend, only=lambda each: each.operation in operations)))
    ways = dict.fromkeys(each.way for each in found)
    with StoreUnderTest.of(backend) as store:
        for way in ways:
            kill_each(store, [each for each in found if each.way == way][:MOST], events.append)
    return [event for event in events if isinstance(event, CaseEnded)]


def test_there_are_some_of_each_contract() -> None:
    assert [sum(name == each for each, _ in FAULTS) for name in CONTRACTS] == [3, 3]


@pytest.mark.usefixtures("soon_told")
@pytest.mark.parametrize(("contract", "fault"), FAULTS, ids=[f"{c}: {f.name}" for c, f in FAULTS])
def test_is_caught_by_a_kill_with_a_case_that_the_right_one_passes(contract: str, fault: Fault) -> None:
    ended = swept(describe(fault.name, fault.make()), fault.touched)
    failed = [each for each in ended if each.verdict is not Verdict.PASSED]
    assert failed
    for each in failed:
        assert each.verdict is Verdict.FAILED
        assert each.failure is not None
        assert each.case is not None
        if not isinstance(each.case.steps[len(each.steps) - 1], Crash):
            # No read has shown it: what the later call breaks comes first, and behind it what the kill broke.
            assert "killed at" in each.failure.text
            assert set(each.failure.requirements) & set(fault.requirements)
            continue
        assert each.failure.requirement in fault.requirements
        assert any(isinstance(step, Crash) for step in each.case.steps)
    assert any(each.failure is not None and each.failure.requirement in fault.requirements for each in failed)
    assert failed[0].case is not None
    with StoreUnderTest.of(Right(contract)()) as store:
        assert run_case(store, failed[0].case).verdict is Verdict.PASSED


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_specification_on_a_file_is_right(contract: str) -> None:
    touched = frozenset(name for each, fault in FAULTS if each == contract for name in fault.touched)
    ended = swept(
        Right(contract)(),
        touched | {"transaction", "open"},
        lambda each: each.operation in touched or each.is_nearest,
    )
    assert len(ended) > len(touched)
    assert {each.verdict for each in ended} == {Verdict.PASSED}
    events: list[Event] = []
    with StoreUnderTest.of(Right(contract)()) as store:
        run_part(DAMAGED_FILES, store, Options(), events.append)
    assert not [event for event in events if isinstance(event, CaseEnded)]
    assert any(isinstance(event, Tallied) for event in events)
