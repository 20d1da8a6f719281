"""The specification itself as a backend: what the kit says of it, it must be able to say of any store.

It answers by the interpreter under the reference's choices. Certifying it shows that scenarios, judge and suites
agree with the rules; seeded faults are made by handing it a changed contract.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from workcert.backends.protocol import Ability, Place
from workcert.binding import Binding, bindings
from workspec.core.contract import Contract
from workspec.core.interpreter import Refused, commit, decide
from workspec.core.record import State
from workspec.core.scope import Call


@define(eq=False)
class _Shelf:
    """The committed state of one place, kept while the place exists."""

    state: State = field(factory=dict)
    lock: threading.RLock = field(factory=threading.RLock)


@define(eq=False)
class Handle:
    """Every operation of the contract as a method; see `workspec.workload.ports` for their meaning."""

    _contract: Contract
    _binding: Binding
    _shelf: _Shelf
    _paused: Callable[[], None] | None = None
    _closed: bool = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not self._contract.has(name):
            raise AttributeError(name)
        return lambda **arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        if self._closed:
            raise self._binding.unavailable("this handle is closed; open another", True)
        call = Call(name, arguments)
        now_s = self._contract.instant(call, arguments.pop(self._binding.calls.instant, None))
        decision = decide(self._contract, self._shelf.state, call, now_s)
        paused, self._paused = self._paused, None
        if paused is not None:
            paused()
        with self._shelf.lock:
            committed = commit(self._contract, self._shelf.state, decision)
            self._shelf.state = committed.state
        if isinstance(committed.outcome, Refused):
            raise self._binding.error(committed.outcome.code, committed.outcome.details)
        return committed.outcome.value

    def close(self) -> None:
        self._closed = True

    def reset(self) -> None:
        self._shelf.state = {}

    def inject(self, *, record: Any, version: int | None) -> None:
        key = self._binding.key_of(record)
        self._shelf.state = {**self._shelf.state, key: self._contract.absorb(record, version)}

    def snapshot(self) -> Mapping[str, int | None]:
        return {key: record.version for key, record in self._shelf.state.items()}

    def pause(self, callback: Callable[[], None] | None) -> None:
        self._paused = callback


@define(eq=False)
class SpecificationBackend:
    """``binding`` says which contract, ``specification`` may be a changed one."""

    binding: Binding
    specification: Contract
    profiles: frozenset[str]
    abilities: frozenset[str] = frozenset(ability.value for ability in Ability)
    choices: Mapping[str, Any] = field(factory=dict)
    _shelves: dict[str, _Shelf] = field(factory=dict, repr=False)

    @property
    def contract(self) -> str:
        return self.binding.name

    def open(self, place: Place, config: Mapping[str, Any]) -> Handle:  # noqa: ARG002 - the protocol's signature
        shelf = self._shelves.setdefault(place.name, _Shelf())
        return Handle(self.specification, self.binding, shelf)

    def forget(self, place: Place) -> None:
        """The kit has done with this place."""
        self._shelves.pop(place.name, None)


def of(binding: Binding, specification: Contract | None = None) -> SpecificationBackend:
    """The specification, or a changed one, as a backend with every profile and ability."""
    return SpecificationBackend(
        binding,
        binding.contract if specification is None else specification,
        frozenset(binding.profile_abilities),
    )


SPECIFICATION = tuple(of(binding) for binding in bindings().values())
