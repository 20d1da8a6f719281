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
from workspec.workload.rules import canonical_json, deadline_instant
from workspec.workload.tables import STATES, TABLES, TRANSITIONS
from workspec.workload.vocabulary import ErrorCode, State


def result_id_of(facts: Facts) -> Hashable | None:
    return None if facts.result is None else facts.result.result_id


def fold(record: Record, now_s: int) -> Hashable:
    """The identity of a record for search: all that can still make a difference to a later call.

    Instants are counted from now, and one that has passed is as passed as any other. Claim and attempt ids follow
    from the count of tokens. What a state can never use again is left out: a final record has no deadline, and
    retries stop to count where back-off has reached its cap. The log is left out, so reads may show more than this.
    """
    facts: Facts = record.facts
    state = facts.state
    resting = (facts.workload_id, facts.contract_version, state, facts.last_token, _reports_of(facts))
    common = (*resting, _terms_of(facts, now_s))
    if state == State.SUCCEEDED:
        return (*common, _result_of(facts))
    if state == State.CANCELLED:
        return common
    claim = facts.claim

    def left(instant: int | None) -> int | None:
        return None if instant is None else max(instant - now_s, 0)

    held = None if claim is None else (claim.worker_id, left(claim.expires_at))
    if state == State.CANCELLATION_REQUESTED:
        return (*common, held)
    timeouts = facts.terms.timeouts
    deadlines = [left(deadline_instant(facts.created_at, timeouts.overall_ms))]
    if state == State.READY:
        since, due = facts.ready_at, facts.next_attempt_at
        since = facts.created_at if since is None else since
        since = since if due is None else max(since, due)
        deadlines += (left(due) or 0, left(deadline_instant(since, timeouts.queue_ms)))
    elif claim is not None:
        deadlines.append(left(deadline_instant(claim.last_heartbeat, timeouts.heartbeat_ms)))
        started_at = None if facts.attempt is None else facts.attempt.started_at
        began = (claim.claimed_at, timeouts.claim_ms) if started_at is None else (started_at, timeouts.execution_ms)
        deadlines.append(left(deadline_instant(*began)))
    counts = (facts.attempt_count, facts.operator_retries, _counted_retries(facts))
    return (*common, held, counts, *deadlines)


def _reports_of(facts: Facts) -> Hashable:
    return tuple((r.fencing_token, r.worker_id, r.kind, r.error, r.effect) for r in facts.reports)


def _result_of(facts: Facts) -> Hashable:
    """What a repeated completion is compared with (WRK-CMP-02)."""
    result = facts.result
    if result is None:
        return None
    token = result.provenance.get("fencing_token")
    return (result.result_id, result.produced_by, token, canonical_json(result.output))


def _terms_of(facts: Facts, now_s: int) -> Hashable:
    """The members that a repeated admission is compared with (WRK-REP-02)."""
    terms = facts.terms
    not_before = None if terms.not_before is None else max(terms.not_before - now_s, -1)
    return (
        *(terms.definition_id, terms.definition_revision, terms.environment, terms.input_hash, terms.priority),
        *(terms.capability_snapshot, terms.connection_scopes, terms.retry_policy, terms.timeouts),
        *(terms.dependencies, not_before),
    )


def _counted_retries(facts: Facts) -> int:
    policy = facts.terms.retry_policy
    if policy.backoff != "exponential" or policy.initial_delay_ms <= 0:
        return 0
    most = -(-policy.max_delay_ms // policy.initial_delay_ms)
    return min(facts.retry_count, max(most - 1, 0).bit_length())


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
        "read": ids("WRK-PRT-12 WRK-PRT-06"),
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
