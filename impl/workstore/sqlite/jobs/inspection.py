"""What operators read (contract, 10). Nothing here writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from workspec.jobs.vocabulary import (
    AdmissionExplanation,
    Blocker,
    Envelope,
    HistoryEntry,
    Job,
    JobCounts,
    JobFilter,
    JobPage,
    QueueStats,
    RateClass,
    State,
)

from . import buckets, quarantine, rows
from .numbers import within_instants
from .queues import MINUTE_MS, STATES, UNFINISHED, minute_of
from .rows import COLUMNS, ENVELOPE_COLUMNS, Row, row_of
from .schema import TIMED

_LOOK: Final = (
    f"SELECT {COLUMNS}, headers, tags, payload, EXISTS (SELECT 1 FROM history WHERE history.row_id = jobs.row_id) "
    "FROM jobs JOIN contents USING (row_id) WHERE id = ?"
)
_ALL: Final = f"SELECT {ENVELOPE_COLUMNS} FROM jobs JOIN contents USING (row_id) ORDER BY id"
_ENVELOPE: Final = f"SELECT state, {ENVELOPE_COLUMNS} FROM jobs JOIN contents USING (row_id) WHERE id = ?"
_LISTED: Final = f"SELECT {COLUMNS}, tags FROM jobs JOIN contents USING (row_id)"
_COUNTS: Final = f"SELECT name, {', '.join(STATES)} FROM queues"
_STATS: Final = (
    f"SELECT name, {', '.join(STATES)}, paused, enqueue_limit, arrival_minute_ms, arrivals, arrivals_before, "
    "completion_minute_ms, completions, completions_before FROM queues ORDER BY name"
)
_FIRST_IN_GROUP: Final = (
    "SELECT sticky_worker, partition_key, precedence, scheduled_at_ms FROM jobs INDEXED BY jobs_to_draw "
    "WHERE state = 'available' AND queue = ?1 {after}"
    "ORDER BY sticky_worker, partition_key, precedence, scheduled_at_ms LIMIT 1"
)
FIRST_GROUP: Final = _FIRST_IN_GROUP.format(after="")
# One after the other: SQLite compares a row of values with each entry of the index, and would so walk the group.
NEXT_GROUP: Final = tuple(
    _FIRST_IN_GROUP.format(after=after)
    for after in (
        "AND sticky_worker = ?2 AND partition_key = ?3 AND precedence > ?4 ",
        "AND sticky_worker = ?2 AND partition_key > ?3 ",
        "AND sticky_worker > ?2 ",
    )
)
_SAMPLE: Final = 10_000
_KINDS: Final = (
    "SELECT DISTINCT kind FROM ("
    f"SELECT kind FROM jobs INDEXED BY jobs_to_draw WHERE state = 'available' LIMIT {_SAMPLE}) "
    "UNION SELECT DISTINCT kind FROM ("
    f"SELECT kind FROM jobs INDEXED BY jobs_to_promote WHERE {TIMED} LIMIT {_SAMPLE}) "
    "UNION SELECT DISTINCT kind FROM ("
    f"SELECT kind, state FROM jobs ORDER BY row_id DESC LIMIT {_SAMPLE}) WHERE state = 'pending' "
    "ORDER BY kind LIMIT ?"
)


def envelopes(connection: sqlite3.Connection) -> list[Envelope]:
    """All that is stored, in id order (contract, 11.2)."""
    return [rows.envelope_of(found) for found in connection.execute(_ALL)]


def job_state(connection: sqlite3.Connection, job_id: str) -> tuple[Envelope, State] | None:
    """JOB-AST-06."""
    found = connection.execute(_ENVELOPE, (job_id,)).fetchone()
    if found is None:
        return None
    state, *envelope = found
    return rows.envelope_of(envelope), State(state)


def errors(connection: sqlite3.Connection, job_id: str) -> list[HistoryEntry]:
    """JOB-AST-06."""
    row = rows.find(connection, job_id)
    return [] if row is None else list(rows.history(connection, row.row_id))


def get_job(connection: sqlite3.Connection, job_id: str, include_payload: bool) -> Job | None:
    """JOB-INS-01. To be called on one state: the history of a job that has run is read by a second statement."""
    return _look(connection, job_id, include_payload, with_history=True)[1]


def get_job_at_once(connection: sqlite3.Connection, job_id: str, include_payload: bool) -> tuple[bool, Job | None]:
    """As `get_job`, in one statement. With False where the job has run: then its history is missing."""
    return _look(connection, job_id, include_payload, with_history=False)


def _look(
    connection: sqlite3.Connection, job_id: str, include_payload: bool, *, with_history: bool
) -> tuple[bool, Job | None]:
    found = connection.execute(_LOOK, (job_id,)).fetchone()
    if found is None:
        return True, None
    headers, tags, payload, has_run = found[len(Row._fields) :]
    if has_run and not with_history:
        return False, None
    row = row_of(found)
    history = rows.history(connection, row.row_id) if has_run else ()
    shown = rows.headers_of(headers) if include_payload else None
    return True, _job(row, tags, history, shown, payload if include_payload else None)


def _job(
    row: Row,
    tags: str | None,
    history: tuple[HistoryEntry, ...],
    headers: dict[str, str] | None = None,
    payload: bytes | None = None,
) -> Job:
    """JOB-INS-02, JOB-INS-03."""
    # By position, in the order of the vocabulary: by name it takes twice as long.
    return Job(
        row.id,
        row.kind,
        row.queue,
        row.state,
        row.schema_version,
        -row.precedence,
        row.attempt,
        row.crash_attempt,
        row.max_attempts,
        row.partition_key,
        row.rate_class,
        row.sticky_worker,
        row.weight,
        row.fingerprint,
        row.enqueued_at_ms,
        row.scheduled_at_ms,
        row.claimed_at_ms,
        row.lease_expires_at_ms,
        row.finalized_at_ms,
        row.retention_ms,
        row.timeout_ms,
        row.deadline_ms,
        row.periodic_schedule_id,
        row.periodic_tick_ms,
        row.crash_attempt > 0,
        payload,
        headers,
        history,
        rows.tags_of(tags),
    )


def list_jobs(connection: sqlite3.Connection, where: JobFilter, cursor: str | None, limit: int) -> JobPage:
    """A page in id order; the cursor is the last id of the page before (JOB-INS-04).

    Known limit: without an id the rows are walked in id order, so a filter that few rows pass reads many.
    """
    found: list[tuple[Row, str | None]] = []
    for row, tags in _matching(connection, where, cursor):
        if len(found) == limit:
            return JobPage(_jobs(connection, found), found[-1][0].id)
        found.append((row, tags))
    return JobPage(_jobs(connection, found), None)


def _jobs(connection: sqlite3.Connection, found: list[tuple[Row, str | None]]) -> tuple[Job, ...]:
    return tuple(_job(row, tags, rows.history(connection, row.row_id)) for row, tags in found)


def _matching(connection: sqlite3.Connection, where: JobFilter, cursor: str | None) -> Iterator[tuple[Row, str | None]]:
    conditions, values = _conditions(where)
    if cursor is not None:
        conditions.append("id > ?")
        values.append(cursor)
    condition = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    for found in connection.execute(f"{_LISTED}{condition} ORDER BY id", values):
        row, tags = row_of(found), found[-1]
        if where.kind_prefix is not None and not row.kind.startswith(where.kind_prefix):
            continue
        if _has_tags(where, tags):
            yield row, tags


def _conditions(where: JobFilter) -> tuple[list[str], list[Any]]:
    columns = {
        "queue": where.queue,
        "state": where.state,
        "kind": where.kind,
        "partition_key": where.partition_key,
        "id": where.id,
        "fingerprint": where.fingerprint,
        "rate_class": where.rate_class,
        "precedence": None if where.priority is None else -where.priority,
    }
    asked = {name: value for name, value in columns.items() if value is not None}
    return [f"{name} = ?" for name in asked], list(asked.values())


def _has_tags(where: JobFilter, text: str | None) -> bool:
    if not (where.tags_all or where.tags_any):
        return True
    tags = set(rows.tags_of(text))
    return tags.issuperset(where.tags_all) and (not where.tags_any or not tags.isdisjoint(where.tags_any))


def _present(numbers: tuple[int, ...]) -> dict[str, int]:
    return {state.value: number for state, number in zip(STATES, numbers, strict=True) if number}


def counts(connection: sqlite3.Connection, queue: str | None) -> JobCounts:
    """Always exact, for the counters are kept with the rows (JOB-INS-05)."""
    named = "" if queue is None else " WHERE name = ?"
    found = connection.execute(_COUNTS + named, () if queue is None else (queue,)).fetchall()
    sums = tuple(sum(column) for column in zip(*(row[1:] for row in found), strict=True)) or (0,) * len(STATES)
    return JobCounts(_present(sums), approximate=False)


def queue_stats(connection: sqlite3.Connection, now: int) -> list[QueueStats]:
    """JOB-INS-06, JOB-BPR-11, P-13."""
    return [_stats(connection, now, found) for found in connection.execute(_STATS).fetchall()]


def _stats(connection: sqlite3.Connection, now: int, found: tuple[Any, ...]) -> QueueStats:
    name, numbers, rest = found[0], found[1 : 1 + len(STATES)], found[1 + len(STATES) :]
    paused, limit, *minutes = rest
    arrived = _last_minute(now, *minutes[:3])
    completed = _last_minute(now, *minutes[3:])
    unfinished = sum(number for state, number in zip(STATES, numbers, strict=True) if state in UNFINISHED)
    available = numbers[STATES.index(State.AVAILABLE)]
    return QueueStats(
        queue=name,
        paused=bool(paused),
        unfinished_jobs=unfinished,
        max_unfinished_jobs=limit,
        by_state=_present(numbers),
        oldest_available_ms=_oldest_available_ms(connection, now, name) if available else None,
        arrived_last_minute=arrived,
        completed_last_minute=completed,
        time_to_drain_ms=unfinished * MINUTE_MS // (completed - arrived) if completed > arrived else None,
    )


def _last_minute(now: int, minute: int, counted: int, counted_before: int) -> int:
    """What was counted in the last whole minute."""
    if minute == minute_of(now):
        return counted_before
    return counted if minute == minute_of(now) - MINUTE_MS else 0


def _oldest_available_ms(connection: sqlite3.Connection, now: int, queue: str) -> int | None:
    """The age of the first row of each route, partition and priority decides: three steps of the index for each
    (P-11)."""
    oldest: int | None = None
    found = connection.execute(FIRST_GROUP, (queue,)).fetchone()
    while found is not None:
        oldest = found[3] if oldest is None else min(oldest, found[3])
        found = _next_group(connection, queue, *found[:3])
    return None if oldest is None or oldest > now else now - oldest


def _next_group(
    connection: sqlite3.Connection, queue: str, sticky_worker: str, partition_key: str, precedence: int
) -> tuple[Any, ...] | None:
    values = (queue, sticky_worker, partition_key, precedence)
    for position, statement in enumerate(NEXT_GROUP):
        found: tuple[Any, ...] | None = connection.execute(statement, values[: 4 - position]).fetchone()
        if found is not None:
            return found
    return None


def explain(connection: sqlite3.Connection, now: int, job_id: str) -> AdmissionExplanation:
    """What stands against a row now, whoever asks (JOB-INS-07).

    Raises:
        JobError: NotFound.
    """
    row = rows.existing(connection, job_id)
    if row.state == State.RUNNING:
        return AdmissionExplanation(row.id, row.state, True, None)
    if row.state == State.AVAILABLE:
        blocker = _blocker(connection, now, row)
        return AdmissionExplanation(row.id, row.state, blocker is None, blocker)
    blockers = {
        State.SCHEDULED: Blocker("schedule", max(row.scheduled_at_ms - now, 0)),
        State.RETRYABLE: Blocker("schedule", max(row.scheduled_at_ms - now, 0)),
        State.QUARANTINED: Blocker("quarantine", None),
    }
    return AdmissionExplanation(row.id, row.state, False, blockers.get(row.state))


def _blocker(connection: sqlite3.Connection, now: int, row: Row) -> Blocker | None:
    if connection.execute("SELECT 1 FROM queues WHERE name = ? AND paused = 1", (row.queue,)).fetchone():
        return Blocker("queue_paused", None)
    if row.scheduled_at_ms > now:
        return Blocker("schedule", row.scheduled_at_ms - now)
    if quarantine.is_registered(connection, row.fingerprint):
        return Blocker("quarantine", None)
    bucket = buckets.find(connection, row.rate_class) if row.rate_class else None
    if bucket is None:
        return None
    available = bucket.available(now)
    if row.weight <= available and not bucket.paused:
        return None
    if bucket.paused or bucket.limit <= 0 or bucket.window_ms <= 0:
        return Blocker("rate_class", None)
    return Blocker("rate_class", within_instants(max(row.weight - available, 1) * bucket.window_ms // bucket.limit))


def distinct_kinds(connection: sqlite3.Connection, limit: int) -> list[str]:
    """Kinds among waiting rows, ascending, out of a sample of them (JOB-INS-08)."""
    return [kind for (kind,) in connection.execute(_KINDS, (max(limit, 0),))]


def rate_class(connection: sqlite3.Connection, now: int, name: str) -> RateClass | None:
    """JOB-RATE-17."""
    bucket = buckets.find(connection, name)
    if bucket is None:
        return None
    return RateClass(name, bucket.limit, bucket.window_ms, bucket.burst, bucket.paused, bucket.available(now))
