"""A record as JSON text and back: an object with the field names of the vocabulary, sets as sorted arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workspec.workload.vocabulary import (
    Attempt,
    Checkpoint,
    Claim,
    Dependency,
    Event,
    Result,
    RetryPolicy,
    Subject,
    Timeouts,
    Workload,
)

from .json_values import compact_text, parsed


def _plain_policy(policy: RetryPolicy) -> dict[str, Any]:
    return {
        "max_attempts": policy.max_attempts,
        "backoff": policy.backoff,
        "initial_delay_ms": policy.initial_delay_ms,
        "max_delay_ms": policy.max_delay_ms,
        "retry_on": sorted(policy.retry_on),
    }


def _plain_timeouts(timeouts: Timeouts) -> dict[str, Any]:
    return {
        "queue_ms": timeouts.queue_ms,
        "claim_ms": timeouts.claim_ms,
        "execution_ms": timeouts.execution_ms,
        "heartbeat_ms": timeouts.heartbeat_ms,
        "overall_ms": timeouts.overall_ms,
    }


def _plain_claim(claim: Claim) -> dict[str, Any]:
    return {
        "claim_id": claim.claim_id,
        "worker_id": claim.worker_id,
        "fencing_token": claim.fencing_token,
        "claimed_at": claim.claimed_at,
        "expires_at": claim.expires_at,
        "last_heartbeat": claim.last_heartbeat,
    }


def _plain_attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "attempt_id": attempt.attempt_id,
        "claim_id": attempt.claim_id,
        "worker_id": attempt.worker_id,
        "fencing_token": attempt.fencing_token,
        "status": attempt.status,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "error": attempt.error,
    }


def _plain_event(event: Event) -> dict[str, Any]:
    return {
        "sequence": event.sequence,
        "from_state": event.from_state,
        "to_state": event.to_state,
        "actor": event.actor,
        "at": event.at,
        "evidence": dict(event.evidence),
    }


def _plain_result(result: Result) -> dict[str, Any]:
    return {
        "result_id": result.result_id,
        "attempt_id": result.attempt_id,
        "output": result.output,
        "output_hash": result.output_hash,
        "produced_by": result.produced_by,
        "provenance": dict(result.provenance),
        "references": list(result.references),
        "schema_version": result.schema_version,
    }


def plain(record: Workload) -> dict[str, Any]:
    """The record as a JSON object."""
    return {
        "contract_version": record.contract_version,
        "workload_id": record.workload_id,
        "tenant_id": record.tenant_id,
        "application_id": record.application_id,
        "requested_by": {"kind": record.requested_by.kind, "id": record.requested_by.id},
        "idempotency_key": record.idempotency_key,
        "definition_id": record.definition_id,
        "definition_revision": record.definition_revision,
        "environment": record.environment,
        "input": record.input,
        "input_hash": record.input_hash,
        "capability_snapshot": sorted(record.capability_snapshot),
        "connection_scopes": sorted(record.connection_scopes),
        "priority": record.priority,
        "retry_policy": _plain_policy(record.retry_policy),
        "timeouts": _plain_timeouts(record.timeouts),
        "dependencies": [
            {"workload_id": wanted.workload_id, "required_state": wanted.required_state}
            for wanted in record.dependencies
        ],
        "created_at": record.created_at,
        "state": record.state,
        "attempt_count": record.attempt_count,
        "retry_count": record.retry_count,
        "attempts": [_plain_attempt(attempt) for attempt in record.attempts],
        "current_claim": None if record.current_claim is None else _plain_claim(record.current_claim),
        "next_attempt_at": record.next_attempt_at,
        "last_failure": record.last_failure,
        "checkpoints": [{"attempt_id": kept.attempt_id, "state": kept.state} for kept in record.checkpoints],
        "result": None if record.result is None else _plain_result(record.result),
        "execution_history": [_plain_event(event) for event in record.execution_history],
    }


def _policy(form: Mapping[str, Any]) -> RetryPolicy:
    return RetryPolicy(
        form["max_attempts"],
        form["backoff"],
        form["initial_delay_ms"],
        form["max_delay_ms"],
        frozenset(form["retry_on"]),
    )


def _attempt(form: Mapping[str, Any]) -> Attempt:
    return Attempt(
        form["attempt_id"],
        form["claim_id"],
        form["worker_id"],
        form["fencing_token"],
        form["status"],
        form["started_at"],
        form["ended_at"],
        form["error"],
    )


def _event(form: Mapping[str, Any]) -> Event:
    return Event(form["sequence"], form["from_state"], form["to_state"], form["actor"], form["at"], form["evidence"])


def _result(form: Mapping[str, Any]) -> Result:
    return Result(
        form["result_id"],
        form["attempt_id"],
        form["output"],
        form["output_hash"],
        form["produced_by"],
        form["provenance"],
        tuple(form["references"]),
        form["schema_version"],
    )


def _claim(form: Mapping[str, Any]) -> Claim:
    return Claim(
        form["claim_id"],
        form["worker_id"],
        form["fencing_token"],
        form["claimed_at"],
        form["expires_at"],
        form["last_heartbeat"],
    )


def _dependency(form: Mapping[str, Any]) -> Dependency:
    return Dependency(form["workload_id"], form["required_state"])


def _timeouts(form: Mapping[str, Any]) -> Timeouts:
    return Timeouts(form["queue_ms"], form["claim_ms"], form["execution_ms"], form["heartbeat_ms"], form["overall_ms"])


def from_plain(form: Mapping[str, Any]) -> Workload:
    """The record of a well-formed JSON object.

    Raises:
        KeyError, TypeError: the object is not of the form that `plain` gives.
    """
    claim, result, requester = form["current_claim"], form["result"], form["requested_by"]
    return Workload(
        form["contract_version"],
        form["workload_id"],
        form["tenant_id"],
        form["application_id"],
        Subject(requester["kind"], requester["id"]),
        form["idempotency_key"],
        form["definition_id"],
        form["definition_revision"],
        form["environment"],
        form["input"],
        form["input_hash"],
        frozenset(form["capability_snapshot"]),
        frozenset(form["connection_scopes"]),
        form["priority"],
        _policy(form["retry_policy"]),
        _timeouts(form["timeouts"]),
        tuple([_dependency(wanted) for wanted in form["dependencies"]]),
        form["created_at"],
        form["state"],
        form["attempt_count"],
        form["retry_count"],
        tuple([_attempt(attempt) for attempt in form["attempts"]]),
        None if claim is None else _claim(claim),
        form["next_attempt_at"],
        form["last_failure"],
        tuple([Checkpoint(kept["attempt_id"], kept["state"]) for kept in form["checkpoints"]]),
        None if result is None else _result(result),
        tuple([_event(event) for event in form["execution_history"]]),
    )


def encode(record: Workload) -> str:
    """The record as compact JSON text."""
    return compact_text(plain(record))


def decode(text: str) -> Workload:
    """The record of a text that `encode` wrote.

    Raises:
        ValueError, KeyError, TypeError: the text is damaged.
    """
    return from_plain(parsed(text))
