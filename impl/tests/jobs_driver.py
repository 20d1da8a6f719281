"""What the tests of job stores share: envelopes, and short names for the calls on a store.

Nothing here knows which store it drives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from attrs import evolve, frozen

from workspec.jobs.vocabulary import (
    Checkpoint,
    Claim,
    Envelope,
    Job,
    JobError,
    JobFilter,
    LeaseRef,
    Outcome,
    State,
)
from workstore.testing import envelope as request

T0 = 1_000_000
DAY_MS = 86_400_000

ENVELOPE = request("x", "w", queue="q", retention_ms=DAY_MS)
EVERYTHING = JobFilter(
    queue=None,
    state=None,
    kind=None,
    kind_prefix=None,
    partition_key=None,
    id=None,
    fingerprint=None,
    rate_class=None,
    priority=None,
    tags_all=(),
    tags_any=(),
)
NOTHING_DONE = Checkpoint(
    last_completed_step=None,
    completed_steps=(),
    in_progress_step=None,
    cursor_step=None,
    cursor=None,
    schema_version=0,
    step_set_hash="",
    crashes_by_step=(),
)


def envelope(job_id: str = "x", **changes: Any) -> Envelope:
    """A job for queue ``q`` with a fingerprint of its own, kept for a day when it has finished."""
    changes.setdefault("fingerprint", f"fp-{job_id}")
    return evolve(ENVELOPE, id=job_id, **changes)


def refusal(call: Callable[..., object], *arguments: Any, **named: Any) -> tuple[str, dict[str, Any]]:
    """Makes a call that must be refused; its code and details."""
    try:
        call(*arguments, **named)
    except JobError as error:
        return str(error.code), dict(error.details or {})
    raise AssertionError("the call was not refused")


def invalid(reason: str) -> tuple[str, dict[str, Any]]:
    return "Invalid", {"reason": reason}


def wrong_state(state: str) -> tuple[str, dict[str, Any]]:
    return "Invalid", {"reason": "wrong_state", "state": state}


def duplicate(existing_id: str, replaced: bool = False) -> tuple[str, dict[str, Any]]:
    return "Duplicate", {"existing_id": existing_id, "replaced": replaced}


def backpressure(limit: int, current: int, incoming: int) -> tuple[str, dict[str, Any]]:
    return "Backpressure", {"queue": "q", "limit": limit, "current": current, "incoming": incoming}


def lease_rejected(job_id: str) -> tuple[str, dict[str, Any]]:
    return "LeaseRejected", {"job_id": job_id}


def no_job(job_id: str) -> tuple[str, dict[str, Any]]:
    return "NotFound", {"what": "job", "id": job_id}


def ref(claim: Claim) -> LeaseRef:
    return LeaseRef(claim.envelope.id, claim.lease_id, claim.fence)


def ids(claims: Sequence[Claim]) -> list[str]:
    return [claim.envelope.id for claim in claims]


@frozen
class Driver:
    """A store whose clock stands at T0, and short names for the calls on it."""

    store: Any

    def on(self, handle: Any) -> Driver:
        return Driver(handle)

    # --- clock

    def at(self, at_ms: int) -> Driver:
        """Move the clock; for chaining: ``jobs.at(T0 + 1).promote()``."""
        self.store.freeze_clock(at_ms=at_ms)
        return self

    def later(self, delta_ms: int) -> Driver:
        self.store.advance_clock(delta_ms=delta_ms)
        return self

    # --- producing

    def put(self, job_id: str = "x", **changes: Any) -> None:
        self.store.enqueue(envelopes=[envelope(job_id, **changes)])

    def put_all(self, *envelopes: Envelope) -> None:
        self.store.enqueue(envelopes=list(envelopes))

    # --- running

    def admit(
        self,
        capacity: int = 100,
        *,
        worker: str = "w",
        lease_id: str = "l",
        queues: Sequence[str] = ("q",),
        lease_ms: int = 30_000,
    ) -> list[Claim]:
        units = self.store.admit(
            worker=worker, lease_id=lease_id, queues=queues, capacity=capacity, lease_ms=lease_ms, quantum=1
        )
        return [claim for unit in units for claim in unit.claims]

    def admitted(self, capacity: int = 100, **options: Any) -> list[str]:
        return ids(self.admit(capacity, **options))

    def run(self, job_id: str = "x", **options: Any) -> Claim:
        """Admit everything; the claim of one job."""
        return next(claim for claim in self.admit(**options) if claim.envelope.id == job_id)

    def ack(
        self,
        claim: Claim | LeaseRef,
        outcome: Outcome | str,
        *,
        error: str | None = None,
        delay_ms: int | None = None,
        logs: Sequence[str] = (),
        actual: int | None = None,
    ) -> None:
        lease = claim if isinstance(claim, LeaseRef) else ref(claim)
        self.store.ack(lease=lease, outcome=outcome, error=error, delay_ms=delay_ms, logs=logs, actual_weight=actual)

    def finish(self, job_id: str = "x", outcome: Outcome = Outcome.SUCCESS, **options: Any) -> None:
        """Admit everything, then end the run of one job."""
        self.ack(self.run(job_id), outcome, **options)

    def renew(self, *claims: Claim, lease_ms: int = 30_000) -> list[str]:
        return list(self.store.renew(leases=[ref(claim) for claim in claims], lease_ms=lease_ms))

    # --- sweeping

    def promote(self, limit: int = 10_000) -> int:
        return int(self.store.promote_due(limit=limit))

    def reclaim(self, limit: int = 10_000) -> list[Any]:
        return list(self.store.reclaim_expired(limit=limit))

    def evict(self, limit: int = 10_000) -> int:
        return int(self.store.evict_retained(limit=limit))

    def lose(self, *job_ids: str, lease_ms: int = 1_000) -> None:
        """Admit everything, and let these leases end; the others are renewed for long."""
        claims = self.admit(lease_ms=lease_ms)
        kept = [claim for claim in claims if claim.envelope.id not in job_ids]
        self.renew(*kept, lease_ms=DAY_MS)
        self.later(lease_ms)
        assert {lost.job_id for lost in self.reclaim()} == set(job_ids)

    # --- looking

    def job(self, job_id: str = "x") -> Job:
        found = self.store.get_job(job_id=job_id, include_payload=True)
        assert found is not None
        return found

    def state(self, job_id: str = "x") -> State | None:
        found = self.store.get_job(job_id=job_id, include_payload=False)
        return None if found is None else found.state

    def counts(self, queue: str | None = None) -> dict[str, int]:
        return dict(self.store.counts(queue=queue).by_state)

    def stats(self, queue: str = "q") -> Any:
        return next(stats for stats in self.store.queue_stats() if stats.queue == queue)

    def tokens(self, rate_class: str = "c") -> int:
        """Tokens as they are now."""
        return int(self.store.get_rate_class(name=rate_class).available_tokens)

    def unchanged_by(self, call: Callable[..., object], *arguments: Any, **named: Any) -> tuple[str, dict[str, Any]]:
        """Makes a call that must be refused and must change nothing at all; its code and details (INV-11)."""
        before = self.store.snapshot()
        answer = refusal(call, *arguments, **named)
        assert self.store.snapshot() == before
        return answer


def rate(jobs: Driver, burst: int, limit: int = 0, window_ms: int = 60_000) -> None:
    jobs.store.set_rate_limit(name="c", limit=limit, window_ms=window_ms, burst=burst)


OpenJobs: TypeAlias = Callable[..., Driver]
"""The fixture `open_jobs`: settings to a driven store."""


def race(*calls: Callable[[], object]) -> list[Any]:
    """Makes calls at once, each in a thread; their answers, or the errors that they raised, in order."""
    barrier = threading.Barrier(len(calls))
    answers: list[Any] = [None] * len(calls)

    def run(index: int, call: Callable[[], object]) -> None:
        barrier.wait(timeout=60)
        try:
            answers[index] = call()
        except Exception as error:
            answers[index] = error

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    return answers
