"""Keeping failing cases when nobody asked for a report, so that the printed command finds them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from attrs import evolve

from workcert.report import FailureReport

KEPT: Final = Path(".workcert")


def kept_failures(failures: Iterable[FailureReport]) -> tuple[FailureReport, ...]:
    """The failures with names for their cases that a later run, or one beside this, does not use for another case."""
    return tuple(map(_named_by_content, failures))


def keep_cases(failures: Iterable[FailureReport], directory: Path = KEPT) -> str:
    """Save the cases below a directory; what went wrong, empty if nothing did. A directory that cannot be written loses
    the cases, not the verdict."""
    for failure in failures:
        if failure.case_file is None:
            continue
        path = directory / failure.case_file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_text_of(failure), encoding="utf-8")
        except OSError as error:
            return f"The case could not be saved as {path}: {error.strerror or error}"
    return ""


def _named_by_content(failure: FailureReport) -> FailureReport:
    if failure.case_file is None:
        return failure
    name = PurePosixPath(failure.case_file)
    content = hashlib.sha256(_text_of(failure).encode()).hexdigest()[:8]
    return evolve(failure, case_file=str(name.with_name(f"{failure.requirement}-{content}{name.suffix}")))


def _text_of(failure: FailureReport) -> str:
    return "".join(f"{line}\n" for line in failure.case_lines)
