"""How a refusal is made: one function for each variant of the taxonomy (section 4 of the contract)."""

from __future__ import annotations

from workspec.jobs.vocabulary import ErrorCode, JobError, State


def invalid(reason: str, message: str) -> JobError:
    return JobError(ErrorCode.INVALID, {"reason": reason}, f"Invalid({reason}): {message}")


def wrong_state(job_id: str, state: State, verb: str) -> JobError:
    """An edge that the transition table does not have (JOB-OPR-01, P-01)."""
    return JobError(
        ErrorCode.INVALID,
        {"reason": "wrong_state", "state": state.value},
        f"Invalid(wrong_state): job {job_id} is {state.value}, and {verb} does not apply to that",
    )


def duplicate(existing_id: str, replaced: bool) -> JobError:
    effect = "its row was edited" if replaced else "nothing was changed"
    return JobError(
        ErrorCode.DUPLICATE,
        {"existing_id": existing_id, "replaced": replaced},
        f"Duplicate: job {existing_id} holds this unique key; {effect}",
    )


def id_conflict(job_id: str) -> JobError:
    return JobError(
        ErrorCode.ID_CONFLICT,
        {"job_id": job_id},
        f"IdConflict: {job_id} names a job of other content, or stands twice in the batch; use another id",
    )


def quarantined(fingerprint: str) -> JobError:
    return JobError(
        ErrorCode.QUARANTINED,
        {"fingerprint": fingerprint},
        f"Quarantined: {fingerprint} has crashed too many workers; release_fingerprint lets it in again",
    )


def backpressure(queue: str, limit: int, current: int, incoming: int) -> JobError:
    return JobError(
        ErrorCode.BACKPRESSURE,
        {"queue": queue, "limit": limit, "current": current, "incoming": incoming},
        f"Backpressure: queue {queue} has {current} unfinished jobs; {incoming} more would pass its limit of {limit}",
    )


def lease_rejected(job_id: str) -> JobError:
    return JobError(
        ErrorCode.LEASE_REJECTED,
        {"job_id": job_id},
        f"LeaseRejected: this lease does not hold job {job_id} (any more); stop working on it",
    )


def job_not_found(job_id: str) -> JobError:
    return JobError(ErrorCode.NOT_FOUND, {"what": "job", "id": job_id}, f"NotFound: there is no job {job_id}")


def fingerprint_not_found(fingerprint: str) -> JobError:
    return JobError(
        ErrorCode.NOT_FOUND,
        {"what": "fingerprint", "id": fingerprint},
        f"NotFound: neither the register nor any quarantined job has fingerprint {fingerprint}",
    )
