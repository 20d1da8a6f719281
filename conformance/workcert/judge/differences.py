"""Comparing what the model expects with what a store showed, member by member."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from operator import attrgetter
from types import NoneType
from typing import Any, Final

import attrs
from attrs import frozen

from workcert.judge.presumed import FURTHER, PRESUMED
from workspec.core.choice import UNSEEN

ORDINALS = frozenset({"sequence"})
"""Members whose own values a store may choose, as long as they rise (G-16)."""

_LEAVES: Final = frozenset({str, int, bool, float, bytes, frozenset, NoneType})


@frozen
class Difference:
    """One member that differs. ``path`` as in ``attempts[0].status``."""

    path: str
    expected: Any
    seen: Any

    @property
    def member(self) -> str:
        """The first member of the path: what an effect says that it writes."""
        return self.path.split(".")[0].split("[")[0]


def differences(expected: Any, seen: Any) -> tuple[Difference, ...]:
    """Every member of ``expected`` that ``seen`` does not equal, as far as it shows it."""
    return () if _identical(expected, seen) else tuple(_walk("", expected, seen))


def _identical(expected: Any, seen: Any) -> bool:
    """True only for the same values of the same types throughout: the common case, without the paths. False says
    nothing."""
    if expected is seen:
        return True
    kind = type(expected)
    if kind in _LEAVES:
        if kind is type(seen) or (kind is str and isinstance(seen, str)):
            return bool(expected == seen)
        return False
    if kind is not type(seen) or issubclass(kind, StrEnum):
        # The names of a vocabulary are texts, whether a store answers with its members or with their values.
        return isinstance(expected, StrEnum) and isinstance(seen, str) and str.__eq__(expected, seen) is True
    if kind is dict:
        if expected.keys() != seen.keys():
            return False
        pairs = zip(expected.values(), map(seen.__getitem__, expected), strict=True)
    elif kind is list or kind is tuple:
        if len(expected) != len(seen):
            return False
        pairs = zip(expected, seen, strict=True)
    else:
        members = _members_of(kind)
        if members is None:
            return False
        pairs = zip(members(expected), members(seen), strict=True)
    for mine, other in pairs:
        # Most members are leaves: asked here, they cost no call.
        if mine is other or (type(mine) is type(other) and type(mine) in _LEAVES and mine == other):
            continue
        if not _identical(mine, other):
            return False
    return True


_NAMES: Final[dict[type[Any], tuple[str, ...] | None]] = {}
_MEMBERS: Final[dict[type[Any], Callable[[Any], tuple[Any, ...]] | None]] = {}


def _names_of(kind: type[Any]) -> tuple[str, ...] | None:
    """The members of a carrier that are compared, None for any other type."""
    if kind not in _NAMES:
        members = attrs.fields(kind) if attrs.has(kind) else None
        _NAMES[kind] = None if members is None else tuple(each.name for each in members if each.name not in ORDINALS)
    return _NAMES[kind]


def _members_of(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]] | None:
    """A function from a carrier to the values of its members."""
    if kind not in _MEMBERS:
        names = _names_of(kind)
        # With one name an attrgetter gives no tuple, and with none there is no attrgetter.
        several = None if names is None or len(names) < 2 else attrgetter(*names)
        _MEMBERS[kind] = several if names is None or several else _each_of(names)
    return _MEMBERS[kind]


def _each_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda carrier: tuple(getattr(carrier, name) for name in names)


def _walk(path: str, expected: Any, seen: Any) -> Iterator[Difference]:
    if seen is UNSEEN or expected is UNSEEN or isinstance(expected, PRESUMED) or _identical(expected, seen):
        return
    names = _names_of(type(expected))
    if names is not None:
        yield from _members(path, names, expected, seen)
    elif isinstance(expected, Mapping):
        yield from _mapping(path, expected, seen)
    elif isinstance(expected, frozenset) and _is_set(seen):
        if frozenset(seen) != expected:
            yield Difference(path, expected, seen)
    elif isinstance(expected, list | tuple):
        yield from _items(path, expected, seen)
    elif not _same(expected, seen):
        yield Difference(path, expected, seen)


def _members(path: str, names: Sequence[str], expected: Any, seen: Any) -> Iterator[Difference]:
    if not isinstance(seen, type(expected)):
        yield Difference(path, expected, seen)
        return
    for name in names:
        inner = f"{path}.{name}" if path else name
        yield from _walk(inner, getattr(expected, name), getattr(seen, name))


def _mapping(path: str, expected: Mapping[str, Any], seen: Any) -> Iterator[Difference]:
    if not isinstance(seen, Mapping):
        yield Difference(path, expected, seen)
        return
    names = {*expected, *seen}
    if FURTHER in expected:
        names = expected.keys() - {FURTHER}
    for name in sorted(names):
        inner = f"{path}.{name}"
        if name not in seen or name not in expected:
            yield Difference(inner, expected.get(name, "(absent)"), seen.get(name, "(absent)"))
        else:
            yield from _walk(inner, expected[name], seen[name])


def _is_set(seen: Any) -> bool:
    """A store may answer with a list where the vocabulary has a set, of texts as all sets here are."""
    return (
        isinstance(seen, list | tuple | set)
        and all(isinstance(each, str) for each in seen)
        and len(set(seen)) == len(seen)
    )


def _items(path: str, expected: Sequence[Any], seen: Any) -> Iterator[Difference]:
    if isinstance(seen, str) or not isinstance(seen, Sequence):
        yield Difference(path, expected, seen)
        return
    for index in range(max(len(expected), len(seen))):
        inner = f"{path}[{index}]"
        if index >= len(expected) or index >= len(seen):
            yield Difference(
                inner,
                expected[index] if index < len(expected) else "(absent)",
                seen[index] if index < len(seen) else "(absent)",
            )
        else:
            yield from _walk(inner, expected[index], seen[index])


def _same(expected: Any, seen: Any) -> bool:
    if isinstance(expected, Enum):
        expected = expected.value
    if isinstance(seen, Enum):
        seen = seen.value
    if isinstance(expected, bool) != isinstance(seen, bool):
        return False
    # 1 and 1.0 are equal in Python and different in JSON.
    if isinstance(expected, float) != isinstance(seen, float):
        return False
    return bool(expected == seen)
