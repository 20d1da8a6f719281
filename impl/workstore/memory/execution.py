"""What a worker does with work before its outcome: claim, start, heartbeat, context, checkpoint.

Each decision asks in the order of the contract: due deadlines, then the fence, then the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workspec.workload.vocabulary import (
    Attempt,
    AttemptStatus,
    Checkpoint,
    Claim,
    Dependency,
    ErrorCode,
    ExecutionContext,
    Json,
    State,
    Workload,
)
from workstore.memory.budget import BUDGET_EXHAUSTED, attempt_budget, attempts_evidence, budget_is_spent
from workstore.memory.carriers import changed
from workstore.memory.deadlines import due_expiry
from workstore.memory.fence import Fence, check_fence
from workstore.memory.history import CLAIM_ACTOR, STARTED, last_attempt, move
from workstore.memory.json_values import is_secret
from workstore.memory.numbers import later, seconds_up
from workstore.memory.refusals import Accept, CommitThenRefuse, Decision, refusal

Find = Callable[[str], Workload | None]
"""Looks a committed workload up by its id."""


def claim(
    workload: Workload,
    worker_id: str,
    capabilities: Sequence[str],
    lease_ms: int,
    now_s: int,
    find: Find,
    new_id: Callable[[str], str],
) -> Decision[Claim]:
    """Take READY work (WRK-CLM). Exhausted work is buried before anything is asked of the claimer
    (WRK-CLM-04)."""
    expiry = due_expiry(workload, now_s)
    if expiry is not None:
        return expiry
    if workload.state != State.READY:
        raise refusal(ErrorCode.NOT_READY, f"work in state {workload.state} cannot be claimed")
    if budget_is_spent(workload):
        return _buried(workload, now_s)
    _check_readiness(workload, capabilities, now_s, find)
    held = Claim(
        claim_id=new_id("claim"),
        worker_id=worker_id,
        fencing_token=_next_token(workload),
        claimed_at=now_s,
        expires_at=later(now_s, seconds_up(lease_ms)),
        last_heartbeat=now_s,
    )
    attempt = Attempt(
        attempt_id=new_id("attempt"),
        claim_id=held.claim_id,
        worker_id=worker_id,
        fencing_token=held.fencing_token,
        status=AttemptStatus.CLAIMED.value,
        started_at=None,
        ended_at=None,
        error=None,
    )
    edited = changed(
        workload,
        attempt_count=workload.attempt_count + 1,
        attempts=(*workload.attempts, attempt),
        current_claim=held,
    )
    return Accept(held, move(edited, State.CLAIMED, worker_id, now_s))


def _buried(workload: Workload, now_s: int) -> CommitThenRefuse:
    evidence = {"reason": BUDGET_EXHAUSTED, **attempts_evidence(workload)}
    error = refusal(
        ErrorCode.ATTEMPTS_EXHAUSTED,
        f"{workload.attempt_count} of {attempt_budget(workload)} attempts are used; re-arm it for one more",
    )
    return CommitThenRefuse(move(workload, State.DEAD_LETTER, CLAIM_ACTOR, now_s, evidence), error)


def _check_readiness(workload: Workload, capabilities: Sequence[str], now_s: int, find: Find) -> None:
    """Time, capabilities, dependencies, in this order (G-09)."""
    if workload.next_attempt_at is not None and now_s < workload.next_attempt_at:
        raise refusal(ErrorCode.NOT_READY, f"the next attempt is due at {workload.next_attempt_at}")
    missing = workload.capability_snapshot.difference(capabilities)
    if missing:
        raise refusal(ErrorCode.CAPABILITY_MISSING, f"the worker lacks {', '.join(sorted(missing))}")
    for dependency in workload.dependencies:
        if not _is_met(workload, dependency, find):
            text = f"{dependency.workload_id} is not {dependency.required_state} in this application"
            raise refusal(ErrorCode.DEPENDENCY_PENDING, text)


def _is_met(workload: Workload, dependency: Dependency, find: Find) -> bool:
    """A dependency lies in the same tenant and application, else one could watch another's work (G-10)."""
    other = find(dependency.workload_id)
    return (
        other is not None
        and other.state == dependency.required_state
        and (other.tenant_id, other.application_id) == (workload.tenant_id, workload.application_id)
    )


def _next_token(workload: Workload) -> int:
    """1, 2, 3, ... within the workload (G-26); above every earlier token of a record from elsewhere too."""
    return max((attempt.fencing_token for attempt in workload.attempts), default=0) + 1


def start(workload: Workload, fence: Fence, now_s: int) -> Decision[None]:
    """Begin execution. The lease and the heartbeat stay as they are (WRK-STR-02)."""
    expiry = due_expiry(workload, now_s)
    if expiry is not None:
        return expiry
    check_fence(workload, fence, now_s)
    edited = move(workload, State.RUNNING, fence.worker_id, now_s)
    attempt = last_attempt(workload)
    if attempt is not None:
        running = changed(attempt, status=AttemptStatus.RUNNING.value, started_at=now_s)
        edited = changed(edited, attempts=(*workload.attempts[:-1], running))
    return Accept(None, edited)


def heartbeat(workload: Workload, fence: Fence, extension_ms: int, now_s: int) -> Decision[Claim]:
    """Renew the lease from now on, which may shorten it (G-11); no event (WRK-HBT-02)."""
    expiry = due_expiry(workload, now_s)
    if expiry is not None:
        return expiry
    held = check_fence(workload, fence, now_s)
    renewed = changed(held, last_heartbeat=now_s, expires_at=later(now_s, seconds_up(extension_ms)))
    return Accept(renewed, changed(workload, current_claim=renewed))


def execution_context(
    workload: Workload, fence: Fence, secret_references: Sequence[str], now_s: int
) -> Decision[ExecutionContext]:
    """What the holder needs to run, with the checkpoints of lost attempts too (WRK-CTX-02)."""
    expiry = due_expiry(workload, now_s)
    if expiry is not None:
        return expiry
    held = check_fence(workload, fence, now_s)
    _check_secret_references(secret_references)
    context = ExecutionContext(
        attempt_id=_attempt_id(workload),
        secret_references=tuple(secret_references),
        expires_at=held.expires_at,
        fencing_token=held.fencing_token,
        input=workload.input,
        checkpoints=workload.checkpoints,
    )
    return Accept(context)


def _check_secret_references(references: Sequence[str]) -> None:
    """A reference is the name of a secret, never its value (P-03). Asked after the fence (WRK-CTX-01)."""
    if any(is_secret(reference) for reference in references):
        raise refusal(ErrorCode.SECRET_MATERIAL, "a secret reference is itself a credential")
    if "" in references:
        raise refusal(ErrorCode.INVALID, "a secret reference is empty")


def checkpoint(workload: Workload, fence: Fence, state: Json, now_s: int) -> Decision[Checkpoint]:
    """Record progress of a started attempt; no deadline moves (WRK-CKP-03)."""
    expiry = due_expiry(workload, now_s)
    if expiry is not None:
        return expiry
    check_fence(workload, fence, now_s)
    if workload.state not in STARTED:
        raise refusal(ErrorCode.STATE_INVALID, f"work in state {workload.state} takes no checkpoint")
    entry = Checkpoint(attempt_id=_attempt_id(workload), state=state)
    edited = changed(workload, checkpoints=(*workload.checkpoints, entry))
    return Accept(entry, move(edited, State.CHECKPOINTED, fence.worker_id, now_s))


def _attempt_id(workload: Workload) -> str:
    attempt = last_attempt(workload)
    return attempt.attempt_id if attempt is not None else ""
