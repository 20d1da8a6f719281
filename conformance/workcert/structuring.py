"""From plain values to the carriers of a vocabulary, by their type hints alone."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from workcert.ordinary import OMITTED

_Build = Callable[[Any, str], Any]


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
    return _builder(wanted)(value, place)


def hints_of(described: Any) -> dict[str, Any]:
    """The type hints of a class or function of a vocabulary, its ``Json`` read as `AnyJson`."""
    return get_type_hints(described, localns={"Json": AnyJson})


@cache
def _builder(wanted: Any) -> _Build:
    if wanted is AnyJson or wanted is Any or wanted is object:
        return lambda value, _: value
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


def _none(value: Any, place: str) -> None:
    if value is not None:
        raise CodecError(place, f"expected null, found {_kind(value)}")


def _scalar(wanted: type) -> _Build:
    def build(value: Any, place: str) -> Any:
        if type(value) is wanted:
            return value
        if wanted is float and type(value) is int:
            return value
        raise CodecError(place, f"expected {_NAMES[wanted]}, found {_kind(value)}")

    return build


def _name(wanted: type[StrEnum]) -> _Build:
    known = {member.value: member for member in wanted}

    def build(value: Any, place: str) -> Any:
        if not isinstance(value, str):
            raise CodecError(place, f"expected {_NAMES[str]}, found {_kind(value)}")
        # A store must see a name that does not exist, to be able to refuse it.
        return known.get(value, value)

    return build


def _row(members: tuple[Any, ...]) -> _Build:
    builders = [_builder(member) for member in members]

    def build(value: Any, place: str) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != len(builders):
            raise CodecError(place, f"expected an array of {len(builders)}, found {_kind(value)}")
        return tuple(
            inner(each, f"{place}[{index}]") for index, (inner, each) in enumerate(zip(builders, value, strict=True))
        )

    return build


def _optional(options: tuple[Any, ...]) -> _Build:
    rest = [option for option in options if option is not type(None)]
    if len(rest) != 1 or len(rest) == len(options):
        raise TypeError(f"no way to choose among {options!r}; only X | None can be built")
    inner = _builder(rest[0])
    return lambda value, place: None if value is None else inner(value, place)


def _array(member: Any, collect: Callable[[list[Any]], Any]) -> _Build:
    inner = _builder(member)

    def build(value: Any, place: str) -> Any:
        if not isinstance(value, (list, tuple)):
            raise CodecError(place, f"expected an array, found {_kind(value)}")
        return collect([inner(each, f"{place}[{index}]") for index, each in enumerate(value)])

    return build


def _mapping(member: Any) -> _Build:
    inner = _builder(member)

    def build(value: Any, place: str) -> Any:
        if not isinstance(value, Mapping):
            raise CodecError(place, f"expected an object, found {_kind(value)}")
        return {key: inner(each, f"{place}.{key}") for key, each in value.items()}

    return build


def _carrier(wanted: type[Any]) -> _Build:
    hints = hints_of(wanted)
    names = [field.name for field in attrs.fields(wanted) if field.init]
    builders = {name: _builder(hints[name]) for name in names}
    usual = OMITTED.get(wanted.__name__, {})
    absent_ok = {name for name in names if type(None) in get_args(hints[name]) or hints[name] is AnyJson}
    absent_ok |= usual.keys()

    def build(value: Any, place: str) -> Any:
        if not isinstance(value, Mapping):
            raise CodecError(place, f"expected {wanted.__name__} as an object, found {_kind(value)}")
        stray = [name for name in value if name not in builders]
        if stray:
            raise CodecError(f"{place}.{stray[0]}", f"{wanted.__name__} has no such member")
        missing = [name for name in names if name not in value and name not in absent_ok]
        if missing:
            raise CodecError(f"{place}.{missing[0]}", f"missing, and {wanted.__name__} needs it")
        return wanted(**{name: builders[name](value.get(name, usual.get(name)), f"{place}.{name}") for name in names})

    return build


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
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "an array"
    return _NAMES.get(type(value), type(value).__name__)
