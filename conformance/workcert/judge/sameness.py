"""Whether two values are the same throughout: the common case of comparing what a store showed, without the paths.

It runs over every record that is read back, member by member, so that it is written for speed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import StrEnum
from types import NoneType
from typing import Any, Final, TypeAlias

import attrs

ORDINALS = frozenset({"sequence"})
"""Members whose own values a store may choose, as long as they rise (G-16)."""

LEAVES: Final = frozenset({str, int, bool, float, bytes, frozenset, NoneType})
_ABSENT: Final = object()
_Test: TypeAlias = Callable[[Any, Any], bool]


def identical(expected: Any, seen: Any) -> bool:
    """True only for the same values of the same types throughout. False says nothing."""
    if expected is seen:
        return True
    kind = type(expected)
    if kind is type(seen):
        return _TESTS[kind](expected, seen)
    # The names of a vocabulary are texts, whether a store answers with its members or with their values.
    named = kind is str or isinstance(expected, StrEnum)
    return named and str.__eq__(expected, seen) is True


def _same_items(expected: dict[Any, Any], seen: dict[Any, Any]) -> bool:
    if len(expected) != len(seen):
        return False
    for name, mine in expected.items():
        other = seen.get(name, _ABSENT)
        # Most are texts: asked here, they cost no call.
        if mine is other or (type(mine) is str and type(other) is str and mine == other):
            continue
        if other is _ABSENT or not identical(mine, other):
            return False
    return True


def _same_elements(expected: list[Any] | tuple[Any, ...], seen: list[Any] | tuple[Any, ...]) -> bool:
    return len(expected) == len(seen) and all(map(identical, expected, seen))


def _never(_expected: Any, _seen: Any) -> bool:
    return False


_NAMES: Final[dict[type[Any], tuple[str, ...] | None]] = {}


def names_of(kind: type[Any]) -> tuple[str, ...] | None:
    """The members of a carrier that are compared, None for any other type."""
    if kind not in _NAMES:
        members = attrs.fields(kind) if attrs.has(kind) else None
        _NAMES[kind] = None if members is None else tuple(each.name for each in members if each.name not in ORDINALS)
    return _NAMES[kind]


class _Tests(dict[type[Any], _Test]):
    """By type, whether two values of it that are not one object are the same; made at the first that is met."""

    def __missing__(self, kind: type[Any]) -> _Test:
        self[kind] = found = self._test_of(kind)
        return found

    def _test_of(self, kind: type[Any]) -> _Test:
        if kind in LEAVES:
            return operator.eq
        if kind is dict:
            return _same_items
        if kind is list or kind is tuple:
            return _same_elements
        names = names_of(kind)
        return _never if names is None else _same_members(names)


_TESTS: Final = _Tests()


def _same_members(names: tuple[str, ...]) -> _Test:
    """Written out for each type, as attrs writes its own ``==``: a loop over the members takes twice as long. Only
    members of two types cost a call of `identical`."""
    tests = (
        f"((mine := expected.{name}) is (other := seen.{name})"
        " or (tests[kind](mine, other) if (kind := type(mine)) is type(other) else identical(mine, other)))"
        for name in names
    )
    source = f"lambda expected, seen: {' and '.join(tests) or 'True'}"
    found: _Test = eval(source, {"identical": identical, "tests": _TESTS, "type": type})
    return found
