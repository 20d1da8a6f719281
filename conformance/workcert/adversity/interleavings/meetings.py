"""Where two operations meet: states of a search in which both would act, and one may change what the other does.

A search walks on folded records and remembers what each call reads and writes of them, so that whether two calls can
meet in a state is looked up there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import Final, Protocol, TypeAlias, TypeVar

from attrs import evolve, field, frozen

from workcert.binding import Binding
from workcert.cases.contracts import contracts
from workcert.search.breadth import Breadth, Way
from workcert.search.memo import Node, Numbers, Offered
from workcert.search.needs import Needs, covers
from workcert.search.path import Path, path_to
from workcert.search.targets import CELL, CHECK, ERROR, Raw
from workspec.core.configuration import Configuration
from workspec.core.rule import Batch, Draw

MOST_STATES: Final = 2000
"""Of each configuration. Pairs that meet do so early: what is reached late differs in what the two leave alone."""

Cells: TypeAlias = tuple[Raw, ...]


@frozen
class Meeting:
    """Two calls in one state; the first writes something there. ``held`` and ``other``: the path to each, equal
    but for the last step; ``reads``: the paths to what shows afterwards what no record shows. ``needs``: the profiles
    that a store must claim.

    ``kind``: what each does there. ``errors``: what each is refused with that succeeds there, once the other has been
    made. ``one_record``: both write the same.
    """

    held: Path
    other: Path
    reads: tuple[Path, ...]
    needs: frozenset[str]
    kind: tuple[Cells, Cells]
    errors: tuple[Cells, Cells]
    both_succeed: bool
    both_act: bool
    one_record: bool

    @property
    def names(self) -> tuple[str, str]:
        return self.held.steps[-1].call.name, self.other.steps[-1].call.name


@frozen(eq=False)
class Acting:
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


def searched(
    binding: Binding, configurations: Iterable[Configuration], limit: int = MOST_STATES
) -> tuple[Breadth, ...]:
    """The searches in whose states calls meet.

    Args:
        binding: the contract and what the kit knows of it.
        configurations: in the order in which they count.
        limit: how many states of each to look at.
    """
    ordered = sorted(configurations, key=lambda each: each.aside)
    searches = tuple(Breadth(binding.contract, each, limit, needs=Needs(binding)) for each in ordered)
    for breadth in searches:
        breadth.run()
    return searches


def meetings(binding: Binding, searches: Iterable[Breadth]) -> tuple[Meeting, ...]:
    """One meeting for each pair of operations and each way in which they meet, the nearest; and again for stores that
    claim less, where the nearest needs what they lack."""
    found: dict[Hashable, list[Meeting]] = {}
    for breadth in searches:
        _add_those_in(breadth, binding, found)
    return tuple(meeting for key in sorted(found, key=str) for meeting in found[key])


def _add_those_in(breadth: Breadth, binding: Binding, found: dict[Hashable, list[Meeting]]) -> None:
    claimed = needed_for(breadth)
    looked_at: set[Hashable] = set()
    for number in range(breadth.looked_at):
        acting = [each for each in acting_in(breadth, breadth.states[number]) if each.writes or _is_pass(breadth, each)]
        for first, second in product(acting, acting):
            ends = (first.offered, *first.leaves, second.offered, *second.leaves)
            needs = claimed[number] | first.needs | second.needs
            if not first.writes or (second.writes and first.name > second.name) or (*ends, needs) in looked_at:
                continue
            # Two calls that come to the same ends do the same to each other, as far as anybody wants to know here.
            looked_at.add((*ends, needs))
            errors = _meet(breadth, breadth.states[number], first, second)
            if errors is None:
                continue
            one_record = not first.writes.isdisjoint(second.writes)
            known = found.setdefault((first.name, second.name, first.cells, second.cells, errors, one_record), [])
            if not any(each.needs <= breadth.needs.names(needs) for each in known):
                known.append(_meeting(breadth, binding, number, first, second, errors, needs))


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


def acting_in(breadth: Breadth, state: Numbers) -> Iterator[Acting]:
    """The calls that can be held or made meanwhile in a state."""
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


def _is_pass(breadth: Breadth, acting: Acting) -> bool:
    return isinstance(breadth.contract.operation(breadth.contract.resolved(acting.offered.call).name), Batch | Draw)


def _meet(breadth: Breadth, state: Numbers, first: Acting, second: Acting) -> tuple[Cells, Cells] | None:
    """What each is refused with once the other has been made; None where neither makes a difference to the other."""
    if not second.writes:
        comes_by = not first.refused and not first.writes.isdisjoint(second.reads)
        return ((), ()) if comes_by else None
    ends = [_after(breadth, state, one, other) for one, other in ((second, first), (first, second))]
    unchanged = all(
        found.changes == leaf.changes and _errors(found) == _errors(leaf)
        for each, leaves in zip((first, second), ends, strict=True)
        for found, leaf in zip(leaves, each.leaves, strict=True)
    )
    if unchanged and first.writes.isdisjoint(second.writes):
        return None
    of_first, of_second = (tuple(error for leaf in leaves for error in _errors(leaf)) for leaves in ends)
    return of_first, of_second


def _after(breadth: Breadth, state: Numbers, made: Acting, then: Acting) -> tuple[Node, ...]:
    """The ends of a call when another has been made before it."""
    if made.writes.isdisjoint(then.reads):
        return then.leaves
    after = list(state)
    for leaf in made.leaves:
        for place, number in leaf.changes or ():
            after[place] = number
    memo, numbers = breadth.memo, tuple(after)
    return tuple(memo.follow(part.root, numbers) or memo.decide(part, numbers).leaf for part in then.offered.parts)


def _errors(leaf: Node) -> Cells:
    """What a call is refused with, and the check that refuses it: one code may stand for several guards."""
    refused = any(target[0] == ERROR for target in leaf.targets)
    return tuple(target for target in leaf.targets if target[0] in (CHECK, ERROR)) if refused else ()


def _meeting(
    breadth: Breadth,
    binding: Binding,
    number: int,
    first: Acting,
    second: Acting,
    errors: tuple[Cells, Cells],
    needs: int,
) -> Meeting:
    hidden = frozenset(
        place for place in first.writes | second.writes if not binding.legible(breadth.configuration.keys[place])
    )
    names = breadth.needs.names(needs)
    shown = list(_showing(breadth, binding, breadth.states[number], hidden, needs)) if hidden else []
    ways: list[Way] = [(number, each.place, each.which) for each in (first, second, *shown)]
    held, other, *reads = (evolve(path_to(breadth, way), needs=names) for way in ways)
    return Meeting(
        held,
        other,
        tuple(reads),
        names,
        (first.cells, second.cells),
        errors,
        both_succeed=not first.refused and not second.refused,
        both_act=bool(second.writes),
        one_record=not first.writes.isdisjoint(second.writes),
    )


def _showing(
    breadth: Breadth, binding: Binding, state: Numbers, hidden: frozenset[int], needs: int
) -> Iterator[Acting]:
    """The first of each kind of reading that comes to one of these records and needs no more than is needed anyway."""
    told: set[str] = set()
    for which, offered in enumerate(breadth.calls_in(0, 0)):
        ends = [_end(breadth, part.root, state) for part in offered.parts]
        if offered.call.name not in binding.reads or offered.call.name in told or None in ends:
            continue
        found = [end for end in ends if end is not None]
        reading = Acting(0, which, offered, tuple(leaf for leaf, _ in found), frozenset().union(*(r for _, r in found)))
        if not reading.refused and not hidden.isdisjoint(reading.reads) and covers(needs, reading.needs):
            told.add(offered.call.name)
            yield reading


def chosen(found: Sequence[Meeting]) -> tuple[tuple[Meeting, ...], ...]:
    """Of each pair one meeting, the one that shows most: both succeed and act, and it is near. One more for each set of
    checks that refuse one of both behind the other, and for a pass that finds something only because it comes
    between. Each again for stores that claim less, the one first that needs most to be claimed.
    """
    best: dict[Hashable, list[Meeting]] = {}
    for meeting in sorted(found, key=lambda each: (not each.both_succeed, not each.one_record, len(each.held.steps))):
        refusals = _refusals(meeting) if meeting.both_succeed and meeting.both_act else frozenset()
        best.setdefault((*sorted(meeting.names), meeting.both_act, *sorted(refusals)), []).append(meeting)
    return tuple(tuple(fewest(best[key])) for key in sorted(best, key=str))


def _refusals(meeting: Meeting) -> frozenset[str]:
    return frozenset(name[-1] for each in meeting.errors for _kind, name in each)
