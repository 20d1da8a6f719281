"""Which failures are taken for one fault, and how a report shows them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from jsonschema import Draft202012Validator

from workcert.backends.registry import LoadedBackend, describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases import load_case
from workcert.cli.certify import MOST_WHOLE, failure_texts
from workcert.faults.changes import both, with_relation, without
from workcert.judge.cause import Cause, cause_of
from workcert.judge.differences import Difference
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.report import groups, json_text, markdown_text, schema
from workcert.report.failure_text import need_table
from workcert.report.groups import Causes, named
from workcert.report.model import ContractReport, FailureReport, Status, StepRow
from workcert.run.calling import Answered, Crashed, Refusal
from workspec.core.interpreter import Accepted, Refused
from workspec.core.scope import Trace

from .report_samples import report_of

SHOWING = (
    "workload/05-not-before-and-replay",
    "workload/38a-queue-deadline-at-claim",
    "workload/10-back-off-before-the-next-claim",
    "workload/clm-08b-dependency-and-deadline",
    "workload/48a-rearm-past-the-overall-deadline",
)


def two_faults() -> LoadedBackend:
    """A bound that is off by one, and a check that is not made."""
    workload = bindings()["workload"]
    changed = both(with_relation("now < next_attempt_at", "<=", "claim"), without("WRK-CLM-02"))
    return describe("two", of(workload, changed(workload.contract)))


@pytest.fixture(scope="module")
def report() -> ContractReport:
    return report_of(two_faults(), [load_case(name) for name in SHOWING])


# The rule --------------------------------------------------------------------------------------------------------


def cause(call: str = "claim", expected: Any = None, observed: Any = None, **failure: Any) -> Cause:
    given = {"requirements": ("WRK-CLM-01",), "kind": Kind.ANSWER, "text": "wrong", **failure}
    trace = Trace(fired=["enter", "claim: refuse WRK-CLM-05"])
    run = StepRun("c1", "A", 11, call, {}, observed, expected or Accepted(None), traces=(trace,))
    return cause_of(Failure(**given), (run,))


def test_a_broken_promise_is_one_cause_in_every_operation() -> None:
    broken = {"kind": Kind.PROMISE, "text": "PRAGMA synchronous gives 0 on a connection that committed"}
    assert cause("claim", **broken) == cause("start", **broken)
    assert cause("claim", **broken) != cause("claim", **{**broken, "text": "PRAGMA journal_mode gives 'off'"})


def test_the_requirement_that_is_named_does_not_count() -> None:
    assert cause() == cause(requirements=("WRK-FNC-01", "WRK-CLM-01"))


def test_operation_kind_and_members_tell_causes_apart() -> None:
    member = (Difference("claims[0].expires_at", 1, 2),)
    different = [cause(), cause("start"), cause(kind=Kind.CRASH), cause(kind=Kind.RECORD, differences=member)]
    assert len(set(different)) == len(different)
    assert cause(differences=member) == cause(differences=(Difference("claims[3].expires_at", 8, 9),))


def test_of_a_refusal_that_is_not_given_the_rule_counts_and_not_what_comes_instead() -> None:
    right = Refused("NOT_READY", {})
    assert cause(expected=right, observed=Answered(None)) == cause(expected=right, observed=Refusal("GONE", {}, "GONE"))
    assert cause(expected=right) != cause(expected=Refused("GONE", {}))
    other_details = cause(expected=right, observed=Refusal("NOT_READY", {"x": 1}, "NOT_READY"))
    assert other_details != cause(expected=right, observed=Answered(None))
    crashed = Crashed("KeyError", KeyError("x"))
    assert cause(expected=right, observed=crashed) != cause(expected=right, observed=Answered(None))


def test_of_a_call_that_succeeds_what_comes_instead_counts() -> None:
    refused = cause(observed=Refusal("GONE", {}, "GONE"))
    assert refused != cause(observed=Refusal("NOT_READY", {}, "NOT_READY"))
    assert refused != cause(observed=Answered(None))


def test_invariants_are_told_apart_by_their_names() -> None:
    assert cause(kind=Kind.INVARIANT) != cause(kind=Kind.INVARIANT, requirements=("WRK-INV-02",))


def test_a_failure_that_was_not_seen_again_has_its_requirement_for_a_cause() -> None:
    first, second = (Failure((name,), Kind.ANSWER, "") for name in ("WRK-CLM-01", "WRK-CLM-02"))
    assert cause_of(first, ()) != cause_of(second, ())


# Groups ----------------------------------------------------------------------------------------------------------


def test_the_one_that_was_shrunk_leads(report: ContractReport) -> None:
    found = report.failures[0]
    first, second, flaky = (
        evolve(found, case="a", executions=0, group=""),
        evolve(found, case="b", executions=9, group=""),
        evolve(found, case="c", executions=9, flaky=True, group=""),
    )
    one, other = (Cause(operation, "answer", "", "", ()) for operation in ("claim", "start"))
    marked = named((flaky, first, second), (Causes(one), Causes(one), Causes(one)))
    assert {each.group for each in marked} == {second.name}
    assert [group.lead.case for group in groups(marked)] == ["b"]
    apart = named((first, second, flaky), (Causes(one), Causes(other), Causes(None)))
    assert [group.others for group in groups(apart)] == [(), (), ()]


def test_two_causes_that_shrink_to_one_are_one(report: ContractReport) -> None:
    found = report.failures[0]
    first, second, third = (evolve(found, case=name, group="") for name in "abc")
    a, b = (Cause(operation, "answer", "", "", ()) for operation in ("claim", "start"))
    assert len(groups(named((first, second), (Causes(a, a), Causes(b))))) == 2
    assert len(groups(named((first, second, third), (Causes(a, a), Causes(b, a), Causes(b))))) == 1


def test_two_faults_make_two_groups(report: ContractReport) -> None:
    found = groups(report.failures)
    assert [(group.lead.requirement, len(group.others)) for group in found] == [("WRK-CLM-06", 1), ("WRK-CLM-02", 2)]
    assert all(group.lead.executions for group in found)
    assert all(not other.executions for group in found for other in group.others if other.requirement == "WRK-CLM-06")


def test_requirements_are_counted_one_by_one(report: ContractReport) -> None:
    failed = {result.id for result in report.requirements if result.status is Status.FAILED}
    assert failed == {failure.requirement for failure in report.failures}


def test_a_group_is_printed_as_one_failure_and_a_line_for_each_other(report: ContractReport) -> None:
    texts = list(failure_texts(report, "two.py:BACKEND", None))
    assert sum("needed because" in text for text in texts) == 2
    assert texts[1].splitlines() == [
        "1 further failure of the same cause:",
        "  WRK-CLM-06  workcert replay workload/10-back-off-before-the-next-claim two.py:BACKEND",
    ]
    assert texts[3].startswith("2 further failures of the same cause:")


def test_after_so_many_causes_the_rest_is_named(report: ContractReport) -> None:
    many = tuple(alone(report.failures[0], str(number)) for number in range(MOST_WHOLE + 2))
    *whole, last = failure_texts(evolve(report, failures=many), "two.py:BACKEND", None)
    assert len(whole) == MOST_WHOLE
    assert last.splitlines()[0] == "2 failures of 2 further causes:"


def alone(failure: FailureReport, case: str) -> FailureReport:
    return evolve(failure, case=case, group="")


def test_every_file_has_the_groups(report: ContractReport) -> None:
    document = json.loads(json_text([report]))
    assert list(Draft202012Validator(schema()).iter_errors(document)) == []
    failures = document["contracts"][0]["failures"]
    names = {f"{each['requirement']} {each['case']}" for each in failures}
    assert {each["group"] for each in failures} < names
    assert failures[0]["steps"][0]["needed"] == "c1 uses its answer"
    assert "c1.args.lease_ms" in failures[0]["least"]
    text = markdown_text([report])
    assert text.count("#### WRK-") == 2
    assert "1 further failure of the same cause:\n\n- WRK-CLM-06, workload/10-back-off-before-the-next-claim: `" in text
    assert "needed because" in text


# Many ------------------------------------------------------------------------------------------------------------


def many(report: ContractReport, number: int) -> ContractReport:
    """A report of one failure and so many others of its cause, each in a case of its own."""
    lead, other = groups(report.failures)[0].lead, groups(report.failures)[0].others[0]
    others = [evolve(other, case=f"jobs/{place}", case_file=f"cases/{place}.jsonl") for place in range(number)]
    return evolve(report, failures=(lead, *others))


@pytest.mark.parametrize(("number", "named", "left"), [(10, 10, 0), (11, 10, 1), (482, 10, 472)])
def test_ten_of_a_cause_are_named_and_the_others_counted(
    report: ContractReport, number: int, named: int, left: int
) -> None:
    whole = many(report, number)
    [_lead, text] = list(failure_texts(whole, "a.py:B", None))
    assert text.startswith(f"{number} further failures of the same cause:")
    page = markdown_text([whole])
    assert text.count("workcert replay") <= named
    assert len(text.splitlines()) == 1 + named + bool(left)
    assert page.count(".jsonl`") == named
    for each in (text, page):
        assert (f"and {left} more, which break WRK-" in each) == bool(left)
    assert len(json.loads(json_text([whole]))["contracts"][0]["failures"]) == number + 1


def test_steps_in_a_row_with_one_reason_share_a_line() -> None:
    def row(identifier: str, needed: str) -> StepRow:
        return StepRow("1", identifier, "0", "A", "enqueue", "", "", "", "", needed=needed)

    alike = [row(f"s{number}", "without it x passes") for number in range(3, 63)]
    rows = [row("s1", "x uses its answer"), row("s2", "x uses its answer"), *alike, row("x", "")]
    lines = [" ".join(line.split()) for line in need_table(rows).splitlines()]
    assert lines == [
        "step needed because",
        "s1 x uses its answer",
        "s2 x uses its answer",
        "s3 to s62 each of these 60: without it x passes",
    ]
