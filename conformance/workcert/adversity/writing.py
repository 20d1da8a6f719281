"""What a call writes, member by member, and which few calls write together whatever any of them does.

A store that makes its writes in two transactions tears a call apart wherever something of it lies in the first and
something in the second. So calls tell no more of an operation than others if of every two members that one of them
writes, one of the others writes both: wherever the store cuts, it cuts through one of those, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from workspec.core.alike import members_of
from workspec.core.contract import Contract
from workspec.core.interpreter import turning
from workspec.core.record import Record, State

Member: TypeAlias = tuple[str, ...]
"""The kind of a record, whether it is made, kept or taken away, and the way to a member of it; for the state of a
record also what it was and what it becomes, since each has effects of its own. The places of elements in a list do
not count. An instant at which something turns is a member, too: by it a store finds those that are due, and may keep
it where no caller reads it back."""
Written: TypeAlias = tuple[frozenset[Member], ...]
"""The members that a call writes, of each record that it writes."""
Pair: TypeAlias = tuple[Member, Member, bool]
"""Two members that one call writes, and whether of one record."""

MADE, KEPT, TAKEN = "made", "kept", "taken"
STATE: Final = "state"
LOG: Final = "log"
TURNS, SOONER = "turns", "sooner"
MOST_ALIKE: Final = 2
"""Records of which a call writes the same: what befalls three of them befalls two."""

T = TypeVar("T")


def written(contract: Contract, before: State, after: State) -> Written:
    """What lies between two states; records that are made anew as they were are none."""
    changed = (key for key in {*before, *after} if before.get(key) is not after.get(key))
    return tidied(members_between(contract, before.get(key), after.get(key)) for key in changed)


def tidied(records: Iterable[frozenset[Member]]) -> Written:
    """In an order of their own, without those in which nothing differs."""
    ordered = sorted(filter(None, records), key=sorted)
    return tuple(each for number, each in enumerate(ordered) if ordered[:number].count(each) < MOST_ALIKE)


def way_of(call: str, operation: str, refusal: str) -> str:
    """What the rules call a call, with the refusal that writes something all the same. A store has each method made by
    itself, even where the rules have one operation for two."""
    name = operation if operation.split()[0] == call else call
    return f"{name}, refused as {refusal}" if refusal else name


def members_between(contract: Contract, before: Record | None, after: Record | None) -> frozenset[Member]:
    """The members in which two records differ, either of which may be none."""
    one, other = (dict(_leaves_of(record)) for record in (before, after))
    ways = {way for way in {*one, *other} if one.get(way) != other.get(way)}
    here = after or before
    if here is None:
        return frozenset()
    becomes = (str(one.get((STATE,), "")), str(other.get((STATE,), "")))
    head = (type(here.facts).__name__, MADE if before is None else KEPT if after is not None else TAKEN)
    named = (tuple(part for part in way if isinstance(part, str)) for way in ways)
    members = {(*head, *names, *(becomes if names == (STATE,) else ())) for names in named}
    return frozenset((*members, *((*head, TURNS, *names) for names in _turning(contract, before, after))))


def _turning(contract: Contract, before: Record | None, after: Record | None) -> Iterator[Member]:
    """By what a store finds the later record when it is due, and whether that is sooner than it found it for anything
    before: if not, it comes to it all the same."""
    turned, turns = (dict(turning(contract, each, 0)) if each is not None else {} for each in (before, after))
    for named, instant in turns.items():
        if turned.get(named) != instant:
            yield (named,)
            if all(instant < other for other in turned.values()):
                yield named, SOONER


def _leaves_of(record: Record | None) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if record is not None:
        yield from _leaves(record.facts, ())
        yield from _leaves(record.log, (LOG,))


def _leaves(value: Any, way: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Everything that a value holds with the way to it, but what is empty: nobody needs to write that."""
    kind = type(value)
    if attrs.has(kind):
        for name in members_of(kind):
            yield from _leaves(getattr(value, name), (*way, name))
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield from _leaves(member, (*way, (name,)))
    elif isinstance(value, list | tuple):
        for number, member in enumerate(value):
            yield from _leaves(member, (*way, number))
    elif isinstance(value, set | frozenset):
        yield from (((*way, (member,)), True) for member in value)
    elif value:
        yield way, value


@cache
def pairs_in(wrote: Written) -> frozenset[Pair]:
    """Every two members; one that is written alone makes a pair with itself."""
    found: set[Pair] = set()
    for members in wrote:
        found.update((*pair, True) for pair in combinations_with_replacement(sorted(members), 2))
    for one, other in combinations(wrote, 2):
        found.update((min(a, b), max(a, b), False) for a in one for b in other)
    return frozenset(found)


def covering(offered: Iterable[T], told: Callable[[T], frozenset[Any]]) -> list[T]:
    """A few that tell together what all tell: each time the one that tells most of the rest, the first of equals."""
    found: list[T] = []
    rest = [(each, told(each)) for each in offered]
    left: set[Any] = set().union(*(tells for _each, tells in rest))
    while left:
        best, tells = max(rest, key=lambda each: len(each[1] & left))
        left -= tells
        found.append(best)
        rest = [(each, tells & left) for each, tells in rest if not tells.isdisjoint(left)]
    return found
