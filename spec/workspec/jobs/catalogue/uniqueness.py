"""Uniqueness of keys: conflicts, replacement, debounce.

Families: JOB-UNQ.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import BACKPRESSURE, CORE, WRITERS

UNIQUENESS: Final = (
    Requirement(
        "JOB-UNQ-01",
        "Without a unique key there is no uniqueness check, and no key is taken.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-02",
        "In lifecycle mode (window 0) at most one row in pending, scheduled, available, running or retryable "
        "holds an effective key.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-03",
        "A lifecycle key is taken at enqueue and freed exactly when its holder becomes terminal or is "
        "removed, by whatever way, and only if that holder still owns it. A pending job holds its key.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-04",
        "A retry with budget left, a snooze, a rate-limited run, a promotion and a reclaim below the limit "
        "keep the lifecycle key.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-05",
        "In throttle mode (window above 0) the key is held from the enqueue until, but not at, enqueue + "
        "window, regardless of the holder's fate. At exactly that instant a new enqueue succeeds and becomes "
        "the holder with a fresh window.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-06",
        "A throttle key is not freed by completion, cancellation or archiving of its holder.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-07",
        "A throttle key outlives the deletion of its holder's row until the window ends, so that "
        "`existing_id` may name an absent job. A store may declare that the key dies with the row.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-08",
        "The mode of the incoming envelope selects the holds that are searched: lifecycle and throttle holds "
        "on the same effective key do not see each other.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-09",
        "A conflict is `Duplicate` with the holder's id as `existing_id` and writes no new row.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-10",
        "Two members of one batch, neither a replay, with the same effective key in the same mode are "
        "`Duplicate` with the id of the earlier member and `replaced` = false, and nothing is written. A "
        "replayed member takes no key; only a hold that it already has in the store counts.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-11",
        "Only the effective key and the mode decide a conflict. The effective key is the byte 1, then `K`, "
        "the length of the kind in 32 bits, big-endian, the kind and the raw key, or, where the kind is "
        "excluded, `G` and the raw key: so a key spans queues and partitions, the kind counts only as part of "
        "it, and keys with and without a kind never collide.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-12",
        "Of N concurrent producers with the same lifecycle key exactly one succeeds; the rest get `Duplicate` "
        "naming its job.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "JOB-UNQ-13",
        "A unique key that is present but empty is a real key, one for each kind; a replace mask or a "
        "debounce with it is `Invalid`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-20",
        "If the replace mask is not 0 and the holder is scheduled, available or retryable, each requested "
        "part whose condition holds is copied to it at once: bit 1 schema version (0 as 1), payload and "
        "fingerprint; bit 2 the due time (0 as now), only of a scheduled holder and without a change of "
        "state; bit 4 the priority; bit 8 max attempts (0 as 25). The call still returns `Duplicate`, and the "
        "edit is durable.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-21",
        "`replaced` is true if and only if at least one requested part was applied; asking only for bit 2 on "
        "an available or retryable holder gives false.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-22",
        "A running, terminal, pending or absent holder is never edited: `replaced` is false. A hold in "
        "throttle mode remembers the row that it was taken by, so that a later row with the freed id is not "
        "its holder. A store may declare that it edits a pending holder.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-23",
        "A replacement never changes id, kind, queue, partition key, rate class, weight, sticky worker, "
        "headers, timeout, deadline, retention, either attempt counter, fence, history, key, window, periodic "
        "origin or, unless by debounce, tags.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-24",
        "After a replacement of bit 1 or a debounce hit the holder answers a repeated id with its new "
        "fingerprint: replaying the original envelope is now `IdConflict`.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-25",
        "If the incoming id is the holder's own with equal content, the replay wins: success, and nothing is replaced.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-26",
        "The incoming fingerprint is checked for quarantine before the conflict: a quarantined payload cannot "
        "be swapped in.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-27",
        "A replacement never consumes or frees a slot.",
        Kind.INVARIANT,
        BACKPRESSURE,
    ),
    Requirement(
        "JOB-UNQ-30",
        "The first enqueue with a debounce above 0 makes a scheduled job, or a pending one with the pending "
        "flag, due at now + debounce.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-31",
        "A later enqueue with a debounce on the held key, while the holder is scheduled, available or "
        "retryable, copies schema version (0 as 1), payload, fingerprint and canonical tags, makes the holder "
        "scheduled and due at now + the newcomer's debounce, and returns `Duplicate` with `replaced` = true.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-32",
        "A debounce hit leaves priority, max attempts, attempt counters, queue and route of the holder as they are.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-33",
        "A running or pending holder is left alone by a debounce: `Duplicate` with `replaced` = false. A "
        "store may declare that it edits a pending holder.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-34",
        "With both a debounce and a replace mask, bits 4 and 8 are applied as well; bit 1 is subsumed, and "
        "bit 2 is ignored because the instant of the debounce wins.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-UNQ-35",
        "An available holder hit by a debounce is no longer admissible until due jobs are promoted at or "
        "after its new due time.",
        Kind.SCENARIO,
        CORE,
    ),
)
