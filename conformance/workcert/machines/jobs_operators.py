"""Rules of the jobs machine for operators: settings, verbs on single jobs, quarantine, reads."""

from __future__ import annotations

from typing import Any, Final

from workcert.machines.envelopes import CLASSES, FILTERS, LEASE_IDS, QUEUES, TOO_LARGE, WORKERS
from workcert.machines.jobs_history import JobsHistory
from workcert.machines.jobs_state import REFILL
from workcert.machines.rules import precondition, rule
from workcert.machines.sources import flag, of, one_of
from workcert.references import Ref

HANDLE, AT, JOB = of("handles"), of("any_time"), of("jobs")
QUEUE: Final = one_of(QUEUES)
MOST_PAGES: Final = 9
FROM_NOW_MS: Final = (0, 700, -1)


class Operators(JobsHistory):
    """What operators set, do and read."""

    # Settings ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.can("pause_queue", 4))
    @rule(on=HANDLE, queue=QUEUE, other=HANDLE, worker=one_of(WORKERS), lasting=flag())
    def pause_queue(self, on: str, queue: str, other: str, worker: str, lasting: bool) -> None:
        """A pause, through whichever handle, and somebody who asks for work from there and elsewhere."""
        self.do(on, "pause_queue", queue=queue)
        if self.can("admit"):
            self.admit(other, worker, LEASE_IDS[0], [queue, *QUEUES], 2, 1000, self.now_ms)
        if not lasting and self.can("unpause_queue"):
            self.do(other, "unpause_queue", queue=queue)

    @precondition(lambda self: self.can("unpause_queue", *((0, 1, 2) if self.has_paused() else (5,))))
    @rule(on=HANDLE, queue=QUEUE)
    def unpause_queue(self, on: str, queue: str) -> None:
        self.do(on, "unpause_queue", queue=queue)

    def has_paused(self) -> bool:
        return any(queue.paused for queue in self.present.queues)

    @precondition(lambda self: self.can("set_rate_limit", 5))
    @rule(
        on=HANDLE,
        name=one_of(CLASSES),
        limit=one_of((0, 1, 3, 2)),
        window_ms=one_of((1000, 1000, 60_000, 7)),
        burst=one_of((1, 3, 5)),
        at=AT,
    )
    def set_rate_limit(self, on: str, name: str, limit: int, window_ms: int, burst: int, at: int) -> None:
        self.do(on, "set_rate_limit", at, name=name, limit=limit, window_ms=window_ms, burst=burst)

    @precondition(lambda self: self.can("upsert_rate_class", 1, *((3,) if self.has_paused_class() else ())))
    @rule(
        on=HANDLE,
        name=one_of(CLASSES),
        limit=one_of((1, 3, 0, 1, 3, 0, -1)),
        window_ms=one_of((1000, 1000, 60_000, 1, 1000, 0)),
        burst=one_of((3, 1, 5, 3, 1, 0)),
        paused=one_of((False, False, True)),
        at=of("times", REFILL),
    )
    def upsert_rate_class(
        self, on: str, name: str, limit: int, window_ms: int, burst: int, paused: bool, at: int
    ) -> None:
        self.do(on, "upsert_rate_class", at, name=name, limit=limit, window_ms=window_ms, burst=burst, paused=paused)

    def has_paused_class(self) -> bool:
        return any(bucket.paused for bucket in self.present.buckets)

    @precondition(lambda self: self.can("set_enqueue_limit", 2))
    @rule(on=HANDLE, queue=QUEUE, limit=of("enqueue_limits"))
    def set_enqueue_limit(self, on: str, queue: str, limit: int | None) -> None:
        self.do(on, "set_enqueue_limit", queue=queue, limit=limit)

    # Verbs on one job ----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.can("operator_cancel", 0, 3))
    @rule(on=HANDLE, job=of("jobs_for", "operator_cancel"), at=AT)
    def operator_cancel(self, on: str, job: str, at: int) -> None:
        self.do(on, "operator_cancel", at, job_id=job)

    @precondition(lambda self: self.can("operator_retry", 2, *((5,) if self.may("operator_retry") else ())))
    @rule(on=HANDLE, job=of("jobs_for", "operator_retry"), at=AT)
    def operator_retry(self, on: str, job: str, at: int) -> None:
        self.do(on, "operator_retry", at, job_id=job)

    @precondition(lambda self: self.can("promote_job", 4, *((1,) if self.may("promote_job") else ())))
    @rule(on=HANDLE, job=of("jobs_for", "promote_job"), at=AT)
    def promote_job(self, on: str, job: str, at: int) -> None:
        self.do(on, "promote_job", at, job_id=job)

    @precondition(lambda self: self.can("schedule_pending_job", 5, *((2,) if self.may("promote_job") else ())))
    @rule(on=HANDLE, job=of("jobs_for", "schedule_pending_job"), later_ms=one_of(FROM_NOW_MS), at=AT)
    def schedule_pending_job(self, on: str, job: str, later_ms: int, at: int) -> None:
        self.do(on, "schedule_pending_job", at, job_id=job, at_ms=at + later_ms)

    @precondition(lambda self: self.can("reschedule_job", 3))
    @rule(on=HANDLE, job=of("jobs_for", "reschedule_job"), later_ms=one_of(FROM_NOW_MS), at=AT)
    def reschedule_job(self, on: str, job: str, later_ms: int, at: int) -> None:
        self.do(on, "reschedule_job", at, job_id=job, at_ms=at + later_ms)

    @precondition(lambda self: self.can("edit_payload", 0))
    @rule(
        on=HANDLE,
        job=of("jobs_for", "edit_payload"),
        payload=one_of((b"edited", b"", b"\x00\xff")),
        schema_version=one_of((2, 2_147_483_647, 1, 0, 2_147_483_648, 2)),
        fingerprint=one_of(("f1", "f2", "f9", "")),
    )
    def edit_payload(self, on: str, job: str, payload: bytes, schema_version: int, fingerprint: str) -> None:
        self.do(on, "edit_payload", job_id=job, payload=payload, schema_version=schema_version, fingerprint=fingerprint)

    @precondition(lambda self: self.can("edit_payload", 3) and "LIMITS" in self.profiles)
    @rule(on=HANDLE, job=JOB)
    def edit_payload_too_large(self, on: str, job: str) -> None:
        self.do(on, "edit_payload", job_id=job, payload=TOO_LARGE, schema_version=1, fingerprint="f1")

    @precondition(lambda self: self.can("delete_job", 1))
    @rule(on=HANDLE, job=of("jobs_for", "delete_job"))
    def delete_job(self, on: str, job: str) -> None:
        self.do(on, "delete_job", job_id=job)

    def may(self, verb: str) -> bool:
        """Some row is such as the verb may be used on."""
        return len(self.jobs_for(verb)) > len(self.jobs())

    # Quarantine ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.can("sweep_quarantined", 4, *((1,) if self.present.fingerprints else ())))
    @rule(on=HANDLE, limit=of("limits"))
    def sweep_quarantined(self, on: str, limit: int) -> None:
        self.do(on, "sweep_quarantined", limit=limit)

    @precondition(lambda self: self.can("release_fingerprint", 3, *((0,) if self.present.fingerprints else ())))
    @rule(on=HANDLE, fingerprint=of("fingerprints"), at=AT)
    def release_fingerprint(self, on: str, fingerprint: str, at: int) -> None:
        self.do(on, "release_fingerprint", at, fingerprint=fingerprint)

    @precondition(lambda self: self.can("list_quarantined", 2) and not self.has_just_read())
    @rule()
    def list_quarantined(self) -> None:
        self.each_handle("list_quarantined")

    # Reads ---------------------------------------------------------------------------------------------------------

    def has_just_read(self) -> bool:
        """The last step was a read: another one would show nothing new."""
        return bool(self.made) and getattr(self.made[-1], "call", "") in self.execution.binding.reads

    @precondition(lambda self: self.can("get_job", 0) and not self.has_just_read())
    @rule(job=JOB, include_payload=flag())
    def get_job(self, job: str, include_payload: bool) -> None:
        self.each_handle("get_job", job_id=job, include_payload=include_payload)

    @precondition(lambda self: self.can("list_jobs", 1) and not self.has_just_read())
    @rule(on=HANDLE, where=one_of(FILTERS), limit=one_of((2, 200, 1, 3, 0, 201)))
    def list_jobs(self, on: str, where: dict[str, Any], limit: int) -> None:
        """From the first page to the last, with nothing in between: only then all rows must appear once."""
        cursor: Any = None
        for _ in range(MOST_PAGES):
            step = self.next_id()
            page = self.do(on, "list_jobs", where=where, cursor=cursor, limit=limit)
            if page is None or page.cursor is None:
                return
            cursor = Ref(f"{step}.cursor")

    @precondition(lambda self: self.can("counts", 2) and not self.has_just_read())
    @rule(queue=one_of((None, "q", "default", "nowhere")))
    def counts(self, queue: str | None) -> None:
        self.each_handle("counts", queue=queue)

    @precondition(lambda self: self.can("queue_stats", 3) and not self.has_just_read())
    @rule(at=AT)
    def queue_stats(self, at: int) -> None:
        self.each_handle("queue_stats", at)

    @precondition(lambda self: self.can("distinct_kinds", 5) and not self.has_just_read())
    @rule(limit=one_of((100, 1, 0, 100, -1)))
    def distinct_kinds(self, limit: int) -> None:
        self.each_handle("distinct_kinds", limit=limit)

    @precondition(lambda self: self.can("explain_admission", 4, 5) and not self.has_just_read())
    @rule(job=JOB, at=AT)
    def explain_admission(self, job: str, at: int) -> None:
        self.each_handle("explain_admission", at, job_id=job)

    @precondition(
        lambda self: self.can("get_rate_class", 0, 3) and bool(self.present.buckets) and not self.has_just_read()
    )
    @rule(name=one_of((*CLASSES, "nothing")), at=of("times", REFILL))
    def get_rate_class(self, name: str, at: int) -> None:
        self.each_handle("get_rate_class", at, name=name)

    @precondition(lambda self: self.can("get_checkpoint", 1) and not self.has_just_read())
    @rule(job=JOB)
    def get_checkpoint(self, job: str) -> None:
        self.each_handle("get_checkpoint", job_id=job)

    @precondition(lambda self: self.can("get_job_result", 5) and not self.has_just_read())
    @rule(job=JOB)
    def get_job_result(self, job: str) -> None:
        self.each_handle("get_job_result", job_id=job)

    @precondition(lambda self: self.can("get_job_output", 2) and not self.has_just_read())
    @rule(job=JOB)
    def get_job_output(self, job: str) -> None:
        self.each_handle("get_job_output", job_id=job)

    @precondition(lambda self: self.can("get_job_progress", 3) and not self.has_just_read())
    @rule(job=JOB)
    def get_job_progress(self, job: str) -> None:
        self.each_handle("get_job_progress", job_id=job)
