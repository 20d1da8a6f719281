"""What a worker reports about its attempt: checkpoint, completion, failure (WRK-CKP, CMP, FAL)."""

from __future__ import annotations

from attrs import frozen

from workspec.workload.vocabulary import (
    Attempt,
    AttemptStatus,
    Checkpoint,
    ErrorCode,
    Event,
    Json,
    Result,
    Workload,
    WorkloadError,
)

from . import states
from .arithmetic import failure_delay_ms, later, seconds_rounded_down
from .deadlines import expire_inline
from .decision import Commit, Decision, Reply, refusal, wrong_state
from .fence import Fence, held_claim
from .history import exhausted, move, with_last_attempt
from .json_values import canonical_hash

RETRY_ACTOR = "authority.retry"


@frozen
class Completion:
    result_id: str
    output: Json
    output_hash: str
    references: tuple[str, ...]
    schema_version: int


@frozen
class Failure:
    kind: str
    error: str
    effect: str | None
    """``none``, ``unknown`` or None when the worker says nothing."""


def _last_attempt_id(record: Workload) -> str:
    return record.attempts[-1].attempt_id if record.attempts else ""


def checkpoint(record: Workload, fence: Fence, state: Json, now_s: int) -> Decision[Checkpoint]:
    """Decide a checkpoint, which moves no deadline (WRK-CKP-03).

    Raises:
        WorkloadError: CLAIM_INVALID, STALE_FENCE, STATE_INVALID.
    """
    expiry = expire_inline(record, now_s)
    if expiry is not None:
        return expiry
    held_claim(record, fence, now_s)
    if record.state not in states.STARTED:
        raise wrong_state(record, "checkpoint it")
    kept = Checkpoint(_last_attempt_id(record), state)
    checkpointed = move(
        record,
        states.CHECKPOINTED,
        actor=fence.worker_id,
        now_s=now_s,
        checkpoints=(*record.checkpoints, kept),
    )
    return Commit(checkpointed, kept)


def recorded_result(result: Result, workload_id: str, fence: Fence, completion: Completion) -> Decision[Result]:
    """The answer to a result id that this workload has recorded (WRK-CMP-02, WRK-CMP-03).

    The output is hashed anew: a record of an older version may carry a hash of another form.

    Raises:
        WorkloadError: RESULT_CONFLICT.
    """
    same = (
        result.produced_by == fence.worker_id
        and result.provenance.get("claim_id") == fence.claim_id
        and result.provenance.get("fencing_token") == str(fence.fencing_token)
        and canonical_hash(result.output) == completion.output_hash
    )
    if same:
        return Reply(result)
    raise refusal(
        ErrorCode.RESULT_CONFLICT,
        f"Result {completion.result_id!r} of workload {workload_id!r} is already recorded with another "
        "worker, claim, token or output. The recorded one stands; read it with get.",
    )


def duplicate_result(result_id: str) -> WorkloadError:
    """The refusal of a result id that another workload has recorded (WRK-CMP-04, P-08)."""
    return refusal(
        ErrorCode.RESULT_DUPLICATE,
        f"Result id {result_id!r} belongs to another workload of this store. Complete with an id of your own.",
    )


def complete(record: Workload, fence: Fence, completion: Completion, now_s: int) -> Decision[Result]:
    """Decide a completion whose result id no other workload has.

    Raises:
        WorkloadError: RESULT_CONFLICT, CLAIM_INVALID, STALE_FENCE, STATE_INVALID.
    """
    if record.result is not None and record.result.result_id == completion.result_id:
        return recorded_result(record.result, record.workload_id, fence, completion)
    expiry = expire_inline(record, now_s)
    if expiry is not None:
        return expiry
    held_claim(record, fence, now_s)
    if record.state not in states.STARTED:
        raise wrong_state(record, "complete it")
    result = Result(
        completion.result_id,
        _last_attempt_id(record),
        completion.output,
        completion.output_hash,
        fence.worker_id,
        {"claim_id": fence.claim_id, "fencing_token": str(fence.fencing_token)},
        completion.references,
        completion.schema_version,
    )
    succeeded = move(
        record,
        states.SUCCEEDED,
        actor=fence.worker_id,
        now_s=now_s,
        attempts=with_last_attempt(record, status=AttemptStatus.SUCCEEDED.value, ended_at=now_s),
        current_claim=None,
        result=result,
    )
    return Commit(succeeded, result)


def _is_same_report(attempt: Attempt, event: Event, fence: Fence, failure: Failure) -> bool:
    return (
        attempt.claim_id == fence.claim_id
        and attempt.worker_id == fence.worker_id
        and attempt.fencing_token == fence.fencing_token
        and attempt.status == AttemptStatus.FAILED.value
        and attempt.error == failure.error
        and event.to_state == states.FAILED
        and event.evidence.get("attempt_id") == attempt.attempt_id
        and event.evidence.get("failure_kind") == failure.kind
        and (failure.effect is None or failure.effect == event.evidence.get("effect"))
    )


def _is_repeat(record: Workload, fence: Fence, failure: Failure) -> bool:
    """Whether this very report is recorded (WRK-FAL-11)."""
    return any(
        _is_same_report(attempt, event, fence, failure)
        for attempt in record.attempts
        if attempt.claim_id == fence.claim_id
        for event in record.execution_history
        if event.to_state == states.FAILED
    )


def _decision(record: Workload, kind: str, effect: str | None) -> str:
    """Table 5.1: the policy is asked before the budget (WRK-FAL-09)."""
    retry_on = record.retry_policy.retry_on
    if effect == "unknown" and "worker_failure" not in retry_on:
        return "effect_unknown_not_retryable"
    if effect != "unknown" and kind not in retry_on:
        return "failure_kind_not_retryable"
    if exhausted(record):
        return "attempt_budget_exhausted"
    return "retry"


def _after_failure(failed: Workload, decision: str, now_s: int) -> Workload:
    evidence = {"decision": decision}
    if decision != "retry":
        return move(failed, states.DEAD_LETTER, actor=RETRY_ACTOR, now_s=now_s, evidence=evidence)
    retry_count = failed.retry_count + 1
    delay_s = seconds_rounded_down(failure_delay_ms(failed.retry_policy, retry_count))
    return move(
        failed,
        states.READY,
        actor=RETRY_ACTOR,
        now_s=now_s,
        evidence=evidence,
        retry_count=retry_count,
        next_attempt_at=later(now_s, delay_s),
    )


def fail(record: Workload, fence: Fence, failure: Failure, now_s: int) -> Decision[str]:
    """Decide a failure report; the answer is the resulting state, on a repeat the present one (WRK-FAL-11).

    Raises:
        WorkloadError: CLAIM_INVALID, STALE_FENCE, STATE_INVALID.
    """
    if _is_repeat(record, fence, failure):
        return Reply(record.state)
    expiry = expire_inline(record, now_s)
    if expiry is not None:
        return expiry
    held_claim(record, fence, now_s)
    if record.state not in states.EXECUTING:
        raise wrong_state(record, "report a failure of it")
    effect = failure.effect
    if effect is None and record.state == states.CLAIMED:
        effect = "none"
    evidence = {"failure_kind": failure.kind}
    if record.attempts:
        evidence["attempt_id"] = record.attempts[-1].attempt_id
    if effect is not None:
        evidence["effect"] = effect
    failed = move(
        record,
        states.FAILED,
        actor=fence.worker_id,
        now_s=now_s,
        evidence=evidence,
        attempts=with_last_attempt(record, status=AttemptStatus.FAILED.value, ended_at=now_s, error=failure.error),
        current_claim=None,
        last_failure=f"{failure.kind}: {failure.error}",
    )
    decided = _after_failure(failed, _decision(record, failure.kind, effect), now_s)
    return Commit(decided, decided.state)
