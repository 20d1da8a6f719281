"""What the holder of a lease does: the outcomes of a run, renewal, checkpoints, result, output and progress (7 to 9).

``ack`` is one method of the port and one operation for each outcome; `by_outcome` tells which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from workspec.core.condition import Condition, Term
from workspec.core.rule import Batch, Operation, Phase, Refuse, Skip, Step, When, ids
from workspec.core.scope import Call, Scope
from workspec.jobs import buckets, effects, terms, values
from workspec.jobs.operations.shared import BAD_LEASE, IDENTITY, flag, invalid, move, nothing, of_job, of_lease
from workspec.jobs.vocabulary import LeaseRef, Outcome

_SETTLES: Final = flag(
    "an actual weight is given for a charge that its bucket knows",
    "store",
    lambda scope: (
        scope.call["actual_weight"] is not None and scope.facts.charge > 0 and terms.bucket_of(scope) is not None
    ),
)
SETTLEMENT: Final[tuple[Step, ...]] = (When(_SETTLES, (buckets.settle, buckets.clear_charge)),)
"""JOB-RATE-08, JOB-RATE-11."""

_HAS_LOGS: Final = flag("logs are given", "call", lambda scope: bool(scope.call["logs"]))
_HAS_TEXT: Final = flag(
    "an error text or logs are given", "call", lambda scope: scope.call["error"] is not None or bool(scope.call["logs"])
)
_IS_KEPT: Final = terms.is_retained


def _ack(outcome: Outcome, requirements: str, *steps: Step, checks: tuple[Refuse, ...] = ()) -> Operation:
    return Operation(
        f"ack {outcome.value}",
        checks=(*checks, *IDENTITY),
        steps=(*SETTLEMENT, *steps),
        answer=nothing,
        locate=of_lease,
        requirements=ids(requirements),
    )


_ENDED: Final = (effects.clear_lease, effects.finalize)
_SUCCEED: Final[tuple[Step, ...]] = (
    When(_IS_KEPT & _HAS_LOGS, (effects.note_success,)),
    When(_IS_KEPT, _ENDED),
)
_SNOOZED_LATER: Final[Condition] = Term("delay", "ms", "call", lambda scope: scope.call["delay_ms"]) > 0

ACKS: Final = (
    _ack(Outcome.SUCCESS, "JOB-ACK-05 JOB-UNQ-03 JOB-BPR-08", *_SUCCEED, move("success", "JOB-ACK-05")),
    _ack(
        Outcome.RETRY,
        "JOB-ACK-06 JOB-UNQ-04 JOB-ADM-12 JOB-INV-03",
        When(terms.attempts_are_left, (move("retry", "JOB-ACK-06"), effects.count_attempt, effects.back_off)),
        When(
            terms.state_is("running") & ~terms.attempts_are_left,
            (move("retry", "JOB-ACK-06"), effects.count_attempt, effects.finalize),
        ),
        effects.note_retry,
        effects.clear_lease,
    ),
    _ack(
        Outcome.SKIP,
        "JOB-ACK-09 JOB-UNQ-03 JOB-BPR-08",
        When(_HAS_TEXT, (effects.note_end,)),
        move("skip", "JOB-ACK-09"),
        *_ENDED,
    ),
    _ack(Outcome.REVOKE, "JOB-ACK-11 JOB-UNQ-03 JOB-BPR-08", move("revoke", "JOB-ACK-11")),
    _ack(
        Outcome.SNOOZE,
        "JOB-ACK-12 JOB-UNQ-04 JOB-ADM-12",
        move("snooze", "JOB-ACK-12"),
        effects.snooze,
        effects.clear_lease,
        checks=(invalid("JOB-ACK-12 JOB-RATE-12", "snooze_needs_delay", ~_SNOOZED_LATER),),
    ),
    _ack(
        Outcome.UNDECODABLE,
        "JOB-ACK-10 JOB-UNQ-03 JOB-BPR-08",
        When(_HAS_TEXT, (effects.note_end,)),
        move("undecodable", "JOB-ACK-10"),
        *_ENDED,
    ),
    _ack(
        Outcome.RATE_LIMITED,
        "JOB-ACK-13 JOB-UNQ-04 JOB-ADM-12 JOB-RATE-13",
        move("rate limited", "JOB-ACK-13"),
        effects.keep_place,
        effects.clear_lease,
    ),
)


def _never(name: str, reason: str, requirements: str) -> Operation:
    """An outcome that nobody may ack."""
    return Operation(
        name,
        checks=(invalid(requirements, reason, flag("always", "constant", lambda _scope: True)),),
        steps=(),
        answer=nothing,
        locate=of_lease,
    )


LEASE_LOST: Final = _never("ack lease_lost", "lease_lost_not_ackable", "JOB-ACK-03")
UNKNOWN: Final = _never("ack unknown", "unknown_outcome", "JOB-PRT-01")


def by_outcome(call: Call) -> Call:
    """An ``ack`` as the operation of its outcome."""
    outcome = str(call.arguments["outcome"])
    name = f"ack {outcome}" if outcome in {member.value for member in Outcome} else UNKNOWN.name
    return Call(name, call.arguments)


# Renewal and checkpoint -------------------------------------------------------------------------------------------


def _lost(scope: Scope, held: tuple[LeaseRef, ...], _after: Mapping[str, Any]) -> list[str]:
    """The ids of the references that do not hold, once per occurrence (JOB-RNW-02)."""
    return [lease.job_id for lease in scope.call["leases"] if lease not in held]


RENEW: Final = Batch(
    "renew",
    elements=lambda scope: scope.call["leases"],
    locate=of_lease,
    checks=(BAD_LEASE,),
    phases=(
        Phase(
            (
                Skip(ids("JOB-RNW-02 JOB-RNW-03"), terms.is_unknown),
                Skip(ids("JOB-RNW-02 JOB-RNW-03 JOB-RNW-05"), ~terms.holds_lease),
            )
        ),
    ),
    steps=(effects.move_lease_end,),
    answer=_lost,
    atomic=True,
    requirements=ids("JOB-RNW-02 JOB-RNW-04 JOB-ACK-02"),
)


def _fenced(
    name: str, requirements: str, *steps: Step, checks: tuple[Refuse, ...] = (), answer: Any = nothing
) -> Operation:
    return Operation(
        name,
        checks=(*checks, *IDENTITY),
        steps=steps,
        answer=answer,
        locate=of_lease,
        requirements=ids(requirements),
    )


def _value_checks(
    requirements: str, fault: Callable[[Any], str | None], argument: str, *reasons: str
) -> tuple[Refuse, ...]:
    """One check for each reason, in order."""

    def broken(reason: str) -> Condition:
        return flag(reason.replace("_", " "), "call", lambda scope: fault(scope.call[argument]) == reason)

    return tuple(invalid(requirements, reason, broken(reason)) for reason in reasons)


def _shown(member: str) -> Callable[[Scope, Mapping[str, Any]], Any]:
    return lambda scope, after: getattr(after[scope.key or ""].facts, member)


_CONTENT: Final = ("schema_zero", "schema_too_large", "too_large")
_PROGRESS: Final = (
    "progress_zero_total",
    "progress_over_total",
    "progress_total_too_large",
    "progress_message_too_long",
    "progress_message_nul",
)

CHECKPOINT: Final = _fenced("checkpoint", "JOB-CKP-01 JOB-CKP-03", effects.store_checkpoint)
ACK_WITH_RESULT: Final = _fenced(
    "ack_success_with_result",
    "JOB-RES-02 JOB-ACK-05",
    *SETTLEMENT,
    When(_IS_KEPT, (effects.store_result,)),
    *_SUCCEED,
    move("success", "JOB-RES-02"),
    checks=_value_checks("JOB-RES-01 JOB-RES-05", values.result_fault, "result", *_CONTENT),
)
WRITE_OUTPUT: Final = _fenced(
    "write_job_output",
    "JOB-OUT-01 JOB-OUT-02",
    effects.store_output,
    checks=_value_checks("JOB-OUT-01", values.result_fault, "output", *_CONTENT),
    answer=_shown("output"),
)
WRITE_PROGRESS: Final = _fenced(
    "write_job_progress",
    "JOB-PRG-01 JOB-PRG-02",
    effects.store_progress,
    checks=_value_checks("JOB-PRG-01", values.progress_fault, "progress", *_PROGRESS),
    answer=_shown("progress"),
)


def _reader(name: str, member: str, requirements: str) -> Operation:
    def answer(scope: Scope, after: Mapping[str, Any]) -> Any:
        record = after.get(scope.key or "")
        return None if record is None else getattr(record.facts, member)

    return Operation(name, checks=(), steps=(), answer=answer, locate=of_job, requirements=ids(requirements))


READERS: Final = (
    _reader("get_job_result", "result", "JOB-RES-03 JOB-RES-04 JOB-RO-01"),
    _reader("get_job_output", "output", "JOB-OUT-03 JOB-RO-01"),
    _reader("get_job_progress", "progress", "JOB-PRG-04 JOB-RO-01"),
    _reader("get_checkpoint", "checkpoint", "JOB-CKP-05 JOB-RO-01"),
)
OPERATIONS: Final = (
    *ACKS,
    LEASE_LOST,
    UNKNOWN,
    RENEW,
    CHECKPOINT,
    ACK_WITH_RESULT,
    WRITE_OUTPUT,
    WRITE_PROGRESS,
    *READERS,
)
