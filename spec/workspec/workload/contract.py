"""The workload contract in one value."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from workspec.core.contract import Contract, Unique
from workspec.core.record import Record
from workspec.core.rule import ids
from workspec.core.scope import Call
from workspec.workload.choices import CHOICES
from workspec.workload.facts import EMPTY_LOG, Facts, absorb, present
from workspec.workload.invariants import INVARIANTS
from workspec.workload.operations import OPERATIONS
from workspec.workload.requirements import CATALOGUE
from workspec.workload.tables import STATES, TABLES, TRANSITIONS
from workspec.workload.vocabulary import ErrorCode, State


def result_id_of(facts: Facts) -> Hashable | None:
    return None if facts.result is None else facts.result.result_id


def fold(record: Record, now_s: int) -> Hashable:
    """The identity of a state for search: what can still make a difference, with instants relative to now.

    An instant that has passed is as passed as any other. The count of retries matters only until back-off has
    reached its cap. Ids and tokens are replaced by their place, which is the count of attempts.
    """
    facts: Facts = record.facts
    timeouts, policy = facts.terms.timeouts, facts.terms.retry_policy

    def ahead(instant: int | None, timeout_ms: int | None) -> int | None:
        """Seconds since the base of a deadline, cut where the deadline has passed."""
        if instant is None or timeout_ms is None:
            return None
        return min(now_s - instant, -(-timeout_ms // 1000))

    def due(instant: int | None) -> int | None:
        return None if instant is None else max(instant - now_s, 0)

    claim = facts.claim
    ready = facts.state == State.READY
    since = max(facts.ready_at or facts.created_at, facts.next_attempt_at or facts.created_at)
    doublings = max(policy.max_delay_ms // max(policy.initial_delay_ms, 1), 1).bit_length() + 1
    return (
        facts.workload_id,
        facts.state,
        facts.attempt_count,
        facts.operator_retries,
        min(facts.retry_count, doublings) if policy.backoff == "exponential" else 0,
        due(facts.next_attempt_at) if ready else None,
        ahead(facts.created_at, timeouts.overall_ms),
        ahead(since, timeouts.queue_ms) if ready else None,
        None if claim is None else (claim.worker_id, max(claim.expires_at - now_s, 0)),
        None if claim is None else ahead(claim.claimed_at, timeouts.claim_ms),
        None if claim is None else ahead(claim.last_heartbeat, timeouts.heartbeat_ms),
        None if facts.attempt is None else ahead(facts.attempt.started_at, timeouts.execution_ms),
        facts.attempt is not None and facts.attempt.started_at is not None,
        tuple((r.fencing_token, r.worker_id, r.kind, r.error, r.effect) for r in facts.reports),
        result_id_of(facts),
    )


def instant(call: Call, at_s: int | None) -> int:
    """P-01: an admission happens at the request's ``created_at``; reads and migration have no instant."""
    if call.name == "admit":
        return int(call.arguments["request"].created_at)
    return 0 if at_s is None else at_s


CONTRACT: Final = Contract(
    name="workload",
    version=CATALOGUE.version,
    catalogue=CATALOGUE,
    operations=OPERATIONS,
    transitions=TRANSITIONS,
    tables=TABLES,
    choices=CHOICES,
    invariants=INVARIANTS,
    uniques=(Unique(ids("WRK-PRT-08 WRK-CMP-04"), result_id_of, ErrorCode.RESULT_DUPLICATE),),
    states=STATES,
    conflict_code=ErrorCode.CONFLICT,
    conflict_requirements=ids("WRK-MWR-05 WRK-PRT-09"),
    start_state=State.CREATED,
    empty_log=EMPTY_LOG,
    present=present,
    absorb=absorb,
    fold=fold,
    instant=instant,
    comparisons={
        "version": ids("WRK-GEN-04"),
        "refusal": ids("WRK-GEN-02 WRK-GEN-01 WRK-INV-10"),
        "others": ids("WRK-INV-15"),
        "restart": ids("WRK-INV-14"),
        "stale view": ids("WRK-MWR-04"),
        "read": ids("WRK-GEN-01 WRK-PRT-06"),
    },
    shown_as={
        "claim": "current_claim",
        "attempt": "attempts",
        "log.attempts": "attempts",
        "log.checkpoints": "checkpoints",
        "log.history": "execution_history",
        "reports": "last_failure",
    },
)
