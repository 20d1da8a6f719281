"""An adapter of the jobs contract with a small store in it, to begin with.

It runs as it is:

    workcert certify FILE:BACKEND

The store keeps the duties of the contract in a dict: `claim_duty` and `release_duty`. A case that calls another method
is skipped and says so; what is there is judged in full. The certificate of such a store is *incomplete*: it passes, and
it does not yet do all that CORE asks.

Make it yours in either direction:

- You have a job queue already. Keep `BACKEND`, throw `Store` away, and let `Adapter.open` return an object that
  translates the methods of the port into calls of your queue. Raise `JobError(code, details)` where it refuses.
- You write a store. Replace the dict by your storage, and add a method at a time. Types, arguments and errors of each
  stand in `workspec.jobs.ports`; what it must do, `workcert explain FAMILY` says. A good order:

      enqueue             validation, ids, unique keys; all of a batch or nothing of it
      admit, ack          the draw, leases and fences, every outcome
      renew, checkpoint   what a worker does meanwhile
      promote_due, reclaim_expired, evict_retained
      get_job, counts     with these the kit reads every row after every step, and sees far more (INSPECT)
      pause_queue, set_rate_limit, ack_success_with_result, write_job_output, write_job_progress, begin, ...
                          the further profiles: workcert list profiles

**The clock.** Time in this contract is the store's own. The kit waits for nothing: before each call it stops the clock
of the store where the case says, by ``freeze_clock(at_ms=...)``, for all handles on the place. An adapter needs this
method even if it does not claim CLOCK; a queue that asks its server for the time gets a source that a test can set.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from attrs import define, field

from workspec.jobs.vocabulary import ErrorCode, JobError


@define
class Rows:
    """What the store keeps, shared by all handles on one place."""

    duties: dict[str, tuple[str, int]] = field(factory=dict)
    """Name to the holder and the end of its time."""
    stopped_at_ms: int | None = None
    lock: threading.Lock = field(factory=threading.Lock)


@define
class Store:
    """A handle. Each method decides and commits under one lock, and reads the clock once (JOB-GEN-01, JOB-GEN-03)."""

    _rows: Rows

    def claim_duty(self, *, name: str, holder: str, lease_ms: int) -> bool:
        """Take or renew a named duty; False while another holds it (JOB-DTY-01, JOB-DTY-02)."""
        if lease_ms < 1:
            raise JobError(ErrorCode.INVALID, {"reason": "bad_lease"})
        with self._rows.lock:
            now_ms = self._now_ms()
            other, until_ms = self._rows.duties.get(name, (holder, now_ms))
            if other != holder and now_ms < until_ms:
                return False
            self._rows.duties[name] = (holder, now_ms + lease_ms)
            return True

    def release_duty(self, *, name: str, holder: str) -> None:
        """Give a duty up; silent for anybody but its holder (JOB-DTY-03)."""
        with self._rows.lock:
            if self._rows.duties.get(name, ("", 0))[0] == holder:
                del self._rows.duties[name]

    # The clock -------------------------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        stopped_at_ms = self._rows.stopped_at_ms
        return int(time.time() * 1000) if stopped_at_ms is None else stopped_at_ms

    def freeze_clock(self, *, at_ms: int) -> None:
        """Stop the clock of every handle on this place (JOB-CLK-01)."""
        with self._rows.lock:
            self._rows.stopped_at_ms = at_ms

    # Abilities -------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Empty the store: quicker than a fresh place for each example. The clock may stay."""
        with self._rows.lock:
            self._rows.duties.clear()

    def close(self) -> None:
        """Give back what this handle holds; the rows stay."""


class Place(Protocol):
    """Where one store may live: an empty directory, and a name that is used once."""

    @property
    def path(self) -> Path: ...

    @property
    def name(self) -> str: ...


@define
class Adapter:
    """How the kit reaches the store. Claim what it can do: see ``workcert list profiles`` and ``list abilities``."""

    contract: str = "jobs"
    profiles: frozenset[str] = frozenset({"CORE"})
    abilities: frozenset[str] = frozenset({"reset", "second_handle"})
    choices: dict[str, Any] = field(factory=dict)
    """Where the contract leaves a choice: see ``workcert list choices --contract jobs``."""
    configurable: frozenset[str] = frozenset()
    """What ``open`` can be asked for: ``crash_limit``, ``retry_base_ms``, ``retry_cap_ms``."""
    _places: dict[str, Rows] = field(factory=dict)

    def open(self, place: Place, config: Mapping[str, Any]) -> Store:  # noqa: ARG002 - nothing is configurable yet
        """A handle on the store at this place, made if nothing is there."""
        return Store(self._places.setdefault(str(place.path), Rows()))


BACKEND = Adapter()
