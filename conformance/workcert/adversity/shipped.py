"""Case files that ship with the kit, one after the other in one file for each contract, since to search for them takes
longer than to try them.

``workcert search CONTRACT --all --write`` makes them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from workcert.cases.model import Case
from workcert.cases.parse import parse
from workcert.cases.write import write

FOLDER: Final = "made"
SUFFIX: Final = ".jsonl"


def write_all(contract: str, cases: Iterable[Case], folder: Path) -> int:
    """Write cases in place of those that are there; how many.

    Raises:
        OSError: the folder cannot be written.
    """
    texts = [write(case) for case in cases]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{contract}{SUFFIX}").write_text("".join(texts), encoding="utf-8", newline="\n")
    return len(texts)


def folder_of(package: str) -> Path:
    """Where those of a package lie in a checkout, for all contracts."""
    return Path(str(resources.files(package).joinpath(FOLDER)))


@cache
def shipped(package: str, contract: str) -> tuple[Case, ...]:
    """Those of a package, in their order; none where there are none.

    Raises:
        CaseError: a damaged installation.
    """
    file = resources.files(package).joinpath(FOLDER, f"{contract}{SUFFIX}")
    return tuple(_each(file.read_text(encoding="utf-8"), str(file))) if file.is_file() else ()


def _each(text: str, source: str) -> Iterator[Case]:
    """One case file after the other."""
    lines: list[str] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        lines.append(line)
        if line.startswith('{"end"'):
            yield parse("".join(f"{each}\n" for each in lines), f"{source}, the case before line {number + 1}")
            lines.clear()
