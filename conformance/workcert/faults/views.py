"""Seeded faults of handles: one call works on what its handle saw last, not on what has been committed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from attrs import define, field

from workcert.backends.protocol import Ability, Place
from workcert.backends.specification import Handle, SpecificationBackend, of
from workcert.binding import Binding
from workcert.faults.fault import Fault, Kind
from workspec.core.choice import Declared
from workspec.core.interpreter import commit
from workspec.core.record import State
from workspec.core.rule import AnyOperation, Operation, checks_of
from workspec.core.scope import Call


def stale_views(binding: Binding) -> Iterator[Fault]:
    """One fault for each operation that looks at what is stored.

    What a call of it changes is written over whatever is there: nothing guards it.
    """
    if not any(Ability.SECOND_HANDLE in needed for needed in binding.profile_abilities.values()):
        return
    stale = binding.contract.comparisons["stale view"]
    for operation in binding.contract.operations:
        if _looks(binding, operation):
            yield Fault(
                f"{Kind.STALE_VIEW}: {operation.name}",
                Kind.STALE_VIEW,
                tuple(dict.fromkeys((*stale, *operation.requirements))),
                frozenset({operation.name}),
                partial(_stale, binding, operation.name),
                needs=Ability.SECOND_HANDLE,
            )


def _looks(binding: Binding, operation: AnyOperation) -> bool:
    """An operation that always refuses, or only moves the clock, sees nothing of the store."""
    if not isinstance(operation, Operation) or operation.steps or operation.name in binding.reads:
        return True
    return any({"facts", "store"} & check.when.sources() for check in checks_of(operation))


@define(eq=False)
class _StaleHandle(Handle):
    """Sees what others did at each of its calls but one."""

    stale: str = field(kw_only=True)
    view: State = field(kw_only=True)

    def _in_two_halves(self, name: str, arguments: dict[str, Any]) -> Any:
        if self._contract.resolved(Call(name, arguments)).name != self.stale:
            answer = Handle._in_two_halves(self, name, arguments)
            self.view = self._shelf.state
            return answer
        decision = self._decided(self.view, name, arguments)
        committed = commit(self._contract, self.view, decision)
        changed = {key for key in {*self.view, *committed.state} if self.view.get(key) is not committed.state.get(key)}
        with self._shelf.lock:
            kept = {key: record for key, record in self._shelf.state.items() if key not in changed}
            if changed:
                self._shelf.state = {**kept, **{key: committed.state[key] for key in changed & committed.state.keys()}}
            self._move_clock(Call(name, arguments))
        self.view = committed.state
        return self._answered(committed.outcome)


@define(eq=False)
class StaleBackend(SpecificationBackend):
    """The specification, but for the operation of this name."""

    stale: str = field(kw_only=True)

    def open(self, place: Place, config: Mapping[str, Any]) -> Handle:
        right = SpecificationBackend.open(self, place, config)
        shelf = right._shelf
        choose = Declared({**self.choices, **{self.binding.configured[o]: v for o, v in config.items()}})
        return _StaleHandle(self.specification, self.binding, shelf, choose, stale=self.stale, view=shelf.state)


def _stale(binding: Binding, name: str) -> StaleBackend:
    right = of(binding)
    return StaleBackend(
        right.binding, right.specification, right.profiles, right.abilities, right.configurable, stale=name
    )
