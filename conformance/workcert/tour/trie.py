"""The shortest paths of a search as one tree: what they have in common is gone once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from attrs import define, field

from workcert.binding import Binding
from workcert.search.interning import identity_of
from workcert.search.path import Path, Step
from workcert.search.targets import Target, kinds_of_keys, shown_by
from workspec.core.interpreter import apply
from workspec.core.record import State


@define(eq=False)
class Place:
    """Where a path has come to. ``step`` led here from the place before, None at the beginning.

    ``moves``: the step changed something. ``shown``: what it showed. ``kept``: a chosen path goes through here.
    """

    step: Step | None
    state: State
    moves: bool = True
    shown: frozenset[Target] = frozenset()
    configuration: str = ""
    kept: bool = False
    after: dict[Hashable, Place] = field(factory=dict)

    @property
    def at(self) -> int:
        return 0 if self.step is None else self.step.at

    def ways_on(self) -> list[Place]:
        """Places behind this one that change something, or that a path goes on from."""
        return [place for place in self.after.values() if place.kept and (place.moves or place.goes_on)]

    def visits(self) -> list[Place]:
        """What is only looked at from here: it changes nothing, and nothing comes after it. In order of time."""
        found = [place for place in self.after.values() if place.kept and not (place.moves or place.goes_on)]
        return sorted(found, key=lambda place: place.at)

    @property
    def goes_on(self) -> bool:
        return any(place.kept for place in self.after.values())


def tree_of(binding: Binding, paths: Mapping[Target, Path]) -> Place:
    """All paths as a tree, of which those are kept that show something which no longer one shows on its way."""
    root = Place(None, {})
    kinds = kinds_of_keys(binding.contract)
    left = set(paths)
    for _target, path in sorted(paths.items(), key=lambda each: (-len(each[1].steps), each[0].kind, each[0].name)):
        if _target not in left:
            continue
        for place in _walked(binding, kinds, root, path):
            place.kept = True
            left -= place.shown
    root.kept = True
    return root


def _walked(binding: Binding, kinds: Mapping[str, str], root: Place, path: Path) -> Iterator[Place]:
    place = root
    for step in path.steps:
        identity = (step.call.name, identity_of(step.call.arguments), step.at)
        if identity not in place.after:
            place.after[identity] = _after(binding, kinds, place, step, path.configuration)
        place = place.after[identity]
        yield place


def _after(binding: Binding, kinds: Mapping[str, str], place: Place, step: Step, configuration: str) -> Place:
    done = apply(binding.contract, place.state, step.call, step.at)
    shown = frozenset(Target(*raw) for raw in shown_by(kinds, place.state, done))
    return Place(step, done.state, _moved(place.state, done.state), shown, configuration)


def _moved(before: State, after: State) -> bool:
    return before.keys() != after.keys() or any(after[key] is not record for key, record in before.items())
