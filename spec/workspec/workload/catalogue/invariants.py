"""What holds in every committed state, or between each and the next.

Families: WRK-INV.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import CORE, DURABLE

INVARIANTS: Final = (
    Requirement(
        "WRK-INV-01",
        "History is only appended to and consecutive states form legal pairs; event times do not decrease "
        "as long as `now` does not; where events are numbered, the numbers rise.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-02",
        "A claim is held if and only if the state is CLAIMED, RUNNING, CHECKPOINTED or CANCELLATION_REQUESTED.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-03",
        "Only the last attempt may be open, and it is open if and only if a claim is held; its claim id, "
        "worker and token are then the claim's.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-04",
        "Fencing tokens strictly increase along the attempts, and attempt and claim ids are unique.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-05",
        "`attempt_count` is the number of attempts, at most `max_attempts` plus the number of operator "
        "retries, and so at most twice `max_attempts`, except in records of older versions.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-06",
        "A result is present if and only if the state is SUCCEEDED, and exactly one attempt is SUCCEEDED "
        "then. A workload has at most one result id.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-07",
        "No committed state is CREATED, FAILED, TIMED_OUT or RECOVERING, except in rows of older versions.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-08",
        "Each FAILED event, each TIMED_OUT event of a deadline and each RECOVERING event is directly "
        "followed by READY or DEAD_LETTER at the same `at`, with a `decision` that is `retry` if and only "
        "if the follower is READY.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-09",
        "A record in SUCCEEDED or CANCELLED never changes again.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-10",
        "Errors other than `WORKLOAD_TIMED_OUT` and `WORKLOAD_ATTEMPTS_EXHAUSTED` leave version and record "
        "unchanged; those two leave READY or DEAD_LETTER and no claim.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-11",
        "A successful heartbeat changes the version and leaves the history as long as it was. Replays and "
        "reads leave the version as it is.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-12",
        "`retry_count` is the number of READY events caused by a failure report, a deadline or an actor timeout.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-13",
        "After an uncontended deadline pass no record has a passed deadline at the same `now`.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-INV-14",
        "Rebuilding the projection from the rows changes no answer.",
        Kind.INVARIANT,
        DURABLE,
    ),
    Requirement(
        "WRK-INV-15",
        "An operation on one workload changes no other workload.",
        Kind.INVARIANT,
        CORE,
    ),
)
