"""The specification itself as a backend: what the kit says of it, it must be able to say of any store.

It answers by the interpreter under the reference's choices. Certifying it shows that scenarios, judge and suites
agree with the rules; seeded faults are made by handing it a changed contract.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from workcert.backends.protocol import Ability, Place
from workcert.binding import Binding, bindings
from workcert.cases.contracts import TRANSACTION
from workspec.core.choice import Declared
from workspec.core.contract import Contract
from workspec.core.interpreter import Decision, Refused, commit, decide
from workspec.core.record import State
from workspec.core.scope import Call


@define(eq=False)
class _Shelf:
    """The committed state of one place, kept while the place exists. ``at``: where its own clock was stopped."""

    state: State = field(factory=dict)
    at: int | None = None
    lock: threading.RLock = field(factory=threading.RLock)

    def now(self) -> int:
        return int(time.time() * 1000) if self.at is None else self.at


@define(eq=False)
class Transaction:
    """A private state, which a commit puts in the place of the one that it was taken from."""

    _binding: Binding
    _shelf: _Shelf
    base: State
    state: State
    over: bool = False

    def commit(self) -> None:
        self._end()
        with self._shelf.lock:
            if self._shelf.state is not self.base:
                raise self._binding.unavailable("another commit came first; begin anew", True)
            self._shelf.state = self.state

    def rollback(self) -> None:
        self._end()

    def of(self, shelf: _Shelf) -> bool:
        return not self.over and self._shelf is shelf

    def _end(self) -> None:
        if self.over:
            raise self._binding.error(*self._binding.ended_transaction)
        self.over = True


@define(eq=False)
class Handle:
    """Every call of the contract as a method; see its ports for their meaning."""

    _contract: Contract
    _binding: Binding
    _shelf: _Shelf
    _choose: Declared
    _paused: Callable[[], None] | None = None
    _closed: bool = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._binding.calls.calls:
            raise AttributeError(name)
        if self._binding.signature(name).inside:
            return lambda **arguments: self._inside(name, arguments)
        return lambda **arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        self._refuse_closed()
        # Where nothing can lose a guard, because rows have no versions, a call is one step.
        with contextlib.nullcontext() if self._binding.versioned else self._shelf.lock:
            return self._in_two_halves(name, arguments)

    def _in_two_halves(self, name: str, arguments: dict[str, Any]) -> Any:
        decision = self._decided(self._shelf.state, name, arguments)
        paused, self._paused = self._paused, None
        if paused is not None:
            paused()
        with self._shelf.lock:
            committed = commit(self._contract, self._shelf.state, decision)
            if decision.parts:
                # A transaction that is open meanwhile is not disturbed by a call that changes nothing.
                self._shelf.state = committed.state
            self._move_clock(Call(name, arguments))
        return self._answered(committed.outcome)

    def _decided(self, state: State, name: str, arguments: dict[str, Any]) -> Decision:
        stated = None if self._binding.calls.instant is None else arguments.pop(self._binding.calls.instant, None)
        call = Call(name, arguments)
        now = self._contract.instant(call, self._shelf.now() if self._binding.has_clock else stated)
        return decide(self._contract, state, call, now, self._choose)

    def _answered(self, outcome: Any) -> Any:
        if isinstance(outcome, Refused):
            raise self._binding.error(outcome.code, outcome.details)
        return outcome.value

    def _move_clock(self, call: Call) -> None:
        after, shelf = self._binding.clock_after, self._shelf
        if after is None:
            return
        moved, standing = after(call, shelf.at), shelf.now()
        if shelf.at is None and moved is None:
            # A running clock is stopped where it stands before it is stepped (JOB-CLK-03).
            stepped = after(call, standing)
            moved = stepped if stepped != standing else None
        shelf.at = moved

    def _refuse_closed(self) -> None:
        if self._closed:
            raise self._binding.unavailable("this handle is closed; open another", True)

    # Transactions ------------------------------------------------------------------------------------------------

    def begin(self) -> Transaction:
        self._refuse_closed()
        return Transaction(self._binding, self._shelf, self._shelf.state, self._shelf.state)

    def _inside(self, name: str, arguments: dict[str, Any]) -> Any:
        self._refuse_closed()
        transaction = arguments.pop(TRANSACTION)
        if not isinstance(transaction, Transaction) or not transaction.of(self._shelf):
            raise self._binding.error(*self._binding.ended_transaction)
        decision = self._decided(transaction.state, name, arguments)
        committed = commit(self._contract, transaction.state, decision)
        transaction.state = committed.state
        return self._answered(committed.outcome)

    # Abilities ---------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self._closed

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
    abilities: frozenset[str]
    configurable: frozenset[str]
    choices: Mapping[str, Any] = field(factory=dict)
    _shelves: dict[str, _Shelf] = field(factory=dict, repr=False)

    @property
    def contract(self) -> str:
        return self.binding.name

    def open(self, place: Place, config: Mapping[str, Any]) -> Handle:
        shelf = self._shelves.setdefault(place.name, _Shelf())
        asked = {self.binding.configured[option]: value for option, value in config.items()}
        return Handle(self.specification, self.binding, shelf, Declared({**self.choices, **asked}))

    def forget(self, place: Place) -> None:
        """The kit has done with this place."""
        self._shelves.pop(place.name, None)


def of(binding: Binding, specification: Contract | None = None) -> SpecificationBackend:
    """The specification, or a changed one, as a backend with every profile and ability."""
    # Rows of a contract that takes none from outside, or that have no versions, lack the abilities that show them.
    lacking = {Ability.KILL, Ability.POINTS, Ability.COMMIT_ORDER}
    lacking |= {Ability.INJECT} if binding.calls.record is None else set()
    lacking |= set() if binding.versioned else {Ability.SNAPSHOT, Ability.PAUSE}
    return SpecificationBackend(
        binding,
        binding.contract if specification is None else specification,
        frozenset(binding.profile_abilities),
        frozenset(ability.value for ability in set(Ability) - lacking),
        frozenset(binding.configured),
    )


SPECIFICATION = tuple(of(binding) for binding in bindings().values())
