"""Like calls with like values: what one call asks for, asked for by all of its kind.

A long walk mixes policies, leases and kinds. Where one of them shows the fault in fewer steps, no deletion finds
that out, since the others would have to be changed at the same moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from workcert.cases.model import Call, Case
from workcert.codec import dumps
from workcert.references import references
from workcert.shrink.attempt import Attempt
from workcert.shrink.edits import find, leaves
from workcert.shrink.places import Path, Place, places, put
from workcert.shrink.timing import INSTANTS
from workcert.structuring import AnyJson

VALUES_AT_MOST = 3
"""Of values that differ from call to call (a priority) only the smallest are worth an execution."""

Group: TypeAlias = tuple[str, Path, bool]
"""The name of a call, the place of an argument or member, and whether it may be null there."""


def unify_values(attempt: Attempt) -> None:
    """For each argument or member that may be absent or is a number: one value for all calls of the kind."""
    for call, path, nullable in list(_groups(attempt.case)):
        for value in _values_of(attempt.case, call, path, nullable):
            if attempt.take(_with(attempt.case, call, path, value)):
                break


def _groups(case: Case) -> Iterator[Group]:
    names = {leaf.id: leaf.call for leaf in leaves(case.steps) if isinstance(leaf, Call)}
    found: dict[Group, None] = {}
    for place in places(case):
        if place.leaf in names and _counts(place):
            found[names[place.leaf], place.path, place.may_be_absent] = None
    yield from found


def _counts(place: Place) -> bool:
    if place.wanted is AnyJson or (place.path and place.path[-1] in INSTANTS):
        return False
    return place.may_be_absent or type(place.value) is int


def _values_of(case: Case, call: str, path: Path, nullable: bool) -> list[Any]:
    values: dict[str, Any] = {}
    for leaf in leaves(case.steps):
        if isinstance(leaf, Call) and leaf.call == call:
            value = _at(leaf.args, path)
            if (nullable or value is not None) and not any(references(value)):
                values[dumps(value)] = value
    numbers = values and all(type(value) is int for value in values.values())
    smallest = [0, 1] if numbers else []
    if len(values) < 2:
        return smallest
    return [*smallest, *sorted(values.values(), key=_weight)[:VALUES_AT_MOST]]


def _weight(value: Any) -> tuple[bool, int, str]:
    # A default may stand for something great, and could not be lowered afterwards.
    return (value is None, _sum(value), dumps(value))


def _sum(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_sum(each) for each in value.values())
    if isinstance(value, list):
        return sum(_sum(each) for each in value)
    return abs(value) if type(value) is int else 0


def _at(args: Any, path: Path) -> Any:
    for key in path:
        try:
            args = args[key]
        except (KeyError, IndexError, TypeError):
            return None
    return args


def _with(case: Case, call: str, path: Path, value: Any) -> Case | None:
    unified: Case | None = case
    for leaf in leaves(case.steps):
        if isinstance(leaf, Call) and leaf.call == call and unified is not None:
            present = find(unified, leaf.id)
            if isinstance(_at(present.args, path[:-1]), dict):
                unified = put(unified, Place(leaf.id, path, None, None, False), value)
    return unified
