"""The calls of producers and workers: profiles CORE, RESULT, OUTPUT and PROGRESS."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from attrs import evolve

from workspec.jobs.vocabulary import (
    AdmissionUnit,
    Checkpoint,
    Envelope,
    JobError,
    JobOutput,
    JobProgress,
    JobResult,
    LeaseRef,
    Outcome,
    ProgressUpdate,
    Reclaimed,
)

from ..arguments import (
    require_integers,
    require_optional_integers,
    require_texts,
)
from . import admission, channels, checkpoints, duties, outcomes, rows, sweeps
from .arguments import (
    outcome_of,
    refuse_instants_out_of_range,
    refuse_short_lease,
    refuse_unstorable_checkpoint,
    refuse_unstorable_lease,
    refuse_unstorable_texts,
    require_admission,
    require_checkpoint,
    require_envelopes,
    require_lease,
    require_outcome,
    require_progress,
    require_result,
    require_several,
    require_several_texts,
)
from .enqueue import enqueue
from .handle import Handle
from .numbers import within_instants
from .outcomes import Report, success
from .validation import refuse_faulty_batch, refuse_faulty_progress, refuse_faulty_result


def _checked_batch(envelopes: Sequence[Envelope]) -> list[Envelope]:
    """Raises:
    JobError: Invalid, IdConflict; before any I/O.
    """
    require_envelopes(envelopes)
    refuse_faulty_batch(envelopes)
    return list(envelopes)


def _checked_report(
    outcome: Outcome, error: str | None, delay_ms: int | None, logs: Sequence[str], actual_weight: int | None
) -> Report:
    """Raises:
    JobError: Invalid; before any I/O.
    """
    # Most acks say this and no more, and there is nothing in it to be checked.
    if outcome is Outcome.SUCCESS and error is None and delay_ms is None and actual_weight is None and logs == ():
        return success(None)
    require_outcome(outcome)
    if error is not None:
        require_texts(error=error)
    if delay_ms is not None or actual_weight is not None:
        require_optional_integers(delay_ms=delay_ms, actual_weight=actual_weight)
    require_several_texts("logs", logs)
    report = Report(outcome_of(outcome), error, delay_ms, logs, actual_weight)
    _refuse_faulty_report(report)
    return report


def _refuse_faulty_report(report: Report) -> None:
    outcomes.refuse_impossible(report)
    if report.delay_ms is not None or report.actual_weight is not None:
        refuse_instants_out_of_range(report.delay_ms, report.actual_weight)
    if report.error is not None or report.logs:
        refuse_unstorable_texts(report.error, *report.logs)


class WorkerCalls(Handle):
    """One call is one transaction."""

    def enqueue(self, *, envelopes: Sequence[Envelope]) -> None:
        """Store a batch, all of it or nothing (JOB-ENQ, JOB-UNQ).

        Raises:
            JobError: Invalid, IdConflict, Quarantined, Duplicate (``replaced``: the edit of the holder is committed),
                Backpressure.
            StoreUnavailable: the file is busy, full or broken.
        """
        batch = _checked_batch(envelopes)
        self._enqueue(batch)

    def enqueue_without_uniqueness(self, *, envelopes: Sequence[Envelope]) -> None:
        """The same with the uniqueness of this one call blanked, for tests (JOB-ENQ-16).

        Raises:
            JobError: as `enqueue`, without Duplicate.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_envelopes(envelopes)
        self._enqueue(
            _checked_batch(
                [
                    evolve(one, unique_key=None, unique_window_ms=0, unique_replace=0, unique_debounce_ms=0)
                    for one in envelopes
                ]
            )
        )

    def _enqueue(self, batch: Sequence[Envelope]) -> None:
        if not batch:
            return
        committed: JobError | None = self._write(lambda connection, now: enqueue(connection, now, batch))
        if committed is not None:
            raise committed

    def admit(
        self, *, worker: str, lease_id: str, queues: Sequence[str], capacity: int, lease_ms: int, quantum: int
    ) -> list[AdmissionUnit]:
        """Lease up to ``capacity`` jobs to a worker, in the order of the draw: plain rotation, so ``quantum`` has no
        effect (JOB-ADM, JOB-FAIR, JOB-STK, JOB-RATE).

        Raises:
            JobError: Invalid (``bad_lease``).
            StoreUnavailable: the file is busy, full or broken.
        """
        require_admission(worker, lease_id, queues, capacity, lease_ms, quantum)
        refuse_short_lease(lease_ms)
        refuse_instants_out_of_range(capacity, quantum)
        refuse_unstorable_texts(worker, lease_id, *queues)
        if capacity <= 0 or not queues:
            return []
        request = admission.Request(worker, lease_id, tuple(queues), capacity, lease_ms)
        return self._connection.write(lambda connection: admission.admit(connection, self._clock, request))

    def ack(
        self,
        *,
        lease: LeaseRef,
        outcome: Outcome,
        error: str | None,
        delay_ms: int | None,
        logs: Sequence[str],
        actual_weight: int | None,
    ) -> None:
        """End a run (JOB-ACK). ``actual_weight``: what the run really cost; None settles nothing (JOB-RATE-08).

        Raises:
            JobError: Invalid (``lease_lost_not_ackable``, ``snooze_needs_delay``, ``unknown_outcome``), LeaseRejected.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_lease(lease)
        self._ack(lease, _checked_report(outcome, error, delay_ms, logs, actual_weight))

    def ack_success_with_result(
        self, *, lease: LeaseRef, result: JobResult, logs: Sequence[str], actual_weight: int | None
    ) -> None:
        """Success and a result in one step (JOB-RES-01, JOB-RES-02).

        Raises:
            JobError: Invalid (``schema_zero``, ``schema_too_large``, ``too_large``), LeaseRejected.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_lease(lease)
        require_result("result", result)
        require_several_texts("logs", logs)
        require_optional_integers(actual_weight=actual_weight)
        refuse_faulty_result(result)
        report = Report(Outcome.SUCCESS, None, None, logs, actual_weight, result)
        _refuse_faulty_report(report)
        self._ack(lease, report)

    def _ack(self, lease: LeaseRef, report: Report) -> None:
        refuse_unstorable_lease(lease)
        self._connection.write(lambda connection: outcomes.ack(connection, self._clock, self._policy, lease, report))

    def renew(self, *, leases: Sequence[LeaseRef], lease_ms: int) -> list[str]:
        """Move the ends of leases to now plus ``lease_ms``; the ids of those that are lost, in order (JOB-RNW).

        Raises:
            JobError: Invalid (``bad_lease``).
            StoreUnavailable: the file is busy, full or broken.
        """
        require_several("leases", leases, LeaseRef)
        for lease in leases:
            require_lease(lease)
        require_integers(lease_ms=lease_ms)
        refuse_short_lease(lease_ms)
        held = list(leases)
        for lease in held:
            refuse_unstorable_lease(lease)
        if not held:
            return []
        return self._write(lambda connection, now: leases_lost(connection, held, within_instants(now + lease_ms)))

    def checkpoint(self, *, lease: LeaseRef, checkpoint: Checkpoint) -> None:
        """Replace what the next run will be given (JOB-CKP).

        Raises:
            JobError: LeaseRejected.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_lease(lease)
        require_checkpoint(checkpoint)
        refuse_unstorable_checkpoint(checkpoint)
        refuse_unstorable_lease(lease)
        self._write(lambda connection, _: checkpoint_held(connection, lease, checkpoint))

    def promote_due(self, *, limit: int) -> int:
        """Make due scheduled and retryable rows available; how many (JOB-PRM).

        Raises:
            StoreUnavailable: the file is busy, full or broken.
        """
        require_integers(limit=limit)
        refuse_instants_out_of_range(limit)
        return self._write(lambda connection, now: sweeps.promote_due(connection, now, limit))

    def reclaim_expired(self, *, limit: int) -> list[Reclaimed]:
        """Take back leases that have ended (JOB-RCL).

        Raises:
            StoreUnavailable: the file is busy, full or broken.
        """
        require_integers(limit=limit)
        refuse_instants_out_of_range(limit)
        return self._write(lambda connection, now: sweeps.reclaim_expired(connection, now, self._policy, limit))

    def evict_retained(self, *, limit: int) -> int:
        """Delete finished rows whose retention has ended; how many (JOB-EVT).

        Raises:
            StoreUnavailable: the file is busy, full or broken.
        """
        require_integers(limit=limit)
        refuse_instants_out_of_range(limit)
        return self._write(lambda connection, now: sweeps.evict_retained(connection, now, limit))

    def claim_duty(self, *, name: str, holder: str, lease_ms: int) -> bool:
        """Take or renew a named duty; False while another holds it (JOB-DTY).

        Raises:
            JobError: Invalid (``bad_lease``).
            StoreUnavailable: the file is busy, full or broken.
        """
        require_texts(name=name, holder=holder)
        require_integers(lease_ms=lease_ms)
        refuse_short_lease(lease_ms)
        refuse_unstorable_texts(name, holder)
        return self._write(lambda connection, now: duties.claim(connection, now, name, holder, lease_ms))

    def release_duty(self, *, name: str, holder: str) -> None:
        """Give a duty up; silent for anybody but its holder (JOB-DTY-03).

        Raises:
            StoreUnavailable: the file is busy, full or broken.
        """
        require_texts(name=name, holder=holder)
        refuse_unstorable_texts(name, holder)
        self._write(lambda connection, _: duties.release(connection, name, holder))

    def get_job_result(self, *, job_id: str) -> JobResult | None:
        """The result, None if there is none (JOB-RES-03).

        Raises:
            StoreUnavailable: the file is busy or broken.
        """
        checked_id(job_id)
        return self._connection.read(lambda connection: channels.result(connection, job_id))

    def write_job_output(self, *, lease: LeaseRef, output: JobResult) -> JobOutput:
        """Replace the output of a running job (JOB-OUT-01).

        Raises:
            JobError: Invalid (``schema_zero``, ``schema_too_large``, ``too_large``), LeaseRejected.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_lease(lease)
        require_result("output", output)
        refuse_faulty_result(output)
        refuse_unstorable_lease(lease)
        return self._write(lambda connection, now: channels.write_output(connection, now, lease, output))

    def get_job_output(self, *, job_id: str) -> JobOutput | None:
        """The output as written last, None if never (JOB-OUT-03).

        Raises:
            StoreUnavailable: the file is busy or broken.
        """
        checked_id(job_id)
        return self._connection.read(lambda connection: channels.output(connection, job_id))

    def write_job_progress(self, *, lease: LeaseRef, progress: ProgressUpdate) -> JobProgress:
        """Replace the progress of a running job (JOB-PRG-01).

        Raises:
            JobError: Invalid (``progress_zero_total``, ``progress_over_total``, ``progress_total_too_large``,
                ``progress_message_too_long``, ``progress_message_nul``), LeaseRejected.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_lease(lease)
        require_progress(progress)
        refuse_faulty_progress(progress)
        refuse_unstorable_lease(lease)
        return self._write(lambda connection, now: channels.write_progress(connection, now, lease, progress))

    def get_job_progress(self, *, job_id: str) -> JobProgress | None:
        """The progress as written last, None if never (JOB-PRG-04).

        Raises:
            StoreUnavailable: the file is busy or broken.
        """
        checked_id(job_id)
        return self._connection.read(lambda connection: channels.progress(connection, job_id))


def checked_id(job_id: str) -> str:
    require_texts(job_id=job_id)
    refuse_unstorable_texts(job_id)
    return job_id


def checkpoint_held(connection: sqlite3.Connection, lease: LeaseRef, checkpoint: Checkpoint) -> None:
    """JOB-CKP-01."""
    run = rows.held(connection, lease)
    checkpoints.write(connection, run.row_id, checkpoint)


def leases_lost(connection: sqlite3.Connection, leases: Sequence[LeaseRef], expires_at_ms: int) -> list[str]:
    """Renew those that are held; the others, in order and once for each time that they are named (JOB-RNW-02)."""
    lost = []
    for lease in leases:
        run = rows.find_held(connection, lease)
        if run is None:
            lost.append(lease.job_id)
            continue
        rows.change(connection, run.row_id, lease_expires_at_ms=expires_at_ms)
    return lost
