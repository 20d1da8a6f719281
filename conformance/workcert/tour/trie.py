"""The shortest paths of a search as one tree: what they have in common is gone once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from attrs import define, field

from workcert.binding import Binding
from workcert.search.interning import identity_of
from workcert.search.path import Path, Step
from workcert.search.targets import Target, kinds_of_keys, shown_by
from workspec.core.contract import Contract, steps_of
from workspec.core.interpreter import Committed, apply
from workspec.core.record import State
from workspec.core.rule import Effect, check_keys, checks_of, walk_steps
from workspec.core.scope import Call

CORE: Final = "CORE"


@define(eq=False)
class Place:
    """Where a path has come to. ``step`` led here from the place before, None at the beginning.

    ``moves``: the step changed something. ``shown``: what it showed. ``profiles``: what this path needs of a store.
    ``kept``: a chosen path goes through here.
    """

    step: Step | None
    state: State
    moves: bool = True
    shown: frozenset[Target] = frozenset()
    profiles: frozenset[str] = frozenset()
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
    needed = place.profiles | profiles_needed(binding, step.call, done)
    return Place(step, done.state, _moved(place.state, done.state), shown, needed, configuration)


def _moved(before: State, after: State) -> bool:
    return before.keys() != after.keys() or any(after[key] is not record for key, record in before.items())


def profiles_needed(binding: Binding, call: Call, done: Committed) -> frozenset[str]:
    """What a store must claim for a call to be made of it: the profile of its method, those of what its arguments ask
    for, and those of every rule that acted and belongs to no other profile."""
    methods = {name: profile for profile, names in binding.profile_methods.items() for name in names}
    by_key = _profiles_of_rules(binding.contract)
    rules = {by_key[key] for key in done.decision.trace.fired if key in by_key}
    return frozenset(rules | {methods.get(call.name, CORE)} | binding.asked_by(call)) - {CORE}


@cache
def _profiles_of_rules(contract: Contract) -> Mapping[str, str]:
    """By the key of a check, a row or an effect the profile to which it belongs; one of several belongs to none."""
    named: dict[str, tuple[str, ...]] = {row.key: row.requirements for row in contract.transitions.rows}
    for operation in contract.operations:
        for key, check in zip(check_keys(operation), checks_of(operation), strict=True):
            named[key] = check.requirements
        for step in walk_steps(steps_of(operation)):
            if isinstance(step, Effect):
                named[step.name] = step.requirements
    found = {key: _profiles(contract, requirements) for key, requirements in named.items()}
    return {key: profiles[0] for key, profiles in found.items() if profiles and CORE not in profiles}


def _profiles(contract: Contract, requirements: Iterable[str]) -> list[str]:
    return [contract.catalogue[each].profile for each in requirements if each in contract.catalogue]
