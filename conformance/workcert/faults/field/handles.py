"""Handles and backends over the specification that make some of their calls in a way of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from attrs import define, field

from workcert.backends.protocol import Ability, Place
from workcert.backends.specification import Handle, SpecificationBackend, of
from workcert.binding import Binding
from workspec.core.interpreter import Refused, commit
from workspec.core.record import Record, State
from workspec.core.scope import Call

BETWEEN_HALVES: Final = "between what it reads and what it writes"
GAP_S = 0.001
"""How long a store that does without a guard lets others in, where the kit cannot say when."""


def right_call(handle: Handle, name: str, arguments: dict[str, Any]) -> Any:
    """The call as the specification makes it."""
    return Handle._in_two_halves(handle, name, arguments)


def operation_of(handle: Handle, name: str, arguments: dict[str, Any]) -> str:
    return handle._contract.resolved(Call(name, arguments)).name


def stored(handle: Handle) -> State:
    return handle._shelf.state


def put(handle: Handle, records: Mapping[str, Record]) -> None:
    """Behind the rules."""
    with handle._shelf.lock:
        handle._shelf.state = {**handle._shelf.state, **records}


Around: TypeAlias = "Callable[[Handle, str, dict[str, Any]], Any]"
"""From the handle, the name of the method and its arguments to the answer."""


@define(eq=False)
class AroundHandle(Handle):
    around: Around = field(kw_only=True)

    def _in_two_halves(self, name: str, arguments: dict[str, Any]) -> Any:
        return self.around(self, name, arguments)


@define(eq=False)
class HandlesBackend(SpecificationBackend):
    """The specification behind handles of another kind. ``kind`` is told how many are open already."""

    kind: Callable[[int], Callable[..., Handle]] = field(kw_only=True)
    _opened: dict[str, list[Handle]] = field(factory=dict, repr=False)

    def open(self, place: Place, config: Mapping[str, Any]) -> Handle:
        right = SpecificationBackend.open(self, place, config)
        earlier = self._opened.setdefault(place.name, [])
        still_open = sum(not handle.closed for handle in earlier)
        handle = self.kind(still_open)(right._contract, right._binding, right._shelf, right._choose)
        earlier.append(handle)
        return handle

    def forget(self, place: Place) -> None:
        self._opened.pop(place.name, None)
        SpecificationBackend.forget(self, place)


def behind(binding: Binding, kind: Callable[[int], Callable[..., Handle]]) -> HandlesBackend:
    right = of(binding)
    return HandlesBackend(
        right.binding, right.specification, right.profiles, right.abilities, right.configurable, kind=kind
    )


def around(binding: Binding, call: Around) -> HandlesBackend:
    return behind(binding, lambda _open: partial(AroundHandle, around=call))


# Races ---------------------------------------------------------------------------------------------------------------

Write: TypeAlias = "Callable[[State, State, State], State]"
"""From the state that was read, the one that is there now and the one that was decided, to what is left."""


@define(eq=False)
class _Racing(Handle):
    """Lets others in between the halves of one operation."""

    race: str = field(kw_only=True)
    _on_point: Callable[[str], object] | None = None

    def points(self, callback: Callable[[str], object] | None) -> None:
        """The only point of any call is where that operation lets others in."""
        self._on_point = callback

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        if operation_of(self, name, arguments) != self.race:
            return Handle._call(self, name, arguments)
        self._refuse_closed()
        return self._raced(name, arguments)

    def _raced(self, name: str, arguments: dict[str, Any]) -> Any:
        raise AssertionError(f"{name}({', '.join(arguments)}): each race says what it does")

    def _let_others_in(self) -> None:
        paused, self._paused = self._paused, None
        if paused is not None:
            paused()
        elif self._on_point is not None:
            self._on_point(BETWEEN_HALVES)
        elif not self._binding.versioned:
            time.sleep(GAP_S)


@define(eq=False)
class UnguardedHandle(_Racing):
    """One operation decides on what it read, and writes whatever has come since."""

    write: Write = field(kw_only=True)

    def _raced(self, name: str, arguments: dict[str, Any]) -> Any:
        read = self._shelf.state
        decision = self._decided(read, name, arguments)
        self._let_others_in()
        done = commit(self._contract, read, decision)
        with self._shelf.lock:
            self._shelf.state = self.write(read, self._shelf.state, done.state)
        return self._answered(done.outcome)


@define(eq=False)
class TwoWritesHandle(_Racing):
    """One operation writes twice: each row first as ``half`` leaves it, then as it should be, if nobody has touched
    it in between."""

    half: Callable[[Any], Any] = field(kw_only=True)

    def _raced(self, name: str, arguments: dict[str, Any]) -> Any:
        with self._shelf.lock:
            read = self._shelf.state
            done = commit(self._contract, read, self._decided(read, name, arguments))
            written = written_by(read, done.state)
            first = {} if isinstance(done.outcome, Refused) else {k: self._half(read, k, r) for k, r in written.items()}
            self._shelf.state = {**read, **first}
        if written:
            self._let_others_in()
        with self._shelf.lock:
            now = self._shelf.state
            second = {key: record for key, record in written.items() if now.get(key) is first.get(key, read.get(key))}
            self._shelf.state = {**now, **second}
        return self._answered(done.outcome)

    def _half(self, read: State, key: str, record: Record) -> Record:
        """The row moves to its new version with the second write only."""
        base = read.get(key)
        return Record(record.version if base is None else base.version, self.half(record.facts), record.log)


def written_by(read: State, decided: State) -> dict[str, Record]:
    return {key: record for key, record in decided.items() if read.get(key) is not record}


def over(read: State, now: State, decided: State) -> State:
    """What was decided stands, whatever others have made of the rows."""
    return {**now, **written_by(read, decided)}


def unguarded(race: str, write: Write = over) -> Callable[[Binding], HandlesBackend]:
    return lambda binding: _racing(binding, partial(UnguardedHandle, race=race, write=write))


def in_two_writes(race: str, half: Callable[[Any], Any]) -> Callable[[Binding], HandlesBackend]:
    return lambda binding: _racing(binding, partial(TwoWritesHandle, race=race, half=half))


def _racing(binding: Binding, kind: Callable[..., Handle]) -> HandlesBackend:
    made = behind(binding, lambda _open: kind)
    made.abilities |= {Ability.POINTS.value}
    return made
