"""Profiles and tiers of the jobs contract.

A profile is a part of the contract that a store claims or leaves out; each requirement belongs to exactly
one. A tier is a named set of profiles. The tiers are nested, so that a store has at most one highest tier.

Not built: QUANTUM, QWEIGHT, CONCURRENCY and NOTIFY, whose profiles will stand here, in the complete tier alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import frozen

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

RESET: Final = "reset"
SECOND_HANDLE: Final = "second_handle"
RESTART: Final = "restart"
INJECT: Final = "inject"
SNAPSHOT: Final = "snapshot"
PAUSED_WRITER: Final = "pause"
"""Stopping a writer between its decision and its commit; not the profile PAUSE, which is about queues."""

ABILITIES: Final = frozenset({RESET, SECOND_HANDLE, RESTART, INJECT, SNAPSHOT, PAUSED_WRITER})
"""What a backend may let the kit do. A profile or a requirement names what it cannot be seen without."""


@frozen
class Profile:
    name: str
    text: str
    abilities: tuple[str, ...] = ()
    """What a backend must let the kit do before anything of the profile can be seen."""


@frozen
class Tier:
    name: str
    text: str
    profiles: frozenset[str]


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
    passed = frozenset(passed_profiles)
    known = [profile.name for profile in PROFILES]
    unknown = passed.difference(known)
    if unknown:
        raise ValueError(f"no profile of the jobs contract: {sorted(unknown)}; it has {', '.join(known)}")
    reached = [tier for tier in TIERS if tier.profiles <= passed]
    return reached[-1] if reached else None
