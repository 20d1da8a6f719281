"""What it takes to run a case, and how much of that a search over variations of it may spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field

from workcert.cases.model import Call, Case, Inject, Together, calls_of, every_step, unrolled
from workcert.references import Copies, RepeatBytes, RepeatText

MOST_WEIGHT: Final = 400
"""Up to this weight of a case the number of executions alone ends a search; 500 of them make 200,000 rows."""
LEAST_SHARE: Final = 0.06
"""Of the executions, 30 of 500: so many are made whatever a case weighs, or nothing at all would become smaller."""
BYTES_PER_ROW: Final = 1_000


def cost(case: Case) -> int:
    """The calls of a case, with its rounds, and the rows that it asks for."""
    rounds = max((step.rounds for step in every_step(case.steps) if isinstance(step, Together)), default=1)
    batches = [call.args.get("envelopes", ()) for call in calls_of(case)]
    rows = sum(batch.count if isinstance(batch, Copies) else len(batch) for batch in batches)
    return rounds * sum(1 for _step in unrolled(case.steps)) + rows


def weight(case: Case) -> int:
    """The cost of a case, and its long texts: a thousand bytes count as one row."""
    size = 0
    for step in every_step(case.steps):
        match step:
            case Call():
                size += _size(step.args)
            case Inject():
                size += _size(step.record)
    return cost(case) + size // BYTES_PER_ROW


def _size(value: Any) -> int:
    """The bytes of what is repeated. What is written out in a file of cases is never long."""
    match value:
        case RepeatText() | RepeatBytes():
            return len(value.text) * value.count
        case Copies():
            return _size(value.of) * value.count
        case Mapping():
            return sum(map(_size, value.values()))
        case list() | tuple():
            return sum(map(_size, value))
    return 0


@define
class Budget:
    """Counts executions, and ends a search earlier the heavier its cases are: a count and no clock, so that one seed
    gives one result on any machine. ``made``: the executions so far."""

    executions: int
    made: int = 0
    _spent: int = field(default=0, init=False)

    def allows(self) -> bool:
        """One more execution may be made."""
        if self.made >= self.executions:
            return False
        return self._spent < self.executions * MOST_WEIGHT or self.made < self.executions * LEAST_SHARE

    def charge(self, case: Case) -> None:
        self.made += 1
        self._spent += weight(case)
