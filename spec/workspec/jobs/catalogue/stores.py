"""Restarts, and several handles on one store.

Families: JOB-DUR, JOB-MWR.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import DURABLE, WRITERS

RESTARTS: Final = (
    Requirement(
        "JOB-DUR-01",
        "What an operation has committed gives the same answers after a restart: state, counters, fence, due "
        "time, key, route, checkpoint, result, output, progress and history of each row, and the edit of a "
        "`Duplicate` with `replaced` = true.",
        Kind.SCENARIO,
        DURABLE,
    ),
    Requirement(
        "JOB-DUR-02",
        "A restart ends no lease: until it is reclaimed the holder may ack, renew and checkpoint, and the "
        "lease ends at the expiry given before.",
        Kind.SCENARIO,
        DURABLE,
    ),
    Requirement(
        "JOB-DUR-03",
        "Throttle holds, buckets, cursors of the draw, pauses, limits, the quarantine registry and duties "
        "survive a restart.",
        Kind.SCENARIO,
        DURABLE,
    ),
)

HANDLES: Final = (
    Requirement(
        "JOB-MWR-01",
        "Each handle sees at once what another has committed: rows, keys, holds, buckets, cursors, pauses, "
        "limits, the quarantine registry and duties.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "JOB-MWR-02",
        "A lease taken through one handle is good for acks, renewals, checkpoints and fenced writes through "
        "another, and a lost one is refused by each.",
        Kind.SCENARIO,
        WRITERS,
    ),
)
