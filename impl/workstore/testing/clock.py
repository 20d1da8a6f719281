"""A store for one test, and a clock that the test steps."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from workspec.jobs.ports import ClockStore
from workstore.memory.jobs import JobStore

START_MS: Final = 1_000_000
"""Where the clock of `fresh_store` and of a `SteppedClock` stands unless another instant is given."""


def fresh_store(
    at_ms: int = START_MS, *, crash_limit: int = 3, retry_base_ms: int = 1_000, retry_cap_ms: int = 3_600_000
) -> JobStore:
    """An empty store in memory, its clock frozen at an instant. The other arguments are those of
    `workstore.memory.jobs.JobStore`.

    Raises:
        ValueError: ``crash_limit`` below 1, a negative wait.
    """
    store = JobStore(crash_limit=crash_limit, retry_base_ms=retry_base_ms, retry_cap_ms=retry_cap_ms)
    store.freeze_clock(at_ms=at_ms)
    return store


class SteppedClock:
    """The clock of a store, in the hand of a test: frozen from here on, and moved by nothing but this object.

    As a context manager it returns the store to system time at the end. Works on any store with the profile CLOCK. No
    job changes by a step alone (JOB-CLK-04): `drain` promotes what has become due, ``reclaim_expired`` takes back
    leases that have ended, ``evict_retained`` removes rows.
    """

    def __init__(self, store: ClockStore, at_ms: int = START_MS) -> None:
        self._store = store
        self._now_ms = at_ms
        store.freeze_clock(at_ms=at_ms)

    @property
    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, delta_ms: int) -> int:
        """Step on; the new instant.

        Raises:
            ValueError: a step back, which stores need not bear (JOB-CLK-05).
        """
        if delta_ms < 0:
            raise ValueError(f"a step of {delta_ms} ms would go back in time; begin with a fresh store instead")
        self._store.advance_clock(delta_ms=delta_ms)
        self._now_ms += delta_ms
        return self._now_ms

    def advance_to(self, at_ms: int) -> int:
        """Step on to an instant: that of a due time, or of the end of a lease.

        Raises:
            ValueError: the instant has passed.
        """
        return self.advance(at_ms - self._now_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.unfreeze_clock()
