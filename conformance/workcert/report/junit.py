"""The report for build servers: JUnit XML, one test case for each counted requirement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from workcert.report.failure_text import failure_text
from workcert.report.model import ContractReport, ContractVerdict, FailureReport, RequirementResult, Status

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may hold."""
_SKIPPED: Final = (Status.NOT_EXERCISED, Status.NOT_CLAIMED)


def junit_text(reports: Sequence[ContractReport]) -> str:
    """A suite for each contract. A requirement that was not exercised is *skipped*, with the reason; where that makes
    the verdict *incomplete*, or nothing could run, or the run broke off, an error of its own says so, so that no server
    shows a pass."""
    root = Element("testsuites", name="workcert")
    for report in reports:
        _suite(root, report)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, report: ContractReport) -> None:
    counted = report.counted
    unsettled = report.broke_off or report.verdict in (ContractVerdict.INCOMPLETE, ContractVerdict.COULD_NOT_RUN)
    failed = [result for result in counted if _gating_failure(result)]
    skipped = [result for result in counted if result.status in _SKIPPED or _provisional_failure(result)]
    suite = SubElement(
        root,
        "testsuite",
        name=_clean(f"{report.contract} {report.version} on {report.backend}"),
        tests=str(len(counted) + unsettled),
        failures=str(len(failed)),
        errors=str(int(unsettled)),
        skipped=str(len(skipped)),
    )
    _properties(suite, report)
    if unsettled:
        case = SubElement(suite, "testcase", classname=f"workcert.{report.contract}", name="verdict")
        SubElement(case, "error", message=_clean(f"{report.verdict}: {report.reason}"))
    for result in counted:
        _case(suite, report, result)


def _properties(suite: Element, report: ContractReport) -> None:
    properties = SubElement(suite, "properties")
    values = {
        "verdict": str(report.verdict),
        "digest": report.digest,
        "tier": report.tier or "",
        "profiles claimed": " ".join(report.profiles_claimed),
        "profiles passed": " ".join(report.profiles_passed),
        "seed": str(report.seed),
        "effort": report.effort,
        **{f"{s.name} cases": str(s.cases) for s in report.suites},
        **{f"{s.name} examples": str(s.examples) for s in report.suites},
        **{f"{s.name} steps": str(s.steps) for s in report.suites},
    }
    for name, value in values.items():
        SubElement(properties, "property", name=_clean(name), value=_clean(value))


def _case(suite: Element, report: ContractReport, result: RequirementResult) -> None:
    family = re.sub(r"[^\w]+", "_", result.family).strip("_")
    case = SubElement(suite, "testcase", classname=f"workcert.{report.contract}.{family}", name=result.id)
    properties = SubElement(case, "properties")
    SubElement(properties, "property", name="exercised", value=str(result.exercised))
    SubElement(properties, "property", name="profile", value=result.profile)
    if _gating_failure(result):
        found = [failure for failure in report.failures if failure.requirement == result.id]
        failure = SubElement(case, "failure", message=_clean(_message(result, found)), type=str(result.status))
        failure.text = _clean("\n\n".join(failure_text(each, report.backend, directory="") for each in found))
    elif _provisional_failure(result):
        SubElement(case, "skipped", message=_clean(f"provisional, {result.status}: decides nothing yet"))
    elif result.status in _SKIPPED:
        word = str(result.status).replace("_", " ")
        SubElement(case, "skipped", message=_clean(f"{word}: {result.reason}"))


def _gating_failure(result: RequirementResult) -> bool:
    return result.status in (Status.FAILED, Status.FLAKY) and not result.provisional


def _provisional_failure(result: RequirementResult) -> bool:
    return result.status in (Status.FAILED, Status.FLAKY) and result.provisional


def _message(result: RequirementResult, found: Sequence[FailureReport]) -> str:
    flaky = f"{result.reason}: " if result.reason else ""
    return flaky + (found[0].text if found else result.text)


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
