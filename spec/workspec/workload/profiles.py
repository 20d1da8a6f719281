"""Profiles and tiers of the workload contract.

A profile is a part of the contract that a store claims or leaves out; each requirement belongs to exactly
one. A tier is a named set of profiles. The tiers are nested, so that a store has at most one highest tier.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import frozen

CORE: Final = "CORE"
DURABLE: Final = "DURABLE"
WRITERS: Final = "WRITERS"
DEPENDENCIES: Final = "DEPENDENCIES"
SECRETS: Final = "SECRETS"
LEGACY: Final = "LEGACY"
MIGRATION: Final = "MIGRATION"

RESET: Final = "reset"
SECOND_HANDLE: Final = "second_handle"
RESTART: Final = "restart"
INJECT: Final = "inject"
SNAPSHOT: Final = "snapshot"
PAUSE: Final = "pause"

ABILITIES: Final = frozenset({RESET, SECOND_HANDLE, RESTART, INJECT, SNAPSHOT, PAUSE})
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
    Profile(CORE, "Admission, claims, fences, deadlines, budgets, recovery and re-arms through one handle."),
    Profile(DURABLE, "What was committed gives the same answers after a restart.", (RESTART,)),
    Profile(WRITERS, "Several writers of one store decide as one authority.", (SECOND_HANDLE,)),
    Profile(DEPENDENCIES, "Work is claimable only when what it depends on is in the required state."),
    Profile(SECRETS, "Secret material is kept out of records."),
    Profile(LEGACY, "Records and rows of older versions keep their contract.", (INJECT,)),
    Profile(MIGRATION, "The content of a legacy file is taken over whole or not at all."),
)

TIERS: Final = (
    Tier("basic", "One handle, as long as it is open.", frozenset({CORE})),
    Tier("durable", "One writer, across restarts.", frozenset({CORE, DURABLE})),
    Tier("shared", "Several writers, across restarts.", frozenset({CORE, DURABLE, WRITERS})),
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
        raise ValueError(f"no profile of the workload contract: {sorted(unknown)}; it has {', '.join(known)}")
    reached = [tier for tier in TIERS if tier.profiles <= passed]
    return reached[-1] if reached else None
