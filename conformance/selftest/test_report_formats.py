"""The files of a report: schema, JUnit, Markdown, and writing them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from attrs import evolve
from jsonschema import Draft202012Validator

from workcert.cases import builtin_cases, load_case
from workcert.report import (
    Collector,
    ContractVerdict,
    ReportError,
    build,
    json_text,
    junit_text,
    markdown_text,
    of_an_older_run,
    schema,
    summary_text,
    timings,
    verdict_line,
    write_reports,
)
from workcert.report.model import ContractReport, Status
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Verdict

from .report_samples import (
    LATE,
    SCENARIOS,
    backend_answering,
    case,
    collected,
    events_of,
    late_heartbeat,
    report_of,
    specification,
)


@pytest.fixture(scope="module")
def passed() -> ContractReport:
    """All scenarios on a store that is right, as if the run had been a full one."""
    return report_of(specification(), builtin_cases("workload"), Options())


@pytest.fixture(scope="module")
def failed() -> ContractReport:
    return report_of(backend_answering(late_heartbeat), [case(*LATE)], Options())


@pytest.fixture(scope="module")
def flaky() -> ContractReport:
    events = [
        evolve(event, verdict=Verdict.FLAKY, reproduced=(2, 3)) if isinstance(event, CaseEnded) else event
        for event in events_of(backend_answering(late_heartbeat), [case(*LATE)])
    ]
    return build(specification(), Options(), collected(events))


@pytest.fixture(scope="module")
def less() -> ContractReport:
    """A store that claims little: cases are skipped, requirements not claimed."""
    backend = specification(profiles=frozenset({"CORE"}), abilities=frozenset())
    return report_of(backend, builtin_cases("workload"), SCENARIOS)


@pytest.fixture(scope="module")
def broken_off() -> ContractReport:
    return build(specification(), Options(), Collector(), "no space is left")


@pytest.fixture(params=["passed", "failed", "flaky", "less", "broken_off"])
def report(request: pytest.FixtureRequest) -> ContractReport:
    found: ContractReport = request.getfixturevalue(request.param)
    return found


# JSON ------------------------------------------------------------------------------------------------------------


def test_the_schema_is_sound() -> None:
    Draft202012Validator.check_schema(schema())


def errors(document: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema()).iter_errors(document)]


def test_every_report_fits_the_schema(report: ContractReport) -> None:
    document = json.loads(json_text([report]))
    assert errors(document) == []
    assert errors(json.loads(json_text([report, report]))) == []
    assert document["footer"]["requirements"] == len(document["contracts"][0]["requirements"])
    assert document["footer"]["failures"] == len(document["contracts"][0]["failures"])


def test_a_file_that_was_cut_or_added_to_does_not_fit(failed: ContractReport) -> None:
    for name in ("header", "contracts", "footer"):
        document = json.loads(json_text([failed]))
        del document[name]
        assert errors(document)
    document = json.loads(json_text([failed]))
    document["contracts"][0]["seconds"] = 1.5
    assert errors(document)
    with pytest.raises(json.JSONDecodeError):
        json.loads(json_text([failed])[:-3])


def test_the_counts_add_up(report: ContractReport) -> None:
    counts = json.loads(json_text([report]))["contracts"][0]["counts"]
    assert sum(counts.values()) == len(report.counted)
    assert len(report.counted) == sum(requirement.counted for requirement in specification().binding.contract.catalogue)


def test_only_a_full_run_is_called_a_certificate(
    passed: ContractReport, less: ContractReport, broken_off: ContractReport
) -> None:
    kinds = [json.loads(json_text([each]))["header"]["kind"] for each in (passed, less, broken_off)]
    assert kinds == ["certificate", "report", "report"]
    assert json.loads(json_text([passed, less]))["header"]["kind"] == "report"


def test_the_shrunk_case_in_a_report_is_a_case_file(failed: ContractReport, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    path.write_text("".join(f"{line}\n" for line in failed.failures[0].case_lines), encoding="utf-8")
    assert load_case(path).header.requirements == (failed.failures[0].requirement,)


# JUnit -----------------------------------------------------------------------------------------------------------


def test_junit_has_one_test_case_for_each_counted_requirement(report: ContractReport) -> None:
    root = ElementTree.fromstring(junit_text([report]).encode())
    suite = root.find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    names = [each.get("name") for each in cases if each.get("name") != "verdict"]
    assert names == [result.id for result in report.counted]
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(attribute, "")) == sum(1 for each in cases if each.find(tag) is not None)
    assert int(suite.get("tests", "")) == len(cases)
    for result in report.counted:
        element = next(each for each in cases if each.get("name") == result.id)
        skipped = element.find("skipped")
        assert (skipped is not None) == (result.status in (Status.NOT_EXERCISED, Status.NOT_CLAIMED))
        assert skipped is None or result.reason in skipped.get("message", "")
        assert (element.find("failure") is not None) == (result.status in (Status.FAILED, Status.FLAKY))


def test_no_build_server_takes_an_unsettled_run_for_a_pass(broken_off: ContractReport, passed: ContractReport) -> None:
    idle = evolve(passed, verdict=ContractVerdict.INCOMPLETE, reason="1 claimed requirement was not exercised")
    for report in (broken_off, idle):
        root = ElementTree.fromstring(junit_text([report]).encode())
        assert root.find("./testsuite/testcase[@name='verdict']/error") is not None


def test_a_failure_in_junit_is_the_whole_text_for_a_person(flaky: ContractReport) -> None:
    element = ElementTree.fromstring(junit_text([flaky]).encode()).find(".//failure")
    assert element is not None
    assert element.get("message", "").startswith("flaky, 2 of 3")
    assert element.text is not None
    assert "*flaky 2 of 3*" in element.text
    assert "workcert replay cases/" in element.text


def test_what_no_xml_may_hold_is_replaced(failed: ContractReport) -> None:
    nasty = evolve(failed, failures=(evolve(failed.failures[0], text="a\x00b\x1b[31m\ufffe ]]> <x>"),))
    ElementTree.fromstring(junit_text([nasty]).encode())


# Markdown --------------------------------------------------------------------------------------------------------


def test_markdown_says_the_verdict_first(passed: ContractReport, less: ContractReport) -> None:
    assert markdown_text([passed]).startswith("# Certificate\n\n## workload 1.0 on specification: conformant\n\n")
    text = markdown_text([less])
    assert text.startswith("# Report\n\n## workload 1.0 on specification: passed in part\n\n")
    assert "it certifies nothing" in text


def test_markdown_has_its_parts_in_order(failed: ContractReport, less: ContractReport) -> None:
    text = markdown_text([failed])
    parts = ["## workload", "| Tier |", "### Requirements", "### Failures", "### Claimed and not exercised"]
    parts += ["### Not asserted", "### Coverage\n", "### All requirements", "### Coverage tables", "#### Comparisons"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert f"workcert replay cases/{failed.failures[0].requirement}-1.jsonl wrong" in text
    text = markdown_text([less])
    assert "- the backend does not claim MIGRATION: WRK-MIG-01" in text
    assert "### Cases left out" in text


def test_every_table_of_markdown_is_rectangular(report: ContractReport) -> None:
    for block in markdown_text([report]).split("\n\n"):
        rows = [line.replace("\\|", "") for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1, block[:200]


# Summary ---------------------------------------------------------------------------------------------------------


def test_the_summary_ends_with_the_verdict(passed: ContractReport, broken_off: ContractReport) -> None:
    text = summary_text(passed)
    assert text.splitlines()[-1] == "workload 1.0 on specification: conformant, tier complete"
    assert re.search(r"^scenarios: \d+ cases, \d+ steps$", text, re.MULTILINE)
    assert verdict_line(broken_off) == "workload 1.0 on specification: could not run (no space is left)"


# Writing ---------------------------------------------------------------------------------------------------------


def test_the_files_of_a_run(failed: ContractReport, tmp_path: Path) -> None:
    written = write_reports([failed], timings({"workload": Collector()}), tmp_path / "new" / "place")
    names = [str(path.relative_to(tmp_path / "new" / "place")) for path in written]
    assert names == [
        "certificate.json",
        "certificate.md",
        "junit.xml",
        "timings.json",
        f"cases/{failed.failures[0].requirement}-1.jsonl",
    ]
    assert sorted(path.name for path in (tmp_path / "new" / "place").iterdir()) == [
        "cases",
        *sorted(names[:4]),
    ]
    assert load_case(written[-1]).header.name == "workload/tried"
    assert set(json.loads(written[3].read_text())) == {"format", "suites", "environment"}


def test_a_narrowed_run_never_takes_the_place_of_a_certificate(
    passed: ContractReport, less: ContractReport, tmp_path: Path
) -> None:
    write_reports([passed], None, tmp_path)
    before = (tmp_path / "certificate.json").read_bytes()
    assert [path.name for path in write_reports([less], None, tmp_path)] == ["report.json", "report.md", "junit.xml"]
    assert (tmp_path / "certificate.json").read_bytes() == before
    older = ["certificate.json", "certificate.md"]
    assert [path.name for path in of_an_older_run([less], tmp_path)] == older
    assert [path.name for path in of_an_older_run([passed], tmp_path)] == ["report.json", "report.md"]


def test_a_directory_that_cannot_be_written_is_named(passed: ContractReport, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ReportError, match=r"taken/certificate\.json.*--out"):
        write_reports([passed], None, tmp_path / "taken")


def test_a_write_that_fails_leaves_the_old_file(
    passed: ContractReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "certificate.json").write_text("old")

    def refuse(*_paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ReportError, match="No space left on device"):
        write_reports([passed], None, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["certificate.json"]
    assert (tmp_path / "certificate.json").read_text() == "old"
