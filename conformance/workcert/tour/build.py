"""From the paths of a search to the case files of a tour.

Paths that need the same of a store make one tree, so that no run asks for more than what it shows needs. A run goes
from the empty store to the end of a branch of the tree. What is only looked at on the way (refusals, reads, passes that
find nothing) is done on the run that comes by, as it changes nothing; where none comes by in time, it has a run of its
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from workcert.binding import Binding
from workcert.cases.compact import compacted
from workcert.search.path import Path, Step, case_of
from workcert.search.result import Reached
from workcert.search.targets import Target
from workcert.tour.library import Tour
from workcert.tour.trie import Place, tree_of
from workspec.core.interpreter import apply


@frozen(eq=False)
class _Run:
    """``needs``: the profiles beside CORE that a store must claim."""

    places: tuple[Place, ...]
    configuration: str
    needs: frozenset[str]


def built(binding: Binding, reached: Reached) -> tuple[Tour, ...]:
    """The tours of a contract, in a fixed order: those come first that need least.

    Each shows its targets. Those that need no more than a store claims show together all that its profiles reach.

    Args:
        binding: the contract and what the kit knows of it.
        reached: what all configurations of the contract reach together.
    """
    left = {(target, path.needs): path for target, paths in reached.ways.items() for path in paths}
    found = []
    numbers: dict[str, int] = {}
    for needs in sorted({needs for _target, needs in left}, key=lambda each: (len(each), sorted(each))):
        root = tree_of(binding, {target: path for (target, own), path in left.items() if own == needs})
        for run in sorted(_runs(root, needs, (), ()), key=lambda run: run.configuration):
            shown = {target for place in run.places for target in place.shown}
            served = {(target, own) for target, own in left if target in shown and needs <= own}
            if not served:
                continue
            for each in served:
                del left[each]
            numbers[run.configuration] = numbers.get(run.configuration, 0) + 1
            found.append(_tour(binding, run, numbers[run.configuration], {target for target, _own in served}))
    if left:
        raise AssertionError(f"no tour shows {sorted(target.text for target, _own in left)[:3]}")
    return tuple(found)


def _runs(place: Place, needs: frozenset[str], full: tuple[Place, ...], bare: tuple[Place, ...]) -> Iterator[_Run]:
    """The runs through a place. ``full``: what the first of them does until here, visits included; ``bare``: the way
    alone, which is all that the others do."""
    here, way_here = _with(full, place), _with(bare, place)
    visits = place.visits()
    for way in sorted(place.ways_on(), key=lambda way: -way.at):
        fits = [visit for visit in visits if visit.at <= way.at]
        yield from _runs(way, needs, (*here, *fits), way_here)
        visits = [visit for visit in visits if visit not in fits]
        here = way_here
    if visits or not place.ways_on():
        yield _Run((*here, *visits), (visits[0] if visits else place).configuration, needs)


def _with(before: tuple[Place, ...], place: Place) -> tuple[Place, ...]:
    return before if place.step is None else (*before, place)


def _tour(binding: Binding, run: _Run, number: int, shown: set[Target]) -> Tour:
    contract = binding.contract
    steps = tuple(place.step for place in run.places if place.step is not None)
    case = case_of(contract, Path(run.configuration, steps), (), "")
    title = f"A tour of the configuration {run.configuration}: {len(shown)} of what search has reached"
    header = evolve(
        case.header,
        name=f"{contract.name}/tour-{run.configuration}-{number:02}",
        title=title,
        profiles=tuple(sorted(run.needs)),
    )
    targets = sorted(shown, key=lambda target: (target.kind, target.name))
    return Tour(compacted(evolve(case, header=header), binding.omitted), tuple(targets), _requirements(binding, run))


def _requirements(binding: Binding, run: _Run) -> tuple[str, ...]:
    """The ids of all that took part."""
    state: Mapping[str, Any] = {}
    found: set[str] = set()
    for place in run.places:
        if isinstance(place.step, Step):
            done = apply(binding.contract, state, place.step.call, place.step.at)
            state = done.state
            found.update(each for each in done.decision.trace.requirements if each in binding.contract.catalogue)
    return tuple(sorted(found))
