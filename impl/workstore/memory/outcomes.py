"""The outcome that a worker reports: completion or failure, each answered again when it is repeated."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from workspec.workload.vocabulary import (
    Attempt,
    AttemptStatus,
    ErrorCode,
    Event,
    Json,
    Result,
    State,
    Workload,
)
from workstore.memory.budget import BUDGET_EXHAUSTED, RETRY, budget_is_spent, retried_after_backoff
from workstore.memory.carriers import changed
from workstore.memory.deadlines import due_expiry
from workstore.memory.fence import Fence, check_fence
from workstore.memory.history import EXECUTING, RETRY_ACTOR, STARTED, close_last_attempt, last_attempt, move
from workstore.memory.json_values import canonical_hash
from workstore.memory.refusals import Accept, Decision, refusal


@frozen
class Completion:
    """What a worker says of finished work."""

    result_id: str
    output: Json
    references: Sequence[str]
    schema_version: int


def recorded_result(workload: Workload, fence: Fence, completion: Completion) -> Result | None:
    """The result that this completion repeats, or None when its result id is new to the workload
    (WRK-CMP-02).

    Lease, deadline and state take no part: a repeat is good at any later time. Nor do the references and the
    schema number (WRK-CMP-05).

    Raises:
        WorkloadError: RESULT_CONFLICT when the id was recorded by another claim or with another output
            (WRK-CMP-03).
    """
    result = workload.result
    if result is None or result.result_id != completion.result_id:
        return None
    recorded = (
        result.produced_by,
        result.provenance.get("claim_id"),
        result.provenance.get("fencing_token"),
        # Hashed anew: a record from elsewhere may hold a hash of another kind.
        canonical_hash(result.output),
    )
    repeated = (
        fence.worker_id,
        fence.claim_id,
        str(fence.fencing_token),
        canonical_hash(completion.output),
    )
    if recorded != repeated:
        raise refusal(ErrorCode.RESULT_CONFLICT, "this result id is recorded with another claim or output")
    return result


def complete(workload: Workload, fence: Fence, completion: Completion, now_s: int) -> Decision[Result]:
    """Record the result of a started attempt (WRK-CMP-07). Result ids were looked up before."""
    expiry = due_expiry(workload, now_s)
    if expiry is not None:
        return expiry
    held = check_fence(workload, fence, now_s)
    if workload.state not in STARTED:
        raise refusal(ErrorCode.STATE_INVALID, f"work in state {workload.state} cannot be completed; start it first")
    attempt = last_attempt(workload)
    result = Result(
        result_id=completion.result_id,
        attempt_id=attempt.attempt_id if attempt is not None else "",
        output=completion.output,
        output_hash=canonical_hash(completion.output),
        produced_by=fence.worker_id,
        provenance={"claim_id": held.claim_id, "fencing_token": str(held.fencing_token)},
        references=tuple(completion.references),
        schema_version=completion.schema_version,
    )
    edited = close_last_attempt(workload, AttemptStatus.SUCCEEDED, now_s)
    edited = changed(edited, current_claim=None, result=result)
    return Accept(result, move(edited, State.SUCCEEDED, fence.worker_id, now_s))


@frozen
class FailureReport:
    """What a worker says of failed work. ``effect`` is None, ``none`` or ``unknown``."""

    kind: str
    error: str
    effect: str | None


def fail(workload: Workload, fence: Fence, report: FailureReport, now_s: int) -> Decision[str]:
    """Record a failure and decide what becomes of the work (WRK-FAL)."""
    if _is_repeat(workload, fence, report):
        # The state of now, not that of then: the work may have moved on (WRK-FAL-12).
        return Accept(workload.state)
    expiry = due_expiry(workload, now_s)
    if expiry is not None:
        return expiry
    check_fence(workload, fence, now_s)
    if workload.state not in EXECUTING:
        raise refusal(ErrorCode.STATE_INVALID, f"work in state {workload.state} takes no failure report")
    effect = _effective_effect(workload, report)
    evidence = {"failure_kind": report.kind}
    attempt = last_attempt(workload)
    if attempt is not None:
        evidence["attempt_id"] = attempt.attempt_id
    if effect is not None:
        evidence["effect"] = effect
    edited = close_last_attempt(workload, AttemptStatus.FAILED, now_s, report.error)
    edited = changed(edited, current_claim=None, last_failure=f"{report.kind}: {report.error}")
    edited = move(edited, State.FAILED, fence.worker_id, now_s, evidence)
    decision = _decision(workload, report.kind, effect)
    if decision == RETRY:
        edited = move(retried_after_backoff(edited, now_s), State.READY, RETRY_ACTOR, now_s, {"decision": decision})
    else:
        edited = move(edited, State.DEAD_LETTER, RETRY_ACTOR, now_s, {"decision": decision})
    return Accept(edited.state, edited)


def _effective_effect(workload: Workload, report: FailureReport) -> str | None:
    """Work that was never started had no effect, unless the report says otherwise (WRK-FAL-05)."""
    if report.effect is None and workload.state == State.CLAIMED:
        return "none"
    return report.effect


def _decision(workload: Workload, kind: str, effect: str | None) -> str:
    """Table 5.1: policy before budget (WRK-FAL-09). An unknown effect counts as a lost worker
    (WRK-FAL-08)."""
    retry_on = workload.retry_policy.retry_on
    if effect == "unknown":
        if "worker_failure" not in retry_on:
            return "effect_unknown_not_retryable"
    elif kind not in retry_on:
        return "failure_kind_not_retryable"
    return BUDGET_EXHAUSTED if budget_is_spent(workload) else RETRY


def _is_repeat(workload: Workload, fence: Fence, report: FailureReport) -> bool:
    """Whether an attempt of this claim has reported the same already (WRK-FAL-11)."""
    return any(
        attempt.status == AttemptStatus.FAILED
        and (attempt.claim_id, attempt.worker_id, attempt.fencing_token)
        == (fence.claim_id, fence.worker_id, fence.fencing_token)
        and attempt.error == report.error
        and _matches_event(_failure_event(workload, attempt), report)
        for attempt in workload.attempts
    )


def _failure_event(workload: Workload, attempt: Attempt) -> Event | None:
    """The event of the report. Older versions did not name the attempt in it: such never replays
    (WRK-FAL-16)."""
    for event in workload.execution_history:
        if event.to_state == State.FAILED and event.evidence.get("attempt_id") == attempt.attempt_id:
            return event
    return None


def _matches_event(event: Event | None, report: FailureReport) -> bool:
    if event is None or event.evidence.get("failure_kind") != report.kind:
        return False
    return report.effect is None or event.evidence.get("effect") == report.effect
