"""A record of the model: facts, which rules read, and a log, to which effects only append."""

from __future__ import annotations

from collections.abc import Mapping
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


def replaced(value: T, changes: Mapping[str, Any]) -> T:
    """A copy of a frozen attrs value (made with ``slots=False``) with some fields changed.

    `attrs.evolve` runs every initialiser again, which costs ten times as much on the facts of a record; the model
    applies one such change for each effect.
    """
    copy = object.__new__(type(value))
    copy.__dict__.update(value.__dict__)
    copy.__dict__.update(changes)
    return copy
