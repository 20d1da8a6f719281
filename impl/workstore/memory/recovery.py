"""Work whose lease has lapsed (WRK-REC). The lost attempt may have done its work: execution is
at-least-once."""

from __future__ import annotations

from workspec.workload.vocabulary import AttemptStatus, State, Workload
from workstore.memory.budget import BUDGET_EXHAUSTED, RETRY, attempts_evidence, budget_is_spent
from workstore.memory.carriers import changed
from workstore.memory.history import HOLDING_A_CLAIM, RECOVERY_ACTOR, close_last_attempt, last_attempt, move


def recovered(workload: Workload, now_s: int) -> Workload | None:
    """The workload after the loss of its worker, or None when no lease has lapsed (WRK-REC-01, table 5.3)."""
    claim, attempt = workload.current_claim, last_attempt(workload)
    if claim is None or claim.expires_at > now_s or workload.state not in HOLDING_A_CLAIM:
        return None
    evidence = {
        "recovery_reason": "lease_expired",
        **attempts_evidence(workload),
        "claim_id": claim.claim_id,
        "worker_id": claim.worker_id,
        "lease_expired_at": str(claim.expires_at),
    }
    if attempt is not None:
        evidence["attempt_id"] = attempt.attempt_id
    error = f"worker_lost: the lease of {claim.worker_id} ended at {claim.expires_at}"
    edited = close_last_attempt(changed(workload, current_claim=None), AttemptStatus.WORKER_LOST, now_s, error)
    if workload.state == State.CANCELLATION_REQUESTED:
        # Nobody is left to acknowledge, and nobody wants a retry (WRK-CAN-03).
        return move(edited, State.CANCELLED, RECOVERY_ACTOR, now_s, evidence)
    edited = move(edited, State.RECOVERING, RECOVERY_ACTOR, now_s, evidence)
    decision = _decision(workload)
    next_state = State.READY if decision == RETRY else State.DEAD_LETTER
    return move(edited, next_state, RECOVERY_ACTOR, now_s, {"decision": decision})


def _decision(workload: Workload) -> str:
    if "worker_failure" not in workload.retry_policy.retry_on:
        return "worker_failure_not_retryable"
    return BUDGET_EXHAUSTED if budget_is_spent(workload) else RETRY
