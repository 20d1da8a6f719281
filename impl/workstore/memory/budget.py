"""How often work may be attempted, and when it may be attempted again."""

from __future__ import annotations

from workspec.workload.vocabulary import Workload
from workstore.memory.carriers import changed
from workstore.memory.numbers import COUNT_MAX, DURATION_MAX, later, power_of_two, seconds_down

RETRY = "retry"
BUDGET_EXHAUSTED = "attempt_budget_exhausted"


def operator_retries(workload: Workload) -> int:
    """How many times an operator re-armed the work, counted in its history."""
    return sum(event.evidence.get("retry") == "operator" for event in workload.execution_history)


def attempt_budget(workload: Workload) -> int:
    """How many attempts the work has in all: those of its policy and one for each re-arm."""
    return min(workload.retry_policy.max_attempts + operator_retries(workload), COUNT_MAX)


def budget_is_spent(workload: Workload) -> bool:
    return workload.attempt_count >= attempt_budget(workload)


def attempts_evidence(workload: Workload) -> dict[str, str]:
    return {"attempts_used": str(workload.attempt_count), "attempt_budget": str(attempt_budget(workload))}


def retried_after_initial_delay(workload: Workload, now_s: int) -> Workload:
    """Count a retry and wait the initial delay: neither exponential nor capped (WRK-EDL-07, WRK-TMO-04)."""
    return changed(
        workload,
        retry_count=workload.retry_count + 1,
        next_attempt_at=later(now_s, seconds_down(workload.retry_policy.initial_delay_ms)),
    )


def retried_after_backoff(workload: Workload, now_s: int) -> Workload:
    """Count a retry and wait as the policy says: fixed, or doubled with each retry, at most ``max_delay_ms``
    (WRK-FAL-10, G-22: the first retry waits the initial delay)."""
    policy = workload.retry_policy
    retry_count = workload.retry_count + 1
    multiplier = power_of_two(retry_count - 1) if policy.backoff == "exponential" else 1
    delay_ms = min(policy.initial_delay_ms * multiplier, DURATION_MAX, policy.max_delay_ms)
    return changed(workload, retry_count=retry_count, next_attempt_at=later(now_s, seconds_down(delay_ms)))
