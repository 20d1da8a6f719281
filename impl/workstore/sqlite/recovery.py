"""Recovery of work whose lease has lapsed (WRK-REC)."""

from __future__ import annotations

from workspec.workload.vocabulary import AttemptStatus, Claim, Workload

from . import states
from .history import budget_evidence, exhausted, move, with_last_attempt

ACTOR = "authority.recovery"


def lease_end(record: Workload) -> int | None:
    """When the lease ends, in seconds, while the record is in a state that recovery looks at."""
    if record.current_claim is None or record.state not in states.LEASED:
        return None
    return record.current_claim.expires_at


def _decision(record: Workload) -> str:
    if "worker_failure" not in record.retry_policy.retry_on:
        return "worker_failure_not_retryable"
    if exhausted(record):
        return "attempt_budget_exhausted"
    return "retry"


def _evidence(record: Workload, claim: Claim) -> dict[str, str]:
    evidence = {
        "recovery_reason": "lease_expired",
        **budget_evidence(record),
        "claim_id": claim.claim_id,
        "worker_id": claim.worker_id,
        "lease_expired_at": str(claim.expires_at),
    }
    if record.attempts:
        evidence["attempt_id"] = record.attempts[-1].attempt_id
    return evidence


def recovered(record: Workload, now_s: int) -> Workload | None:
    """The record after recovery, or None when its lease has not lapsed (WRK-REC-02 to WRK-REC-06).

    Work that was being cancelled ends CANCELLED; the rest is READY at once or dead-lettered (table 5.3).
    """
    claim, end = record.current_claim, lease_end(record)
    if claim is None or end is None or end > now_s:
        return None
    target = states.RECOVERING
    if record.state == states.CANCELLATION_REQUESTED:
        target = states.CANCELLED
    lost = move(
        record,
        target,
        actor=ACTOR,
        now_s=now_s,
        evidence=_evidence(record, claim),
        attempts=with_last_attempt(
            record,
            status=AttemptStatus.WORKER_LOST.value,
            ended_at=now_s,
            error=f"worker_lost: the lease of {claim.worker_id} ended at {end}",
        ),
        current_claim=None,
    )
    if target == states.CANCELLED:
        return lost
    decision = _decision(record)
    following = states.READY if decision == "retry" else states.DEAD_LETTER
    return move(lost, following, actor=ACTOR, now_s=now_s, evidence={"decision": decision})
