"""Taking work and holding it: claim, start, heartbeat, execution context (WRK-CLM, STR, HBT, CTX)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from attrs import evolve, frozen

from workspec.workload.vocabulary import (
    Attempt,
    AttemptStatus,
    Claim,
    Dependency,
    ErrorCode,
    ExecutionContext,
    Workload,
)

from . import states
from .arithmetic import later, seconds_rounded_up
from .deadlines import expire_inline
from .decision import Commit, CommitAndRefuse, Decision, Reply, invalid, refusal, wrong_state
from .fence import Fence, held_claim
from .history import budget_evidence, exhausted, move, with_last_attempt
from .json_values import is_secret

EXHAUSTED_ACTOR = "authority.claim"


@frozen
class Claimant:
    """Who claims, with what, and under which fresh ids."""

    worker_id: str
    capabilities: Set[str]
    lease_ms: int
    attempt_id: str
    claim_id: str


def _bury_exhausted(record: Workload, now_s: int) -> CommitAndRefuse:
    buried = move(
        record,
        states.DEAD_LETTER,
        actor=EXHAUSTED_ACTOR,
        now_s=now_s,
        evidence={"reason": "attempt_budget_exhausted", **budget_evidence(record)},
    )
    return CommitAndRefuse(
        buried,
        refusal(
            ErrorCode.ATTEMPTS_EXHAUSTED,
            f"Workload {record.workload_id!r} has used all its attempts and is now DEAD_LETTER. An operator "
            "may grant one more with retry.",
        ),
    )


def _refuse_unready(record: Workload, now_s: int) -> None:
    if record.state != states.READY:
        raise refusal(
            ErrorCode.NOT_READY,
            f"Workload {record.workload_id!r} is {record.state}, not READY. If its lease has lapsed, "
            "recover_expired frees it.",
        )
    if record.next_attempt_at is not None and now_s < record.next_attempt_at:
        raise refusal(
            ErrorCode.NOT_READY,
            f"Workload {record.workload_id!r} may not be claimed before {record.next_attempt_at}; it is {now_s}.",
        )


def _refuse_unable(record: Workload, capabilities: Set[str], dependency_states: Mapping[str, str]) -> None:
    lacking = sorted(record.capability_snapshot - capabilities)
    if lacking:
        raise refusal(
            ErrorCode.CAPABILITY_MISSING,
            f"Workload {record.workload_id!r} needs {', '.join(lacking)}. Let a worker that offers it claim.",
        )
    pending = [wanted for wanted in record.dependencies if not _is_met(wanted, dependency_states)]
    if pending:
        raise refusal(
            ErrorCode.DEPENDENCY_PENDING,
            f"Workload {record.workload_id!r} waits for {pending[0].workload_id!r} to be "
            f"{pending[0].required_state}. Claim again once it is.",
        )


def _is_met(wanted: Dependency, dependency_states: Mapping[str, str]) -> bool:
    return dependency_states.get(wanted.workload_id) == wanted.required_state


def claim(record: Workload, claimant: Claimant, dependency_states: Mapping[str, str], now_s: int) -> Decision[Claim]:
    """Decide a claim; ``dependency_states`` holds the committed states of the same tenant and application.

    Raises:
        WorkloadError: NOT_READY, CAPABILITY_MISSING, DEPENDENCY_PENDING.
    """
    expiry = expire_inline(record, now_s)
    if expiry is not None:
        return expiry
    if record.state == states.READY and exhausted(record):
        return _bury_exhausted(record, now_s)
    _refuse_unready(record, now_s)
    _refuse_unable(record, claimant.capabilities, dependency_states)

    token = max((attempt.fencing_token for attempt in record.attempts), default=0) + 1
    ends_at = later(now_s, seconds_rounded_up(claimant.lease_ms))
    held = Claim(claimant.claim_id, claimant.worker_id, token, now_s, ends_at, now_s)
    attempt = Attempt(
        claimant.attempt_id,
        claimant.claim_id,
        claimant.worker_id,
        token,
        AttemptStatus.CLAIMED.value,
        None,
        None,
        None,
    )
    claimed = move(
        record,
        states.CLAIMED,
        actor=claimant.worker_id,
        now_s=now_s,
        attempt_count=record.attempt_count + 1,
        attempts=(*record.attempts, attempt),
        current_claim=held,
    )
    return Commit(claimed, held)


def start(record: Workload, fence: Fence, now_s: int) -> Decision[None]:
    """Decide the start of claimed work; the lease and the last heartbeat stay as they are (WRK-STR-02).

    Raises:
        WorkloadError: CLAIM_INVALID, STALE_FENCE, STATE_INVALID.
    """
    expiry = expire_inline(record, now_s)
    if expiry is not None:
        return expiry
    held_claim(record, fence, now_s)
    if record.state != states.CLAIMED:
        raise wrong_state(record, "start it")
    attempts = with_last_attempt(record, status=AttemptStatus.RUNNING.value, started_at=now_s)
    started = move(record, states.RUNNING, actor=fence.worker_id, now_s=now_s, attempts=attempts)
    return Commit(started, None)


def heartbeat(record: Workload, fence: Fence, extension_ms: int, now_s: int) -> Decision[Claim]:
    """Decide a renewal, which counts from now and so may shorten the lease (G-11); no event (WRK-HBT-02).

    Raises:
        WorkloadError: CLAIM_INVALID, STALE_FENCE.
    """
    expiry = expire_inline(record, now_s)
    if expiry is not None:
        return expiry
    held = held_claim(record, fence, now_s)
    renewed = evolve(held, last_heartbeat=now_s, expires_at=later(now_s, seconds_rounded_up(extension_ms)))
    return Commit(evolve(record, current_claim=renewed), renewed)


def execution_context(
    record: Workload, fence: Fence, secret_references: Sequence[str], now_s: int
) -> Decision[ExecutionContext]:
    """Decide what the holder may see: the input and every committed checkpoint, oldest first (WRK-CTX-02).

    Raises:
        WorkloadError: CLAIM_INVALID, STALE_FENCE, INVALID and SECRET_MATERIAL for a reference (P-03).
    """
    expiry = expire_inline(record, now_s)
    if expiry is not None:
        return expiry
    held = held_claim(record, fence, now_s)
    if any(is_secret(reference) for reference in secret_references):
        raise refusal(
            ErrorCode.SECRET_MATERIAL,
            "A secret reference is itself secret material. Pass the name of the secret, never its value.",
        )
    if "" in secret_references:
        raise invalid("A secret reference is empty. Pass the name under which the secret is kept.")
    attempt_id = record.attempts[-1].attempt_id if record.attempts else ""
    return Reply(
        ExecutionContext(
            attempt_id,
            tuple(secret_references),
            held.expires_at,
            held.fencing_token,
            record.input,
            record.checkpoints,
        )
    )
