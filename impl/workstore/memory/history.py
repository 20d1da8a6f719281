"""State changes: which are legal, and the event that each one leaves (section 4 of the contract)."""

from __future__ import annotations

from collections.abc import Mapping

from workspec.workload.vocabulary import Attempt, AttemptStatus, ErrorCode, Event, State, Workload
from workstore.memory.carriers import changed
from workstore.memory.refusals import refusal

CLAIM_ACTOR = "authority.claim"
RETRY_ACTOR = "authority.retry"
DEADLINE_ACTOR = "authority.deadline"
RECOVERY_ACTOR = "authority.recovery"

STARTED = frozenset({State.RUNNING, State.CHECKPOINTED})
EXECUTING = STARTED | {State.CLAIMED}
HOLDING_A_CLAIM = EXECUTING | {State.CANCELLATION_REQUESTED}

_AFTER_A_SETBACK = frozenset({State.READY, State.DEAD_LETTER})
_OUT_OF_EXECUTION = frozenset({State.FAILED, State.RECOVERING, State.TIMED_OUT, State.CANCELLATION_REQUESTED})

LEGAL: Mapping[str, frozenset[State]] = {
    State.CREATED: frozenset({State.READY, State.CANCELLED}),
    State.READY: frozenset({State.CLAIMED, State.TIMED_OUT, State.DEAD_LETTER, State.CANCELLED}),
    State.CLAIMED: _OUT_OF_EXECUTION | {State.RUNNING},
    State.RUNNING: _OUT_OF_EXECUTION | {State.CHECKPOINTED, State.SUCCEEDED},
    State.CHECKPOINTED: _OUT_OF_EXECUTION | {State.CHECKPOINTED, State.SUCCEEDED},
    State.CANCELLATION_REQUESTED: frozenset({State.CANCELLED}),
    State.FAILED: _AFTER_A_SETBACK | {State.CANCELLED},
    State.RECOVERING: _AFTER_A_SETBACK,
    State.TIMED_OUT: _AFTER_A_SETBACK,
    State.DEAD_LETTER: frozenset({State.READY, State.CANCELLED}),
    State.SUCCEEDED: frozenset(),
    State.CANCELLED: frozenset(),
}


def move(workload: Workload, to: State, actor: str, now_s: int, evidence: Mapping[str, str] | None = None) -> Workload:
    """The workload in its next state, with one event more (WRK-GEN-06). States are plain texts in a record, as
    they are in one that was read from a file.

    Raises:
        WorkloadError: STATE_INVALID when the pair is not legal (G-05).
    """
    if to not in LEGAL.get(workload.state, ()):
        raise refusal(ErrorCode.STATE_INVALID, f"work in state {workload.state} cannot become {to}")
    history = workload.execution_history
    event = Event(
        sequence=history[-1].sequence + 1 if history else 1,
        from_state=workload.state,
        to_state=to.value,
        actor=actor,
        at=now_s,
        evidence=dict(evidence or {}),
    )
    return changed(workload, state=to.value, execution_history=(*history, event))


def last_attempt(workload: Workload) -> Attempt | None:
    return workload.attempts[-1] if workload.attempts else None


def close_last_attempt(workload: Workload, status: AttemptStatus, now_s: int, error: str | None = None) -> Workload:
    """The workload with its last attempt ended; without an error text that of the attempt stays as it is.
    Without attempts (a record from elsewhere) nothing changes."""
    attempt = last_attempt(workload)
    if attempt is None:
        return workload
    ended = changed(attempt, status=status.value, ended_at=now_s, error=attempt.error if error is None else error)
    return changed(workload, attempts=(*workload.attempts[:-1], ended))
