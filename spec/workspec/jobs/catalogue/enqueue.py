"""Enqueue: order of checks, replays, defaults, validation, backpressure.

Families: JOB-ENQ, JOB-VAL, JOB-BPR.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import BACKPRESSURE, CORE, INSPECT, LIMITS, PAUSE, SECOND_HANDLE

ENQUEUE: Final = (
    Requirement(
        "JOB-ENQ-01",
        "An enqueue checks in this order, and the first failing check decides the error: validation of the "
        "whole batch, envelope by envelope in batch order, in the order of JOB-VAL-01 to JOB-VAL-21, with "
        "JOB-VAL-00 before and JOB-VAL-22 after; ids over the whole batch in batch order; quarantine, then "
        "uniqueness, for each envelope that is no replay, in batch order; backpressure of each queue touched. "
        "Then it writes. So a replacement or a debounce on a full queue still coalesces.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-02",
        "A batch is all or nothing: after an error no row, key, counter or slot has been added for any member.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-03",
        "An empty batch succeeds and does nothing.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-04",
        "The same id twice in one batch is `IdConflict` with that id, raised when the second occurrence is "
        "reached, even if both envelopes are identical and even if the id already exists in the store.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-05",
        "An envelope whose id exists with equal kind, fingerprint and effective queue is a successful no-op: "
        "no field, state, due time, key, slot, history or counter changes, whatever else differs in the "
        "request (payload, priority, schedule, tags, uniqueness, replace mask). The payload is not compared.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-06",
        "An envelope whose id exists with another kind, fingerprint or effective queue is `IdConflict` for "
        "the whole batch, for a terminal row too.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-07",
        "An omitted queue compares equal to a stored `default`. Nowhere but in an enqueue is an empty queue "
        "name mapped to it.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-08",
        "Ids are decided before quarantine, uniqueness and backpressure, so that a replay succeeds while its "
        "fingerprint is quarantined, its own key is held, or the queue is full.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-09",
        "A new job with a non-empty fingerprint in the quarantine registry is `Quarantined` with that "
        "fingerprint. The empty fingerprint is never considered quarantined.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-10",
        "Defaults are applied when a row is written: an omitted queue is `default`, an omitted schema version "
        "1, omitted max attempts 25, an omitted weight 1; tags are stored ascending and unique.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-11",
        "A new row has fence 0, both attempt counters 0 whatever the caller sent, no lease, an empty "
        "checkpoint, an empty history, no result, output or progress, and no charge.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-12",
        "The effective due time is now + debounce if the debounce is above 0, whatever `scheduled_at_ms` "
        "says; else now if `scheduled_at_ms` is 0; else `scheduled_at_ms` as given, past and negative values "
        "included.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-13",
        "The initial state is pending with the pending flag; else scheduled if the due time is later than "
        "now; else available.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-14",
        "The pending flag with a debounce is legal: the job is pending, and the due time of now + debounce is "
        "recorded but inert.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-15",
        "Pausing a queue does not affect enqueue.",
        Kind.SCENARIO,
        PAUSE,
    ),
    Requirement(
        "JOB-ENQ-16",
        "The bypass of uniqueness behaves as an enqueue with unique key, window, replace mask and debounce "
        "blanked for that one call. Ids, quarantine and limits still apply, the stored row holds no key, and "
        "nothing outlives the call.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ENQ-17",
        "Each written row, not a replay, adds 1 to its queue's arrival counter for the minute that begins at "
        "now rounded down to 60,000 ms.",
        Kind.RULE,
        INSPECT,
        not_asserted="Rates are not asserted.",
    ),
    Requirement(
        "JOB-ENQ-18",
        "`enqueued_at_ms` is now at the write and is never altered afterwards.",
        Kind.RULE,
        INSPECT,
    ),
)

VALIDATION: Final = (
    Requirement(
        "JOB-VAL-00",
        "A batch of more than 1,000 envelopes is `Invalid(batch_too_large)`, before any envelope is looked at.",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-VAL-01",
        "An empty id is `Invalid(empty_id)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-02",
        "A kind that breaks the rule of kinds is `Invalid(bad_kind)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-03",
        "An id, queue, partition key, rate class, fingerprint or periodic schedule id of more than 255 bytes "
        "is `Invalid(identifier_too_long)`.",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-VAL-04",
        "A payload of more than 1,048,576 bytes is `Invalid(payload_too_large)`.",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-VAL-05",
        "A unique key of more than 1,024 bytes is `Invalid(unique_key_too_long)`.",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-VAL-06",
        "More than 128 headers are `Invalid(too_many_headers)`.",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-VAL-07",
        "Headers whose names and values sum up to more than 65,536 bytes are `Invalid(headers_too_large)`.",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-VAL-08",
        "A running total over the batch of more than 16,777,216 bytes is `Invalid(batch_bytes)`. Payload, "
        "headers, id, kind, queue, partition key, rate class, fingerprint and unique key of an envelope count "
        "here; its tags, sticky worker and schedule id are added after JOB-VAL-17 (JOB-PRT-04).",
        Kind.RULE,
        LIMITS,
    ),
    Requirement(
        "JOB-VAL-09",
        "A negative timeout is `Invalid(negative_timeout)`, a negative deadline `Invalid(negative_deadline)` "
        "and a negative retention `Invalid(negative_retention)`, asked in that order.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-10",
        "A negative uniqueness window is `Invalid(negative_window)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-11",
        "A negative debounce is `Invalid(negative_debounce)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-12",
        "A debounce above 0 with an absent or empty unique key, or with a window above 0, is "
        "`Invalid(debounce_needs_lifecycle_key)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-13",
        "A replace mask with a bit outside 15 is `Invalid(unknown_replace_bits)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-14",
        "A replace mask other than 0 with an absent or empty unique key is `Invalid(replace_needs_key)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-15",
        "More than 32 tags are `Invalid(too_many_tags)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-16",
        "A tag that is empty, has more than 64 bytes or is not ASCII is `Invalid(bad_tag)`, asked of each tag "
        "in order.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-17",
        "A tag already seen in its envelope is `Invalid(repeated_tag)`, asked of each tag right after JOB-VAL-16.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-18",
        "The pending flag with a `scheduled_at_ms` other than 0 is `Invalid(pending_with_schedule)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-19",
        "A sticky worker that is not empty and has more than 255 bytes or is not ASCII is "
        "`Invalid(bad_sticky_worker)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-20",
        "Exactly one of the two periodic fields set, or a negative tick, is `Invalid(bad_periodic_pair)`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-21",
        "An id repeated earlier in its batch is `IdConflict` with that id, after every other check of its envelope.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-VAL-22",
        "A batch of other than one envelope in which any has a replace mask or a debounce is "
        "`Invalid(replace_needs_single)`, asked after all envelopes. A replace mask together with a window "
        "above 0 passes validation.",
        Kind.RULE,
        CORE,
    ),
)

PRESSURE: Final = (
    Requirement(
        "JOB-BPR-01",
        "By default no queue has a limit. `set_enqueue_limit` sets one for the whole fleet, and None removes "
        "it; 0 is legal and blocks all new work. A negative limit or one beyond signed 64 bits is "
        "`Invalid(bad_limit)`.",
        Kind.RULE,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-02",
        "For each queue that envelopes other than replays touch, with `current` unfinished rows (pending, "
        "scheduled, available, running and retryable) and `incoming` such envelopes, the batch is refused if "
        "and only if `current` + `incoming` > `limit`; equality is accepted.",
        Kind.RULE,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-03",
        "The error is `Backpressure` with `queue`, `limit`, `current` and `incoming` as compared; `incoming` "
        "excludes replays.",
        Kind.RULE,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-04",
        "Queues are examined in ascending name; the first over its limit is named.",
        Kind.RULE,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-05",
        "A refusal for backpressure writes nothing in any queue of the batch.",
        Kind.SCENARIO,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-06",
        "`current` is exact at the instant of the decision: concurrent producers never push the unfinished "
        "rows above the limit. A refused batch of one envelope reports `current` >= `limit`.",
        Kind.SCENARIO,
        BACKPRESSURE,
        (SECOND_HANDLE,),
    ),
    Requirement(
        "JOB-BPR-07",
        "Setting a limit below the present count is accepted, cancels nothing, and blocks growth until the "
        "queue has drained.",
        Kind.SCENARIO,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-08",
        "Any exit to a terminal state and any deletion of an unfinished row frees one slot; moves between "
        "running and waiting states change nothing.",
        Kind.SCENARIO,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-09",
        "An operator's retry or release takes a slot back without consulting the limit; the count may then exceed it.",
        Kind.SCENARIO,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-10",
        "The limit never blocks admission, acks, sweeps or operators.",
        Kind.SCENARIO,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-11",
        "Queue statistics show `unfinished_jobs`, exact, and `max_unfinished_jobs`, none where there is no limit.",
        Kind.RULE,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-BPR-12",
        "A queue without limit and jobs may be absent from the statistics; after its limit was set it is listed.",
        Kind.SCENARIO,
        BACKPRESSURE,
    ),
)
