"""The clock of a store, which a test can stop and step (JOB-CLK). All handles share it."""

from __future__ import annotations

import time

from workstore.memory.jobs.numbers import plus


class Clock:
    """System time in milliseconds until it is frozen. Its caller holds the lock of the store."""

    def __init__(self) -> None:
        self._frozen_at_ms: int | None = None

    def now_ms(self) -> int:
        """JOB-CLK-02."""
        if self._frozen_at_ms is not None:
            return self._frozen_at_ms
        return time.time_ns() // 1_000_000

    @property
    def frozen_at_ms(self) -> int | None:
        """None while it runs."""
        return self._frozen_at_ms

    def freeze(self, at_ms: int) -> None:
        self._frozen_at_ms = at_ms

    def advance(self, delta_ms: int) -> None:
        """A running clock is stopped at its present instant first (JOB-CLK-03)."""
        self._frozen_at_ms = plus(self.now_ms(), delta_ms)

    def unfreeze(self) -> None:
        self._frozen_at_ms = None
