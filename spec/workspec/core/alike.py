"""Records that are alike but for when everything happened, or but for names: moved in time, and renamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, Final

import attrs

Instants = Mapping[type, tuple[str, ...]]
"""By type, its members that are instants."""


_PLAIN: Final = frozenset({str, int, bool, NoneType, bytes, float})


@cache
def members_of(kind: type) -> tuple[str, ...]:
    """The names of the members of a type of values, none where it has no named ones."""
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else ()


@cache
def members_read_by(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of all members of a value of a type, in their order."""
    names = members_of(kind)
    # With one name alone an attribute getter gives no tuple, and with none there is no such getter.
    return attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)


def shifted(value: Any, by: int, instants: Instants) -> Any:
    """The value as if everything in it had happened so much later, in the unit of its instants.

    Instants that events wrote down as text stay as they were; no rule reads them.
    """
    if by == 0:
        return value
    return _rebuilt(
        value, lambda part: shifted(part, by, instants), lambda kind, part: _later(kind, part, by, instants)
    )


def _later(kind: type, members: dict[str, Any], by: int, instants: Instants) -> dict[str, Any]:
    moved = {name: members[name] + by for name in instants.get(kind, ()) if members[name] is not None}
    return {**members, **moved}


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with other names: each text that is one of ``names`` is changed, and each part between slashes."""
    if type(value) is str:
        return _other_name(value, names)
    return _rebuilt(value, lambda part: renamed(part, names), lambda _kind, members: _named(members, names))


def _named(members: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {name: _other_name(part, names) if type(part) is str else part for name, part in members.items()}


def _other_name(text: str, names: Mapping[str, str]) -> str:
    if text in names or "/" not in text:
        return names.get(text, text)
    return "/".join(names.get(part, part) for part in text.split("/"))


def _rebuilt(value: Any, inner: Callable[[Any], Any], members: Callable[[type, dict[str, Any]], dict[str, Any]]) -> Any:
    """A value of the same shape with each part replaced by what ``inner`` makes of it."""
    kind = type(value)
    if kind in _PLAIN or value == ():
        return value
    names = members_of(kind)  # type: ignore[arg-type]
    if names:
        found = {name: part if type(part := getattr(value, name)) in _PLAIN else inner(part) for name in names}
        return kind(**members(kind, found))
    if isinstance(value, Mapping):
        return {inner(key): inner(part) for key, part in value.items()}
    if kind in (tuple, list, frozenset):
        return kind(inner(part) for part in value)
    return value
