"""What ends an attempt by a worker's or an actor's call, and the operator's re-arm.

Families: WRK-CMP, WRK-FAL, WRK-TMO, WRK-CAN, WRK-RTY.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import CORE, LEGACY, WRITERS

COMPLETION: Final = (
    Requirement(
        "WRK-CMP-01",
        "A completion checks in this order: secret material in `output`, result id, unknown id, deadlines, "
        "fence, state. In any other state than RUNNING or CHECKPOINTED it is refused with "
        "`WORKLOAD_STATE_INVALID`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CMP-02",
        "A result id already recorded on this workload, with equal worker, claim id, token (against "
        "`produced_by` and `provenance`) and output hash, is answered with the recorded result and nothing "
        "is committed. Lease, deadlines and state are not looked at, so that the replay is good at any "
        "later time.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CMP-03",
        "A result id already recorded on this workload, with another worker, claim id, token or output, is "
        "refused with `WORKLOAD_RESULT_CONFLICT`. A superseded worker that names the recorded id gets this "
        "code, not one of the fence.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CMP-04",
        "A result id already recorded on another workload of the store, whatever its tenant and "
        "application, is refused with `WORKLOAD_RESULT_DUPLICATE`. The check comes before deadlines and "
        "fence, so that such a call commits no expiry.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CMP-05",
        "References, schema version and `now` take no part in the comparison of a repeated completion.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CMP-06",
        "A completion at or after a deadline fails with `WORKLOAD_TIMED_OUT`, and the result stays absent.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CMP-07",
        "A completion makes the attempt SUCCEEDED with `ended_at` = now, clears the claim, records the "
        "result (`produced_by` = worker, `provenance` with `claim_id` and the `fencing_token` as decimal "
        "text, `output_hash`, references and schema version) and moves the work to SUCCEEDED.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CMP-08",
        "After an attempt has reported failure its completion gets `WORKLOAD_CLAIM_INVALID`, and after its "
        "completion a failure report does. Exactly one outcome is committed, and there is one attempt.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CMP-09",
        "After success, a completion with another, unused result id gets as far as the fence: "
        "`WORKLOAD_CLAIM_INVALID`.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CMP-10",
        "The result id is looked up in the committed store, so that a writer that did not see a completion "
        "still replays it, and refuses its result id on other work. A store whose writers lag may do so on "
        "the second call at the latest.",
        Kind.SCENARIO,
        WRITERS,
    ),
)

FAILURE: Final = (
    Requirement(
        "WRK-FAL-01",
        "A failure report without effect is a failure report whose effect is absent. Each report returns "
        "the resulting state.",
        Kind.DEFINITION,
        CORE,
    ),
    Requirement(
        "WRK-FAL-02",
        "A failure report checks in this order: secret material in the error text, effect, unknown id, "
        "replay of the same report, deadlines, fence, state. In any other state than CLAIMED, RUNNING or "
        "CHECKPOINTED it is refused with `WORKLOAD_STATE_INVALID`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-03",
        "An effect other than absent, `none` or `unknown` is refused with `WORKLOAD_INVALID`, ahead of id, "
        "claim and token, and nothing changes.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-04",
        "A failure is accepted from CLAIMED, when the attempt has never started, and from started attempts alike.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-05",
        "The effective effect is the given one; without one it is `none` when the state is CLAIMED, and "
        "else absent and recorded as absent. An explicit `unknown` from CLAIMED is kept.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-06",
        "An accepted report makes the last attempt FAILED with `ended_at` = now and `error` = the text, "
        "sets `last_failure` to kind, colon, space and text, and clears the claim. The event FAILED has the "
        "worker as actor and the evidence `failure_kind`, `attempt_id` and, only if an effective effect is "
        "present, `effect`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-07",
        "One decision event by `authority.retry` follows, with the evidence `decision` only: to READY if "
        "the decision is `retry`, else to DEAD_LETTER. WRK-DEC-01 to WRK-DEC-04 say which, the first that "
        "applies.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-08",
        "The kind looked up in `retry_on` is the reported one, but `worker_failure` when the effective "
        "effect is `unknown`. So `unknown` can both prevent the retry of a retryable kind and allow that of "
        "a kind which is not.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-09",
        "The policy is tested before the budget: a report that is not retryable on the last attempt is "
        "recorded as not retryable, never as budget exhausted.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-FAL-10",
        "On `retry`, `retry_count` is raised first and then gives the delay and `next_attempt_at` "
        "(WRK-ART-02). On dead-lettering neither changes.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-11",
        "A report replays if some attempt has its claim id, worker and token, the status FAILED and an "
        "equal error text, if the FAILED event of that attempt (found by its `attempt_id`) has the same "
        "`failure_kind`, and if no effect is given now or it equals the recorded one. The answer is the "
        "workload's present state, and nothing is committed.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-12",
        "An absent effect matches any recorded effect, and `none` matches the implied `none` of a report "
        "from CLAIMED, but neither `none` nor `unknown` matches a report that was recorded without effect. "
        "The state returned may be CLAIMED, RUNNING, SUCCEEDED or any other if the work has moved on. The "
        "replay looks at no deadline and no lease, and works in terminal states.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-FAL-13",
        "A differing report by an attempt with a recorded outcome meets the deadlines and then the fence: "
        "`WORKLOAD_CLAIM_INVALID` while nobody holds a claim, `WORKLOAD_STALE_FENCE` once somebody else "
        "does.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-FAL-14",
        "An attempt that is WORKER_LOST or TIMED_OUT counts as unreported: its late failure report goes to "
        "the fence. An attempt that SUCCEEDED never replays a failure.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-FAL-15",
        "A report at or after a deadline fails with `WORKLOAD_TIMED_OUT` and is not recorded: there is no "
        "FAILED event, `last_failure` is unchanged and the attempt is TIMED_OUT.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-FAL-16",
        "A FAILED event recorded by an older version has no `attempt_id` in its evidence; reports of such "
        "an attempt never replay.",
        Kind.SCENARIO,
        LEGACY,
    ),
)

TIMEOUT: Final = (
    Requirement(
        "WRK-TMO-01",
        "An actor's timeout is allowed from READY, CLAIMED, RUNNING and CHECKPOINTED, else it is refused "
        "with `WORKLOAD_STATE_INVALID`. It is not fenced and looks at no deadline and no contract version.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-TMO-02",
        "Unless the state is READY, an actor's timeout makes the last attempt TIMED_OUT with `ended_at` = "
        "now and without an error text. In READY the last attempt is left exactly as recorded.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-TMO-03",
        "An actor's timeout clears the claim and appends the event TIMED_OUT with the given actor and empty evidence.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-TMO-04",
        "If `attempt_count` < the attempt budget, operator re-arms included, and `retry_on` has `timeout`, "
        "then `retry_count` is raised by one, `next_attempt_at` is now plus the initial delay in whole "
        "seconds, rounded down, and the work is READY again. Else it goes to DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-TMO-05",
        "The second event of an actor's timeout carries no `decision`. Its actor is the store's choice: the "
        "reference writes the caller's.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-TMO-06",
        "From READY with budget left an actor's timeout leads back to READY without using an attempt: "
        "repeated timeouts of queued work are not bounded by the budget.",
        Kind.SCENARIO,
        CORE,
    ),
)

CANCELLATION: Final = (
    Requirement(
        "WRK-CAN-01",
        "Cancel moves work in READY or DEAD_LETTER, and a record of an older version in CREATED or FAILED, "
        "to CANCELLED at once.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CAN-02",
        "Cancel moves work in CLAIMED, RUNNING or CHECKPOINTED to CANCELLATION_REQUESTED and keeps its claim.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CAN-03",
        "A lease that lapses in CANCELLATION_REQUESTED leads to CANCELLED by `authority.recovery`, with the "
        "evidence of a recovery and the attempt WORKER_LOST. There is no decision event and no retry.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CAN-04",
        "No deadline of any kind, not even overall, is enforced in CANCELLATION_REQUESTED: the lease alone "
        "bounds it, and heartbeats can prolong it without limit.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CAN-05",
        "Work has one terminal outcome: whichever of cancellation and completion comes first, it is never "
        "both CANCELLED and SUCCEEDED.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-CAN-06",
        "While cancellation is requested, heartbeat and execution context are allowed to the holder; start, "
        "checkpoint, complete and fail pass the fence and are then refused with `WORKLOAD_STATE_INVALID`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-CAN-07",
        "The holder acknowledges a requested cancellation through the fence: the attempt ends as a "
        "cancelled one with `ended_at` = now, the claim is cleared and the work moves to CANCELLED. In any "
        "other state than CANCELLATION_REQUESTED an acknowledgement that passes the fence is refused with "
        "`WORKLOAD_STATE_INVALID`.",
        Kind.RULE,
        CORE,
    ),
)

RETRY: Final = (
    Requirement(
        "WRK-RTY-01",
        "An operator's retry is allowed from DEAD_LETTER, and for a record of an older version from FAILED "
        "and TIMED_OUT, else it is refused with `WORKLOAD_STATE_INVALID`. The state is checked before the "
        "limit of re-arms.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-RTY-02",
        "With as many operator retries as `max_attempts` or more, a further one is refused with "
        "`WORKLOAD_RETRY_EXHAUSTED` and the state is unchanged: with `max_attempts` 3 the fourth is "
        "refused, with 0 the first.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-RTY-03",
        "An operator's retry sets `next_attempt_at` = now in place of any back-off or `not_before`, clears "
        "the claim and moves the work to READY with the caller as actor. The evidence is `retry` = "
        "`operator`, `operator_retry` = its ordinal from 1, `attempt_budget` = `max_attempts` plus the "
        "ordinal, and `reason`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-RTY-04",
        "`reason` is recorded only if something is left of it after trimming; it is recorded untrimmed, cut "
        "to its first 256 Unicode scalar values.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-RTY-05",
        "Each re-arm raises the attempt budget by one: after exhaustion it grants exactly one more claim, "
        "before exhaustion it adds one to what was left.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-RTY-06",
        "An operator's retry looks at no deadline. Re-armed work past its overall deadline is expired again "
        "by the next claim or pass, and the re-arm is spent; the queue deadline restarts from the re-arm.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-RTY-07",
        "An operator's retry leaves `retry_count`, attempts, checkpoints and `last_failure` untouched.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-RTY-08",
        "Work that was dead-lettered for an unknown effect can be re-armed.",
        Kind.SCENARIO,
        CORE,
    ),
)
