"""Admission: tokens, policies one after the other, and the order in which rows come out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from workcert.faults.changes import with_check, with_effect, with_operation
from workcert.faults.field.model import Seen, Tier, by_rule
from workspec.core.record import Record, replaced
from workspec.core.rule import Effect, When, ids
from workspec.core.scope import Scope
from workspec.jobs import buckets, terms
from workspec.jobs.draw import candidates, fair_draw, requested_queues
from workspec.jobs.facts import JobFacts, bucket_key, job_key

WINDOW: Final = 100
"""The rows that a store looks at in one draw."""

_HAS_BUCKET: Final = ~terms.tokens.is_(None)

_TAKES_WHAT_IS_THERE: Final = Effect(
    "the rest is taken",
    ids("JOB-GEN-11 JOB-RATE-01"),
    ("tokens",),
    "no token is left",
    lambda scope: {"tokens": min(scope.facts.tokens, 0)},
    lambda scope: bucket_key(scope.facts.rate_class),
)


def _among_the_first(scope: Scope) -> Iterator[str]:
    """The right order, of those rows alone that a query with a limit gives."""
    queues = [queue for queue in requested_queues(scope) if not terms.is_paused(scope, queue)]
    found = [facts for queue in queues for rows in candidates(scope, queue).values() for facts in rows]
    found.sort(key=lambda facts: (-facts.priority, facts.scheduled_at_ms, facts.row))
    window = {job_key(facts.id) for facts in found[:WINDOW]}
    return (key for key in fair_draw(scope) if key in window)


def _first_come_first(scope: Scope) -> Iterator[str]:
    """The right order, as if whatever has waited for a time of its own had no priority."""
    plain = evolve(scope, state={key: _plain(record) for key, record in scope.state.items()})
    for key in fair_draw(plain):
        yield key
        plain.index = scope.index


def _plain(record: Record) -> Record:
    facts = record.facts
    if not isinstance(facts, JobFacts) or facts.scheduled_at_ms <= facts.enqueued_at_ms:
        return record
    return evolve(record, facts=replaced(facts, {"priority": 0}))


JOBS: Final = (
    Seen(
        "a quarantined candidate is charged to its class",
        "JOB-GEN-11 JOB-ADM-05 JOB-QUA-03 JOB-ADM-09",
        "admit",
        Tier.CLOCK,
        "Tokens are taken when candidates are fetched, and what a later check drops is not paid back.",
        by_rule(with_check("JOB-QUA-03", "admit", committing=(When(_HAS_BUCKET, (buckets.refill, buckets.charge)),))),
    ),
    Seen(
        "the idle time of a full bucket is paid out once more",
        "JOB-RATE-05 JOB-RATE-06",
        "admit",
        Tier.CLOCK,
        "A refill that adds nothing returns early, before it stamps the instant.",
        by_rule(
            with_effect(buckets.refill, lambda scope, done: {} if scope.facts.tokens >= scope.facts.burst else done)
        ),
    ),
    Seen(
        "a candidate that is too dear takes what is there",
        "JOB-GEN-11 JOB-RATE-01 JOB-RATE-03 JOB-RATE-07 JOB-ADM-09",
        "admit",
        Tier.ONE_CALLER,
        "Tokens are taken first and counted afterwards, and a candidate that is left out does not give them back.",
        by_rule(with_check("JOB-RATE-01", "admit", committing=(buckets.refill, _TAKES_WHAT_IS_THERE))),
    ),
    Seen(
        "a flood fills what a draw looks at",
        "JOB-FAIR-02 JOB-FAIR-01 JOB-FAIR-03 JOB-STK-03 JOB-ADM-13",
        "admit",
        Tier.VOLUME,
        "Fairness is sorted out in memory, among the first rows of a query that has a limit.",
        by_rule(with_operation("admit", order=_among_the_first)),
    ),
    Seen(
        "work that has waited for its time has no priority any more",
        "JOB-ADM-11 JOB-ADM-12 JOB-PRM-02",
        "admit",
        Tier.CLOCK,
        "Waiting work is kept in a place of its own, and is put into the queue without what orders it there.",
        by_rule(with_operation("admit", order=_first_come_first)),
    ),
    Seen(
        "a job of a limited class is not asked for its fingerprint",
        "JOB-ADM-05 JOB-QUA-03",
        "admit",
        Tier.CLOCK,
        "Each policy has a path of its own, and the first that lets a job through answers for all.",
        by_rule(with_check("JOB-QUA-03", "admit", when=terms.quarantined_fingerprint & ~_HAS_BUCKET)),
    ),
)
