"""Seconds out of milliseconds, and sums that stay within signed 64 bits (section 6)."""

from __future__ import annotations

from typing import Final

from workspec.workload.vocabulary import RetryPolicy

LEAST_INTEGER: Final = -(2**63)
GREATEST_INTEGER: Final = 2**63 - 1
GREATEST_UNSIGNED: Final = 2**64 - 1
GREATEST_COUNT: Final = 2**32 - 1


def later(instant_s: int, seconds: int) -> int:
    """The instant ``seconds`` after ``instant_s``, at most the greatest instant there is."""
    return min(instant_s + seconds, GREATEST_INTEGER)


def seconds_rounded_up(duration_ms: int) -> int:
    """Whole seconds that last at least ``duration_ms``: deadlines and leases are never shorter than asked."""
    return -(-duration_ms // 1000)


def seconds_rounded_down(duration_ms: int) -> int:
    """Whole seconds that last at most ``duration_ms``: a delay below one second is none."""
    return duration_ms // 1000


def failure_delay_ms(policy: RetryPolicy, retry_count: int) -> int:
    """The back-off before the retry with this ordinal, which counts from 1 (G-22)."""
    if policy.backoff == "fixed":
        return min(policy.initial_delay_ms, policy.max_delay_ms)
    # 2**64 already saturates any delay but zero: no need to build a power with millions of digits.
    multiplier: int = 2 ** min(max(retry_count - 1, 0), 64)
    return min(policy.initial_delay_ms * multiplier, GREATEST_UNSIGNED, policy.max_delay_ms)
