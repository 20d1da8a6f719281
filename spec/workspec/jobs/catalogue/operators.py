"""What operators do and read, and what a store offers.

Families: JOB-OPR, JOB-INS, JOB-CAP.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import CORE, INSPECT

VERBS: Final = (
    Requirement(
        "JOB-OPR-01",
        "For every verb on a single job an absent id is `NotFound` and a wrong state `Invalid(wrong_state)` "
        "with that state; neither changes anything.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-02",
        "A cancellation makes a pending, scheduled, available, running or retryable job cancelled and "
        "finalized now; its lease is cleared, lifecycle key and slot are freed, counters and due time stay, "
        "nothing is refunded. In a terminal state it is `Invalid`.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-03",
        "After a running job is cancelled the holder's next renewal reports it lost, and every fenced write "
        "is `LeaseRejected`.",
        Kind.SCENARIO,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-04",
        "An operator's retry makes an archived, cancelled or undecodable job available, due now and no longer "
        "finalized; counters, history, checkpoint, output and progress are kept, and it takes a slot. In any "
        "other state it is `Invalid`.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-05",
        "An operator's retry takes the lifecycle key again; if another live row holds it, the answer is "
        "`Duplicate` with the holder's id and `replaced` = false, and the row stays as it was. Throttle keys "
        "are not taken again.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-06",
        "A job retried after exhaustion has no fresh budget: its next outcome `retry` archives it again with "
        "`attempt` + 1.",
        Kind.SCENARIO,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-07",
        "`promote_job` makes a pending job available and due now; in any other state it is `Invalid`.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-08",
        "`schedule_pending_job` makes a pending job scheduled and due at the given instant; even one in the "
        "past waits for promotion. In any other state it is `Invalid`.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-09",
        "`reschedule_job` changes the due time of a scheduled or retryable job and nothing else, not its "
        "state even if the instant is now or earlier; in any other state it is `Invalid`.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-10",
        "`edit_payload` changes payload, schema version and fingerprint of a job in any state but running, "
        "and nothing else; a schema version below 1 or above 2,147,483,647 is `Invalid(bad_schema_version)`. "
        "Afterwards a repeated id is compared with the new fingerprint, which may be a quarantined one: the "
        "gate then blocks the row.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-11",
        "`delete_job` removes a job in any state but running: its lifecycle key is freed, and its slot if it "
        "was unfinished, and the id is reusable. A running job is `Invalid`.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-OPR-12",
        "Setting a limit, a pause or a rate class again with the same values changes nothing more, and what "
        "was set is seen by the next operation.",
        Kind.SCENARIO,
        INSPECT,
    ),
)

INSPECTION: Final = (
    Requirement(
        "JOB-INS-01",
        "`get_job` gives none for an absent job; payload and headers only when they are asked for; never "
        "result, output, progress or the bytes of a cursor.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-INS-02",
        "A job shows id, kind, queue, state, schema version, priority, attempt, crash attempt, max attempts, "
        "partition key, rate class, sticky worker, weight, fingerprint, the instants of enqueue, due time and "
        "finalization, the instant of the claim while it is leased, the periodic pair, history and tags.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-INS-03",
        "A job is shown as `orphaned` if and only if its `crash_attempt` is above 0, for the life of the row.",
        Kind.INVARIANT,
        INSPECT,
    ),
    Requirement(
        "JOB-INS-04",
        "`list_jobs` combines its filters with and: queue, state, kind, kind prefix, partition key, id, "
        "fingerprint, rate class, priority, all of some tags, any of some tags. Pages are in the order of ids "
        "with an opaque cursor, a page limit outside 1 to 200 is `Invalid(bad_page_limit)`, the payload is "
        "never included, and a full walk of an unchanging store gives every matching row exactly once.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-INS-05",
        "`counts` gives for one queue or for all the number of rows of each state that has any; exact up to "
        "50,000 rows examined, marked as approximate beyond.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-INS-06",
        "`queue_stats` lists each known queue by name with `paused`, `unfinished_jobs`, "
        "`max_unfinished_jobs`, `by_state` and `oldest_available_ms`. The rates of the last minute and "
        "`time_to_drain_ms`, a view of quiet groups and a sample of memory are not asserted.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-INS-07",
        "`explain_admission` of a running job says admissible; of a scheduled or retryable one blocked by "
        "`schedule`, with the time until it is due, at least 0, as eta; of a quarantined one blocked by "
        "`quarantine` without an eta; of any other that is not available not admissible, without a blocker. "
        "Of an available one it names the first of `queue_paused`, `schedule` (due later than now), "
        "`quarantine` and `rate_class` that blocks; the eta of a rate class with a limit above 0 is the "
        "tokens lacking, at least 1, times window divided by limit.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-INS-08",
        "`distinct_kinds` reports at most `limit` kinds, each once and each of a waiting row. They come from "
        "a bounded sample, and how many are found is not asserted.",
        Kind.RULE,
        INSPECT,
    ),
)

CAPABILITIES: Final = (
    Requirement(
        "JOB-CAP-01",
        "What a store says of its capabilities agrees with its methods in both directions: a claimed one has "
        "its methods, and one whose methods are there is claimed.",
        Kind.RULE,
        CORE,
        not_asserted=(
            "The port has no bits of capabilities: a method that a store lacks is not claimed, and the kit checks "
            "claims both ways by itself."
        ),
    ),
    Requirement(
        "JOB-CAP-02",
        "With a store without transactions `once` and `step_once` are refused; they may not be faked.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
)
