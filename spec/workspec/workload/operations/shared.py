"""The steps, checks and answers that more than one operation uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from workspec.core.condition import Condition
from workspec.core.record import Record
from workspec.core.rule import (
    Evidence,
    Move,
    Procedure,
    Refuse,
    When,
    ids,
)
from workspec.core.scope import Scope
from workspec.workload import choices, effects, terms
from workspec.workload.tables import (
    DEADLINE_DECISION,
    PASSED_DEADLINE,
    REQUESTED,
    TRANSITIONS,
    deadline_passed,
    passed_deadline_at,
)
from workspec.workload.terms import chosen, now_text, state_is
from workspec.workload.vocabulary import ErrorCode

# Shared steps ----------------------------------------------------------------------------------------------------

EXPIRE: Final = Procedure(
    "expire",
    (
        Move(
            "deadline",
            now_text("authority.deadline"),
            ids("WRK-EDL-05 WRK-GEN-10"),
            (
                Evidence("deadline", PASSED_DEADLINE.term),
                Evidence("deadline_at", passed_deadline_at),
                Evidence("claim_id", terms.of_lost_claim("claim_id")),
                Evidence("worker_id", terms.of_lost_claim("worker_id")),
            ),
        ),
        effects.end_expired,
        When(DEADLINE_DECISION.term.is_("retry"), (effects.delay_after_deadline,)),
        Move(
            "decide on deadline",
            now_text("authority.deadline"),
            ids("WRK-EDL-06 WRK-GEN-03"),
            (Evidence("decision", DEADLINE_DECISION.term),),
        ),
    ),
)
BURY: Final = Procedure(
    "bury",
    (
        Move(
            "bury",
            now_text("authority.claim"),
            ids("WRK-CLM-03 WRK-GEN-10"),
            (
                Evidence("reason", now_text("attempt_budget_exhausted")),
                Evidence("attempts_used", terms.attempt_count),
                Evidence("attempt_budget", terms.attempt_budget),
            ),
        ),
    ),
)

# Shared checks ---------------------------------------------------------------------------------------------------

UNSOUND: Final = Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.unsound_argument, unordered=True)
UNKNOWN: Final = Refuse(ids("WRK-GEN-07"), ErrorCode.NOT_FOUND, when=terms.unknown)


def secret(condition: Condition, requirements: str = "") -> Refuse:
    return Refuse(ids(f"{requirements} WRK-GEN-09 WRK-GEN-08"), ErrorCode.SECRET_MATERIAL, when=condition)


def passed(requirements: str) -> Refuse:
    """The inline deadline check: the expiry is committed, then the call fails (WRK-EDL-03)."""
    return Refuse(
        ids(f"{requirements} WRK-EDL-03 WRK-GEN-11 WRK-GEN-02 WRK-GEN-05"),
        ErrorCode.TIMED_OUT,
        when=deadline_passed,
        committing=(EXPIRE,),
        details=lambda scope: {
            "deadline": PASSED_DEADLINE.settle(scope),
            "deadline_at": passed_deadline_at.read(scope),
        },
    )


FENCE: Final = (
    Refuse(ids("WRK-FNC-01"), ErrorCode.CLAIM_INVALID, when=terms.no_claim & terms.token_is_latest),
    Refuse(ids("WRK-FNC-01"), choices.FENCE_CODE, when=terms.no_claim),
    Refuse(
        ids("WRK-FNC-02"),
        ErrorCode.STALE_FENCE,
        when=(terms.fencing_token < terms.present_token) & ~terms.same_claim_id,
    ),
    Refuse(
        ids("WRK-FNC-02"),
        choices.FENCE_CODE_OTHER_TOKEN,
        when=terms.fencing_token.differs(terms.present_token),
    ),
    Refuse(ids("WRK-FNC-03"), choices.FENCE_CODE, when=~terms.same_claim_id | ~terms.same_worker),
    Refuse(ids("WRK-FNC-04 WRK-ART-06"), choices.FENCE_CODE, when=terms.lease_lapsed),
)


def illegal(event: str, requirements: str) -> Refuse:
    return Refuse(ids(requirements), ErrorCode.STATE_INVALID, when=TRANSITIONS.illegal(event))


WHILE_REQUESTED: Final = Refuse(
    ids("WRK-CAN-06"),
    ErrorCode.STATE_INVALID,
    when=state_is(REQUESTED) & chosen(choices.REPORTS_WHILE_REQUESTED).is_("refused"),
)

# Answers ---------------------------------------------------------------------------------------------------------


def locate(scope: Scope) -> str:
    return str(scope.call["workload_id"])


def record_of(scope: Scope, after: Mapping[str, Record]) -> Record:
    return after[scope.key or ""]


def fact(name: str) -> Callable[[Scope, Mapping[str, Record]], Any]:
    return lambda scope, after: getattr(record_of(scope, after).facts, name)


def nothing(_scope: Scope, _after: Mapping[str, Record]) -> None:
    return None


def element(scope: Scope) -> str:
    return str(scope.element)
