"""Admission: scope, identity, the new record, and replays of one already admitted (WRK-ADM, WRK-REP)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Dependency,
    ErrorCode,
    Event,
    Json,
    RetryPolicy,
    Timeouts,
    Workload,
)

from . import states
from .decision import refusal
from .json_values import canonical_hash, compact_text, parsed

CONTRACT_VERSION: Final = 2
DEFAULT_POLICY: Final = RetryPolicy(
    3, "exponential", 1000, 60000, frozenset({"worker_failure", "timeout", "transient_connection"})
)
NO_TIMEOUTS: Final = Timeouts(None, None, None, None, None)


@frozen
class Scope:
    """Within this, one idempotency key means one workload (WRK-ADM-07)."""

    tenant_id: str
    application_id: str
    requester_kind: str
    requester_id: str
    idempotency_key: str


def scope_of(request: AdmissionRequest) -> Scope:
    return Scope(
        request.tenant_id,
        request.application_id,
        request.requested_by.kind,
        request.requested_by.id,
        request.idempotency_key,
    )


def derived_id(scope: Scope) -> str:
    """The workload id of a scope (WRK-ADM-08)."""
    parts = [
        scope.tenant_id,
        scope.application_id,
        scope.requester_kind,
        scope.requester_id,
        scope.idempotency_key,
    ]
    return "workload_" + hashlib.sha256(compact_text(parts).encode()).hexdigest()[:24]


def refuse_unauthorized(request: AdmissionRequest) -> None:
    """Compare the grant with the request, ahead of every look-up (WRK-ADM-06, G-06).

    Raises:
        WorkloadError: UNAUTHORIZED.
    """
    grant = request.authorization_snapshot
    if (
        grant.subject == request.requested_by
        and grant.tenant_id == request.tenant_id
        and grant.application_id == request.application_id
    ):
        return
    raise refusal(
        ErrorCode.UNAUTHORIZED,
        "The authorization snapshot names another subject, tenant or application than the request. Ask for a "
        "grant to this requester.",
    )


def new_record(request: AdmissionRequest) -> Workload:
    """The record that this request creates, READY at its ``created_at`` (WRK-ADM-11, WRK-ADM-12)."""
    evidence = {} if request.not_before is None else {"not_before": str(request.not_before)}
    creation = Event(1, states.CREATED, states.READY, request.requested_by.id, request.created_at, evidence)
    return Workload(
        contract_version=CONTRACT_VERSION,
        workload_id=derived_id(scope_of(request)),
        tenant_id=request.tenant_id,
        application_id=request.application_id,
        requested_by=request.requested_by,
        idempotency_key=request.idempotency_key,
        definition_id=request.definition_id,
        definition_revision=request.definition_revision,
        environment=request.environment,
        # A copy of its own: the caller may go on to change the one that it passed.
        input=parsed(compact_text(request.input)),
        input_hash=canonical_hash(request.input),
        capability_snapshot=frozenset(request.capability_snapshot),
        connection_scopes=frozenset(request.connection_scopes or ()),
        priority=request.priority or 0,
        retry_policy=request.retry_policy or DEFAULT_POLICY,
        timeouts=request.timeouts or NO_TIMEOUTS,
        dependencies=tuple(request.dependencies or ()),
        created_at=request.created_at,
        state=states.READY,
        attempt_count=0,
        retry_count=0,
        attempts=(),
        current_claim=None,
        next_attempt_at=request.not_before,
        last_failure=None,
        checkpoints=(),
        result=None,
        execution_history=(creation,),
    )


def _admitted_not_before(record: Workload) -> str | None:
    """In decimal, from the evidence: ``next_attempt_at`` moves with every retry (WRK-REP-03)."""
    for event in record.execution_history:
        if event.to_state == states.READY:
            return event.evidence.get("not_before")
    return None


def _multiset(dependencies: Sequence[Dependency]) -> list[tuple[str, str]]:
    return sorted((wanted.workload_id, wanted.required_state) for wanted in dependencies)


def conflicting_fields(record: Workload, asked: Workload) -> list[str]:
    """The fields in which the request's record differs from the admitted one, in fixed order (WRK-REP-02).

    The input is hashed anew: a record of an older version may carry a hash of another form.
    """
    equal = {
        "requested_by": record.requested_by == asked.requested_by,
        "definition_id": record.definition_id == asked.definition_id,
        "definition_revision": record.definition_revision == asked.definition_revision,
        "environment": record.environment == asked.environment,
        "input": canonical_hash(record.input) == asked.input_hash,
        "capability_snapshot": record.capability_snapshot == asked.capability_snapshot,
        "connection_scopes": record.connection_scopes == asked.connection_scopes,
        "priority": record.priority == asked.priority,
        "retry_policy": record.retry_policy == asked.retry_policy,
        "timeouts": record.timeouts == asked.timeouts,
        "dependencies": _multiset(record.dependencies) == _multiset(asked.dependencies),
        "not_before": _admitted_not_before(record) == _admitted_not_before(asked),
    }
    return [name for name, same in equal.items() if not same]


def refuse_reused_key(record: Workload, asked: Workload) -> None:
    """Accept a true replay, name every difference of a false one (WRK-REP-01).

    Raises:
        WorkloadError: IDEMPOTENCY_KEY_REUSED, with ``fields``.
    """
    fields: list[Json] = [*conflicting_fields(record, asked)]
    if not fields:
        return
    raise refusal(
        ErrorCode.IDEMPOTENCY_KEY_REUSED,
        f"Key {record.idempotency_key!r} was admitted before with another {', '.join(map(str, fields))}. "
        "Repeat the first request as it was, or use a new key.",
        {"fields": fields},
    )
