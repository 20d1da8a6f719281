"""What the holder of a claim does until the work has an outcome.

Families: WRK-CLM, WRK-FNC, WRK-STR, WRK-HBT, WRK-CTX, WRK-CKP.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import CORE, DEPENDENCIES, SECRETS

CLAIM: Final = (
    Requirement(
        "WRK-CLM-01",
        "A claim checks in this order: unknown id, deadlines, exhausted budget, state READY, readiness "
        "(time, capabilities, dependencies). Only then does it commit; the order among the three tests of "
        "readiness is the store's choice.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CLM-02",
        "A passed deadline of the workload, in any active state, is enforced first. The claim then fails "
        "with `WORKLOAD_TIMED_OUT` even when the expiry left the workload READY again: one claim never both "
        "expires and claims.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CLM-03",
        "A claim of READY work with `attempt_count` >= the attempt budget moves it to DEAD_LETTER with the "
        "actor `authority.claim` and the evidence `reason` = `attempt_budget_exhausted` (not `decision`), "
        "`attempts_used` and `attempt_budget`, commits that and returns `WORKLOAD_ATTEMPTS_EXHAUSTED`. The "
        "test is made on the very version that is committed over.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CLM-04",
        "The test for an exhausted budget comes before those for time, capabilities and dependencies: any "
        "claimer, capable or not, early or not, dead-letters exhausted READY work.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CLM-05",
        "A claim of work in any other state than READY is refused with `WORKLOAD_NOT_READY` and changes "
        "nothing. That includes work whose lease has lapsed: a claim does not recover it, only the recovery "
        "pass does.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CLM-06",
        "READY work with now < `next_attempt_at` is refused with `WORKLOAD_NOT_READY`; at now = "
        "`next_attempt_at` it is claimable.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CLM-07",
        "The worker must offer every capability in `capability_snapshot`, else the claim is refused with "
        "`WORKLOAD_CAPABILITY_MISSING` and changes nothing.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CLM-08",
        "Every dependency must exist, in the same tenant and application, in exactly its required state, "
        "else the claim is refused with `WORKLOAD_DEPENDENCY_PENDING` and changes nothing. Dependencies are "
        "looked up in committed state; one that can never be met stays pending until a deadline of the "
        "workload passes.",
        Kind.RULE,
        DEPENDENCIES,
    ),
    Requirement(
        "WRK-CLM-09",
        "A successful claim moves READY to CLAIMED, adds one to `attempt_count`, appends an open attempt "
        "with fresh attempt and claim ids, and sets the current claim with `claimed_at` = `last_heartbeat` "
        "= now and `expires_at` = now plus the lease. A reported failure, a lost lease and a timed-out "
        "attempt each consume the unit that the claim took; nothing gives it back.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CLM-10",
        "A claim carries a fencing token strictly greater than every earlier token of the same workload, "
        "and claim ids are never reused.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CLM-11",
        "Work is claimed by id. Priority is stored and compared on replay and plays no other part; choosing "
        "among claimable work is outside this contract.",
        Kind.DEFINITION,
        CORE,
    ),
)

FENCE: Final = (
    Requirement(
        "WRK-FNC-01",
        "Without a current claim, because the work was recovered, reported, timed out or completed, a "
        "worker's call is refused with `WORKLOAD_CLAIM_INVALID` even when its token is the latest one. With "
        "any other token either fence code is accepted.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FNC-02",
        "While a newer claim is current, a call with an older token is refused with `WORKLOAD_STALE_FENCE`. "
        "The token is compared before claim id and worker id; for a token that was never given out, either "
        "fence code is accepted.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FNC-03",
        "A call with the current token but another claim id or worker id is refused with "
        "`WORKLOAD_CLAIM_INVALID`; a store may answer `WORKLOAD_STALE_FENCE`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FNC-04",
        "A call that matches the current claim whose lease has lapsed, that is with `expires_at` <= now, is "
        "refused with `WORKLOAD_CLAIM_INVALID` and changes nothing (a store may answer "
        "`WORKLOAD_STALE_FENCE`); recovery is a separate call. At now = `expires_at` - 1 the claim is still "
        "good.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FNC-05",
        "`WORKLOAD_STALE_FENCE` means that somebody else has taken the work since: stop and discard. "
        "`WORKLOAD_CLAIM_INVALID` means that the caller holds no valid claim and that nobody newer is shown "
        "to hold one.",
        Kind.DEFINITION,
        CORE,
    ),
)

START: Final = (
    Requirement(
        "WRK-STR-01",
        "A start checks in this order: unknown id, deadlines, fence, state.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-STR-02",
        "A start moves CLAIMED to RUNNING with the worker as actor; the last attempt gets the status of a "
        "running one and `started_at` = now. It touches neither the lease nor `last_heartbeat`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-STR-03",
        "A start in any other state than CLAIMED, a second start in particular, is refused with "
        "`WORKLOAD_STATE_INVALID` and changes nothing.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-STR-04",
        "A start at the exact second of the claim deadline is refused: work claimed at 11 with `claim_ms` "
        "2000 and started at 13 gives `WORKLOAD_TIMED_OUT`.",
        Kind.SCENARIO,
        CORE,
    ),
)

HEARTBEAT: Final = (
    Requirement(
        "WRK-HBT-01",
        "A heartbeat checks in this order: unknown id, deadlines, fence. It checks no state: it is allowed "
        "wherever there is a current claim, in CLAIMED, RUNNING, CHECKPOINTED and CANCELLATION_REQUESTED.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-HBT-02",
        "A heartbeat sets `last_heartbeat` = now and `expires_at` = now plus the extension, commits that "
        "without an event, and returns the updated claim. A store may keep a later end that the lease "
        "already has.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-HBT-03",
        "A heartbeat moves the heartbeat deadline and the lease only; claim, execution, queue and overall "
        "deadlines stay where they are.",
        Kind.SCENARIO,
        CORE,
    ),
)

CONTEXT: Final = (
    Requirement(
        "WRK-CTX-01",
        "Execution context checks in this order: unknown id, deadlines, fence, secret references. It "
        "commits nothing unless a deadline has passed.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CTX-02",
        "Execution context returns the input, all committed checkpoints oldest first whichever attempt "
        "wrote them, the id of the current attempt, the requested secret references, the end of the lease "
        "and the token. It is allowed in CLAIMED already, before the start.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CTX-03",
        "A resumed attempt sees the checkpoints of the lost attempt, under the lost attempt's `attempt_id`.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CTX-04",
        "A worker whose lost work another has claimed since gets `WORKLOAD_STALE_FENCE` and reads nothing.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CTX-05",
        "Each secret reference is the name of a secret, never its value: it must not be empty nor be secret "
        "material itself.",
        Kind.RULE,
        SECRETS,
    ),
)

CHECKPOINT: Final = (
    Requirement(
        "WRK-CKP-01",
        "A checkpoint checks in this order: secret material in `state`, unknown id, deadlines, fence, "
        "state. In any other state than RUNNING or CHECKPOINTED it is refused with "
        "`WORKLOAD_STATE_INVALID`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CKP-02",
        "A checkpoint leaves the work CHECKPOINTED and appends a checkpoint with the current `attempt_id`. "
        "Checkpoints survive the loss of the attempt.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CKP-03",
        "A checkpoint moves no deadline: execution runs from the start of the attempt. Only whether it sets "
        "`last_heartbeat`, and with it moves the heartbeat deadline, is the store's choice.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CKP-04",
        "A further checkpoint from CHECKPOINTED is accepted and leaves the work CHECKPOINTED.",
        Kind.RULE,
        CORE,
    ),
)
