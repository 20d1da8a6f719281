"""What a search looks for: every rule that can take part, every side of a bound, every refusal, every cell.

A *cell* is what an operation does with a record in a state: the check that decides on it, or that all let it through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from attrs import frozen

from workspec.core.choice import Choice
from workspec.core.condition import ABOVE, AT, BELOW, Comparison
from workspec.core.contract import Contract, conditions_of, steps_of
from workspec.core.interpreter import Committed, Refused
from workspec.core.rule import Effect, Refuse, check_keys, checks_of, walk_steps

CHECK, ROW, TABLE_ROW, EFFECT = "check", "row", "table row", "effect"
ERROR, SIDE, CELL = "error", "side", "cell"
KINDS: Final = (CHECK, ROW, TABLE_ROW, EFFECT, ERROR, SIDE, CELL)
SIDES: Final = (BELOW, AT, ABOVE)

NO_RECORD: Final = "no record"
"""In the place of a state: there is no such record."""
OTHER_RECORD: Final = "other record"
"""In the place of a state: a record that has none, such as a bucket of tokens."""
WHOLE_CALL: Final = "whole call"
"""In the place of a state: the check is asked once, before the call turns to any record."""


@frozen
class Target:
    """``name`` by ``kind``: the key of a *check*, *row*, *table row* or *effect*; operation and code of an *error*; the
    comparison and its *side*; state, operation and key of the deciding check of a *cell* (empty: all let it through).
    """

    kind: str
    name: tuple[str, ...]

    @property
    def text(self) -> str:
        if self.kind == CELL:
            state, operation, rule = self.name
            return f"{operation} in {state}: {rule.removeprefix(f'{operation}: ') or 'accepted'}"
        return ": ".join(self.name)


def kinds_of_keys(contract: Contract) -> Mapping[str, str]:
    """The key of everything that can fire, with its kind."""
    found = {key: CHECK for operation in contract.operations for key in check_keys(operation)}
    found |= {row.key: ROW for row in contract.transitions.rows}
    found |= {table.row_key(index): TABLE_ROW for table in contract.tables for index in range(len(table.rows))}
    for operation in contract.operations:
        found |= {step.name: EFFECT for step in walk_steps(steps_of(operation)) if isinstance(step, Effect)}
    return found


def comparisons_of(contract: Contract) -> tuple[str, ...]:
    """The key of every comparison that a rule makes."""
    found = (
        f"{owner} | {leaf.text}"
        for owner, condition in conditions_of(contract)
        for leaf in condition.leaves()
        if isinstance(leaf, Comparison)
    )
    return tuple(dict.fromkeys(found))


def targets_of(contract: Contract) -> Iterator[Target]:
    """Everything that could be reached but cells: those are whatever is found."""
    for key, kind in kinds_of_keys(contract).items():
        yield Target(kind, (key,))
    yield from dict.fromkeys(_errors(contract))
    for key in comparisons_of(contract):
        for side in SIDES:
            yield Target(SIDE, (key, side))


def _errors(contract: Contract) -> Iterator[Target]:
    for operation in contract.operations:
        for check in checks_of(operation):
            if isinstance(check, Refuse):
                codes = check.code.options if isinstance(check.code, Choice) else (check.code,)
                yield from (Target(ERROR, (operation.name, str(code))) for code in codes)


Raw: TypeAlias = tuple[str, tuple[str, ...]]
"""The members of a `Target`."""


def shown_by(kinds: Mapping[str, str], before: Any, done: Committed) -> Iterator[Raw]:
    """What one call shows. ``before`` is the state that it was made on; no more of it is read than the decision read,
    but for the states of the records that the call came to."""
    decision = done.decision
    operation = decision.operation.name
    for key in decision.trace.fired:
        yield kinds[key], (key,)
    for side in decision.trace.sides:
        yield SIDE, side
    if isinstance(done.outcome, Refused):
        yield ERROR, (operation, str(done.outcome.code))
    for place, rule in decision.trace.met:
        yield CELL, (state_of(before, place), operation, rule)


def state_of(state: Any, key: str | None) -> str:
    if key is None:
        return WHOLE_CALL
    record = state.get(key)
    if record is None:
        return NO_RECORD
    return str(getattr(record.facts, "state", OTHER_RECORD))
