"""How the workload contract is shown: its page of deadlines and the layout of its diagram."""

from __future__ import annotations

from typing import Final

from workspec.core.condition import Member
from workspec.core.contract import Contract
from workspec.core.rule import TableRow
from workspec.render.markdown import code, links, table
from workspec.render.operations import when_text
from workspec.render.presentation import (
    Diagram,
    ExtraPage,
    Group,
    LabelAt,
    Presentation,
    Route,
    bottom,
    left,
    right,
    top,
)
from workspec.workload.ports import MigratingStore, WorkloadStore
from workspec.workload.tables import DEADLINE_DECISION, DEADLINE_INSTANTS, PASSED_DEADLINE
from workspec.workload.vocabulary import ErrorCode

# Deadlines -------------------------------------------------------------------------------------------------------

MEASURED_FROM: Final = {
    "overall": "`created_at`",
    "queue": "the later of the latest event to READY (`created_at` if there is none) and `next_attempt_at`, if present",
    "claim": "`claimed_at` of the current claim",
    "execution": "`started_at` of the open attempt; none before the start",
    "heartbeat": "`last_heartbeat` of the current claim",
}
"""The instants are computed by functions, which cannot print where they begin."""


def deadline_blocks(_contract: Contract) -> tuple[str, ...]:
    """One line for each kind, in their order of precedence."""
    return (
        "The first row that holds is the deadline that is reported, not the one that fell due first. A deadline falls "
        "due at its base plus its timeout, rounded up to a whole second; it is passed from that second on. An absent "
        "timeout means no deadline.",
        table(
            ("#", "kind", "timeout", "passed when", "measured from", "retryable", "requirements"),
            [
                (
                    str(number),
                    str(row.value),
                    code(f"{row.value}_ms"),
                    when_text(row.when),
                    MEASURED_FROM[row.value],
                    _retryable(row.value),
                    links((*row.requirements, *_decided_by(row.value).requirements)),
                )
                for number, row in enumerate(PASSED_DEADLINE.rows, 1)
            ],
        ),
        f"Order of the rows: {links(PASSED_DEADLINE.order)}",
        "What becomes of the work is decided in [decision after a deadline](decisions.md#decision-after-a-deadline); "
        "what is written, in [the steps of the expiry](operations.md#steps-expire).",
    )


def _decided_by(kind: str) -> TableRow:
    """The first row of the decision that speaks of this kind, or else of no kind at all."""
    return next(
        row
        for row in DEADLINE_DECISION.rows
        if not (isinstance(row.when, Member) and row.when.of is PASSED_DEADLINE.term) or kind in row.when.values
    )


def _retryable(kind: str) -> str:
    row = _decided_by(kind)
    never = isinstance(row.when, Member) and row.when.of is PASSED_DEADLINE.term
    return f"no: {code(row.value)}" if never else "while `retry_on` holds `timeout` and the budget lasts"


def kinds_of_deadline() -> frozenset[str]:
    """The kinds that rules know; the wordings above must cover them all."""
    return frozenset(DEADLINE_INSTANTS)


# Diagram ---------------------------------------------------------------------------------------------------------

ACTIVE: Final = "claim held: an arrow from this frame leaves from each state in it"

DIAGRAM: Final = Diagram(
    groups=(Group(ACTIVE, ("CLAIMED", "RUNNING", "CHECKPOINTED")),),
    tones={
        "READY": "returns",
        "SUCCEEDED": "good",
        "DEAD_LETTER": "bad",
        "CANCELLED": "quiet",
        "CANCELLATION_REQUESTED": "quiet",
    },
    notes=("Only a record that an older version left behind rests in a dashed state.",),
    routes=(
        Route("RUNNING", "SUCCEEDED", top(15), top(-15), (0.76,), LabelAt("above", 1, 0.81)),
        Route("CHECKPOINTED", "SUCCEEDED", right(), left(), (), LabelAt("above", 0, 0.6)),
        Route("CHECKPOINTED", "CHECKPOINTED", bottom(-20), bottom(20), (), LabelAt("left", 1, 0)),
        Route(ACTIVE, "CANCELLATION_REQUESTED", top(at=3), bottom(), (), LabelAt("right")),
        Route(ACTIVE, "TIMED_OUT", bottom(at=2.15), top(), (), LabelAt("right")),
        Route(ACTIVE, "RECOVERING", bottom(at=3.15), top(), (), LabelAt("right")),
        Route(ACTIVE, "FAILED", bottom(at=4.25), top(), (), LabelAt("right")),
        Route("READY", "TIMED_OUT", bottom(40), left(), (), LabelAt("above", 1)),
        Route("TIMED_OUT", "READY", bottom(-25), bottom(10), (2.6,), LabelAt("left")),
        Route("RECOVERING", "READY", bottom(-25), bottom(10), (2.6,), LabelAt("left")),
        Route("FAILED", "READY", bottom(-25), bottom(10), (2.6,), LabelAt("left")),
        Route("TIMED_OUT", "DEAD_LETTER", bottom(25), right(), (), LabelAt("right", 0, 0.8)),
        Route("RECOVERING", "DEAD_LETTER", bottom(25), right(), (), LabelAt("right", 0, 0.8)),
        Route("FAILED", "DEAD_LETTER", bottom(25), right(), (), LabelAt("right", 0, 0.8)),
        Route("READY", "DEAD_LETTER", bottom(-45), top(-45), (), LabelAt("left")),
        Route("DEAD_LETTER", "READY", top(-20), bottom(-20), (), LabelAt("right", 0, 0.1)),
        Route("CREATED", "CANCELLED", top(), top(), (-0.4,), LabelAt("right", 0, 0.3)),
        Route("READY", "CANCELLED", top(), top(), (-0.4,), LabelAt("right", 0, 0.3)),
        Route("FAILED", "CANCELLED", right(), right(), (5.5,), LabelAt("above", 0, 0.3)),
        Route("DEAD_LETTER", "CANCELLED", bottom(), right(), (3.3, 5.5), LabelAt("above", 1, 0.1)),
    ),
)

PRESENTATION: Final = Presentation(
    ports=(WorkloadStore, MigratingStore),
    details={
        ErrorCode.TIMED_OUT: "`deadline` (its kind), `deadline_at` (its instant, a number)",
        ErrorCode.IDEMPOTENCY_KEY_REUSED: "`fields` (the names of the fields that differ)",
    },
    pages=(
        ExtraPage(
            "deadlines.md",
            "The five kinds of deadline in their order of precedence.",
            "Deadlines",
            deadline_blocks,
        ),
    ),
    diagram=DIAGRAM,
)
