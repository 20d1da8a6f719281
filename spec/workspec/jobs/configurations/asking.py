"""Calls of the jobs contract as configurations name them: short, with what is usual left out."""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from workspec.core.scope import Call
from workspec.jobs.configurations.world import Ask, Lease
from workspec.jobs.samples import NO_FILTER, PLAIN
from workspec.jobs.vocabulary import Checkpoint, Envelope, JobResult, LeaseRef, Outcome, ProgressUpdate

UNKNOWN_JOB: Final = "nowhere"
UNKNOWN_LEASE: Final = LeaseRef(UNKNOWN_JOB, "lease", 1)


def envelope(job_id: str, **members: Any) -> Envelope:
    """A request with a fingerprint of its own. ``scheduled_at_ms`` counts from the call."""
    return evolve(PLAIN, id=job_id, **{"fingerprint": f"of {job_id}", **members})


def each_alone(*envelopes: Envelope) -> tuple[tuple[Envelope, ...], ...]:
    """Batches of one."""
    return tuple((each,) for each in envelopes)


def _ack_arguments(outcome: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": outcome, "error": None, "logs": (), "delay_ms": None, "actual_weight": None, **given}


def ack(outcome: str, lease: Lease = Lease.PRESENT, **given: Any) -> Ask:
    return Ask("ack", _ack_arguments(outcome, given), lease)


def ack_of_unknown(outcome: str, **given: Any) -> Call:
    return Call("ack", {"lease": UNKNOWN_LEASE, **_ack_arguments(outcome, given)})


def with_result(result: JobResult, lease: Lease = Lease.PRESENT, **given: Any) -> Ask:
    arguments = {"result": result, "logs": (), "actual_weight": None}
    return Ask("ack_success_with_result", arguments | given, lease)


def output(written: JobResult, lease: Lease = Lease.PRESENT) -> Ask:
    return Ask("write_job_output", {"output": written}, lease)


def progress(told: ProgressUpdate, lease: Lease = Lease.PRESENT) -> Ask:
    return Ask("write_job_progress", {"progress": told}, lease)


def checkpoint(step: str | None = None, lease: Lease = Lease.PRESENT) -> Ask:
    return Ask("checkpoint", {"checkpoint": Checkpoint(None, (), step, None, None, 1, "h", ())}, lease)


def renew(lease_ms: int = 2000, lease: Lease = Lease.PRESENT) -> Ask:
    return Ask("renew", {"lease_ms": lease_ms}, lease)


def admit(*queues: str, worker: str = "w", capacity: int = 10, lease_ms: int = 1000) -> Call:
    arguments = {"worker": worker, "lease_id": "lease", "queues": queues, "capacity": capacity}
    return Call("admit", {**arguments, "lease_ms": lease_ms, "quantum": 1})


def sweep(name: str, limit: int = 10) -> Call:
    return Call(name, {"limit": limit})


def of(job_id: str, *asks: Ask) -> tuple[Ask, ...]:
    """These calls, of one row alone."""
    return tuple(evolve(ask, of=job_id) for ask in asks)


def under_every_lease(*asks: Ask) -> tuple[Ask, ...]:
    return tuple(evolve(ask, lease=lease) for ask in asks for lease in Lease)


OUTCOMES: Final = tuple(outcome.value for outcome in Outcome)
PROMOTE: Final = sweep("promote_due")
RECLAIM: Final = sweep("reclaim_expired")
EVICT: Final = sweep("evict_retained")
PARK: Final = sweep("sweep_quarantined")
EDIT: Final = Ask("edit_payload", {"payload": b"new", "schema_version": 2, "fingerprint": "new"})
VERBS: Final = (
    Ask("operator_cancel"),
    Ask("operator_retry"),
    Ask("promote_job"),
    Ask("schedule_pending_job", {"at_ms": 1000}),
    Ask("reschedule_job", {"at_ms": 1000}),
    EDIT,
    Ask("delete_job"),
)
"""What operators do with one row."""
READS_OF_ROWS: Final = (
    Ask("get_job", {"include_payload": True}),
    Ask("explain_admission"),
    Ask("get_job_result"),
    Ask("get_job_output"),
    Ask("get_job_progress"),
    Ask("get_checkpoint"),
)
READS: Final = (
    *(Call("list_jobs", {"where": NO_FILTER, "cursor": None, "limit": limit}) for limit in (0, 1, 199, 200, 201)),
    Call("counts", {"queue": None}),
    Call("queue_stats", {}),
    Call("distinct_kinds", {"limit": 10}),
    Call("get_rate_class", {"name": "c"}),
    Call("list_quarantined", {}),
)
