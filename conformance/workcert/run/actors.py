"""The names of a store's own engine, as the contract has them, wherever a history shows one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

MEMBER = "actor"


def with_actors(value: Any, actors: Mapping[str, str]) -> Any:
    """An answer or a record with the actor of each event renamed; the value itself where nothing is to rename."""
    if not actors:
        return value
    if isinstance(value, list | tuple):
        return type(value)(with_actors(each, actors) for each in value)
    if not attrs.has(type(value)):
        return value
    members = {member.name: getattr(value, member.name) for member in attrs.fields(type(value))}
    renamed = {
        name: actors.get(each, each) if name == MEMBER and isinstance(each, str) else with_actors(each, actors)
        for name, each in members.items()
    }
    changed = {name: each for name, each in renamed.items() if each is not members[name]}
    return attrs.evolve(value, **changed) if changed else value
