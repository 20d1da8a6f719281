"""The ports of the jobs contract: what a store offers, one Protocol per profile that has methods of its own.

All arguments are keywords. A method returns its value or raises `JobError`; `StoreUnavailable` says that the storage is
busy, full or broken; a wrong Python type is a `TypeError` before anything is read. A method that an object lacks is a
method that it does not claim. Time is the store's own clock, read once by each call (JOB-GEN-02, JOB-GEN-03).

The profiles CORE, LIMITS, DURABLE and WRITERS add no methods beyond `JobStore`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from workspec.jobs.vocabulary import (
    AdmissionExplanation,
    AdmissionUnit,
    Checkpoint,
    Envelope,
    Job,
    JobCounts,
    JobFilter,
    JobOutput,
    JobPage,
    JobProgress,
    JobResult,
    LeaseRef,
    Outcome,
    ProgressUpdate,
    QuarantineEntry,
    QueueStats,
    RateClass,
    Reclaimed,
)


@runtime_checkable
class JobStore(Protocol):
    """Profile CORE."""

    def enqueue(self, *, envelopes: Sequence[Envelope]) -> None:
        """Store a batch, all of it or nothing (JOB-ENQ, JOB-UNQ).

        Raises:
            JobError: Invalid, IdConflict, Quarantined, Duplicate (``replaced``: the edit of the holder is committed),
                Backpressure.
        """

    def enqueue_without_uniqueness(self, *, envelopes: Sequence[Envelope]) -> None:
        """The same with the uniqueness of this one call blanked, for tests (JOB-ENQ-16).

        Raises:
            JobError: as `enqueue`, without Duplicate.
        """

    def admit(
        self, *, worker: str, lease_id: str, queues: Sequence[str], capacity: int, lease_ms: int, quantum: int
    ) -> Sequence[AdmissionUnit]:
        """Lease up to ``capacity`` jobs to a worker, in the order of the draw (JOB-ADM, JOB-FAIR, JOB-STK, JOB-RATE).

        Raises:
            JobError: Invalid (``bad_lease``).
        """

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
        """

    def renew(self, *, leases: Sequence[LeaseRef], lease_ms: int) -> Sequence[str]:
        """Move the ends of leases to now plus ``lease_ms``; the ids of those that are lost, in order (JOB-RNW).

        Raises:
            JobError: Invalid (``bad_lease``).
        """

    def checkpoint(self, *, lease: LeaseRef, checkpoint: Checkpoint) -> None:
        """Replace what the next run will be given (JOB-CKP).

        Raises:
            JobError: LeaseRejected.
        """

    def promote_due(self, *, limit: int) -> int:
        """Make due scheduled and retryable rows available; how many (JOB-PRM)."""

    def reclaim_expired(self, *, limit: int) -> Sequence[Reclaimed]:
        """Take back leases that have ended (JOB-RCL)."""

    def evict_retained(self, *, limit: int) -> int:
        """Delete finished rows whose retention has ended; how many (JOB-EVT)."""

    def claim_duty(self, *, name: str, holder: str, lease_ms: int) -> bool:
        """Take or renew a named duty; False while another holds it (JOB-DTY).

        Raises:
            JobError: Invalid (``bad_lease``).
        """

    def release_duty(self, *, name: str, holder: str) -> None:
        """Give a duty up; silent for anybody but its holder (JOB-DTY-03)."""


@runtime_checkable
class PauseStore(Protocol):
    """Profile PAUSE."""

    def pause_queue(self, *, queue: str) -> None:
        """Admit nothing from this queue any more (JOB-PAU-01)."""

    def unpause_queue(self, *, queue: str) -> None:
        """Admit from it again (JOB-PAU-03)."""


@runtime_checkable
class RateStore(Protocol):
    """Profile RATE."""

    def set_rate_limit(self, *, name: str, limit: int, window_ms: int, burst: int) -> None:
        """Make or reset the bucket of a class: full, refilled now (JOB-RATE-15)."""


@runtime_checkable
class ResultStore(Protocol):
    """Profile RESULT."""

    def ack_success_with_result(
        self, *, lease: LeaseRef, result: JobResult, logs: Sequence[str], actual_weight: int | None
    ) -> None:
        """Success and a result in one step (JOB-RES-01, JOB-RES-02).

        Raises:
            JobError: Invalid (``schema_zero``, ``schema_too_large``, ``too_large``), LeaseRejected.
        """

    def get_job_result(self, *, job_id: str) -> JobResult | None:
        """The result, None if there is none (JOB-RES-03)."""


@runtime_checkable
class OutputStore(Protocol):
    """Profile OUTPUT."""

    def write_job_output(self, *, lease: LeaseRef, output: JobResult) -> JobOutput:
        """Replace the output of a running job (JOB-OUT-01).

        Raises:
            JobError: Invalid (``schema_zero``, ``schema_too_large``, ``too_large``), LeaseRejected.
        """

    def get_job_output(self, *, job_id: str) -> JobOutput | None:
        """The output as written last, None if never (JOB-OUT-03)."""


@runtime_checkable
class ProgressStore(Protocol):
    """Profile PROGRESS."""

    def write_job_progress(self, *, lease: LeaseRef, progress: ProgressUpdate) -> JobProgress:
        """Replace the progress of a running job (JOB-PRG-01).

        Raises:
            JobError: Invalid (``progress_zero_total``, ``progress_over_total``, ``progress_total_too_large``,
                ``progress_message_too_long``, ``progress_message_nul``), LeaseRejected.
        """

    def get_job_progress(self, *, job_id: str) -> JobProgress | None:
        """The progress as written last, None if never (JOB-PRG-04)."""


@runtime_checkable
class ClockStore(Protocol):
    """Profile CLOCK: the store's own clock, which a test can stop and step."""

    def freeze_clock(self, *, at_ms: int) -> None:
        """Stop the clock at an instant (JOB-CLK-01)."""

    def advance_clock(self, *, delta_ms: int) -> None:
        """Step a stopped clock; a running one is stopped first (JOB-CLK-03)."""

    def unfreeze_clock(self) -> None:
        """Return to the time of the system."""


@runtime_checkable
class BackpressureStore(Protocol):
    """Profile BACKPRESSURE."""

    def set_enqueue_limit(self, *, queue: str, limit: int | None) -> None:
        """Bound the unfinished jobs of a queue; None removes the bound (JOB-BPR-01).

        Raises:
            JobError: Invalid (``bad_limit``).
        """


@runtime_checkable
class InspectStore(Protocol):
    """Profile INSPECT: what operators read and do. A verb on a job raises NotFound where there is none, and Invalid
    (``wrong_state``, with the state) where its state does not allow it (JOB-OPR-01)."""

    def get_job(self, *, job_id: str, include_payload: bool) -> Job | None:
        """One row, None if absent; payload and headers only when asked for (JOB-INS-01)."""

    def list_jobs(self, *, where: JobFilter, cursor: str | None, limit: int) -> JobPage:
        """A page of rows in id order (JOB-INS-04).

        Raises:
            JobError: Invalid (``bad_page_limit``).
        """

    def counts(self, *, queue: str | None) -> JobCounts:
        """Rows by state, of one queue or of all (JOB-INS-05)."""

    def queue_stats(self) -> Sequence[QueueStats]:
        """Every known queue by name (JOB-INS-06, P-13)."""

    def explain_admission(self, *, job_id: str) -> AdmissionExplanation:
        """What stands against admitting a row now (JOB-INS-07).

        Raises:
            JobError: NotFound.
        """

    def distinct_kinds(self, *, limit: int) -> Sequence[str]:
        """Kinds among waiting rows (JOB-INS-08)."""

    def get_checkpoint(self, *, job_id: str) -> Checkpoint | None:
        """The checkpoint as it stands; an empty one where none was written, None without a row (JOB-CKP-05)."""

    def operator_cancel(self, *, job_id: str) -> None:
        """Stop a job that has not finished (JOB-OPR-02).

        Raises:
            JobError: NotFound, Invalid.
        """

    def operator_retry(self, *, job_id: str) -> None:
        """Make an archived, cancelled or undecodable job available again (JOB-OPR-04).

        Raises:
            JobError: NotFound, Invalid, Duplicate (another live row holds the key).
        """

    def promote_job(self, *, job_id: str) -> None:
        """Make a pending job available (JOB-OPR-07).

        Raises:
            JobError: NotFound, Invalid.
        """

    def schedule_pending_job(self, *, job_id: str, at_ms: int) -> None:
        """Give a pending job a due time (JOB-OPR-08).

        Raises:
            JobError: NotFound, Invalid.
        """

    def reschedule_job(self, *, job_id: str, at_ms: int) -> None:
        """Move the due time of a scheduled or retryable job (JOB-OPR-09).

        Raises:
            JobError: NotFound, Invalid.
        """

    def edit_payload(self, *, job_id: str, payload: bytes, schema_version: int, fingerprint: str) -> None:
        """Replace the payload of a job that does not run (JOB-OPR-10).

        Raises:
            JobError: NotFound, Invalid (``wrong_state``, ``bad_schema_version``, ``payload_too_large``).
        """

    def delete_job(self, *, job_id: str) -> None:
        """Remove a job that does not run (JOB-OPR-11).

        Raises:
            JobError: NotFound, Invalid.
        """

    def sweep_quarantined(self, *, limit: int) -> int:
        """Park waiting rows of registered fingerprints; how many (JOB-QUA-04)."""

    def release_fingerprint(self, *, fingerprint: str) -> int:
        """Take a fingerprint off the register and free its rows; how many (JOB-QUA-05).

        Raises:
            JobError: NotFound.
        """

    def list_quarantined(self) -> Sequence[QuarantineEntry]:
        """The register by fingerprint (JOB-QUA-07)."""

    def upsert_rate_class(self, *, name: str, limit: int, window_ms: int, burst: int, paused: bool) -> None:
        """Configure a rate class without giving tokens away (JOB-RATE-16).

        Raises:
            JobError: Invalid (``bad_rate_class``).
        """

    def get_rate_class(self, *, name: str) -> RateClass | None:
        """A class with the tokens that it has now, None if it is not configured (JOB-RATE-17)."""


class Transaction(Protocol):
    """What one caller does as one commit. After `commit` or `rollback` it is of no use any more: Invalid
    (``foreign_transaction``)."""

    def commit(self) -> None:
        """Make all of it visible.

        Raises:
            StoreUnavailable: definite; what was read does not hold any more, nothing was written (P-07).
        """

    def rollback(self) -> None:
        """Leave no trace of it."""


@runtime_checkable
class TransactionalStore(Protocol):
    """Profile TXN. A transaction of another store is Invalid (``foreign_transaction``)."""

    def begin(self) -> Transaction:
        """Open a transaction."""

    def enqueue_tx(self, *, transaction: Transaction, envelopes: Sequence[Envelope]) -> None:
        """`JobStore.enqueue` inside it; a refusal does not end it (JOB-TXN-02).

        Raises:
            JobError: as `JobStore.enqueue`.
        """

    def complete_tx(self, *, transaction: Transaction, lease: LeaseRef, actual_weight: int | None) -> None:
        """Success inside it (JOB-TXN-03).

        Raises:
            JobError: LeaseRejected, Invalid.
        """

    def checkpoint_tx(self, *, transaction: Transaction, lease: LeaseRef, checkpoint: Checkpoint) -> None:
        """A checkpoint inside it (JOB-TXN-05).

        Raises:
            JobError: LeaseRejected, Invalid.
        """

    def claim_effect(self, *, transaction: Transaction, key: str) -> bool:
        """True the first time that this key is claimed, False once a commit has claimed it (JOB-TXN-04).

        Raises:
            JobError: Invalid (``empty_effect_key``, ``foreign_transaction``).
        """
