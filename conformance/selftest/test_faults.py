"""Seeded faults: what is derived, what each shows, what is shown to be no fault, and how grades are kept."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from attrs import evolve

from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases.library import builtin_cases
from workcert.cases.model import Restart, every_step
from workcert.faults.argued import ARGUED, argued
from workcert.faults.campaign import faults_of
from workcert.faults.command import chosen
from workcert.faults.derived import derived
from workcert.faults.equivalence import proven
from workcert.faults.fault import Fault, Kind
from workcert.faults.footprint import by_the_kit, footprints
from workcert.faults.grades import CAUGHT, Grade, Grades, as_text, kept, parse
from workcert.faults.grading import Found, Suites, grade, signature
from workcert.faults.page import page
from workcert.run.case import run_case
from workcert.run.engine import Effort, Options
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workcert.search.command import CONFIGURATIONS
from workcert.tour.suite import selected
from workspec.core.contract import digest

CONTRACTS = ("workload", "jobs")
GRADED = tuple(contract for contract in CONTRACTS if kept(contract) is not None)
"""The contracts of which grades are kept."""
SAMPLE = 14
"""Faults of each contract that are graded here, evenly spread."""


@cache
def suites(contract: str) -> Suites:
    cheap = sorted(footprints(bindings()[contract], selected(contract, ())), key=lambda each: each.steps)
    return Suites((("tour", cheap),), (), Options(effort=Effort.QUICK))


def fault_named(contract: str, *parts: str) -> Fault:
    return next(fault for fault in faults_of(contract) if all(part in fault.name for part in parts))


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_rule_gives_faults_of_every_kind(contract: str) -> None:
    faults = faults_of(contract)
    kinds = Counter(fault.kind for fault in faults)
    assert len(faults) > 600
    assert set(kinds) == set(Kind)
    assert len({fault.name for fault in faults}) == len(faults)
    checks = sum(fault.kind is Kind.DROPPED_CHECK for fault in faults)
    assert checks >= sum(len(operation.checks) for operation in bindings()[contract].contract.operations)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_derived_fault_changes_the_rules_and_nothing_else(contract: str) -> None:
    right = bindings()[contract].contract
    for fault in derived(bindings()[contract]):
        assert fault.specification is not None
        assert fault.specification is not right
        same = [new is old for new, old in zip(fault.specification.operations, right.operations, strict=True)]
        assert not all(same) or fault.specification.transitions is not right.transitions
        if fault.specification.transitions is right.transitions and fault.touched:
            assert same.count(False) == 1


@pytest.mark.parametrize(
    ("contract", "number"),
    [(contract, index * len(faults_of(contract)) // SAMPLE) for contract in GRADED for index in range(SAMPLE)],
)
def test_a_grade_can_be_given_again(contract: str, number: int) -> None:
    """What the tours catch they catch each time, under the same requirement and with the same case."""
    fault = faults_of(contract)[number]
    found = grade(bindings()[contract], fault, suites(contract))
    grades = kept(contract)
    if grades is None or grades.digest != digest(bindings()[contract].contract):
        pytest.fail(f"the kept grades are of another text; run: workcert faults {contract} --write")
    known = grades.faults[number]
    assert known.name == fault.name
    if found is None:
        assert known.suite != "tour"
        return
    assert (known.suite, str(known.fate)) == ("tour", str(found.fate))
    assert (known.requirement, known.length) == (found.requirement, found.length)


def found_by_tours(contract: str, *parts: str) -> Found | None:
    return grade(bindings()[contract], fault_named(contract, *parts), suites(contract))


def test_a_right_store_is_caught_by_nothing() -> None:
    for contract in CONTRACTS:
        right = Fault("right", Kind.FIELD, (), frozenset(), lambda contract=contract: of(bindings()[contract]))
        assert grade(bindings()[contract], right, suites(contract)) is None


@pytest.mark.parametrize(
    ("contract", "parts", "requirement"),
    [
        ("workload", ("bound is moved", "claim: WRK-CLM-06", "+ 1"), "WRK-CLM-06"),
        ("jobs", ("check is dropped", "enqueue: JOB-ENQ-06"), "JOB-ENQ-06"),
        ("jobs", ("check is dropped", "ack retry: JOB-ACK-01 JOB-ACK-02"), "JOB-ACK-01"),
    ],
)
def test_a_fault_is_named_by_the_rule_that_is_wrong(contract: str, parts: tuple[str, ...], requirement: str) -> None:
    found = found_by_tours(contract, *parts)
    assert found is not None
    assert found.requirement == requirement
    assert 0 < found.length <= 5


def test_what_is_forgotten_at_a_restart_shows_after_one_alone() -> None:
    fault = fault_named("workload", "forgotten", "Facts.last_token")
    cases = builtin_cases("workload")
    restarting = [case for case in cases if any(isinstance(step, Restart) for step in every_step(case.steps))]
    still = [case for case in cases[:60] if case not in restarting]
    binding = bindings()["workload"]
    without = Suites((("scenarios", footprints(binding, still)),), (), Options())
    assert grade(binding, evolve(fault, needs=""), without) is None
    found = grade(binding, fault, Suites((("scenarios", footprints(binding, restarting)),), (), Options()))
    assert found is not None


def test_a_case_that_does_not_come_to_a_fault_is_left_out_and_counted() -> None:
    fault = fault_named("workload", "check is dropped", "acknowledge_cancel: WRK-FNC-04")
    binding = bindings()["workload"]
    every = suites("workload").of_cases[0][1]
    come = [each for each in every if each.comes_to(fault, by_the_kit(binding))]
    assert 0 < len(come) < len(every)
    found = grade(binding, fault, suites("workload"))
    assert found is not None
    alone = grade(binding, fault, Suites((("tour", come),), (), Options()))
    assert alone is not None
    assert alone.calls < found.calls
    assert (alone.requirement, alone.length) == (found.requirement, found.length)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_case_that_is_left_out_passes_on_the_faulty_store(contract: str) -> None:
    """Else a grade would hang on what is left out: of faults of every kind, every second tour that is not come to."""
    binding = bindings()[contract]
    keyed = [fault for fault in faults_of(contract) if fault.fires or fault.asks]
    by_kind = {kind: [fault for fault in keyed if fault.kind is kind] for kind in Kind}
    for fault in (faults[len(faults) // 2] for faults in by_kind.values() if faults):
        left_out = [each for each in suites(contract).of_cases[0][1] if not each.comes_to(fault, by_the_kit(binding))]
        assert left_out
        with StoreUnderTest.of(describe(fault.name, fault.make())) as store:
            assert {run_case(store, each.case).verdict for each in left_out[::2]} == {Verdict.PASSED}, fault.name


def test_a_redundant_check_is_shown_to_be_so_and_a_bound_is_not() -> None:
    faults = [
        fault_named("workload", "check is dropped", "heartbeat: WRK-FNC-02", "and the claim id is another"),
        fault_named("workload", "bound is moved", "claim: WRK-CLM-06", "+ 1"),
    ]
    fences = [each for each in CONFIGURATIONS["workload"] if each.name == "fences"]
    proofs = proven(bindings()["workload"], faults, configurations=fences)
    assert list(proofs) == [faults[0].name]
    assert "fences (" in proofs[faults[0].name]


def test_what_is_argued_is_a_fault_that_there_is() -> None:
    for contract, reasons in ARGUED.items():
        assert set(reasons) <= {fault.name for fault in faults_of(contract)}
    fault = fault_named("jobs", "stale view: set_rate_limit")
    assert list(argued("jobs", [fault, fault_named("jobs", "stale view: admit")])) == [fault.name]


def test_the_signature_holds_what_is_named_first() -> None:
    fault = fault_named("workload", "bound is moved", "claim: WRK-CLM-06", "+ 1")
    assert "WRK-CLM-06" in signature(bindings()["workload"], fault, suites("workload"))


# Grades --------------------------------------------------------------------------------------------------------------

GRADES = Grades(
    "workload",
    "1.0",
    "0123",
    "ci",
    0,
    (
        Grade("a: b", "a", ("WRK-CLM-06",), "caught", "tour", "WRK-CLM-06", 12, 2, ("WRK-CLM-06", "WRK-CLM-07")),
        Grade("a: c", "a", ("WRK-CLM-06",), "equivalent", proof="no decision differs"),
        Grade("a: d", "a", ("WRK-CLM-06",), "survived"),
    ),
)


def test_grades_are_kept_as_they_are() -> None:
    assert parse(as_text(GRADES)) == GRADES
    assert GRADES.of(CAUGHT) == GRADES.faults[:1]
    assert [grade.named for grade in GRADES.faults] == [True, False, False]
    with pytest.raises(ValueError, match="another format"):
        parse(as_text(GRADES).replace('"format": 1', '"format": 0'))


def test_the_page_tells_every_fate() -> None:
    text = page([GRADES])
    assert "| a | 3 | 1 | 1 | 1 | 2 | 2 | 1 |" in text
    assert "Survived" in text
    assert "no decision differs" in text


@pytest.mark.parametrize("contract", GRADED)
def test_nothing_survives(contract: str) -> None:
    grades = kept(contract)
    assert grades is not None
    assert grades.digest == digest(bindings()[contract].contract)
    assert [grade.name for grade in grades.faults] == [fault.name for fault in faults_of(contract)]
    assert [grade.name for grade in grades.faults if grade.fate == "survived"] == []
    assert max(grade.length for grade in grades.faults) <= 12


def test_a_sample_is_spread_evenly_and_a_wrong_name_is_told() -> None:
    faults = faults_of("jobs")
    assert len(chosen(faults, sample=10, only=())) == 10
    assert chosen(faults, sample=None, only=("stale view: renew",)) == (
        next(n for n, fault in enumerate(faults) if fault.name.endswith("stale view: renew")),
    )
    with pytest.raises(KeyError):
        chosen(faults, sample=None, only=("no such fault",))
