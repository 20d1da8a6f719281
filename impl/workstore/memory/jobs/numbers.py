"""Integers of the contract: what fits where, and sums that stay within signed 64 bits."""

from __future__ import annotations

I64_MIN, I64_MAX = -(2**63), 2**63 - 1
I32_MIN, I32_MAX = -(2**31), 2**31 - 1
U32_MAX = 2**32 - 1

MINUTE_MS = 60_000


def plus(left: int, right: int) -> int:
    """The sum; it saturates where 64 bits end, as an instant in a far future must not become one in the past."""
    return max(I64_MIN, min(I64_MAX, left + right))


def minute_of(now_ms: int) -> int:
    """The start of the minute that an instant is in (JOB-ENQ-17)."""
    return now_ms // MINUTE_MS * MINUTE_MS
