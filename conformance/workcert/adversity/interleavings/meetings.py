"""Where two operations meet: states of a search in which both would act, and one may change what the other does.

A search walks on folded records and remembers what each call reads and writes of them, so that whether two calls can
meet in a state is looked up there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from attrs import evolve, field, frozen

from workcert.binding import Binding
from workcert.cases.contracts import contracts
from workcert.search.breadth import Breadth, Way
from workcert.search.memo import Node, Numbers, Offered
from workcert.search.needs import Needs, covers
from workcert.search.path import Path, path_to
from workcert.search.targets import CELL, ERROR, Raw
from workspec.core.configuration import Configuration
from workspec.core.rule import Batch, Draw

MOST_STATES: Final = 2000
"""Of each configuration. Pairs that meet do so early: what is reached late differs in what the two leave alone."""

Cells: TypeAlias = tuple[Raw, ...]


@frozen
class Meeting:
    """Two calls in one state; the first writes something there. ``held`` and ``other``: the path to each, equal
    but for the last step. ``kind``: what each does there. ``needs``: the profiles that a store must claim."""

    held: Path
    other: Path
    kind: tuple[Cells, Cells]
    both_succeed: bool
    both_act: bool
    one_record: bool
    """Both write the same one."""
    needs: frozenset[str]

    @property
    def names(self) -> tuple[str, str]:
        return self.held.steps[-1].call.name, self.other.steps[-1].call.name


@frozen(eq=False)
class _Acting:
    """A call as it would go in a state."""

    place: int
    which: int
    offered: Offered
    leaves: tuple[Node, ...]
    reads: frozenset[int]
    writes: frozenset[int] = field(init=False)
    needs: int = field(init=False)
    cells: Cells = field(init=False)
    refused: bool = field(init=False)

    @writes.default
    def _written(self) -> frozenset[int]:
        return frozenset(place for leaf in self.leaves for place, _number in leaf.changes or ())

    @needs.default
    def _needed(self) -> int:
        needs = 0
        for leaf in self.leaves:
            needs |= leaf.needs
        return needs

    @cells.default
    def _cells(self) -> Cells:
        acting = (leaf for leaf in self.leaves if leaf.changes) if self.writes else self.leaves
        return tuple(dict.fromkeys(target for leaf in acting for target in leaf.targets if target[0] == CELL))

    @refused.default
    def _refused(self) -> bool:
        return any(map(_errors, self.leaves))

    @property
    def name(self) -> str:
        return self.offered.call.name


def meetings(
    binding: Binding, configurations: Iterable[Configuration], limit: int = MOST_STATES
) -> tuple[Meeting, ...]:
    """One meeting for each pair of operations and each way in which they meet, the nearest; and again for stores that
    claim less, where the nearest needs what they lack.

    Args:
        binding: the contract and what the kit knows of it.
        configurations: in the order in which they count.
        limit: how many states of each to look at.
    """
    found: dict[tuple[str, str, Cells, Cells], list[Meeting]] = {}
    for configuration in sorted(configurations, key=lambda each: each.aside):
        breadth = Breadth(binding.contract, configuration, limit, needs=Needs(binding))
        breadth.run()
        for meeting in _in(breadth, found):
            found.setdefault((*meeting.names, *meeting.kind), []).append(meeting)
    return tuple(meeting for key in sorted(found, key=str) for meeting in found[key])


def _in(breadth: Breadth, found: dict[tuple[str, str, Cells, Cells], list[Meeting]]) -> Iterator[Meeting]:
    claimed = _claimed(breadth)
    for number in range(breadth.looked_at):
        state = breadth.states[number]
        acting = list(_calls(breadth, state))
        seen: set[tuple[str, str, Cells, Cells]] = set()
        for first in acting:
            for second in acting:
                if not first.writes or (second.writes and first.name > second.name):
                    continue
                key = (first.name, second.name, first.cells, second.cells)
                if key in seen or not _meet(breadth, state, first, second):
                    continue
                needs = claimed[number] | first.needs | second.needs
                names = breadth.needs.names(needs)
                if any(each.needs <= names for each in found.get(key, ())):
                    continue
                seen.add(key)
                yield _meeting(breadth, number, first, second, names)


def _claimed(breadth: Breadth) -> dict[int, int]:
    """By the number of a state what is needed to reach it."""
    found: dict[int, int] = {}
    for claimed, seen in breadth.closed.items():
        for number in seen.values():
            if number not in found or covers(found[number], claimed):
                found[number] = claimed
    return found


def _calls(breadth: Breadth, state: Numbers) -> Iterator[_Acting]:
    """The calls that can be held or made meanwhile, and write something, and the passes, which may find something."""
    known = contracts()[breadth.contract.name].calls
    for place, record in enumerate((0, *state)):
        for which, offered in enumerate(breadth.calls_in(place, record)):
            if known[offered.call.name].inside:
                continue
            ends = [_end(breadth, part.root, state) for part in offered.parts]
            if any(end is None for end in ends):
                continue
            leaves = tuple(end[0] for end in ends if end is not None)
            reads = frozenset(read for end in ends if end is not None for read in end[1])
            acting = _Acting(place, which, offered, leaves, reads)
            if acting.writes or _is_pass(breadth, acting):
                yield acting


def _end(breadth: Breadth, root: Node, state: Numbers) -> tuple[Node, frozenset[int]] | None:
    """The leaf of a decision, and the places that it reads on the way."""
    node, reads = root, set[int]()
    while node.changes is None:
        reads.add(node.place)
        following = node.branches.get(state[node.place]) if node.place >= 0 else None
        if following is None and node.place >= 0:
            following = node.by_value.get(breadth.records.part(state[node.place], node.part))
        if following is None:
            return None
        node = following
    return node, frozenset(reads)


def _is_pass(breadth: Breadth, acting: _Acting) -> bool:
    return isinstance(breadth.contract.operation(breadth.contract.resolved(acting.offered.call).name), Batch | Draw)


def _meet(breadth: Breadth, state: Numbers, first: _Acting, second: _Acting) -> bool:
    if not second.writes:
        return not first.refused and not first.writes.isdisjoint(second.reads)
    if not first.writes.isdisjoint(second.writes):
        return True
    return _changes(breadth, state, first, second) or _changes(breadth, state, second, first)


def _changes(breadth: Breadth, state: Numbers, first: _Acting, second: _Acting) -> bool:
    """What the second does is another thing when the first has been made."""
    if first.writes.isdisjoint(second.reads):
        return False
    after = list(state)
    for leaf in first.leaves:
        for place, number in leaf.changes or ():
            after[place] = number
    then = tuple(after)
    for part, leaf in zip(second.offered.parts, second.leaves, strict=True):
        found = breadth.memo.follow(part.root, then) or breadth.memo.decide(part, then).leaf
        if found.changes != leaf.changes or _errors(found) != _errors(leaf):
            return True
    return False


def _errors(leaf: Node) -> list[Raw]:
    return [target for target in leaf.targets if target[0] == ERROR]


def _meeting(breadth: Breadth, number: int, first: _Acting, second: _Acting, needs: frozenset[str]) -> Meeting:
    ways: list[Way] = [(number, each.place, each.which) for each in (first, second)]
    held, other = (evolve(path_to(breadth, way), needs=needs) for way in ways)
    succeed = not first.refused and not second.refused
    both_act, one_record = bool(second.writes), not first.writes.isdisjoint(second.writes)
    return Meeting(held, other, (first.cells, second.cells), succeed, both_act, one_record, needs)


def _pair(meeting: Meeting) -> tuple[str, str]:
    first, second = sorted(meeting.names)
    return first, second


def chosen(found: Sequence[Meeting]) -> tuple[Meeting, ...]:
    """Of each pair one meeting, the one that shows most: both succeed and act, and it is near; and for a pass one more,
    in which it finds something only because it comes between."""
    best: dict[tuple[tuple[str, str], bool], list[Meeting]] = {}
    for meeting in sorted(found, key=lambda each: (not each.both_succeed, not each.one_record, len(each.held.steps))):
        kept = best.setdefault((_pair(meeting), meeting.both_act), [])
        if not any(each.needs <= meeting.needs for each in kept):
            kept.append(meeting)
    return tuple(meeting for key in sorted(best) for meeting in best[key])
