"""Stable names for values that a store may choose as it likes: ``claim#1`` for the first claim id that appears.

Two runs with one seed then give the same report, also on a store with random ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

import attrs
from attrs import define, field, frozen

FIELDS: Final = {
    "workload_id": "workload",
    "job_id": "job",
    "claim_id": "claim",
    "attempt_id": "attempt",
    "lease_id": "lease",
    "input_hash": "hash",
    "output_hash": "hash",
    "fencing_token": "token",
    "version": "version",
}
"""Members whose values a store chooses, with the word that stands for them."""

COUNTER: Final = 10_000
"""Smaller tokens and versions count something; they repeat, and a reader wants to see their order."""
SHORT: Final = 6
"""A shorter text is replaced only where it stands in one of `FIELDS`: elsewhere it may mean something else."""


@frozen(eq=False)
class Names:
    """The names of one failure. Ask `renamed` for values and `text` for sentences that hold such values."""

    _of: Mapping[str, str]
    _numbers: Mapping[int, str]
    _pattern: re.Pattern[str] | None

    def renamed(self, value: Any, member: str = "") -> Any:
        """A plain value with opaque texts (and large tokens) replaced; ``member`` is the one that holds it."""
        if isinstance(value, Mapping):
            return {self.text(name): self.renamed(inner, name) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.renamed(inner, member) for inner in value]
        if isinstance(value, str):
            return self._of[value] if value in self._of and (member in FIELDS or len(value) >= SHORT) else value
        if member in FIELDS and isinstance(value, int) and value in self._numbers:
            return self._numbers[value]
        return value

    def text(self, sentence: str) -> str:
        """A sentence with every opaque value in it replaced."""
        if self._pattern is None:
            return sentence
        return self._pattern.sub(lambda found: self._of[found.group()], sentence)


@define(eq=False)
class _Namer:
    """Numbers the values of each kind in the order in which they appear."""

    authored: frozenset[str]
    of: dict[str, str] = field(factory=dict)
    numbers: dict[int, str] = field(factory=dict)
    _counts: dict[str, int] = field(factory=dict)

    def see(self, member: str, value: Any) -> None:
        kind = FIELDS[member]
        if isinstance(value, str):
            if value and value not in self.authored and value not in self.of:
                self.of[value] = self._next(kind)
        elif type(value) is int and abs(value) > COUNTER and value not in self.numbers:
            self.numbers[value] = self._next(kind)

    def _next(self, kind: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}#{self._counts[kind]}"


def names(appearing: Iterable[Any], authored: Iterable[Any] = ()) -> Names:
    """Name every opaque value.

    Args:
        appearing: values in which they stand, in the order of appearance: carriers or plain values.
        authored: values that somebody wrote down, as in a case; what stands there is the same in each run and
            keeps its text.
    """
    namer = _Namer(frozenset(_texts(authored)))
    for value in appearing:
        for member, found in _members(value, ""):
            namer.see(member, found)
    long = sorted((value for value in namer.of if len(value) >= SHORT), key=lambda value: (-len(value), value))
    pattern = "|".join(map(re.escape, long))
    whole = re.compile(f"(?<![0-9A-Za-z])(?:{pattern})(?![0-9A-Za-z])") if long else None
    return Names(namer.of, namer.numbers, whole)


def _members(value: Any, member: str) -> Iterator[tuple[str, Any]]:
    """Every value of a member in `FIELDS`. Mappings by name, so that their order of building does not show."""
    if isinstance(value, Mapping):
        for name in sorted(value, key=str):
            yield from _members(value[name], str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _members(inner, member)
    elif isinstance(value, BaseException):
        return
    elif attrs.has(type(value)):
        for each in attrs.fields(type(value)):
            yield from _members(getattr(value, each.name), each.name)
    elif member in FIELDS and not isinstance(value, Enum | bool):
        yield member, value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for inner in value:
            yield from _texts(inner)
    elif attrs.has(type(value)):
        for each in attrs.fields(type(value)):
            yield from _texts(getattr(value, each.name))
