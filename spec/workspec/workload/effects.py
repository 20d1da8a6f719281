"""The effects of the workload contract: each a small change that says what it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from workspec.core.choice import Choice
from workspec.core.record import replaced
from workspec.core.rule import Effect, effect, ids
from workspec.core.scope import Scope
from workspec.workload import choices
from workspec.workload.facts import EMPTY_LOG, STATE_NAMES, Facts, Report
from workspec.workload.rules import (
    DEADLINE_CONTRACT_VERSION,
    delayed_instant,
    failure_delay_ms,
    holds_whole_float,
    lease_end,
    terms_of,
)
from workspec.workload.tables import EFFECTIVE_EFFECT
from workspec.workload.vocabulary import Attempt, AttemptStatus, Checkpoint, Claim, Json, Result, State

Changes = Mapping[str, Any]


def _as_sent(scope: Scope, value: Json) -> Json:
    """A value that is kept as it was sent, where the store keeps the form of its numbers (G-08)."""
    if holds_whole_float(value):
        scope.choose(choices.NUMBER_FORM, scope)
    return value


@effect(
    "WRK-ADM-11 WRK-ADM-12 WRK-ART-09", writes="* log", text="a new record of contract version 2, due at not_before"
)
def create_record(scope: Scope) -> Changes:
    request = scope.call["request"]
    facts = Facts(
        workload_id=scope.key or "",
        contract_version=DEADLINE_CONTRACT_VERSION,
        terms=replaced(
            terms_of(request, scope.choose(choices.INPUT_HASH, scope)), {"input": _as_sent(scope, request.input)}
        ),
        created_at=request.created_at,
        state=STATE_NAMES[State.CREATED],
        attempt_count=0,
        retry_count=0,
        operator_retries=0,
        next_attempt_at=request.not_before,
        ready_at=None,
        last_failure=None,
        claim=None,
        attempt=None,
        last_token=0,
        used_ids=frozenset(),
        reports=(),
        result=None,
        event_count=0,
    )
    return {"*": facts, "log": EMPTY_LOG}


@effect("WRK-CLM-09", writes="attempt_count", text="attempt_count + 1")
def spend_attempt(scope: Scope) -> Changes:
    return {"attempt_count": scope.facts.attempt_count + 1}


@effect(
    "WRK-CLM-10 WRK-CLM-09 WRK-ART-06",
    writes="claim attempt last_token used_ids next_attempt_at",
    text="a claim with a fresh id, a greater token and a lease; an open attempt of it",
)
def open_claim(scope: Scope) -> Changes:
    call, choose = scope.call, scope.choose
    claim_id = choose(choices.CLAIM_ID, scope)
    attempt_id = choose(choices.ATTEMPT_ID, scope)
    token = choose(choices.FENCING_TOKEN, scope)
    end = lease_end(scope.now, call["lease_ms"], choose(choices.LEASE_ROUNDING, scope))
    worker_id = call["worker_id"]
    return {
        "claim": Claim(claim_id, worker_id, token, scope.now, end, scope.now),
        "attempt": Attempt(
            attempt_id, claim_id, worker_id, token, choose(choices.CLAIM_STATUS, scope), None, None, None
        ),
        "last_token": token,
        "used_ids": scope.facts.used_ids | {("claim", claim_id), ("attempt", attempt_id)},
        "next_attempt_at": choose(choices.NEXT_ATTEMPT_AT, scope),
    }


@effect("WRK-STR-02", writes="attempt", text="the attempt is running, started now")
def begin_attempt(scope: Scope) -> Changes:
    status = scope.choose(choices.RUNNING_STATUS, scope)
    return {"attempt": evolve(scope.facts.attempt, status=status, started_at=scope.now)}


@effect("WRK-HBT-02", writes="claim", text="last_heartbeat = now, lease end = now + extension")
def renew_lease(scope: Scope) -> Changes:
    claim = scope.facts.claim
    rounding = scope.choose(choices.LEASE_ROUNDING, scope)
    end = lease_end(scope.now, scope.call["extension_ms"], rounding)
    if scope.choose(choices.SHORTER_LEASE, scope) == "kept":
        end = max(end, claim.expires_at)
    return {"claim": evolve(claim, last_heartbeat=scope.now, expires_at=end)}


@effect("WRK-CKP-02", writes="claim log.checkpoints", text="a checkpoint of the present attempt appended")
def keep_checkpoint(scope: Scope) -> Changes:
    facts = scope.facts
    changes: dict[str, Any] = {
        "log.checkpoints": Checkpoint(facts.attempt.attempt_id, _as_sent(scope, scope.call["state"]))
    }
    if scope.choose(choices.CHECKPOINT_HEARTBEAT, scope) == "yes":
        changes["claim"] = evolve(facts.claim, last_heartbeat=scope.now)
    return changes


@effect("WRK-CMP-07", writes="result", text="the result recorded with who produced it under which claim")
def record_result(scope: Scope) -> Changes:
    call = scope.call
    result = Result(
        result_id=call["result_id"],
        attempt_id=scope.facts.attempt.attempt_id,
        output=_as_sent(scope, call["output"]),
        output_hash=scope.choose(choices.OUTPUT_HASH, scope),
        produced_by=call["worker_id"],
        provenance={"claim_id": call["claim_id"], "fencing_token": str(call["fencing_token"])},
        references=tuple(call["references"]),
        schema_version=call["schema_version"],
    )
    return {"result": result}


@effect("WRK-FAL-06", writes="last_failure reports", text="last_failure = kind: text; the report kept for repeats")
def record_report(scope: Scope) -> Changes:
    call = scope.call
    report = Report(
        call["claim_id"],
        call["worker_id"],
        call["fencing_token"],
        call["kind"],
        call["error"],
        EFFECTIVE_EFFECT.settle(scope),
    )
    return {
        "last_failure": f"{call['kind']}: {call['error']}",
        "reports": (*scope.facts.reports, report),
    }


def _end_attempt(name: str, requirements: str, status: str | Choice, error: str | Choice | None, text: str) -> Effect:
    """The open attempt, if there is one, ends now; the claim is cleared. ``error`` starting with ``=`` names an
    argument."""

    def apply(scope: Scope) -> Changes:
        attempt = scope.facts.attempt
        if attempt is None:
            return {"claim": None}
        said = scope.choose(error, scope) if isinstance(error, Choice) else error
        if isinstance(said, str) and isinstance(error, str):
            said = scope.call[error]
        ended = evolve(
            attempt,
            status=scope.choose(status, scope) if isinstance(status, Choice) else status,
            ended_at=scope.now,
            error=attempt.error if said is None else said,
        )
        return {"claim": None, "attempt": None, "log.attempts": ended}

    return Effect(name, ids(requirements), ("claim", "attempt", "log.attempts"), text, apply)


end_failed: Final = _end_attempt(
    "end attempt as failed",
    "WRK-FAL-06",
    AttemptStatus.FAILED.value,
    "error",
    "the attempt FAILED now with the reported text; claim cleared",
)
end_succeeded: Final = _end_attempt(
    "end attempt as succeeded",
    "WRK-CMP-07",
    AttemptStatus.SUCCEEDED.value,
    None,
    "the attempt SUCCEEDED now; claim cleared",
)
end_expired: Final = _end_attempt(
    "end attempt as timed out",
    "WRK-EDL-05 WRK-EDL-08",
    AttemptStatus.TIMED_OUT.value,
    choices.EXPIRY_TEXT,
    "unless READY, the attempt TIMED_OUT now, its error naming the deadline; claim cleared",
)
end_timed_out: Final = _end_attempt(
    "end attempt by an actor",
    "WRK-TMO-02 WRK-TMO-03",
    AttemptStatus.TIMED_OUT.value,
    None,
    "unless READY, the attempt TIMED_OUT now, without a text; claim cleared",
)
end_lost: Final = _end_attempt(
    "end attempt as lost",
    "WRK-REC-02",
    AttemptStatus.WORKER_LOST.value,
    choices.LOSS_TEXT,
    "the attempt WORKER_LOST now; claim cleared",
)
end_cancelled: Final = _end_attempt(
    "end attempt as cancelled",
    "WRK-CAN-07",
    choices.CANCELLED_STATUS,
    None,
    "the attempt CANCELLED now; claim cleared",
)


@effect("WRK-FAL-10", writes="retry_count", text="retry_count + 1")
def count_retry(scope: Scope) -> Changes:
    return {"retry_count": scope.facts.retry_count + 1}


@effect("WRK-ART-02", writes="next_attempt_at", text="next_attempt_at = now + back-off of the policy, in whole seconds")
def back_off(scope: Scope) -> Changes:
    facts = scope.facts
    policy = facts.terms.retry_policy
    exponential = policy.backoff == "exponential"
    doubled = exponential and scope.choose(choices.FIRST_DELAY, scope) == "double"
    delay_ms = failure_delay_ms(policy, facts.retry_count, int(doubled))
    return {"next_attempt_at": delayed_instant(scope.now, delay_ms)}


def _initial_delay(scope: Scope) -> Changes:
    """Neither multiplied nor capped (WRK-EDL-07)."""
    policy = scope.facts.terms.retry_policy
    return {
        "retry_count": scope.facts.retry_count + 1,
        "next_attempt_at": delayed_instant(scope.now, policy.initial_delay_ms),
    }


delay_after_deadline: Final = Effect(
    "delay after a deadline",
    ids("WRK-EDL-07 WRK-ART-03"),
    ("retry_count", "next_attempt_at"),
    "retry_count + 1; next_attempt_at = now + initial delay in whole seconds",
    _initial_delay,
)
delay_after_actor_timeout: Final = Effect(
    "delay after an actor's timeout",
    ids("WRK-TMO-04 WRK-ART-03"),
    ("retry_count", "next_attempt_at"),
    "retry_count + 1; next_attempt_at = now + initial delay in whole seconds",
    _initial_delay,
)


@effect(
    "WRK-RTY-03 WRK-RTY-05",
    writes="operator_retries next_attempt_at claim",
    text="one re-arm more; next_attempt_at = now; claim cleared",
)
def rearm(scope: Scope) -> Changes:
    return {
        "operator_retries": scope.facts.operator_retries + 1,
        "next_attempt_at": scope.now,
        "claim": None,
    }


@effect("WRK-MIG-01", writes="* log", text="the record of the file, as it is")
def take_over(scope: Scope) -> Changes:
    return {"*": scope.element.facts, "log": scope.element.log}
