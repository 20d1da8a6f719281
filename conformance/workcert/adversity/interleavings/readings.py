"""Held reads: what a read shows is written anew while it reads, so that a mixture of both states would be seen.

Of all that can be written, that is taken which changes most of what the read shows, on records that have been through
something already.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from attrs import evolve, field, frozen

from workcert.adversity.interleavings.acting import Acting, acting_in, fewest, needed_for
from workcert.adversity.interleavings.meetings import Meeting
from workcert.adversity.interleavings.offering import Offering, made, shown, state_after
from workcert.binding import Binding
from workcert.search.breadth import Breadth
from workcert.search.needs import profiles_needed
from workcert.search.path import Path, Step, instant_before, path_to
from workspec.core.interpreter import Accepted
from workspec.core.record import State
from workspec.core.scope import Call

MOST_WRITERS: Final = 3
"""Of each read."""
MOST_ALTERING: Final = 2
"""Of these, how many are there for what they alter; the others may make records and take them away."""
NEAREST, FARTHEST = 1, 2
"""Of one way to write, in one configuration: how many states are tried that are soon reached, and how many that are
late, where records have a history."""
LEAST_MIXED: Final = 2
"""Members of an answer that must change: a mixture of less is no mixture."""

Place = tuple[str, ...]


@frozen
class Reading:
    """``meeting``: the read is held and the other writes. ``changed``: which members of the answer come, go or differ,
    without their numbers in a list; ``altered``: which of them are there before and after; ``count``: how many change;
    ``size``: of how many."""

    meeting: Meeting
    changed: frozenset[Place]
    altered: frozenset[Place]
    count: int
    size: int
    order: Any = field(init=False)

    @property
    def needs(self) -> frozenset[str]:
        return self.meeting.needs

    @order.default
    def _order(self) -> Any:
        held = self.meeting.held
        return (
            -len(self.altered),
            -len(self.changed),
            -self.count,
            -self.size,
            len(self.meeting.needs),
            len(held.steps),
            held.text,
        )


def readings(binding: Binding, searches: Sequence[Breadth]) -> tuple[Reading, ...]:
    """For each read and each operation that changes what it shows, what changes most; and again for stores that claim
    less."""
    offering = Offering(binding, [each.configuration for each in searches])
    found: dict[Hashable, list[Reading]] = {}
    for breadth in searches:
        needed = needed_for(breadth)
        for number, acting in _writers(breadth):
            for each in _readings_of(binding, breadth, offering, number, acting, needed[number]):
                found.setdefault(each.meeting.names, []).append(each)
    return tuple(each for key in sorted(found, key=str) for each in fewest(sorted(found[key], key=_by_order)))


def chosen_readings(found: Iterable[Reading]) -> tuple[tuple[Meeting, ...], ...]:
    """Of each read a few: the writer that changes most of it, then those that change most beside it; and one that a
    store can be asked for which claims nothing more than the read."""
    by_read: dict[str, dict[str, list[Reading]]] = {}
    for each in found:
        read, writer = each.meeting.names
        by_read.setdefault(read, {}).setdefault(writer, []).append(each)
    groups = (group for read in sorted(by_read) for group in _telling(by_read[read]))
    return tuple(tuple(each.meeting for each in group) for group in groups)


def _telling(writers: dict[str, list[Reading]]) -> list[list[Reading]]:
    covered: frozenset[Place] = frozenset()
    altered: frozenset[Place] = frozenset()
    left = {name: writers[name] for name in sorted(writers)}
    chosen: list[list[Reading]] = []
    while left and len(chosen) < MOST_WRITERS:
        if len(chosen) < MOST_ALTERING:
            news = {each: left[each][0].altered - altered for each in left}
        else:
            news = {each: left[each][0].changed - covered for each in left}
        name = min(left, key=partial(_news_of, news, left))
        covered, altered = covered | left[name][0].changed, altered | left[name][0].altered
        chosen.append(left.pop(name))
    least = min(len(each.meeting.needs) for group in writers.values() for each in group)
    modest = [group for group in left.values() if len(group[-1].meeting.needs) == least]
    if modest and all(len(group[-1].meeting.needs) > least for group in chosen):
        chosen.append(min(modest, key=lambda group: group[-1].order))
    return chosen


def _news_of(news: Mapping[str, frozenset[Place]], left: Mapping[str, list[Reading]], name: str) -> Any:
    return -len(news[name]), left[name][0].order


def _by_order(reading: Reading) -> Any:
    return reading.order


def _writers(breadth: Breadth) -> Iterator[tuple[int, Acting]]:
    """Calls that write, each with a state in which it is made: of each way to write the nearest and the farthest."""
    found: dict[Hashable, list[tuple[int, Acting]]] = {}
    for number in range(breadth.looked_at):
        for acting in acting_in(breadth, breadth.states[number]):
            if acting.writes and not acting.refused:
                known = found.setdefault((acting.name, acting.cells), [])
                known.append((number, acting))
                if len(known) > NEAREST + FARTHEST:
                    del known[NEAREST]
    for known in found.values():
        yield from known


def _readings_of(
    binding: Binding, breadth: Breadth, offering: Offering, number: int, acting: Acting, needed: int
) -> Iterator[Reading]:
    way = (number, acting.place, acting.which)
    path, now = path_to(breadth, way), instant_before(breadth, way)
    *before, writing = path.steps
    state = state_after(binding.contract, before)
    written = made(binding.contract, state, writing.call, writing.at)
    if written is None:
        return
    needs = breadth.needs.names(needed | acting.needs)
    for read in offering.reads(state, now):
        at = binding.contract.instant(read, now)
        answers = [_answer(binding, each, read, at) for each in (state, written.state)]
        changed = _changed(*answers)
        if len(changed) < LEAST_MIXED:
            continue
        done = made(binding.contract, state, read, at)
        assert done is not None
        every = needs | profiles_needed(binding, read, state, done, frozenset())
        held = Path(path.configuration, (*before, Step(read, at)), every)
        meeting = Meeting(
            held,
            evolve(path, needs=every),
            (),
            every,
            ((), acting.cells),
            ((), ()),
            both_succeed=True,
            both_act=True,
            one_record=True,
        )
        kept = answers[0].keys() & answers[1].keys()
        altered = _names(each for each in changed if each in kept)
        yield Reading(meeting, _names(changed), altered, len(changed), len(answers[0]))


def _names(places: Iterable[tuple[Any, ...]]) -> frozenset[Place]:
    return frozenset(tuple(each for each in place if isinstance(each, str)) for place in places)


def _answer(binding: Binding, state: State, read: Call, at: int) -> dict[tuple[Any, ...], Any]:
    done = made(binding.contract, state, read, at)
    return shown(binding, done.outcome.value) if done is not None and isinstance(done.outcome, Accepted) else {}


def _changed(before: dict[tuple[Any, ...], Any], after: dict[tuple[Any, ...], Any]) -> list[tuple[Any, ...]]:
    """None where one of both is refused, or shows nothing."""
    if not before or not after:
        return []
    nothing = object()
    return [each for each in {**before, **after} if before.get(each, nothing) != after.get(each, nothing)]
