"""The store: all verbs on one handle."""

from __future__ import annotations

from collections.abc import Callable

from workstore.memory.jobs.arguments import check_integers
from workstore.memory.jobs.handle import Shared
from workstore.memory.jobs.operator_verbs import Operators
from workstore.memory.jobs.outcomes import Backoff
from workstore.memory.jobs.transactions import Transactions
from workstore.memory.jobs.workers import Workers


class JobStore(Workers, Operators, Transactions):
    """An in-memory store of the jobs contract: the port, and what a test may do to a store.

    Profiles: CORE, PAUSE, RATE, RESULT, OUTPUT, PROGRESS, CLOCK, INSPECT, BACKPRESSURE, TXN, LIMITS, WRITERS. Not
    DURABLE: everything is lost with the last handle.

    Safe for threads: each call is atomic, and reads the clock once, under the lock (JOB-GEN-01, JOB-GEN-03). A new
    store is empty; `handle` gives a further handle on the same rows and the same clock. A wrong Python type is a
    TypeError before anything is read; a call on a closed handle raises StoreUnavailable, unless its arguments are
    refused first. The codes that a method may raise stand at its port, `workspec.jobs.ports`.

    Args:
        crash_limit: lost leases after which a job is quarantined, at least 1 (SIM-19).
        retry_base_ms: the first wait after a failure or a crash; it doubles with each (JOB-ACK-08). At least 1.
        retry_cap_ms: the longest such wait, at least 1.
        shared: what other handles share; a new store when it is left out. `handle` passes it on.
        on_close: called once, when this handle is closed.

    Raises:
        ValueError: one of the three is below 1.
    """

    def __init__(
        self,
        *,
        crash_limit: int = 3,
        retry_base_ms: int = 1_000,
        retry_cap_ms: int = 3_600_000,
        shared: Shared | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        check_integers(crash_limit=crash_limit, retry_base_ms=retry_base_ms, retry_cap_ms=retry_cap_ms)
        if crash_limit < 1:
            raise ValueError("crash_limit must be at least 1: a job that never crashed cannot be quarantined")
        if retry_base_ms < 1 or retry_cap_ms < 1:
            raise ValueError("retry_base_ms and retry_cap_ms must be at least 1")
        backoff = Backoff(retry_base_ms, retry_cap_ms)
        super().__init__(Shared.new(crash_limit, backoff) if shared is None else shared, on_close)

    def handle(self, *, on_close: Callable[[], None] | None = None) -> JobStore:
        """Another handle on the same rows, configuration and clock."""
        return JobStore(shared=self._shared, on_close=on_close)
