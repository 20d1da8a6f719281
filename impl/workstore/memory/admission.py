"""Admission: whose it is, whether it repeats an earlier one, and the record that it creates (WRK-ADM,
WRK-REP)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TypeAlias

from workspec.workload.vocabulary import (
    AdmissionRequest,
    ErrorCode,
    RetryPolicy,
    State,
    Timeouts,
    Workload,
)
from workstore.memory.history import move
from workstore.memory.json_values import canonical_hash, copied
from workstore.memory.refusals import refusal

Scope: TypeAlias = tuple[str, str, str, str, str]

CONTRACT_VERSION = 2
DEFAULT_POLICY = RetryPolicy(
    max_attempts=3,
    backoff="exponential",
    initial_delay_ms=1000,
    max_delay_ms=60_000,
    retry_on=frozenset({"worker_failure", "timeout", "transient_connection"}),
)
NO_TIMEOUTS = Timeouts(queue_ms=None, claim_ms=None, execution_ms=None, heartbeat_ms=None, overall_ms=None)

_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def scope_of(admitted: AdmissionRequest | Workload) -> Scope:
    """Within what a key is unique: tenant, application, requester and key (WRK-ADM-07)."""
    requester = admitted.requested_by
    return (
        admitted.tenant_id,
        admitted.application_id,
        requester.kind,
        requester.id,
        admitted.idempotency_key,
    )


def derived_id(request: AdmissionRequest) -> str:
    """The workload id of this scope: competing admissions meet on one record (WRK-ADM-08, WRK-ADM-10). Hashed as a
    JSON array, so that a separator inside one part cannot imitate another split."""
    text = _COMPACT.encode(scope_of(request))
    return "workload_" + hashlib.sha256(text.encode()).hexdigest()[:24]


def check_grant(request: AdmissionRequest) -> None:
    """The grant is for this requester, tenant and application (WRK-ADM-06, G-06). Asked before any lookup,
    so that the answer tells nothing about what exists.

    Raises:
        WorkloadError: UNAUTHORIZED.
    """
    grant = request.authorization_snapshot
    granted = (grant.subject, grant.tenant_id, grant.application_id)
    if granted != (request.requested_by, request.tenant_id, request.application_id):
        raise refusal(ErrorCode.UNAUTHORIZED, "the grant names another subject, tenant or application")


def new_workload(request: AdmissionRequest) -> Workload:
    """The record of an admission: READY, with one event (WRK-ADM-11, WRK-ADM-12)."""
    not_before = request.not_before
    created = Workload(
        contract_version=CONTRACT_VERSION,
        workload_id=derived_id(request),
        tenant_id=request.tenant_id,
        application_id=request.application_id,
        requested_by=request.requested_by,
        idempotency_key=request.idempotency_key,
        definition_id=request.definition_id,
        definition_revision=request.definition_revision,
        environment=request.environment,
        input=copied(request.input),
        input_hash=canonical_hash(request.input),
        capability_snapshot=frozenset(request.capability_snapshot),
        connection_scopes=frozenset(request.connection_scopes or ()),
        priority=request.priority or 0,
        retry_policy=_policy(request),
        timeouts=request.timeouts or NO_TIMEOUTS,
        dependencies=tuple(request.dependencies or ()),
        created_at=request.created_at,
        state=State.CREATED.value,
        attempt_count=0,
        retry_count=0,
        attempts=(),
        current_claim=None,
        next_attempt_at=not_before,
        last_failure=None,
        checkpoints=(),
        result=None,
        execution_history=(),
    )
    evidence = {} if not_before is None else {"not_before": str(not_before)}
    return move(created, State.READY, request.requested_by.id, request.created_at, evidence)


def _policy(request: AdmissionRequest) -> RetryPolicy:
    policy = request.retry_policy or DEFAULT_POLICY
    return RetryPolicy(
        max_attempts=policy.max_attempts,
        backoff=policy.backoff,
        initial_delay_ms=policy.initial_delay_ms,
        max_delay_ms=policy.max_delay_ms,
        retry_on=frozenset(policy.retry_on),
    )


def check_replay(workload: Workload, request: AdmissionRequest) -> None:
    """The request asks for the very work that this record holds, in whatever state it is by now (WRK-REP-05).

    Raises:
        WorkloadError: IDEMPOTENCY_KEY_REUSED, with every conflicting field in the order of the contract.
    """
    fields: list[str] = list(_conflicts(workload, request))
    if fields:
        raise refusal(
            ErrorCode.IDEMPOTENCY_KEY_REUSED,
            f"the key is in use for work with another {', '.join(fields)}; choose a new key",
            {"fields": [*fields]},
        )


def _conflicts(workload: Workload, request: AdmissionRequest) -> Iterator[str]:
    wanted = new_workload(request)
    if wanted.requested_by != workload.requested_by:
        yield "requested_by"
    if wanted.definition_id != workload.definition_id:
        yield "definition_id"
    if wanted.definition_revision != workload.definition_revision:
        yield "definition_revision"
    if wanted.environment != workload.environment:
        yield "environment"
    # Hashed anew: a record from elsewhere may hold a hash of another kind.
    if wanted.input_hash != canonical_hash(workload.input):
        yield "input"
    if wanted.capability_snapshot != workload.capability_snapshot:
        yield "capability_snapshot"
    if wanted.connection_scopes != workload.connection_scopes:
        yield "connection_scopes"
    if wanted.priority != workload.priority:
        yield "priority"
    if wanted.retry_policy != workload.retry_policy:
        yield "retry_policy"
    if wanted.timeouts != workload.timeouts:
        yield "timeouts"
    if _sorted_dependencies(wanted) != _sorted_dependencies(workload):
        yield "dependencies"
    if _admitted_not_before(wanted) != _admitted_not_before(workload):
        yield "not_before"


def _sorted_dependencies(workload: Workload) -> list[tuple[str, str]]:
    """In any order, but a repetition counts (WRK-REP-03)."""
    return sorted((dependency.workload_id, dependency.required_state) for dependency in workload.dependencies)


def _admitted_not_before(workload: Workload) -> str | None:
    """As admitted: `next_attempt_at` moves with each retry, the evidence of the first event does not."""
    for event in workload.execution_history:
        if event.to_state == State.READY:
            return event.evidence.get("not_before")
    return None
