"""Token buckets of rate classes (6.5): pure arithmetic."""

from __future__ import annotations

from workstore.memory.carriers import changed
from workstore.memory.jobs.numbers import I64_MAX, plus
from workstore.memory.jobs.refusals import invalid
from workstore.memory.jobs.rows import Bucket


def gain(bucket: Bucket, now_ms: int) -> int:
    """Tokens gained since the last refill, rounded down; none while paused (P-03)."""
    if bucket.paused or bucket.limit <= 0 or bucket.window_ms <= 0 or now_ms <= bucket.refilled_at_ms:
        return 0
    return (now_ms - bucket.refilled_at_ms) * bucket.limit // bucket.window_ms


def available_tokens(bucket: Bucket, now_ms: int) -> int:
    """JOB-RATE-17."""
    return min(bucket.burst, bucket.tokens + gain(bucket, now_ms))


def refilled(bucket: Bucket, now_ms: int) -> Bucket:
    """The bucket as an admission finds it. The fraction of a token is kept while nothing is gained, else dropped
    (JOB-RATE-05)."""
    if gain(bucket, now_ms) <= 0:
        return bucket
    return changed(bucket, tokens=available_tokens(bucket, now_ms), refilled_at_ms=now_ms)


def charged(bucket: Bucket, cost: int) -> Bucket:
    return changed(bucket, tokens=plus(bucket.tokens, -cost))


def settled(bucket: Bucket, charge: int, actual_weight: int, now_ms: int) -> Bucket:
    """Give the charge back and take what the run really cost; always restamped (JOB-RATE-05, JOB-RATE-10)."""
    tokens = plus(available_tokens(bucket, now_ms), charge - actual_weight)
    return changed(bucket, tokens=min(bucket.burst, tokens), refilled_at_ms=now_ms)


def reset(limit: int, window_ms: int, burst: int, now_ms: int) -> Bucket:
    """A full bucket, whatever there was (JOB-RATE-15)."""
    return Bucket(tokens=burst, burst=burst, limit=limit, window_ms=window_ms, refilled_at_ms=now_ms)


def check_rate_class(limit: int, window_ms: int, burst: int) -> None:
    """
    Raises:
        JobError: Invalid (``bad_rate_class``) (JOB-RATE-16).
    """
    if not (0 <= limit <= I64_MAX and 1 <= window_ms <= I64_MAX and 1 <= burst <= I64_MAX):
        raise invalid("bad_rate_class", "a rate class needs limit >= 0, window_ms >= 1, burst >= 1, of 64 bits each")


def configured(bucket: Bucket | None, limit: int, window_ms: int, burst: int, paused: bool, now_ms: int) -> Bucket:
    """An operator's configuration gives no tokens away (JOB-RATE-16); a pause keeps a debt (P-03)."""
    tokens = burst if bucket is None else min(bucket.tokens, burst)
    if paused:
        tokens = min(tokens, 0)
    return Bucket(tokens, burst, limit, window_ms, now_ms, paused)
