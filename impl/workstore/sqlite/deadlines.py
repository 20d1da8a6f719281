"""The five deadlines of a workload: when they pass, and what passing does (WRK-DLN, WRK-EDL)."""

from __future__ import annotations

from attrs import frozen

from workspec.workload.vocabulary import AttemptStatus, ErrorCode, Workload

from . import states
from .arithmetic import later, seconds_rounded_down, seconds_rounded_up
from .decision import CommitAndRefuse, refusal
from .history import exhausted, move, with_last_attempt

FIRST_CONTRACT_VERSION_WITH_DEADLINES = 2
ACTOR = "authority.deadline"


@frozen
class Deadline:
    kind: str
    at: int
    """Instant in seconds; passed when ``now_s >= at`` (WRK-DLN-03)."""


def _queued_since(record: Workload) -> int:
    entered = next(
        (event.at for event in reversed(record.execution_history) if event.to_state == states.READY),
        record.created_at,
    )
    return entered if record.next_attempt_at is None else max(entered, record.next_attempt_at)


def _bases(record: Workload) -> list[tuple[str, int | None, int | None]]:
    """Kind, duration in ms, and the instant it is measured from or None, in the order of precedence (5.4)."""
    timeouts, claim = record.timeouts, record.current_claim
    executing = record.state in states.EXECUTING
    queued_since = _queued_since(record) if record.state == states.READY else None
    claimed_at = claim.claimed_at if claim and record.state == states.CLAIMED else None
    started_at = record.attempts[-1].started_at if record.attempts else None
    return [
        ("overall", timeouts.overall_ms, record.created_at),
        ("queue", timeouts.queue_ms, queued_since),
        ("claim", timeouts.claim_ms, claimed_at),
        ("execution", timeouts.execution_ms, started_at if record.state in states.STARTED else None),
        ("heartbeat", timeouts.heartbeat_ms, claim.last_heartbeat if claim and executing else None),
    ]


def deadlines(record: Workload) -> list[Deadline]:
    """Every deadline in force, in the order in which they are reported (WRK-DLN-04)."""
    if record.contract_version < FIRST_CONTRACT_VERSION_WITH_DEADLINES:
        return []
    if record.state not in states.UNDER_DEADLINES:
        return []
    return [
        Deadline(kind, later(base, seconds_rounded_up(duration_ms)))
        for kind, duration_ms, base in _bases(record)
        if duration_ms is not None and base is not None
    ]


def earliest(record: Workload) -> int | None:
    """The least instant in seconds at which some deadline has passed: what the pass looks rows up by."""
    return min((deadline.at for deadline in deadlines(record)), default=None)


def first_passed(record: Workload, now_s: int) -> Deadline | None:
    """The passed deadline that is reported: first in precedence, not in time (WRK-DLN-04)."""
    return next((deadline for deadline in deadlines(record) if now_s >= deadline.at), None)


def _decision(record: Workload, deadline: Deadline) -> str:
    if deadline.kind in ("overall", "queue"):
        return "deadline_not_retryable"
    if "timeout" not in record.retry_policy.retry_on:
        return "timeout_not_retryable"
    if exhausted(record):
        return "attempt_budget_exhausted"
    return "retry"


def after_initial_delay(record: Workload, *, actor: str, now_s: int, evidence: dict[str, str]) -> Workload:
    """Timed-out work made READY again; the delay takes no multiplier and no cap (WRK-EDL-07, WRK-TMO-04)."""
    return move(
        record,
        states.READY,
        actor=actor,
        now_s=now_s,
        evidence=evidence,
        retry_count=record.retry_count + 1,
        next_attempt_at=later(now_s, seconds_rounded_down(record.retry_policy.initial_delay_ms)),
    )


def expired(record: Workload, deadline: Deadline, now_s: int) -> Workload:
    """The record after this deadline has been enforced (WRK-EDL-05 to WRK-EDL-08)."""
    evidence = {"deadline": deadline.kind, "deadline_at": str(deadline.at)}
    if record.current_claim is not None:
        evidence["claim_id"] = record.current_claim.claim_id
        evidence["worker_id"] = record.current_claim.worker_id
    attempts = record.attempts
    if record.state != states.READY:
        attempts = with_last_attempt(
            record,
            status=AttemptStatus.TIMED_OUT.value,
            ended_at=now_s,
            error=f"timeout: the {deadline.kind} deadline passed at {deadline.at}",
        )
    decision = _decision(record, deadline)
    timed_out = move(
        record,
        states.TIMED_OUT,
        actor=ACTOR,
        now_s=now_s,
        evidence=evidence,
        attempts=attempts,
        current_claim=None,
    )
    if decision == "retry":
        return after_initial_delay(timed_out, actor=ACTOR, now_s=now_s, evidence={"decision": decision})
    return move(timed_out, states.DEAD_LETTER, actor=ACTOR, now_s=now_s, evidence={"decision": decision})


def expire_inline(record: Workload, now_s: int) -> CommitAndRefuse | None:
    """The expiry that a call on this record meets first, or None when no deadline has passed (WRK-EDL-03)."""
    deadline = first_passed(record, now_s)
    if deadline is None:
        return None
    return CommitAndRefuse(
        expired(record, deadline, now_s),
        refusal(
            ErrorCode.TIMED_OUT,
            f"Workload {record.workload_id!r} passed its {deadline.kind} deadline at {deadline.at}; the "
            "expiry is recorded and the claim, if any, is gone. Stop this attempt and claim again if it is "
            "READY.",
            {"deadline": deadline.kind, "deadline_at": deadline.at},
        ),
    )
