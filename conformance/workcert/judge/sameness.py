"""Whether two values are the same throughout: the common case of comparing what a store showed, without the paths.

It runs over every record that is read back, member by member, so that it is written for speed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from types import NoneType
from typing import Any, Final, TypeAlias

import attrs

ORDINALS = frozenset({"sequence"})
"""Members whose own values a store may choose, as long as they rise (G-16)."""

_LEAVES: Final = frozenset({str, int, bool, float, bytes, frozenset, NoneType})
_ABSENT: Final = object()
_SameMembers: TypeAlias = Callable[[Any, Any], bool]


def identical(expected: Any, seen: Any) -> bool:
    """True only for the same values of the same types throughout. False says nothing."""
    if expected is seen:
        return True
    kind = type(expected)
    if kind is not type(seen) or issubclass(kind, StrEnum):
        # The names of a vocabulary are texts, whether a store answers with its members or with their values.
        named = isinstance(expected, StrEnum) or kind is str
        return named and isinstance(seen, str) and str.__eq__(expected, seen) is True
    if kind in _LEAVES:
        return bool(expected == seen)
    if kind is dict:
        return _same_items(expected, seen)
    if kind is list or kind is tuple:
        return len(expected) == len(seen) and all(map(identical, expected, seen))
    same_members = _same_members_of(kind)
    return same_members is not None and same_members(expected, seen)


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


_NAMES: Final[dict[type[Any], tuple[str, ...] | None]] = {}
_SAME_MEMBERS: Final[dict[type[Any], _SameMembers | None]] = {}


def names_of(kind: type[Any]) -> tuple[str, ...] | None:
    """The members of a carrier that are compared, None for any other type."""
    if kind not in _NAMES:
        members = attrs.fields(kind) if attrs.has(kind) else None
        _NAMES[kind] = None if members is None else tuple(each.name for each in members if each.name not in ORDINALS)
    return _NAMES[kind]


def _same_members_of(kind: type[Any]) -> _SameMembers | None:
    """Whether two carriers of this type have the same members; None for any other type."""
    if kind not in _SAME_MEMBERS:
        names = names_of(kind)
        _SAME_MEMBERS[kind] = None if names is None else _comparison_of(names)
    return _SAME_MEMBERS[kind]


def _comparison_of(names: tuple[str, ...]) -> _SameMembers:
    """Written out for each type, as attrs writes its own ``==``: a loop over the members takes twice as long. Most of
    them are leaves or texts, and cost no call."""
    tests = (
        f"((mine := expected.{name}) is (other := seen.{name})"
        " or type(mine) in leaves and type(mine) is type(other) and mine == other"
        " or identical(mine, other))"
        for name in names
    )
    source = f"lambda expected, seen: {' and '.join(tests) or 'True'}"
    found: _SameMembers = eval(source, {"identical": identical, "leaves": _LEAVES, "type": type})
    return found
