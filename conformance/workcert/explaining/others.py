"""Other values in place of one: plausible ones of its type, near and far where there is a distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final, get_args, get_origin

import attrs

from workcert.references import Copies, Ref, RepeatBytes, RepeatText, Text
from workcert.shrink.places import Place
from workcert.structuring import AnyJson

MOST: Final = 3
"""Others that are tried for each value."""
FAR: Final = 100_000
"""Beyond any lease, delay, limit or count that a short case has."""
TEXT: Final = "other"


def others(place: Place) -> tuple[Any, ...]:
    """Values to put there instead, at most `MOST`; none where no value of the type is known.

    A reference has none: another one would be about another record. Nor has what holds values, which are varied
    themselves; only an empty list or object can be filled.
    """
    return tuple(_others(place.value, place.wanted))[:MOST]


def smaller(value: Any) -> tuple[Any, ...]:
    """The next smaller number and the smallest that is usual; none below zero, or of anything but a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return ()
    return tuple(dict.fromkeys((value - 1, 0))) if value >= 1 else (0,)


def other_texts(text: str) -> tuple[str, ...]:
    return f"{text}x", TEXT if text != TEXT else f"an{TEXT}"


def _others(value: Any, wanted: Any) -> Iterator[Any]:
    match value:
        case Ref() | Text():
            return
        case None:
            yield from _of_type(wanted)
        case bool():
            yield not value
        case int() | float():
            yield from _numbers(value)
        case str() if isinstance(wanted, type) and issubclass(wanted, StrEnum):
            yield from (member.value for member in wanted if member.value != value)
        case str():
            yield from other_texts(value)
        case bytes():
            yield from (value + b"x", TEXT.encode())
        case RepeatText() | RepeatBytes() | Copies():
            yield from (attrs.evolve(value, count=count) for count in _numbers(value.count)[:2])
        case [] if get_origin(wanted) in (tuple, list, frozenset, Sequence) or wanted is AnyJson:
            element = get_args(wanted)[0] if get_args(wanted) else AnyJson
            yield from ([each] for each in _of_type(element))
        case dict() if not value and not (isinstance(wanted, type) and attrs.has(wanted)):
            member = get_args(wanted)[1] if get_args(wanted) else AnyJson
            yield from ({TEXT: each} for each in _of_type(member))


def _numbers(number: Any) -> tuple[Any, Any, Any]:
    """A neighbour, one that is farther from it than any rounding reaches, and one beyond all else in a short case."""
    sign = -1 if number < 0 else 1
    return number + sign, 2 * number + sign * 10, number + sign * FAR


def _of_type(wanted: Any) -> tuple[Any, ...]:
    """Values of a type of which none is there to vary."""
    if wanted is AnyJson:
        return 1, TEXT
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        return tuple(member.value for member in wanted)
    return {str: (TEXT, "x"), int: (1, 10), bool: (True, False), bytes: (TEXT.encode(),)}.get(wanted, ())
