"""Breadth-first search of the model over a configuration, on folded records.

A state is a tuple of numbers of records, as they are at one instant: when time passes, the records age instead. The
first state found of each fold stands for all of them.

What needs few profiles of a store comes first, and of that what is near: a state is looked at again only where it is
reached by what a store may have that has not all that it was reached by before. Where nothing needs anything, every
path in here is a shortest one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from attrs import define, field, frozen

from workcert.search.interning import ABSENT, Records
from workcert.search.judging import Broken
from workcert.search.memo import Memo, Node, Numbers, Offered, Part
from workcert.search.needs import Needs, covers
from workcert.search.progress import Progress
from workcert.search.targets import Raw
from workspec.core.configuration import Configuration
from workspec.core.contract import Contract

PROGRESS_EVERY: Final = 1000
AS_IT_IS: Final = 0
"""The number of the renaming that changes nothing."""

Way: TypeAlias = tuple[int, int, int]
"""The state in which a call is made, the place of its record (0 for no record), and which of its calls it is."""
Move: TypeAlias = tuple[int, int]
"""The place of the record plus 1 (0: none), and which of its calls; or -1 and how much time."""


@frozen
class _Waiting:
    """A way to a state that needs more than what is gone through now."""

    depth: int
    parent: int
    move: Move
    naming: int


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
    needs: Needs = field(factory=Needs)
    records: Records = field(init=False)
    memo: Memo = field(init=False)
    states: list[Numbers] = field(factory=list)
    """In the order in which they are looked at; one that is looked at again is in here again."""
    distinct: int = 0
    again: set[int] = field(factory=set)
    """The numbers of those that are looked at again."""
    claimed: int = 0
    """What is needed for all that is gone through now."""
    seen: dict[Numbers, int] = field(factory=dict)
    """The states that are reached by what is claimed, as far as they have been asked for."""
    closed: dict[int, dict[Numbers, int]] = field(factory=dict)
    """All of `seen`, by what was claimed."""
    below: tuple[dict[Numbers, int], ...] = ()
    """Those of less than what is claimed."""
    waiting: dict[int, dict[Numbers, _Waiting]] = field(factory=dict)
    parents: array[int] = field(factory=lambda: array("l"))
    moves: array[int] = field(factory=lambda: array("l"))
    """For each state four numbers: its move, the renaming after it, and the depth."""
    transitions: int = 0
    looked_at: int = 0
    depth: int = 0
    found: dict[Raw, dict[int, Way]] = field(factory=dict)
    """By what is needed for it a way to each target; none needs all that another one needs."""
    violations: dict[str, tuple[Broken, Way]] = field(factory=dict)
    left_alone: set[tuple[int, str | None]] = field(factory=set)
    calls: list[dict[int, Sequence[Offered]]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.records = Records(self.contract, self.configuration)
        self.memo = Memo(self.contract, self.configuration, self.records, self.needs)
        self.calls = [{} for _ in (None, *self.configuration.keys)]

    def run(self) -> None:
        """Look at every state that can be reached."""
        start = (ABSENT,) * len(self.configuration.keys)
        self.waiting[0] = {start: _Waiting(0, 0, (0, 0), AS_IT_IS)}
        while self.waiting and not self.is_full:
            # What leads on from here needs more than this, so that nothing of it comes back.
            self._go_through(min(self.waiting, key=lambda needs: (needs.bit_count(), needs)))
        self._report()

    @property
    def is_full(self) -> bool:
        return self.limit is not None and self.distinct >= self.limit

    @property
    def targets(self) -> Mapping[Raw, Way]:
        """The way to each target that needs least."""
        return {raw: ways[min(ways, key=lambda needs: (needs.bit_count(), needs))] for raw, ways in self.found.items()}

    def _go_through(self, claimed: int) -> None:
        """Look at every state that is reached by what is claimed and not by less, the nearest first."""
        self.claimed = claimed
        self.below = tuple(seen for needs, seen in self.closed.items() if covers(claimed, needs))
        self.seen = self.closed[claimed] = {}
        starts = sorted(self.waiting.pop(claimed).items(), key=lambda each: each[1].depth, reverse=True)
        while (starts or self.looked_at < len(self.states)) and not self.is_full:
            is_empty = self.looked_at == len(self.states)
            depth = starts[-1][1].depth if is_empty else self.depth_of(self.looked_at)
            while starts and starts[-1][1].depth <= depth:
                state, way = starts.pop()
                if not self._is_known(state):
                    self._add(state, state, way.parent, way.move, way.naming, way.depth)
            if self.looked_at < len(self.states):
                self._look_at(self.looked_at)

    def _look_at(self, number: int) -> None:
        before = self.transitions
        self._make_calls(number, self.states[number])
        self._let_time_pass(number, self.states[number])
        self.looked_at += 1
        if number in self.again:
            self.transitions = before
        if number % PROGRESS_EVERY == 0:
            self._report()

    def depth_of(self, number: int) -> int:
        return self.moves[4 * number + 3]

    def calls_in(self, place: int, number: int) -> Sequence[Offered]:
        """The calls of the record at a place (counted from 1; 0 for the calls of no record)."""
        known = self.calls[place]
        found = known.get(number)
        if found is None:
            key = self.configuration.keys[place - 1] if place else None
            found = known[number] = self.memo.calls_of(key, number)
        return found

    def _make_calls(self, number: int, state: Numbers) -> None:
        seen, claimed, follow, left_alone = self.seen, self.claimed, self.memo.follow, self.left_alone
        for place, record in enumerate((ABSENT, *state)):
            known = self.calls[place].get(record)
            calls = self.calls_in(place, record) if known is None else known
            self.transitions += len(calls)
            for which, offered in enumerate(calls):
                if offered.root is None:
                    self._make_parts(number, state, (place, which))
                    continue
                leaf = follow(offered.root, state) or self._decide(offered.parts[0], (number, place, which))
                if leaf.under != claimed:
                    leaf.under = claimed
                    self._note(leaf, claimed | leaf.needs, (number, place, which))
                if leaf.changes:
                    after = _with(state, leaf.changes)
                    if after not in seen:
                        self._reach(after, number, (place, which), claimed | leaf.needs)
                elif leaf.left is not None:
                    rest = (state[leaf.left[0]], leaf.left[1])
                    if rest not in left_alone:
                        self._judge_rest(*rest, (number, place, which))

    def _make_parts(self, number: int, state: Numbers, move: Move) -> None:
        place, which = move
        parts = self.calls_in(place, (ABSENT, *state)[place])[which].parts
        leaves = [self.memo.follow(part.root, state) or self._decide(part, (number, *move)) for part in parts]
        needs = self.claimed
        for leaf in leaves:
            needs |= leaf.needs
        for leaf in leaves:
            noted = leaf.noted = leaf.noted or set()
            if (self.claimed, needs) not in noted:
                noted.add((self.claimed, needs))
                self._note(leaf, needs, (number, *move))
        changes = tuple(change for leaf in leaves for change in leaf.changes or ())
        if changes:
            after = _with(state, changes)
            if after not in self.seen:
                self._reach(after, number, move, needs)

    def _note(self, leaf: Node, needs: int, way: Way) -> None:
        """The way shows what the leaf does, to whom has what is needed."""
        for target in leaf.targets:
            ways = self.found.setdefault(target, {})
            if any(covers(needs, less) and not self._is_shorter(way, ways, needs, less) for less in ways):
                continue
            for more in [each for each in ways if covers(each, needs)]:
                del ways[more]
            ways[needs] = way

    def _is_shorter(self, way: Way, ways: Mapping[int, Way], needs: int, other: int) -> bool:
        return needs == other and self.depth_of(way[0]) < self.depth_of(ways[other][0])

    def _decide(self, part: Part, way: Way) -> Node:
        end = self.memo.decide(part, self.states[way[0]])
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
                self._reach(after, number, (-1, wait), self.claimed)

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

    def _reach(self, after: Numbers, parent: int, move: Move, needs: int) -> None:
        least, naming = self._least(after)
        if self._is_known(least):
            self.seen[after] = self.seen[least]
        elif needs != self.claimed:
            self._put_off(least, _Waiting(self.depth_of(parent) + 1, parent, move, naming), needs)
        elif not self.is_full:
            self._add(after, least, parent, move, naming, self.depth_of(parent) + 1)

    def _is_known(self, state: Numbers) -> bool:
        """The state is reached by what is claimed."""
        if state in self.seen:
            return True
        number = next((seen[state] for seen in self.below if state in seen), None)
        if number is None:
            return False
        self.seen[state] = number
        return True

    def _put_off(self, state: Numbers, way: _Waiting, needs: int) -> None:
        waiting = self.waiting.setdefault(needs, {})
        known = waiting.get(state)
        if known is None or way.depth < known.depth:
            waiting[state] = way

    def _add(self, after: Numbers, least: Numbers, parent: int, move: Move, naming: int, depth: int) -> None:
        if any(least in seen for seen in self.closed.values()):
            self.again.add(len(self.states))
        else:
            self.distinct += 1
        self.seen[after] = self.seen[least] = len(self.states)
        self.states.append(least)
        self.parents.append(parent)
        self.moves.extend((*move, naming, depth))
        self.depth = max(self.depth, depth)

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
            self.progress(Progress(self.configuration.name, self.distinct, self.transitions, frontier, self.depth))


def _with(state: Numbers, changes: tuple[tuple[int, int], ...]) -> Numbers:
    if len(changes) == 1:
        ((place, number),) = changes
        return (*state[:place], number, *state[place + 1 :])
    after = list(state)
    for place, number in changes:
        after[place] = number
    return tuple(after)
