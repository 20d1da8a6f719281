"""Earlier instants and shorter waits; time never begins to run backwards by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

from workcert.cases.model import Call, Case, Transaction
from workcert.shrink.attempt import Attempt
from workcert.shrink.edits import changed, find, leaves, with_leaf

INSTANTS: Final = frozenset({"created_at", "not_before", "scheduled_at_ms", "at_ms"})
"""Members of arguments that are instants on the same line of time as ``at``."""
OMITTED_AT_ZERO: Final = frozenset({"scheduled_at_ms"})
"""Those of them whose zero is no instant."""


def lower_times(attempt: Attempt) -> None:
    """All instants earlier by the same; then each wait between two of them; then each call by itself."""
    line = _line(attempt.case)
    if not line:
        return
    attempt.take(_moved(attempt.case, lambda at: at - line[0]))
    for wait in (0, 1):
        if attempt.take(evenly_spaced(attempt.case, wait)):
            break
    position = 1
    while position < len(_line(attempt.case)):
        _shorten_wait(attempt, position)
        position += 1
    for leaf in leaves(attempt.case.steps):
        if isinstance(leaf, Call) and leaf.at is not None:
            _advance(attempt, leaf)


def evenly_spaced(case: Case, wait: int) -> Case:
    """The same order of instants with the same wait between each two; with 0 all happens at once."""
    line = _line(case)
    return _moved(case, lambda at: line[0] + line.index(at) * wait)


def _shorten_wait(attempt: Attempt, position: int) -> None:
    line = _line(attempt.case)
    before = line[position - 1]

    def candidate(case: Case, wait: int) -> Case | None:
        after = next((at for at in _line(case) if at > before), None)
        if after is None:
            return None
        earlier = after - before - wait
        return _moved(case, lambda at: at if at <= before else at - earlier)

    attempt.lowest(0, line[position] - before, candidate)


def _advance(attempt: Attempt, leaf: Call) -> None:
    at = leaf.at or 0
    earlier = [t for t in instants_before(attempt.case, leaf.id) if t <= at]

    def candidate(case: Case, instant: int) -> Case | None:
        present = find(case, leaf.id)
        return None if present is None else with_leaf(case, attrs.evolve(present, at=instant))

    if earlier and earlier[-1] < at:
        attempt.lowest(earlier[-1], at, candidate)


def instants_before(case: Case, leaf_id: str) -> Iterator[int]:
    """Those of the calls that are written before this one."""
    for leaf in leaves(case.steps):
        if leaf.id == leaf_id:
            return
        if isinstance(leaf, Call) and leaf.at is not None:
            yield leaf.at


def _line(case: Case) -> list[int]:
    """Every instant of the case, once, in order of time."""
    found: set[int] = set()

    def note(at: int) -> int:
        found.add(at)
        return at

    _moved(case, note)
    return sorted(found)


def _moved(case: Case, move: Callable[[int], int]) -> Case:
    def leaf_moved(leaf: Any) -> Any:
        if not isinstance(leaf, Call):
            return leaf
        at = None if leaf.at is None else move(leaf.at)
        return attrs.evolve(leaf, at=at, args=_members_moved(leaf.args, move))

    def step_moved(step: Any) -> Any:
        return attrs.evolve(step, at=move(step.at)) if isinstance(step, Transaction) else step

    moved = changed(case, leaf_moved)
    return attrs.evolve(moved, steps=tuple(step_moved(step) for step in moved.steps))


def _members_moved(value: Any, move: Callable[[int], int]) -> Any:
    if isinstance(value, list):
        return [_members_moved(each, move) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: move(each) if _is_instant(name, each) else _members_moved(each, move) for name, each in value.items()}


def _is_instant(name: str, value: Any) -> bool:
    return name in INSTANTS and type(value) is int and not (value == 0 and name in OMITTED_AT_ZERO)
