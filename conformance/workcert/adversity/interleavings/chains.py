"""Chains: what comes between takes a record through other states and leaves it in the same one, and yet not the same.

A call that has looked at the record before it is held, and afterwards asks for its state alone, takes what it finds for
what it had seen. No single call shows that: the record must be given back and taken anew, or deleted and made again.
A record that has no state, such as a duty, looks the same whenever it is there: it comes back when it has been away.

A search folds such records into one, so that chains are searched on real ones, from the states that it has reached.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeAlias

import attrs
from attrs import define, evolve, field, frozen

from workcert.adversity.interleavings.acting import Acting, Cells, acting_in, fewest, leaves_under, needed_for
from workcert.adversity.interleavings.offering import Offering, Source, changed_keys, has_state, made, state_after
from workcert.binding import Binding
from workcert.search.breadth import Breadth
from workcert.search.interning import ABSENT, identity_of
from workcert.search.memo import Numbers
from workcert.search.needs import profiles_needed
from workcert.search.path import Path, Step, instant_before, path_to
from workcert.search.targets import state_of
from workspec.core.alike import members_of
from workspec.core.interpreter import instants
from workspec.core.record import Record, State

MOST_CALLS: Final = 5
MOST_RECORDS: Final = 100
"""That are looked at from one beginning."""
MOST_IN_VAIN: Final = 2
"""Tries of a source in one state of a record: calls that are refused there twice are refused again."""
MOST_ALIKE: Final = 2
"""Sources whose calls of one operation lead from one state of a record to the same other one."""
MOST_BEGINNINGS: Final = 2
"""Of one operation and the rule that decides on it: the records, nearest first, from which chains are found, and in
one configuration those from which none is."""


class Way(StrEnum):
    """How a record comes back. The values are what a case of it is called and what its title says."""

    RETURNED = "returned"
    MADE_ANEW = "made-anew"


TITLES: Final[Mapping[Way, str]] = {
    Way.RETURNED: "comes back to its state meanwhile",
    Way.MADE_ANEW: "is deleted and made anew meanwhile",
}


Kind: TypeAlias = tuple[bool, str]
"""Of a record: whether it has no state, and the name of what its facts are; those that have one come first."""


@frozen
class Chain:
    """``held``: the path to the call that is held; ``others``: what comes between, after which that call leaves the
    record alone; ``then``: the same made by whom the record belongs to now, who may have lost it to the call that was
    held. ``of``: the kind of the record. ``distance``: how many of its members tell that it is not the same.
    ``needs``: the profiles that a store must claim."""

    held: Path
    others: tuple[Step, ...]
    then: tuple[Step, ...]
    way: Way
    of: Kind
    needs: frozenset[str]
    cells: Cells
    distance: int

    @property
    def name(self) -> str:
        return self.held.steps[-1].call.name

    @property
    def order(self) -> Any:
        """The nearest to what goes unnoticed comes first."""
        return len(self.others), self.distance, len(self.needs), len(self.held.steps), self.held.text, str(self.others)


@frozen(eq=False)
class _Node:
    """``record``: as the chain has left it; ``has_left``: it was in another state before."""

    state: State
    now: int
    steps: tuple[Step, ...]
    needs: frozenset[str]
    record: Record | None
    has_left: bool = False
    was_absent: bool = False

    @property
    def identity(self) -> Hashable:
        facts = None if self.record is None else identity_of(self.record.facts)
        return self.now, self.has_left, self.was_absent, facts


def chains(binding: Binding, searches: Sequence[Breadth]) -> tuple[Chain, ...]:
    """The shortest chains for each operation that can be held so, each rule that decides on it, and each way in which
    the record comes back; and again for stores that claim less."""
    offering = Offering(binding, [each.configuration for each in searches])
    found: dict[Hashable, list[Chain]] = {}
    fruitful: dict[Hashable, int] = {}
    fruit: dict[Kind, _Fruit] = {}
    coming_back = frozenset().union(*map(_coming_back, searches))
    for breadth in searches:
        for chain in _Chains(binding, breadth, offering, fruit, fruitful, coming_back).found():
            found.setdefault((chain.name, chain.cells, chain.way, chain.of), []).append(chain)
    return tuple(chain for key in sorted(found, key=str) for chain in fewest(sorted(found[key], key=_order)))


def chosen_chains(found: Iterable[Chain]) -> tuple[tuple[Chain, ...], ...]:
    """Of each operation one for each way and kind of record; each again for stores that claim less, what needs most of
    them first."""
    best: dict[tuple[str, Way, Kind], list[Chain]] = {}
    for chain in sorted(found, key=_order):
        best.setdefault((chain.name, chain.way, chain.of), []).append(chain)
    return tuple(tuple(fewest(best[key])) for key in sorted(best))


def _order(chain: Chain) -> Any:
    return chain.order


def _kind(record: Record) -> Kind:
    return not has_state(record), type(record.facts).__name__


def _coming_back(breadth: Breadth) -> frozenset[Kind]:
    """The kinds of records that can look the same again: those that have a state, and those that calls take away."""
    kinds = {key: _kind(record) for key, record in breadth.records.found if key}
    parts = (part for offered in breadth.memo.roots.values() for part in offered.parts)
    changes = (change for part in parts for leaf in leaves_under(part.root) for change in leaf.changes or ())
    taken = {breadth.configuration.keys[place] for place, number in changes if number == ABSENT}
    return frozenset(kind for key, kind in kinds.items() if not kind[0] or key in taken)


@define(eq=False)
class _Chains:
    """Those from the states of one search. ``levels``: by a state and a key where chains from there lead."""

    binding: Binding
    breadth: Breadth
    offering: Offering
    fruit: dict[Kind, _Fruit]
    fruitful: dict[Hashable, int]
    coming_back: frozenset[Kind]
    levels: dict[tuple[int, str], _Levels] = field(factory=dict)

    def found(self) -> Iterator[Chain]:
        breadth, needed = self.breadth, needed_for(self.breadth)
        in_vain: dict[Hashable, int] = {}
        tried: set[Hashable] = set()
        for number in range(breadth.looked_at):
            state = breadth.states[number]
            for acting, place, kind in self._beginnings(state):
                group = (acting.name, acting.cells, kind)
                beginning = (*group, place, state[place])
                enough = in_vain.get(group, 0) >= MOST_BEGINNINGS or self.fruitful.get(group, 0) >= MOST_BEGINNINGS
                if enough or beginning in tried:
                    continue
                tried.add(beginning)
                found = list(self._from(number, acting, kind, breadth.needs.names(needed[number] | acting.needs)))
                counted = self.fruitful if found else in_vain
                counted[group] = counted.get(group, 0) + 1
                yield from found

    def _beginnings(self, state: Numbers) -> Iterator[tuple[Acting, int, Kind]]:
        """Calls that write a record which may come back, with its place."""
        for acting in acting_in(self.breadth, state):
            for place in () if acting.refused else sorted(acting.writes):
                record = self.breadth.records.record(state[place])
                if record is not None and _kind(record) in self.coming_back:
                    yield acting, place, _kind(record)

    def _from(self, number: int, acting: Acting, kind: Kind, needs: frozenset[str]) -> Iterator[Chain]:
        contract = self.binding.contract
        way = (number, acting.place, acting.which)
        held = path_to(self.breadth, way)
        state = state_after(contract, held.steps[:-1])
        call, at = held.steps[-1].call, held.steps[-1].at
        first = made(contract, state, call, at)
        if first is None:
            return
        for key in sorted(changed_keys(state, first.state)):
            record = state.get(key)
            if record is None or _kind(record) != kind:
                continue
            levels = self._levels(number, key, state, instant_before(self.breadth, way))
            yield from self._shortest(levels, held, first.state.get(key), record, acting.cells, needs)

    def _shortest(
        self,
        levels: _Levels,
        held: Path,
        written: Record | None,
        record: Record,
        cells: Cells,
        needs: frozenset[str],
    ) -> Iterator[Chain]:
        """Those of the first level that has any, for each way in which the record comes back. ``written``: what
        the held call makes of it where nothing comes between."""
        call, at = held.steps[-1].call, held.steps[-1].at
        left = set(Way)
        for length in range(MOST_CALLS):
            found: dict[Way, list[Chain]] = {}
            for end in levels.ends(length) if left else ():
                how = Way.MADE_ANEW if end.was_absent else Way.RETURNED
                behind = made(self.binding.contract, end.state, call, at) if how in left else None
                if behind is None or end.record is None or behind.state.get(levels.key) is not end.record:
                    continue
                every = needs | end.needs
                distance = _distance(record.facts, end.record.facts)
                late = {each: one for each, one in {**end.state, levels.key: written}.items() if one is not None}
                then = self._then(end, levels.key, call.name) or self._telling(end, levels.key, behind.state, late)
                chain = Chain(evolve(held, needs=every), end.steps, then, how, _kind(record), every, cells, distance)
                found.setdefault(how, []).append(chain)
            left -= found.keys()
            for each in found.values():
                yield from fewest(sorted(each, key=_order))

    def _then(self, end: _Node, key: str, name: str) -> tuple[Step, ...]:
        """The first call of an operation that changes the record as it is now, and needs nothing more."""
        contract = self.binding.contract
        for (_name, of, _number), call in self.offering.by_others(end.state, key, end.now, lambda _source: True):
            if call.name != name or of != key:
                continue
            at = contract.instant(call, end.now)
            done = made(contract, end.state, call, at)
            if done is None or done.state.get(key) is end.record:
                continue
            changed = changed_keys(end.state, done.state)
            if profiles_needed(self.binding, call, end.state, done, changed) <= end.needs | self._own(name):
                return (Step(call, at),)
        return ()

    def _telling(self, end: _Node, key: str, right: State, late: State) -> tuple[Step, ...]:
        """Where the record cannot be read, the first call that is answered otherwise if the held one has written late,
        and needs nothing more."""
        contract = self.binding.contract
        calls = () if self.binding.legible(key) else self.offering.by_others(right, key, end.now, lambda _source: True)
        for _source, call in calls:
            at = contract.instant(call, end.now)
            done, wrong = (made(contract, state, call, at) for state in (right, late))
            if done is None or wrong is None or done.outcome == wrong.outcome:
                continue
            needs = profiles_needed(self.binding, call, right, done, changed_keys(right, done.state))
            if needs <= end.needs | self._own(call.name):
                return (Step(call, at),)
        return ()

    def _own(self, name: str) -> frozenset[str]:
        """The profile that brings an operation."""
        found = (profile for profile, names in self.binding.profile_methods.items() if name in names)
        return frozenset(found)

    def _levels(self, number: int, key: str, state: State, now: int) -> _Levels:
        known = self.levels.get((number, key))
        if known is None:
            record = state[key]
            begin = _Node(state, now, (), frozenset(), record)
            fruit = self.fruit.setdefault(_kind(record), _Fruit())
            known = self.levels[number, key] = _Levels(self.binding, self.offering, fruit, key, begin)
        return known


@define(eq=False)
class _Fruit:
    """What calls of a source have come to in a state of a record of one kind, so that those which are alike are made
    once."""

    tried: dict[tuple[Source, str], int] = field(factory=dict)
    leading: dict[tuple[str, str, str], list[Source]] = field(factory=dict)
    useful: set[tuple[Source, str]] = field(factory=set)

    def is_worth_it(self, state: str, source: Source) -> bool:
        return (source, state) in self.useful or self.tried.get((source, state), 0) < MOST_IN_VAIN

    def note(self, source: Source, call: str, before: str, after: str | None) -> bool:
        """Whether to go on from there. ``after`` None: the record is as it was."""
        self.tried[source, before] = self.tried.get((source, before), 0) + 1
        if after is None:
            return False
        alike = self.leading.setdefault((call, before, after), [])
        if source not in alike and len(alike) < MOST_ALIKE:
            alike.append(source)
        if source in alike:
            self.useful.add((source, before))
        return source in alike


@define(eq=False)
class _Levels:
    """The records that chains from one beginning lead to, by the length of the chains."""

    binding: Binding
    offering: Offering
    fruit: _Fruit
    key: str
    begin: _Node
    wanted: str = field(init=False)
    levels: list[list[_Node]] = field(init=False)
    seen: set[Hashable] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.wanted = state_of(self.begin.state, self.key)
        self.levels = [[self.begin]]
        self.seen = {self.begin.identity}

    def ends(self, length: int) -> Iterator[_Node]:
        """Where the record is in its state again, after a chain of one more call than this."""
        while len(self.levels) <= length + 1:
            self.levels.append(self._following(self.levels[-1]))
        found = self.levels[length + 1]
        return (each for each in found if each.has_left and state_of(each.state, self.key) == self.wanted)

    def _following(self, level: Sequence[_Node]) -> list[_Node]:
        following: list[_Node] = []
        for node in level:
            if len(self.seen) >= MOST_RECORDS:
                break
            for after in self._after(node):
                if after.identity not in self.seen:
                    self.seen.add(after.identity)
                    following.append(after)
        # What needs least is gone on with first, so that it stands for what is alike.
        return sorted(following, key=lambda each: len(each.needs))

    def _after(self, node: _Node) -> Iterator[_Node]:
        contract, key = self.binding.contract, self.key
        before = state_of(node.state, key)
        is_worth_it = partial(self.fruit.is_worth_it, before)
        for now in self._instants(node):
            for source, call in self.offering.by_others(node.state, key, now, is_worth_it):
                at = contract.instant(call, now)
                done = made(contract, node.state, call, at)
                record = None if done is None else done.state.get(key)
                after = None if done is None or record is node.record else state_of(done.state, key)
                if not self.fruit.note(source, call.name, before, after) or done is None:
                    continue
                changed = changed_keys(node.state, done.state)
                needs = node.needs | profiles_needed(self.binding, call, node.state, done, changed)
                has_left = node.has_left or after != self.wanted
                absent = node.was_absent or record is None
                yield _Node(done.state, now, (*node.steps, Step(call, at)), needs, record, has_left, absent)

    def _instants(self, node: _Node) -> Sequence[int]:
        """When the next call may be made: at once, and, unless the store has one clock, when something turns."""
        if self.binding.has_clock:
            return (node.now,)
        turns = () if node.record is None else instants(self.binding.contract, node.record, node.now)
        return (node.now, *sorted({each for each in turns if each > node.now}))


def _distance(facts: Any, other: Any) -> int:
    ours, theirs = _members(facts), _members(other)
    return sum(ours.get(name) != theirs.get(name) for name in {*ours, *theirs})


def _members(facts: Any) -> Mapping[str, Hashable]:
    kind = type(facts)
    return {name: identity_of(getattr(facts, name)) for name in members_of(kind)} if attrs.has(kind) else {}
