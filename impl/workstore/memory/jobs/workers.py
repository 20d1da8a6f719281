"""The verbs of producers, workers and sweepers: profiles CORE, RESULT, OUTPUT and PROGRESS."""

from __future__ import annotations

from collections.abc import Sequence

from workspec.jobs.vocabulary import (
    AdmissionUnit,
    Checkpoint,
    Envelope,
    JobOutput,
    JobProgress,
    JobResult,
    LeaseRef,
    Outcome,
    ProgressUpdate,
    Reclaimed,
)
from workstore.memory.jobs import admission, arguments, channels, enqueue, outcomes, storable, sweeps, validation
from workstore.memory.jobs.handle import Handle


class Workers(Handle):
    """What happens to jobs day by day."""

    def enqueue(self, *, envelopes: Sequence[Envelope]) -> None:
        """Store a batch, all of it or nothing. Implements JOB-ENQ-01..18, JOB-UNQ-01..35, JOB-BPR-02..06.

        Raises:
            JobError: Invalid, IdConflict, Quarantined, Duplicate (``replaced``: the edit of the holder is
                committed), Backpressure.
        """
        self._enqueue(arguments.envelopes(envelopes))

    def enqueue_without_uniqueness(self, *, envelopes: Sequence[Envelope]) -> None:
        """The same with the uniqueness of this one call blanked. Implements JOB-ENQ-16.

        Raises:
            JobError: as `enqueue`, without Duplicate.
        """
        self._enqueue(enqueue.without_uniqueness(arguments.envelopes(envelopes)))

    def _enqueue(self, batch: Sequence[Envelope]) -> None:
        validation.check_batch(batch)
        refusal = self._change(lambda view, now_ms: enqueue.enqueue(view, batch, now_ms))
        if refusal is not None:
            raise refusal

    def admit(
        self, *, worker: str, lease_id: str, queues: Sequence[str], capacity: int, lease_ms: int, quantum: int
    ) -> list[AdmissionUnit]:
        """Lease up to ``capacity`` jobs, in the order of the draw. ``quantum`` is not used: this store has plain
        rotation, not the profile QUANTUM (SIM-04). Implements JOB-ADM-01..14, JOB-FAIR-01..05, JOB-STK-01..06,
        JOB-RATE-01..07.

        Raises:
            JobError: Invalid (``bad_lease``).
        """
        arguments.check_texts(worker=worker, lease_id=lease_id)
        named = arguments.sequence("queues", queues, str)
        arguments.check_integers(capacity=capacity, lease_ms=lease_ms, quantum=quantum)
        admission.check_lease_length(lease_ms)
        storable.check_integers(capacity=capacity, lease_ms=lease_ms, quantum=quantum)
        storable.check_texts(worker, lease_id, *named)
        request = admission.Request(worker, lease_id, named, capacity, lease_ms)
        return self._change(lambda view, now_ms: admission.admit(view, request, now_ms))

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
        """End a run. Implements JOB-ACK-01..17, JOB-RATE-08..14.

        Raises:
            JobError: Invalid (``lease_lost_not_ackable``, ``snooze_needs_delay``, ``unknown_outcome``),
                LeaseRejected.
        """
        arguments.check_lease(lease)
        arguments.check_optional_texts(error=error)
        lines = arguments.sequence("logs", logs, str)
        arguments.check_texts(outcome=outcome)
        arguments.check_optional_integers(delay_ms=delay_ms, actual_weight=actual_weight)
        known = arguments.outcome(outcome)
        outcomes.check_report(known, delay_ms)
        self._ack(lease, outcomes.Report(known, error, delay_ms, lines, actual_weight))

    def _ack(self, lease: LeaseRef, report: outcomes.Report) -> None:
        storable.check_integers(delay_ms=report.delay_ms, actual_weight=report.actual_weight)
        storable.check_texts(report.error, *report.logs)
        storable.check_lease(lease)
        backoff = self._shared.backoff
        self._change(lambda view, now_ms: outcomes.ack(view, lease, report, backoff, now_ms))

    def renew(self, *, leases: Sequence[LeaseRef], lease_ms: int) -> list[str]:
        """Move the ends of leases to now plus ``lease_ms``; the ids of those that are lost. Implements
        JOB-RNW-01..05.

        Raises:
            JobError: Invalid (``bad_lease``).
        """
        refs = arguments.leases(leases)
        arguments.check_integers(lease_ms=lease_ms)
        admission.check_lease_length(lease_ms)
        storable.check_integers(lease_ms=lease_ms)
        for ref in refs:
            storable.check_lease(ref)
        return self._change(lambda view, now_ms: outcomes.renew(view, refs, lease_ms, now_ms))

    def checkpoint(self, *, lease: LeaseRef, checkpoint: Checkpoint) -> None:
        """Replace what the next run will be given. Implements JOB-CKP-01..04.

        Raises:
            JobError: LeaseRejected.
        """
        arguments.check_lease(lease)
        left = arguments.checkpoint(checkpoint)
        storable.check_checkpoint(left)
        storable.check_lease(lease)
        self._change(lambda view, _: channels.write_checkpoint(view, lease, left))

    # --- sweeps and duties

    def promote_due(self, *, limit: int) -> int:
        """Make due scheduled and retryable rows available; how many. Implements JOB-PRM-01..04."""
        arguments.check_integers(limit=limit)
        storable.check_integers(limit=limit)
        return self._change(lambda view, now_ms: sweeps.promote_due(view, limit, now_ms))

    def reclaim_expired(self, *, limit: int) -> list[Reclaimed]:
        """Take back leases that have ended. Implements JOB-RCL-01..08, JOB-QUA-01, JOB-QUA-02."""
        arguments.check_integers(limit=limit)
        storable.check_integers(limit=limit)
        crash_limit, backoff = self._shared.crash_limit, self._shared.backoff
        return self._change(lambda view, now_ms: sweeps.reclaim_expired(view, limit, crash_limit, backoff, now_ms))

    def evict_retained(self, *, limit: int) -> int:
        """Delete finished rows whose retention has ended; how many. Implements JOB-EVT-01..05."""
        arguments.check_integers(limit=limit)
        storable.check_integers(limit=limit)
        return self._change(lambda view, now_ms: sweeps.evict_retained(view, limit, now_ms))

    def claim_duty(self, *, name: str, holder: str, lease_ms: int) -> bool:
        """Take or renew a named duty; False while another holds it. Implements JOB-DTY-01, JOB-DTY-02.

        Raises:
            JobError: Invalid (``bad_lease``).
        """
        arguments.check_texts(name=name, holder=holder)
        arguments.check_integers(lease_ms=lease_ms)
        admission.check_lease_length(lease_ms)
        storable.check_integers(lease_ms=lease_ms)
        storable.check_texts(name, holder)
        return self._change(lambda view, now_ms: sweeps.claim_duty(view, name, holder, lease_ms, now_ms))

    def release_duty(self, *, name: str, holder: str) -> None:
        """Give a duty up; silent for anybody but its holder. Implements JOB-DTY-03, JOB-DTY-04."""
        arguments.check_texts(name=name, holder=holder)
        storable.check_texts(name, holder)
        self._change(lambda view, _: sweeps.release_duty(view, name, holder))

    # --- result, output, progress

    def ack_success_with_result(
        self, *, lease: LeaseRef, result: JobResult, logs: Sequence[str], actual_weight: int | None
    ) -> None:
        """Success and a result in one step. Implements JOB-RES-01, JOB-RES-02, JOB-RES-05.

        Raises:
            JobError: Invalid (``schema_zero``, ``schema_too_large``, ``too_large``), LeaseRejected.
        """
        arguments.check_lease(lease)
        arguments.check_versioned(result=result)
        lines = arguments.sequence("logs", logs, str)
        arguments.check_optional_integers(actual_weight=actual_weight)
        channels.check_content(result)
        self._ack(lease, outcomes.Report(Outcome.SUCCESS, logs=lines, actual_weight=actual_weight, result=result))

    def get_job_result(self, *, job_id: str) -> JobResult | None:
        """The result, None if there is none. Implements JOB-RES-03, JOB-RO-01."""
        row = self._row(job_id)
        return row.result if row is not None else None

    def write_job_output(self, *, lease: LeaseRef, output: JobResult) -> JobOutput:
        """Replace the output of a running job. Implements JOB-OUT-01, JOB-OUT-02.

        Raises:
            JobError: Invalid (``schema_zero``, ``schema_too_large``, ``too_large``), LeaseRejected.
        """
        arguments.check_lease(lease)
        arguments.check_versioned(output=output)
        channels.check_content(output)
        storable.check_lease(lease)
        return self._change(lambda view, now_ms: channels.write_output(view, lease, output, now_ms))

    def get_job_output(self, *, job_id: str) -> JobOutput | None:
        """The output as written last, None if never. Implements JOB-OUT-03, JOB-RO-01."""
        row = self._row(job_id)
        return row.output if row is not None else None

    def write_job_progress(self, *, lease: LeaseRef, progress: ProgressUpdate) -> JobProgress:
        """Replace the progress of a running job. Implements JOB-PRG-01, JOB-PRG-02.

        Raises:
            JobError: Invalid (``progress_zero_total``, ``progress_over_total``, ``progress_total_too_large``,
                ``progress_message_too_long``, ``progress_message_nul``), LeaseRejected.
        """
        arguments.check_lease(lease)
        arguments.check_progress(progress)
        channels.check_progress(progress)
        storable.check_lease(lease)
        return self._change(lambda view, now_ms: channels.write_progress(view, lease, progress, now_ms))

    def get_job_progress(self, *, job_id: str) -> JobProgress | None:
        """The progress as written last, None if never. Implements JOB-PRG-04, JOB-RO-01."""
        row = self._row(job_id)
        return row.progress if row is not None else None
