"""The tours that ship with the kit: one case file for each, and a list of what each shows.

``workcert search CONTRACT --all --write`` makes them anew; they carry the digest of the rules that they were made from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from workcert.cases.library import builtin_cases
from workcert.cases.model import Case
from workcert.cases.parse import parse
from workcert.cases.write import write
from workcert.search.targets import Target

FOLDER: Final = "made"
INDEX: Final = "index.json"
SUFFIX: Final = ".jsonl"


@frozen(eq=False)
class Tour:
    """``targets``: what this tour shows, and none of those before it that need no more of a store. ``requirements``:
    the ids of all that takes part."""

    case: Case
    targets: tuple[Target, ...]
    requirements: tuple[str, ...]


@cache
def tours(contract: str) -> tuple[Tour, ...]:
    """The tours of a contract, in their order; none where there are none.

    Raises:
        CaseError: a damaged installation.
    """
    folder = resources.files("workcert.tour").joinpath(FOLDER, contract)
    index = folder.joinpath(INDEX)
    if not index.is_file():
        return ()
    listed = json.loads(index.read_text(encoding="utf-8"))["tours"]
    return tuple(_read(folder, each) for each in listed)


def every_case(contract: str) -> tuple[Case, ...]:
    """All cases of a contract that come with the kit: those that people wrote, then the tours."""
    return (*builtin_cases(contract), *(tour.case for tour in tours(contract)))


def _read(folder: Any, listed: dict[str, Any]) -> Tour:
    file = folder.joinpath(f"{listed['name']}{SUFFIX}")
    case = parse(file.read_text(encoding="utf-8"), str(file))
    targets = tuple(Target(kind, tuple(name)) for kind, *name in listed["targets"])
    return Tour(case, targets, tuple(listed["requirements"]))


def place(contract: str) -> Path:
    """Where the tours of a contract lie in a checkout."""
    return Path(str(resources.files("workcert.tour").joinpath(FOLDER, contract)))


def keep(found: Sequence[Tour], unreached: Sequence[Target], digest: str, folder: Path) -> None:
    """Write tours in place of those that are there.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"*{SUFFIX}"):
        old.unlink()
    listed = []
    for tour in found:
        name = tour.case.header.name.partition("/")[2]
        (folder / f"{name}{SUFFIX}").write_text(write(tour.case), encoding="utf-8", newline="\n")
        targets = [[target.kind, *target.name] for target in tour.targets]
        listed.append({"name": name, "targets": targets, "requirements": list(tour.requirements)})
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in listed)
    left = json.dumps([[target.kind, *target.name] for target in unreached], ensure_ascii=False)
    text = f'{{"digest": {json.dumps(digest)},\n"unreached": {left},\n"tours": [\n{lines}\n]}}\n'
    (folder / INDEX).write_text(text, encoding="utf-8", newline="\n")


@cache
def index_of(contract: str) -> dict[str, Any]:
    """The list of a contract's tours as it is kept; empty where there is none."""
    index = resources.files("workcert.tour").joinpath(FOLDER, contract, INDEX)
    return dict(json.loads(index.read_text(encoding="utf-8"))) if index.is_file() else {}
