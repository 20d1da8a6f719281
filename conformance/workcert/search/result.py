"""What a search found."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from workcert.cases.model import Case


@frozen
class Violation:
    """``case`` leads from an empty store to the violation; its last step is the call that shows it."""

    requirement: str
    text: str
    case: Case


@frozen
class Progress:
    """How far a search is. ``frontier`` counts the states whose calls have not been made yet."""

    states: int
    transitions: int
    frontier: int
    depth: int


@frozen
class SearchResult:
    """``states`` differ in their folds; ``transitions`` counts calls and steps of time; ``depth`` is the length of
    the longest of the shortest paths. ``never_fired``: keys of checks, rows of tables, transitions and effects that
    took no part. ``sides``: for each comparison that was asked, the sides of its bound that were seen; of those past
    an instant often only *at*, since a state stands for all in which that instant has passed."""

    contract: str
    configuration: str
    states: int
    transitions: int
    depth: int
    frontier: int
    violations: tuple[Violation, ...]
    never_fired: tuple[str, ...]
    sides: Mapping[str, tuple[str, ...]]

    @property
    def frontier_empty(self) -> bool:
        """Every state that can be reached was looked at, so what was not found does not exist here."""
        return self.frontier == 0
