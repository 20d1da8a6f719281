"""Small closed worlds of a contract, for search to go through whole: what may be called in a state, how time may
pass there, and what must hold of every call beside the contract's invariants."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Protocol

from attrs import field, frozen

from workspec.core.contract import Contract
from workspec.core.interpreter import Committed
from workspec.core.record import Record, State
from workspec.core.scope import Call


@frozen(eq=False)
class Taken:
    """One call, made with nothing in between: on which state, at which instant, and what became of it.

    ``changed``: keys of the records that are no longer the same, or no longer there.
    """

    contract: Contract
    before: State
    call: Call
    now: int
    done: Committed
    changed: frozenset[str] = field(init=False)

    @changed.default
    def _find_changed(self) -> frozenset[str]:
        before, after = self.before, self.done.state
        if before is after:
            return frozenset()
        written: frozenset[str] | None = getattr(after, "written", None)
        if written is not None:
            return written
        moved = {key for key, record in after.items() if before.get(key) is not record}
        return frozenset(moved | (before.keys() - after.keys()))


@frozen(eq=False)
class Law:
    """What holds of every call, or of those named in ``calls``. An invariant of the contract sees one record; a law
    sees the whole store.

    ``holds`` is asked of the call and of the keys of all records that are there after it; where the elements of a call
    commit each alone, it is asked of the key of each alone.
    """

    requirement: str
    text: str
    holds: Callable[[Taken, Iterable[str]], bool]
    calls: tuple[str, ...] = ()


class Configuration(Protocol):
    """A closed world, as data that can list its own calls. It begins with an empty store.

    Every call belongs to one record, or to none: what may be called of a record depends on that record alone.
    """

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str:
        """One line for people."""

    @property
    def start(self) -> int:
        """The instant at which it begins, in the contract's unit."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all records that can ever be there, in a fixed order."""

    @property
    def renamings(self) -> tuple[Mapping[str, str], ...]:
        """Other namings under which the configuration is the same: for each, every name that changes and the name that
        it becomes. Together with leaving all names as they are they form a group."""

    @property
    def waits(self) -> tuple[int, ...]:
        """The steps of time, in the contract's unit."""

    @property
    def to_instants(self) -> bool:
        """Time may also go to every instant at which a rule turns."""

    @property
    def aside(self) -> bool:
        """Its paths are told only where no other configuration has one: they need what few stores have."""

    @property
    def laws(self) -> tuple[Law, ...]: ...

    def calls(self, key: str | None, record: Record | None, now: int) -> Iterable[Call]:
        """Every call that may be made of the record with this key as it is now, in a fixed order; the key None stands
        for the calls of no record. Records with one fold allow the same calls in the same order."""

    def holds_time(self, record: Record, now: int) -> bool:
        """Time does not pass while the record is so."""

    def fold(self, record: Record, now: int) -> Hashable:
        """The identity of a record at an instant: all of it that can still make a difference to what is decided."""


def calls_in(configuration: Configuration, state: State, now: int) -> Iterator[Call]:
    """Every call that may be made in a state, in a fixed order."""
    for key in (None, *configuration.keys):
        yield from configuration.calls(key, None if key is None else state.get(key), now)
