"""Signed 64-bit instants in seconds, durations in milliseconds, and what happens at their ends.

Deadlines and leases round up, so that none is shorter than asked for; delays round down (WRK, section 6).
"""

from __future__ import annotations

INSTANT_MIN = -(2**63)
INSTANT_MAX = 2**63 - 1
DURATION_MAX = 2**64 - 1
COUNT_MAX = 2**32 - 1


def later(instant_s: int, seconds: int) -> int:
    """The instant so many seconds later; it stays at the end of 64 bits where the sum would leave them
    (G-28)."""
    return max(INSTANT_MIN, min(instant_s + seconds, INSTANT_MAX))


def seconds_up(milliseconds: int) -> int:
    """Whole seconds, rounded up: 1 ms is a second. For deadlines and leases (G-11)."""
    return -(-milliseconds // 1000)


def seconds_down(milliseconds: int) -> int:
    """Whole seconds, rounded down: 999 ms is no delay at all. For back-off."""
    return milliseconds // 1000


def power_of_two(exponent: int) -> int:
    """2 to this power, or the largest unsigned 64-bit number. The bound is tested first: an injected record
    may hold any exponent, and the power itself would not fit into memory."""
    return 1 << exponent if 0 <= exponent < 64 else (1 if exponent < 0 else DURATION_MAX)
