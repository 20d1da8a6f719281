"""Meetings between whose calls the clock of the store goes on: what comes between is made later than the held call.

Who reads the clock before it has its place in the order works at an instant that has passed when it writes. Among calls
of one instant that cannot be seen. A millisecond apart it can, where what is left tells which of them came first, and
when the held one was made. Which calls do tell is found by making them: any two that meet others behind the same steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from attrs import define, evolve, field, frozen

from workcert.adversity.interleavings.telling import Member, Told, beginning, told_by
from workcert.binding import Binding
from workcert.cases.model import Call, Case, Frozen, Header, Step

LATER: Final = 1
"""In the unit of the contract: so much later is made what comes between."""


@frozen(eq=False)
class Later:
    """``told``: the members of records and answers that tell when the held call was made."""

    case: Case
    held: str
    other: str
    told: frozenset[Member]


@define(eq=False)
class _Pool:
    """Calls that are made at one instant behind the same others, by their texts; ``then``: what is made afterwards to
    show what each has written."""

    header: Header
    before: tuple[Call, ...]
    calls: dict[str, Call] = field(factory=dict)
    then: dict[str, tuple[Call, ...]] = field(factory=dict)

    def add(self, call: Call, then: tuple[Call, ...]) -> None:
        text = f"{call.call} {call.args}"
        self.calls.setdefault(text, call)
        self.then[text] = self.then.get(text) or then


def later(binding: Binding, meetings: Iterable[Case], profiles: frozenset[str], most: int | None) -> tuple[Case, ...]:
    """Of each operation that writes, and whose effect tells when it was made, a few cases in which it is held; none
    where the clock is the caller's.

    Args:
        binding: the contract and what the kit knows of it.
        meetings: cases in which a call is held.
        profiles: that the store claims.
        most: so many of each operation; None for one with each other that comes between.
    """
    by_held: dict[str, list[Later]] = {}
    for pool in _pools(binding, meetings) if binding.has_clock else ():
        for each in _telling(binding, pool, profiles):
            by_held.setdefault(each.held, []).append(each)
    return tuple(each.case for held in sorted(by_held) for each in islice(_by_worth(by_held[held]), most))


def _by_worth(found: Sequence[Later]) -> Iterator[Later]:
    """Those that tell most beside the ones before, each with another operation that comes between; of equals the one
    for which a store must claim least, then the nearest."""
    told: frozenset[Member] = frozenset()
    left = list(found)
    while left:
        best = min(
            left, key=lambda each: (-len(each.told - told), len(each.case.header.profiles), len(each.case.steps))
        )
        yield best
        told |= best.told
        left = [each for each in left if each.other != best.other]


# Calls that meet -----------------------------------------------------------------------------------------------------


def _pools(binding: Binding, meetings: Iterable[Case]) -> Iterable[_Pool]:
    """Out of the meetings of two calls, those that write."""
    found: dict[str, _Pool] = {}
    for case in meetings:
        place, step = next((number, each) for number, each in enumerate(case.steps) if isinstance(each, Frozen))
        before, then = _calls(case.steps[:place]), _calls(case.steps[place + 1 :])
        if len(step.during) > 1 or before is None or then is None:
            continue
        pool = found.setdefault(f"{step.frozen.at} {before}", _Pool(case.header, before))
        for call in (step.frozen, *step.during):
            if isinstance(call, Call) and call.at is not None and call.call not in binding.reads:
                pool.add(call, then)
    return found.values()


def _calls(steps: Sequence[Step]) -> tuple[Call, ...] | None:
    """None where there is anything else among them."""
    calls = tuple(step for step in steps if isinstance(step, Call))
    return calls if len(calls) == len(steps) else None


def _telling(binding: Binding, pool: _Pool, profiles: frozenset[str]) -> Iterator[Later]:
    ground = beginning(binding).then(*pool.before)
    if not ground.needs <= profiles:
        return
    number = len(pool.before) + 1
    for other, call in pool.calls.items():
        meanwhile = evolve(call, id=f"s{number + 1}", on="B", at=(call.at or 0) + LATER)
        between = ground.then(meanwhile)
        for held in pool.calls:
            early, then = evolve(pool.calls[held], id=f"s{number}", on="A"), _afterwards(pool, held, other)
            told = told_by(ground, between, early, meanwhile, then)
            if told is not None and told.needs <= profiles:
                yield _case(pool, early, meanwhile, then, told)


def _afterwards(pool: _Pool, held: str, other: str) -> tuple[Call, ...]:
    distinct = {f"{each.call} {each.args}": each for each in (*pool.then[held], *pool.then[other])}
    at, number = (pool.calls[held].at or 0) + LATER, len(pool.before) + 3
    return tuple(evolve(each, id=f"s{n}", at=at) for n, each in enumerate(distinct.values(), start=number))


def _case(pool: _Pool, held: Call, other: Call, then: tuple[Call, ...], told: Told) -> Later:
    name = f"{pool.header.contract}/{held.call}-against-{other.call}-later".replace("_", "-")
    title = f"{held.call} is held, and {other.call} comes between when the clock has gone on"
    header = evolve(pool.header, name=name, title=title, profiles=tuple(sorted(told.needs)))
    step = Frozen(f"f{len(pool.before) + 1}", held, (other,), point=1)
    return Later(Case(header, (*pool.before, step, *then)), held.call, other.call, told.members)
