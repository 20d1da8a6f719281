"""From plain values to the carriers of a vocabulary, by their type hints alone."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import repeat
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from workcert.ordinary import OMITTED

_Build = Callable[[Any], Any]


class _Misfit(Exception):  # noqa: N818 - becomes a CodecError
    """What does not fit, and where within the value: the place is put together only when somebody will read it."""

    def __init__(self, place: str, cause: str) -> None:
        super().__init__(place, cause)
        self.place = place
        self.cause = cause


class CodecError(ValueError):
    """A value or text that the codec refuses: ``place`` (path or position) and ``cause``."""

    def __init__(self, place: str, cause: str) -> None:
        super().__init__(f"{place}: {cause}")
        self.place = place
        self.cause = cause


class AnyJson:
    """Stands for a vocabulary's recursive alias ``Json``, which `get_type_hints` cannot take apart."""


def structure(wanted: Any, value: Any, place: str = "$") -> Any:
    """A plain value as an instance of ``wanted``.

    Args:
        wanted: an attrs class, ``tuple[X, ...]``, ``Sequence[X]`` (becomes a tuple), ``list[X]``,
            ``frozenset[X]``, ``Mapping[str, X]``, ``X | None``, ``tuple[X, Y]``, an enumeration of texts (an unknown
            text stays a text), str, int, float, bool, bytes or `AnyJson`. A missing member that may be None is None;
            some others have a value that stands for *omitted* (`OMITTED`).
        value: plain value, without references.

    Raises:
        CodecError: the value does not fit; the place names the member.
    """
    try:
        return builder(wanted)(value)
    except _Misfit as misfit:
        raise CodecError(f"{place}{misfit.place}", misfit.cause) from None


def structured(builders: Mapping[str, _Build], values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """As `structure`, several values by name, for whoever keeps what `builder` gives: to look a builder up takes the
    hash of a type, which costs more than to build most values.

    Raises:
        CodecError: as `structure`.
    """
    made: dict[str, Any] = {}
    try:
        for name, value in values.items():
            made[name] = builders[name](value)
    except _Misfit as misfit:
        raise CodecError(f"{place}.{name}{misfit.place}", misfit.cause) from None
    return made


@cache
def hints_of(described: Any) -> Mapping[str, Any]:
    """The type hints of a class or function of a vocabulary, its ``Json`` read as `AnyJson`."""
    return get_type_hints(described, localns={"Json": AnyJson})


@cache
def builder(wanted: Any) -> _Build:
    """What builds instances of ``wanted``; for `structured`."""
    if wanted is AnyJson or wanted is Any or wanted is object:
        return lambda value: value
    if wanted is type(None):
        return _none
    if isinstance(wanted, type) and attrs.has(wanted):
        return _carrier(wanted)
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        return _name(wanted)
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is tuple and Ellipsis not in args:
        return _row(args)
    if origin in (Union, types.UnionType):
        return _optional(args)
    if origin in (tuple, Sequence):
        return _array(args[0], tuple)
    if origin is list:
        return _array(args[0], list)
    if origin is frozenset:
        return _array(args[0], frozenset)
    if origin in (Mapping, dict):
        return _mapping(args[1])
    if wanted in (str, int, float, bool, bytes):
        return _scalar(wanted)
    raise TypeError(f"no way to build {wanted!r}; vocabularies use carriers, arrays, sets, maps and scalars")


def _none(value: Any) -> None:
    if value is not None:
        raise _Misfit("", f"expected null, found {_kind(value)}")


def _scalar(wanted: type) -> _Build:
    def build(value: Any) -> Any:
        if type(value) is wanted:
            return value
        if wanted is float and type(value) is int:
            return value
        raise _Misfit("", f"expected {_NAMES[wanted]}, found {_kind(value)}")

    return build


def _name(wanted: type[StrEnum]) -> _Build:
    known = {member.value: member for member in wanted}

    def build(value: Any) -> Any:
        if not isinstance(value, str):
            raise _Misfit("", f"expected {_NAMES[str]}, found {_kind(value)}")
        # A store must see a name that does not exist, to be able to refuse it.
        return known.get(value, value)

    return build


def _row(members: tuple[Any, ...]) -> _Build:
    builders = [builder(member) for member in members]

    def build(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != len(builders):
            raise _Misfit("", f"expected an array of {len(builders)}, found {_kind(value)}")
        return tuple(_elements(builders, value))

    return build


def _optional(options: tuple[Any, ...]) -> _Build:
    rest = [option for option in options if option is not type(None)]
    if len(rest) != 1 or len(rest) == len(options):
        raise TypeError(f"no way to choose among {options!r}; only X | None can be built")
    inner = builder(rest[0])
    return lambda value: None if value is None else inner(value)


def _array(member: Any, collect: Callable[[list[Any]], Any]) -> _Build:
    inner = builder(member)

    def build(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise _Misfit("", f"expected an array, found {_kind(value)}")
        return collect(_elements(repeat(inner), value))

    return build


def _mapping(member: Any) -> _Build:
    inner = builder(member)

    def build(value: Any) -> Any:
        if not isinstance(value, (dict, Mapping)):
            raise _Misfit("", f"expected an object, found {_kind(value)}")
        made: dict[str, Any] = {}
        for key, each in value.items():
            try:
                made[key] = inner(each)
            except _Misfit as misfit:
                raise _Misfit(f".{key}{misfit.place}", misfit.cause) from None
        return made

    return build


def _carrier(wanted: Any) -> _Build:
    hints = hints_of(wanted)
    names = [field.name for field in attrs.fields(wanted) if field.init]
    builders = {name: builder(hints[name]) for name in names}
    usual = {name: value for name, value in OMITTED.get(wanted.__name__, {}).items() if name in hints}
    absent_ok = {name for name in names if type(None) in get_args(hints[name]) or hints[name] is AnyJson}
    absent_ok |= usual.keys()
    known, needed = frozenset(names), frozenset(names) - absent_ok
    places = {name: (place, builders[name]) for place, name in enumerate(names)}
    # Most calls name few members of many, so that what they leave out is built once; but not what a store could edit.
    left_out = [None if name in needed else builders[name](usual.get(name)) for name in names]
    anew = {name: places[name] for name in absent_ok if isinstance(left_out[places[name][0]], (dict, list))}
    # By position, which costs half as much as by name.
    assert not any(field.kw_only for field in attrs.fields(wanted)), f"{wanted.__name__} takes members by name"

    def build(value: Any) -> Any:
        if not isinstance(value, (dict, Mapping)):
            raise _Misfit("", f"expected {wanted.__name__} as an object, found {_kind(value)}")
        if not (value.keys() <= known and needed <= value.keys()):
            raise _stray_or_missing(value)
        made = left_out.copy()
        for name, (place, inner) in anew.items():
            made[place] = inner(usual[name])
        for name, each in value.items():
            place, inner = places[name]
            try:
                made[place] = inner(each)
            except _Misfit as misfit:
                raise _Misfit(f".{name}{misfit.place}", misfit.cause) from None
        return wanted(*made)

    def _stray_or_missing(value: Mapping[str, Any]) -> _Misfit:
        stray = next((name for name in value if name not in known), None)
        if stray is not None:
            return _Misfit(f".{stray}", f"{wanted.__name__} has no such member")
        missing = next(name for name in names if name in needed and name not in value)
        return _Misfit(f".{missing}", f"missing, and {wanted.__name__} needs it")

    return build


def _elements(builders: Iterable[_Build], values: Iterable[Any]) -> list[Any]:
    made: list[Any] = []
    for build, value in zip(builders, values, strict=False):
        try:
            made.append(build(value))
        except _Misfit as misfit:
            raise _Misfit(f"[{len(made)}]{misfit.place}", misfit.cause) from None
    return made


_NAMES: Mapping[type, str] = {
    str: "a text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    bytes: "bytes",
}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, (dict, Mapping)):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "an array"
    return _NAMES.get(type(value), type(value).__name__)
