"""Reclaim, quarantine, promotion, eviction, duties and pause.

Families: JOB-RCL, JOB-QUA, JOB-PRM, JOB-EVT, JOB-DTY, JOB-PAU.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import CORE, INSPECT, PAUSE, RATE, WRITERS

RECLAIM: Final = (
    Requirement(
        "JOB-RCL-01",
        "Reclaimed are running jobs whose expiry is now or earlier: an expiry equal to now is expired. A "
        "store may declare that a lease has ended only after its expiry.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-RCL-02",
        "For each, `crash_attempt` is raised by 1, `attempt` stays, the lease is cleared, and one history "
        "entry with the new crash count is written.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-RCL-03",
        "If the new crash count is at or above the crash limit, which is at least 1, the job is quarantined "
        "and finalized now, its due time stays, its lifecycle key is freed and a non-empty fingerprint is "
        "registered. Else it is retryable and due at now + the backoff of the new crash count, and keeps its "
        "key. `max_attempts` plays no part.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-RCL-04",
        "If the stored checkpoint names a step in progress, the crash count of that step is raised by 1, from "
        "nothing to 1.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-RCL-05",
        "A reclaim returns for each job its id, its fingerprint, the new crash count and whether it was quarantined.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-RCL-06",
        "At most `limit` jobs are reclaimed, none if the limit is 0 or below. Which are taken under a binding "
        "limit is the store's choice; the reference takes them by expiry, then by id.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-RCL-07",
        "A reclaim refunds nothing and changes no charge.",
        Kind.SCENARIO,
        RATE,
    ),
    Requirement(
        "JOB-RCL-08",
        "Concurrent sweeps never count one lost lease twice.",
        Kind.SCENARIO,
        WRITERS,
    ),
)

QUARANTINE: Final = (
    Requirement(
        "JOB-QUA-01",
        "The registry is a set of fingerprints: only a reclaim at the crash limit adds to it, only a release "
        "removes from it.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-QUA-02",
        "The empty fingerprint is never registered and never blocks.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-QUA-03",
        "While a fingerprint is registered, new ids with it are refused at enqueue, available rows with it "
        "are not admitted but stay available, running ones finish normally, and scheduled and retryable ones "
        "may still be promoted.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-QUA-04",
        "The quarantine sweep moves up to `limit` pending, scheduled, available or retryable rows with a "
        "registered fingerprint to quarantined, finalized now, with keys and slots freed and counters "
        "untouched; it returns how many.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-QUA-05",
        "A release removes the fingerprint from the registry, makes every quarantined row with it available, "
        "due now and no longer finalized, and returns how many; it is `NotFound` if neither an entry nor a "
        "row existed, and 0 for an entry without rows. A row whose lifecycle key is held by another stays "
        "quarantined and is not counted; rows of one release take their keys again in the order of their ids.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-QUA-06",
        "A release does not reset `crash_attempt`: a released row that is one crash below the limit or beyond "
        "it is quarantined again at its next lost lease, while one that only the sweep had parked goes on "
        "from its own count.",
        Kind.SCENARIO,
        INSPECT,
    ),
    Requirement(
        "JOB-QUA-07",
        "The list of quarantined fingerprints shows each with its kind, the highest crash count seen, the "
        "instant of its first quarantine and a reason, whose text is not asserted.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-QUA-08",
        "Quarantined rows are exempt from eviction, whatever their retention.",
        Kind.SCENARIO,
        CORE,
    ),
)

PROMOTION: Final = (
    Requirement(
        "JOB-PRM-01",
        "Promotion makes scheduled and retryable rows that are due now or earlier available and returns how many.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-PRM-02",
        "Promotion leaves due time, counters, key and slot as they are.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-PRM-03",
        "At most `limit` rows are promoted, none if the limit is 0 or below. Which are taken under a binding "
        "limit is the store's choice; the reference takes them by due time, then by id.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-PRM-04",
        "Pending, available, running and terminal rows are never touched by promotion; rows of paused queues "
        "are promoted too.",
        Kind.SCENARIO,
        CORE,
    ),
)

EVICTION: Final = (
    Requirement(
        "JOB-EVT-01",
        "Eviction deletes completed, archived, cancelled and undecodable rows with a retention above 0 for "
        "which finalized + retention is now or earlier, and returns how many: at most `limit`, none if the "
        "limit is 0 or below. Which are taken under a binding limit is the store's choice; the reference "
        "takes them by the instant of finalization, then by id.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-EVT-02",
        "Row, payload, history, checkpoint, result, output and progress vanish together, and the id is reusable.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-EVT-03",
        "Retention 0 deletes on success only: archived, cancelled and undecodable rows with retention 0 are "
        "kept until an operator deletes them.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-EVT-04",
        "Retention counts from the instant of finalization, not from the enqueue; an operator's retry clears "
        "it, and a later finish counts anew.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-EVT-05",
        "Eviction frees no slot, for its rows were finished, and does not touch throttle keys.",
        Kind.SCENARIO,
        CORE,
    ),
)

DUTIES: Final = (
    Requirement(
        "JOB-DTY-01",
        "Claiming a duty for less than 1 ms is `Invalid(bad_lease)`. Else it succeeds if and only if the duty "
        "is unheld, held by the same holder, or recorded to have expired now or earlier; holder and expiry of "
        "now + lease are then stored and the answer is true, else it is false and nothing changes. A store "
        "may declare that another holder must wait until after the expiry.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-DTY-02",
        "A claim by the same holder renews, which may shorten; names are independent of each other.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-DTY-03",
        "Only the recorded holder clears a duty by releasing it; any other release is a silent success.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-DTY-04",
        "After a release any holder may claim the duty at once.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-DTY-05",
        "Duties never affect jobs, and sweeps work without holding any.",
        Kind.SCENARIO,
        CORE,
    ),
)

PAUSING: Final = (
    Requirement(
        "JOB-PAU-01",
        "While a queue is paused, admission returns nothing from it and does not advance its cursor; other "
        "queues of the same call are served.",
        Kind.RULE,
        PAUSE,
    ),
    Requirement(
        "JOB-PAU-02",
        "Enqueue, renewal, ack, checkpoint, sweeps and operators are unaffected by a pause; running jobs continue.",
        Kind.SCENARIO,
        PAUSE,
    ),
    Requirement(
        "JOB-PAU-03",
        "Unpausing restores normal admission; unknown queues count as unpaused; repeating either call changes nothing.",
        Kind.RULE,
        PAUSE,
    ),
)
