"""The refusals of the contract, each with its details (section 4)."""

from __future__ import annotations

from workspec.jobs.vocabulary import ErrorCode, JobError


def invalid(reason: str) -> JobError:
    """The call is malformed, or names an edge that is none."""
    return JobError(ErrorCode.INVALID, {"reason": reason}, f"Invalid: {reason}. Correct the call; nothing was done.")


def wrong_state(job_id: str, state: str) -> JobError:
    """The job exists, and its state does not allow this verb (JOB-OPR-01)."""
    return JobError(
        ErrorCode.INVALID,
        {"reason": "wrong_state", "state": state},
        f"Job {job_id!r} is {state}, which does not allow this. Look at it with get_job.",
    )


def not_found(what: str, name: str) -> JobError:
    """The addressed thing is not there."""
    return JobError(ErrorCode.NOT_FOUND, {"what": what, "id": name}, f"There is no {what} {name!r} in this store.")


def duplicate(existing_id: str, replaced: bool) -> JobError:
    """The uniqueness key is held; with ``replaced`` the holder was edited (JOB-UNQ-09)."""
    return JobError(
        ErrorCode.DUPLICATE,
        {"existing_id": existing_id, "replaced": replaced},
        f"Job {existing_id!r} holds this key. {'It was edited.' if replaced else 'Nothing was written.'}",
    )


def id_conflict(job_id: str) -> JobError:
    """The id names other content, or came twice in one batch (JOB-ENQ-04, JOB-ENQ-06)."""
    return JobError(
        ErrorCode.ID_CONFLICT,
        {"job_id": job_id},
        f"Id {job_id!r} names a job of other content, or came twice. Give each job an id of its own.",
    )


def quarantined(fingerprint: str) -> JobError:
    """Jobs of this fingerprint lost their lease too often (JOB-ENQ-09)."""
    return JobError(
        ErrorCode.QUARANTINED,
        {"fingerprint": fingerprint},
        f"Fingerprint {fingerprint!r} is quarantined. Find out what kills its workers, then release it.",
    )


def backpressure(queue: str, limit: int, current: int, incoming: int) -> JobError:
    """The queue would pass its limit of unfinished jobs (JOB-BPR-03)."""
    return JobError(
        ErrorCode.BACKPRESSURE,
        {"queue": queue, "limit": limit, "current": current, "incoming": incoming},
        f"Queue {queue!r} holds {current} unfinished jobs of at most {limit}. Enqueue later.",
    )


def lease_rejected(job_id: str) -> JobError:
    """The caller does not hold this job any more (JOB-ACK-01)."""
    return JobError(
        ErrorCode.LEASE_REJECTED,
        {"job_id": job_id},
        f"Another holds job {job_id!r}, or nobody does. Stop working on it and report nothing.",
    )
