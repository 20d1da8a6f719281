"""Calls as they would go in a state of a search, before another call and behind it.

A search walks on folded records and remembers what each call reads and writes of them, so that what a call would do is
looked up there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol, TypeAlias, TypeVar

from attrs import field, frozen

from workcert.cases.contracts import contracts
from workcert.search.breadth import Breadth
from workcert.search.memo import Node, Numbers, Offered
from workcert.search.needs import covers
from workcert.search.targets import CELL, CHECK, ERROR, Raw
from workspec.core.rule import Batch, Draw

Cells: TypeAlias = tuple[Raw, ...]
Leaves: TypeAlias = tuple[Node, ...]
OF_NO_RECORD: Final = 0
"""The place of the calls that are made of no record."""


@frozen(eq=False)
class Acting:
    """A call as it would go in a state."""

    place: int
    which: int
    offered: Offered
    leaves: Leaves
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
        return any(map(is_refused, self.leaves))

    @property
    def name(self) -> str:
        return self.offered.call.name


def acting_in(breadth: Breadth, state: Numbers) -> Iterator[Acting]:
    """The calls that can be held or made meanwhile in a state."""
    known = contracts()[breadth.contract.name].calls
    for place, record in enumerate((OF_NO_RECORD, *state)):
        for which, offered in enumerate(breadth.calls_in(place, record)):
            if known[offered.call.name].inside:
                continue
            ends = [_end(breadth, part.root, state) for part in offered.parts]
            if any(end is None for end in ends):
                continue
            leaves = tuple(end[0] for end in ends if end is not None)
            reads = frozenset(read for end in ends if end is not None for read in end[1])
            yield Acting(place, which, offered, leaves, reads)


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


def leaves_under(root: Node) -> Iterator[Node]:
    """Everything that a call has been seen to come to."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.changes is not None:
            yield node
        waiting += node.by_value.values()


def ends_of(breadth: Breadth, offered: Offered, state: Numbers) -> Leaves:
    """What a call comes to in any state, one that the search has not reached too."""
    memo = breadth.memo
    return tuple(memo.follow(part.root, state) or memo.decide(part, state).leaf for part in offered.parts)


def after(state: Numbers, *made: Leaves) -> Numbers:
    """A state as calls leave it that write what they had decided, one after the other."""
    written = list(state)
    for leaves in made:
        for leaf in leaves:
            for place, number in leaf.changes or ():
                written[place] = number
    return tuple(written)


def behind(breadth: Breadth, state: Numbers, made: Acting, then: Acting) -> Leaves:
    """The ends of a call when another has been made before it."""
    if made.writes.isdisjoint(then.reads):
        return then.leaves
    return ends_of(breadth, then.offered, after(state, made.leaves))


def is_pass(breadth: Breadth, acting: Acting) -> bool:
    return isinstance(breadth.contract.operation(breadth.contract.resolved(acting.offered.call).name), Batch | Draw)


def is_refused(leaf: Node) -> bool:
    return any(target[0] == ERROR for target in leaf.targets)


def stopped_by(leaf: Node) -> Cells:
    """The checks that end a call, or what it does with a record, before its effects, and what it is refused with: one
    code may stand for several guards, and who is answered *no* is refused with none."""
    return tuple(target for target in leaf.targets if target[0] in (CHECK, ERROR))


# What a store must claim -----------------------------------------------------------------------------------------


class Needy(Protocol):
    """Something for which a store must claim profiles."""

    @property
    def needs(self) -> frozenset[str]: ...


Needing = TypeVar("Needing", bound=Needy)


def fewest(ordered: Iterable[Needing]) -> list[Needing]:
    """Those that no earlier one stands for with what it needs."""
    kept: list[Needing] = []
    for one in ordered:
        if not any(each.needs <= one.needs for each in kept):
            kept.append(one)
    return kept


def needed_for(breadth: Breadth) -> dict[int, int]:
    """By the number of a state what is needed to reach it."""
    found: dict[int, int] = {}
    for claimed, seen in breadth.closed.items():
        for number in seen.values():
            if number not in found or covers(found[number], claimed):
                found[number] = claimed
    return found
