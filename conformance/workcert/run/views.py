"""What each handle may still hold of the states that were committed since it was last used."""

from __future__ import annotations

from attrs import define, field

from workcert.judge.comparing import Stale
from workspec.core.contract import Contract
from workspec.core.record import State


@define(eq=False)
class Views:
    """``history``: every state in its order, the present one last; whoever makes a step adds to it."""

    contract: Contract
    history: list[State]
    opened_at: int = 0
    """How much of the history every handle has seen that was not used since it was opened."""
    _seen_up_to: dict[str, int] = field(factory=dict)
    _lost: set[str] = field(factory=set)

    def used(self, handle: str) -> None:
        """It knows all that is there now."""
        self._lost.discard(handle)
        self._seen_up_to[handle] = len(self.history)

    def lost(self, handle: str) -> None:
        """It lost a guard, and may go on with its old view, which is a fault of its own (MWR-05)."""
        self._lost.add(handle)

    def opened_anew(self) -> None:
        """Every handle was closed."""
        self._seen_up_to.clear()
        self.opened_at = len(self.history)

    def stale(self, handle: str) -> Stale:
        """The states that were committed since this handle was last used, newest first, without the present one."""
        since = self._seen_up_to.get(handle, self.opened_at)
        older = self.history[max(since - 1, 0) : -1]
        ids = self.contract.conflict_requirements if handle in self._lost else self.contract.comparisons["stale view"]
        return Stale(older[::-1], ids)
