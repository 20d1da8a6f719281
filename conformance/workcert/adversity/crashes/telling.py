"""What is asked of a store after a kill: whatever would show that a part of a call is there and another is not.

Each record is read back alone, but a store keeps more than records: counts, lists, buckets, and by what its passes find
those that are due. So it is asked everything that tells the state before a call from the one after it, and its passes
are made when what the call wrote is due.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from attrs import define, field, frozen

from workcert.adversity.interleavings.offering import Offering, changed_keys, made
from workcert.binding import Binding, bindings
from workcert.cases.model import Call as CallStep
from workcert.codec import to_json
from workcert.search.needs import profiles_needed
from workspec.core.interpreter import Committed, instants
from workspec.core.record import State
from workspec.core.rule import Batch, Draw
from workspec.core.scope import Call

MOST_PASSES: Final = 6
"""Of one kill; each finds something."""


@frozen
class Asked:
    """A call and its instant. ``needs``: what a store must claim for it."""

    call: Call
    at: int
    needs: frozenset[str]

    def step(self, binding: Binding, identifier: str, on: str) -> CallStep:
        """The call as a step of a case."""
        arguments = {name: to_json(value) for name, value in self.call.arguments.items()}
        timed = binding.signature(self.call.name).timed
        return CallStep(identifier, on, self.call.name, arguments, self.at if timed else None)


@define(eq=False)
class Telling:
    """What any configuration of a contract asks that names no record of the store's own."""

    binding: Binding
    _offering: Offering = field(init=False)
    _passing: Sequence[Call] = field(init=False)

    @_offering.default
    def _offered(self) -> Offering:
        from workcert.search.command import CONFIGURATIONS

        return Offering(self.binding, CONFIGURATIONS[self.binding.name])

    @_passing.default
    def _passes_offered(self) -> Sequence[Call]:
        contract = self.binding.contract
        return [
            call
            for call in self._offering.of_none
            if isinstance(contract.operation(contract.resolved(call).name), Batch | Draw)
        ]

    def reads(self, before: State, after: State, now: int, claimed: frozenset[str]) -> Iterator[Asked]:
        """Everything that can be read of a store which claims this, and differs between two states, but for what the
        kit reads back anyway."""
        for call in self._offering.reads(after, now):
            if call.name not in self.binding.reading and not self._names_own(call, after):
                asked = self._telling(call, before, after, now, claimed)
                if asked is not None:
                    yield asked

    def passes(self, state: State, written: frozenset[str], now: int, claimed: frozenset[str]) -> Iterator[Asked]:
        """Passes, each at the first instant at which it changes one of these records, one after the other."""
        left = self._passing
        for _number in range(MOST_PASSES):
            found = next(self._acting(state, written, now, left), None)
            if found is None:
                return
            asked, then = found
            left = [call for call in left if call.name != asked.call.name]
            if asked.needs <= claimed:
                yield asked
                state, now = then, asked.at

    def tries(self, before: State, after: State, now: int, claimed: frozenset[str]) -> Iterator[Asked]:
        """Of each other operation a call of no record that is answered in one state as in the other it is not: by who
        wants a duty, or names an effect, that somebody has."""
        told: set[str] = set()
        passing = {call.name for call in self._passing}
        for call in self._offering.of_none:
            if call.name in self.binding.reads or call.name in told or call.name in passing:
                continue
            asked = self._telling(call, before, after, now, claimed)
            if asked is not None:
                told.add(call.name)
                yield asked

    def _telling(self, call: Call, before: State, after: State, now: int, claimed: frozenset[str]) -> Asked | None:
        one, other = (made(self.binding.contract, state, call, now) for state in (before, after))
        if one is None or other is None or one.outcome == other.outcome:
            return None
        needs = self._needs(call, before, one) | self._needs(call, after, other)
        return Asked(call, now, needs) if needs <= claimed else None

    def _acting(
        self, state: State, written: frozenset[str], now: int, passing: Sequence[Call]
    ) -> Iterator[tuple[Asked, State]]:
        contract, kind = self.binding.contract, self.binding.kept[0]
        known = [state[key] for key in sorted(written) if key in state]
        turning = {turn for one in known if isinstance(one.facts, kind) for turn in instants(contract, one, now)}
        for at in sorted({now, *(turn for turn in turning if turn > now)}):
            for call in passing:
                done = made(contract, state, call, at)
                if done is not None and not written.isdisjoint(changed_keys(state, done.state)):
                    yield Asked(call, at, self._needs(call, state, done)), done.state

    def _needs(self, call: Call, before: State, done: Committed) -> frozenset[str]:
        return profiles_needed(self.binding, call, before, done, changed_keys(before, done.state))

    def _names_own(self, call: Call, state: State) -> bool:
        """It tells a record by an id that the store has chosen, another one each time."""
        named = (value for value in call.arguments.values() if isinstance(value, str))
        return bool(self.binding.creates) and any(value in state for value in named)


@cache
def telling(contract: str) -> Telling:
    """Of a contract by its name."""
    return Telling(bindings()[contract])
