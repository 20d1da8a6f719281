"""Deadlines and lapsed leases, which a pass enforces.

Families: WRK-DLN, WRK-EDL, WRK-REC.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import CORE, LEGACY, PAUSE, WRITERS

DEADLINE: Final = (
    Requirement(
        "WRK-DLN-01",
        "Only records with contract version 2 or later have deadlines; a record of version 1 passes none at "
        "any instant.",
        Kind.RULE,
        LEGACY,
    ),
    Requirement(
        "WRK-DLN-02",
        "Deadlines are looked at only in READY, CLAIMED, RUNNING and CHECKPOINTED.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DLN-03",
        "A deadline is passed when now >= the instant at which it falls due: at the exact second it is "
        "passed, one second earlier it is not.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DLN-04",
        "Deadlines are examined in the order overall, queue, claim, execution, heartbeat, and the first "
        "passed one in that order is reported, not the earliest in time.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DLN-05",
        "Each kind of deadline has its own base and its own states (WRK-DLN-06 to WRK-DLN-10). They depend "
        "on committed fields alone, so that the answer is the same after a restart and through any writer.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DLN-06",
        "The queue deadline holds in READY. It runs from the later of the most recent event to READY "
        "(`created_at` if there is none) and `next_attempt_at` if present, so that back-off and a future "
        "`not_before` do not use up queue time and each return to READY restarts it.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DLN-07",
        "The heartbeat deadline holds in CLAIMED, RUNNING and CHECKPOINTED. It runs from `last_heartbeat` "
        "of the current claim, which the claim itself sets first.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DLN-08",
        "The execution deadline holds in RUNNING and CHECKPOINTED. It runs from `started_at` of the last "
        "attempt; an attempt that has not started has none.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DLN-09",
        "The overall deadline holds in READY, CLAIMED, RUNNING and CHECKPOINTED. It runs from `created_at`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DLN-10",
        "The claim deadline holds in CLAIMED. It runs from `claimed_at` of the current claim.",
        Kind.RULE,
        CORE,
    ),
)

EXPIRY: Final = (
    Requirement(
        "WRK-EDL-01",
        "The deadline pass brings itself up to date, expires each workload that has passed a deadline, in "
        "the order of workload ids, and returns the ids that it expired itself. A conflict on one workload "
        "is skipped silently; any other error stops the pass, and earlier expiries stay committed.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-EDL-02",
        "One pass enforces at most one deadline per workload.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-EDL-03",
        "An operation that checks deadlines reads the workload from the store and, if a deadline is passed, "
        'expires it and then fails with `WORKLOAD_TIMED_OUT` and the details `{"deadline": kind, '
        '"deadline_at": instant}`, the instant as a number. The check runs before the fence: a caller with '
        "a wrong claim triggers the expiry too, and gets this code instead of one of the fence.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-EDL-04",
        "Expiry commits only over the version on which it was decided. If another commit on the workload "
        "came between, nothing changes and the outcome is `WORKLOAD_CONFLICT`, which the pass skips and an "
        "operation returns.",
        Kind.SCENARIO,
        WRITERS,
        (PAUSE,),
    ),
    Requirement(
        "WRK-EDL-05",
        "Expiry clears the claim and, unless the state is READY, makes the last attempt TIMED_OUT with "
        "`ended_at` = now and an error text that begins with `timeout: ` and names the kind. The event "
        "TIMED_OUT has the actor `authority.deadline` and the evidence `deadline`, `deadline_at` and, if a "
        "claim was lost, its `claim_id` and `worker_id`, but no `attempt_id`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-EDL-06",
        "One decision event by `authority.deadline` follows, with the evidence `decision`. WRK-DEC-05 to "
        "WRK-DEC-08 say which, the first that applies.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-EDL-07",
        "On `retry` after a deadline, `retry_count` is raised by one and `next_attempt_at` is now plus the "
        "initial delay in whole seconds, rounded down: neither exponential nor capped by `max_delay_ms`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-EDL-08",
        "The expiry of READY work touches no attempt: none is created and none is rewritten.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-EDL-09",
        "An expiry happens once: afterwards the old claim gets `WORKLOAD_CLAIM_INVALID` and the pass returns nothing.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-EDL-10",
        "Deadlines, actor timeouts and recovery leave `last_failure` as it is.",
        Kind.SCENARIO,
        CORE,
    ),
)

RECOVERY: Final = (
    Requirement(
        "WRK-REC-01",
        "Recovery brings itself up to date and takes the workloads with a current claim and `expires_at` <= "
        "now in CLAIMED, RUNNING, CHECKPOINTED or CANCELLATION_REQUESTED, checking both again on the "
        "version that it commits over. It handles them in the order of workload ids and returns, in that "
        "order, only the ids whose recovery this call committed.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REC-02",
        "Recovery makes the last attempt WORKER_LOST with `ended_at` = now and an error text that begins "
        "with `worker_lost: `, and clears the claim. The event RECOVERING has the actor "
        "`authority.recovery` and the evidence `recovery_reason` = `lease_expired`, `attempts_used`, "
        "`attempt_budget`, `claim_id`, `worker_id`, `lease_expired_at` (the end of the lease, not now) and "
        "`attempt_id`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REC-03",
        "One decision event by `authority.recovery` follows, with the evidence `decision`. WRK-DEC-09 to "
        "WRK-DEC-11 say which, the first that applies; work in CANCELLATION_REQUESTED has none "
        "(WRK-CAN-03).",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REC-04",
        "Recovery to READY changes neither `retry_count` nor `next_attempt_at`: the work is claimable at once.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REC-05",
        "A policy without `worker_failure` dead-letters a lost attempt.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REC-06",
        "Recovery is bounded: with a budget of 3 the third loss dead-letters, and a later claim gets "
        "`WORKLOAD_NOT_READY`.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-REC-07",
        "A retry after a loss runs the work again; the store cannot know what the lost attempt did, so that "
        "execution is at-least-once only.",
        Kind.DEFINITION,
        CORE,
    ),
    Requirement(
        "WRK-REC-08",
        "Recovery looks at no deadline and no contract version. When lease and deadline are both past, "
        "whichever call comes first decides between WORKER_LOST and TIMED_OUT.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-REC-09",
        "A conflict on one workload is skipped silently by recovery; any other error stops the call.",
        Kind.SCENARIO,
        WRITERS,
        (PAUSE,),
    ),
)
