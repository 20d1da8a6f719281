"""The verbs of operators: profiles PAUSE, RATE, BACKPRESSURE and INSPECT."""

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
from workstore.memory.jobs import arguments, buckets, inspection, operators, storable
from workstore.memory.jobs.handle import Handle
from workstore.memory.jobs.tables import View


class Operators(Handle):
    """What people do to jobs and queues. A verb on a job raises NotFound where there is none, and Invalid
    (``wrong_state``) where its state does not allow it (JOB-OPR-01)."""

    # --- queues and rate classes

    def pause_queue(self, *, queue: str) -> None:
        """Admit nothing from this queue any more. Implements JOB-PAU-01..03."""
        arguments.check_texts(queue=queue)
        storable.check_texts(queue)
        self._change(lambda view, _: view.pauses.put(queue, True))

    def unpause_queue(self, *, queue: str) -> None:
        """Admit from it again. Implements JOB-PAU-03."""
        arguments.check_texts(queue=queue)
        storable.check_texts(queue)
        self._change(lambda view, _: view.pauses.remove(queue))

    def set_enqueue_limit(self, *, queue: str, limit: int | None) -> None:
        """Bound the unfinished jobs of a queue; None removes the bound. Implements JOB-BPR-01, JOB-BPR-07.

        Raises:
            JobError: Invalid (``bad_limit``).
        """
        arguments.check_texts(queue=queue)
        if limit is not None:
            arguments.check_integers(limit=limit)
        operators.check_enqueue_limit(limit)
        storable.check_texts(queue)
        self._change(lambda view, _: operators.set_enqueue_limit(view, queue, limit))

    def set_rate_limit(self, *, name: str, limit: int, window_ms: int, burst: int) -> None:
        """Make or reset the bucket of a class: full, refilled now. Implements JOB-RATE-15."""
        arguments.check_texts(name=name)
        arguments.check_integers(limit=limit, window_ms=window_ms, burst=burst)
        storable.check_integers(limit=limit, window_ms=window_ms, burst=burst)
        storable.check_texts(name)

        def decide(view: View, now_ms: int) -> None:
            view.buckets.put(name, buckets.reset(limit, window_ms, burst, now_ms))

        self._change(decide)

    def upsert_rate_class(self, *, name: str, limit: int, window_ms: int, burst: int, paused: bool) -> None:
        """Configure a rate class without giving tokens away. Implements JOB-RATE-16, P-03.

        Raises:
            JobError: Invalid (``bad_rate_class``).
        """
        arguments.check_texts(name=name)
        arguments.check_integers(limit=limit, window_ms=window_ms, burst=burst)
        arguments.check_flags(paused=paused)
        buckets.check_rate_class(limit, window_ms, burst)
        storable.check_texts(name)

        def decide(view: View, now_ms: int) -> None:
            bucket = buckets.configured(view.buckets.get(name), limit, window_ms, burst, paused, now_ms)
            view.buckets.put(name, bucket)

        self._change(decide)

    def get_rate_class(self, *, name: str) -> RateClass | None:
        """A class with the tokens that it has now, None if it is not configured. Implements JOB-RATE-17."""
        arguments.check_texts(name=name)
        storable.check_texts(name)
        return self._look(lambda tables, now_ms: inspection.rate_class(tables, name, now_ms))

    # --- reading

    def get_job(self, *, job_id: str, include_payload: bool) -> Job | None:
        """One row, None if absent. Implements JOB-INS-01..03."""
        if type(include_payload) is not bool:
            arguments.check_flags(include_payload=include_payload)
        row = self._row(job_id)
        return inspection.job_of(row, include_payload) if row is not None else None

    def list_jobs(self, *, where: JobFilter, cursor: str | None, limit: int) -> JobPage:
        """A page of rows in id order. Implements JOB-INS-04.

        Raises:
            JobError: Invalid (``bad_page_limit``).
        """
        asked = arguments.job_filter(where)
        arguments.check_optional_texts(cursor=cursor)
        arguments.check_integers(limit=limit)
        inspection.check_page_limit(limit)
        storable.check_filter(asked, cursor)
        return self._look(lambda tables, _: inspection.list_jobs(tables, asked, cursor, limit))

    def counts(self, *, queue: str | None) -> JobCounts:
        """Rows by state, of one queue or of all. Implements JOB-INS-05."""
        arguments.check_optional_texts(queue=queue)
        storable.check_texts(queue)
        return self._look(lambda tables, _: inspection.counts(tables, queue))

    def queue_stats(self) -> list[QueueStats]:
        """Every known queue by name. Implements JOB-INS-06, JOB-BPR-11, JOB-BPR-12, P-11, P-13."""
        return self._look(inspection.queue_stats)

    def explain_admission(self, *, job_id: str) -> AdmissionExplanation:
        """What stands against admitting a row now. Implements JOB-INS-07.

        Raises:
            JobError: NotFound.
        """
        arguments.check_texts(job_id=job_id)
        storable.check_texts(job_id)
        return self._look(lambda tables, now_ms: inspection.explain_admission(tables, job_id, now_ms))

    def distinct_kinds(self, *, limit: int) -> list[str]:
        """Kinds among waiting rows. Implements JOB-INS-08."""
        arguments.check_integers(limit=limit)
        storable.check_integers(limit=limit)
        return self._look(lambda tables, _: inspection.distinct_kinds(tables, limit))

    def get_checkpoint(self, *, job_id: str) -> Checkpoint | None:
        """The checkpoint as it stands, an empty one where none was written. Implements JOB-CKP-05."""
        row = self._row(job_id)
        return row.checkpoint if row is not None else None

    # --- jobs

    def operator_cancel(self, *, job_id: str) -> None:
        """Stop a job that has not finished. Implements JOB-OPR-02, JOB-OPR-03.

        Raises:
            JobError: NotFound, Invalid.
        """
        arguments.check_texts(job_id=job_id)
        storable.check_texts(job_id)
        self._change(lambda view, now_ms: operators.cancel(view, job_id, now_ms))

    def operator_retry(self, *, job_id: str) -> None:
        """Make an archived, cancelled or undecodable job available again. Implements JOB-OPR-04..06.

        Raises:
            JobError: NotFound, Invalid, Duplicate (another live row holds the key).
        """
        arguments.check_texts(job_id=job_id)
        storable.check_texts(job_id)
        self._change(lambda view, now_ms: operators.retry(view, job_id, now_ms))

    def promote_job(self, *, job_id: str) -> None:
        """Make a pending job available. Implements JOB-OPR-07.

        Raises:
            JobError: NotFound, Invalid.
        """
        arguments.check_texts(job_id=job_id)
        storable.check_texts(job_id)
        self._change(lambda view, now_ms: operators.promote(view, job_id, now_ms))

    def schedule_pending_job(self, *, job_id: str, at_ms: int) -> None:
        """Give a pending job a due time. Implements JOB-OPR-08.

        Raises:
            JobError: NotFound, Invalid.
        """
        arguments.check_texts(job_id=job_id)
        arguments.check_integers(at_ms=at_ms)
        storable.check_integers(at_ms=at_ms)
        storable.check_texts(job_id)
        self._change(lambda view, _: operators.schedule_pending(view, job_id, at_ms))

    def reschedule_job(self, *, job_id: str, at_ms: int) -> None:
        """Move the due time of a scheduled or retryable job. Implements JOB-OPR-09.

        Raises:
            JobError: NotFound, Invalid.
        """
        arguments.check_texts(job_id=job_id)
        arguments.check_integers(at_ms=at_ms)
        storable.check_integers(at_ms=at_ms)
        storable.check_texts(job_id)
        self._change(lambda view, _: operators.reschedule(view, job_id, at_ms))

    def edit_payload(self, *, job_id: str, payload: bytes, schema_version: int, fingerprint: str) -> None:
        """Replace the payload of a job that does not run. Implements JOB-OPR-10, P-12.

        Raises:
            JobError: NotFound, Invalid (``wrong_state``, ``bad_schema_version``, ``payload_too_large``).
        """
        arguments.check_texts(job_id=job_id, fingerprint=fingerprint)
        arguments.check_bytes(payload=payload)
        arguments.check_integers(schema_version=schema_version)
        operators.check_edit(payload, schema_version)
        storable.check_texts(job_id, fingerprint)
        self._change(lambda view, _: operators.edit_payload(view, job_id, payload, schema_version, fingerprint))

    def delete_job(self, *, job_id: str) -> None:
        """Remove a job that does not run. Implements JOB-OPR-11.

        Raises:
            JobError: NotFound, Invalid.
        """
        arguments.check_texts(job_id=job_id)
        storable.check_texts(job_id)
        self._change(lambda view, _: operators.delete(view, job_id))

    # --- quarantine

    def sweep_quarantined(self, *, limit: int) -> int:
        """Park waiting rows of registered fingerprints; how many. Implements JOB-QUA-04, P-08."""
        arguments.check_integers(limit=limit)
        storable.check_integers(limit=limit)
        with self._opened() as shared:
            registered = tuple(shared.tables.registry)
            return self._change(lambda view, now_ms: operators.sweep_quarantined(view, registered, limit, now_ms))

    def release_fingerprint(self, *, fingerprint: str) -> int:
        """Take a fingerprint off the register and free its rows; how many. Implements JOB-QUA-05, JOB-QUA-06, P-09.

        Raises:
            JobError: NotFound.
        """
        arguments.check_texts(fingerprint=fingerprint)
        storable.check_texts(fingerprint)
        return self._change(lambda view, now_ms: operators.release_fingerprint(view, fingerprint, now_ms))

    def list_quarantined(self) -> list[QuarantineEntry]:
        """The register by fingerprint. Implements JOB-QUA-07."""
        return self._look(lambda tables, _: [tables.registry[name] for name in sorted(tables.registry)])
