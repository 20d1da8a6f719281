"""Enqueue: the five phases of a batch, in the normative order (contract, 5.1)."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from workspec.jobs.vocabulary import Envelope, JobError, State

from . import queues, rows, uniqueness
from .numbers import within_instants
from .queues import effective_name
from .refusals import duplicate, id_conflict, quarantined
from .rows import Row
from .uniqueness import Key

_DEFAULT_MAX_ATTEMPTS: Final = 25
_LAST_NUMBER: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'jobs'"


def enqueue(connection: sqlite3.Connection, now: int, envelopes: Sequence[Envelope]) -> JobError | None:
    """Store a checked batch, all of it or nothing; a Duplicate whose edit of the holder is to be committed is given
    back, every other refusal raised.

    Raises:
        JobError: IdConflict, Quarantined, Duplicate, Backpressure.
    """
    fresh = _without_replays(connection, envelopes)
    if not fresh:
        return None
    registered = _registered(connection, fresh)
    keys: dict[Key, str] = {}
    for envelope in fresh:
        if envelope.fingerprint in registered:
            raise quarantined(envelope.fingerprint)
        edit = _claim_key(connection, now, envelope, keys)
        if edit is not None:
            return edit
    queues.refuse_over_limit(connection, fresh)
    _write(connection, now, fresh)
    return None


def _among(connection: sqlite3.Connection, statement: str, values: Sequence[str]) -> list[tuple[str, ...]]:
    places = ", ".join("?" * len(values))
    return connection.execute(statement.format(places), values).fetchall()


def _without_replays(connection: sqlite3.Connection, envelopes: Sequence[Envelope]) -> list[Envelope]:
    """The id pass: what is stored with equal content is skipped (JOB-ENQ-05 to 08).

    Raises:
        JobError: IdConflict.
    """
    if not envelopes:
        return []
    statement = "SELECT id, kind, fingerprint, queue FROM jobs WHERE id IN ({})"
    stored = {found[0]: found[1:] for found in _among(connection, statement, [one.id for one in envelopes])}
    if not stored:
        return list(envelopes)
    for envelope in envelopes:
        content = (envelope.kind, envelope.fingerprint, effective_name(envelope.queue))
        if stored.get(envelope.id, content) != content:
            raise id_conflict(envelope.id)
    return [envelope for envelope in envelopes if envelope.id not in stored]


def _registered(connection: sqlite3.Connection, envelopes: Sequence[Envelope]) -> set[str]:
    """The quarantined ones among their fingerprints; the empty one never is (JOB-QUA-02)."""
    asked = list({envelope.fingerprint for envelope in envelopes} - {""})
    if not asked:
        return set()
    statement = "SELECT fingerprint FROM fingerprints WHERE fingerprint IN ({})"
    return {found[0] for found in _among(connection, statement, asked)}


def _claim_key(connection: sqlite3.Connection, now: int, envelope: Envelope, keys: dict[Key, str]) -> JobError | None:
    """Take the key for this batch, or find it held (JOB-UNQ-09, JOB-UNQ-10).

    Raises:
        JobError: Duplicate, with no edit.
    """
    key = uniqueness.key_of(envelope)
    if key is None:
        return None
    if key in keys:
        raise duplicate(keys[key], False)
    hold = uniqueness.find_hold(connection, now, key)
    if hold is None:
        keys[key] = envelope.id
        return None
    replaced = uniqueness.replace(connection, now, hold, envelope)
    if replaced:
        return duplicate(hold.job_id, True)
    raise duplicate(hold.job_id, False)


def _write(connection: sqlite3.Connection, now: int, envelopes: Sequence[Envelope]) -> None:
    last = connection.execute(_LAST_NUMBER).fetchone()
    first = 1 if last is None else last[0] + 1
    stored = [_row(envelope, number, now) for number, envelope in enumerate(envelopes, first)]
    connection.executemany(rows.INSERT, stored)
    connection.executemany(
        rows.INSERT_CONTENT,
        [
            (number, rows.headers_text(envelope), rows.tags_text(envelope.tags), envelope.payload)
            for number, envelope in enumerate(envelopes, first)
        ],
    )
    arrivals: defaultdict[str, Counter[State]] = defaultdict(Counter)
    for row in stored:
        arrivals[row.queue][row.state] += 1
    for queue, states in arrivals.items():
        queues.arrived(connection, now, queue, states)
    for number, envelope in enumerate(envelopes, first):
        key = uniqueness.key_of(envelope)
        if key is not None and key.throttles:
            uniqueness.hold_throttle(connection, now, key, number, envelope)


def _due(envelope: Envelope, now: int) -> int:
    """JOB-ENQ-12."""
    if envelope.unique_debounce_ms > 0:
        return within_instants(now + envelope.unique_debounce_ms)
    return envelope.scheduled_at_ms or now


def _state(envelope: Envelope, due: int, now: int) -> State:
    """JOB-ENQ-13."""
    if envelope.pending:
        return State.PENDING
    return State.SCHEDULED if due > now else State.AVAILABLE


def _row(envelope: Envelope, number: int, now: int) -> Row:
    """The new row, with its defaults (JOB-ENQ-10, JOB-ENQ-11)."""
    due = _due(envelope, now)
    key = uniqueness.key_of(envelope)
    return Row(
        row_id=number,
        id=envelope.id,
        kind=envelope.kind,
        schema_version=envelope.schema_version or 1,
        queue=effective_name(envelope.queue),
        partition_key=envelope.partition_key,
        sticky_worker=envelope.sticky_worker,
        rate_class=envelope.rate_class,
        weight=envelope.weight or 1,
        fingerprint=envelope.fingerprint,
        precedence=-envelope.priority,
        attempt=0,
        crash_attempt=0,
        max_attempts=envelope.max_attempts or _DEFAULT_MAX_ATTEMPTS,
        scheduled_at_ms=due,
        timeout_ms=envelope.timeout_ms,
        deadline_ms=envelope.deadline_ms,
        retention_ms=envelope.retention_ms,
        periodic_schedule_id=envelope.periodic_schedule_id,
        periodic_tick_ms=envelope.periodic_tick_ms,
        lifecycle_key=None if key is None or key.throttles else key.effective,
        state=_state(envelope, due, now),
        fence=0,
        lease_id=None,
        lease_expires_at_ms=None,
        claimed_at_ms=None,
        charge=0,
        enqueued_at_ms=now,
        finalized_at_ms=None,
    )
