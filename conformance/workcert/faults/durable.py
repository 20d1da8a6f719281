"""The specification on a file: each commit is on disk before its call is answered, so that its process may be killed.

Right as it stands; a seeded fault makes one operation write in several steps.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import define, field, frozen

from workcert.backends.protocol import Ability, Place
from workcert.backends.registry import LoadedBackend, describe
from workcert.backends.specification import Handle, SpecificationBackend, Transaction, of
from workcert.binding import Binding, bindings
from workspec.core.record import State
from workspec.core.scope import Call

FILE: Final = "state.pickle"
BEFORE, AFTER = "before the write", "after the write"

Writes: TypeAlias = "Callable[[str, State, State], Iterable[State]]"
"""From the name of an operation, the state before and the one after it, to what is written one after the other."""


def at_once(_operation: str, _before: State, after: State) -> Iterable[State]:
    return (after,)


@define(eq=False)
class DurableHandle(Handle):
    path: Path = field(kw_only=True)
    writes: Writes = field(kw_only=True)
    _on_point: Callable[[str], object] | None = None

    def points(self, callback: Callable[[str], object] | None) -> None:
        """Before each write to the file, and after it."""
        self._on_point = callback

    def _in_two_halves(self, name: str, arguments: dict[str, Any]) -> Any:
        operation = self._contract.resolved(Call(name, dict(arguments))).name
        before, at = self._shelf.state, self._shelf.at
        try:
            return Handle._in_two_halves(self, name, arguments)
        finally:
            # A refusal may have committed something.
            if (self._shelf.state, self._shelf.at) != (before, at):
                self._write(self.writes(operation, before, self._shelf.state))

    def begin(self) -> Transaction:
        right = Handle.begin(self)
        write = partial(self._write_of_transaction, right.base)
        return _Transaction(right._binding, right._shelf, right.base, right.state, write=write)

    def _write_of_transaction(self, before: State) -> None:
        self._write(self.writes("transaction", before, self._shelf.state))

    def reset(self) -> None:
        Handle.reset(self)
        self._write((self._shelf.state,))

    def inject(self, *, record: Any, version: int | None) -> None:
        Handle.inject(self, record=record, version=version)
        self._write((self._shelf.state,))

    def _write(self, states: Iterable[State]) -> None:
        for state in states:
            self._point(BEFORE)
            beside = self.path.with_suffix(".new")
            beside.write_bytes(pickle.dumps((dict(state), self._shelf.at)))
            os.replace(beside, self.path)
            self._point(AFTER)

    def _point(self, label: str) -> None:
        if self._on_point is not None:
            self._on_point(label)


@define(eq=False)
class _Transaction(Transaction):
    write: Callable[[], None] = field(kw_only=True)

    def commit(self) -> None:
        Transaction.commit(self)
        self.write()


@define(eq=False)
class DurableBackend(SpecificationBackend):
    """``recipe`` makes the same one in another process."""

    recipe: Callable[[], LoadedBackend] = field(kw_only=True)
    writes: Writes = at_once
    _opened: dict[str, list[Handle]] = field(factory=dict, repr=False)

    def open(self, place: Place, config: Mapping[str, Any]) -> Handle:
        right = SpecificationBackend.open(self, place, config)
        path = place.path / FILE
        opened = self._opened.setdefault(place.name, [])
        if all(handle.closed for handle in opened) and path.exists():
            # Another process may have written meanwhile.
            right._shelf.state, right._shelf.at = pickle.loads(path.read_bytes())
        handle = DurableHandle(
            right._contract, right._binding, right._shelf, right._choose, path=path, writes=self.writes
        )
        opened.append(handle)
        return handle

    def forget(self, place: Place) -> None:
        self._opened.pop(place.name, None)
        SpecificationBackend.forget(self, place)


def durable(binding: Binding, recipe: Callable[[], LoadedBackend], writes: Writes = at_once) -> DurableBackend:
    """The specification on a file, or one that writes otherwise."""
    right = of(binding)
    return DurableBackend(
        right.binding,
        right.specification,
        right.profiles,
        right.abilities | {Ability.KILL.value, Ability.POINTS.value},
        right.configurable,
        recipe=recipe,
        writes=writes,
    )


@frozen
class Right:
    """The recipe of the right one."""

    contract: str

    def __call__(self) -> LoadedBackend:
        return describe("the specification on a file", durable(bindings()[self.contract], self))
