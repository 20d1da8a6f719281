"""What a search found."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from workcert.cases.model import Case
from workcert.search.path import Path
from workcert.search.targets import Target


@frozen
class Violation:
    """``case`` leads from an empty store to the violation; its last step is the call that shows it."""

    requirement: str
    text: str
    case: Case


@frozen
class SearchResult:
    """``states`` differ in their folds, and in more than names that a configuration may exchange; ``transitions``
    counts calls and steps of time; ``depth`` is the length of the longest path taken. ``never_fired``: keys
    of checks, rows of tables, transitions and effects that took no part. ``sides``: for each comparison that was asked,
    the sides of its bound that were seen."""

    contract: str
    configuration: str
    text: str
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


@frozen
class Reached:
    """What the configurations of a contract reach together.

    ``ways``: for each target the paths to it, none of which needs all the profiles that another one needs; each is a
    shortest of its need, of the first configuration that has one so short. ``unreached``: what could be asked for and
    no configuration reaches, cells as far as no check at all decides there (their last name is then empty). Where
    `closed`, that is shown for each configuration; else it was only not found.
    """

    contract: str
    digest: str
    searched: tuple[SearchResult, ...]
    ways: Mapping[Target, tuple[Path, ...]]
    unreached: tuple[Target, ...]

    @property
    def paths(self) -> Mapping[Target, Path]:
        """The path to each target that is told: the one that needs least."""
        return {target: paths[0] for target, paths in self.ways.items()}

    @property
    def closed(self) -> bool:
        return all(result.frontier_empty for result in self.searched)

    @property
    def unreached_text(self) -> str:
        """The statement that stands for every target that is not reached."""
        names = ", ".join(result.configuration for result in self.searched)
        if self.closed:
            return f"unreachable within configuration {names} (frontier empty)"
        left = ", ".join(result.configuration for result in self.searched if not result.frontier_empty)
        return f"not found within configuration {names} (not all of {left} was looked at)"
