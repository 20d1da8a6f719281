"""Grades as they are kept: what became of each seeded fault under one specification, without a single duration.

They are made by ``workcert faults CONTRACT --write`` and lie beside this module, so that a certificate can say what
its effort is worth, and a failing store can be laid beside faults that are known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import frozen

FORMAT: Final = 1
CAUGHT: Final = ("caught", "flaky", "refused")
"""The fates of a fault that a run does not end well with: exit code 1, or 2 where an adapter is called a liar."""
EQUIVALENT: Final = "equivalent"
SURVIVED: Final = "survived"


@frozen
class Grade:
    """``requirements``: the ids of the rule that was made wrong. ``suite`` found it, under ``requirement``, after
    ``calls`` steps, with a shrunk case of ``length``. ``signature``: every requirement that its tours break.
    ``proof``: where the fault shows nothing, the configurations in which that is so. ``tier`` and ``cause``: of a fault
    of the field, see `Fault`."""

    name: str
    kind: str
    requirements: tuple[str, ...]
    fate: str
    suite: str = ""
    requirement: str = ""
    calls: int = 0
    length: int = 0
    signature: tuple[str, ...] = ()
    proof: str = ""
    tier: str = ""
    cause: str = ""

    @property
    def caught(self) -> bool:
        return self.fate in CAUGHT

    @property
    def named(self) -> bool:
        """The failure names a requirement of the rule that is wrong."""
        return self.caught and self.requirement in self.requirements


@frozen
class Grades:
    contract: str
    version: str
    digest: str
    effort: str
    seed: int
    faults: tuple[Grade, ...]

    def of(self, fates: Iterable[str]) -> tuple[Grade, ...]:
        wanted = set(fates)
        return tuple(grade for grade in self.faults if grade.fate in wanted)


def as_text(grades: Grades) -> str:
    """One line for each fault, so that a change of a grade is one line of a difference."""
    head = {name: value for name, value in attrs.asdict(grades, recurse=False).items() if name != "faults"}
    lines = [json.dumps({"format": FORMAT, **head}, ensure_ascii=False)]
    lines += [json.dumps(_plain(grade), ensure_ascii=False) for grade in grades.faults]
    return "\n".join(lines) + "\n"


def _plain(grade: Grade) -> Mapping[str, Any]:
    """Members that say nothing are left out."""
    return {name: value for name, value in attrs.asdict(grade).items() if value not in ("", 0, ())}


def parse(text: str) -> Grades:
    """The grades of a file.

    Raises:
        ValueError: no such file was ever written by `as_text`.
    """
    first, *lines = text.splitlines()
    head = json.loads(first)
    if head.pop("format", None) != FORMAT:
        raise ValueError("grades of another format")
    return Grades(**head, faults=tuple(_grade(json.loads(line)) for line in lines))


def _grade(members: dict[str, Any]) -> Grade:
    lists = {name: tuple(value) for name, value in members.items() if isinstance(value, list)}
    return Grade(**{**members, **lists})


def place(contract: str) -> Path:
    """Where the grades of a contract are kept in a checkout."""
    return Path(str(resources.files("workcert.faults").joinpath("graded", f"{contract}.jsonl")))


@cache
def kept(contract: str) -> Grades | None:
    """The grades that came with the kit, None where there are none."""
    found = resources.files("workcert.faults").joinpath("graded", f"{contract}.jsonl")
    return parse(found.read_text(encoding="utf-8")) if found.is_file() else None
