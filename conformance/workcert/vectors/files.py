"""Writing vectors: a file for each case, the schema of their lines, and a page that says how to run them.

One file for each case, since that is what test runners of other languages take for one test: it passes or fails
alone, under the name of the case, and a changed rule shows as a difference in the files that it concerns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from workcert.binding import Binding, bindings
from workcert.cases.model import Case
from workcert.tour.library import every_case
from workcert.vectors.page import page
from workcert.vectors.vector import LeftOut, vector_of

SCHEMA_FILE: Final = "vectors.schema.json"
PAGE_FILE: Final = "VECTORS.md"
SUFFIX: Final = ".jsonl"
OF_A_PROFILE: Final = "cases of a profile that was not asked for"


@frozen
class Exported:
    """What was written of one contract. ``vectors``: the names of the cases; ``steps``: of all of them."""

    contract: str
    version: str
    vectors: tuple[str, ...]
    steps: int
    left_out: tuple[LeftOut, ...]

    def reasons(self) -> Sequence[tuple[str, int]]:
        """Why cases were left out, and how many for each reason; the most frequent first."""
        return Counter(each.reason for each in self.left_out).most_common()


@cache
def schema() -> Any:
    """The JSON Schema (2020-12) of one line."""
    return json.loads(_schema_text())


def _schema_text() -> str:
    return files("workcert.vectors").joinpath(SCHEMA_FILE).read_text(encoding="utf-8")


def export(bindings: Iterable[Binding], directory: Path, profiles: Sequence[str] | None = None) -> tuple[Exported, ...]:
    """Write the vectors of these contracts, the schema and the page; the same bytes on every run. What an earlier
    export has left in the directory goes first, so that a runner takes nothing that was not asked for.

    Args:
        profiles: only cases that need none but CORE and these; None: all.

    Raises:
        OSError: the directory cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _remove_older(directory)
    _write(directory / SCHEMA_FILE, _schema_text())
    exported = tuple(_contract(binding, directory, profiles) for binding in bindings)
    _write(
        directory / PAGE_FILE, page([(each.contract, each.version, len(each.vectors), each.steps) for each in exported])
    )
    return exported


def _remove_older(directory: Path) -> None:
    """The schema is written first: where there is one, the vectors beside it are of an export, whole or broken off."""
    if not (directory / SCHEMA_FILE).is_file():
        return
    (directory / PAGE_FILE).unlink(missing_ok=True)
    for contract in bindings():
        for path in (directory / contract).rglob(f"*{SUFFIX}"):
            path.unlink()


def strangers(exported: Iterable[Exported], directory: Path) -> Iterator[Path]:
    """Files of lines where the vectors are that no export wrote: a runner would take them for vectors."""
    known = {place_of(directory, each.contract, name) for each in exported for name in each.vectors}
    for contract in bindings():
        yield from sorted(path for path in (directory / contract).rglob(f"*{SUFFIX}") if path not in known)


def place_of(directory: Path, contract: str, name: str) -> Path:
    """The file of a vector: names of cases are lower-case words with folders, safe on every file system."""
    return directory / contract / f"{name.removeprefix(f'{contract}/')}{SUFFIX}"


def _contract(binding: Binding, directory: Path, profiles: Sequence[str] | None) -> Exported:
    vectors: list[str] = []
    steps = 0
    left_out: list[LeftOut] = []
    for case in every_case(binding.name):
        made = LeftOut(case.header.name, OF_A_PROFILE) if _of_others(case, profiles) else vector_of(binding, case)
        if isinstance(made, LeftOut):
            left_out.append(made)
            continue
        _write(place_of(directory, binding.name, made.name), made.text())
        vectors.append(made.name)
        steps += len(made.steps)
    return Exported(binding.name, binding.contract.version, tuple(vectors), steps, tuple(left_out))


def _of_others(case: Case, profiles: Sequence[str] | None) -> bool:
    return profiles is not None and not set(case.header.profiles) <= {"CORE", *profiles}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
