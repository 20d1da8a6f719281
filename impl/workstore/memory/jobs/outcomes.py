"""A run ends (section 7): identity, settlement, transition. Arguments have been checked before."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from workspec.jobs.vocabulary import HistoryEntry, JobResult, LeaseRef, Outcome, State
from workstore.memory.carriers import changed
from workstore.memory.jobs import buckets
from workstore.memory.jobs.numbers import plus
from workstore.memory.jobs.refusals import invalid, lease_rejected
from workstore.memory.jobs.rows import Row, counted, due_at, finalized, with_entry
from workstore.memory.jobs.tables import View

BACKOFF_DOUBLINGS_MAX = 20


@frozen
class Backoff:
    """How long a row waits after a failure or a crash, unless the worker says it (JOB-ACK-08)."""

    base_ms: int
    cap_ms: int

    def after(self, count: int) -> int:
        return min(self.base_ms << min(count - 1, BACKOFF_DOUBLINGS_MAX), self.cap_ms)


@frozen
class Report:
    """What a worker says of its run. ``result`` comes with success alone."""

    outcome: Outcome
    error: str | None = None
    delay_ms: int | None = None
    logs: tuple[str, ...] = ()
    actual_weight: int | None = None
    result: JobResult | None = None


def check_report(outcome: Outcome, delay_ms: int | None) -> None:
    """Arguments come before identity, so that a refused report settles nothing (A-04, SIM-14).

    Raises:
        JobError: Invalid (``lease_lost_not_ackable``, ``snooze_needs_delay``).
    """
    if outcome == Outcome.LEASE_LOST:
        raise invalid("lease_lost_not_ackable", "only the reclaimer finds that a lease was lost")
    if outcome == Outcome.SNOOZE and (delay_ms is None or delay_ms <= 0):
        raise invalid("snooze_needs_delay", "a snooze needs a delay_ms above zero")


def held_row(view: View, ref: LeaseRef) -> Row:
    """The row that this lease holds. That the lease has ended does not matter until a sweep takes it back
    (JOB-ACK-01, JOB-ACK-02).

    Raises:
        JobError: LeaseRejected.
    """
    row = view.jobs.get(ref.job_id)
    if row is None or not is_held(row, ref):
        raise lease_rejected(ref.job_id)
    return row


def is_held(row: Row, ref: LeaseRef) -> bool:
    return row.lease is not None and row.lease.lease_id == ref.lease_id and row.fence == ref.fence


def ack(view: View, ref: LeaseRef, report: Report, backoff: Backoff, now_ms: int) -> None:
    """End the run of the holder.

    Raises:
        JobError: LeaseRejected.
    """
    row = _settled(view, held_row(view, ref), report.actual_weight, now_ms)
    after = _after(row, report, backoff, now_ms)
    if after is None:
        view.remove(row)
    else:
        view.put(after)
    if report.outcome == Outcome.SUCCESS:
        view.completions.put(row.queue, counted(view.completions.get(row.queue), now_ms))


def _settled(view: View, row: Row, actual_weight: int | None, now_ms: int) -> Row:
    """JOB-RATE-08, JOB-RATE-09, JOB-RATE-14: with the bucket as it is configured now, and once."""
    bucket = view.buckets.get(row.envelope.rate_class)
    if actual_weight is None or row.charge <= 0 or bucket is None:
        return row
    view.buckets.put(row.envelope.rate_class, buckets.settled(bucket, row.charge, actual_weight, now_ms))
    return changed(row, charge=0)


def _after(row: Row, report: Report, backoff: Backoff, now_ms: int) -> Row | None:
    """The row after the run; None if it is removed (table 2.3, rows 9 to 17)."""
    match report.outcome:
        case Outcome.SUCCESS:
            return _succeeded(row, report, now_ms)
        case Outcome.RETRY:
            return _retried(row, report, backoff, now_ms)
        case Outcome.SKIP:
            return _given_up(row, State.ARCHIVED, report, now_ms)
        case Outcome.UNDECODABLE:
            return _given_up(row, State.UNDECODABLE, report, now_ms)
        case Outcome.SNOOZE:
            return due_at(row, State.SCHEDULED, plus(now_ms, report.delay_ms or 0))
        case Outcome.RATE_LIMITED:
            # The old due time keeps the row's place among its peers (JOB-ACK-13, JOB-ADM-12).
            return due_at(row, State.AVAILABLE, min(row.due_ms, now_ms))
        case Outcome.REVOKE:
            return None
        case Outcome.LEASE_LOST:
            raise AssertionError("check_report has refused this")


def _succeeded(row: Row, report: Report, now_ms: int) -> Row | None:
    """JOB-ACK-05, JOB-RES-02."""
    if row.envelope.retention_ms == 0:
        return None
    completed = finalized(row, State.COMPLETED, now_ms)
    if report.result is not None:
        completed = changed(completed, result=report.result)
    if not report.logs:
        return completed
    return with_entry(completed, HistoryEntry(now_ms, Outcome.SUCCESS, row.envelope.attempt, None, report.logs))


def _retried(row: Row, report: Report, backoff: Backoff, now_ms: int) -> Row:
    """JOB-ACK-06, JOB-ACK-07."""
    attempt = row.envelope.attempt + 1
    counted_row = changed(row, envelope=changed(row.envelope, attempt=attempt))
    entry = HistoryEntry(now_ms, Outcome.RETRY, attempt, report.error or "", report.logs)
    noted = with_entry(counted_row, entry)
    if attempt >= row.envelope.max_attempts:
        return finalized(noted, State.ARCHIVED, now_ms)
    given = report.delay_ms is not None and report.delay_ms > 0
    delay_ms = report.delay_ms if given and report.delay_ms is not None else backoff.after(attempt)
    return due_at(noted, State.RETRYABLE, plus(now_ms, delay_ms))


def _given_up(row: Row, state: State, report: Report, now_ms: int) -> Row:
    """JOB-ACK-09, JOB-ACK-10; an empty error text counts as given (P-05)."""
    ended = finalized(row, state, now_ms)
    if report.error is None and not report.logs:
        return ended
    return with_entry(ended, HistoryEntry(now_ms, report.outcome, row.envelope.attempt, report.error, report.logs))


def renew(view: View, refs: Sequence[LeaseRef], lease_ms: int, now_ms: int) -> list[str]:
    """Move the end of each lease that holds; the ids of the others, once for each time asked (JOB-RNW-02..04)."""
    lost = []
    for ref in refs:
        row = view.jobs.get(ref.job_id)
        if row is None or row.lease is None or not is_held(row, ref):
            lost.append(ref.job_id)
            continue
        view.put(changed(row, lease=changed(row.lease, expires_at_ms=plus(now_ms, lease_ms))))
    return lost
