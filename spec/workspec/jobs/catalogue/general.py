"""What holds for every operation, the types and the helpers, and rulings on the port.

Families: JOB-GEN, JOB-TYP, JOB-KND, JOB-FPR, JOB-HLP, JOB-PRT.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import CORE, INSPECT, LIMITS, SECOND_HANDLE, TXN, WRITERS

GENERAL: Final = (
    Requirement(
        "JOB-GEN-01",
        "Every operation is atomic: concurrent callers observe a result equal to some serial order of the "
        "calls. The clock is read inside that order, so that racing calls take effect in the order of their "
        "instants.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "JOB-GEN-02",
        "The time that an operation uses is the store's own clock; no operation accepts a caller's instant as "
        "now. Instants that a caller supplies are limited to `scheduled_at_ms`, `deadline_ms`, "
        "`periodic_tick_ms` and the `at_ms` of rescheduling and of scheduling a pending job.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-GEN-03",
        "One operation reads the clock once and uses that instant for all its effects.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-GEN-04",
        "All instants and durations are integer milliseconds. A duration below 1 ms where a lease is required "
        "is `Invalid`, never rounded.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-GEN-05",
        "An operation that returns an error leaves no observable change, with exactly one exception: "
        "`Duplicate` with `replaced` = true, whose replacement is committed (JOB-UNQ-20). A refused ack "
        "changes neither bucket nor charge.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-GEN-06",
        "A running job has a non-empty lease id and an expiry; a job in any other state has neither.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-GEN-07",
        "`fence` starts at 0 and grows by exactly 1 each time the job becomes running; it never decreases for "
        "the life of the row.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-GEN-08",
        "`attempt` grows only through the outcome `retry` and `crash_attempt` only through lease reclamation; "
        "no operation ever lowers or resets either.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-GEN-09",
        "Terminal states change only by an operator's verb, eviction or deletion; no sweep other than "
        "eviction touches them.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-GEN-10",
        "A pending job leaves its state only by promotion, scheduling, cancellation, deletion or the "
        "quarantine sweep; no timer moves it.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-GEN-11",
        "A candidate that a policy blocks (paused queue, quarantined fingerprint, exhausted bucket, foreign "
        "sticky route) stays available, with no lease, no change of fence and no charge.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-GEN-12",
        "Ids are unique in a store as long as the row exists, terminal rows included. An id becomes reusable "
        "only when its row is gone: by revoke, success with retention 0, eviction or deletion.",
        Kind.SCENARIO,
        CORE,
    ),
)

TYPES: Final = (
    Requirement(
        "JOB-TYP-01",
        "A claim gives back id, kind, schema version, payload, queue, partition key, rate class, weight, "
        "fingerprint, priority, attempt, crash attempt, max attempts, due time, timeout, deadline, retention, "
        "headers, the periodic pair and the sticky worker as stored. Whether it gives back the uniqueness "
        "fields, `pending` and the tags is the store's choice.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-TYP-02",
        "The header names `traceparent` and `tracestate` are treated like any other, malformed values "
        "included; headers come back byte for byte.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-TYP-03",
        "A unit of an admission holds exactly one claim; `capacity` counts units.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-TYP-04",
        "A checkpoint is stored whole and replaced whole. A store may derive `last_completed_step` from the "
        "last of `completed_steps` when it is read.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-TYP-05",
        "`Duplicate`, `IdConflict`, `Quarantined`, `Backpressure` and `LeaseRejected` are normal results, "
        "never crashes, and an unavailable store is never how a policy is answered. A missing job is "
        "`LeaseRejected` for an ack, a checkpoint and every fenced write, and lost for a renewal, never "
        "`NotFound`.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-TYP-06",
        "Malformed input is refused even while the storage cannot be reached, because the checks of arguments "
        "run before any access to it.",
        Kind.SCENARIO,
        CORE,
        not_asserted="The kit does not take the storage away from under a store.",
    ),
    Requirement(
        "JOB-TYP-07",
        "The `quantum` of an admission has no effect on what the plain rotation draws.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-TYP-08",
        "`deadline_ms` and `timeout_ms` are stored and given back; what they mean is the worker's concern, "
        "and no operation of the store acts on them. `unique_states` is never read.",
        Kind.DEFINITION,
        CORE,
    ),
)

KINDS: Final = (
    Requirement(
        "JOB-KND-01",
        "A kind is 1 to 128 bytes of ASCII: first a letter, a digit or an underscore, then any of those or of "
        "`-`, `[`, `]`, `<`, `>`, `/`, `.`, `:` and `+`. Anything else is `Invalid(bad_kind)`.",
        Kind.RULE,
        CORE,
    ),
)

FINGERPRINTS: Final = (
    Requirement(
        "JOB-FPR-01",
        "A client derives a fingerprint as the first 16 bytes, in lowercase hexadecimal, of SHA-256 over the "
        "length of the kind, the kind in UTF-8, the length of the payload and the payload, each length being "
        "32 bits, little-endian. A store never computes it: an empty fingerprint stays empty.",
        Kind.DEFINITION,
        CORE,
    ),
)

HELPERS: Final = (
    Requirement(
        "JOB-HLP-01",
        "A worker continues from a checkpoint whose step-set hash is empty or equals its own; else the "
        "checkpoint is remapped if its schema version differs, and undecodable if not.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-HLP-02",
        "Claims are grouped by kind into units of at most n, n being at least 1: in order, each is appended "
        "to the unit of its kind opened last, if that has room, else opens a new unit.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-HLP-03",
        "A partition is noisy when its load is at least 2 and load times the number of other partitions "
        "exceeds twice the sum of their loads, negative loads counting as 0. Among fewer than two partitions "
        "none is.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-HLP-04",
        "An age is now minus the instant, at least 0. The time to drain is none unless more is drained than "
        "arrives; else it is the backlog divided by the difference of the rates per second, in milliseconds, "
        "rounded down.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
)

PORT: Final = (
    Requirement(
        "JOB-PRT-01",
        "`Invalid` has a `reason` and, where that is `wrong_state`, the `state`; `NotFound` has `what` and "
        "`id`. Reasons are compared only with a store that uses this contract's or maps its own to them; of "
        "any other the variant alone is.",
        Kind.DEFINITION,
        CORE,
    ),
    Requirement(
        "JOB-PRT-02",
        "Durations are integers: a float is a type error, and a lease of 0 ms or less is `Invalid(bad_lease)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-PRT-03",
        "A paused rate class gains no tokens, for admission, settlement and the operator's read alike. "
        "Pausing keeps a debt, for tokens become the lesser of what they are and 0; unpausing restamps the "
        "instant of refill; and a job that the class blocks is explained without an eta.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-PRT-04",
        "The bytes of a batch are tested again after tags, sticky worker and schedule id of an envelope have "
        "been added, with the same reason.",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-PRT-05",
        "An empty error text counts as given: a skip with it writes a history entry.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-PRT-06",
        "The edit of a `Duplicate` with `replaced` = true inside a transaction is committed or dropped with "
        "that transaction.",
        Kind.SCENARIO,
        TXN,
    ),
    Requirement(
        "JOB-PRT-07",
        "A commit that can no longer hold answers that the store is unavailable, definitely with nothing "
        "written. A second open claimer of an effect key waits for the first within the busy timeout and is "
        "then told false if that has committed, true if it has rolled back, or that the store is unavailable. "
        "A transaction of a second handle on the same database is one of another store.",
        Kind.SCENARIO,
        TXN,
        (SECOND_HANDLE,),
        not_asserted="A case holds one transaction at a time.",
    ),
    Requirement(
        "JOB-PRT-08",
        "Under a binding limit the quarantine sweep takes rows by due time, then by id.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-PRT-09",
        "The fingerprint of a row that stays quarantined at a release is no longer registered. A later "
        "release finds the row again and releases none or more, and is never `NotFound` while such a row "
        "exists.",
        Kind.SCENARIO,
        INSPECT,
    ),
    Requirement(
        "JOB-PRT-10",
        "An inspected job shows `lease_expires_at_ms` while it is leased, and only then; a store may never show it.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-PRT-11",
        "`oldest_available_ms` is the age of a row since its due time.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-PRT-12",
        "The limit on payloads applies to edited payloads too: `Invalid(payload_too_large)`.",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-PRT-13",
        "Queue statistics list a queue that is only paused or limited too.",
        Kind.RULE,
        INSPECT,
    ),
)
