"""Which rules took part in a search, and on which side of their bounds."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from workspec.core.condition import ABOVE, AT, BELOW
from workspec.core.contract import Contract, steps_of
from workspec.core.rule import Effect, check_keys, walk_steps
from workspec.core.scope import Trace

_ORDER = (BELOW, AT, ABOVE)


@define
class Evidence:
    fired: set[str] = field(factory=set)
    sides: set[tuple[str, str]] = field(factory=set)

    def take(self, trace: Trace) -> None:
        self.fired.update(trace.fired)
        self.sides.update(trace.sides)

    def never_fired(self, contract: Contract) -> tuple[str, ...]:
        return tuple(key for key in keys_of(contract) if key not in self.fired)

    def seen_sides(self) -> Mapping[str, tuple[str, ...]]:
        comparisons = sorted({key for key, _ in self.sides})
        return {key: tuple(side for side in _ORDER if (key, side) in self.sides) for key in comparisons}


def keys_of(contract: Contract) -> tuple[str, ...]:
    """The keys of all that can fire: checks, transitions, rows of decision tables, effects."""
    found = [key for operation in contract.operations for key in check_keys(operation)]
    found += [row.key for row in contract.transitions.rows]
    found += [table.row_key(index) for table in contract.tables for index in range(len(table.rows))]
    for operation in contract.operations:
        found += [step.name for step in walk_steps(steps_of(operation)) if isinstance(step, Effect)]
    return tuple(dict.fromkeys(found))
