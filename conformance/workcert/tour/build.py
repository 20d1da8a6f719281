"""From the paths of a search to the case files of a tour.

A run goes from the empty store to the end of a branch of the tree. What is only looked at on the way (refusals, reads,
passes that find nothing) is done on the run that comes by, as it changes nothing; where none comes by in time, or none
that asks no more of a store, it has a run of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    places: tuple[Place, ...]
    configuration: str
    profiles: frozenset[str]


def built(binding: Binding, reached: Reached) -> tuple[Tour, ...]:
    """The tours of a contract, in a fixed order. Each shows its targets, and together they show all that was reached.

    Args:
        binding: the contract and what the kit knows of it.
        reached: what all configurations of the contract reach together.
    """
    root = tree_of(binding, reached.paths)
    runs = sorted(_runs(root, (), ()), key=lambda run: (run.configuration, sorted(run.profiles)))
    open_targets = set(reached.paths)
    found = []
    numbers: dict[str, int] = {}
    for run in runs:
        shown = {target for place in run.places for target in place.shown} & open_targets
        if not shown:
            continue
        open_targets -= shown
        numbers[run.configuration] = numbers.get(run.configuration, 0) + 1
        found.append(_tour(binding, run, numbers[run.configuration], shown))
    if open_targets:
        raise AssertionError(f"no tour shows {sorted(target.text for target in open_targets)[:3]}")
    return tuple(found)


def _runs(place: Place, full: tuple[Place, ...], bare: tuple[Place, ...]) -> Iterator[_Run]:
    """The runs through a place. ``full``: what the first of them does until here, visits included; ``bare``: the way
    alone, which is all that the others do."""
    here, way_here = _with(full, place), _with(bare, place)
    visits = place.visits()
    for way in sorted(place.ways_on(), key=lambda way: -way.at):
        needed = _needed_behind(way)
        fits = [visit for visit in visits if visit.at <= way.at and visit.profiles <= needed]
        yield from _runs(way, (*here, *fits), way_here)
        visits = [visit for visit in visits if visit not in fits]
        here = way_here
    if visits or not place.ways_on():
        yield from _ended(here, way_here, place, visits)


def _with(before: tuple[Place, ...], place: Place) -> tuple[Place, ...]:
    return before if place.step is None else (*before, place)


def _needed_behind(place: Place) -> frozenset[str]:
    """What the first run through a place will ask of a store."""
    ways = place.ways_on()
    return place.profiles | (_needed_behind(max(ways, key=lambda way: way.at)) if ways else frozenset())


def _ended(full: tuple[Place, ...], bare: tuple[Place, ...], place: Place, visits: Sequence[Place]) -> Iterator[_Run]:
    """Runs that go no further than a place: one for what needs no more than the way there, one for each other need."""
    own = frozenset[str]().union(*(each.profiles for each in full))
    needs = sorted({visit.profiles | own for visit in visits} or {own}, key=lambda need: (len(need), sorted(need)))
    way = full
    for need in needs:
        group = [visit for visit in visits if visit.profiles | own == need]
        configuration = group[0].configuration if group else place.configuration
        yield _Run((*way, *group), configuration, need)
        way = bare


def _tour(binding: Binding, run: _Run, number: int, shown: set[Target]) -> Tour:
    contract = binding.contract
    steps = tuple(place.step for place in run.places if place.step is not None)
    case = case_of(contract, Path(run.configuration, steps), (), "")
    profiles = tuple(sorted(frozenset().union(*(place.profiles for place in run.places))))
    title = f"A tour of the configuration {run.configuration}: {len(shown)} of what search has reached"
    header = evolve(
        case.header, name=f"{contract.name}/tour-{run.configuration}-{number:02}", title=title, profiles=profiles
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
