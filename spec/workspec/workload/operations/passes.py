"""The two passes: deadlines and lapsed leases (3.15, 3.16)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from workspec.core.rule import (
    Batch,
    Evidence,
    Move,
    Phase,
    Skip,
    When,
    ids,
)
from workspec.core.scope import Scope
from workspec.workload import effects, terms
from workspec.workload.operations.shared import (
    EXPIRE,
    UNSOUND,
    element,
)
from workspec.workload.tables import (
    LOSS_DECISION,
    RECOVERING,
    TRANSITIONS,
    deadline_passed,
)
from workspec.workload.terms import now_text, state_is


def _all_ids(scope: Scope) -> Iterable[str]:
    return sorted(scope.state)


ENFORCE_DEADLINES: Final = Batch(
    "enforce_deadlines",
    elements=_all_ids,
    locate=element,
    checks=(UNSOUND,),
    phases=(Phase((Skip(ids("WRK-EDL-01"), when=~deadline_passed),)),),
    steps=(EXPIRE,),
    answer=lambda _scope, held, _after: list(held),
    atomic=False,
    requirements=ids("WRK-EDL-01 WRK-EDL-02 WRK-INV-13"),
)
RECOVER_EXPIRED: Final = Batch(
    "recover_expired",
    elements=_all_ids,
    locate=element,
    checks=(UNSOUND,),
    phases=(
        Phase(
            (
                Skip(ids("WRK-REC-01"), when=TRANSITIONS.illegal("lease lapse")),
                Skip(ids("WRK-REC-01 WRK-ART-06"), when=~terms.lease_lapsed),
            )
        ),
    ),
    steps=(
        Move(
            "lease lapse",
            now_text("authority.recovery"),
            ids("WRK-REC-02 WRK-GEN-10"),
            (
                Evidence("recovery_reason", now_text("lease_expired")),
                Evidence("attempts_used", terms.attempt_count),
                Evidence("attempt_budget", terms.attempt_budget),
                Evidence("claim_id", terms.of_lost_claim("claim_id")),
                Evidence("worker_id", terms.of_lost_claim("worker_id")),
                Evidence("lease_expired_at", terms.of_lost_claim("expires_at")),
                Evidence("attempt_id", terms.attempt_id),
            ),
        ),
        effects.end_lost,
        When(
            state_is(RECOVERING),
            (
                Move(
                    "decide on loss",
                    now_text("authority.recovery"),
                    ids("WRK-REC-03 WRK-REC-04 WRK-ART-04 WRK-GEN-03"),
                    (Evidence("decision", LOSS_DECISION.term),),
                ),
            ),
        ),
    ),
    answer=lambda _scope, held, _after: list(held),
    atomic=False,
    requirements=ids("WRK-REC-01"),
)
