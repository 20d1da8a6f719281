"""Profiles and tiers: the parts of a contract that a store claims, and the named sets of them.

Each requirement belongs to exactly one profile. The tiers of a contract are nested, so that a store has at most one
highest tier.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import frozen

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


def highest_tier(
    contract: str, profiles: Iterable[Profile], tiers: Iterable[Tier], passed: Iterable[str]
) -> Tier | None:
    """The highest tier all of whose profiles have passed; None where not even the lowest has.

    Args:
        contract: its name, for the message.
        tiers: from the lowest to the highest; each holds all profiles of the one before it.

    Raises:
        ValueError: a name that is no profile of this contract.
    """
    reached = frozenset(passed)
    known = [profile.name for profile in profiles]
    unknown = reached.difference(known)
    if unknown:
        raise ValueError(f"no profile of the {contract} contract: {sorted(unknown)}; it has {', '.join(known)}")
    return next((tier for tier in reversed(list(tiers)) if tier.profiles <= reached), None)
