"""The effects on token buckets (6.5): what an admission charges, what an ack settles, what operators set."""

from __future__ import annotations

from typing import Any, Final

from workspec.core.rule import Effect, effect, ids
from workspec.core.scope import Scope
from workspec.jobs import terms
from workspec.jobs.effects import Changes, effect_on
from workspec.jobs.facts import BucketFacts, bucket_key, job_key


def _bucket_key(scope: Scope) -> str:
    return bucket_key(scope.facts.rate_class)


def refilled(scope: Scope, bucket: BucketFacts) -> dict[str, Any]:
    """A positive gain is credited and the fraction dropped; else all stays as it is (JOB-RATE-05)."""
    if terms.gained(scope, bucket) <= 0:
        return {}
    return {"tokens": terms.tokens_of(scope, bucket), "refilled_at_ms": scope.now}


@effect_on(_bucket_key, "JOB-RATE-05 JOB-RATE-06", writes="tokens refilled_at_ms", text="what was gained is credited")
def refill(scope: Scope) -> Changes:
    return refilled(scope, scope.facts)


def charge_bucket(scope: Scope) -> Changes:
    bucket: BucketFacts = scope.facts
    cost: int = scope.facts_of(scope.element).weight
    return {"tokens": bucket.tokens - cost}


charge: Final = Effect(
    "charge bucket",
    ids("JOB-RATE-01 JOB-RATE-03"),
    ("tokens",),
    "the cost is taken from the bucket of the class",
    charge_bucket,
    _bucket_key,
)


@effect("JOB-RATE-04", writes="charge", text="what was charged, 0 where the class has no bucket")
def note_charge(scope: Scope) -> Changes:
    return {"charge": scope.facts.weight if terms.bucket_of(scope) is not None else 0}


def settle_bucket(scope: Scope) -> Changes:
    bucket: BucketFacts = scope.facts
    held: int = scope.facts_of(job_key(terms.lease_of(scope).job_id)).charge
    tokens = min(bucket.burst, terms.tokens_of(scope, bucket) + held - scope.call["actual_weight"])
    return {"tokens": tokens, "refilled_at_ms": scope.now}


settle: Final = Effect(
    "settle",
    ids("JOB-RATE-08 JOB-RATE-09 JOB-RATE-10 JOB-RATE-14"),
    ("tokens", "refilled_at_ms"),
    "the bucket gets the difference of charge and actual weight",
    settle_bucket,
    _bucket_key,
)


@effect("JOB-RATE-08", writes="charge", text="a charge is settled once")
def clear_charge(_scope: Scope) -> Changes:
    return {"charge": 0}


@effect("JOB-RATE-15", writes="*", text="a full bucket, refilled now")
def reset_bucket(scope: Scope) -> Changes:
    call = scope.call
    return {
        "*": BucketFacts(
            call["name"], call["limit"], call["window_ms"], call["burst"], call["burst"], scope.now, paused=False
        )
    }


@effect("JOB-RATE-16", writes="*", text="the class as configured; no token is given away")
def configure_bucket(scope: Scope) -> Changes:
    call = scope.call
    before: BucketFacts | None = scope.facts
    tokens: int = call["burst"] if before is None else min(before.tokens, call["burst"])
    if call["paused"]:
        tokens = min(tokens, 0)
    return {
        "*": BucketFacts(
            call["name"], call["limit"], call["window_ms"], call["burst"], tokens, scope.now, paused=call["paused"]
        )
    }
