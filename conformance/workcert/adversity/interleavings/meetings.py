"""Where two operations meet: states of a search in which both would act, and one may change what the other does."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import product
from typing import Any, Final

from attrs import evolve, frozen

from workcert.adversity.interleavings.acting import (
    Acting,
    Cells,
    Leaves,
    acting_in,
    behind,
    fewest,
    is_pass,
    needed_for,
    stopped_by,
)
from workcert.adversity.interleavings.showing import Shown, shown_after
from workcert.binding import Binding
from workcert.search.breadth import Breadth, Way
from workcert.search.memo import Numbers
from workcert.search.needs import Needs
from workcert.search.path import Path, path_to
from workcert.search.targets import CELL, NO_RECORD
from workspec.core.configuration import Configuration

MOST_STATES: Final = 2000
"""Of each configuration. Pairs that meet do so early: what is reached late differs in what the two leave alone."""
FURTHER: Final = 4
"""Times as many, where a configuration offers an operation that comes to nothing anywhere before."""
MOST_UNSEEN: Final = 20
"""States in which two calls are looked at that come to the same in each, as long as what they do there is not seen."""


@frozen
class Meeting:
    """Two calls in one state; the first writes something there. ``held`` and ``other``: the path to each, equal
    but for the last step; ``reads``: the paths to what shows afterwards what no record shows. ``needs``: the profiles
    that a store must claim.

    ``kind``: what each does there. ``stops``: the checks that end each of them once the other has been made, and did
    not end it before. ``one_record``: both write the same. ``seen``: how many of both would be seen to have written
    over the other.
    """

    held: Path
    other: Path
    reads: tuple[Path, ...]
    needs: frozenset[str]
    kind: tuple[Cells, Cells]
    stops: tuple[Cells, Cells]
    both_succeed: bool
    both_act: bool
    one_record: bool
    seen: int = 0

    @property
    def names(self) -> tuple[str, str]:
        return self.held.steps[-1].call.name, self.other.steps[-1].call.name


def searched(
    binding: Binding, configurations: Iterable[Configuration], limit: int = MOST_STATES
) -> tuple[Breadth, ...]:
    """The searches in whose states calls meet.

    Args:
        binding: the contract and what the kit knows of it.
        configurations: in the order in which they count.
        limit: how many states of each to look at, and of some `FURTHER` times as many.
    """
    ordered = sorted(configurations, key=lambda each: each.aside)
    searches = [_run(binding, each, limit) for each in ordered]
    acting = frozenset().union(*map(_acting, searches))
    late = [not _offered(each) <= acting for each in searches]
    further = limit * FURTHER
    return tuple(
        _run(binding, each.configuration, further) if is_late and each.is_full else each
        for each, is_late in zip(searches, late, strict=True)
    )


def _run(binding: Binding, configuration: Configuration, limit: int) -> Breadth:
    breadth = Breadth(binding.contract, configuration, limit, needs=Needs(binding))
    breadth.run()
    return breadth


def _offered(breadth: Breadth) -> frozenset[str]:
    return frozenset(breadth.contract.resolved(each.call).name for each in breadth.memo.roots.values())


def _acting(breadth: Breadth) -> frozenset[str]:
    """Operations that come to a record which no check keeps from them."""
    return frozenset(name[1] for kind, name in breadth.found if kind == CELL and not name[2])


def meetings(binding: Binding, searches: Iterable[Breadth]) -> tuple[Meeting, ...]:
    """One meeting for each pair of operations and each way in which they meet, the nearest; and again for stores that
    claim less, where the nearest needs what they lack."""
    found: dict[Hashable, list[Meeting]] = {}
    for breadth in searches:
        _add_those_in(breadth, binding, found)
    return tuple(meeting for key in sorted(found, key=str) for meeting in found[key])


def _add_those_in(breadth: Breadth, binding: Binding, found: dict[Hashable, list[Meeting]]) -> None:
    claimed = needed_for(breadth)
    tries: dict[Hashable, int] = {}
    for number in range(breadth.looked_at):
        acting = [each for each in acting_in(breadth, breadth.states[number]) if each.writes or is_pass(breadth, each)]
        for first, second in product(acting, acting):
            ends = (first.offered, *first.leaves, second.offered, *second.leaves)
            needs = claimed[number] | first.needs | second.needs
            # Two calls that come to the same ends do the same to each other, as far as anybody wants to know here; but
            # where it cannot be seen what they have done, it may be where there is more beside them.
            left = tries.setdefault((*ends, needs), MOST_UNSEEN)
            if not first.writes or (second.writes and first.name > second.name) or not left:
                continue
            tries[*ends, needs] = 0
            behind_each = _meet(breadth, breadth.states[number], first, second)
            if behind_each is None:
                continue
            shown = shown_after(breadth, binding, breadth.states[number], (first, second), behind_each, needs)
            if shown.unseen:
                tries[*ends, needs] = left - 1
            one_record = not first.writes.isdisjoint(second.writes)
            stops = _stops(first, behind_each[0]), _stops(second, behind_each[1])
            known = found.setdefault((first.name, second.name, first.cells, second.cells, stops, one_record), [])
            names = breadth.needs.names(needs)
            if any(each.needs <= names and each.seen >= shown.seen for each in known):
                continue
            known[:] = [each for each in known if not (names <= each.needs and shown.seen >= each.seen)]
            known.append(_meeting(breadth, number, (first, second), stops, shown, needs))


def _meeting(
    breadth: Breadth,
    number: int,
    pair: tuple[Acting, Acting],
    stops: tuple[Cells, Cells],
    shown: Shown,
    needs: int,
) -> Meeting:
    first, second = pair
    names = breadth.needs.names(needs)
    ways: list[Way] = [(number, *way) for way in (*((each.place, each.which) for each in pair), *shown.ways)]
    held, other, *reads = (evolve(path_to(breadth, way), needs=names) for way in ways)
    return Meeting(
        held,
        other,
        tuple(reads),
        names,
        (first.cells, second.cells),
        stops,
        both_succeed=not first.refused and not second.refused,
        both_act=bool(second.writes),
        one_record=not first.writes.isdisjoint(second.writes),
        seen=shown.seen,
    )


def _meet(breadth: Breadth, state: Numbers, first: Acting, second: Acting) -> tuple[Leaves, Leaves] | None:
    """What each comes to once the other has been made; None where neither makes a difference to the other."""
    if not second.writes:
        comes_by = not first.refused and not first.writes.isdisjoint(second.reads)
        return (first.leaves, second.leaves) if comes_by else None
    ends = behind(breadth, state, second, first), behind(breadth, state, first, second)
    unchanged = all(
        found.changes == leaf.changes and stopped_by(found) == stopped_by(leaf)
        for each, leaves in zip((first, second), ends, strict=True)
        for found, leaf in zip(leaves, each.leaves, strict=True)
    )
    return None if unchanged and first.writes.isdisjoint(second.writes) else ends


def _stops(acting: Acting, leaves: Leaves) -> Cells:
    """The checks that end a call behind the other, and did not end it in the state itself."""
    pairs = zip(acting.leaves, leaves, strict=True)
    return tuple(target for leaf, found in pairs for target in stopped_by(found) if target not in stopped_by(leaf))


def chosen(found: Sequence[Meeting]) -> tuple[tuple[Meeting, ...], ...]:
    """Of each pair one meeting, the one that shows most: both succeed and act, what each has written can be seen, and
    it is near. One more for each set of checks that end one of both behind the other, for both making a record instead
    of writing one that is there, and for a pass that finds something only because it comes between. Each again for
    stores that claim less, the one first that needs most to be claimed.
    """
    best: dict[Hashable, list[Meeting]] = {}
    for meeting in sorted(found, key=_order):
        is_full = meeting.both_succeed and meeting.both_act
        stops = _names_of(meeting.stops) if is_full else frozenset()
        makes = is_full and meeting.one_record and _makes_one(meeting)
        best.setdefault((*sorted(meeting.names), meeting.both_act, makes, *sorted(stops)), []).append(meeting)
    return tuple(tuple(fewest(best[key])) for key in sorted(best, key=str))


def _makes_one(meeting: Meeting) -> bool:
    """Its key alone guards a record that is made; nothing guards so one that is there."""
    return any(state == NO_RECORD for each in meeting.kind for _kind, (state, *_rest) in each)


def _order(meeting: Meeting) -> Any:
    return not meeting.both_succeed, not meeting.one_record, -meeting.seen, len(meeting.held.steps)


def _names_of(stops: tuple[Cells, Cells]) -> frozenset[str]:
    return frozenset(name[-1] for each in stops for _kind, name in each)
