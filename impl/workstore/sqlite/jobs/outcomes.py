"""Ack: how a run ends (contract, 7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from attrs import frozen

from workspec.jobs.vocabulary import HistoryEntry, JobResult, LeaseRef, Outcome, State

from . import buckets, channels, queues, rows
from .numbers import backoff_ms, counted, within_instants
from .refusals import invalid
from .rows import NO_LEASE, Row


@frozen
class Policy:
    """What the store was opened with: how often a lease may be lost, and how long the next try waits."""

    crash_limit: int
    retry_base_ms: int
    retry_cap_ms: int

    def backoff_ms(self, ordinal: int) -> int:
        return backoff_ms(self.retry_base_ms, self.retry_cap_ms, ordinal)


@frozen
class Report:
    """What the worker says of its run."""

    outcome: Outcome
    error: str | None
    delay_ms: int | None
    logs: Sequence[str]
    actual_weight: int | None
    result: JobResult | None = None


def refuse_impossible(report: Report) -> None:
    """The argument checks, which come before identity (A-04).

    Raises:
        JobError: Invalid (``lease_lost_not_ackable``, ``snooze_needs_delay``).
    """
    if report.outcome == Outcome.LEASE_LOST:
        raise invalid("lease_lost_not_ackable")
    if report.outcome == Outcome.SNOOZE and (report.delay_ms is None or report.delay_ms <= 0):
        raise invalid("snooze_needs_delay")


def ack(connection: sqlite3.Connection, now: int, policy: Policy, lease: LeaseRef, report: Report) -> None:
    """End the run of the holder: identity, settlement, transition.

    Raises:
        JobError: LeaseRejected (JOB-ACK-01).
    """
    row = rows.held(connection, lease)
    settled = buckets.settle(connection, now, row.rate_class, row.charge, report.actual_weight)
    if settled:
        row = row._replace(charge=0)
    if report.outcome == Outcome.SUCCESS:
        _succeed(connection, now, row, report)
    elif report.outcome == Outcome.RETRY:
        _retry(connection, now, policy, row, report)
    elif report.outcome == Outcome.REVOKE:
        rows.delete(connection, row.row_id)
        queues.moved(connection, row.queue, {State.RUNNING: -1})
    elif report.outcome == Outcome.SNOOZE:
        assert report.delay_ms is not None
        _wait(connection, row, State.SCHEDULED, within_instants(now + report.delay_ms))
    elif report.outcome == Outcome.RATE_LIMITED:
        _wait(connection, row, State.AVAILABLE, min(row.scheduled_at_ms, now))
    else:
        _give_up(connection, now, row, report)


def _succeed(connection: sqlite3.Connection, now: int, row: Row, report: Report) -> None:
    """JOB-ACK-05, JOB-RES-02."""
    queues.succeeded(connection, now, row.queue, kept=row.retention_ms > 0)
    if row.retention_ms == 0:
        rows.delete(connection, row.row_id)
        return
    _finish(connection, now, row, State.COMPLETED)
    if report.logs:
        rows.remember(connection, row.row_id, _entry(now, row.attempt, report, None))
    if report.result is not None:
        channels.keep_result(connection, row.row_id, report.result)


def _retry(connection: sqlite3.Connection, now: int, policy: Policy, row: Row, report: Report) -> None:
    """JOB-ACK-06, JOB-ACK-07."""
    attempt = counted(row.attempt + 1)
    rows.remember(connection, row.row_id, _entry(now, attempt, report, report.error or ""))
    if attempt >= row.max_attempts:
        _finish(connection, now, row, State.ARCHIVED, attempt=attempt)
        queues.moved(connection, row.queue, {State.RUNNING: -1, State.ARCHIVED: 1})
        return
    asked = report.delay_ms is not None and report.delay_ms > 0
    delay = report.delay_ms if asked and report.delay_ms is not None else policy.backoff_ms(attempt)
    _wait(connection, row, State.RETRYABLE, within_instants(now + delay), attempt=attempt)


def _give_up(connection: sqlite3.Connection, now: int, row: Row, report: Report) -> None:
    """Skip and undecodable; an entry only where there is something to say, and "" says it (JOB-ACK-09, P-05)."""
    state = State.ARCHIVED if report.outcome == Outcome.SKIP else State.UNDECODABLE
    _finish(connection, now, row, state)
    queues.moved(connection, row.queue, {State.RUNNING: -1, state: 1})
    if report.error is not None or report.logs:
        rows.remember(connection, row.row_id, _entry(now, row.attempt, report, report.error))


def _finish(connection: sqlite3.Connection, now: int, row: Row, state: State, **columns: object) -> None:
    rows.change(connection, row.row_id, state=state, finalized_at_ms=now, charge=row.charge, **NO_LEASE, **columns)


def _wait(connection: sqlite3.Connection, row: Row, state: State, due: int, **columns: object) -> None:
    rows.change(connection, row.row_id, state=state, scheduled_at_ms=due, charge=row.charge, **NO_LEASE, **columns)
    queues.moved(connection, row.queue, {State.RUNNING: -1, state: 1})


def _entry(now: int, attempt: int, report: Report, error: str | None) -> HistoryEntry:
    return HistoryEntry(now, report.outcome, attempt, error, tuple(report.logs))
