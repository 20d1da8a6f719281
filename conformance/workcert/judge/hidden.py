"""What a store does not show: it puts `UNSEEN` there, and is judged by the rest.

A path names a member as an invariant does: ``result.output``, ``attempts[].status`` (of every element).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import attrs
from attrs import define, field

from workcert.judge.differences import Difference, differences
from workcert.judge.sameness import LEAVES
from workspec.core.choice import UNSEEN


def is_whole(value: Any) -> bool:
    """Nothing of it is hidden, at any depth."""
    if isinstance(value, list | tuple):
        return all(map(is_whole, value))
    if isinstance(value, (dict, Mapping)):
        return all(map(is_whole, value.values()))
    if attrs.has(type(value)):
        return all(is_whole(getattr(value, member.name)) for member in attrs.fields(type(value)))
    return value is not UNSEEN


def shows(value: Any, paths: Sequence[str]) -> bool:
    """Every one of these members of a carrier is shown, as far as there is one."""
    return all(_shows(value, _steps(path)) for path in paths)


@define
class Showing:
    """`shows` for one carrier and many questions: each path is looked up once."""

    value: Any
    _found: dict[str, bool] = field(factory=dict)

    def __call__(self, paths: Sequence[str]) -> bool:
        found = self._found
        for path in paths:
            if path not in found:
                found[path] = _shows(self.value, _steps(path))
        return all(found[path] for path in paths)


@cache
def _steps(path: str) -> tuple[tuple[str, bool], ...]:
    """Names with whether every element of the list in that member is meant."""
    return tuple((name.removesuffix("[]"), name.endswith("[]")) for name in path.split("."))


def _shows(value: Any, steps: tuple[tuple[str, bool], ...]) -> bool:
    for position, (name, each) in enumerate(steps):
        if value is UNSEEN or value is None:
            return value is None
        value = getattr(value, name, None)
        if each and value is not UNSEEN:
            return all(_shows(element, steps[position + 1 :]) for element in value)
    if type(value) in LEAVES:
        return True
    if isinstance(value, (dict, Mapping)):
        return all(member is not UNSEEN for member in value.values())
    return value is not UNSEEN


def as_far_as_both(before: Any, after: Any) -> tuple[Any, Any]:
    """Two values with everything left out that either leaves out, so that comparing them speaks of the rest."""
    if before is UNSEEN or after is UNSEEN:
        return UNSEEN, UNSEEN
    if type(before) is type(after) and attrs.has(type(before)):
        names = [member.name for member in attrs.fields(type(before))]
        pairs = {name: as_far_as_both(getattr(before, name), getattr(after, name)) for name in names}
        first, second = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
        return attrs.evolve(before, **first), attrs.evolve(after, **second)
    if isinstance(before, (dict, Mapping)) and isinstance(after, Mapping):
        pairs = {name: as_far_as_both(before[name], after[name]) for name in before.keys() & after.keys()}
        first, second = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
        return {**before, **first}, {**after, **second}
    if isinstance(before, tuple) and isinstance(after, tuple):
        # What one of them has beyond the other differs, whatever it shows.
        elements = [as_far_as_both(*pair) for pair in zip(before, after, strict=False)]
        earlier, later = ([pair[side] for pair in elements] for side in (0, 1))
        return (*earlier, *before[len(elements) :]), (*later, *after[len(elements) :])
    return before, after


def unordered_differences(expected: Any, seen: Any) -> tuple[Difference, ...]:
    """What two lists differ in, of which the order says nothing. Rows of which the id is not shown cannot be put in
    order by it: each then stands beside one that it does not differ from."""
    found = differences(expected, seen)
    if not found or not isinstance(expected, list | tuple) or not isinstance(seen, list | tuple) or is_whole(seen):
        return found
    return differences(list(expected), _in_the_order_of(expected, seen))


def _in_the_order_of(expected: Sequence[Any], seen: Sequence[Any]) -> list[Any]:
    left = list(seen)
    places: list[list[Any]] = []
    for wanted in expected:
        index = next((i for i, other in enumerate(left) if not differences(wanted, other)), None)
        places.append([] if index is None else [left.pop(index)])
    for place in places:
        if not place and left:
            place.append(left.pop(0))
    return [element for place in places for element in place] + left
