"""The attempts and events of a record: appending, closing, counting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from workspec.workload.vocabulary import Attempt, Event, Workload

from . import states
from .arithmetic import GREATEST_COUNT
from .decision import wrong_state


def move(
    record: Workload,
    target: str,
    *,
    actor: str,
    now_s: int,
    evidence: Mapping[str, str] | None = None,
    **changes: Any,
) -> Workload:
    """The record after one legal state change with its event; ``changes`` are further fields (WRK-GEN-06).

    Raises:
        WorkloadError: STATE_INVALID, when the table of transitions has no such pair.
    """
    if not states.may_move(record.state, target):
        raise wrong_state(record, f"make it {target}")
    history = record.execution_history
    event = Event(history[-1].sequence + 1 if history else 1, record.state, target, actor, now_s, dict(evidence or {}))
    return evolve(record, state=target, execution_history=(*history, event), **changes)


def with_last_attempt(record: Workload, **changes: Any) -> tuple[Attempt, ...]:
    """The attempts with the last one changed; a record without attempts stays without."""
    if not record.attempts:
        return ()
    return (*record.attempts[:-1], evolve(record.attempts[-1], **changes))


def operator_retries(record: Workload) -> int:
    """How often an operator has re-armed this workload (section 6)."""
    return sum(1 for event in record.execution_history if event.evidence.get("retry") == "operator")


def attempt_budget(record: Workload) -> int:
    """How many claims this workload may have in all (section 6)."""
    return min(record.retry_policy.max_attempts + operator_retries(record), GREATEST_COUNT)


def exhausted(record: Workload) -> bool:
    """Whether the attempts have used the budget up."""
    return record.attempt_count >= attempt_budget(record)


def budget_evidence(record: Workload) -> dict[str, str]:
    """The two counters as events carry them, in decimal (WRK-GEN-05)."""
    return {"attempts_used": str(record.attempt_count), "attempt_budget": str(attempt_budget(record))}
