"""A store for one test, and a clock that the test steps."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Protocol, Self, runtime_checkable

from workspec.jobs.ports import ClockStore
from workstore.memory.jobs import JobStore

START_MS: Final = 1_000_000
"""Where the clock of `fresh_store` stands unless another instant is given; a `SteppedClock` begins here on a store
whose clock runs."""


@runtime_checkable
class HasFrozenClock(Protocol):
    """A store that tells where its clock has been stopped. The port has no call for that."""

    def frozen_at_ms(self) -> int | None: ...


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

    Without ``at_ms`` it goes on from where the clock of the store stands, so that no time runs back; a clock that runs
    is frozen at `START_MS`.

    As a context manager it returns the store to system time at the end. Works on any store with the profile CLOCK. No
    job changes by a step alone (JOB-CLK-04): `drain` promotes what has become due, ``reclaim_expired`` takes back
    leases that have ended, ``evict_retained`` removes rows.

    Raises:
        TypeError: no instant is given, and the store cannot tell where its clock stands.
    """

    def __init__(self, store: ClockStore, at_ms: int | None = None) -> None:
        self._store = store
        self._now_ms = _standing_at(store) if at_ms is None else at_ms
        store.freeze_clock(at_ms=self._now_ms)

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


def _standing_at(store: ClockStore) -> int:
    if not isinstance(store, HasFrozenClock):
        raise TypeError(
            f"a {type(store).__name__} cannot tell where its clock stands (it has no frozen_at_ms()); "
            "give the instant: SteppedClock(store, at_ms=...)"
        )
    frozen_at_ms = store.frozen_at_ms()
    return START_MS if frozen_at_ms is None else frozen_at_ms
