"""How far a search is."""

from __future__ import annotations

from attrs import frozen


@frozen
class Progress:
    """``frontier`` counts the states whose calls have not been made yet."""

    configuration: str
    states: int
    transitions: int
    frontier: int
    depth: int
