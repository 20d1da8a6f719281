"""The clock of a store that has one of its own: the kit stops it where a step says, and follows what calls do to it."""

from __future__ import annotations

from attrs import define

from workcert.run.store import StoreUnderTest
from workspec.core.scope import Call

RUNS_BACK = "a store's clock does not run back"


@define(eq=False)
class StoreClock:
    """``at``: where it stands, in the contract's unit; None where the store has none, or nobody knows."""

    _store: StoreUnderTest
    at: int | None = None

    def put(self, on: str, at: int | None) -> str:
        """Stop it at an instant, through this handle; why that cannot be, empty when it is done.

        Raises:
            BackendError: the store has no way to stop it.
        """
        if not self._store.backend.binding.has_clock or at is None or at == self.at:
            return ""
        if not -(2**63) <= at < 2**63:
            return "no clock shows this instant"
        if self.at is not None and at < self.at:
            return RUNS_BACK
        self._store.set_clock(on, at)
        self.at = at
        return ""

    def follow(self, call: Call) -> None:
        """After a call that may have moved it."""
        after = self._store.backend.binding.clock_after
        if after is not None:
            self.at = after(call, self.at)
