"""Invariants and laws, held against one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, field, frozen

from workspec.core.configuration import Law, Taken
from workspec.core.contract import Contract
from workspec.core.interpreter import Refused
from workspec.core.record import State


@frozen
class Broken:
    requirement: str
    text: str


@define(eq=False)
class Judge:
    """Judges the calls on one state after the other. What they leave as it was is judged once for each state."""

    contract: Contract
    laws: tuple[Law, ...]
    shown: dict[str, Any] = field(factory=dict)
    left_alone: set[tuple[str, str | None]] = field(factory=set)

    def turn_to(self, state: State) -> None:
        self.shown = {key: self.contract.present(record) for key, record in state.items()}
        self.left_alone = set()

    def broken_by(self, taken: Taken) -> Iterator[Broken]:
        """Every invariant and law that the call breaks."""
        outcome = taken.done.outcome
        code = outcome.code if isinstance(outcome, Refused) else None
        addressed = taken.done.decision.scope.key
        changed = taken.changed
        for key in taken.before.keys() | changed:
            # A refusal speaks of the addressed record; of the others it says nothing.
            said = code if key == addressed else None
            if key in changed:
                yield from self._broken_in(taken, key, said)
            elif (key, said) not in self.left_alone:
                self.left_alone.add((key, said))
                yield from self._broken_by_step(self.shown[key], self.shown[key], said)
        for law in self.laws:
            if not law.holds(taken):
                yield Broken(law.requirement, law.text)

    def _broken_in(self, taken: Taken, key: str, code: str | None) -> Iterator[Broken]:
        record = taken.done.state.get(key)
        after = None if record is None else self.contract.present(record)
        yield from self._broken_by_step(self.shown.get(key), after, code)
        if after is None:
            return
        for invariant in self.contract.invariants:
            if invariant.of == "record" and not invariant.holds(after):
                yield Broken(invariant.requirement, invariant.text)

    def _broken_by_step(self, before: Any, after: Any, code: str | None) -> Iterator[Broken]:
        for invariant in self.contract.invariants:
            if invariant.of == "step" and not invariant.holds(before, after, code):
                yield Broken(invariant.requirement, invariant.text)
