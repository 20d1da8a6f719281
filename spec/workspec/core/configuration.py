"""Small closed worlds of a contract, for search to go through whole: what may be called in a state, how time may
pass there, and what must hold of every call beside the contract's invariants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from attrs import field, frozen

from workspec.core.contract import Contract
from workspec.core.interpreter import Committed
from workspec.core.record import State
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
        moved = {key for key, record in after.items() if before.get(key) is not record}
        return frozenset(moved | (before.keys() - after.keys()))


@frozen(eq=False)
class Law:
    """What holds of every call. An invariant of the contract sees one record; a law sees the whole store."""

    requirement: str
    text: str
    holds: Callable[[Taken], bool]


class Configuration(Protocol):
    """A closed world, as data that can list its own calls. It begins with an empty store at ``start_s``."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str:
        """One line for people."""

    @property
    def start_s(self) -> int: ...

    @property
    def laws(self) -> tuple[Law, ...]: ...

    def calls(self, state: State, now: int) -> Iterable[Call]:
        """Every call that may be made now, in a fixed order."""

    def later(self, contract: Contract, state: State, now: int) -> Iterable[int]:
        """Every instant to which time may go from here, each later than now."""
