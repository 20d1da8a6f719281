"""The five deadlines: which one is passed, and what its passing does (WRK-DLN, WRK-EDL)."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from workspec.workload.vocabulary import AttemptStatus, ErrorCode, State, Workload
from workstore.memory.budget import BUDGET_EXHAUSTED, RETRY, budget_is_spent, retried_after_initial_delay
from workstore.memory.carriers import changed
from workstore.memory.history import (
    DEADLINE_ACTOR,
    EXECUTING,
    STARTED,
    close_last_attempt,
    last_attempt,
    move,
)
from workstore.memory.numbers import later, seconds_up
from workstore.memory.refusals import CommitThenRefuse, refusal

CONTRACT_VERSION_WITH_DEADLINES = 2
_NEVER_RETRIED = ("overall", "queue")


@frozen
class Breach:
    """A deadline that is passed. ``deadline_at`` is the second from which it counts as passed."""

    deadline: str
    deadline_at: int


def passed_deadline(workload: Workload, now_s: int) -> Breach | None:
    """The first passed deadline in the order of the contract, which is not the order of time (WRK-DLN-04)."""
    if workload.contract_version < CONTRACT_VERSION_WITH_DEADLINES:
        return None
    for deadline, base_s, timeout_ms in _running_deadlines(workload):
        if timeout_ms is None:
            continue
        deadline_at = later(base_s, seconds_up(timeout_ms))
        if now_s >= deadline_at:
            return Breach(deadline, deadline_at)
    return None


def _running_deadlines(workload: Workload) -> Iterator[tuple[str, int, int | None]]:
    """Name, base in seconds and length in milliseconds of each deadline that this state has (table 5.4)."""
    timeouts, state = workload.timeouts, workload.state
    if state != State.READY and state not in EXECUTING:
        return
    yield "overall", workload.created_at, timeouts.overall_ms
    if state == State.READY:
        yield "queue", _waiting_since(workload), timeouts.queue_ms
        return
    claim, attempt = workload.current_claim, last_attempt(workload)
    if claim is not None and state == State.CLAIMED:
        yield "claim", claim.claimed_at, timeouts.claim_ms
    if attempt is not None and attempt.started_at is not None and state in STARTED:
        yield "execution", attempt.started_at, timeouts.execution_ms
    if claim is not None:
        yield "heartbeat", claim.last_heartbeat, timeouts.heartbeat_ms


def _waiting_since(workload: Workload) -> int:
    """Back-off and a future ``not_before`` are not queueing: the later instant counts (WRK-DLN-06)."""
    readied = (event.at for event in reversed(workload.execution_history) if event.to_state == State.READY)
    since = next(readied, workload.created_at)
    return since if workload.next_attempt_at is None else max(since, workload.next_attempt_at)


def expired(workload: Workload, breach: Breach, now_s: int) -> Workload:
    """The workload after this deadline: READY again or dead-lettered (WRK-EDL-05..08, table 5.2)."""
    evidence = {"deadline": breach.deadline, "deadline_at": str(breach.deadline_at)}
    claim = workload.current_claim
    if claim is not None:
        evidence |= {"claim_id": claim.claim_id, "worker_id": claim.worker_id}
    edited = changed(workload, current_claim=None)
    if workload.state != State.READY:
        error = f"timeout: the {breach.deadline} deadline passed at {breach.deadline_at}"
        edited = close_last_attempt(edited, AttemptStatus.TIMED_OUT, now_s, error)
    edited = move(edited, State.TIMED_OUT, DEADLINE_ACTOR, now_s, evidence)
    decision = _decision(workload, breach)
    if decision != RETRY:
        return move(edited, State.DEAD_LETTER, DEADLINE_ACTOR, now_s, {"decision": decision})
    edited = retried_after_initial_delay(edited, now_s)
    return move(edited, State.READY, DEADLINE_ACTOR, now_s, {"decision": decision})


def _decision(workload: Workload, breach: Breach) -> str:
    if breach.deadline in _NEVER_RETRIED:
        return "deadline_not_retryable"
    if "timeout" not in workload.retry_policy.retry_on:
        return "timeout_not_retryable"
    return BUDGET_EXHAUSTED if budget_is_spent(workload) else RETRY


def due_expiry(workload: Workload, now_s: int) -> CommitThenRefuse | None:
    """The inline check of every worker's call: a passed deadline is enforced, and the call refused
    (WRK-EDL-03).

    It comes before the fence: a caller without a valid claim triggers it too (G-30).
    """
    breach = passed_deadline(workload, now_s)
    if breach is None:
        return None
    error = refusal(
        ErrorCode.TIMED_OUT,
        f"the {breach.deadline} deadline passed at {breach.deadline_at}",
        {"deadline": breach.deadline, "deadline_at": breach.deadline_at},
    )
    return CommitThenRefuse(expired(workload, breach, now_s), error)
