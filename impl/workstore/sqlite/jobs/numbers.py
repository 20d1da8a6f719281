"""Integers within the ranges of the contract; sums saturate."""

from __future__ import annotations

from typing import Final

LEAST_INSTANT: Final = -(2**63)
GREATEST_INSTANT: Final = 2**63 - 1
GREATEST_COUNT: Final = 2**32 - 1
LEAST_PRIORITY: Final = -(2**31)
GREATEST_PRIORITY: Final = 2**31 - 1


def within_instants(value: int) -> int:
    """The nearest number that a signed integer of 64 bits can hold."""
    return max(LEAST_INSTANT, min(value, GREATEST_INSTANT))


def counted(value: int) -> int:
    """The nearest count at most ``value``."""
    return min(value, GREATEST_COUNT)


def backoff_ms(base_ms: int, cap_ms: int, ordinal: int) -> int:
    """The delay before the run after the ``ordinal``-th failure, which counts from 1 (JOB-ACK-08)."""
    return min(base_ms << min(max(ordinal, 1) - 1, 20), cap_ms)
