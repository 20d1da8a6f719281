"""The tables of the workload contract: transitions (section 4) and decisions (section 5)."""

from __future__ import annotations

from typing import Final

from workspec.core.condition import ALWAYS, NOW, Condition, Term, argument
from workspec.core.contract import StateNote
from workspec.core.rule import DecisionTable, TableRow, Transition, TransitionTable, ids
from workspec.workload.terms import (
    attempt_budget,
    attempt_count,
    claim_at,
    execution_at,
    has_deadlines,
    heartbeat_at,
    overall_at,
    queue_at,
    retries_on,
    retries_on_reported_kind,
    state_is,
)
from workspec.workload.vocabulary import State

CREATED, READY, CLAIMED, RUNNING = State.CREATED, State.READY, State.CLAIMED, State.RUNNING
CHECKPOINTED, REQUESTED = State.CHECKPOINTED, State.CANCELLATION_REQUESTED
RECOVERING, FAILED, TIMED_OUT = State.RECOVERING, State.FAILED, State.TIMED_OUT
DEAD_LETTER, SUCCEEDED, CANCELLED = State.DEAD_LETTER, State.SUCCEEDED, State.CANCELLED

STARTED: Final = (RUNNING, CHECKPOINTED)
ACTIVE: Final = (CLAIMED, *STARTED)

exhausted: Final = attempt_count >= attempt_budget

# 5.4 Deadlines: rows in their order of precedence ----------------------------------------------------------------

PASSED_DEADLINE: Final = DecisionTable(
    "passed deadline",
    "deadline",
    rows=(
        TableRow(
            ids("WRK-DLN-09 WRK-DLN-03 WRK-DLN-02 WRK-DLN-01 WRK-ART-01"),
            has_deadlines & state_is(READY, *ACTIVE) & (NOW >= overall_at),
            "overall",
        ),
        TableRow(ids("WRK-DLN-06 WRK-DLN-03"), has_deadlines & state_is(READY) & (NOW >= queue_at), "queue"),
        TableRow(
            ids("WRK-DLN-10 WRK-DLN-03 WRK-DLN-05"), has_deadlines & state_is(CLAIMED) & (NOW >= claim_at), "claim"
        ),
        TableRow(
            ids("WRK-DLN-08 WRK-DLN-03"),
            has_deadlines & state_is(*STARTED) & (NOW >= execution_at),
            "execution",
        ),
        TableRow(
            ids("WRK-DLN-07 WRK-DLN-03"),
            has_deadlines & state_is(*ACTIVE) & (NOW >= heartbeat_at),
            "heartbeat",
        ),
    ),
    order=ids("WRK-DLN-04"),
)
DEADLINE_INSTANTS: Final = {
    "overall": overall_at,
    "queue": queue_at,
    "claim": claim_at,
    "execution": execution_at,
    "heartbeat": heartbeat_at,
}
deadline_passed: Final = ~PASSED_DEADLINE.term.is_(None)
passed_deadline_at: Final = Term(
    "instant of the passed deadline",
    "s",
    "facts",
    lambda scope: scope.settled.setdefault(
        "passed deadline at", DEADLINE_INSTANTS[PASSED_DEADLINE.settle(scope)].read(scope)
    ),
)

# 5.1 Failure report ----------------------------------------------------------------------------------------------

given_effect: Final = argument("effect", "effect")

EFFECTIVE_EFFECT: Final = DecisionTable(
    "effective effect",
    "effect",
    rows=(
        TableRow(ids("WRK-FAL-05"), given_effect.is_("none"), "none"),
        TableRow(ids("WRK-FAL-05"), given_effect.is_("unknown"), "unknown"),
        TableRow(ids("WRK-FAL-05 WRK-FAL-04"), state_is(CLAIMED), "none"),
    ),
)
effect_unknown: Final = EFFECTIVE_EFFECT.term.is_("unknown")

FAILURE_DECISION: Final = DecisionTable(
    "decision after a failure report",
    "decision",
    rows=(
        TableRow(
            ids("WRK-DEC-01 WRK-FAL-08"),
            effect_unknown & ~retries_on("worker_failure"),
            "effect_unknown_not_retryable",
        ),
        TableRow(
            ids("WRK-DEC-02 WRK-FAL-08"),
            ~effect_unknown & ~retries_on_reported_kind,
            "failure_kind_not_retryable",
        ),
        TableRow(ids("WRK-DEC-03 WRK-ART-05"), exhausted, "attempt_budget_exhausted"),
        TableRow(ids("WRK-DEC-04"), ALWAYS, "retry"),
    ),
    order=ids("WRK-FAL-09"),
)

# 5.2 Deadline ----------------------------------------------------------------------------------------------------

DEADLINE_DECISION: Final = DecisionTable(
    "decision after a deadline",
    "decision",
    rows=(
        TableRow(ids("WRK-DEC-05"), PASSED_DEADLINE.term.is_("overall", "queue"), "deadline_not_retryable"),
        TableRow(ids("WRK-DEC-06"), ~retries_on("timeout"), "timeout_not_retryable"),
        TableRow(ids("WRK-DEC-07 WRK-ART-05"), exhausted, "attempt_budget_exhausted"),
        TableRow(ids("WRK-DEC-08"), ALWAYS, "retry"),
    ),
)

# 5.3 Lost lease --------------------------------------------------------------------------------------------------

LOSS_DECISION: Final = DecisionTable(
    "decision after a lost lease",
    "decision",
    rows=(
        TableRow(ids("WRK-DEC-09 WRK-REC-05"), ~retries_on("worker_failure"), "worker_failure_not_retryable"),
        TableRow(ids("WRK-DEC-10 WRK-REC-06 WRK-ART-05"), exhausted, "attempt_budget_exhausted"),
        TableRow(ids("WRK-DEC-11 WRK-REC-04 WRK-ART-04"), ALWAYS, "retry"),
    ),
)

# 5.3b Actor timeout ----------------------------------------------------------------------------------------------

ACTOR_TIMEOUT_DECISION: Final = DecisionTable(
    "outcome of an actor's timeout",
    "outcome",
    rows=(
        TableRow(ids("WRK-TMO-04"), ~exhausted & retries_on("timeout"), "retry"),
        TableRow(ids("WRK-TMO-04"), ALWAYS, "dead letter"),
    ),
)

TABLES: Final = (
    PASSED_DEADLINE,
    EFFECTIVE_EFFECT,
    FAILURE_DECISION,
    DEADLINE_DECISION,
    LOSS_DECISION,
    ACTOR_TIMEOUT_DECISION,
)

# 4 Transitions ---------------------------------------------------------------------------------------------------


def _rows(sources: tuple[State, ...], event: str, target: State, requirements: str) -> tuple[Transition, ...]:
    return tuple(Transition(source, event, target, ids(requirements)) for source in sources)


def _decided(source: State, event: str, table: DecisionTable, requirements: str) -> tuple[Transition, ...]:
    """To READY if the table says retry, to DEAD_LETTER on anything else."""
    retry: Condition = table.term.is_("retry")
    return (
        Transition(source, event, READY, ids(requirements), retry),
        Transition(source, event, DEAD_LETTER, ids(requirements), ~retry),
    )


TRANSITIONS: Final = TransitionTable(
    (
        *_rows((CREATED,), "admit", READY, "WRK-ADM-12"),
        *_rows((READY,), "claim", CLAIMED, "WRK-CLM-09"),
        *_rows((READY,), "bury", DEAD_LETTER, "WRK-CLM-03"),
        *_rows((CLAIMED,), "start", RUNNING, "WRK-STR-02"),
        *_rows((RUNNING,), "checkpoint", CHECKPOINTED, "WRK-CKP-02"),
        *_rows((CHECKPOINTED,), "checkpoint", CHECKPOINTED, "WRK-CKP-04"),
        *_rows(STARTED, "complete", SUCCEEDED, "WRK-CMP-07"),
        *_rows((CLAIMED,), "fail", FAILED, "WRK-FAL-04"),
        *_rows(STARTED, "fail", FAILED, "WRK-FAL-06"),
        *_decided(FAILED, "decide on failure", FAILURE_DECISION, "WRK-FAL-07"),
        *_rows((READY, *ACTIVE), "deadline", TIMED_OUT, "WRK-EDL-05"),
        *_decided(TIMED_OUT, "decide on deadline", DEADLINE_DECISION, "WRK-EDL-06"),
        *_rows((READY, *ACTIVE), "actor timeout", TIMED_OUT, "WRK-TMO-01"),
        *_decided(TIMED_OUT, "follow actor timeout", ACTOR_TIMEOUT_DECISION, "WRK-TMO-04"),
        *_rows(ACTIVE, "lease lapse", RECOVERING, "WRK-REC-02"),
        *_rows((REQUESTED,), "lease lapse", CANCELLED, "WRK-CAN-03"),
        *_decided(RECOVERING, "decide on loss", LOSS_DECISION, "WRK-REC-03"),
        *_rows((CREATED, READY, FAILED, DEAD_LETTER), "cancel", CANCELLED, "WRK-CAN-01"),
        *_rows(ACTIVE, "cancel", REQUESTED, "WRK-CAN-02"),
        *_rows((REQUESTED,), "acknowledge cancel", CANCELLED, "WRK-CAN-07"),
        *_rows((FAILED, DEAD_LETTER, TIMED_OUT), "operator retry", READY, "WRK-RTY-01"),
    )
)

STATES: Final = (
    StateNote(CREATED, "only the source of the creation event", (0, 1)),
    StateNote(READY, "waiting", (0.9, 1), "Waits to be claimed; a due time may lie ahead."),
    StateNote(CLAIMED, "active, claim held", (2, 1), "A worker holds it under a lease and has not started."),
    StateNote(RUNNING, "active, claim held", (3, 1), "The holder executes."),
    StateNote(CHECKPOINTED, "active, claim held", (4, 1), "The holder executes and has recorded progress."),
    StateNote(SUCCEEDED, "final", (5.1, 1), "One result, recorded once."),
    StateNote(FAILED, "passed through, history only", (4.25, 2)),
    StateNote(TIMED_OUT, "passed through, history only", (2.15, 2)),
    StateNote(RECOVERING, "passed through, history only", (3.15, 2)),
    StateNote(
        DEAD_LETTER, "resting; an operator may re-arm or cancel it", (0.9, 3), "No attempt is left, or none would help."
    ),
    StateNote(
        REQUESTED, "active, winding down, claim held", (3, 0), "The holder is asked to stop; only its lease bounds it."
    ),
    StateNote(CANCELLED, "final", (5.1, 0), "Stopped for good."),
)
