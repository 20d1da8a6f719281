"""What the adversity suite has tried, in the report."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from workcert.report import build, json_text, markdown_text, schema
from workcert.report.model import ContractReport, Tried, TriedRow
from workcert.run.engine import Options
from workcert.run.events import Tallied

from .report_samples import collected, specification

TOLD = (
    Tallied("crashes", "claim", "points", 5),
    Tallied("crashes", "claim", "found as before", 3),
    Tallied("interleavings", "cancel", "pairs", 2),
    Tallied("crashes", "admit", "points", 4),
    Tallied("crashes", "claim", "found as before"),
)


@pytest.fixture
def report() -> ContractReport:
    return build(specification(), Options(), collected(TOLD))


def test_numbers_of_a_cell_add_up_in_the_order_in_which_they_were_told(report: ContractReport) -> None:
    assert report.adversity == (
        Tried("crashes", ("points", "found as before"), (TriedRow("claim", (5, 4)), TriedRow("admit", (4, 0)))),
        Tried("interleavings", ("pairs",), (TriedRow("cancel", (2,)),)),
    )


def test_markdown_has_a_table_for_each_part(report: ContractReport) -> None:
    text = markdown_text([report])
    assert "### Adversity" in text
    assert "#### Crashes\n\n|  | points | found as before |" in text
    assert "| admit | 4 |  |\n| all | 9 | 4 |" in text


def test_json_keeps_to_its_schema(report: ContractReport) -> None:
    document = json.loads(json_text([report]))
    Draft202012Validator(schema()).validate(document)
    (first, _second) = document["contracts"][0]["adversity"]
    assert first["rows"][0] == {"name": "claim", "counts": [5, 4]}


def test_a_report_without_the_suite_has_no_such_section() -> None:
    report = build(specification(), Options(), collected([]))
    assert "Adversity" not in markdown_text([report])
    assert "adversity" not in json.loads(json_text([report]))["contracts"][0]
