"""References to earlier answers, and the other values of a case that are known only when it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from types import NoneType
from typing import Any, Final

import attrs
from attrs import frozen

from workspec.core.choice import UNSEEN

REFERENCE = re.compile(r"(?P<step>[A-Za-z_][\w-]*(?:#\d+)?)(?P<members>(?:\.[^.\[\]]+|\[-?\d+\])*)", re.ASCII)
_MEMBER = re.compile(r"\.([^.\[\]]+)|\[(-?\d+)\]")

_PLAIN: Final = frozenset({str, int, bool, float, bytes, NoneType})


_AS_THEY_ARE: Final = frozenset({int, bool, NoneType})
"""Types of values that are plain by themselves; a text may hold what no JSON text can."""


class ReferenceFault(Exception):  # noqa: N818 - a fact about a step, not an error of the program
    """A reference has no value here; the step that holds it is *not applicable*."""


class UnknownReference(ReferenceFault):
    """No step of this id has answered yet, or its answer has no such member, or one of the wrong type."""


class RefusedReference(ReferenceFault):
    """The step referred to was refused, or was itself not applicable."""


class NoMember(Exception):  # noqa: N818 - becomes an `UnknownReference`
    """An answer has no such member."""

    def __init__(self, name: str | int) -> None:
        super().__init__(name)
        self.name = name


@frozen
class Refused:
    """The answer of a refused step. With code ``not_applicable`` it stands for a step that was left out."""

    code: str
    details: Any = None


@frozen
class Shown:
    """An answer as a store gave it. Only what a reference asks for is made plain, by ``plain``: claims are named in
    nearly every step, and an answer may hold a whole record."""

    value: Any
    plain: Callable[[Any], Any]

    def at(self, members: Iterable[str | int]) -> Any:
        """What stands at a place in the answer, made plain.

        Raises:
            NoMember: it has none of that name, or does not show it.
        """
        value = self.value
        for name in members:
            kind: Any = type(value)
            known = _members(kind)
            # Nearly all ask for a member of a carrier: asked here, that costs no call.
            value = getattr(value, str(name)) if known is not None and name in known else self._element(value, name)
            if value is UNSEEN:
                raise NoMember(name)
        return value if type(value) in _AS_THEY_ARE else self.plain(value)

    def _element(self, value: Any, name: str | int) -> Any:
        kind: Any = type(value)
        if _members(kind) is not None:
            raise NoMember(name)
        try:
            if isinstance(value, (dict, list, tuple)):
                return value[name]  # type: ignore[index]
            # Sets are put in order.
            return self.plain(value)[name]
        except (LookupError, TypeError):
            raise NoMember(name) from None


@frozen
class Ref:
    """A member of the answer of an earlier step: ``c1``, ``w.workload.workload_id``, ``x[0]``, ``h#2.a``.

    ``plus`` is added to an integer, ``append`` to a text; at most one of them is not None.
    """

    path: str
    plus: int | None = None
    append: str | None = None

    @property
    def step(self) -> str:
        """The id of the step referred to (with ``#n`` for an iteration of a repeat)."""
        return _parts(self.path)[0]


@cache
def _members(kind: Any) -> frozenset[str] | None:
    """The names of the members of a carrier, None for any other type."""
    return frozenset(attrs.fields_dict(kind)) if attrs.has(kind) else None


@lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[str, tuple[str | int, ...]]:
    """The id of a step, and the names of members and positions on the way from its answer."""
    step = re.split(r"[.\[]", path, maxsplit=1)[0]
    return step, tuple(name or int(index) for name, index in _MEMBER.findall(path[len(step) :]))


@frozen
class RepeatText:
    """A text ``count`` times over, kept short in the file."""

    text: str
    count: int


@frozen
class RepeatBytes:
    """The UTF-8 bytes of a text ``count`` times over."""

    text: str
    count: int


@frozen
class Copies:
    """An array of ``count`` objects that differ in one text member alone, to which a number is appended, from ``first``
    on, in ``digits`` digits at least."""

    of: Any
    count: int
    member: str
    first: int = 0
    digits: int = 1


@frozen
class Text:
    """Parts joined to one text. A referenced integer is written in decimal."""

    parts: tuple[str | Ref | RepeatText, ...]


@frozen
class JsonBytes:
    """The UTF-8 bytes of a value's compact JSON text, members in the order written."""

    value: Any


def references(value: Any) -> Iterator[Ref]:
    """Every reference inside a value, in the order of writing."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from references(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from references(member)
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from references(getattr(value, field.name))


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with each reference to a step named in ``names`` turned to its new name."""
    if isinstance(value, Ref):
        new = names.get(value.step)
        return value if new is None else attrs.evolve(value, path=new + value.path[len(value.step) :])
    return _rebuilt(value, lambda member: renamed(member, names))


def resolve(value: Any, answers: Mapping[str, Any]) -> Any:
    """The value with references and the other nodes of this module replaced by what they stand for.

    Args:
        value: plain JSON, or a matcher, with such nodes inside.
        answers: step id to the plain JSON of its answer, or to `Shown` or `Refused`.

    Raises:
        UnknownReference, RefusedReference: the step that holds the value is not applicable.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return {
            # Most are plain: asked here, they cost no call.
            name: member if type(member) in _PLAIN else resolve(member, answers)
            for name, member in value.items()
        }
    if kind is list:
        return [resolve(member, answers) for member in value]
    if kind is Ref:
        return _looked_up(value, answers)
    match value:
        case Text(parts):
            return "".join(_as_text(resolve(part, answers)) for part in parts)
        case RepeatText(text, count):
            return text * count
        case RepeatBytes(text, count):
            return _repeated(text, count)
        case Copies():
            return _copied(value, resolve(value.of, answers))
        case JsonBytes(inner):
            plain = resolve(inner, answers)
            text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            return text.encode("utf-8")
    return _rebuilt(value, lambda member: resolve(member, answers))


@lru_cache(maxsize=4)
def _repeated(text: str, count: int) -> bytes:
    """Kept, for the largest of these take milliseconds."""
    return text.encode("utf-8") * count


def _copied(copies: Copies, of: Mapping[str, Any]) -> list[dict[str, Any]]:
    numbers = range(copies.first, copies.first + copies.count)
    return [{**of, copies.member: f"{of[copies.member]}{number:0{copies.digits}d}"} for number in numbers]


def _rebuilt(value: Any, change: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: change(member) for name, member in value.items()}
    if isinstance(value, list):
        return [change(member) for member in value]
    if isinstance(value, tuple):
        return tuple(change(member) for member in value)
    if attrs.has(type(value)):
        changes = {f.name: change(getattr(value, f.name)) for f in attrs.fields(type(value))}
        return attrs.evolve(value, **changes)
    return value


def _looked_up(ref: Ref, answers: Mapping[str, Any]) -> Any:
    step, members = _parts(ref.path)
    try:
        seen = answers[step]
    except KeyError:
        raise UnknownReference(f"{ref.path}: no step {step!r} has answered") from None
    if isinstance(seen, Refused):
        raise RefusedReference(f"{ref.path}: step {step!r} was refused ({seen.code})")
    try:
        found = seen.at(members) if isinstance(seen, Shown) else _at(seen, members)
    except NoMember as absent:
        name = f"[{absent.name}]" if isinstance(absent.name, int) else absent.name
        raise UnknownReference(f"{ref.path}: the answer has no member {name}") from None
    return _adjusted(ref, found)


def _at(answer: Any, members: Iterable[str | int]) -> Any:
    """What stands at a place in plain JSON."""
    for name in members:
        try:
            answer = answer[name]
        except (LookupError, TypeError):
            raise NoMember(name) from None
    return answer


def _adjusted(ref: Ref, seen: Any) -> Any:
    if ref.plus is not None:
        if isinstance(seen, bool) or not isinstance(seen, int):
            raise UnknownReference(f"{ref.path}: plus needs an integer, the answer has {seen!r}")
        return seen + ref.plus
    if ref.append is not None:
        if not isinstance(seen, str):
            raise UnknownReference(f"{ref.path}: append needs a text, the answer has {seen!r}")
        return seen + ref.append
    return seen


def _as_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, int) and not isinstance(part, bool):
        return str(part)
    raise UnknownReference(f"$text joins texts and integers, not {part!r}")
