"""What others than the worker may do: actor timeout, cancellation, operator retry (WRK-TMO, CAN, RTY)."""

from __future__ import annotations

from workspec.workload.vocabulary import AttemptStatus, ErrorCode, Workload

from . import states
from .arithmetic import GREATEST_COUNT
from .deadlines import after_initial_delay
from .decision import Commit, Decision, Reply, refusal, wrong_state
from .fence import Fence, held_claim
from .history import exhausted, move, operator_retries, with_last_attempt

REASON_CHARACTERS = 256
_CANCELLED_AT_ONCE = frozenset({states.CREATED, states.READY, states.FAILED, states.DEAD_LETTER})
_REARMABLE = frozenset({states.FAILED, states.DEAD_LETTER, states.TIMED_OUT})


def time_out(record: Workload, actor: str, now_s: int) -> Decision[str]:
    """Decide an actor's timeout: no fence, no deadline check, no decision evidence (WRK-TMO).

    Raises:
        WorkloadError: STATE_INVALID.
    """
    if record.state not in states.UNDER_DEADLINES:
        raise wrong_state(record, "time it out")
    attempts = record.attempts
    if record.state != states.READY:
        attempts = with_last_attempt(record, status=AttemptStatus.TIMED_OUT.value, ended_at=now_s)
    timed_out = move(record, states.TIMED_OUT, actor=actor, now_s=now_s, attempts=attempts, current_claim=None)
    if not exhausted(record) and "timeout" in record.retry_policy.retry_on:
        ready = after_initial_delay(timed_out, actor=actor, now_s=now_s, evidence={})
        return Commit(ready, ready.state)
    buried = move(timed_out, states.DEAD_LETTER, actor=actor, now_s=now_s)
    return Commit(buried, buried.state)


def cancel(record: Workload, actor: str, now_s: int) -> Decision[str]:
    """Decide a cancellation: resting work at once, active work by request, a repeat not at all (G-12, P-11).

    Raises:
        WorkloadError: STATE_INVALID.
    """
    if record.state in (states.CANCELLATION_REQUESTED, states.CANCELLED):
        return Reply(record.state)
    if record.state in _CANCELLED_AT_ONCE:
        cancelled = move(record, states.CANCELLED, actor=actor, now_s=now_s)
        return Commit(cancelled, cancelled.state)
    if record.state in states.EXECUTING:
        requested = move(record, states.CANCELLATION_REQUESTED, actor=actor, now_s=now_s)
        return Commit(requested, requested.state)
    raise wrong_state(record, "cancel it")


def acknowledge_cancel(record: Workload, fence: Fence, now_s: int) -> Decision[str]:
    """Decide the holder's word that it has stopped; no deadline check (WRK-GEN-11).

    Raises:
        WorkloadError: CLAIM_INVALID, STALE_FENCE, STATE_INVALID.
    """
    held_claim(record, fence, now_s)
    if record.state != states.CANCELLATION_REQUESTED:
        raise wrong_state(record, "acknowledge a cancellation of it")
    cancelled = move(
        record,
        states.CANCELLED,
        actor=fence.worker_id,
        now_s=now_s,
        attempts=with_last_attempt(record, status=AttemptStatus.CANCELLED.value, ended_at=now_s),
        current_claim=None,
    )
    return Commit(cancelled, cancelled.state)


def retry(record: Workload, actor: str, reason: str | None, now_s: int) -> Decision[None]:
    """Decide an operator's re-arm, which raises the budget by one (WRK-RTY).

    The reason is recorded untrimmed, cut to 256 characters, and not at all when it is blank (WRK-RTY-04).

    Raises:
        WorkloadError: STATE_INVALID, RETRY_EXHAUSTED.
    """
    if record.state not in _REARMABLE:
        raise wrong_state(record, "re-arm it")
    used = operator_retries(record)
    if used >= record.retry_policy.max_attempts:
        raise refusal(
            ErrorCode.RETRY_EXHAUSTED,
            f"Workload {record.workload_id!r} has been re-armed {used} times, as often as its policy has "
            "attempts. Admit the work anew under another key.",
        )
    budget = min(record.retry_policy.max_attempts + used + 1, GREATEST_COUNT)
    evidence = {"retry": "operator", "operator_retry": str(used + 1), "attempt_budget": str(budget)}
    if reason is not None and reason.strip():
        evidence["reason"] = reason[:REASON_CHARACTERS]
    ready = move(
        record,
        states.READY,
        actor=actor,
        now_s=now_s,
        evidence=evidence,
        next_attempt_at=now_s,
        current_claim=None,
    )
    return Commit(ready, None)
