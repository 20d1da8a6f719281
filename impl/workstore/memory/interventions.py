"""What people and programs other than the worker decide about work: actor timeout, cancellation, re-arm."""

from __future__ import annotations

from workspec.workload.vocabulary import AttemptStatus, ErrorCode, State, Workload
from workstore.memory.budget import budget_is_spent, operator_retries, retried_after_initial_delay
from workstore.memory.carriers import changed
from workstore.memory.fence import Fence, check_fence
from workstore.memory.history import EXECUTING, close_last_attempt, move
from workstore.memory.numbers import COUNT_MAX
from workstore.memory.refusals import Accept, refusal

REASON_LENGTH = 256
_REARMABLE = frozenset({State.FAILED, State.DEAD_LETTER, State.TIMED_OUT})


def time_out(workload: Workload, actor: str, now_s: int) -> Accept[str]:
    """An actor's timeout: no deadline, no fence, no decision in the history (WRK-TMO, table 5.3b).

    Work in READY is put back without using an attempt, so that nothing bounds this but the actor
    (WRK-TMO-06).
    """
    edited = changed(workload, current_claim=None)
    if workload.state != State.READY:
        edited = close_last_attempt(edited, AttemptStatus.TIMED_OUT, now_s)
    edited = move(edited, State.TIMED_OUT, actor, now_s)
    if budget_is_spent(workload) or "timeout" not in workload.retry_policy.retry_on:
        edited = move(edited, State.DEAD_LETTER, actor, now_s)
    else:
        edited = move(retried_after_initial_delay(edited, now_s), State.READY, actor, now_s)
    return Accept(edited.state, edited)


def cancel(workload: Workload, actor: str, now_s: int) -> Accept[str]:
    """Resting work is cancelled at once; whoever executes it is asked to stop and keeps the claim (G-12,
    P-11)."""
    if workload.state in (State.CANCELLATION_REQUESTED, State.CANCELLED):
        return Accept(workload.state)
    if workload.state in EXECUTING:
        edited = move(workload, State.CANCELLATION_REQUESTED, actor, now_s)
    else:
        edited = move(workload, State.CANCELLED, actor, now_s)
    return Accept(edited.state, edited)


def acknowledge_cancel(workload: Workload, fence: Fence, now_s: int) -> Accept[str]:
    """The holder has stopped (G-12)."""
    check_fence(workload, fence, now_s)
    if workload.state != State.CANCELLATION_REQUESTED:
        raise refusal(ErrorCode.STATE_INVALID, f"nobody asked to cancel work in state {workload.state}")
    edited = close_last_attempt(changed(workload, current_claim=None), AttemptStatus.CANCELLED, now_s)
    edited = move(edited, State.CANCELLED, fence.worker_id, now_s)
    return Accept(edited.state, edited)


def retry(workload: Workload, actor: str, reason: str | None, now_s: int) -> Accept[None]:
    """An operator's re-arm: one attempt more, at once (WRK-RTY). No deadline is looked at (WRK-RTY-06)."""
    if workload.state not in _REARMABLE:
        raise refusal(ErrorCode.STATE_INVALID, f"work in state {workload.state} needs no re-arm")
    max_attempts, granted = workload.retry_policy.max_attempts, operator_retries(workload)
    if granted >= max_attempts:
        raise refusal(ErrorCode.RETRY_EXHAUSTED, f"it was re-armed {granted} times; admit it anew instead")
    evidence = {
        "retry": "operator",
        "operator_retry": str(granted + 1),
        "attempt_budget": str(min(max_attempts + granted + 1, COUNT_MAX)),
    }
    if reason is not None and reason.strip():
        evidence["reason"] = reason[:REASON_LENGTH]
    edited = changed(workload, current_claim=None, next_attempt_at=now_s)
    return Accept(None, move(edited, State.READY, actor, now_s, evidence))
