"""Leases and fences: who holds a job, until when, and what a renewal moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from workcert.backends.specification import Handle
from workcert.faults.changes import (
    both,
    with_answer,
    with_check,
    with_checks,
    with_condition,
    with_relation,
    with_term,
    without,
    without_transition,
)
from workcert.faults.field.handles import operation_of, put, right_call, stored
from workcert.faults.field.model import Seen, Tier, by_handle, by_rule
from workspec.core.condition import ALWAYS, Term
from workspec.core.record import replaced
from workspec.core.rule import Check, Effect, Reply, When, ids
from workspec.core.scope import Scope
from workspec.jobs import terms as job_terms
from workspec.jobs.facts import JobFacts
from workspec.jobs.rules import later
from workspec.workload import terms
from workspec.workload.rules import deadline_instant, lease_end
from workspec.workload.tables import CLAIMED, READY
from workspec.workload.vocabulary import Claim

FENCE: Final = ("WRK-FNC-01", "WRK-FNC-02", "WRK-FNC-03", "WRK-FNC-04")


# Renewal that always succeeds ----------------------------------------------------------------------------------------


def _as_if_renewed(scope: Scope) -> Claim:
    call = scope.call
    end = lease_end(scope.now, call["extension_ms"], "up")
    return Claim(call["claim_id"], call["worker_id"], call["fencing_token"], scope.now, end, scope.now)


def _answered(check: Check) -> Check:
    return Reply(check.requirements, check.when, _as_if_renewed)


# Renewal that moves more than the lease ------------------------------------------------------------------------------


def _since_last_heartbeat(scope: Scope) -> int | None:
    facts = scope.facts
    if facts.claim is None or facts.attempt is None or facts.attempt.started_at is None:
        return None
    return deadline_instant(facts.claim.last_heartbeat, facts.terms.timeouts.execution_ms)


_WAITS_A_LEASE: Final = Effect(
    "the due time moves by a lease",
    ids("WRK-FNC-01"),
    ("next_attempt_at",),
    "due when the lease would have ended",
    lambda scope: {"next_attempt_at": lease_end(scope.now, scope.call["extension_ms"], "up")},
)
_JOB_WAITS_A_LEASE: Final = Effect(
    "the due time moves by a lease",
    ids("JOB-RNW-05"),
    ("scheduled_at_ms",),
    "due when the lease would have ended",
    lambda scope: {"scheduled_at_ms": later(scope.now, scope.call["lease_ms"])},
)
_fence_is_the_last: Final = Term("fence", "count", "facts", lambda s: s.facts.fence, of=JobFacts).equals(
    Term("fence of the caller", "count", "call", lambda s: job_terms.lease_of(s).fence)
)

# One ack for all of an admission -------------------------------------------------------------------------------------


def _frees_its_siblings(handle: Handle, name: str, arguments: dict[str, Any]) -> Any:
    answer = right_call(handle, name, arguments)
    if operation_of(handle, name, arguments) == "ack success":
        put(handle, {key: evolve(each, facts=_freed(each.facts)) for key, each in _siblings(handle, arguments).items()})
    return answer


def _siblings(handle: Handle, arguments: Mapping[str, Any]) -> dict[str, Any]:
    lease_id = arguments["lease"].lease_id
    return {key: each for key, each in stored(handle).items() if getattr(each.facts, "lease_id", None) == lease_id}


def _freed(facts: JobFacts) -> JobFacts:
    return replaced(facts, {"state": "available", "lease_id": None, "expires_at_ms": None, "claimed_at_ms": None})


def _a_moment_early(scope: Scope) -> int | None:
    end: int | None = job_terms.lease_end.read(scope)
    return None if end is None else end - 1


WORKLOAD: Final = (
    Seen(
        "recovery spares a lease at the instant at which the fence refuses it",
        "WRK-REC-01 WRK-ART-06 WRK-FNC-04",
        "recover_expired",
        Tier.CLOCK,
        "The worker's call and the recovery query each compare the end of the lease, one strictly and one not.",
        by_rule(with_relation("now >= lease end", ">", "recover_expired")),
    ),
    Seen(
        "a renewal of a lost lease is answered like any other",
        "WRK-FNC-01 WRK-FNC-02 WRK-FNC-03 WRK-FNC-04 WRK-HBT-01",
        "heartbeat",
        Tier.ONE_CALLER,
        "The renewal is an update under a condition, and nobody looks at how many rows it has changed.",
        by_rule(both(*(with_checks(name, _answered, "heartbeat") for name in FENCE))),
    ),
    Seen(
        "a worker that claims again is taken for its own earlier claim",
        "WRK-FNC-02 WRK-FNC-03",
        "",
        Tier.ONE_CALLER,
        "Whether the caller owns the work is asked of the name of the worker, which outlives its claims.",
        by_rule(both(without("WRK-FNC-02"), with_check("WRK-FNC-03", when=~terms.same_worker))),
    ),
    Seen(
        "work that was claimed and never started is not recovered",
        "WRK-REC-01",
        "recover_expired",
        Tier.CLOCK,
        "Recovery looks for work that runs, and the state between the claim and the start was forgotten.",
        by_rule(without_transition(CLAIMED, "lease lapse")),
    ),
    Seen(
        "a heartbeat grants the attempt its execution time anew",
        "WRK-HBT-03 WRK-DLN-08 WRK-DLN-03",
        "",
        Tier.CLOCK,
        "One column of the last sign of life serves every deadline of a running attempt.",
        by_rule(with_term(terms.execution_at, _since_last_heartbeat)),
    ),
    Seen(
        "a heartbeat after the failure report puts the next attempt off by a lease",
        "WRK-FNC-01 WRK-GEN-02",
        "heartbeat",
        Tier.ONE_CALLER,
        "The end of the lease and the due time share one column, and the renewal matches by id alone.",
        by_rule(with_check("WRK-FNC-01", "heartbeat", committing=(When(terms.state_is(READY), (_WAITS_A_LEASE,)),))),
    ),
)
JOBS: Final = (
    Seen(
        "a sweep takes a lease back while it still lasts",
        "JOB-RCL-01 JOB-GEN-06",
        "reclaim_expired",
        Tier.CLOCK,
        "The sweep computes the end of a lease for itself, with another rounding or comparison than the admission.",
        by_rule(with_term(job_terms.lease_end, _a_moment_early, "reclaim_expired")),
    ),
    Seen(
        "a renewal never tells of a lost lease",
        "JOB-RNW-02 JOB-RNW-05",
        "renew",
        Tier.ONE_CALLER,
        "The renewal is an update under a condition, and nobody looks at how many rows it has changed.",
        by_rule(with_answer("renew", lambda _lost, *_given: [])),
    ),
    Seen(
        "a lease is known by its id alone, and ids are used again",
        "JOB-ACK-01 JOB-RNW-02 JOB-RNW-05 JOB-CKP-01",
        "",
        Tier.ONE_CALLER,
        "The update of the holder names the id of the lease in its condition and leaves the fence out.",
        by_rule(with_condition(_fence_is_the_last, ALWAYS)),
    ),
    Seen(
        "an ack frees every other job of the same admission",
        "JOB-ADM-07 JOB-ACK-01 JOB-ACK-05 JOB-GEN-06",
        "ack success",
        Tier.ONE_CALLER,
        "The rows to free are found by the lease or the worker, which several jobs of one admission share.",
        by_handle(_frees_its_siblings),
    ),
    Seen(
        "a renewal after a retry puts the job off by a lease",
        "JOB-RNW-05 JOB-RNW-02 JOB-GEN-05",
        "renew",
        Tier.ONE_CALLER,
        "The end of the lease and the due time share one column, and the renewal matches by id and fence alone.",
        by_rule(
            with_check(
                "JOB-RNW-05",
                "renew",
                committing=(When(job_terms.state_is("retryable") & _fence_is_the_last, (_JOB_WAITS_A_LEASE,)),),
            )
        ),
    ),
)
