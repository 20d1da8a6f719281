"""The clock of a store that has one of its own: the kit stops it where a step says, and follows what calls do to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from attrs import define, evolve

from workcert.backends.registry import BackendError
from workcert.judge.differences import Difference
from workcert.judge.verdict import Failure
from workcert.run.store import StoreUnderTest
from workspec.core.scope import Call

RUNS_BACK: Final = "a store's clock does not run back"
STANDS: Final = "the clock of the store stands, and no call of the case has let it run"
OFF: Final = 86_400_000
"""By a day at most the running clock of a store may be off from that of the kit, on whatever machine it is; one that
is farther off does not run."""
LATE: Final = 60_000
"""A clock that shows no more than this after the instant at which it was stopped was stopped, and went on."""


@define(eq=False)
class StoreClock:
    """``at``: where it stands, in the contract's unit; None where the store has none, or nobody knows."""

    _store: StoreUnderTest
    at: int | None = None
    _through: str = ""
    """The handle that stopped it."""
    _moved: tuple[Call, int] | None = None
    """The last call of the case that moved it since the kit put it anywhere, and where it stood before."""
    _reached: int | None = None
    """The time of the system at the last call that was made while it ran."""

    def put(self, on: str, at: int | None) -> str:
        """Stop it at an instant, through this handle; why that cannot be, empty when it is done.

        Raises:
            BackendError: the store has no way to stop it.
        """
        if not self._store.backend.binding.has_clock or at is None or at == self.at:
            return ""
        if not -(2**63) <= at < 2**63:
            return "no clock shows this instant"
        if any(late is not None and at < late for late in (self.at, self._reached)):
            return RUNS_BACK
        self._store.set_clock(on, at)
        self.at, self._through, self._moved = at, on, None
        return ""

    def running(self) -> int | None:
        """The time of the system, if a call of the case has let the clock run; else None."""
        if self.at is not None or self._moved is None:
            return None
        self._reached = time.time_ns() // 1_000_000
        return self._reached

    def follow(self, call: Call) -> None:
        """After a call that may have moved it."""
        after = self._store.backend.binding.clock_after
        if after is None:
            return
        before, self.at = self.at, after(call, self.at)
        if before is not None and self.at != before:
            self._moved = (call, before)

    def blamed(self, failure: Failure, on: str, now: int, right_at: Callable[[int], bool]) -> Failure:
        """A failure that is none at the instant which the store shows: then it is its clock that is wrong. Where the
        case itself has moved the clock, what that call is for may be what is broken.

        Raises:
            BackendError: the clock was not stopped at all, so that nothing can be said of any rule.
        """
        binding = self._store.backend.binding
        late = common_shift(failure.differences) if binding.has_clock else 0
        if not late or not right_at(now + late):
            return self._misstepped(failure, now, right_at)
        ids = binding.contract.comparisons["clock"]
        claimed = self._store.backend.profiles.issuperset({binding.contract.catalogue[each].profile for each in ids})
        text = f"after freeze_clock(at_ms={now}) a call works at {now + late}"
        if claimed and (0 < late <= LATE or on != self._through):
            return evolve(failure, requirements=(*ids, *failure.requirements), text=f"{failure.text}: {text}")
        raise BackendError(
            f"{self._store.backend.name}: {text}. The kit moves the clock of the store and waits for nothing: "
            "freeze_clock has to stop it for all handles on one place until it is called again"
        )

    def _misstepped(self, failure: Failure, now: int, right_at: Callable[[int], bool]) -> Failure:
        if self._moved is None:
            return failure
        call, before = self._moved
        for at, how in ((before, "not been made"), (2 * now - before, "been made twice")):
            if at != now and right_at(at):
                ids = self._store.backend.binding.contract.operation(call.name).requirements
                text = f"{failure.text}: as if {call.name} had {how}"
                return evolve(failure, requirements=(*failure.requirements, *ids), text=text)
        return failure


def shifts(found: Sequence[Difference]) -> tuple[int, ...]:
    """By how much each number that differs is off, every distance once, as far as a clock that runs may be off."""
    pairs = [(each.expected, each.seen) for each in found]
    seen = (seen - wanted for wanted, seen in pairs if type(wanted) is int and type(seen) is int)
    return tuple(dict.fromkeys(late for late in seen if abs(late) <= OFF))


def common_shift(found: Sequence[Difference]) -> int:
    """By how much all that differs is too late, which must be more than one member; 0 where that is not all."""
    pairs = [(each.expected, each.seen) for each in found]
    if len(pairs) < 2 or any(type(value) is not int for pair in pairs for value in pair):
        return 0
    shifts = {seen - expected for expected, seen in pairs}
    return shifts.pop() if len(shifts) == 1 else 0
