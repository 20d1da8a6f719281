"""The arithmetic of rate classes, with examples that the rules compute (6.5)."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

from attrs import evolve

from workspec.core.contract import Contract, steps_of
from workspec.core.rule import (
    Effect,
    walk_steps,
)
from workspec.jobs import buckets, rules, terms
from workspec.jobs.facts import BucketFacts
from workspec.jobs.operations.admission import ADMIT
from workspec.render.jobs.matrix import BUCKETS, RECORDS, _operation_link, effects_of
from workspec.render.markdown import codes, links, plain, table
from workspec.render.operations import when_text

RATE_FORMULAS: Final = (
    (
        "gain",
        "0 if limit <= 0, window <= 0, the class is paused or now <= refilled_at; else floor((now - refilled_at) * "
        "limit / window)",
        "JOB-RATE-05 JOB-PRT-03",
    ),
    ("cost", "the weight of the row, at least 1", "JOB-RATE-01"),
    (
        "passes",
        "the class has no bucket, or it is not paused and cost <= min(burst, tokens + gain)",
        "JOB-RATE-01 JOB-RATE-02 JOB-PRT-03",
    ),
    (
        "refill",
        "if gain > 0: tokens = min(burst, tokens + gain), refilled_at = now; else both stay",
        "JOB-RATE-05 JOB-RATE-06",
    ),
    ("charge", "tokens = tokens - cost; the row notes the cost, or 0 if its class has no bucket", "JOB-RATE-04"),
    (
        "settlement",
        "tokens = min(burst, min(burst, tokens + gain) + charge - actual), refilled_at = now, charge = 0",
        "JOB-RATE-08",
    ),
    ("shown to operators", "min(burst, tokens + gain), and nothing is written", "JOB-RATE-17"),
)
"""Functions cannot print themselves; the examples below these are computed by the rules."""

START_MS: Final = 10_000
POLLS_MS: Final = (0, 500, 999, 1_000, 1_999, 2_000)
"""Polls for one job of cost 1 each, after `START_MS`."""
SETTLEMENTS: Final = ((0, 0, 5, 3, 1), (1, 0, 5, 2, 4), (0, 0, 3, 3, 0), (4, 0, 5, 3, 0), (-2, 4, 5, 1, 1))
"""Tokens, gain, burst, charge, actual weight."""


def _bucket(tokens: int, burst: int, *, limit: int, window_ms: int, refilled_at_ms: int = START_MS) -> BucketFacts:
    return BucketFacts("r", limit, window_ms, burst, tokens, refilled_at_ms, paused=False)


def settled(tokens: int, gain: int, burst: int, charge: int, actual: int) -> int:
    """What the effect of the settlement makes of the tokens; one token is gained in each millisecond."""
    scope: Any = SimpleNamespace(
        facts=_bucket(tokens, burst, limit=1, window_ms=1),
        facts_of=lambda _key: SimpleNamespace(charge=charge),
        call={"lease": SimpleNamespace(job_id=""), "actual_weight": actual},
        element=None,
        now=START_MS + gain,
    )
    return int(buckets.settle_bucket(scope)["tokens"])


def polled(limit: int = 1, window_ms: int = 1_000) -> Iterator[tuple[int, int, bool, BucketFacts]]:
    """Instant, gain, whether a job of cost 1 is admitted, and the bucket after it, which begins with one token."""
    bucket = _bucket(1, 1, limit=limit, window_ms=window_ms)
    for after_ms in POLLS_MS:
        now_ms = START_MS + after_ms
        gain = rules.gain(now_ms, bucket.limit, bucket.window_ms, bucket.refilled_at_ms)
        scope: Any = SimpleNamespace(now=now_ms)
        bucket = evolve(bucket, **buckets.refilled(scope, bucket))
        admitted = bucket.tokens >= 1
        bucket = evolve(bucket, tokens=bucket.tokens - admitted)
        yield now_ms, gain, admitted, bucket


def rate_blocks(contract: Contract) -> tuple[str, ...]:
    return (
        "One bucket for each class and the whole fleet. All numbers are integers, times are milliseconds; tokens may "
        f"be negative. {links(('JOB-RATE-03', 'JOB-RATE-10', 'JOB-GEN-04'))}",
        "## Formulas",
        table(
            ("name", "what it is", "requirements"),
            [(name, plain(text), links(identifiers.split())) for name, text, identifiers in RATE_FORMULAS],
        ),
        "## When a candidate is passed over",
        table(
            ("operation", "when", "requirements"),
            [
                (_operation_link(ADMIT.name), when_text(check.when), links(check.requirements))
                for check in ADMIT.gate
                if check.when is terms.too_dear
            ],
        ),
        "A row that is passed over keeps its state and is charged nothing; what its class has gained is credited all "
        f"the same. {links(('JOB-GEN-11', 'JOB-RATE-05', 'JOB-RATE-07'))}",
        "## Refill",
        "Limit 1, window 1,000 ms, burst 1, one token at first; at each instant a job of cost 1 waits. A gain of 0 "
        "keeps the instant of the refill, and so the fraction that has been gained; a store that stamps it at every "
        f"poll admits nothing at {START_MS + 1_000:,}. {links(('JOB-RATE-05', 'JOB-RATE-06'))}",
        table(
            ("now", "gain", "admitted", "tokens after it", "refilled at", "requirements"),
            [
                (
                    f"{now_ms:,} ms",
                    str(gain),
                    "yes" if admitted else "no",
                    str(bucket.tokens),
                    f"{bucket.refilled_at_ms:,} ms",
                    links(("JOB-RATE-01", "JOB-RATE-05")),
                )
                for now_ms, gain, admitted, bucket in polled()
            ],
        ),
        "## Settlement",
        "Only where an actual weight is given, the charge is above 0 and the bucket exists; by every outcome of an "
        f"ack, and once. {links(('JOB-RATE-08', 'JOB-RATE-09', 'JOB-RATE-11', 'JOB-RATE-12', 'JOB-RATE-14'))}",
        table(
            ("tokens", "gain", "burst", "charge", "actual", "tokens after it", "requirements"),
            [
                (*map(str, numbers), str(settled(*numbers)), links(("JOB-RATE-06", "JOB-RATE-08", "JOB-RATE-10")))
                for numbers in SETTLEMENTS
            ],
        ),
        "Reclaim, an operator's cancellation and an ack without an actual weight give nothing back. "
        f"{links(('JOB-RATE-13',))}",
        "## What is written",
        table(
            ("effect", "by", "writes", "of", "what it does", "requirements"),
            [
                (
                    plain(effect.name),
                    ", ".join(_operation_link(name) for name in _takers(contract, effect)),
                    "all" if "*" in effect.writes else codes(effect.writes),
                    plain(RECORDS.get(effect.name, "the row")),
                    plain(effect.text),
                    links(effect.requirements),
                )
                for effect in effects_of(contract)
                if effect.name in BUCKETS or "charge" in effect.writes
            ],
        ),
    )


def _takers(contract: Contract, wanted: Effect) -> tuple[str, ...]:
    return tuple(
        operation.name
        for operation in contract.operations
        if any(step is wanted for step in walk_steps(steps_of(operation)))
    )
