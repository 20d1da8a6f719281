"""Ends of work: cancellation against reports, reports that come late, and what the next attempt is given."""

from __future__ import annotations

from typing import Final

from attrs import evolve

from workcert.faults.changes import (
    after_effect,
    both,
    unless,
    with_operation,
    with_steps,
    with_transition,
    without,
)
from workcert.faults.field.leases import FENCE
from workcert.faults.field.model import Seen, Tier, by_rule
from workspec.core.condition import NOW, Condition, Term
from workspec.core.rule import Effect, ids
from workspec.core.scope import Scope
from workspec.jobs import effects as job_effects
from workspec.jobs import terms as job_terms
from workspec.jobs.draw import rows_in
from workspec.jobs.facts import JobFacts
from workspec.jobs.rules import EMPTY_CHECKPOINT
from workspec.workload import terms
from workspec.workload.tables import CANCELLED, CLAIMED, FAILED, REQUESTED, SUCCEEDED
from workspec.workload.terms import state_is

# Workload ------------------------------------------------------------------------------------------------------------

_claim_was_given_out: Final = Term(
    "the claim was given out once",
    "flag",
    "facts",
    lambda scope: ("claim", scope.call["claim_id"]) in scope.facts.used_ids,
).holds()


def _without_checkpoints(scope: Scope) -> dict[str, object]:
    return {"log": evolve(scope.state[scope.key or ""].log, checkpoints=())}


_FORGETS: Final = Effect(
    "checkpoints are dropped", ids("WRK-CKP-02 WRK-CTX-03"), ("log",), "no checkpoint is left", _without_checkpoints
)
_waited_when_cancelled: Final[Condition] = state_is(CANCELLED) & (NOW >= terms.next_attempt_at)

# Jobs ----------------------------------------------------------------------------------------------------------------

_fence: Final = Term("fence", "count", "facts", lambda s: s.facts.fence, of=JobFacts)
_fence_given: Final = Term("fence of the caller", "count", "call", lambda s: job_terms.lease_of(s).fence)
_last_fence: Final = _fence.equals(_fence_given)
_earlier_fence: Final = _fence_given < _fence


def _may_be_promoted(_scope: Scope, facts: JobFacts) -> bool:
    return facts.state != "cancelled" or facts.scheduled_at_ms > (facts.finalized_at_ms or 0)


WORKLOAD: Final = (
    Seen(
        "a completion overrides a requested cancellation",
        "WRK-CAN-06 WRK-CAN-05",
        "complete",
        Tier.ONE_CALLER,
        "The completion is guarded by the claim, which the holder still has, and not by the state.",
        by_rule(both(without("WRK-CAN-06", "complete"), with_transition(REQUESTED, "complete", SUCCEEDED))),
    ),
    Seen(
        "a failure after a requested cancellation is retried",
        "WRK-CAN-06 WRK-CAN-03",
        "fail",
        Tier.ONE_CALLER,
        "What decides on a retry looks at budget and kind of failure, and never heard of the request.",
        by_rule(both(without("WRK-CAN-06", "fail"), with_transition(REQUESTED, "fail", FAILED))),
    ),
    Seen(
        "a late failure report reopens work that is done",
        "WRK-FNC-01 WRK-FNC-02 WRK-INV-09 WRK-FAL-14",
        "fail",
        Tier.ONE_CALLER,
        "The failure path writes by id, and asks neither which attempt reports nor whether all is over.",
        by_rule(
            both(
                *(unless(name, state_is(SUCCEEDED) & _claim_was_given_out, "fail") for name in FENCE),
                with_transition(SUCCEEDED, "fail", FAILED),
            )
        ),
    ),
    Seen(
        "a checkpoint of an earlier claim is kept",
        "WRK-FNC-02 WRK-CKP-01",
        "checkpoint",
        Tier.ONE_CALLER,
        "Progress is written by id, because it seemed to do no harm.",
        by_rule(both(*(unless(name, _claim_was_given_out, "checkpoint") for name in FENCE[1:3]))),
    ),
    Seen(
        "a failure drops the checkpoints",
        "WRK-CKP-02 WRK-CTX-03",
        "fail",
        Tier.ONE_CALLER,
        "Progress hangs on the attempt, and the next attempt starts with an empty one.",
        by_rule(with_steps("fail", lambda steps: (_FORGETS, *steps))),
    ),
    Seen(
        "cancelled work is claimed once its due time comes",
        "WRK-CLM-05 WRK-CAN-01 WRK-INV-09",
        "claim",
        Tier.CLOCK,
        "The timer of a waiting retry is set apart from the state, and cancelling does not stop it.",
        by_rule(
            both(
                unless("WRK-CLM-05", _waited_when_cancelled, "claim"),
                with_transition(CANCELLED, "claim", CLAIMED),
            )
        ),
    ),
)
JOBS: Final = (
    Seen(
        "a late success overrides a cancellation",
        "JOB-OPR-03 JOB-ACK-01 JOB-OPR-02",
        "ack success",
        Tier.ONE_CALLER,
        "The ack is guarded by the fence, which a cancellation leaves as it is, and not by the state.",
        by_rule(
            both(
                unless("JOB-ACK-02", job_terms.state_is("cancelled") & _last_fence, "ack success"),
                with_transition("cancelled", "success", "completed"),
            )
        ),
    ),
    Seen(
        "a failure after a cancellation is retried",
        "JOB-OPR-03 JOB-ACK-01 JOB-OPR-02",
        "ack retry",
        Tier.ONE_CALLER,
        "What decides on a retry looks at the attempts left, and overwrites whatever state is there.",
        by_rule(
            both(
                unless("JOB-ACK-02", job_terms.state_is("cancelled") & _last_fence, "ack retry"),
                with_transition("cancelled", "retry", "retryable"),
                after_effect(job_effects.back_off, finalized_at_ms=lambda _scope: None),
            )
        ),
    ),
    Seen(
        "a late failure of an earlier run reopens a completed job",
        "JOB-ACK-01 JOB-GEN-09",
        "ack retry",
        Tier.ONE_CALLER,
        "The failure path writes by id, and asks neither which run reports nor whether all is over.",
        by_rule(
            both(
                unless("JOB-ACK-02", job_terms.state_is("completed") & ~(_fence_given > _fence), "ack retry"),
                with_transition("completed", "retry", "retryable"),
                after_effect(job_effects.back_off, finalized_at_ms=lambda _scope: None),
            )
        ),
    ),
    Seen(
        "a checkpoint under an earlier fence is kept",
        "JOB-CKP-01 JOB-ACK-01",
        "checkpoint",
        Tier.ONE_CALLER,
        "Progress is written by id, because it seemed to do no harm.",
        by_rule(unless("JOB-ACK-02", job_terms.state_is("running") & _earlier_fence, "checkpoint")),
    ),
    Seen(
        "a retry drops the checkpoint",
        "JOB-ACK-15 JOB-ACK-06 JOB-CKP-02",
        "ack retry",
        Tier.ONE_CALLER,
        "Progress hangs on the run, and the next run starts with an empty one.",
        by_rule(after_effect(job_effects.back_off, checkpoint=lambda _scope: EMPTY_CHECKPOINT)),
    ),
    Seen(
        "a cancelled job is promoted once its due time comes",
        "JOB-PRM-04 JOB-PRM-01 JOB-OPR-02 JOB-GEN-09",
        "promote_due",
        Tier.CLOCK,
        "The timer of waiting work is set apart from the state, and cancelling does not stop it.",
        by_rule(
            both(
                with_operation(
                    "promote_due",
                    order=rows_in(
                        "scheduled",
                        "retryable",
                        "cancelled",
                        by=lambda facts: facts.scheduled_at_ms,
                        also=_may_be_promoted,
                        free=True,
                    ),
                ),
                with_transition("cancelled", "promote due", "available"),
            )
        ),
    ),
)
