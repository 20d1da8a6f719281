"""Profiles and tiers of the workload contract.

A profile is a part of the contract that a store claims or leaves out; each requirement belongs to exactly
one. A tier is a named set of profiles. The tiers are nested, so that a store has at most one highest tier.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from workspec.core.profile import ABILITIES as ABILITIES
from workspec.core.profile import INJECT as INJECT
from workspec.core.profile import PAUSE as PAUSE
from workspec.core.profile import RESET as RESET
from workspec.core.profile import RESTART as RESTART
from workspec.core.profile import SECOND_HANDLE as SECOND_HANDLE
from workspec.core.profile import SNAPSHOT as SNAPSHOT
from workspec.core.profile import Profile, Tier, highest_tier

CORE: Final = "CORE"
DURABLE: Final = "DURABLE"
WRITERS: Final = "WRITERS"
DEPENDENCIES: Final = "DEPENDENCIES"
SECRETS: Final = "SECRETS"
LEGACY: Final = "LEGACY"
MIGRATION: Final = "MIGRATION"

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
    return highest_tier("workload", PROFILES, TIERS, passed_profiles)
