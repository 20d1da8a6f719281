"""The failing report that the README shows is what a real run prints."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases import builtin_cases
from workcert.cli.kept import KEPT, kept_failures
from workcert.faults.changes import with_relation
from workcert.report import failure_text
from workcert.run.engine import Options, select

from .report_samples import report_of

README = Path(__file__).parents[2] / "README.md"
WIDTH = 116
"""With the indent of a block of code, a line of the README."""


def sample() -> str:
    """What ``workcert certify wrong_adapter.py:BACKEND --suite scenarios --only WRK-CLM-06`` prints first of the store
    that the README speaks of."""
    workload = bindings()["workload"]
    wrong = with_relation("now < next_attempt_at", "<=", "claim")(workload.contract)
    backend = describe("wrong_adapter.py:BACKEND", of(workload, wrong))
    options = Options(suites=("scenarios",), only=("WRK-CLM-06",))
    report = report_of(backend, select(builtin_cases("workload"), options.only, backend), options)
    lead = kept_failures(report.failures)[0]
    return failure_text(lead, backend.name, directory=KEPT, width=WIDTH)


def test_the_readme_shows_what_is_printed() -> None:
    if not README.is_file():
        pytest.skip("the README is not beside an installed kit")
    shown = textwrap.indent(sample(), "    ", lambda line: line.strip() != "")
    assert shown in README.read_text(encoding="utf-8"), f"write this into the README:\n{shown}"


def test_the_sample_says_what_the_readme_explains() -> None:
    text = sample()
    assert "needed because" in text
    assert "lease_ms=1+" in text
    assert "not_before=0*" not in text
