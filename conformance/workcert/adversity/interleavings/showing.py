"""What shows that one of two calls has written over the other: calls that are made after both.

Who looks first and writes later, whatever has come since, leaves what it had decided in the place of what the other has
written. Where no record can be read that tells, a call must be found that comes to something else there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from attrs import define, frozen

from workcert.adversity.interleavings.acting import (
    OF_NO_RECORD,
    Acting,
    Leaves,
    acting_in,
    after,
    ends_of,
    is_refused,
    stopped_by,
)
from workcert.binding import Binding
from workcert.search.breadth import Breadth
from workcert.search.memo import Node, Numbers
from workcert.search.needs import covers

MOST_TELLING: Final = 2
"""Calls that are made afterwards beside those that only read."""


@frozen
class Doubt:
    """``wrong``: what a store leaves that writes too late; ``right``: what one of both orders leaves; both as calls
    that are made afterwards have changed them. ``left``: what it was that the store left."""

    wrong: Numbers
    right: Numbers
    left: Numbers


@frozen
class Shown:
    """``ways``: the place of the record and which of its calls, in the order in which they are made afterwards.
    ``seen``: how many of both calls would be seen to have written over the other; ``unseen``: how many would not."""

    ways: tuple[tuple[int, int], ...]
    seen: int
    unseen: int


def shown_after(
    breadth: Breadth,
    binding: Binding,
    state: Numbers,
    pair: tuple[Acting, Acting],
    ends: tuple[Leaves, Leaves],
    needs: int,
) -> Shown:
    """The calls to make after two of which one may have written over the other.

    Args:
        breadth: the search.
        binding: the contract and what the kit knows of it.
        state: in which both are made.
        pair: both.
        ends: what each comes to behind the other.
        needs: what a store must claim anyway; what is made afterwards needs no more.
    """
    keys = breadth.configuration.keys
    written = pair[0].writes | pair[1].writes
    hidden = frozenset(place for place in written if not binding.legible(keys[place]))
    first, second = (each.leaves for each in pair)
    late = {
        left: list(_doubts(left, state, pair, ends))
        for left in (after(state, second, first), after(state, first, second))
    }
    wrong = {left: doubts for left, doubts in late.items() if all(doubt.wrong != doubt.right for doubt in doubts)}
    doubts = [doubt for each in wrong.values() for doubt in each if _differ_in(doubt) <= hidden]
    offered = list(_offered(breadth, state, written)) if hidden else []
    ways, still = _Showing(breadth, binding, hidden, needs, offered).shown(doubts)
    unseen = len({doubt.left for doubt in still})
    return Shown(ways, len(wrong) - unseen, unseen)


def _offered(breadth: Breadth, state: Numbers, written: frozenset[int]) -> Iterator[Acting]:
    """Calls of no record, and of those that are still as they were."""
    for each in acting_in(breadth, state):
        if each.place == OF_NO_RECORD or each.place - 1 not in written:
            yield each


def _doubts(left: Numbers, state: Numbers, pair: tuple[Acting, Acting], ends: tuple[Leaves, Leaves]) -> Iterator[Doubt]:
    """Of the orders in which each is refused that was, and no other: of those a refusal does not tell."""
    first, second = (each.leaves for each in pair)
    for one, other, then in ((first, second, ends[1]), (second, first, ends[0])):
        if _refusals(other) == _refusals(then):
            yield Doubt(left, after(state, one, then), left)


def _refusals(leaves: Leaves) -> list[bool]:
    return [is_refused(leaf) for leaf in leaves]


def _differ_in(doubt: Doubt) -> frozenset[int]:
    pairs = enumerate(zip(doubt.wrong, doubt.right, strict=True))
    return frozenset(place for place, (wrong, right) in pairs if wrong != right)


@define(eq=False)
class _Showing:
    breadth: Breadth
    binding: Binding
    hidden: frozenset[int]
    needs: int
    offered: list[Acting]

    def shown(self, doubts: Sequence[Doubt]) -> tuple[tuple[tuple[int, int], ...], Sequence[Doubt]]:
        """What to make afterwards, and what nobody can tell even so."""
        reads = list(self._reads())
        left = [doubt for doubt in doubts if not any(self._tells(read, doubt) for read in reads)]
        calls: list[Acting] = []
        while left and len(calls) < MOST_TELLING:
            told = {call: sum(self._tells(call, doubt) for doubt in left) for call in self.offered}
            best = max(told, key=lambda call: told[call], default=None)
            if best is None or not told[best]:
                break
            calls.append(best)
            left = [self._made(best, doubt) for doubt in left if not self._tells(best, doubt)]
        return tuple((each.place, each.which) for each in (*reads, *calls)), left

    def _reads(self) -> Iterator[Acting]:
        """The first of each kind of reading that comes to one of these records and needs no more than is needed
        anyway."""
        told: set[str] = set()
        for each in self.offered:
            is_new = each.place == OF_NO_RECORD and self._is_read(each) and each.name not in told
            if (
                is_new
                and not each.refused
                and not self.hidden.isdisjoint(each.reads)
                and covers(self.needs, each.needs)
            ):
                told.add(each.name)
                yield each

    def _is_read(self, acting: Acting) -> bool:
        return acting.name in self.binding.reads

    def _tells(self, acting: Acting, doubt: Doubt) -> bool:
        """What it comes to in both differs, and can be seen: of a read all that it has looked at."""
        wrong, right = (ends_of(self.breadth, acting.offered, state) for state in (doubt.wrong, doubt.right))
        if any(not covers(self.needs, leaf.needs) for leaf in right):
            return False
        return any(
            one is not other and (self._is_read(acting) or self._seen(one) != self._seen(other))
            for one, other in zip(wrong, right, strict=True)
        )

    def _seen(self, leaf: Node) -> Hashable:
        changes = ((place, number) for place, number in leaf.changes or () if self._is_legible(place))
        return stopped_by(leaf), tuple(changes)

    def _is_legible(self, place: int) -> bool:
        return self.binding.legible(self.breadth.configuration.keys[place])

    def _made(self, acting: Acting, doubt: Doubt) -> Doubt:
        wrong, right = (
            after(state, ends_of(self.breadth, acting.offered, state)) for state in (doubt.wrong, doubt.right)
        )
        return Doubt(wrong, right, doubt.left)
