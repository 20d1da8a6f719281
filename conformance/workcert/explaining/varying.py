"""The values of a case that are varied, and the cases in which one of them is another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from workcert.cases.model import Call, Case, Frozen, Repeat, Step, Together, Transaction, every_step, within
from workcert.explaining.model import AT, ON, Path, Spot
from workcert.explaining.others import FAR, other_texts, others, smaller
from workcert.ordinary import HAPPENS_AT
from workcert.shrink.edits import changed, find, leaves, with_leaf
from workcert.shrink.places import Place, places, put
from workcert.shrink.timing import instants_before

DELAYS: Final = (1, 10, FAR)
"""By how much later a step is made."""

_MISSING: Final = object()


def spots(case: Case, ordinary: Mapping[str, Mapping[str, Any]]) -> Iterator[Spot]:
    """Every value that is printed and not made of others, step by step, in the order of writing.

    What a large argument holds as it ordinarily does is not printed, so that nobody asks whether it matters; nor is
    an injected record, but for its state.
    """
    by_leaf: dict[str, list[Place]] = {}
    for place in places(case):
        by_leaf.setdefault(place.leaf, []).append(place)
    inside = _inside(case.steps)
    for leaf in leaves(case.steps):
        if not isinstance(leaf, Call):
            continue
        if leaf.id not in inside:
            if len(case.header.handles) > 1:
                yield Spot(leaf.id, ON)
            if leaf.at is not None:
                yield Spot(leaf.id, AT)
        for place in by_leaf.get(leaf.id, ()):
            if others(place) and not _is_ordinary(place, ordinary):
                yield Spot(leaf.id, ("args", *place.path))


def variations(case: Case, spot: Spot) -> Iterator[Case]:
    """The case with other values in one place, references as they are.

    A later instant moves the calls after it along, so that time never runs backwards; instants that arguments hold
    stay, but for the one that is the instant of a call.
    """
    if spot.path == ON:
        yield from (_on(case, spot.step, handle) for handle in case.header.handles if handle != _call(case, spot).on)
    elif spot.path in (AT, (*spot.path[:-1], HAPPENS_AT)):
        yield from (later(case, spot.step, delay) for delay in DELAYS)
    else:
        place = place_of(case, spot)
        found = () if place is None else (put(case, place, other) for other in others(place))
        yield from (each for each in found if each is not None)


def reductions(case: Case, spot: Spot) -> Iterator[Case]:
    """The case with smaller numbers in one place, or with a step made earlier, as far as that can be: no earlier than
    the one before it."""
    if spot.path == ON:
        return
    if spot.path in (AT, (*spot.path[:-1], HAPPENS_AT)):
        at = _instant(case, spot)
        before = max(instants_before(case, spot.step), default=0)
        if at is not None and at > before:
            yield later(case, spot.step, -1)
        return
    place = place_of(case, spot)
    found = () if place is None else (put(case, place, each) for each in smaller(place.value))
    yield from (each for each in found if each is not None)


def _instant(case: Case, spot: Spot) -> int | None:
    if spot.path == AT:
        return _call(case, spot).at
    place = place_of(case, spot)
    return place.value if place is not None and type(place.value) is int else None


def namesakes(case: Case, spot: Spot) -> tuple[Place, ...]:
    """All places of the text that stands at this one, if there are several: a name means something only where it
    recurs."""
    here = place_of(case, spot)
    if here is None or type(here.value) is not str:
        return ()
    alike = tuple(place for place in places(case) if place.value == here.value and type(place.value) is str)
    return alike if len(alike) > 1 else ()


def renamings(case: Case, alike: tuple[Place, ...]) -> Iterator[Case]:
    """The case with another text in all these places at once."""
    for text in other_texts(alike[0].value):
        renamed: Case | None = case
        for place in alike:
            renamed = None if renamed is None else put(renamed, place, text)
        if renamed is not None:
            yield renamed


def place_of(case: Case, spot: Spot) -> Place | None:
    """The place of a value among the arguments; None for an instant or a handle."""
    return next((p for p in places(case) if p.leaf == spot.step and ("args", *p.path) == spot.path), None)


def later(case: Case, step: str, delay: int) -> Case:
    """This step, and all after it, so much later; earlier by a negative delay."""
    begun = False

    def move(leaf: Any) -> Any:
        nonlocal begun
        begun = begun or leaf.id == step
        if not begun or not isinstance(leaf, Call):
            return leaf
        at = None if leaf.at is None else leaf.at + delay
        return attrs.evolve(leaf, at=at, args=_happening_later(leaf.args, delay))

    moved = changed(case, move)
    ids = [each.id for each in case.steps]
    outer = next((each.id for each in case.steps if step in {inner.id for inner in every_step((each,))}), step)
    after = set(ids[ids.index(outer) :])
    steps = tuple(
        attrs.evolve(each, at=each.at + delay) if isinstance(each, Transaction) and each.id in after else each
        for each in moved.steps
    )
    return attrs.evolve(moved, steps=steps)


def _happening_later(value: Any, delay: int) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: each + delay if name == HAPPENS_AT and type(each) is int else _happening_later(each, delay)
        for name, each in value.items()
    }


def _on(case: Case, step: str, handle: str) -> Case:
    return with_leaf(case, attrs.evolve(find(case, step), on=handle))


def _call(case: Case, spot: Spot) -> Call:
    call = find(case, spot.step)
    assert isinstance(call, Call)
    return call


def _inside(steps: tuple[Step, ...]) -> set[str]:
    """The calls of blocks, whose handles and instants hang together."""
    blocks = (step for step in every_step(steps) if isinstance(step, Together | Frozen | Transaction))
    return {call.id for block in blocks for call in within(block)} | _in_repeats(steps)


def _in_repeats(steps: tuple[Step, ...]) -> set[str]:
    return {call.id for step in steps if isinstance(step, Repeat) for call in within(step)}


def _is_ordinary(place: Place, ordinary: Mapping[str, Mapping[str, Any]]) -> bool:
    name, *path = place.path
    if name not in ordinary or (path and path[-1] == HAPPENS_AT):
        return False
    if path and isinstance(path[0], int):
        path = path[1:]
    usual = _at(ordinary[name], tuple(path))
    return usual is not _MISSING and type(usual) is type(place.value) and bool(usual == place.value)


def _at(value: Any, path: Path) -> Any:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value
