"""The invariants of section 10, on records as a store shows them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from attrs import evolve

from workspec.core.contract import Invariant
from workspec.workload.tables import TRANSITIONS
from workspec.workload.vocabulary import Event, State, Workload

HOLDING: Final = frozenset({"CLAIMED", "RUNNING", "CHECKPOINTED", "CANCELLATION_REQUESTED"})
PASSED_THROUGH: Final = frozenset({"CREATED", "FAILED", "TIMED_OUT", "RECOVERING"})
FINAL: Final = frozenset({"SUCCEEDED", "CANCELLED"})
COMMITTING: Final = frozenset({"WORKLOAD_TIMED_OUT", "WORKLOAD_ATTEMPTS_EXHAUSTED"})
LEGAL: Final = frozenset((row.source, row.target) for row in TRANSITIONS.rows)
CURRENT_VERSION: Final = 2


def _pairs_are_legal(workload: Workload) -> bool:
    history = workload.execution_history
    return all((event.from_state, event.to_state) in LEGAL for event in history) and all(
        earlier.to_state == later.from_state for earlier, later in pairwise(history)
    )


def _history_grows(before: Workload | None, after: Workload | None, _code: str | None) -> bool:
    if before is None or after is None:
        return before is None
    earlier, kept = before.execution_history, after.execution_history[: len(before.execution_history)]
    return kept == earlier or _unnumbered(kept) == _unnumbered(earlier)


def _unnumbered(history: Sequence[Event]) -> list[Event]:
    """A store may number what it took over from elsewhere in its own way (G-16)."""
    return [evolve(event, sequence=0) for event in history]


def _events_rise(workload: Workload) -> bool:
    return all(earlier.sequence < later.sequence for earlier, later in pairwise(workload.execution_history))


def _claim_matches_state(workload: Workload) -> bool:
    return (workload.current_claim is not None) == (workload.state in HOLDING)


def _only_last_is_open(workload: Workload) -> bool:
    attempts = workload.attempts
    is_open = [attempt.ended_at is None for attempt in attempts]
    return not any(is_open[:-1]) and any(is_open[-1:]) == (workload.current_claim is not None)


def _claim_is_of_last(workload: Workload) -> bool:
    attempts, claim = workload.attempts, workload.current_claim
    if claim is None or not attempts:
        return claim is None
    last = attempts[-1]
    held = (claim.claim_id, claim.worker_id, claim.fencing_token)
    return (last.claim_id, last.worker_id, last.fencing_token) == held


def _tokens_increase(workload: Workload) -> bool:
    return all(a.fencing_token < b.fencing_token for a, b in pairwise(workload.attempts))


def _unique_attempt_ids(workload: Workload) -> bool:
    return len({attempt.attempt_id for attempt in workload.attempts}) == len(workload.attempts)


def _unique_claim_ids(workload: Workload) -> bool:
    return len({attempt.claim_id for attempt in workload.attempts}) == len(workload.attempts)


def _attempts_counted(workload: Workload) -> bool:
    return workload.attempt_count == len(workload.attempts)


def _operator_retries(workload: Workload) -> int:
    return sum(event.evidence.get("retry") == "operator" for event in workload.execution_history)


def _within_budget(workload: Workload) -> bool:
    most = workload.retry_policy.max_attempts
    rearms = _operator_retries(workload)
    return workload.attempt_count <= most + rearms and rearms <= most


def _result_means_success(workload: Workload) -> bool:
    return (workload.result is not None) == (workload.state == State.SUCCEEDED)


def _success_is_of_attempt(workload: Workload) -> bool:
    succeeded = sum(attempt.status == "SUCCEEDED" for attempt in workload.attempts)
    return succeeded == int(workload.state == State.SUCCEEDED)


def _rests(workload: Workload) -> bool:
    return workload.state not in PASSED_THROUGH


def _is_decided(event: Event) -> bool:
    return event.to_state in ("FAILED", "RECOVERING") or (
        event.to_state == State.TIMED_OUT and "deadline" in event.evidence
    )


def _followed_by_decision(workload: Workload) -> bool:
    history = workload.execution_history
    for position, event in enumerate(history):
        if not _is_decided(event):
            continue
        follower = history[position + 1] if position + 1 < len(history) else None
        if follower is None or follower.at != event.at or "decision" not in follower.evidence:
            return False
        if follower.to_state not in ("READY", "DEAD_LETTER"):
            return False
        if (follower.evidence["decision"] == "retry") != (follower.to_state == State.READY):
            return False
    return True


def _final_stays(before: Workload | None, after: Workload | None, _code: str | None) -> bool:
    return before is None or before.state not in FINAL or before == after


def _refusal_changes_nothing(before: Workload | None, after: Workload | None, code: str | None) -> bool:
    if code is None:
        return True
    if code not in COMMITTING:
        return before == after
    return after is not None and after.state in ("READY", "DEAD_LETTER") and after.current_claim is None


def _retries_counted(workload: Workload) -> bool:
    history = workload.execution_history
    caused = sum(
        later.to_state == State.READY
        and earlier.to_state in ("FAILED", "TIMED_OUT")
        and later.evidence.get("retry") != "operator"
        for earlier, later in pairwise(history)
    )
    return workload.retry_count == caused


def _evidence_is_text(workload: Workload) -> bool:
    return all(
        isinstance(key, str) and isinstance(value, str)
        for event in workload.execution_history
        for key, value in event.evidence.items()
    )


def _current(holds: Any) -> Any:
    """Only for records of the current contract version."""
    return lambda workload: workload.contract_version < CURRENT_VERSION or holds(workload)


def _invariant(requirement: str, of: str, text: str, holds: Any, reads: str) -> Invariant:
    return Invariant(requirement, of, text, holds, tuple(reads.split()))


DECISION: Final = "contract_version execution_history[].to_state execution_history[].at execution_history[].evidence"

INVARIANTS: Final = (
    _invariant(
        "WRK-INV-01",
        "record",
        "every pair of states in the history is legal",
        _pairs_are_legal,
        "execution_history[].from_state execution_history[].to_state",
    ),
    _invariant("WRK-INV-01", "step", "the history is only appended to", _history_grows, "execution_history"),
    _invariant("WRK-INV-01", "record", "events are numbered in order", _events_rise, "execution_history[].sequence"),
    _invariant(
        "WRK-INV-02",
        "record",
        "a claim is held exactly in the four active states",
        _claim_matches_state,
        "current_claim state",
    ),
    _invariant(
        "WRK-INV-03",
        "record",
        "only the last attempt is open, exactly while a claim is held",
        _only_last_is_open,
        "attempts[].ended_at current_claim",
    ),
    _invariant(
        "WRK-INV-03",
        "record",
        "the claim that is held is the last attempt's",
        _claim_is_of_last,
        "attempts[].claim_id attempts[].worker_id attempts[].fencing_token "
        "current_claim.claim_id current_claim.worker_id current_claim.fencing_token",
    ),
    _invariant("WRK-INV-04", "record", "tokens increase", _tokens_increase, "attempts[].fencing_token"),
    _invariant("WRK-INV-04", "record", "attempt ids are unique", _unique_attempt_ids, "attempts[].attempt_id"),
    _invariant("WRK-INV-04", "record", "claim ids are unique", _unique_claim_ids, "attempts[].claim_id"),
    _invariant(
        "WRK-INV-05",
        "record",
        "attempt_count counts the attempts",
        _current(_attempts_counted),
        "contract_version attempt_count attempts",
    ),
    _invariant(
        "WRK-INV-05",
        "record",
        "attempts within budget, re-arms within the policy",
        _current(_within_budget),
        "contract_version attempt_count retry_policy.max_attempts execution_history[].evidence",
    ),
    _invariant("WRK-INV-06", "record", "a result exactly in SUCCEEDED", _result_means_success, "result state"),
    _invariant(
        "WRK-INV-06",
        "record",
        "one attempt that succeeded, exactly in SUCCEEDED",
        _success_is_of_attempt,
        "attempts[].status state",
    ),
    _invariant(
        "WRK-INV-07", "record", "no record rests in a passing state", _current(_rests), "contract_version state"
    ),
    _invariant(
        "WRK-INV-08", "record", "a decision follows at the same instant", _current(_followed_by_decision), DECISION
    ),
    _invariant(
        "WRK-GEN-03", "record", "a decision is committed with its cause", _current(_followed_by_decision), DECISION
    ),
    _invariant("WRK-INV-09", "step", "a final record never changes", _final_stays, "state"),
    _invariant(
        "WRK-INV-10",
        "step",
        "a refusal changes nothing, or leaves resting work",
        _refusal_changes_nothing,
        "state current_claim",
    ),
    _invariant(
        "WRK-GEN-02",
        "step",
        "a refusal changes nothing, or leaves resting work",
        _refusal_changes_nothing,
        "state current_claim",
    ),
    _invariant(
        "WRK-INV-12",
        "record",
        "retry_count counts the retries in the history",
        _current(_retries_counted),
        "contract_version retry_count execution_history[].to_state execution_history[].evidence",
    ),
    _invariant("WRK-GEN-05", "record", "evidence is text", _evidence_is_text, "execution_history[].evidence"),
)
