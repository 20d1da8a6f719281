"""Invariants and laws, held against one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, field, frozen

from workcert.search.watched import whole
from workspec.core.configuration import Law, Taken
from workspec.core.contract import Contract
from workspec.core.interpreter import Refused
from workspec.core.record import Record


@frozen
class Broken:
    requirement: str
    text: str


@define(eq=False)
class Judge:
    """What a call leaves as it was is judged once for each record and each code of a refusal (`broken_by_rest`)."""

    contract: Contract
    laws: tuple[Law, ...]
    shown: dict[int, Any] = field(factory=dict)

    def broken_by(self, taken: Taken, keys: Iterable[str]) -> Iterator[Broken]:
        """Every invariant that the call breaks in a record that it changed, and every law that it breaks. ``keys``: of
        the records that the laws are asked about."""
        outcome = taken.done.outcome
        code = outcome.code if isinstance(outcome, Refused) else None
        addressed = taken.done.decision.scope.key
        for key in taken.changed:
            # A refusal speaks of the addressed record; of the others it says nothing.
            said = code if key == addressed else None
            after = taken.done.state.get(key)
            yield from self._broken_in(whole(taken.before.get(key)), after, said)
        for law in self.laws:
            if (not law.calls or taken.call.name in law.calls) and not law.holds(taken, keys):
                yield Broken(law.requirement, law.text)

    def broken_by_rest(self, number: int, record: Record, code: str | None) -> Iterator[Broken]:
        """Every invariant that a call breaks by leaving the record as it is. ``number`` is the record's own."""
        if not self.contract.shows(record):
            return
        if number not in self.shown:
            self.shown[number] = self.contract.present(record)
        shown = self.shown[number]
        yield from self._broken_by_step(shown, shown, code)

    def _broken_in(self, before: Record | None, after: Record | None, code: str | None) -> Iterator[Broken]:
        if not all(record is None or self.contract.shows(record) for record in (before, after)):
            return
        present = self.contract.present
        shown = None if after is None else present(after)
        yield from self._broken_by_step(None if before is None else present(before), shown, code)
        if shown is None:
            return
        for invariant in self.contract.invariants:
            if invariant.of == "record" and not invariant.holds(shown):
                yield Broken(invariant.requirement, invariant.text)

    def _broken_by_step(self, before: Any, after: Any, code: str | None) -> Iterator[Broken]:
        for invariant in self.contract.invariants:
            if invariant.of == "step" and not invariant.holds(before, after, code):
                yield Broken(invariant.requirement, invariant.text)
