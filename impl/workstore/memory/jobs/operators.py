"""What operators do to jobs (section 10) and to fingerprints (8.4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import merge
from itertools import islice

from workspec.jobs.vocabulary import State
from workstore.memory.carriers import changed
from workstore.memory.jobs.numbers import I32_MAX, I64_MAX
from workstore.memory.jobs.refusals import duplicate, fingerprint_not_found, invalid, job_not_found, wrong_state
from workstore.memory.jobs.rows import UNFINISHED, WAITING_FOR_DUE_TIME, Row, due_at, finalized
from workstore.memory.jobs.tables import View
from workstore.memory.jobs.validation import check_payload_size

RETRIABLE = frozenset({State.ARCHIVED, State.CANCELLED, State.UNDECODABLE})
AT_REST = frozenset(State) - {State.RUNNING}


def cancel(view: View, job_id: str, now_ms: int) -> None:
    """JOB-OPR-02."""
    row = _row_in(view, job_id, UNFINISHED, "operator_cancel")
    view.put(finalized(row, State.CANCELLED, now_ms))


def retry(view: View, job_id: str, now_ms: int) -> None:
    """Back to available, with the counters as they are (JOB-OPR-04..06). The limit of the queue is not asked
    (JOB-BPR-09).

    Raises:
        JobError: NotFound, Invalid, Duplicate.
    """
    row = _row_in(view, job_id, RETRIABLE, "operator_retry")
    holder = _other_holder(view, row)
    if holder is not None:
        raise duplicate(holder, replaced=False)
    view.put(due_at(row, State.AVAILABLE, now_ms))


def promote(view: View, job_id: str, now_ms: int) -> None:
    """JOB-OPR-07."""
    row = _row_in(view, job_id, {State.PENDING}, "promote_job")
    view.put(due_at(row, State.AVAILABLE, now_ms))


def schedule_pending(view: View, job_id: str, at_ms: int) -> None:
    """JOB-OPR-08: a past instant, too, waits for promote_due."""
    row = _row_in(view, job_id, {State.PENDING}, "schedule_pending_job")
    view.put(due_at(row, State.SCHEDULED, at_ms))


def reschedule(view: View, job_id: str, at_ms: int) -> None:
    """JOB-OPR-09: the due time and nothing else."""
    row = _row_in(view, job_id, WAITING_FOR_DUE_TIME, "reschedule_job")
    view.put(due_at(row, row.state, at_ms))


def check_edit(payload: bytes, schema_version: int) -> None:
    """Arguments come before the job is looked for, as everywhere.

    Raises:
        JobError: Invalid (``bad_schema_version``, ``payload_too_large``).
    """
    if not 1 <= schema_version <= I32_MAX:
        raise invalid("bad_schema_version", f"a schema version is from 1 to {I32_MAX}")
    check_payload_size(payload)


def edit_payload(view: View, job_id: str, payload: bytes, schema_version: int, fingerprint: str) -> None:
    """JOB-OPR-10; a registered fingerprint is not refused (A-33)."""
    row = _row_in(view, job_id, AT_REST, "edit_payload")
    envelope = changed(row.envelope, payload=payload, schema_version=schema_version, fingerprint=fingerprint)
    view.put(changed(row, envelope=envelope))


def delete(view: View, job_id: str) -> None:
    """JOB-OPR-11."""
    view.remove(_row_in(view, job_id, AT_REST, "delete_job"))


def sweep_quarantined(view: View, registered: Iterable[str], limit: int, now_ms: int) -> int:
    """Park waiting rows of the registered fingerprints, by due time, then id (JOB-QUA-04, P-08)."""
    waiting = merge(*(view.index.waiting_with(fingerprint) for fingerprint in registered))
    parked = list(islice(waiting, max(limit, 0)))
    for _, job_id in parked:
        view.put(finalized(view.present(job_id), State.QUARANTINED, now_ms))
    return len(parked)


def release_fingerprint(view: View, fingerprint: str, now_ms: int) -> int:
    """Free the quarantined rows of a fingerprint, by id. A row whose key is taken stays where it is and is not
    counted (A-26, P-09). Crash counts stay (JOB-QUA-06).

    Raises:
        JobError: NotFound.
    """
    quarantined = view.index.quarantined_with(fingerprint)
    if not quarantined and view.registry.get(fingerprint) is None:
        raise fingerprint_not_found(fingerprint)
    view.registry.remove(fingerprint)
    released = 0
    for _, job_id in quarantined:
        row = view.present(job_id)
        if _other_holder(view, row) is None:
            view.put(due_at(row, State.AVAILABLE, now_ms))
            released += 1
    return released


def check_enqueue_limit(limit: int | None) -> None:
    """
    Raises:
        JobError: Invalid (``bad_limit``) (JOB-BPR-01).
    """
    if limit is not None and not 0 <= limit <= I64_MAX:
        raise invalid("bad_limit", "a limit is from 0 to 2^63 - 1, or None")


def set_enqueue_limit(view: View, queue: str, limit: int | None) -> None:
    if limit is None:
        view.limits.remove(queue)
    else:
        view.limits.put(queue, limit)


def _row_in(view: View, job_id: str, states: Collection[State], verb: str) -> Row:
    """The row, if its state is one of these (JOB-OPR-01).

    Raises:
        JobError: NotFound, Invalid (``wrong_state``).
    """
    row = view.jobs.get(job_id)
    if row is None:
        raise job_not_found(job_id)
    if row.state not in states:
        raise wrong_state(job_id, row.state, verb)
    return row


def _other_holder(view: View, row: Row) -> str | None:
    """Who holds the lifecycle key of a row that is to live again."""
    hold = view.lifecycle_holds.get(row.lifecycle_key) if row.lifecycle_key is not None else None
    return hold.job_id if hold is not None else None
