"""Writing reports to a directory: each file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from workcert.report.json_report import json_text
from workcert.report.junit import junit_text
from workcert.report.markdown import markdown_text
from workcert.report.model import ContractReport
from workcert.report.timings import Timings, timings_text

KINDS: Final = ("certificate", "report")
"""The names of what a full run writes, and of what a narrowed one does."""


class ReportError(Exception):
    """A report cannot be written; the text says where and what to do."""


def write_reports(reports: Sequence[ContractReport], timings: Timings | None, out_dir: str | Path) -> list[Path]:
    """Write the reports of one run, and the shrunk case of each failure; the paths in the order of writing.

    A run that certifies nothing, a narrowed one for instance, is written as ``report.json`` and ``report.md``, so that
    it never takes the place of a certificate.

    Raises:
        ReportError: the directory or a file in it cannot be written.
    """
    directory = Path(out_dir)
    written: list[Path] = []
    for name, text in files(reports, timings):
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, text)
        except OSError as error:
            raise ReportError(
                f"the report cannot be written to {path}: {error.strerror or error}. "
                "Name a directory that you may write to, with --out DIR"
            ) from error
        written.append(path)
    return written


def of_an_older_run(reports: Sequence[ContractReport], out_dir: str | Path) -> list[Path]:
    """What another kind of run has left in the directory, and this one did not write: it may speak for a store that
    has changed since. It is not removed, for a certificate may have been published from there."""
    written = {name for name, _ in files(reports, None)}
    known = [Path(out_dir) / f"{kind}{suffix}" for kind in KINDS for suffix in (".json", ".md")]
    return [path for path in known if path.name not in written and path.exists()]


def files(reports: Sequence[ContractReport], timings: Timings | None) -> Iterator[tuple[str, str]]:
    """The names within the directory, and the texts."""
    name = KINDS[0] if reports and all(report.is_certificate for report in reports) else KINDS[1]
    yield f"{name}.json", json_text(reports)
    yield f"{name}.md", markdown_text(reports)
    yield "junit.xml", junit_text(reports)
    if timings is not None:
        yield "timings.json", timings_text(timings)
    for report in reports:
        for failure in report.failures:
            if failure.case_file is not None:
                yield failure.case_file, "".join(f"{line}\n" for line in failure.case_lines)


def _replace(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never a part."""
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        # A temporary file is private; a report is made with the rights of any new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
