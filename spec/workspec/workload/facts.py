"""The model's record of one workload: facts, which rules read, and the log, which only grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from workspec.core.record import Record
from workspec.workload.vocabulary import (
    Attempt,
    Checkpoint,
    Claim,
    Dependency,
    Event,
    Json,
    Result,
    RetryPolicy,
    State,
    Subject,
    Timeouts,
    Versioned,
    Workload,
)


@frozen(slots=False)
class Terms:
    """What was admitted, defaults filled in. It never changes."""

    tenant_id: str
    application_id: str
    requested_by: Subject
    idempotency_key: str
    definition_id: str
    definition_revision: str
    environment: str
    input: Json
    input_hash: str
    capability_snapshot: frozenset[str]
    connection_scopes: frozenset[str]
    priority: int
    retry_policy: RetryPolicy
    timeouts: Timeouts
    dependencies: tuple[Dependency, ...]
    not_before: int | None


@frozen
class Report:
    """A failure report that was accepted: what a repeat of it must equal (WRK-FAL-11)."""

    claim_id: str
    worker_id: str
    fencing_token: int
    kind: str
    error: str
    effect: str | None


STATE_NAMES: Final[Mapping[str, str]] = {state: state.value for state in State}
"""By state its name as a plain text: so the vocabulary has it, and so stores have it, in event after event."""


@frozen(slots=False)
class Facts:
    """``attempt`` is the open attempt, held exactly while a claim is; ended ones are in the log. ``ready_at`` is the
    instant of the latest event to READY. ``used_ids`` are the ids given out so far, with their kind."""

    workload_id: str
    contract_version: int
    terms: Terms
    created_at: int
    state: str
    attempt_count: int
    retry_count: int
    operator_retries: int
    next_attempt_at: int | None
    ready_at: int | None
    last_failure: str | None
    claim: Claim | None
    attempt: Attempt | None
    last_token: int
    used_ids: frozenset[tuple[str, str]]
    reports: tuple[Report, ...]
    result: Result | None
    event_count: int

    def moved(self, target: str, now_s: int, actor: str, evidence: Mapping[str, str]) -> dict[str, Any]:
        """The changes of one state change, its event included (WRK-GEN-06)."""
        target = STATE_NAMES[target]
        event = Event(self.event_count + 1, self.state, target, actor, now_s, evidence)
        changes = {"state": target, "event_count": self.event_count + 1, "log.history": event}
        return changes | {"ready_at": now_s} if target == State.READY else changes


@frozen(slots=False)
class Log:
    """``attempts`` holds the ended ones."""

    history: tuple[Event, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()


EMPTY_LOG = Log()
INSTANTS: Final[Mapping[type, tuple[str, ...]]] = {
    Facts: ("created_at", "next_attempt_at", "ready_at"),
    Terms: ("not_before",),
    Claim: ("claimed_at", "expires_at", "last_heartbeat"),
    Attempt: ("started_at", "ended_at"),
    Event: ("at",),
}
"""The members that are instants."""


def present(record: Record) -> Workload:
    """The vocabulary's record."""
    facts: Facts = record.facts
    log: Log = record.log
    terms = facts.terms
    # By position, in the order of the vocabulary: by name it takes twice as long.
    return Workload(
        facts.contract_version,
        facts.workload_id,
        terms.tenant_id,
        terms.application_id,
        terms.requested_by,
        terms.idempotency_key,
        terms.definition_id,
        terms.definition_revision,
        terms.environment,
        terms.input,
        terms.input_hash,
        terms.capability_snapshot,
        terms.connection_scopes,
        terms.priority,
        terms.retry_policy,
        terms.timeouts,
        terms.dependencies,
        facts.created_at,
        facts.state,
        facts.attempt_count,
        facts.retry_count,
        log.attempts if facts.attempt is None else (*log.attempts, facts.attempt),
        facts.claim,
        facts.next_attempt_at,
        facts.last_failure,
        log.checkpoints,
        facts.result,
        log.history,
    )


def versioned(record: Record) -> Versioned:
    """The record as `get` shows it; a row without a version reads as version 1 (P-07)."""
    return Versioned(record.version or 1, present(record))


def absorb(workload: Workload, version: int | None) -> Record:
    """A record out of the vocabulary's: for injection and migration. Every fact is derived again."""
    history = workload.execution_history
    open_attempt = workload.attempts[-1] if workload.current_claim is not None and workload.attempts else None
    ended = workload.attempts[:-1] if open_attempt is not None else workload.attempts
    first_ready = next((event for event in history if event.to_state == State.READY), None)
    not_before = None if first_ready is None else first_ready.evidence.get("not_before")
    terms = Terms(
        tenant_id=workload.tenant_id,
        application_id=workload.application_id,
        requested_by=workload.requested_by,
        idempotency_key=workload.idempotency_key,
        definition_id=workload.definition_id,
        definition_revision=workload.definition_revision,
        environment=workload.environment,
        input=workload.input,
        input_hash=workload.input_hash,
        capability_snapshot=workload.capability_snapshot,
        connection_scopes=workload.connection_scopes,
        priority=workload.priority,
        retry_policy=workload.retry_policy,
        timeouts=workload.timeouts,
        dependencies=workload.dependencies,
        not_before=None if not_before is None else int(not_before),
    )
    facts = Facts(
        workload_id=workload.workload_id,
        contract_version=workload.contract_version,
        terms=terms,
        created_at=workload.created_at,
        state=workload.state,
        attempt_count=workload.attempt_count,
        retry_count=workload.retry_count,
        operator_retries=sum(event.evidence.get("retry") == "operator" for event in history),
        next_attempt_at=workload.next_attempt_at,
        ready_at=next((event.at for event in reversed(history) if event.to_state == State.READY), None),
        last_failure=workload.last_failure,
        claim=workload.current_claim,
        attempt=open_attempt,
        last_token=max((attempt.fencing_token for attempt in workload.attempts), default=0),
        used_ids=frozenset(
            used for a in workload.attempts for used in (("attempt", a.attempt_id), ("claim", a.claim_id))
        ),
        reports=_reports(workload),
        result=workload.result,
        event_count=len(history),
    )
    return Record(version, facts, Log(history, ended, workload.checkpoints))


def _reports(workload: Workload) -> tuple[Report, ...]:
    """Accepted failure reports; an event without ``attempt_id`` is an older version's and never replays
    (WRK-FAL-16)."""
    events = {
        event.evidence["attempt_id"]: event.evidence
        for event in workload.execution_history
        if event.to_state == State.FAILED and "attempt_id" in event.evidence
    }
    return tuple(
        Report(
            attempt.claim_id,
            attempt.worker_id,
            attempt.fencing_token,
            events[attempt.attempt_id].get("failure_kind", ""),
            attempt.error or "",
            events[attempt.attempt_id].get("effect"),
        )
        for attempt in workload.attempts
        if attempt.status == "FAILED" and attempt.attempt_id in events
    )
