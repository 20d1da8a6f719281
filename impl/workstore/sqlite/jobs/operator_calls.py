"""The calls of operators: profiles INSPECT, PAUSE, RATE and BACKPRESSURE."""

from __future__ import annotations

from workspec.jobs.vocabulary import (
    AdmissionExplanation,
    Checkpoint,
    Job,
    JobCounts,
    JobFilter,
    JobPage,
    QuarantineEntry,
    QueueStats,
    RateClass,
)

from ..arguments import (
    require_bool,
    require_integers,
    require_optional_integers,
    require_optional_texts,
    require_texts,
)
from . import buckets, checkpoints, inspection, operators, quarantine, queues
from .arguments import (
    refuse_instants_out_of_range,
    refuse_unstorable_filter,
    refuse_unstorable_texts,
    require_bytes,
    require_filter,
)
from .numbers import GREATEST_INSTANT
from .refusals import invalid
from .validation import GREATEST_PAYLOAD, GREATEST_SCHEMA_VERSION
from .worker import WorkerCalls, checked_id

_GREATEST_PAGE = 200


class OperatorCalls(WorkerCalls):
    """What operators read and do. A verb on a job raises NotFound where there is none, and Invalid (``wrong_state``,
    with the state) where its state does not allow it (JOB-OPR-01); each raises `StoreUnavailable` where the file is
    busy, full or broken."""

    def pause_queue(self, *, queue: str) -> None:
        """Admit nothing from this queue any more (JOB-PAU-01)."""
        _checked_name(queue)
        self._write(lambda connection, _: queues.pause(connection, queue))

    def unpause_queue(self, *, queue: str) -> None:
        """Admit from it again (JOB-PAU-03)."""
        _checked_name(queue)
        self._write(lambda connection, _: queues.unpause(connection, queue))

    def set_rate_limit(self, *, name: str, limit: int, window_ms: int, burst: int) -> None:
        """Make or reset the bucket of a class: full, refilled now (JOB-RATE-15).

        Raises:
            JobError: Invalid (``out_of_range``).
        """
        require_texts(name=name)
        require_integers(limit=limit, window_ms=window_ms, burst=burst)
        refuse_instants_out_of_range(limit, window_ms, burst)
        refuse_unstorable_texts(name)
        self._write(lambda connection, now: buckets.reset(connection, now, name, limit, window_ms, burst))

    def set_enqueue_limit(self, *, queue: str, limit: int | None) -> None:
        """Bound the unfinished jobs of a queue; None removes the bound (JOB-BPR-01).

        Raises:
            JobError: Invalid (``bad_limit``).
        """
        require_texts(queue=queue)
        require_optional_integers(limit=limit)
        if limit is not None and not 0 <= limit <= GREATEST_INSTANT:
            raise invalid("bad_limit")
        refuse_unstorable_texts(queue)
        self._write(lambda connection, _: queues.set_limit(connection, queue, limit))

    def get_job(self, *, job_id: str, include_payload: bool) -> Job | None:
        """One row, None if absent; payload and headers only when asked for (JOB-INS-01)."""
        require_bool(include_payload=include_payload)
        checked_id(job_id)
        read = self._connection.read
        # One statement needs no transaction, which costs as much as two of them.
        whole, job = read(lambda connection: inspection.get_job_at_once(connection, job_id, include_payload))
        if whole:
            return job
        return self._connection.view(lambda connection: inspection.get_job(connection, job_id, include_payload))

    def list_jobs(self, *, where: JobFilter, cursor: str | None, limit: int) -> JobPage:
        """A page of rows in id order (JOB-INS-04).

        Raises:
            JobError: Invalid (``bad_page_limit``).
        """
        require_filter(where)
        require_optional_texts(cursor=cursor)
        require_integers(limit=limit)
        if not 1 <= limit <= _GREATEST_PAGE:
            raise invalid("bad_page_limit")
        refuse_unstorable_filter(where, cursor)
        return self._connection.view(lambda connection: inspection.list_jobs(connection, where, cursor, limit))

    def counts(self, *, queue: str | None) -> JobCounts:
        """Rows by state, of one queue or of all; never approximate (JOB-INS-05)."""
        require_optional_texts(queue=queue)
        refuse_unstorable_texts(queue)
        return self._connection.read(lambda connection: inspection.counts(connection, queue))

    def queue_stats(self) -> list[QueueStats]:
        """Every known queue by name (JOB-INS-06, P-13)."""
        return self._read(inspection.queue_stats)

    def explain_admission(self, *, job_id: str) -> AdmissionExplanation:
        """What stands against admitting a row now (JOB-INS-07).

        Raises:
            JobError: NotFound.
        """
        checked_id(job_id)
        return self._read(lambda connection, now: inspection.explain(connection, now, job_id))

    def distinct_kinds(self, *, limit: int) -> list[str]:
        """Kinds among waiting rows (JOB-INS-08)."""
        require_integers(limit=limit)
        refuse_instants_out_of_range(limit)
        return self._connection.view(lambda connection: inspection.distinct_kinds(connection, limit))

    def get_checkpoint(self, *, job_id: str) -> Checkpoint | None:
        """The checkpoint as it stands; an empty one where none was written, None without a row (JOB-CKP-05)."""
        checked_id(job_id)
        return self._connection.read(lambda connection: checkpoints.of_job(connection, job_id))

    def operator_cancel(self, *, job_id: str) -> None:
        """Stop a job that has not finished (JOB-OPR-02).

        Raises:
            JobError: NotFound, Invalid.
        """
        checked_id(job_id)
        self._write(lambda connection, now: operators.cancel(connection, now, job_id))

    def operator_retry(self, *, job_id: str) -> None:
        """Make an archived, cancelled or undecodable job available again (JOB-OPR-04).

        Raises:
            JobError: NotFound, Invalid, Duplicate (another live row holds the key).
        """
        checked_id(job_id)
        self._write(lambda connection, now: operators.retry(connection, now, job_id))

    def promote_job(self, *, job_id: str) -> None:
        """Make a pending job available (JOB-OPR-07).

        Raises:
            JobError: NotFound, Invalid.
        """
        checked_id(job_id)
        self._write(lambda connection, now: operators.promote(connection, now, job_id))

    def schedule_pending_job(self, *, job_id: str, at_ms: int) -> None:
        """Give a pending job a due time (JOB-OPR-08).

        Raises:
            JobError: NotFound, Invalid.
        """
        _checked_instant(job_id, at_ms)
        self._write(lambda connection, _: operators.schedule_pending(connection, job_id, at_ms))

    def reschedule_job(self, *, job_id: str, at_ms: int) -> None:
        """Move the due time of a scheduled or retryable job (JOB-OPR-09).

        Raises:
            JobError: NotFound, Invalid.
        """
        _checked_instant(job_id, at_ms)
        self._write(lambda connection, _: operators.reschedule(connection, job_id, at_ms))

    def edit_payload(self, *, job_id: str, payload: bytes, schema_version: int, fingerprint: str) -> None:
        """Replace the payload of a job that does not run (JOB-OPR-10).

        Raises:
            JobError: NotFound, Invalid (``wrong_state``, ``bad_schema_version``, ``payload_too_large``).
        """
        require_texts(job_id=job_id, fingerprint=fingerprint)
        require_bytes(payload=payload)
        require_integers(schema_version=schema_version)
        if not 1 <= schema_version <= GREATEST_SCHEMA_VERSION:
            raise invalid("bad_schema_version")
        if len(payload) > GREATEST_PAYLOAD:
            raise invalid("payload_too_large")
        refuse_unstorable_texts(job_id, fingerprint)
        self._write(
            lambda connection, _: operators.edit_payload(connection, job_id, payload, schema_version, fingerprint)
        )

    def delete_job(self, *, job_id: str) -> None:
        """Remove a job that does not run (JOB-OPR-11).

        Raises:
            JobError: NotFound, Invalid.
        """
        checked_id(job_id)
        self._write(lambda connection, _: operators.delete(connection, job_id))

    def sweep_quarantined(self, *, limit: int) -> int:
        """Park waiting rows of registered fingerprints; how many (JOB-QUA-04)."""
        require_integers(limit=limit)
        refuse_instants_out_of_range(limit)
        return self._write(lambda connection, now: quarantine.sweep(connection, now, limit))

    def release_fingerprint(self, *, fingerprint: str) -> int:
        """Take a fingerprint off the register and free its rows; how many (JOB-QUA-05).

        Raises:
            JobError: NotFound.
        """
        require_texts(fingerprint=fingerprint)
        refuse_unstorable_texts(fingerprint)
        return self._write(lambda connection, now: quarantine.release(connection, now, fingerprint))

    def list_quarantined(self) -> list[QuarantineEntry]:
        """The register by fingerprint (JOB-QUA-07)."""
        return self._connection.view(quarantine.registered)

    def upsert_rate_class(self, *, name: str, limit: int, window_ms: int, burst: int, paused: bool) -> None:
        """Configure a rate class without giving tokens away (JOB-RATE-16).

        Raises:
            JobError: Invalid (``bad_rate_class``).
        """
        require_texts(name=name)
        require_integers(limit=limit, window_ms=window_ms, burst=burst)
        require_bool(paused=paused)
        if window_ms < 1 or limit < 0 or burst < 1 or max(window_ms, limit, burst) > GREATEST_INSTANT:
            raise invalid("bad_rate_class")
        refuse_unstorable_texts(name)
        wanted = RateClass(name, limit, window_ms, burst, paused, available_tokens=burst)
        self._write(lambda connection, now: buckets.configure(connection, now, wanted))

    def get_rate_class(self, *, name: str) -> RateClass | None:
        """A class with the tokens that it has now, None if it is not configured (JOB-RATE-17)."""
        _checked_name(name)
        return self._read(lambda connection, now: inspection.rate_class(connection, now, name))


def _checked_name(name: str) -> None:
    require_texts(name=name)
    refuse_unstorable_texts(name)


def _checked_instant(job_id: str, at_ms: int) -> None:
    require_texts(job_id=job_id)
    require_integers(at_ms=at_ms)
    refuse_instants_out_of_range(at_ms)
    refuse_unstorable_texts(job_id)
