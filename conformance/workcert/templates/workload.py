"""An adapter of the workload contract with a small store in it, to begin with.

It runs as it is:

    workcert certify FILE:BACKEND

The store keeps its records in a dict and has four of the contract's methods: `admit`, `claim`, `get` and
`list_workloads`. A case that calls another method is skipped and says so; what is there is judged in full. The
certificate of such a store is *incomplete*: it passes, and it does not yet do all that CORE asks.

Make it yours in either direction:

- You have a store already. Keep `BACKEND`, throw `Store` away, and let `Adapter.open` return an object that translates
  the methods of the port into calls of your store. Raise `WorkloadError(code)` where your store refuses.
- You write a store. Replace the dict by your storage, and add a method at a time. Types, arguments and errors of each
  stand in `workspec.workload.ports`; what it must do, `workcert explain FAMILY` says. A good order:

      start               workcert explain start: from here on a claim can be used; also brings the fence
      fail                retries, back-off, spent budgets and the dead letter
      enforce_deadlines   what `claim` does here with one record that is late, for all of them
      recover_expired     leases that lapse: lost workers
      complete            results and their replay
      retry               an operator's re-arm of dead letters
      heartbeat           longer leases
      checkpoint          progress that the next attempt finds
      execution_context   what a worker needs to run
      time_out, cancel, acknowledge_cancel
      migrate             the profile MIGRATION

What this store leaves out although the contract has it: a wrong Python type is not met with a TypeError, and texts are
not searched for secrets (the profile SECRETS, which is not claimed).
"""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from attrs import define, evolve, field

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Admitted,
    Attempt,
    AttemptStatus,
    Claim,
    ErrorCode,
    Event,
    RetryPolicy,
    State,
    Timeouts,
    Versioned,
    Workload,
    WorkloadError,
)

LATEST = 2**63 - 1
"""Sums of instants stay within 64 bits."""
DEFAULT_POLICY = RetryPolicy(
    max_attempts=3,
    backoff="exponential",
    initial_delay_ms=1000,
    max_delay_ms=60_000,
    retry_on=frozenset({"worker_failure", "timeout", "transient_connection"}),
)
NO_TIMEOUTS = Timeouts(queue_ms=None, claim_ms=None, execution_ms=None, heartbeat_ms=None, overall_ms=None)
COMPARED = (
    "definition_id",
    "definition_revision",
    "environment",
    "input",
    "capability_snapshot",
    "connection_scopes",
    "priority",
    "retry_policy",
    "timeouts",
    "dependencies",
    "not_before",
)
"""What a repeated admission must share with the first one, in the order in which differences are reported."""


# The adapter: all that the kit needs -----------------------------------------------------------------------------


class Place(Protocol):
    """Where one store may live. The kit makes it: an empty directory, and a name that is used once."""

    @property
    def path(self) -> Path: ...

    @property
    def name(self) -> str: ...


@define
class Adapter:
    """``profiles``: what you claim; begin with CORE and see 'workcert list profiles'. ``abilities``: what you let the
    kit do; see 'workcert list abilities'. Each ability lets the kit see more. ``choices``: where your store takes one
    of the ways that the contract leaves open; see 'workcert list choices'."""

    contract: str = "workload"
    profiles: frozenset[str] = frozenset({"CORE"})
    abilities: frozenset[str] = frozenset({"reset", "second_handle", "snapshot"})
    choices: dict[str, str] = field(factory=dict)
    _rows: dict[str, dict[str, Versioned]] = field(factory=dict)

    def open(self, place: Place, config: Mapping[str, Any]) -> Store:  # noqa: ARG002 - the contract has no settings
        """A handle on the store at this place. A store on disk makes its files in ``place.path``; one on a server
        takes ``place.name`` as the name of a schema or a key prefix. Called again for the same place it gives another
        handle on the same rows."""
        return Store(self._rows.setdefault(str(place.path), {}))

    def forget(self, place: Place) -> None:
        """The kit has done with this place (optional)."""
        self._rows.pop(str(place.path), None)


# The store -------------------------------------------------------------------------------------------------------


@define
class Store:
    """One handle. Every method reads, decides and writes under the lock: nobody comes between."""

    _rows: dict[str, Versioned]

    def admit(self, *, request: AdmissionRequest) -> Admitted:
        """Create the workload, or answer with the one that this request repeats."""
        check_request(request)
        with LOCK:
            created = new_workload(request)
            present = self._rows.get(created.workload_id)
            if present is None:
                self._write(created)
                return Admitted(created, created=True)
        fields = [name for name in COMPARED if compared(created, name) != compared(present.workload, name)]
        if fields:
            raise WorkloadError(ErrorCode.IDEMPOTENCY_KEY_REUSED, {"fields": [*fields]})
        return Admitted(present.workload, created=False)

    def claim(
        self, *, workload_id: str, worker_id: str, capabilities: Sequence[str], lease_ms: int, now_s: int
    ) -> Claim:
        """Take READY work under a lease."""
        if lease_ms < 1:
            raise WorkloadError(ErrorCode.INVALID)
        with LOCK:
            row = self._rows.get(workload_id)
            if row is None:
                raise WorkloadError(ErrorCode.NOT_FOUND)
            workload = row.workload
            late = passed_deadline(workload, now_s)
            if late is not None:
                # The one kind of refusal that changes something: the expiry is committed, then the call fails.
                self._write(expired(workload, *late, now_s))
                raise WorkloadError(ErrorCode.TIMED_OUT, {"deadline": late[0], "deadline_at": late[1]})
            if workload.state != State.READY:
                raise WorkloadError(ErrorCode.NOT_READY)
            if workload.attempt_count >= workload.retry_policy.max_attempts:
                self._write(buried(workload, now_s))
                raise WorkloadError(ErrorCode.ATTEMPTS_EXHAUSTED)
            if workload.next_attempt_at is not None and now_s < workload.next_attempt_at:
                raise WorkloadError(ErrorCode.NOT_READY)
            if not workload.capability_snapshot <= set(capabilities):
                raise WorkloadError(ErrorCode.CAPABILITY_MISSING)
            if not all(self._is_met(workload, *each) for each in dependencies_of(workload)):
                raise WorkloadError(ErrorCode.DEPENDENCY_PENDING)
            claimed, claim = with_claim(workload, worker_id, lease_ms, now_s)
            self._write(claimed)
            return claim

    def get(self, *, workload_id: str, fresh: bool = True) -> Versioned | None:  # noqa: ARG002 - always fresh here
        """The record with its version. The kit judges by this method, so it has to show what is committed."""
        return self._rows.get(workload_id)

    def list_workloads(
        self,
        *,
        tenant_id: str,
        application_id: str,
        fresh: bool = True,  # noqa: ARG002 - always fresh here
    ) -> list[Versioned]:
        """All records of one application, by workload id."""
        with LOCK:
            return [
                row
                for _, row in sorted(self._rows.items())
                if (row.workload.tenant_id, row.workload.application_id) == (tenant_id, application_id)
            ]

    # What the abilities stand for

    def reset(self) -> None:
        self._rows.clear()

    def snapshot(self) -> Mapping[str, int | None]:
        with LOCK:
            return {workload_id: row.version for workload_id, row in self._rows.items()}

    def _write(self, workload: Workload) -> None:
        """The version counts the commits of a row."""
        before = self._rows.get(workload.workload_id)
        self._rows[workload.workload_id] = Versioned(1 if before is None else before.version + 1, workload)

    def _is_met(self, workload: Workload, needed: str, state: str) -> bool:
        """Only work of the same tenant and application counts, else one could watch another's."""
        row = self._rows.get(needed)
        if row is None or row.workload.state != state:
            return False
        other = row.workload
        return (other.tenant_id, other.application_id) == (workload.tenant_id, workload.application_id)


LOCK = threading.RLock()


# Admission -------------------------------------------------------------------------------------------------------


def check_request(request: AdmissionRequest) -> None:
    """What is refused whatever the store holds."""
    policy = request.retry_policy or DEFAULT_POLICY
    timeouts = request.timeouts or NO_TIMEOUTS
    lengths = (getattr(timeouts, f"{kind}_ms") for kind in ("queue", "claim", "execution", "heartbeat", "overall"))
    sound = (
        is_json(request.input)
        and request.idempotency_key.strip() != ""
        and all(length is None or length >= 1 for length in lengths)
        and policy.backoff in ("fixed", "exponential")
        and 0 <= policy.max_attempts < 2**32
        and min(policy.initial_delay_ms, policy.max_delay_ms) >= 0
    )
    if not sound:
        raise WorkloadError(ErrorCode.INVALID)
    grant = request.authorization_snapshot
    granted = (grant.subject, grant.tenant_id, grant.application_id)
    if granted != (request.requested_by, request.tenant_id, request.application_id):
        raise WorkloadError(ErrorCode.UNAUTHORIZED)


def is_json(value: Any) -> bool:
    try:
        canonical(value).encode()
    except ValueError:
        # NaN, an infinity, or half a surrogate pair.
        return False
    return True


def canonical(value: Any) -> str:
    """Equal for values that differ in nothing but the order of members."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def new_workload(request: AdmissionRequest) -> Workload:
    requester = request.requested_by
    scope = [request.tenant_id, request.application_id, requester.kind, requester.id, request.idempotency_key]
    created = Workload(
        contract_version=2,
        # Derived from the scope, so that two admissions of the same work meet on one record.
        workload_id="workload_" + hashlib.sha256(canonical(scope).encode()).hexdigest()[:24],
        tenant_id=request.tenant_id,
        application_id=request.application_id,
        requested_by=requester,
        idempotency_key=request.idempotency_key,
        definition_id=request.definition_id,
        definition_revision=request.definition_revision,
        environment=request.environment,
        input=request.input,
        input_hash=hashlib.sha256(canonical(request.input).encode()).hexdigest(),
        capability_snapshot=frozenset(request.capability_snapshot),
        connection_scopes=frozenset(request.connection_scopes or ()),
        priority=request.priority or 0,
        retry_policy=request.retry_policy or DEFAULT_POLICY,
        timeouts=request.timeouts or NO_TIMEOUTS,
        dependencies=tuple(request.dependencies or ()),
        created_at=request.created_at,
        state=State.CREATED,
        attempt_count=0,
        retry_count=0,
        attempts=(),
        current_claim=None,
        next_attempt_at=request.not_before,
        last_failure=None,
        checkpoints=(),
        result=None,
        execution_history=(),
    )
    evidence = {} if request.not_before is None else {"not_before": str(request.not_before)}
    return moved(created, State.READY, requester.id, request.created_at, evidence)


def compared(workload: Workload, name: str) -> Any:
    """A member as a repeated admission compares it."""
    if name == "input":
        return workload.input_hash
    if name == "dependencies":
        return sorted(dependencies_of(workload))
    if name == "not_before":
        # As admitted: next_attempt_at moves with each retry.
        return workload.execution_history[0].evidence.get("not_before")
    return getattr(workload, name)


def dependencies_of(workload: Workload) -> list[tuple[str, str]]:
    return [(each.workload_id, each.required_state) for each in workload.dependencies]


# Changes of a record ---------------------------------------------------------------------------------------------


def moved(
    workload: Workload, state: State, actor: str, now_s: int, evidence: Mapping[str, str] | None = None
) -> Workload:
    """The record in its next state, with one event more. No state changes in any other way."""
    history = workload.execution_history
    event = Event(len(history) + 1, workload.state, state, actor, now_s, dict(evidence or {}))
    return evolve(workload, state=state, execution_history=(*history, event))


def with_claim(workload: Workload, worker_id: str, lease_ms: int, now_s: int) -> tuple[Workload, Claim]:
    # The fencing token is what makes a worker that was overtaken harmless: it grows with each claim.
    token = workload.attempt_count + 1
    claim = Claim(
        claim_id=f"claim_{uuid.uuid4().hex}",
        worker_id=worker_id,
        fencing_token=token,
        claimed_at=now_s,
        expires_at=later(now_s, lease_ms),
        last_heartbeat=now_s,
    )
    attempt = Attempt(
        attempt_id=f"attempt_{uuid.uuid4().hex}",
        claim_id=claim.claim_id,
        worker_id=worker_id,
        fencing_token=token,
        status=AttemptStatus.CLAIMED,
        started_at=None,
        ended_at=None,
        error=None,
    )
    taken = evolve(workload, attempt_count=token, attempts=(*workload.attempts, attempt), current_claim=claim)
    return moved(taken, State.CLAIMED, worker_id, now_s), claim


def buried(workload: Workload, now_s: int) -> Workload:
    """Work whose attempts are spent is not claimed again; an operator may re-arm it."""
    evidence = {
        "reason": "attempt_budget_exhausted",
        "attempts_used": str(workload.attempt_count),
        "attempt_budget": str(workload.retry_policy.max_attempts),
    }
    return moved(workload, State.DEAD_LETTER, "authority.claim", now_s, evidence)


# Deadlines -------------------------------------------------------------------------------------------------------


def later(instant_s: int, length_ms: int) -> int:
    """Lengths are rounded up to seconds: no deadline and no lease is shorter than asked for."""
    return min(instant_s - (-length_ms // 1000), LATEST)


def passed_deadline(workload: Workload, now_s: int) -> tuple[str, int] | None:
    """The first deadline that is passed, in the contract's order, with its instant."""
    for name, since_s, length_ms in running_deadlines(workload):
        if length_ms is not None and now_s >= later(since_s, length_ms):
            return name, later(since_s, length_ms)
    return None


def running_deadlines(workload: Workload) -> Iterator[tuple[str, int, int | None]]:
    """Those of the states that this store has: `start` would bring the execution deadline."""
    timeouts, claim = workload.timeouts, workload.current_claim
    if workload.state not in (State.READY, State.CLAIMED):
        return
    yield "overall", workload.created_at, timeouts.overall_ms
    if claim is None:
        ready_at = workload.execution_history[-1].at
        due_at = workload.next_attempt_at
        yield "queue", ready_at if due_at is None else max(ready_at, due_at), timeouts.queue_ms
    else:
        yield "claim", claim.claimed_at, timeouts.claim_ms
        yield "heartbeat", claim.last_heartbeat, timeouts.heartbeat_ms


def expired(workload: Workload, deadline: str, deadline_at: int, now_s: int) -> Workload:
    """The record after a deadline: back to READY, or to the dead letters."""
    evidence = {"deadline": deadline, "deadline_at": str(deadline_at)}
    ended = workload
    if workload.current_claim is not None:
        claim, attempt = workload.current_claim, workload.attempts[-1]
        evidence |= {"claim_id": claim.claim_id, "worker_id": claim.worker_id}
        lost = evolve(attempt, status=AttemptStatus.TIMED_OUT, ended_at=now_s, error=f"timeout: {deadline}")
        ended = evolve(workload, current_claim=None, attempts=(*workload.attempts[:-1], lost))
    ended = moved(ended, State.TIMED_OUT, "authority.deadline", now_s, evidence)
    decision = decision_after(workload, deadline)
    if decision == "retry":
        due_at = min(now_s + workload.retry_policy.initial_delay_ms // 1000, LATEST)
        ended = evolve(ended, retry_count=ended.retry_count + 1, next_attempt_at=due_at)
    state = State.READY if decision == "retry" else State.DEAD_LETTER
    return moved(ended, state, "authority.deadline", now_s, {"decision": decision})


def decision_after(workload: Workload, deadline: str) -> str:
    policy = workload.retry_policy
    if deadline in ("overall", "queue"):
        return "deadline_not_retryable"
    if "timeout" not in policy.retry_on:
        return "timeout_not_retryable"
    return "retry" if workload.attempt_count < policy.max_attempts else "attempt_budget_exhausted"


BACKEND = Adapter()
