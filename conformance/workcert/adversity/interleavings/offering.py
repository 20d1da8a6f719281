"""What any configuration would call in a state: a search keeps to the calls of its own, what comes between need not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
from attrs import define, evolve, field

from workcert.binding import Binding
from workcert.codec import to_json
from workcert.search.interning import identity_of
from workcert.search.path import Step
from workspec.core.alike import members_of
from workspec.core.configuration import Configuration
from workspec.core.contract import Contract
from workspec.core.interpreter import Committed, RuleError, apply
from workspec.core.record import Record, State
from workspec.core.scope import Call

CHOSEN_BY_TAKERS: Final = "lease_id"
"""The argument under which a caller takes work: another caller has another one."""
OF_ANOTHER: Final = "-of-another"
MOST_TEXT: Final = 1000
"""Characters and bytes in the arguments of a call: what has more is there for its size alone."""

Source: TypeAlias = tuple[str, str, int]
"""A configuration, a key, and which of its calls: those of records that are alike come from one source."""


@define(eq=False)
class Offering:
    """``configurations``: whose calls are made."""

    binding: Binding
    configurations: Sequence[Configuration]
    _of_none: tuple[Call, ...] = field(init=False)
    _fit: dict[Source, bool] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._of_none = tuple(self._distinct(each for one in self.configurations for each in one.calls(None, None, 0)))

    def by_others(
        self, state: State, key: str, now: int, is_worth_it: Callable[[Source], bool]
    ) -> Iterator[tuple[Source, Call]]:
        """Calls of others that may change the record with this key, and where each comes from: those of it, of no
        record, and of what is there once for all."""
        for source, call in self._of_all(state, key, now):
            if is_worth_it(source) and call.name not in self.binding.reads and self._is_known_fit(source, call):
                yield source, _by_another(call)

    def _is_known_fit(self, source: Source, call: Call) -> bool:
        if source not in self._fit:
            self._fit[source] = self._is_fit(call)
        return self._fit[source]

    def _of_all(self, state: State, key: str, now: int) -> Iterator[tuple[Source, Call]]:
        for number, call in enumerate(self._of_none):
            yield ("", "", number), call
        for each in self._naming(key):
            for other in each.keys:
                if other == key or not has_state(state.get(other)):
                    for number, call in enumerate(each.calls(other, state.get(other), now)):
                        yield (each.name, other, number), call

    @property
    def of_none(self) -> Sequence[Call]:
        """Calls that tell of no record."""
        return self._of_none

    def reads(self, state: State, now: int) -> Iterator[Call]:
        """Everything that may be read in a state, with calls that tell of no record first."""
        yield from (call for call in self._of_none if call.name in self.binding.reads)
        for key in state:
            calls = (call for each in self._naming(key) for call in each.calls(key, state[key], now))
            yield from self._distinct(call for call in calls if call.name in self.binding.reads)

    def _naming(self, key: str) -> Iterator[Configuration]:
        return (each for each in self.configurations if key in each.keys)

    def _distinct(self, calls: Iterable[Call]) -> Iterator[Call]:
        told: set[Any] = set()
        for call in calls:
            identity = (call.name, identity_of(call.arguments)) if self._is_fit(call) else None
            if identity is not None and identity not in told:
                told.add(identity)
                yield call

    def _is_fit(self, call: Call) -> bool:
        """It is made outside of a transaction and is no larger than need be."""
        return not self.binding.signature(call.name).inside and _size(call.arguments) <= MOST_TEXT


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    kind = type(value)
    return sum(_size(getattr(value, name)) for name in members_of(kind)) if attrs.has(kind) else 0


def _by_another(call: Call) -> Call:
    taken = call.arguments.get(CHOSEN_BY_TAKERS)
    if not isinstance(taken, str):
        return call
    return evolve(call, arguments={**call.arguments, CHOSEN_BY_TAKERS: taken + OF_ANOTHER})


def has_state(record: Record | None) -> bool:
    return record is not None and hasattr(record.facts, "state")


def made(contract: Contract, state: State, call: Call, at: int) -> Committed | None:
    """What a call does; None where the rules say nothing of it."""
    try:
        return apply(contract, state, call, at)
    except RuleError:
        return None


def state_after(contract: Contract, steps: Iterable[Step]) -> State:
    """Where the steps of a path lead, made by the plain interpreter on an empty store."""
    state: State = {}
    for step in steps:
        done = made(contract, state, step.call, step.at)
        assert done is not None
        state = done.state
    return state


def changed_keys(before: State, after: State) -> frozenset[str]:
    return frozenset(key for key in {*before, *after} if before.get(key) is not after.get(key))


def shown(binding: Binding, answer: Any) -> dict[tuple[Any, ...], Any]:
    """Everything that an answer tells, each member by its place."""
    found: dict[tuple[Any, ...], Any] = {}
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), to_json(binding.comparable(answer)))]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, dict | list):
            members = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*place, name), member) for name, member in members]
        else:
            found[place] = value
    return found
