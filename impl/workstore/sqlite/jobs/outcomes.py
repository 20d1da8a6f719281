"""Ack: how a run ends (contract, 7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from attrs import evolve, frozen

from workspec.jobs.vocabulary import HistoryEntry, JobResult, LeaseRef, Outcome, State

from . import buckets, channels, queues, rows
from .clock import Clock
from .numbers import backoff_ms, counted, within_instants
from .refusals import invalid
from .rows import Run

_LET_GO: Final = "attempt = ?, charge = ?, lease_id = NULL, lease_expires_at_ms = NULL, claimed_at_ms = NULL"
_FINISH: Final = f"UPDATE jobs SET state = ?, finalized_at_ms = ?, {_LET_GO} WHERE row_id = ?"
_WAIT: Final = f"UPDATE jobs SET state = ?, scheduled_at_ms = ?, {_LET_GO} WHERE row_id = ?"

Count: TypeAlias = Callable[[sqlite3.Connection, int, str, bool], None]
"""Takes the instant, the queue, and whether the row is kept."""


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


_PLAIN_SUCCESS: Final = Report(Outcome.SUCCESS, None, None, (), None)


def success(actual_weight: int | None) -> Report:
    """One with nothing else to say; most are the same."""
    return _PLAIN_SUCCESS if actual_weight is None else evolve(_PLAIN_SUCCESS, actual_weight=actual_weight)


def refuse_impossible(report: Report) -> None:
    """The argument checks, which come before identity (A-04).

    Raises:
        JobError: Invalid (``lease_lost_not_ackable``, ``snooze_needs_delay``).
    """
    if report.outcome == Outcome.LEASE_LOST:
        raise invalid("lease_lost_not_ackable")
    if report.outcome == Outcome.SNOOZE and (report.delay_ms is None or report.delay_ms <= 0):
        raise invalid("snooze_needs_delay")


def ack(
    connection: sqlite3.Connection,
    clock: Clock,
    policy: Policy,
    lease: LeaseRef,
    report: Report,
    count: Count = queues.succeeded,
) -> None:
    """End the run of the holder: identity, settlement, transition. ``count`` takes note of a success.

    Raises:
        JobError: LeaseRejected (JOB-ACK-01).
    """
    run = rows.held(connection, lease)
    now = clock.at(run.stopped_at_ms)
    if report.actual_weight is not None and buckets.settle(
        connection, now, run.rate_class, run.charge, report.actual_weight
    ):
        run = run._replace(charge=0)
    if report.outcome == Outcome.SUCCESS:
        _succeed(connection, now, run, report, count)
    elif report.outcome == Outcome.RETRY:
        _retry(connection, now, policy, run, report)
    elif report.outcome == Outcome.REVOKE:
        rows.delete(connection, run.row_id)
        queues.moved(connection, run.queue, {State.RUNNING: -1})
    elif report.outcome == Outcome.SNOOZE:
        assert report.delay_ms is not None
        _wait(connection, run, State.SCHEDULED, run.attempt, within_instants(now + report.delay_ms))
    elif report.outcome == Outcome.RATE_LIMITED:
        _wait(connection, run, State.AVAILABLE, run.attempt, min(run.scheduled_at_ms, now))
    else:
        _give_up(connection, now, run, report)


def _succeed(connection: sqlite3.Connection, now: int, run: Run, report: Report, count: Count) -> None:
    """JOB-ACK-05, JOB-RES-02."""
    if run.retention_ms == 0:
        rows.delete(connection, run.row_id)
    else:
        _finish(connection, now, run, State.COMPLETED, run.attempt)
        if report.logs:
            rows.remember(connection, run.row_id, _entry(now, run.attempt, report, None))
        if report.result is not None:
            channels.keep_result(connection, run.row_id, report.result)
    # Last: what is counted must have been written.
    count(connection, now, run.queue, run.retention_ms > 0)


def _retry(connection: sqlite3.Connection, now: int, policy: Policy, run: Run, report: Report) -> None:
    """JOB-ACK-06, JOB-ACK-07."""
    attempt = counted(run.attempt + 1)
    rows.remember(connection, run.row_id, _entry(now, attempt, report, report.error or ""))
    if attempt >= run.max_attempts:
        _finish(connection, now, run, State.ARCHIVED, attempt)
        queues.moved(connection, run.queue, {State.RUNNING: -1, State.ARCHIVED: 1})
        return
    asked = report.delay_ms is not None and report.delay_ms > 0
    delay = report.delay_ms if asked and report.delay_ms is not None else policy.backoff_ms(attempt)
    _wait(connection, run, State.RETRYABLE, attempt, within_instants(now + delay))


def _give_up(connection: sqlite3.Connection, now: int, run: Run, report: Report) -> None:
    """Skip and undecodable; an entry only where there is something to say, and "" says it (JOB-ACK-09, P-05)."""
    state = State.ARCHIVED if report.outcome == Outcome.SKIP else State.UNDECODABLE
    _finish(connection, now, run, state, run.attempt)
    queues.moved(connection, run.queue, {State.RUNNING: -1, state: 1})
    if report.error is not None or report.logs:
        rows.remember(connection, run.row_id, _entry(now, run.attempt, report, report.error))


def _finish(connection: sqlite3.Connection, now: int, run: Run, state: State, attempt: int) -> None:
    # The text itself: sqlite3 would first look for a way to adapt a member of an enumeration.
    connection.execute(_FINISH, (state.value, now, attempt, run.charge, run.row_id))


def _wait(connection: sqlite3.Connection, run: Run, state: State, attempt: int, due: int) -> None:
    connection.execute(_WAIT, (state, due, attempt, run.charge, run.row_id))
    queues.moved(connection, run.queue, {State.RUNNING: -1, state: 1})


def _entry(now: int, attempt: int, report: Report, error: str | None) -> HistoryEntry:
    return HistoryEntry(now, report.outcome, attempt, error, tuple(report.logs))
