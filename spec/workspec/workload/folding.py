"""What tells two records of one workload apart, for a search that merges all others."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from workspec.core.record import Record
from workspec.workload.facts import Facts
from workspec.workload.rules import canonical_json, deadline_instant
from workspec.workload.vocabulary import State

PASSED: Final = -1
"""Seconds from now to every instant that lies behind."""


def fold(record: Record, now_s: int) -> Hashable:
    """The identity of a record at an instant: all that can still make a difference to what is decided.

    Instants are counted from now, and one that lies behind is as passed as any other; at the instant itself is another
    side of the bound. Claim and attempt ids follow from the count of tokens. What a state can never use again is left
    out: a final record has no deadline, and retries stop to count where back-off has reached its cap. Of the log only
    the worker of the last attempt counts, by which a late call is made; so reads may show more than this.
    """
    facts: Facts = record.facts
    state = facts.state
    ended = record.log.attempts[-1].worker_id if record.log.attempts else None
    resting = (facts.workload_id, facts.contract_version, state, facts.last_token, ended, _reports_of(facts))
    common = (*resting, _terms_of(facts, now_s))
    if state == State.SUCCEEDED:
        return (*common, _result_of(facts))
    if state == State.CANCELLED:
        return common
    claim = facts.claim

    def left(instant: int | None) -> int | None:
        return None if instant is None else max(instant - now_s, PASSED)

    held = None if claim is None else (claim.worker_id, left(claim.expires_at))
    if state == State.CANCELLATION_REQUESTED:
        return (*common, held)
    timeouts = facts.terms.timeouts
    deadlines = [left(deadline_instant(facts.created_at, timeouts.overall_ms))]
    if state == State.READY:
        since, due = facts.ready_at, facts.next_attempt_at
        since = facts.created_at if since is None else since
        since = since if due is None else max(since, due)
        deadlines += (left(due), left(deadline_instant(since, timeouts.queue_ms)))
    elif claim is not None:
        deadlines.append(None if facts.next_attempt_at is None else PASSED)
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
    not_before = None if terms.not_before is None else max(terms.not_before - now_s, PASSED)
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
