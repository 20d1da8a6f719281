"""What a case may demand of an answer or a record, and how the demand is compared with what was seen.

A matcher is a plain value in which these nodes may stand. A dict matches the members it names, a list matches
in length and order, anything else matches what is equal and of the same JSON type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from workcert.codec import LITERAL_FORMS, CodecError, Form, dumps


@frozen
class Absent:
    """Null, or no such member."""


@frozen
class Anything:
    """All but null."""


@frozen
class OneOf:
    """At least one of the matchers."""

    options: tuple[Any, ...]


@frozen
class AllOf:
    """All the matchers."""

    parts: tuple[Any, ...]


@frozen
class StartsWith:
    """A text that begins so."""

    prefix: Any


@frozen
class Exactly:
    """An object with these members and no others."""

    members: Any


@frozen
class Last:
    """The last element of an array."""

    inner: Any


@frozen
class Length:
    """The length of an array, of an object (its members) or of a text (its Unicode scalar values)."""

    length: int


@frozen
class Items:
    """Every element of an array; an empty one matches."""

    inner: Any


@frozen
class Difference:
    """Where a matcher and what was seen part ways. ``expected`` is a text for people."""

    path: str
    expected: str
    seen: Any

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected}, seen {shown(self.seen)}"


def match(matcher: Any, seen: Any, path: str = "$") -> list[Difference]:
    """Compare a matcher with a plain value.

    Args:
        matcher: plain value with matcher nodes; references are resolved already.
        seen: plain value.

    Returns:
        The differences, outermost first; none when it matches.
    """
    match matcher:
        case Absent():
            return [] if seen is None else [Difference(path, "nothing", seen)]
        case Anything():
            return [Difference(path, "anything but null", seen)] if seen is None else []
        case OneOf(options):
            fits = any(not match(option, seen, path) for option in options)
            return [] if fits else [Difference(path, f"one of {shown(list(options))}", seen)]
        case AllOf(parts):
            return [difference for part in parts for difference in match(part, seen, path)]
        case StartsWith(prefix):
            fits = isinstance(seen, str) and isinstance(prefix, str) and seen.startswith(prefix)
            return [] if fits else [Difference(path, f"a text that starts with {shown(prefix)}", seen)]
        case Exactly(members):
            return _stray(members, seen, path) or match(members, seen, path)
        case Last(inner):
            if not isinstance(seen, list) or not seen:
                return [Difference(path, "an array with a last element", seen)]
            return match(inner, seen[-1], f"{path}[{len(seen) - 1}]")
        case Length(length):
            fits = isinstance(seen, (list, dict, str)) and len(seen) == length
            return [] if fits else [Difference(path, f"a length of {length}", seen)]
        case Items(inner):
            if not isinstance(seen, list):
                return [Difference(path, "an array", seen)]
            return [d for index, each in enumerate(seen) for d in match(inner, each, f"{path}[{index}]")]
        case dict():
            return _members(matcher, seen, path)
        case list():
            return _elements(matcher, seen, path)
    return [] if _same(matcher, seen) else [Difference(path, shown(matcher), seen)]


def shown(value: Any) -> str:
    """A value or matcher as one line for people, cut when long."""
    try:
        text = dumps(value, forms=MATCHER_FORMS)
    except CodecError:
        text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]}... ({len(text)} characters)"


def _members(matcher: Mapping[str, Any], seen: Any, path: str) -> list[Difference]:
    if not isinstance(seen, dict):
        return [Difference(path, f"an object like {shown(matcher)}", seen)]
    found: list[Difference] = []
    for name, wanted in matcher.items():
        if name in seen or isinstance(wanted, Absent):
            found += match(wanted, seen.get(name), f"{path}.{name}")
        else:
            found.append(Difference(f"{path}.{name}", shown(wanted), "no such member"))
    return found


def _elements(matcher: list[Any], seen: Any, path: str) -> list[Difference]:
    if not isinstance(seen, list) or len(seen) != len(matcher):
        return [Difference(path, f"an array of {len(matcher)}: {shown(matcher)}", seen)]
    pairs = enumerate(zip(matcher, seen, strict=True))
    return [d for index, (wanted, each) in pairs for d in match(wanted, each, f"{path}[{index}]")]


def _stray(members: Any, seen: Any, path: str) -> list[Difference]:
    if not isinstance(members, dict) or not isinstance(seen, dict):
        return []
    stray = sorted(seen.keys() - members.keys())
    return [Difference(f"{path}.{name}", "no such member", seen[name]) for name in stray]


def _same(wanted: Any, seen: Any) -> bool:
    # Python holds 1, 1.0 and True equal; JSON readers, and hashes over JSON, do not.
    return type(wanted) is type(seen) and bool(wanted == seen)


# ------------------------------------------------------------------------------------------ forms

_Walk = Callable[[Any, str], Any]


def _flag(node: type[Any], tag: str) -> Form:
    def read(raw: Mapping[str, Any], place: str, _: _Walk) -> Any:
        if raw[tag] is not True:
            raise CodecError(place, f"{tag} is written with true")
        return node()

    return Form(tag, node, read, lambda _node, _walk: {tag: True})


def _several(node: type[Any], tag: str, member: str) -> Form:
    def read(raw: Mapping[str, Any], place: str, walk: _Walk) -> Any:
        if not isinstance(raw[tag], list) or not raw[tag]:
            raise CodecError(place, f"{tag} needs an array of matchers, not an empty one")
        return node(tuple(walk(raw[tag], f"{place}.{tag}")))

    return Form(tag, node, read, lambda value, walk: {tag: [walk(each) for each in getattr(value, member)]})


def _around(node: type[Any], tag: str, member: str) -> Form:
    return Form(
        tag,
        node,
        lambda raw, place, walk: node(walk(raw[tag], f"{place}.{tag}")),
        lambda value, walk: {tag: walk(getattr(value, member))},
    )


def _read_length(raw: Mapping[str, Any], place: str, _: _Walk) -> Length:
    if type(raw["$length"]) is not int or raw["$length"] < 0:
        raise CodecError(place, "$length needs an integer that is not negative")
    return Length(raw["$length"])


MATCHER_FORMS: Mapping[str, Form] = {
    **LITERAL_FORMS,
    **{
        form.tag: form
        for form in (
            _flag(Absent, "$absent"),
            _flag(Anything, "$any"),
            _several(OneOf, "$one_of", "options"),
            _several(AllOf, "$all", "parts"),
            _around(StartsWith, "$starts_with", "prefix"),
            _around(Exactly, "$exactly", "members"),
            _around(Last, "$last", "inner"),
            Form("$length", Length, _read_length, lambda value, _walk: {"$length": value.length}),
            _around(Items, "$items", "inner"),
        )
    },
}
"""What may stand in ``expect`` and ``record``."""
