"""Verdicts, statuses and exit codes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from attrs import evolve

from workcert.backends.registry import describe
from workcert.cases import builtin_cases
from workcert.report import Collector, ContractVerdict, Status, build, exit_code
from workcert.report.build import base_name, decide_verdict
from workcert.report.failures import failure_of
from workcert.report.model import ContractReport, FailureReport, RequirementResult
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, SuiteStarted, Verdict
from workspec.core.choice import OTHER

from .report_samples import (
    LATE,
    SCENARIOS,
    Wrapped,
    WrongBackend,
    backend_answering,
    case,
    collected,
    events_of,
    late_heartbeat,
    report_of,
    specification,
)

FULL = Options()


def result(status: Status, provisional: bool = False, exercised: int = 1) -> RequirementResult:
    return RequirementResult(
        "WRK-CLM-01", "Claim", "rule", "CORE", status, exercised, None, "text", "0" * 16, "", provisional
    )


def failure(provisional: bool = False) -> FailureReport:
    ended = next(e for e in events_of(backend_answering(late_heartbeat), [case(*LATE)]) if isinstance(e, CaseEnded))
    return evolve(failure_of(specification().binding, ended), provisional=provisional)


FAILURE = failure()


@pytest.mark.parametrize(
    ("narrowed", "error", "failed", "unknown", "idle", "unshown"), list(product((False, True), repeat=6))
)
def test_the_verdict_of_every_combination(
    narrowed: bool, error: bool, failed: bool, unknown: bool, idle: bool, unshown: bool
) -> None:
    results = (result(Status.PASSED), *([result(Status.NOT_EXERCISED, exercised=0)] if idle else []))
    verdict, reason = decide_verdict(
        narrowed=narrowed,
        error="the disk is gone" if error else "",
        failures=(FAILURE,) if failed else (),
        unknown=int(unknown),
        results=results,
        asked=results,
        unshown=("DURABLE",) if unshown else (),
    )
    if failed:
        assert verdict is (ContractVerdict.FAILED if narrowed else ContractVerdict.NOT_CONFORMANT)
        assert reason == ("the run broke off: the disk is gone" if error else "")
        return
    if error:
        assert verdict is ContractVerdict.COULD_NOT_RUN
    elif narrowed:
        assert verdict is (ContractVerdict.COULD_NOT_RUN if unknown else ContractVerdict.PASSED_IN_PART)
    elif unknown or idle or unshown:
        assert verdict is ContractVerdict.INCOMPLETE
    else:
        assert verdict is ContractVerdict.CONFORMANT
    speaks = verdict in (ContractVerdict.INCOMPLETE, ContractVerdict.COULD_NOT_RUN)
    assert bool(reason) == speaks


@pytest.mark.parametrize("narrowed", [False, True])
def test_a_provisional_requirement_decides_nothing(narrowed: bool) -> None:
    for status in (Status.FAILED, Status.FLAKY, Status.NOT_EXERCISED):
        results = (result(Status.PASSED), result(status, provisional=True))
        verdict, _ = decide_verdict(
            narrowed=narrowed,
            error="",
            failures=(evolve(FAILURE, provisional=True),),
            unknown=0,
            results=results,
            asked=results,
            unshown=(),
        )
        assert verdict is (ContractVerdict.PASSED_IN_PART if narrowed else ContractVerdict.CONFORMANT)


@pytest.mark.parametrize("beside", [(), (result(Status.PASSED),)], ids=["alone", "beside what was not asked for"])
def test_a_narrowed_run_that_exercised_nothing_of_it_did_not_pass(beside: tuple[RequirementResult, ...]) -> None:
    asked = (result(Status.NOT_EXERCISED, exercised=0),)
    verdict, reason = decide_verdict(
        narrowed=True,
        error="",
        failures=(),
        unknown=0,
        results=(*asked, *beside),
        asked=asked,
        unshown=(),
    )
    assert verdict is ContractVerdict.COULD_NOT_RUN
    assert "nothing" in reason


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (ContractVerdict.CONFORMANT, 0),
        (ContractVerdict.PASSED_IN_PART, 0),
        (ContractVerdict.NOT_CONFORMANT, 1),
        (ContractVerdict.INCOMPLETE, 1),
        (ContractVerdict.FAILED, 1),
        (ContractVerdict.COULD_NOT_RUN, 2),
    ],
)
def test_exit_codes(verdict: ContractVerdict, code: int) -> None:
    report = evolve(report_of(specification(), []), verdict=verdict)
    assert exit_code(report) == code
    assert exit_code(report, evolve(report, verdict=ContractVerdict.CONFORMANT)) == code
    unable = evolve(report, verdict=ContractVerdict.COULD_NOT_RUN)
    proven = verdict in (ContractVerdict.NOT_CONFORMANT, ContractVerdict.FAILED)
    assert exit_code(report, unable) == (1 if proven else 2)
    assert exit_code() == 2


# Statuses --------------------------------------------------------------------------------------------------------


def status_of(report: ContractReport, identifier: str) -> tuple[Status, str]:
    found = next(each for each in report.requirements if each.id == identifier)
    return found.status, found.reason


def all_cases(backend: Any, options: Options = FULL) -> ContractReport:
    return report_of(backend, builtin_cases("workload"), options)


def test_all_scenarios_of_the_specification() -> None:
    report = all_cases(specification(), SCENARIOS)
    assert report.verdict is ContractVerdict.PASSED_IN_PART
    assert report.profiles_passed == ()
    assert report.tier is None
    assert not report.is_certificate
    assert status_of(report, "WRK-ADM-08")[0] is Status.NOT_ASSERTED
    assert status_of(report, "WRK-MWR-01") == (Status.DEFINITION, "")
    assert status_of(report, "WRK-CLM-05") == (Status.PASSED, "")
    passed = [each for each in report.requirements if each.status is Status.PASSED]
    assert all(each.exercised for each in passed)


def test_what_is_not_claimed_says_why() -> None:
    report = all_cases(specification(profiles=frozenset({"CORE"}), abilities=frozenset()))
    assert status_of(report, "WRK-MIG-01") == (Status.NOT_CLAIMED, "the backend does not claim MIGRATION")
    report = all_cases(specification(abilities=frozenset({"second_handle", "restart", "inject"})))
    assert status_of(report, "WRK-MWR-05") == (Status.NOT_CLAIMED, "the backend lacks the ability pause")
    assert "WRITERS" in report.profiles_passed


def test_a_claimed_profile_without_its_method_has_not_passed() -> None:
    class NoMigration(Wrapped):
        def __getattr__(self, name: str) -> Any:
            if name == "migrate":
                raise AttributeError(name)
            return super().__getattr__(name)

        def __dir__(self) -> list[str]:
            return [*dir(self.inner), *(n for n in specification().binding.calls.calls if n != "migrate")]

    class Backend(WrongBackend):
        def open(self, place: Any, config: Any) -> Any:
            return NoMigration(self.right.open(place, config), self.wrong)

    right = specification().adapter
    report = all_cases(describe("less", Backend(right, lambda _name, answer: answer)))
    assert status_of(report, "WRK-MIG-01") == (Status.NOT_CLAIMED, "the store has no migrate")
    assert "MIGRATION" in report.profiles_claimed
    assert "MIGRATION" not in report.profiles_passed
    assert report.tier == "shared"
    assert report.verdict is ContractVerdict.INCOMPLETE
    assert "MIGRATION" in report.reason


def test_what_depends_on_a_choice_declared_elsewhere_is_not_asserted() -> None:
    report = report_of(specification(choices={"G-24.checkpoint-heartbeat": OTHER}), [])
    status, reason = status_of(report, "WRK-CKP-03")
    assert status is Status.NOT_ASSERTED
    assert "G-24.checkpoint-heartbeat" in reason
    choice = next(choice for choice in report.choices if choice.id == "G-24.checkpoint-heartbeat")
    assert (choice.value, choice.declared) == (OTHER, True)
    assert [choice.id for choice in report.choices if choice.declared] == ["G-24.checkpoint-heartbeat"]


def test_failed_outweighs_passed_and_flaky_fails_too() -> None:
    events = events_of(backend_answering(late_heartbeat), [case(*LATE)])
    failed = build(specification(), FULL, collected(events))
    broken = failed.failures[0].requirement
    assert status_of(failed, broken)[0] is Status.FAILED
    assert failed.verdict is ContractVerdict.NOT_CONFORMANT
    flaky = [
        evolve(event, verdict=Verdict.FLAKY, reproduced=(1, 3)) if isinstance(event, CaseEnded) else event
        for event in events
    ]
    report = build(specification(), FULL, collected(flaky))
    assert status_of(report, broken) == (Status.FLAKY, "flaky, 1 of 3")
    assert report.verdict is ContractVerdict.NOT_CONFORMANT
    assert build(specification(), SCENARIOS, collected(flaky)).verdict is ContractVerdict.FAILED


def test_a_timeout_is_never_a_failure() -> None:
    hung = CaseEnded(
        "scenarios", "workload/x", Verdict.UNKNOWN, case(), ("WRK-CLM-01",), reason="no answer in 30 seconds"
    )
    report = build(specification(), FULL, collected([SuiteStarted("workload", "scenarios", 1), hung]))
    assert report.verdict is ContractVerdict.INCOMPLETE
    assert status_of(report, "WRK-CLM-01") == (Status.NOT_EXERCISED, "no answer in 30 seconds")
    assert report.suites[0].unknown == 1
    assert report.left_out[0].verdict == "unknown"


def test_a_run_that_broke_off_could_not_run() -> None:
    report = build(specification(), FULL, Collector(), "the directory is not empty")
    assert (report.verdict, report.reason) == (ContractVerdict.COULD_NOT_RUN, "the directory is not empty")
    assert report.tier is None
    events = events_of(backend_answering(late_heartbeat), [case(*LATE)])
    report = build(specification(), FULL, collected(events), "the directory is gone")
    assert (report.verdict, report.reason) == (
        ContractVerdict.NOT_CONFORMANT,
        "the run broke off: the directory is gone",
    )
    assert not report.is_certificate
    assert report.profiles_passed == ()


def test_a_run_of_some_requirements_reports_these_and_what_failed() -> None:
    options = Options(only=("WRK-CLM",))
    report = report_of(specification(), [case(*LATE)], options)
    assert {each.id[:7] for each in report.requirements} == {"WRK-CLM"}
    report = build(specification(), options, collected(events_of(backend_answering(late_heartbeat), [case(*LATE)])))
    assert report.failures[0].requirement in {each.id for each in report.requirements}


def test_a_suite_of_examples_is_no_case() -> None:
    ended = CaseEnded("stateful", "stateful", Verdict.PASSED)
    report = build(specification(), FULL, collected([SuiteStarted("workload", "stateful", 5), ended]))
    assert (report.suites[0].cases, report.suites[0].passed) == (0, 0)


def test_the_name_of_a_backend_holds_no_directory() -> None:
    assert base_name("/home/me/adapter.py:BACKEND") == "adapter.py:BACKEND"
    assert base_name("package.module:BACKEND") == "package.module:BACKEND"
    assert base_name("sqlite") == "sqlite"
