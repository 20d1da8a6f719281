"""A record of the model: facts, which rules read, and a log, to which effects only append."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, TypeVar

from attrs import frozen

T = TypeVar("T")


@frozen
class Record:
    """``version`` is the model's own count of commits; None for an injected row that has no version."""

    version: int | None
    facts: Any
    log: Any


State = Mapping[str, Record]
"""A committed store: records by key. Never changed in place."""


def copied(state: State) -> MutableMapping[str, Record]:
    """A copy to be changed. A state that watches its readers copies itself, for a copy is no reading."""
    own: Callable[[], MutableMapping[str, Record]] | None = getattr(state, "copied", None)
    return dict(state) if own is None else own()


def replaced(value: T, changes: Mapping[str, Any]) -> T:
    """A copy of a frozen attrs value (made with ``slots=False``) with some fields changed.

    `attrs.evolve` runs every initialiser again, which costs ten times as much on the facts of a record; the model
    applies one such change for each effect.
    """
    # Of its class, not of its type: facts that are watched stand in for the facts themselves.
    copy = object.__new__(value.__class__)
    copy.__dict__.update(value.__dict__)
    copy.__dict__.update(changes)
    return copy
