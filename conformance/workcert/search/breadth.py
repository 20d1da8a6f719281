"""Breadth-first search of the model over a configuration, on folded records.

A state is a tuple of numbers of records, as they are at one instant: when time passes, the records age instead. The
first state found of each fold stands for all of them, so every path in here is a shortest one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from attrs import define, field

from workcert.search.interning import ABSENT, Records
from workcert.search.judging import Broken
from workcert.search.memo import Memo, Node, Numbers, Offered, Part
from workcert.search.progress import Progress
from workcert.search.targets import Raw
from workspec.core.configuration import Configuration
from workspec.core.contract import Contract

PROGRESS_EVERY: Final = 1000
AS_IT_IS: Final = 0
"""The number of the renaming that changes nothing."""

Way: TypeAlias = tuple[int, int, int]
"""The state in which a call is made, the place of its record (0 for no record), and which of its calls it is."""


@define(eq=False)
class Breadth:
    """A search on its way. ``limit``: how many states to reach at most; None for all.

    ``symmetric`` False: states that differ in names alone are told apart all the same.
    """

    contract: Contract
    configuration: Configuration
    limit: int | None = None
    progress: Callable[[Progress], None] | None = None
    symmetric: bool = True
    records: Records = field(init=False)
    memo: Memo = field(init=False)
    states: list[Numbers] = field(factory=list)
    seen: dict[Numbers, int] = field(factory=dict)
    parents: array[int] = field(factory=lambda: array("l"))
    moves: array[int] = field(factory=lambda: array("l"))
    """For each state four numbers: the place of the record plus 1 (0: none), or -1 for a step of time; which call, or
    how much time; the renaming after it; the depth."""
    transitions: int = 0
    looked_at: int = 0
    targets: dict[Raw, Way] = field(factory=dict)
    violations: dict[str, tuple[Broken, Way]] = field(factory=dict)
    left_alone: set[tuple[int, str | None]] = field(factory=set)
    calls: list[dict[int, Sequence[Offered]]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.records = Records(self.contract, self.configuration)
        self.memo = Memo(self.contract, self.configuration, self.records)
        self.calls = [{} for _ in (None, *self.configuration.keys)]

    def run(self) -> None:
        """Look at every state that can be reached, the nearest first."""
        start = (ABSENT,) * len(self.configuration.keys)
        self._add(start, start, 0, (0, 0), AS_IT_IS, 0)
        while self.looked_at < len(self.states) and not self.is_full:
            number = self.looked_at
            self._make_calls(number, self.states[number])
            self._let_time_pass(number, self.states[number])
            self.looked_at += 1
            if number % PROGRESS_EVERY == 0:
                self._report()
        self._report()

    @property
    def is_full(self) -> bool:
        return self.limit is not None and len(self.states) >= self.limit

    @property
    def depth(self) -> int:
        return self.moves[-1]

    def calls_in(self, place: int, number: int) -> Sequence[Offered]:
        """The calls of the record at a place (counted from 1; 0 for the calls of no record)."""
        known = self.calls[place]
        found = known.get(number)
        if found is None:
            key = self.configuration.keys[place - 1] if place else None
            found = known[number] = self.memo.calls_of(key, number)
        return found

    def _make_calls(self, number: int, state: Numbers) -> None:
        seen, follow, left_alone = self.seen, self.memo.follow, self.left_alone
        for place, record in enumerate((ABSENT, *state)):
            known = self.calls[place].get(record)
            calls = self.calls_in(place, record) if known is None else known
            self.transitions += len(calls)
            for which, offered in enumerate(calls):
                if offered.root is None:
                    self._make_parts(number, state, (place, which))
                    continue
                leaf = follow(offered.root, state) or self._decide(offered.parts[0], (number, place, which))
                if leaf.changes:
                    after = _with(state, leaf.changes)
                    if after not in seen:
                        self._reach(after, number, (place, which))
                elif leaf.left is not None:
                    rest = (state[leaf.left[0]], leaf.left[1])
                    if rest not in left_alone:
                        self._judge_rest(*rest, (number, place, which))

    def _make_parts(self, number: int, state: Numbers, move: tuple[int, int]) -> None:
        changes: list[tuple[int, int]] = []
        place, which = move
        for part in self.calls_in(place, (ABSENT, *state)[place])[which].parts:
            leaf = self.memo.follow(part.root, state) or self._decide(part, (number, *move))
            changes.extend(leaf.changes or ())
        if changes:
            after = _with(state, tuple(changes))
            if after not in self.seen:
                self._reach(after, number, move)

    def _decide(self, part: Part, way: Way) -> Node:
        end = self.memo.decide(part, self.states[way[0]])
        for target in end.targets:
            if target not in self.targets:
                self.targets[target] = way
        for broken in end.broken:
            self.violations.setdefault(broken.requirement, (broken, way))
        for _place, changed in end.leaf.changes or ():
            self._judge_rest(changed, None, way)
        return end.leaf

    def _judge_rest(self, number: int, code: str | None, way: Way) -> None:
        """Hold the step invariants against a record that a call leaves as it is."""
        if number == ABSENT or (number, code) in self.left_alone:
            return
        self.left_alone.add((number, code))
        for broken in self.memo.judge.broken_by_rest(number, self.records.found[number][1], code):
            self.violations.setdefault(broken.requirement, (broken, way))

    def _let_time_pass(self, number: int, state: Numbers) -> None:
        for wait in self._waits(state):
            self.transitions += 1
            after = tuple([self.records.later(record, wait) for record in state])
            if after not in self.seen:
                self._reach(after, number, (-1, wait))

    def _waits(self, state: Numbers) -> Iterator[int]:
        waits = set(self.configuration.waits)
        for record in state:
            if record != ABSENT:
                found = self.records.waits_of(record)
                if found is None:
                    return
                waits |= found
        if any(state):
            yield from sorted(waits)

    def _reach(self, after: Numbers, parent: int, move: tuple[int, int]) -> None:
        least, naming = self._least(after)
        if least in self.seen:
            self.seen[after] = self.seen[least]
        elif not self.is_full:
            self._add(after, least, parent, move, naming, self.moves[4 * parent + 3] + 1)

    def _add(self, after: Numbers, least: Numbers, parent: int, move: tuple[int, int], naming: int, depth: int) -> None:
        self.seen[after] = self.seen[least] = len(self.states)
        self.states.append(least)
        self.parents.append(parent)
        self.moves.extend((*move, naming, depth))

    def _least(self, state: Numbers) -> tuple[Numbers, int]:
        """The least of all namings of a state, and the number of the renaming that leads there."""
        least, naming = state, AS_IT_IS
        if self.symmetric:
            for number, _names in enumerate(self.configuration.renamings, start=1):
                other = self.renamed(state, number)
                if other < least:
                    least, naming = other, number
        return least, naming

    def renamed(self, state: Numbers, naming: int) -> Numbers:
        """A state under the renaming with this number."""
        if naming == AS_IT_IS:
            return state
        names = self.configuration.renamings[naming - 1]
        after = [ABSENT] * len(state)
        for number in state:
            if number != ABSENT:
                other = self.records.renamed(number, naming, names)
                after[self.memo.places[self.records.found[other][0]]] = other
        return tuple(after)

    def _report(self) -> None:
        if self.progress is not None:
            frontier = len(self.states) - self.looked_at
            self.progress(Progress(self.configuration.name, len(self.states), self.transitions, frontier, self.depth))


def _with(state: Numbers, changes: tuple[tuple[int, int], ...]) -> Numbers:
    if len(changes) == 1:
        ((place, number),) = changes
        return (*state[:place], number, *state[place + 1 :])
    after = list(state)
    for place, number in changes:
        after[place] = number
    return tuple(after)
