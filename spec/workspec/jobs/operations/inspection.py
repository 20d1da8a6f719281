"""Reads for operators: rows, lists, counts, statistics, explanations (JOB-INS)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import evolve

from workspec.core.condition import Term
from workspec.core.rule import DecisionTable, Operation, Refuse, TableRow, ids
from workspec.core.scope import Scope
from workspec.jobs import rules, terms
from workspec.jobs.choices import SAMPLED_KINDS
from workspec.jobs.facts import STORE_KEY, UNFINISHED, BucketFacts, JobFacts, QueueFacts, bucket_key, present
from workspec.jobs.operations.shared import NO_SUCH_JOB, invalid, of_job
from workspec.jobs.vocabulary import (
    AdmissionExplanation,
    Blocker,
    Job,
    JobCounts,
    JobFilter,
    JobPage,
    QueueStats,
    RateClass,
    State,
)

MOST_ON_A_PAGE: Final = 200
Records = Mapping[str, Any]


def _read(
    name: str,
    requirements: str,
    answer: Callable[[Scope, Records], Any],
    locate: Callable[[Scope], str] = lambda _scope: STORE_KEY,
    checks: tuple[Refuse, ...] = (),
    tells: tuple[Term, ...] = (),
) -> Operation:
    return Operation(name, checks, (), answer, locate, ids(requirements), tells=tells)


def _rows(state: Records) -> list[Any]:
    found = [record for record in state.values() if isinstance(record.facts, JobFacts)]
    return sorted(found, key=lambda record: record.facts.id.encode())


def without_payload(job: Job) -> Job:
    return evolve(job, payload=None, headers=None)


def _job(scope: Scope, after: Records) -> Job | None:
    record = after.get(scope.key or "")
    if record is None:
        return None
    job = present(record)
    return job if scope.call["include_payload"] else without_payload(job)


def _matches(where: JobFilter, facts: JobFacts) -> bool:
    exact = ("queue", "state", "kind", "partition_key", "id", "fingerprint", "rate_class", "priority")
    return (
        all(getattr(where, name) in (None, getattr(facts, name)) for name in exact)
        and (where.kind_prefix is None or facts.kind.startswith(where.kind_prefix))
        and set(where.tags_all) <= set(facts.tags)
        and (not where.tags_any or bool(set(where.tags_any) & set(facts.tags)))
    )


def _page(scope: Scope, after: Records) -> JobPage:
    """The model's cursor is the last id of the page before; a store's own is opaque."""
    cursor, limit = scope.call["cursor"], scope.call["limit"]
    found = [record for record in _rows(after) if _matches(scope.call["where"], record.facts)]
    rest = [r for r in found if cursor is None or r.facts.id.encode() > str(cursor).encode()]
    shown = tuple(without_payload(present(record)) for record in rest[:limit])
    return JobPage(shown, shown[-1].id if len(rest) > limit else None)


def _counts(scope: Scope, after: Records) -> JobCounts:
    wanted = scope.call["queue"]
    states = Counter(str(r.facts.state) for r in _rows(after) if wanted in (None, r.facts.queue))
    return JobCounts(dict(states), approximate=False)


def _stats(scope: Scope, after: Records) -> list[QueueStats]:
    rows = [record.facts for record in _rows(after)]
    settings = {r.facts.queue: r.facts for r in after.values() if isinstance(r.facts, QueueFacts)}
    names = sorted({row.queue for row in rows} | settings.keys(), key=str.encode)
    return [
        _queue(scope, name, [row for row in rows if row.queue == name], settings.get(name, QueueFacts(name)))
        for name in names
    ]


def _queue(scope: Scope, name: str, rows: list[JobFacts], settings: QueueFacts) -> QueueStats:
    due = [r.scheduled_at_ms for r in rows if r.state == "available" and r.scheduled_at_ms <= scope.now]
    return QueueStats(
        queue=name,
        paused=settings.paused,
        unfinished_jobs=sum(row.state in UNFINISHED for row in rows),
        max_unfinished_jobs=settings.limit,
        by_state=dict(Counter(str(row.state) for row in rows)),
        oldest_available_ms=rules.age_ms(scope.now, min(due)) if due else None,
        arrived_last_minute=0,
        completed_last_minute=0,
        time_to_drain_ms=None,
    )


_IS_AVAILABLE: Final = terms.state_is("available")
BLOCKER: Final = DecisionTable(
    "blocker",
    "policy",
    (
        TableRow(ids("JOB-INS-07"), terms.state_is("scheduled", "retryable"), "schedule"),
        TableRow(ids("JOB-INS-07"), terms.state_is("quarantined"), "quarantine"),
        TableRow(ids("JOB-INS-07"), _IS_AVAILABLE & terms.paused_queue, "queue_paused"),
        TableRow(ids("JOB-INS-07"), _IS_AVAILABLE & (terms.due > terms.NOW), "schedule"),
        TableRow(ids("JOB-INS-07"), _IS_AVAILABLE & terms.quarantined_fingerprint, "quarantine"),
        TableRow(ids("JOB-INS-07 JOB-PRT-03"), _IS_AVAILABLE & terms.too_dear, "rate_class"),
    ),
    order=ids("JOB-INS-07"),
)
"""The first policy that stands against a row."""


def _explained(scope: Scope, _after: Records) -> AdmissionExplanation:
    facts: JobFacts = scope.facts
    policy = scope.settled[BLOCKER.name]
    blocker = None if policy is None else Blocker(policy, _eta_ms(scope, policy))
    # What has ended is blocked by no policy, and is not admitted all the same.
    admissible = blocker is None and facts.state in ("available", "running")
    return AdmissionExplanation(facts.id, State(facts.state), admissible, blocker)


def _eta_ms(scope: Scope, policy: str) -> int | None:
    facts: JobFacts = scope.facts
    if policy == "schedule":
        return max(facts.scheduled_at_ms - scope.now, 0)
    bucket: BucketFacts | None = terms.bucket_of(scope) if policy == "rate_class" else None
    if bucket is None or bucket.paused:
        return None
    return rules.rate_eta_ms(facts.weight, terms.tokens_of(scope, bucket), bucket.limit, bucket.window_ms)


def _rate_class(scope: Scope, after: Records) -> RateClass | None:
    record = after.get(scope.key or "")
    if record is None:
        return None
    bucket: BucketFacts = record.facts
    return RateClass(
        bucket.name, bucket.limit, bucket.window_ms, bucket.burst, bucket.paused, terms.tokens_of(scope, bucket)
    )


_page_limit: Final = terms.argument("limit", "rows")
OPERATIONS: Final = (
    _read("get_job", "JOB-INS-01 JOB-INS-02 JOB-INS-03", _job, of_job),
    _read(
        "list_jobs",
        "JOB-INS-04",
        _page,
        checks=(
            invalid("JOB-INS-04 JOB-PRT-01", "bad_page_limit", (_page_limit < 1) | (_page_limit > MOST_ON_A_PAGE)),
        ),
    ),
    _read("counts", "JOB-INS-05 JOB-INV-10", _counts),
    _read("queue_stats", "JOB-INS-06 JOB-BPR-11 JOB-BPR-12 JOB-PRT-11 JOB-PRT-13 JOB-INV-05", _stats),
    _read("explain_admission", "JOB-INS-07 JOB-PRT-03", _explained, of_job, (NO_SUCH_JOB,), (BLOCKER.term,)),
    _read(
        "distinct_kinds",
        "JOB-INS-08",
        lambda scope, _after: scope.choose(SAMPLED_KINDS, scope),
    ),
    _read("get_rate_class", "JOB-RATE-17", _rate_class, lambda scope: bucket_key(scope.call["name"])),
)
