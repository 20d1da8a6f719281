"""What operators read (section 10). Nothing here writes."""

from __future__ import annotations

from bisect import bisect_right

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
from workstore.memory.jobs import buckets
from workstore.memory.jobs.numbers import I64_MAX, MINUTE_MS, minute_of
from workstore.memory.jobs.refusals import invalid, job_not_found
from workstore.memory.jobs.rows import WAITING, WAITING_FOR_DUE_TIME, Flow, Row, effective_weight
from workstore.memory.jobs.tables import Tables

PAGE_MAX = 200


def job_of(row: Row, include_payload: bool) -> Job:
    """JOB-INS-01..03."""
    envelope = row.envelope
    # By position, in the order of the vocabulary: by name it takes twice as long.
    return Job(
        envelope.id,
        envelope.kind,
        envelope.queue,
        row.state,
        envelope.schema_version,
        envelope.priority,
        envelope.attempt,
        envelope.crash_attempt,
        envelope.max_attempts,
        envelope.partition_key,
        envelope.rate_class,
        envelope.sticky_worker,
        envelope.weight,
        envelope.fingerprint,
        row.enqueued_at_ms,
        envelope.scheduled_at_ms,
        row.lease.claimed_at_ms if row.lease is not None else None,
        row.lease.expires_at_ms if row.lease is not None else None,
        row.finalized_at_ms,
        envelope.retention_ms,
        envelope.timeout_ms,
        envelope.deadline_ms,
        envelope.periodic_schedule_id,
        envelope.periodic_tick_ms,
        envelope.crash_attempt > 0,
        envelope.payload if include_payload else None,
        dict(envelope.headers) if include_payload else None,
        row.history,
        envelope.tags,
    )


def check_page_limit(limit: int) -> None:
    """
    Raises:
        JobError: Invalid (``bad_page_limit``) (JOB-INS-04).
    """
    if not 1 <= limit <= PAGE_MAX:
        raise invalid("bad_page_limit", f"a page has 1 to {PAGE_MAX} jobs")


def list_jobs(tables: Tables, where: JobFilter, cursor: str | None, limit: int) -> JobPage:
    """A page by id. The cursor is the last id of the page before; it need not exist any more."""
    ids = tables.index.ids
    start = 0 if cursor is None else bisect_right(ids, cursor)
    jobs: list[Job] = []
    for job_id in ids[start:] if start else ids:
        row = tables.jobs[job_id]
        if not _matches(row, where):
            continue
        if len(jobs) == limit:
            return JobPage(jobs=tuple(jobs), cursor=jobs[-1].id)
        jobs.append(job_of(row, include_payload=False))
    return JobPage(jobs=tuple(jobs), cursor=None)


def _matches(row: Row, where: JobFilter) -> bool:
    envelope = row.envelope
    asked = (
        (where.queue, envelope.queue),
        (where.state, row.state),
        (where.kind, envelope.kind),
        (where.partition_key, envelope.partition_key),
        (where.id, envelope.id),
        (where.fingerprint, envelope.fingerprint),
        (where.rate_class, envelope.rate_class),
        (where.priority, envelope.priority),
    )
    if any(wanted is not None and wanted != stored for wanted, stored in asked):
        return False
    if where.kind_prefix is not None and not envelope.kind.startswith(where.kind_prefix):
        return False
    tags = set(envelope.tags)
    if not tags.issuperset(where.tags_all):
        return False
    return not where.tags_any or not tags.isdisjoint(where.tags_any)


def counts(tables: Tables, queue: str | None) -> JobCounts:
    """Exact for any number of rows, since they are counted as they move (JOB-INS-05)."""
    by_state: dict[State, int] = {}
    for (its_queue, state), number in tables.index.by_queue_and_state.items():
        if queue is None or its_queue == queue:
            by_state[state] = by_state.get(state, 0) + number
    return JobCounts(by_state={str(state): by_state[state] for state in sorted(by_state)}, approximate=False)


def queue_stats(tables: Tables, now_ms: int) -> list[QueueStats]:
    """Queues with rows, a limit or a pause, by name (JOB-INS-06, JOB-BPR-12, P-13)."""
    with_rows = {queue for queue, _ in tables.index.by_queue_and_state}
    return [_stats(tables, queue, now_ms) for queue in sorted(with_rows | tables.limits.keys() | tables.pauses.keys())]


def _stats(tables: Tables, queue: str, now_ms: int) -> QueueStats:
    oldest_due_ms = tables.index.oldest_due(queue)
    oldest_ms = now_ms - oldest_due_ms if oldest_due_ms is not None and oldest_due_ms <= now_ms else None
    unfinished = tables.unfinished.get(queue, 0)
    arrived = _last_minute(tables.arrivals.get(queue), now_ms)
    completed = _last_minute(tables.completions.get(queue), now_ms)
    return QueueStats(
        queue=queue,
        paused=tables.pauses.get(queue, False),
        unfinished_jobs=unfinished,
        max_unfinished_jobs=tables.limits.get(queue),
        by_state=counts(tables, queue).by_state,
        oldest_available_ms=oldest_ms,
        arrived_last_minute=arrived,
        completed_last_minute=completed,
        time_to_drain_ms=unfinished * MINUTE_MS // (completed - arrived) if completed > arrived else None,
    )


def _last_minute(flow: Flow | None, now_ms: int) -> int:
    return flow.in_minute(minute_of(now_ms) - MINUTE_MS) if flow is not None else 0


def explain_admission(tables: Tables, job_id: str, now_ms: int) -> AdmissionExplanation:
    """JOB-INS-07.

    Raises:
        JobError: NotFound.
    """
    row = tables.jobs.get(job_id)
    if row is None:
        raise job_not_found(job_id)
    blocker = _blocker(tables, row, now_ms)
    admissible = row.state in (State.RUNNING, State.AVAILABLE) and blocker is None
    return AdmissionExplanation(job_id=job_id, state=row.state, admissible=admissible, blocker=blocker)


def _blocker(tables: Tables, row: Row, now_ms: int) -> Blocker | None:
    if row.state in WAITING_FOR_DUE_TIME:
        return Blocker("schedule", max(row.due_ms - now_ms, 0))
    if row.state == State.QUARANTINED:
        return Blocker("quarantine", None)
    if row.state != State.AVAILABLE:
        return None
    if tables.pauses.get(row.queue):
        return Blocker("queue_paused", None)
    if row.due_ms > now_ms:
        return Blocker("schedule", row.due_ms - now_ms)
    if row.envelope.fingerprint in tables.registry:
        return Blocker("quarantine", None)
    # The profile CONCURRENCY would come after the rate class.
    return _rate_blocker(tables, row, now_ms)


def _rate_blocker(tables: Tables, row: Row, now_ms: int) -> Blocker | None:
    bucket = tables.buckets.get(row.envelope.rate_class) if row.envelope.rate_class else None
    if bucket is None:
        return None
    missing = effective_weight(row) - buckets.available_tokens(bucket, now_ms)
    if missing <= 0 and not bucket.paused:
        return None
    if bucket.paused or bucket.limit <= 0 or bucket.window_ms <= 0:
        # Nothing is ever gained, so nobody can say when (P-03).
        return Blocker("rate_class", None)
    return Blocker("rate_class", min(max(missing, 1) * bucket.window_ms // bucket.limit, I64_MAX))


def distinct_kinds(tables: Tables, limit: int) -> list[str]:
    """Kinds of waiting rows, ascending (JOB-INS-08). Its cost grows with the stored rows."""
    kinds = {row.envelope.kind for row in tables.jobs.values() if row.state in WAITING}
    return sorted(kinds)[: max(limit, 0)]


def rate_class(tables: Tables, name: str, now_ms: int) -> RateClass | None:
    """JOB-RATE-17."""
    bucket = tables.buckets.get(name)
    if bucket is None:
        return None
    available = buckets.available_tokens(bucket, now_ms)
    return RateClass(name, bucket.limit, bucket.window_ms, bucket.burst, bucket.paused, available)
