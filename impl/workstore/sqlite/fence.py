"""The fence: whether a worker still holds the claim that it names (WRK-FNC, G-13)."""

from __future__ import annotations

from attrs import frozen

from workspec.workload.vocabulary import Claim, ErrorCode, Workload, WorkloadError

from .decision import refusal


@frozen
class Fence:
    """What a worker shows with each call."""

    claim_id: str
    worker_id: str
    fencing_token: int


def _claim_invalid(record: Workload, cause: str) -> WorkloadError:
    return refusal(
        ErrorCode.CLAIM_INVALID,
        f"{cause} on workload {record.workload_id!r}. Stop this attempt, discard its effects and claim again.",
    )


def held_claim(record: Workload, fence: Fence, now_s: int) -> Claim:
    """The current claim, which the fence matches and whose lease has not lapsed.

    The token is compared before the rest: a newer token shows that somebody else has taken the work since.

    Raises:
        WorkloadError: CLAIM_INVALID, STALE_FENCE.
    """
    claim = record.current_claim
    if claim is None:
        raise _claim_invalid(record, "Nobody holds a claim")
    if fence.fencing_token != claim.fencing_token:
        raise refusal(
            ErrorCode.STALE_FENCE,
            f"The claim on workload {record.workload_id!r} has fencing token {claim.fencing_token}, the call "
            f"shows {fence.fencing_token}: somebody else has taken the work since. Stop and discard.",
        )
    if fence.claim_id != claim.claim_id or fence.worker_id != claim.worker_id:
        raise _claim_invalid(record, "Another claim or worker is recorded")
    if claim.expires_at <= now_s:
        raise _claim_invalid(record, f"The lease ended at {claim.expires_at}")
    return claim
