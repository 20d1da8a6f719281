"""What actors and operators do to work that is not theirs (3.11 to 3.13)."""

from __future__ import annotations

from typing import Final

from workspec.core.rule import (
    Evidence,
    Move,
    Operation,
    Refuse,
    Reply,
    When,
    ids,
)
from workspec.workload import choices, effects, terms
from workspec.workload.operations.shared import (
    FENCE,
    UNKNOWN,
    UNSOUND,
    fact,
    illegal,
    locate,
    nothing,
)
from workspec.workload.tables import (
    ACTOR_TIMEOUT_DECISION,
    CANCELLED,
    REQUESTED,
)
from workspec.workload.terms import chosen, now_text, state_is
from workspec.workload.vocabulary import ErrorCode

TIME_OUT: Final = Operation(
    "time_out",
    locate=locate,
    checks=(UNSOUND, UNKNOWN, illegal("actor timeout", "WRK-TMO-01 WRK-GEN-06")),
    steps=(
        Move("actor timeout", terms.actor, ids("WRK-TMO-03 WRK-GEN-10")),
        effects.end_timed_out,
        When(ACTOR_TIMEOUT_DECISION.term.is_("retry"), (effects.delay_after_actor_timeout,)),
        Move("follow actor timeout", choices.FOLLOW_UP_ACTOR, ids("WRK-TMO-05 WRK-TMO-04")),
    ),
    answer=fact("state"),
)
CANCEL: Final = Operation(
    "cancel",
    locate=locate,
    checks=(
        UNSOUND,
        UNKNOWN,
        Reply(
            ids("WRK-PRT-11"),
            when=state_is(REQUESTED, CANCELLED) & chosen(choices.REPEATED_CANCEL).is_("no change"),
            answer=lambda scope: scope.facts.state,
        ),
        illegal("cancel", "WRK-PRT-11 WRK-GEN-06"),
    ),
    steps=(Move("cancel", choices.EVENT_ACTOR, ids("WRK-CAN-01 WRK-GEN-06"), open_evidence=choices.OPEN_EVIDENCE),),
    answer=fact("state"),
)
ACKNOWLEDGE_CANCEL: Final = Operation(
    "acknowledge_cancel",
    locate=locate,
    checks=(UNSOUND, UNKNOWN, *FENCE, illegal("acknowledge cancel", "WRK-CAN-07 WRK-GEN-06")),
    steps=(
        effects.end_cancelled,
        Move(
            "acknowledge cancel",
            choices.EVENT_ACTOR,
            ids("WRK-CAN-07 WRK-CAN-05 WRK-GEN-06"),
            open_evidence=choices.OPEN_EVIDENCE,
        ),
    ),
    answer=fact("state"),
)
RETRY: Final = Operation(
    "retry",
    locate=locate,
    order=ids("WRK-RTY-01"),
    checks=(
        UNSOUND,
        UNKNOWN,
        illegal("operator retry", "WRK-RTY-01 WRK-GEN-06"),
        Refuse(
            ids("WRK-RTY-02"),
            ErrorCode.RETRY_EXHAUSTED,
            when=terms.operator_retries >= terms.max_attempts,
        ),
    ),
    steps=(
        effects.rearm,
        Move(
            "operator retry",
            terms.actor,
            ids("WRK-RTY-03 WRK-RTY-04 WRK-ART-07 WRK-GEN-10"),
            (
                Evidence("retry", now_text("operator")),
                Evidence("operator_retry", terms.rearm_ordinal),
                Evidence("attempt_budget", terms.attempt_budget),
                Evidence("reason", terms.reason),
            ),
        ),
    ),
    answer=nothing,
    requirements=ids("WRK-RTY-07"),
)
