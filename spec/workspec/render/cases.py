"""What a call writes in each case: an operation unfolded by the rows of the transition table that it can take.

A condition of a step is decided as far as the case decides it, by the guard of its row, the condition under which it
moves at all, and the state; what is left open is printed with the effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from attrs import evolve, field, frozen

from workspec.core.condition import Any_, Condition, Every, Member, Not
from workspec.core.contract import Contract
from workspec.core.rule import AnyOperation, Draw, Effect, Move, On, Step, Transition, When, checks_of

Decided: TypeAlias = "bool | str"
"""Whether a condition holds, or the text of what is left of it."""


@frozen
class Known:
    """What a case says: truth by the text of a condition, and the states in which the record may be."""

    truths: Mapping[str, bool] = field(factory=dict)
    states: tuple[str, ...] = ()
    state: str = "state"
    """The name of the term whose values ``states`` are."""

    def assuming(self, condition: Condition, holds: bool) -> Known:
        """With all that follows from this condition holding, or from its not holding."""
        if isinstance(condition, Not):
            return self.assuming(condition.part, not holds)
        if isinstance(condition, Every if holds else Any_):
            known = self
            for part in condition.parts:
                known = known.assuming(part, holds)
            return known
        if isinstance(condition, Member) and condition.of.name == self.state and self.states:
            return evolve(self, states=tuple(s for s in self.states if (s in condition.values) == holds))
        return evolve(self, truths={**self.truths, condition.text: holds})

    def decide(self, condition: Condition) -> Decided:
        if condition.text in self.truths:
            return self.truths[condition.text]
        if isinstance(condition, Every):
            return self._all(condition.parts, " and ", decisive=False)
        if isinstance(condition, Any_):
            return self._all(condition.parts, " or ", decisive=True)
        if isinstance(condition, Not):
            inner = self.decide(condition.part)
            if isinstance(inner, bool):
                return not inner
            return condition.text if inner == condition.part.text else f"not ({inner})"
        if isinstance(condition, Member) and condition.of.name == self.state and self.states:
            inside = {state in condition.values for state in self.states}
            return condition.text if len(inside) > 1 else inside.pop()
        return condition.text

    def _all(self, parts: Iterable[Condition], word: str, decisive: bool) -> Decided:
        decided = [self.decide(part) for part in parts]
        if decisive in decided:
            return decisive
        open_ones = [text for text in decided if isinstance(text, str)]
        return word.join(open_ones) if open_ones else not decisive


@frozen
class Written:
    """An effect that this case has; ``only_if`` is what the case leaves open, empty if nothing."""

    effect: Effect
    only_if: tuple[str, ...]


@frozen
class Case:
    """``record``: which record, where it is not the addressed one. ``sources`` and ``target`` are empty where the
    state stays. ``only_if``: what tells this case from the others of its operation."""

    operation: AnyOperation
    record: str
    event: str
    sources: tuple[str, ...]
    target: str
    only_if: str
    written: tuple[Written, ...]
    requirements: tuple[str, ...]


def cases_of(contract: Contract, kind_of: Callable[[str], object]) -> tuple[Case, ...]:
    """All cases of all operations that write. Rows of one event that differ in the source alone are one case where
    ``kind_of`` gives the same for their sources."""
    return tuple(
        case
        for operation in contract.operations
        for record, steps in _tracks(operation)
        for case in _cases(contract, operation, record, steps, kind_of)
    )


def _tracks(operation: AnyOperation) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """What is done when no check holds, then what checks commit all the same."""
    closing = operation.closing if isinstance(operation, Draw) else ()
    if operation.steps or closing:
        yield "", (*operation.steps, *closing)
    for check in checks_of(operation):
        committing: tuple[Step, ...] = getattr(check, "committing", ())
        plain = tuple(step for step in committing if not isinstance(step, On))
        if plain:
            yield "passed over", plain
        for step in committing:
            if isinstance(step, On):
                yield step.name, step.steps


def _moves(steps: Iterable[Step], path: tuple[Condition, ...] = ()) -> Iterator[tuple[Move, tuple[Condition, ...]]]:
    for step in steps:
        if isinstance(step, Move):
            yield step, path
        elif isinstance(step, When):
            yield from _moves(step.steps, (*path, step.condition))
        elif not isinstance(step, Effect):
            yield from _moves(step.steps, path)


def _cases(
    contract: Contract, operation: AnyOperation, record: str, steps: tuple[Step, ...], kind_of: Callable[[str], object]
) -> Iterator[Case]:
    found = list(_moves(steps))
    for event in dict.fromkeys(move.event for move, _ in found):
        for rows in _alike(contract, operation, event, kind_of):
            start = Known(states=tuple(row.source for row in rows)).assuming(rows[0].guard, True)
            path = next(path for move, path in found if move.event == event and start.decide(Every(path)) is not False)
            guard = rows[0].guard.text
            open_path = [text for text in (start.decide(part) for part in path) if isinstance(text, str)]
            known = start.assuming(Every(path), True)
            written, moves = _walk(steps, known, rows[0].target)
            yield Case(
                operation,
                record,
                event,
                known.states,
                rows[0].target,
                " and ".join((*((guard,) if guard else ()), *open_path)),
                written,
                _ids([row.requirements for row in rows], [move.requirements for move in moves], written),
            )
    known = Known(states=tuple(row.source for move, _ in found for row in _rows(contract, operation, move.event)))
    for _, path in found:
        if known.decide(Every(path)) is True:
            return
        known = known.assuming(Every(path), False)
    written, _ = _walk(steps, known, "")
    if written:
        without = " and ".join(f"not ({text})" for text, holds in known.truths.items() if not holds)
        yield Case(operation, record, "", (), "", without, written, _ids([], [], written))


def _alike(
    contract: Contract, operation: AnyOperation, event: str, kind_of: Callable[[str], object]
) -> Iterator[tuple[Transition, ...]]:
    """The rows of an event by target, guard and the kind of the source; those that the operation comes to."""
    groups: dict[tuple[object, ...], list[Transition]] = {}
    for row in _rows(contract, operation, event):
        groups.setdefault((row.target, row.guard.text, kind_of(row.source)), []).append(row)
    return (tuple(rows) for rows in groups.values())


def _rows(contract: Contract, operation: AnyOperation, event: str) -> Iterator[Transition]:
    states = getattr(operation, "states", ())
    for row in contract.transitions.rows:
        if row.event == event and (not states or row.source in states):
            yield row


def _walk(steps: Iterable[Step], known: Known, target: str) -> tuple[tuple[Written, ...], tuple[Move, ...]]:
    """The effects that the case has, and the moves that it makes; after a move the state is the target."""
    written: list[Written] = []
    moves: list[Move] = []

    def follow(inner: Iterable[Step], conditions: tuple[str, ...]) -> None:
        nonlocal known
        for step in inner:
            if isinstance(step, Effect):
                written.append(Written(step, conditions))
            elif isinstance(step, Move):
                moves.append(step)
                known = evolve(known, states=(target,))
            elif isinstance(step, When):
                decided = known.decide(step.condition)
                if decided is not False:
                    follow(step.steps, conditions if decided is True else (*conditions, str(decided)))
            else:
                follow(step.steps, conditions)

    follow(steps, ())
    return tuple(written), tuple(moves)


def _ids(*parts: Iterable[tuple[str, ...]] | tuple[Written, ...]) -> tuple[str, ...]:
    """Each id once, in the order in which the case comes to them."""
    found: dict[str, None] = {}
    for part in parts:
        for each in part:
            found.update(dict.fromkeys(each.effect.requirements if isinstance(each, Written) else each))
    return tuple(found)
