"""What a worker says of its run: acks, renewal, checkpoint.

Families: JOB-ACK, JOB-RNW, JOB-CKP.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import CORE, INSPECT

ACKS: Final = (
    Requirement(
        "JOB-ACK-01",
        "A caller holds a job if its row exists, is running and has the same lease id and the same fence. "
        "Otherwise an ack is `LeaseRejected` with the job's id and changes nothing anywhere. The arguments "
        "are checked first, then the holder; then come settlement and transition.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-02",
        "The expiry of a lease is no part of who holds it: until a sweep reclaims the job, a holder past the "
        "expiry may still ack, checkpoint, write output and progress, and renew.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ACK-03",
        "The outcome `lease_lost` is `Invalid(lease_lost_not_ackable)`, and the job stays running. A name "
        "that is no outcome is `Invalid(unknown_outcome)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-04",
        "A second ack with the same lease is `LeaseRejected`, for the first one ended the run.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ACK-05",
        "Success with retention 0 removes the row with everything attached; else the job is completed and "
        "finalized now. The lifecycle key is freed, an error text is ignored, `attempt` stays, and a history "
        "entry is written if and only if there are logs and the row is kept.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-06",
        "A retry always raises `attempt` by 1. If that is below `max_attempts`, the job is retryable and due "
        "at now + delay; else it is archived and finalized now, its key is freed and its due time stays. One "
        "history entry is written with the new attempt number, the error text (empty if none) and the logs.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-07",
        "The delay of a retry is `delay_ms` as it is, without the cap, if given and above 0; else the backoff "
        "of the new attempt. Every other outcome except snooze ignores `delay_ms`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-08",
        "The backoff of n, counting from 1, is base times two to the power of the lesser of n - 1 and 20, at "
        "most the cap, saturating. A store may add jitter, from nothing up to the base.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-09",
        "A skip makes the job archived and finalized now; `attempt` stays, the key is freed, and a history "
        "entry is written if and only if an error text is given or there are logs.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-10",
        "The outcome `undecodable` does what a skip does, but makes the job undecodable.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-11",
        "A revoke removes the row whatever its retention; the key is freed, and no history is left.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-12",
        "A snooze without a `delay_ms` above 0 is `Invalid(snooze_needs_delay)`. Else the job is scheduled "
        "and due at now + delay; neither counter moves, no history is written, logs are dropped, and the key "
        "is kept.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-13",
        "A rate-limited job is available at once, due at the earlier of its old due time and now; neither "
        "counter moves, no history is written even with error text or logs, and the key is kept.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ACK-14",
        "Every accepted outcome that keeps the row clears lease id and expiry.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ACK-15",
        "Checkpoint, output and progress survive retry, snooze, rate limiting, skip, undecodable, success "
        "with retention, reclaim, cancellation and an operator's retry.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ACK-16",
        "A success adds 1 to its queue's counter of completed jobs for the current minute, whether the row is "
        "kept or not.",
        Kind.RULE,
        INSPECT,
        not_asserted="Rates are not asserted.",
    ),
    Requirement(
        "JOB-ACK-17",
        "The history keeps the newest 50 entries. Each has `at_ms`, `outcome`, `attempt` (the crash count for "
        "`lease_lost`), `error` and `logs`.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-ACK-18",
        "A worker keeps at most 100 log lines of an attempt, of 2 KiB each; the store does not count them.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
)

RENEWAL: Final = (
    Requirement(
        "JOB-RNW-01",
        "A renewal for less than 1 ms is `Invalid(bad_lease)`, even for an empty list, and nothing is renewed.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-RNW-02",
        "The lease of each caller that holds its job ends at now + lease, which may be earlier than before; "
        "the job id of every other is returned as lost, in the order of the request, once for each "
        "occurrence.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-RNW-03",
        "Lost leases do not prevent the others from being renewed and are no error.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-RNW-04",
        "A renewal changes nothing but the expiry.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-RNW-05",
        "After an operator's cancellation, a reclaim, an ack or a new admission the old lease is lost.",
        Kind.SCENARIO,
        CORE,
    ),
)

CHECKPOINTS: Final = (
    Requirement(
        "JOB-CKP-01",
        "A checkpoint by anyone but the holder is `LeaseRejected`; an accepted one replaces the stored value "
        "entirely and is durable when the call returns.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-CKP-02",
        "The next claim of the job carries the checkpoint, with the crash counts that a reclaim has added "
        "since; the first claim carries an empty one.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-CKP-03",
        "A checkpoint changes no state, lease, counter or due time.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-CKP-04",
        "A worker that writes a checkpoint must carry `crashes_by_step` forward itself; the store does not merge.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-CKP-05",
        "The reader of checkpoints gives none for an absent job and an empty checkpoint for a job that never "
        "wrote one.",
        Kind.RULE,
        INSPECT,
    ),
)
