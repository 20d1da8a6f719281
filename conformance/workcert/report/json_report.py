"""The report for programs: JSON of the schema that is shipped beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import attrs

import workcert
from workcert.report.coverage import summary
from workcert.report.model import COUNTED, FORMAT, ContractReport, count

SCHEMA_FILE: Final = "report.schema.json"


@cache
def schema() -> Any:
    """The JSON Schema (2020-12) of a report."""
    return json.loads(files("workcert.report").joinpath(SCHEMA_FILE).read_text(encoding="utf-8"))


def json_text(reports: Sequence[ContractReport]) -> str:
    """One report of one or several contracts. The footer counts what stands before it: a file that was cut, or put
    together from two, does not fit its footer."""
    certificate = bool(reports) and all(report.is_certificate for report in reports)
    document = {
        "header": {
            "format": FORMAT,
            "kind": "certificate" if certificate else "report",
            "kit": workcert.__version__,
        },
        "contracts": [contract_json(report) for report in reports],
        "footer": {
            "contracts": len(reports),
            "requirements": sum(len(report.requirements) for report in reports),
            "failures": sum(len(report.failures) for report in reports),
            "complete": True,
        },
    }
    return f"{_written(document, '')}\n"


def contract_json(report: ContractReport) -> dict[str, Any]:
    """The part of one contract."""
    tables = attrs.asdict(report.coverage)
    return {
        "contract": report.contract,
        "version": report.version,
        "digest": report.digest,
        "backend": report.backend,
        "verdict": str(report.verdict),
        "reason": report.reason,
        "tier": report.tier,
        "profiles": {
            "claimed": list(report.profiles_claimed),
            "passed": list(report.profiles_passed),
            "offered": list(report.profiles_offered),
        },
        "abilities": list(report.abilities),
        "choices": [attrs.asdict(choice) for choice in report.choices],
        "run": {
            "seed": report.seed,
            "effort": report.effort,
            "examples": report.examples_asked,
            "suites": list(report.suites_asked),
            "only": list(report.only),
            "narrowed": report.narrowed,
        },
        **({} if report.toured is None else {"toured": attrs.asdict(report.toured)}),
        **({"adversity": [attrs.asdict(each) for each in report.adversity]} if report.adversity else {}),
        **({} if report.strength is None else {"strength": attrs.asdict(report.strength)}),
        "counts": {str(status): count(report.requirements, status) for status in COUNTED},
        "suites": [attrs.asdict(suite) for suite in report.suites],
        "requirements": [attrs.asdict(result) for result in report.requirements],
        "failures": [attrs.asdict(failure) for failure in report.failures],
        # A store that passes looks like no fault; its certificate does not say so.
        **({"looks_like": [attrs.asdict(each) for each in report.looks_like]} if report.failures else {}),
        "left_out": [attrs.asdict(case) for case in report.left_out],
        "coverage": {"summary": [attrs.asdict(line) for line in summary(report.coverage)], **tables},
    }


def _written(value: Any, indent: str) -> str:
    """JSON that a person can compare line by line: what holds no further lists or objects stands on one line."""
    inner = f"{indent}  "
    if isinstance(value, dict) and any(isinstance(member, dict | list | tuple) for member in value.values()):
        members = (f"{inner}{_line(name)}: {_written(member, inner)}" for name, member in value.items())
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list | tuple) and any(isinstance(member, dict | list | tuple) for member in value):
        return "[\n" + ",\n".join(f"{inner}{_written(member, inner)}" for member in value) + f"\n{indent}]"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
