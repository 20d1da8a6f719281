"""Sweeps, duties, pause and configuration (8.3 to 8.8, 5.4, 6.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from workspec.core.condition import Condition, Term
from workspec.core.rule import Draw, Operation, Promises, Refuse, Reply, Skip, Step, When, ids
from workspec.core.scope import Scope
from workspec.jobs import buckets, effects, terms
from workspec.jobs.draw import rows_in
from workspec.jobs.facts import EVICTABLE, WAITING, JobFacts, bucket_key, duty_key, queue_key
from workspec.jobs.operations.shared import BAD_LEASE, flag, invalid, move, nothing
from workspec.jobs.terms import NOW
from workspec.jobs.vocabulary import Reclaimed

ENOUGH: Final = terms.TAKEN >= terms.limit
"""A limit of 0 or less takes nothing (A-39)."""


def _count(_scope: Scope, taken: tuple[str, ...], _after: Mapping[str, Any]) -> int:
    return len(taken)


def _sweep(
    name: str,
    requirements: str,
    *steps: Step,
    states: tuple[str, ...],
    by: Callable[[JobFacts], Any],
    gate: tuple[Skip, ...],
    answer: Any = _count,
    free: bool = True,
    promises: Promises | None = None,
) -> Draw:
    """Rows in these states, in the order of ``by`` and then of their ids."""
    return Draw(
        name,
        order=rows_in(*states, by=by, free=free),
        gate=gate,
        steps=steps,
        until=ENOUGH,
        answer=answer,
        requirements=ids(requirements),
        states=states,
        promises=promises,
    )


PROMOTE_DUE: Final = _sweep(
    "promote_due",
    "JOB-PRM-01 JOB-PRM-02 JOB-PRM-03",
    move("promote due", "JOB-PRM-01"),
    states=("scheduled", "retryable"),
    by=lambda facts: facts.scheduled_at_ms,
    gate=(Skip(ids("JOB-PRM-01 JOB-PRM-04"), terms.due > NOW),),
)


def _reclaimed(_scope: Scope, taken: tuple[str, ...], after: Mapping[str, Any]) -> list[Reclaimed]:
    rows = [after[key].facts for key in taken]
    return [Reclaimed(row.id, row.fingerprint, row.crash_attempt, row.state == "quarantined") for row in rows]


_RECLAIMED: Final = Promises(
    group=lambda _facts: "",
    within=ids("JOB-RCL-06 JOB-RCL-05"),
    across=ids("JOB-RCL-06 JOB-RCL-05"),
    complete=ids("JOB-RCL-01 JOB-RCL-05"),
    most=ids("JOB-RCL-06"),
    barriers=(Skip(ids("JOB-RCL-01"), ~terms.state_is("running")),),
)
RECLAIM_EXPIRED: Final = _sweep(
    "reclaim_expired",
    "JOB-RCL-01 JOB-RCL-02 JOB-RCL-05 JOB-RCL-06 JOB-RCL-07 JOB-RATE-13",
    When(terms.crashes_are_left, (move("reclaim", "JOB-RCL-03"), effects.count_crash, effects.back_off_crash)),
    When(
        terms.state_is("running") & ~terms.crashes_are_left,
        (
            move("reclaim", "JOB-RCL-03"),
            effects.count_crash,
            effects.finalize,
            When(
                flag("a fingerprint", "facts", lambda scope: scope.facts.fingerprint != ""),
                (effects.register_fingerprint,),
            ),
        ),
    ),
    effects.note_crash,
    effects.clear_lease,
    states=("running",),
    by=lambda facts: facts.expires_at_ms,
    gate=(Skip(ids("JOB-RCL-01"), terms.lease_end > NOW),),
    answer=_reclaimed,
    promises=_RECLAIMED,
)
EVICT_RETAINED: Final = _sweep(
    "evict_retained",
    "JOB-EVT-01 JOB-EVT-02 JOB-EVT-04 JOB-EVT-05 JOB-UNQ-07",
    move("evict", "JOB-EVT-01"),
    states=EVICTABLE,
    by=lambda facts: facts.finalized_at_ms or 0,
    gate=(
        Skip(ids("JOB-EVT-03 JOB-EVT-01"), ~terms.is_retained),
        Skip(ids("JOB-EVT-01"), terms.retained_until > NOW),
    ),
)
SWEEP_QUARANTINED: Final = _sweep(
    "sweep_quarantined",
    "JOB-QUA-04 JOB-PRT-08 JOB-UNQ-03 JOB-BPR-08",
    move("park", "JOB-QUA-04"),
    effects.finalize,
    states=WAITING,
    by=lambda facts: facts.scheduled_at_ms,
    gate=(Skip(ids("JOB-QUA-04"), ~terms.quarantined_fingerprint),),
    free=False,
)

# Duties ------------------------------------------------------------------------------------------------------------


def _duty(scope: Scope) -> str:
    return duty_key(scope.call["name"])


_is_free: Final = flag("nobody holds the duty", "store", lambda scope: scope.key not in scope.state)
_is_own: Final = flag("the caller holds the duty", "facts", lambda scope: scope.facts.holder == scope.call["holder"])
_has_ended: Final[Condition] = terms.duty_end <= NOW

CLAIM_DUTY: Final = Operation(
    "claim_duty",
    checks=(
        BAD_LEASE,
        Reply(ids("JOB-DTY-01"), ~_is_free & ~_is_own & ~_has_ended, answer=lambda _scope: False),
    ),
    steps=(effects.hold_duty,),
    answer=lambda _scope, _after: True,
    locate=_duty,
    requirements=ids("JOB-DTY-01 JOB-DTY-02 JOB-DTY-04 JOB-DTY-05"),
)
RELEASE_DUTY: Final = Operation(
    "release_duty",
    checks=(Reply(ids("JOB-DTY-03"), _is_free | ~_is_own, answer=lambda _scope: None),),
    steps=(effects.free_duty,),
    answer=nothing,
    locate=_duty,
    requirements=ids("JOB-DTY-03 JOB-DTY-04"),
)

# Settings ----------------------------------------------------------------------------------------------------------


def _setting(name: str, requirements: str, step: Step, locate: Any, *checks: Refuse) -> Operation:
    return Operation(name, checks=checks, steps=(step,), answer=nothing, locate=locate, requirements=ids(requirements))


def _queue(scope: Scope) -> str:
    return queue_key(scope.call["queue"])


def _class(scope: Scope) -> str:
    return bucket_key(scope.call["name"])


_limit: Final = Term("limit of the queue", "jobs", "call", lambda scope: scope.call["limit"])
_GREATEST: Final = 2**63 - 1
SETTINGS: Final = (
    _setting("pause_queue", "JOB-PAU-01 JOB-PAU-02 JOB-OPR-12", effects.pause, _queue),
    _setting("unpause_queue", "JOB-PAU-03 JOB-OPR-12", effects.unpause, _queue),
    _setting("set_rate_limit", "JOB-RATE-15", buckets.reset_bucket, _class),
    _setting(
        "set_enqueue_limit",
        "JOB-BPR-01 JOB-BPR-07 JOB-OPR-12",
        effects.set_limit,
        _queue,
        invalid("JOB-BPR-01 JOB-PRT-01", "bad_limit", (_limit < 0) | (_limit > _GREATEST)),
    ),
    _setting(
        "upsert_rate_class",
        "JOB-RATE-16 JOB-OPR-12",
        buckets.configure_bucket,
        _class,
        invalid(
            "JOB-RATE-16 JOB-PRT-01",
            "bad_rate_class",
            (terms.argument("window_ms", "ms") < 1)
            | (Term("limit of the class", "tokens", "call", lambda s: s.call["limit"]) < 0)
            | (terms.argument("burst", "tokens") < 1),
        ),
    ),
)
OPERATIONS: Final = (
    PROMOTE_DUE,
    RECLAIM_EXPIRED,
    EVICT_RETAINED,
    SWEEP_QUARANTINED,
    CLAIM_DUTY,
    RELEASE_DUTY,
    *SETTINGS,
)
