"""Profiles and tiers of the jobs contract.

A profile is a part of the contract that a store claims or leaves out; each requirement belongs to exactly
one. A tier is a named set of profiles. The tiers are nested, so that a store has at most one highest tier.

Not built: QUANTUM, QWEIGHT, CONCURRENCY and NOTIFY, whose profiles will stand here, in the complete tier alone.
`PAUSED_WRITER` is the ability to stop a writer between decision and commit; the profile PAUSE is about queues.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from workspec.core.profile import ABILITIES as ABILITIES
from workspec.core.profile import INJECT as INJECT
from workspec.core.profile import RESET as RESET
from workspec.core.profile import RESTART as RESTART
from workspec.core.profile import SECOND_HANDLE as SECOND_HANDLE
from workspec.core.profile import SNAPSHOT as SNAPSHOT
from workspec.core.profile import Profile, Tier, highest_tier

CORE: Final = "CORE"
PAUSE: Final = "PAUSE"
RATE: Final = "RATE"
RESULT: Final = "RESULT"
OUTPUT: Final = "OUTPUT"
PROGRESS: Final = "PROGRESS"
CLOCK: Final = "CLOCK"
INSPECT: Final = "INSPECT"
BACKPRESSURE: Final = "BACKPRESSURE"
TXN: Final = "TXN"
LIMITS: Final = "LIMITS"
DURABLE: Final = "DURABLE"
WRITERS: Final = "WRITERS"

PROFILES: Final = (
    Profile(CORE, "Enqueue, admission, acks, leases, checkpoints, sweeps and duties through one handle."),
    Profile(PAUSE, "A queue can be paused."),
    Profile(RATE, "Token buckets bound a rate class for the whole fleet."),
    Profile(RESULT, "A success can leave a result."),
    Profile(OUTPUT, "A running job can write output under its fence."),
    Profile(PROGRESS, "A running job can report progress under its fence."),
    Profile(CLOCK, "The store's clock can be stopped and stepped."),
    Profile(INSPECT, "Operators read rows, counts and statistics, and act on single jobs and on quarantine."),
    Profile(
        BACKPRESSURE,
        "The unfinished jobs of a queue can be bounded. What statistics and operators show of it is seen only "
        "together with INSPECT.",
    ),
    Profile(TXN, "A caller commits several operations as one, with keys for effects that happen once."),
    Profile(LIMITS, "Oversized envelopes and batches are refused."),
    Profile(DURABLE, "What was committed gives the same answers after a restart.", (RESTART,)),
    Profile(WRITERS, "Several handles on one store decide as one authority.", (SECOND_HANDLE,)),
)

_DOUBLE: Final = frozenset({CORE, CLOCK, PAUSE, RATE, RESULT, OUTPUT, PROGRESS})

TIERS: Final = (
    Tier("basic", "One handle, as long as it is open.", frozenset({CORE})),
    Tier("double", "A test double for people who write job handlers.", _DOUBLE),
    Tier("durable", "Several writers, across restarts.", _DOUBLE | {DURABLE, WRITERS, LIMITS}),
    Tier("complete", "The whole contract.", frozenset(profile.name for profile in PROFILES)),
)
"""From the lowest to the highest; each holds all profiles of the one before it."""


def tier_of(passed_profiles: Iterable[str]) -> Tier | None:
    """The highest tier all of whose profiles have passed, or None without CORE.

    Raises:
        ValueError: a name that is no profile of this contract.
    """
    return highest_tier("jobs", PROFILES, TIERS, passed_profiles)
