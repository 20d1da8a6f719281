"""Records that nobody reads after each call: what was written to them since a reading last agreed with the model.

A reading that is wrong shows a write that was wrong; which of several, the number tells that it is off by: a write that
was left out, or done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field, frozen

from workcert.judge.attribution import Ids, of_effect_on
from workcert.judge.differences import Difference
from workspec.core.contract import Contract
from workspec.core.interpreter import Accepted, Decision, apply
from workspec.core.record import Record, State
from workspec.core.scope import Call


@frozen
class Write:
    decision: Decision
    before: Record | None
    after: Record | None

    def moved(self, fact: str) -> int:
        """By how much a number of the record rose."""
        old, new = (getattr(getattr(record, "facts", None), fact, None) for record in (self.before, self.after))
        return new - old if isinstance(old, int) and isinstance(new, int) else 0


@define(eq=False)
class Unread:
    """``legible``: the record of a key is read back after each call, so that nothing has to be remembered of it."""

    legible: Callable[[str], bool]
    _writes: dict[str, list[Write]] = field(factory=dict)

    def note(self, decision: Decision) -> None:
        for part in decision.parts:
            for change in part.changes:
                if not self.legible(change.key):
                    self._writes.setdefault(change.key, []).append(Write(decision, change.base, change.record))

    def agreed(self, key: str | None) -> None:
        """A reading of this record was right."""
        self._writes.pop(key or "", None)

    def forget(self) -> None:
        """Nothing will be asked any more."""
        self._writes.clear()

    def since(self, key: str | None, state: State) -> Sequence[Write]:
        """The writes since a reading agreed; none where the record has changed in a way that nobody noted."""
        writes = self._writes.get(key or "", [])
        return writes if writes and writes[-1].after is state.get(key or "") else ()


def of_write(contract: Contract, writes: Sequence[Write], difference: Difference) -> Ids:
    """What the write that explains a wrong number says of it: the only one; else the last that moved it by as much as
    it is off; else the last that moved it further that way, for a bound may have cut it. Empty where there is none."""
    off = _number(difference.seen, difference.expected)
    facts = [fact for fact, shown in contract.shown_as.items() if shown == difference.member] or [difference.member]
    named = [(write.moved(fact), of_effect_on(contract, write.decision, fact)) for fact in facts for write in writes]
    acted = [(moved, ids) for moved, ids in named if ids]
    if not off or not acted:
        return ()
    by_as_much = [ids for moved, ids in acted if moved in (off, -off) or len(acted) == 1]
    further = [ids for moved, ids in acted if moved * off > 0 and abs(moved) > abs(off)]
    return next(iter((*by_as_much[::-1], *further[::-1])), ())


def late_reading(contract: Contract, decision: Decision, writes: Sequence[Write], right: Callable[[Any], bool]) -> bool:
    """The answer would be right at the instant of one of the writes: it is the reading that looks at the clock
    otherwise, and what it reads is as it should be."""
    scope = decision.scope
    call = Call(decision.operation.name, scope.call)
    earlier = {write.decision.scope.now for write in writes} - {scope.now}
    outcomes = (apply(contract, scope.state, call, now, scope.choose).outcome for now in sorted(earlier))
    return any(isinstance(outcome, Accepted) and right(outcome.value) for outcome in outcomes)


def _number(seen: Any, expected: Any) -> int:
    return seen - expected if isinstance(seen, int) and isinstance(expected, int) else 0
