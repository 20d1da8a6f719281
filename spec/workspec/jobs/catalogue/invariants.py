"""What holds in every committed state, or between each and the next.

Families: JOB-INV.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import CORE, INSPECT, OUTPUT, RATE

INVARIANTS: Final = (
    Requirement(
        "JOB-INV-01",
        "A lease is present if and only if the job is running.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-INV-02",
        "The fence of a row equals the number of its admissions.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-INV-03",
        "`attempt` equals the number of accepted acks with outcome `retry`, and `crash_attempt` the number of "
        "reclamations.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-INV-04",
        "There is at most one live row for each lifecycle key, and the keys held name exactly the live holders.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-INV-05",
        "The unfinished jobs of a queue in the statistics equal its count by state.",
        Kind.INVARIANT,
        INSPECT,
    ),
    Requirement(
        "JOB-INV-06",
        "Tokens never exceed the burst; without a settlement they are never negative.",
        Kind.INVARIANT,
        RATE,
    ),
    Requirement(
        "JOB-INV-07",
        "Every id returned by an admission was available, due, not paused, not blocked, and unrouted or "
        "routed to the caller immediately before.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-INV-08",
        "Terminal rows have an instant of finalization; other rows have none.",
        Kind.INVARIANT,
        INSPECT,
    ),
    Requirement(
        "JOB-INV-09",
        "No two different leases of one job are accepted at the same time.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-INV-10",
        "The counts over all states sum up to the number of rows.",
        Kind.INVARIANT,
        INSPECT,
    ),
    Requirement(
        "JOB-INV-11",
        "An operation that returned an error other than `Duplicate` with `replaced` = true leaves a full "
        "snapshot equal to the one before.",
        Kind.INVARIANT,
        INSPECT,
    ),
    Requirement(
        "JOB-INV-12",
        "The fence of an output or a progress is at most the fence of its row.",
        Kind.INVARIANT,
        OUTPUT,
    ),
    Requirement(
        "JOB-INV-13",
        "A replayed enqueue leaves a full snapshot equal to the one before.",
        Kind.INVARIANT,
        INSPECT,
    ),
    Requirement(
        "JOB-INV-14",
        "The quarantine registry grows only by a reclaim and shrinks only by a release.",
        Kind.INVARIANT,
        INSPECT,
    ),
    Requirement(
        "JOB-INV-15",
        "The due time of an available row that is admitted is now or earlier.",
        Kind.INVARIANT,
        CORE,
    ),
)
