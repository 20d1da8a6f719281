"""Keeping failing cases when nobody asked for a report, so that the printed command finds them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from workcert.report import FailureReport

KEPT: Final = Path(".workcert")


def keep_cases(failures: Iterable[FailureReport], directory: Path = KEPT) -> str:
    """Save the cases below a directory; what went wrong, empty if nothing did. A directory that cannot be written loses
    the cases, not the verdict."""
    for failure in failures:
        if failure.case_file is None:
            continue
        path = directory / failure.case_file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in failure.case_lines), encoding="utf-8")
        except OSError as error:
            return f"The case could not be saved as {path}: {error.strerror or error}"
    return ""
