"""The fence: whether the caller still holds the work (WRK-FNC)."""

from __future__ import annotations

from attrs import frozen

from workspec.workload.vocabulary import Claim, ErrorCode, Workload
from workstore.memory.refusals import refusal


@frozen
class Fence:
    """What a worker shows with each call."""

    claim_id: str
    worker_id: str
    fencing_token: int


def check_fence(workload: Workload, fence: Fence, now_s: int) -> Claim:
    """The current claim, if it is the caller's and its lease runs (G-13).

    The token is compared first: whoever shows another one is told that somebody else has the work.

    Raises:
        WorkloadError: CLAIM_INVALID, STALE_FENCE.
    """
    claim = workload.current_claim
    if claim is None:
        raise refusal(ErrorCode.CLAIM_INVALID, "nobody holds this work; claim it again")
    if fence.fencing_token != claim.fencing_token:
        raise refusal(ErrorCode.STALE_FENCE, "another claim holds this work; stop and discard what you did")
    if fence.claim_id != claim.claim_id or fence.worker_id != claim.worker_id:
        raise refusal(ErrorCode.CLAIM_INVALID, "the claim id or the worker is not that of the current claim")
    if claim.expires_at <= now_s:
        raise refusal(ErrorCode.CLAIM_INVALID, f"the lease ended at {claim.expires_at}; heartbeat sooner")
    return claim
