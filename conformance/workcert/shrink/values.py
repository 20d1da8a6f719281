"""Smaller arguments: absent members, shorter lists and texts, lower numbers, plainer JSON."""

from __future__ import annotations

from functools import partial

import attrs

from workcert.binding import WISHES
from workcert.cases.model import Case
from workcert.references import Copies, JsonBytes, Ref, RepeatBytes, RepeatText, Text
from workcert.shrink.attempt import Attempt
from workcert.shrink.places import Place, places, present, put, removed
from workcert.shrink.timing import INSTANTS
from workcert.structuring import AnyJson


def lower_numbers(attempt: Attempt) -> None:
    """Every integer by itself, before anything is left out: with fewer attempts allowed, say, fewer steps do,
    whereas a default could not be lowered."""
    for place in list(places(attempt.case)):
        if type(place.value) is int and place.path[-1] not in INSTANTS:
            _toward_zero(attempt, place, place.value)


def simplify_values(attempt: Attempt) -> None:
    """Each value once, a whole before its parts: what makes the whole simpler saves trying the parts."""
    attempt.take(_bare(attempt.case))
    for place in list(places(attempt.case)):
        # What stood there may be gone with its whole; what moved up in a list is met again in the next round.
        if present(attempt.case, place) == place.value:
            _simplify(attempt, place)


def shorten_texts(attempt: Attempt) -> None:
    """Each text in all its places at once: a worker's name or a key means something only where it recurs."""
    spots: dict[str, list[Place]] = {}
    for place in places(attempt.case):
        if type(place.value) is str:
            spots.setdefault(place.value, []).append(place)
    for text in sorted(spots, key=lambda each: (-len(each), each)):
        _shorten(attempt, text, spots[text])


def _shorten(attempt: Attempt, text: str, spots: list[Place]) -> None:
    def candidate(case: Case, length: int) -> Case | None:
        shorter: Case | None = case
        for place in spots:
            shorter = None if shorter is None else put(shorter, place, text[:length])
        return shorter

    attempt.lowest(1, len(text), candidate)


def _bare(case: Case) -> Case:
    """All members that may be absent left out at once: most cases need none of them."""
    while True:
        optional = (each for each in places(case) if each.may_be_absent and each.wanted is not AnyJson)
        place = next(optional, None)
        fewer = None if place is None else removed(case, place)
        if fewer is None:
            return case
        case = fewer


def _simplify(attempt: Attempt, place: Place) -> None:
    case = attempt.case
    if place.may_be_absent and attempt.take(removed(case, place)):
        return
    match place.value:
        case Ref() as ref:
            _plain_reference(attempt, place, ref)
        case RepeatText(text=text, count=count):
            attempt.lowest(0, count, lambda now, n: put(now, place, RepeatText(text, n)))
        case RepeatBytes(text=text, count=count):
            attempt.lowest(0, count, lambda now, n: put(now, place, RepeatBytes(text, n)))
        case Copies() as copies:
            attempt.lowest(0, copies.count, lambda now, n: put(now, place, attrs.evolve(copies, count=n)))
        case None | JsonBytes() | Text():
            return
        case _ if place.wanted is AnyJson and attempt.take(put(case, place, None)):
            return
        case bool():
            attempt.take(put(case, place, False))
        case int() as number if place.path[-1] not in INSTANTS:
            _toward_zero(attempt, place, number)
        case float() as number if abs(number) < 2**53:
            attempt.take(put(case, place, float(int(number))))
        case bytes() as raw:
            attempt.lowest(0, len(raw), lambda now, n: put(now, place, raw[:n]))
        case list():
            _fewer_elements(attempt, place)
        case dict() if place.wanted is AnyJson:
            attempt.take(put(case, place, {}))


def _toward_zero(attempt: Attempt, place: Place, number: int) -> None:
    if number < 0 and attempt.take(put(attempt.case, place, -number)):
        number = -number
    sign = -1 if number < 0 else 1
    attempt.lowest(0, abs(number), lambda now, n: put(now, place, sign * n))


def _plain_reference(attempt: Attempt, place: Place, ref: Ref) -> None:
    if attempt.take(put(attempt.case, place, attrs.evolve(ref, plus=None, append=None))):
        return
    if ref.plus is not None:
        sign = -1 if ref.plus < 0 else 1
        attempt.lowest(1, abs(ref.plus), lambda now, n: put(now, place, attrs.evolve(ref, plus=sign * n)))
    elif ref.append is not None and len(ref.append) > 1:
        attempt.take(put(attempt.case, place, attrs.evolve(ref, append=ref.append[:1])))


def _fewer_elements(attempt: Attempt, place: Place) -> None:
    if attempt.take(put(attempt.case, place, [])):
        return
    size = len(place.value) // 2
    while size:
        position = 0
        while True:
            elements = present(attempt.case, place)
            if not isinstance(elements, list) or position >= len(elements):
                break
            fewer = elements[:position] + elements[position + size :]
            if not attempt.take(put(attempt.case, place, fewer)):
                position += size
        size //= 2


def lower_configuration(attempt: Attempt) -> None:
    """What a store is opened with: left out, or as low as it may be."""
    for name, value in attempt.case.header.config.items():
        if type(value) is int and name not in WISHES and not attempt.take(configured(attempt.case, name, None)):
            attempt.lowest(1, value, partial(_lowered, name))


def _lowered(name: str, case: Case, value: int) -> Case:
    return configured(case, name, value)


def configured(case: Case, name: str, value: int | None) -> Case:
    """The case for a store that is opened with this value, None for what it takes by itself."""
    config = {each: held for each, held in case.header.config.items() if each != name}
    if value is not None:
        config[name] = value
    return attrs.evolve(case, header=attrs.evolve(case.header, config=config))
