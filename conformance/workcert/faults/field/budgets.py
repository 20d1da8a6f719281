"""Attempts, crashes and back-off: what is counted, how often, and how long work waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workcert.faults.changes import after_effect, with_effect, with_relation, with_term, without_effect
from workcert.faults.field.model import Seen, Tier, by_rule
from workspec.core.scope import Scope
from workspec.jobs import effects as job_effects
from workspec.jobs.choices import RETRY_BASE_MS, RETRY_CAP_MS
from workspec.workload import effects, terms
from workspec.workload.rules import delayed_instant, failure_delay_ms


def _cut(value: int, bits: int) -> int:
    """What a signed integer of so many bits holds of a value."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def _overflowing(scope: Scope, done: Mapping[str, Any]) -> Mapping[str, Any]:
    policy = scope.facts.terms.retry_policy
    if policy.backoff != "exponential":
        return done
    product = _cut(policy.initial_delay_ms * 2 ** min(scope.facts.retry_count - 1, 64), 64)
    return {**done, "next_attempt_at": delayed_instant(scope.now, min(product, policy.max_delay_ms))}


def _job_overflowing(scope: Scope, done: Mapping[str, Any]) -> Mapping[str, Any]:
    delay_ms = scope.call["delay_ms"]
    if delay_ms is not None and delay_ms > 0:
        return done
    product = _cut(scope.choose(RETRY_BASE_MS, scope) << min(scope.facts.attempt - 1, 64), 32)
    return {**done, "scheduled_at_ms": scope.now + min(product, scope.choose(RETRY_CAP_MS, scope))}


def _backed_off(scope: Scope) -> int:
    facts = scope.facts
    return delayed_instant(scope.now, failure_delay_ms(facts.terms.retry_policy, facts.retry_count + 1, 0))


WORKLOAD: Final = (
    Seen(
        "work runs once more than its budget",
        "WRK-CLM-03 WRK-DEC-03 WRK-DEC-07 WRK-DEC-10 WRK-ART-05 WRK-TMO-04",
        "",
        Tier.ONE_CALLER,
        "The count is compared before the attempt is added to it in one place and after it in another.",
        by_rule(with_relation("attempt_count >= attempt_budget", ">")),
    ),
    Seen(
        "an operator's retry leaves the budget as it was",
        "WRK-RTY-05 WRK-RTY-03",
        "",
        Tier.ONE_CALLER,
        "The retry sets the state alone, and the count that ended the work is still at its limit.",
        by_rule(with_term(terms.attempt_budget, lambda scope: int(scope.facts.terms.retry_policy.max_attempts))),
    ),
    Seen(
        "a lost lease counts as a failure and waits like one",
        "WRK-REC-04 WRK-ART-04 WRK-REC-02",
        "recover_expired",
        Tier.CLOCK,
        "Recovery ends the attempt by the same procedure as a failure report.",
        by_rule(
            after_effect(
                effects.end_lost,
                retry_count=lambda scope: scope.facts.retry_count + 1,
                next_attempt_at=_backed_off,
            )
        ),
    ),
    Seen(
        "back-off overflows into the past",
        "WRK-ART-02",
        "fail",
        Tier.ONE_CALLER,
        "The delay is doubled in a machine integer before it is compared with its cap.",
        by_rule(with_effect(effects.back_off, _overflowing)),
    ),
)
JOBS: Final = (
    Seen(
        "a job runs once more than its attempts",
        "JOB-ACK-06 JOB-TRN-12",
        "ack retry",
        Tier.ONE_CALLER,
        "The first run is counted as none, because the count goes up only after it was compared.",
        by_rule(with_relation("attempts after this < max attempts", "<=")),
    ),
    Seen(
        "a snooze uses up an attempt",
        "JOB-ACK-12 JOB-GEN-08",
        "ack snooze",
        Tier.ONE_CALLER,
        "Every end of a run that is no success goes through one update, which counts.",
        by_rule(after_effect(job_effects.snooze, attempt=lambda scope: scope.facts.attempt + 1)),
    ),
    Seen(
        "an operator's retry sets the counters back",
        "JOB-OPR-04 JOB-OPR-06 JOB-GEN-08",
        "operator_retry",
        Tier.ONE_CALLER,
        "The job is put back as if it were new, so that it will not be finished off at once.",
        by_rule(
            after_effect(
                job_effects.due_now, "operator_retry", attempt=lambda _scope: 0, crash_attempt=lambda _scope: 0
            )
        ),
    ),
    Seen(
        "a lost lease uses up an attempt",
        "JOB-RCL-02 JOB-GEN-08",
        "reclaim_expired",
        Tier.CLOCK,
        "The sweep ends the run by the same procedure as a handler's failure.",
        by_rule(after_effect(job_effects.count_crash, attempt=lambda scope: scope.facts.attempt + 1)),
    ),
    Seen(
        "a reclaimed job keeps its place at the head",
        "JOB-RCL-03 JOB-ADM-12",
        "reclaim_expired",
        Tier.CLOCK,
        "What a lost worker held is pushed back to the end of the list from which work is taken.",
        by_rule(without_effect(job_effects.back_off_crash)),
    ),
    Seen(
        "the last crash parks one job and tells of no fingerprint",
        "JOB-RCL-03 JOB-QUA-01 JOB-QUA-03 JOB-ENQ-09 JOB-ADM-05 JOB-ADM-09 JOB-UNQ-26",
        "reclaim_expired",
        Tier.CLOCK,
        "Quarantine is a state of a row, and nothing that admits or enqueues looks beyond its own row.",
        by_rule(without_effect(job_effects.register_fingerprint)),
    ),
    Seen(
        "back-off overflows into the past",
        "JOB-ACK-08 JOB-ACK-07",
        "ack retry",
        Tier.ONE_CALLER,
        "The base is shifted in a machine integer, and the count of doublings has no bound.",
        by_rule(with_effect(job_effects.back_off, _job_overflowing)),
    ),
)
