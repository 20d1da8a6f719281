"""Taking a history apart: acts that share nothing are judged apart.

An order of the whole exists exactly if there is one of each part, where no part reads or writes what another does.
What a call touches is said by the contract's binding; a call that may touch anything keeps all together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define, field, frozen

from workcert.binding import Binding
from workcert.linear.acts import Act, Way
from workcert.linear.history import NEVER
from workspec.core.record import State


@frozen(eq=False)
class Part:
    """Acts that hang together, and the records that they may touch, as they were before."""

    acts: list[Act]
    begun: State


@define(eq=False)
class _Groups:
    """Names joined into groups."""

    _up: dict[str, str] = field(factory=dict)

    def join(self, names: Iterable[str]) -> None:
        first = None
        for name in names:
            if first is None:
                first = self.of(name)
            else:
                self._up[self.of(name)] = first

    def of(self, name: str) -> str:
        up = self._up
        while (above := up.setdefault(name, name)) != name:
            up[name] = up[above]
            name = above
        return name


def parts_of(binding: Binding, acts: Sequence[Act], begun: State) -> list[Part]:
    """The parts, and all records in them, those that no act touches too."""
    groups, names = _Groups(), {}
    for act in acts:
        touched = _touched(binding, act)
        if not touched:
            return [Part(list(acts), begun)]
        groups.join(touched)
        names[id(act)] = next(iter(touched))
    for key, record in begun.items():
        groups.join((key, *binding.linked(record)))
    found: dict[str, Part] = {}
    for act in acts:
        found.setdefault(groups.of(names[id(act)]), Part([], {})).acts.append(act)
    for key, record in begun.items():
        part = found.setdefault(groups.of(key), Part([], {}))
        assert isinstance(part.begun, dict)
        part.begun[key] = record
    return list(found.values())


def _touched(binding: Binding, act: Act) -> frozenset[str] | None:
    if act.way is Way.ELEMENT:
        return None if act.key is None else frozenset((act.key,))
    return binding.touched(act.call, act.answer)


def merged(orders: Sequence[Sequence[Act]]) -> list[Act]:
    """The orders of all parts as one: next is what began before the earliest return of all that are left."""
    if len(orders) == 1:
        return list(orders[0])
    found: list[Act] = []
    left = [[(act, _earliest(order, place)) for place, act in enumerate(order)][::-1] for order in orders if order]
    while left:
        bound = min(order[-1][1] for order in left)
        # One of them began early enough, for each order holds against real time.
        index = next((i for i, order in enumerate(left) if order[-1][0].begin <= bound), 0)
        found.append(left[index].pop()[0])
        if not left[index]:
            del left[index]
    return found


def _earliest(order: Sequence[Act], place: int) -> int:
    return min((act.end for act in order[place:]), default=NEVER)
