"""The one JSON codec: case files, vectors, reports.

Three layers. *Carriers* are the attrs values of a vocabulary; `to_json` and `structure` go from and to them.
*Plain* values are None, bool, int, float, str, bytes, list and dict, with the nodes of `workcert.references`
where a case leaves something open. *Text* is JSON, in which what JSON lacks is written as an object with a
``$`` key; `dumps` and `loads` go from and to it.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

import attrs
from attrs import frozen

from workcert.references import (
    REFERENCE,
    Copies,
    JsonBytes,
    Ref,
    ReferenceFault,
    Refused,
    RefusedReference,
    RepeatBytes,
    RepeatText,
    Text,
    UnknownReference,
    references,
    resolve,
)
from workcert.structuring import CodecError, structure
from workspec.core.choice import UNSEEN as NOT_SHOWN

__all__ = [
    "LITERAL_FORMS",
    "CodecError",
    "Copies",
    "Form",
    "JsonBytes",
    "Ref",
    "ReferenceFault",
    "Refused",
    "RefusedReference",
    "RepeatBytes",
    "RepeatText",
    "Text",
    "UnknownReference",
    "decode",
    "dumps",
    "encode",
    "loads",
    "parse_json",
    "references",
    "render",
    "resolve",
    "structure",
    "to_json",
]

GREATEST_INT = 2**53 - 1
"""Integers beyond this lose digits in readers that know only doubles; they are written as ``$int``."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_MOST_DIGITS = 1000
MOST_LEVELS: Final = 128
"""Objects and arrays within each other. Values pass through several recursions of the kit on their way to a store."""
MOST_COPIES: Final = 10_000
MOST_DIGITS: Final = 12
_COPIES: Final = frozenset({"of", "count", "member", "first", "digits"})
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Pairs(list[tuple[str, Any]]):
    """An object as parsed, before its keys are known to be unique."""


@frozen
class Form:
    """One way to write something as an object with a ``$`` key.

    ``read`` gets the object, its place and the decoder of nested values; ``write`` the node and the encoder.
    """

    tag: str
    node: type[Any] | None
    read: Callable[[Mapping[str, Any], str, Callable[[Any, str], Any]], Any]
    write: Callable[[Any, Callable[[Any], Any]], dict[str, Any]] | None
    extra: frozenset[str] = frozenset()


# --------------------------------------------------------------------------------------------- text


def loads(text: str, forms: Mapping[str, Form] | None = None) -> Any:
    """Text to plain value.

    Raises:
        CodecError: not JSON, or something that the codec refuses; it names place and cause.
    """
    return decode(parse_json(text), forms=forms)


def dumps(value: Any, *, sort: bool = False, forms: Mapping[str, Form] | None = None) -> str:
    """Plain value (or carriers) to one line of text; equal values in equal member order give equal text.

    Args:
        value: plain value or carrier, with nodes that ``forms`` know.
        sort: members by name instead of as they stand (for digests and comparisons).
        forms: `LITERAL_FORMS` if None.

    Raises:
        CodecError: NaN, infinity, lone surrogate, or a value that JSON cannot hold.
    """
    return render(encode(value, forms=forms), sort=sort)


def render(encoded: Any, *, sort: bool = False) -> str:
    """What `encode` gave, as one line of text."""
    return json.dumps(encoded, ensure_ascii=False, allow_nan=False, sort_keys=sort)


def parse_json(text: str) -> Any:
    """Strict JSON, ``$`` objects left as they are.

    Raises:
        CodecError: syntax, duplicate key, NaN, infinity, integer beyond 2^53-1, lone surrogate, more than `MOST_LEVELS`
            levels.
    """
    try:
        raw = json.loads(
            text, object_pairs_hook=_Pairs, parse_constant=_no_constant, parse_float=_finite, parse_int=_small
        )
        return _checked(raw, "$")
    except json.JSONDecodeError as fault:
        raise CodecError(f"line {fault.lineno} column {fault.colno}", f"not JSON: {fault.msg}") from None
    except RecursionError:
        raise CodecError("$", "nested too deeply") from None


def _no_constant(word: str) -> Any:
    raise CodecError("$", f"{word} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise CodecError("$", f"{digits} is beyond every double")
    return number


def _small(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > GREATEST_INT:
        raise CodecError("$", f'{digits[:40]} is beyond 2^53-1; write {{"$int": "{digits[:40]}"}}')
    return int(digits)


def _checked(raw: Any, place: str, levels: int = 0) -> Any:
    if levels > MOST_LEVELS:
        raise CodecError("$", f"nested too deeply; {MOST_LEVELS} levels are read")
    if isinstance(raw, _Pairs):
        found: dict[str, Any] = {}
        for key, member in raw:
            _whole_text(key, f"{place} (a member name)")
            if key in found:
                raise CodecError(place, f"duplicate key {key!r}")
            found[key] = _checked(member, f"{place}.{key}", levels + 1)
        return found
    if isinstance(raw, list):
        return [_checked(member, f"{place}[{index}]", levels + 1) for index, member in enumerate(raw)]
    if isinstance(raw, str):
        return _whole_text(raw, place)
    return raw


def _whole_text(text: str, place: str) -> str:
    if _SURROGATE.search(text):
        raise CodecError(place, f"lone surrogate in {text[:40]!a}; it is no Unicode text")
    return text


# ------------------------------------------------------------------------------------------- values


def decode(raw: Any, place: str = "$", forms: Mapping[str, Form] | None = None) -> Any:
    """Parsed JSON to plain value: each ``$`` object becomes what it stands for.

    Raises:
        CodecError: an unknown or ill-formed ``$`` object.
    """
    known = LITERAL_FORMS if forms is None else forms

    def walk(raw: Any, place: str) -> Any:
        if isinstance(raw, list):
            return [walk(member, f"{place}[{index}]") for index, member in enumerate(raw)]
        if not isinstance(raw, dict):
            return raw
        marks = [key for key in raw if key.startswith("$")]
        if not marks:
            return {key: walk(member, f"{place}.{key}") for key, member in raw.items()}
        form = known.get(marks[0])
        if form is None:
            hint = f'known here: {", ".join(sorted(known))}; a literal object is written {{"$value": ...}}'
            raise CodecError(place, f"unknown form {marks[0]!r} ({hint})")
        stray = raw.keys() - {form.tag} - form.extra
        if stray:
            raise CodecError(place, f"{form.tag} takes no member {sorted(stray)[0]!r}")
        return form.read(raw, place, walk)

    try:
        return walk(raw, place)
    except RecursionError:
        raise CodecError(place, "nested too deeply") from None


def encode(value: Any, forms: Mapping[str, Form] | None = None) -> Any:
    """Plain value or carrier to what `json.dumps` can write; the inverse of `decode`.

    Raises:
        CodecError: NaN, infinity, lone surrogate, a mapping key that is no text, an unknown type.
    """
    known = LITERAL_FORMS if forms is None else forms
    writers = {form.node: form.write for form in known.values() if form.node is not None}

    def walk(value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        writer = writers.get(type(value))
        if writer is not None:
            return writer(value, walk)
        if isinstance(value, bytes):
            return {"$bytes": base64.b64encode(value).decode("ascii")}
        if isinstance(value, dict):
            members = {key: walk(member) for key, member in value.items()}
            return {"$value": members} if any(key.startswith("$") for key in members) else members
        if isinstance(value, list):
            return [walk(member) for member in value]
        if type(value) is int:
            return value if abs(value) <= GREATEST_INT else {"$int": str(value)}
        return value

    def prepared(value: Any) -> Any:
        if type(value) in writers:
            return _mapped(value, prepared)
        return _plain(value, "$", prepared)

    try:
        return walk(prepared(value))
    except RecursionError:
        raise CodecError("$", "nested too deeply") from None


def _mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    def inner(member: Any) -> Any:
        return tuple(change(each) for each in member) if isinstance(member, tuple) else change(member)

    members = (field.name for field in attrs.fields(type(node)))
    return attrs.evolve(node, **{name: inner(getattr(node, name)) for name in members})


def to_json(value: Any) -> Any:
    """A carrier, or anything built of carriers, as plain value.

    Attrs classes become dicts by field names, tuples lists, sets sorted lists, enumerations their values,
    mappings with text keys dicts; bytes stay.

    Raises:
        CodecError: NaN, infinity, lone surrogate, a mapping key that is no text, an unknown type.
    """
    return _plain(value, "$", None)


def _plain(value: Any, place: str, nested: Callable[[Any], Any] | None) -> Any:
    if type(value) is str:
        return _whole_text(value, place)

    def inner(member: Any, name: str) -> Any:
        return _plain(member, f"{place}{name}", None) if nested is None else nested(member)

    if value is None or isinstance(value, (bool, bytes)):
        return value
    if isinstance(value, Enum):
        return inner(value.value, "")
    if isinstance(value, str):
        return _whole_text(str(value), place)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CodecError(place, f"{value} is not a JSON number")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise CodecError(place, f"the key {key!r} is no text")
            _whole_text(key, f"{place} (a member name)")
        return {key: inner(member, f".{key}") for key, member in value.items() if member is not NOT_SHOWN}
    if isinstance(value, (set, frozenset)):
        return sorted((inner(member, "{}") for member in value), key=lambda member: dumps(member, sort=True))
    if isinstance(value, (list, tuple)):
        return [inner(member, f"[{index}]") for index, member in enumerate(value)]
    if attrs.has(type(value)):
        members = {f.name: getattr(value, f.name) for f in attrs.fields(type(value))}
        return {name: inner(member, f".{name}") for name, member in members.items() if member is not NOT_SHOWN}
    raise CodecError(place, f"{type(value).__name__} has no JSON form")


# -------------------------------------------------------------------------------------------- forms


def _text_of(raw: Mapping[str, Any], name: str, place: str) -> str:
    if not isinstance(raw[name], str):
        raise CodecError(place, f"{name} needs a text")
    return str(raw[name])


def _read_bytes(raw: Mapping[str, Any], place: str, walk: Callable[[Any, str], Any]) -> bytes | RepeatBytes:
    if isinstance(raw["$bytes"], dict):
        repeated = walk(raw["$bytes"], place)
        if not isinstance(repeated, RepeatText):
            raise CodecError(place, "$bytes needs base64, or a $repeat of a text")
        return RepeatBytes(repeated.text, repeated.count)
    try:
        return base64.b64decode(_text_of(raw, "$bytes", place), validate=True)
    except (binascii.Error, ValueError):
        raise CodecError(place, "$bytes needs base64") from None


def _read_int(raw: Mapping[str, Any], place: str, _: Any) -> int:
    digits = _text_of(raw, "$int", place)
    if not _INTEGER.fullmatch(digits) or len(digits) > _MOST_DIGITS:
        raise CodecError(place, "$int needs a decimal text without leading zeros")
    return int(digits)


def _read_value(raw: Mapping[str, Any], place: str, walk: Callable[[Any, str], Any]) -> dict[str, Any]:
    members = raw["$value"]
    if not isinstance(members, dict):
        raise CodecError(place, "$value needs an object")
    return {key: walk(member, f"{place}.{key}") for key, member in members.items()}


def _read_repeat(raw: Mapping[str, Any], place: str, _: Any) -> RepeatText:
    body = raw["$repeat"]
    if not isinstance(body, dict) or body.keys() != {"text", "count"}:
        raise CodecError(place, '$repeat needs {"text": ..., "count": ...}')
    text, count = body["text"], body["count"]
    if not isinstance(text, str) or type(count) is not int or not 0 <= count <= 10**8:
        raise CodecError(place, "$repeat needs a text and a count from 0 to 10^8")
    return RepeatText(text, count)


def _read_ref(raw: Mapping[str, Any], place: str, walk: Callable[[Any, str], Any]) -> Ref:
    path = _text_of(raw, "$ref", place)
    if not REFERENCE.fullmatch(path):
        raise CodecError(place, f"{path!r} is no reference; write step, step.member or step.list[0].member")
    if "plus" in raw and "append" in raw:
        raise CodecError(place, "a reference takes plus or append, not both")
    plus = walk(raw["plus"], f"{place}.plus") if "plus" in raw else None
    if plus is not None and type(plus) is not int:
        raise CodecError(place, "plus needs an integer")
    return Ref(path, plus, _text_of(raw, "append", place) if "append" in raw else None)


def _write_ref(ref: Ref, walk: Callable[[Any], Any]) -> dict[str, Any]:
    plus = {} if ref.plus is None else {"plus": walk(ref.plus)}
    append = {} if ref.append is None else {"append": ref.append}
    return {"$ref": ref.path, **plus, **append}


def _read_text(raw: Mapping[str, Any], place: str, walk: Callable[[Any, str], Any]) -> Text:
    parts = walk(raw["$text"], place)
    if not isinstance(parts, list) or not all(isinstance(part, (str, Ref, RepeatText)) for part in parts):
        raise CodecError(place, "$text needs an array of texts, $repeat and references")
    return Text(tuple(parts))


def _read_copies(raw: Mapping[str, Any], place: str, walk: Callable[[Any, str], Any]) -> Copies:
    body = raw["$copies"]
    if not isinstance(body, dict) or not {"of", "count", "member"} <= body.keys() <= _COPIES:
        raise CodecError(place, '$copies needs {"of": {...}, "count": ..., "member": ...}, and takes first and digits')
    of, count, member = walk(body["of"], f"{place}.of"), body["count"], body["member"]
    first, digits = body.get("first", 0), body.get("digits", 1)
    if not isinstance(of, dict) or not isinstance(member, str) or not isinstance(of.get(member), str):
        raise CodecError(place, "$copies needs an object, and the name of a text member of it")
    numbers = (count, first, digits)
    if any(type(number) is not int or number < 0 for number in numbers) or count > MOST_COPIES or digits > MOST_DIGITS:
        raise CodecError(place, f"$copies takes integers from 0, {MOST_COPIES} copies at most")
    return Copies(of, count, member, first, digits)


def _write_copies(node: Copies, walk: Callable[[Any], Any]) -> dict[str, Any]:
    written = {"of": walk(node.of), "count": node.count, "member": node.member}
    return {"$copies": {**written, "first": node.first, "digits": node.digits}}


LITERAL_FORMS: Mapping[str, Form] = {
    form.tag: form
    for form in (
        Form("$int", None, _read_int, None),
        Form("$value", None, _read_value, None),
        Form(
            "$repeat",
            RepeatText,
            _read_repeat,
            lambda node, _: {"$repeat": {"text": node.text, "count": node.count}},
        ),
        Form(
            "$bytes",
            RepeatBytes,
            _read_bytes,
            lambda node, _: {"$bytes": {"$repeat": {"text": node.text, "count": node.count}}},
        ),
        Form("$copies", Copies, _read_copies, _write_copies),
        Form("$ref", Ref, _read_ref, _write_ref, frozenset({"plus", "append"})),
        Form("$text", Text, _read_text, lambda node, walk: {"$text": [walk(part) for part in node.parts]}),
        Form(
            "$json",
            JsonBytes,
            lambda raw, place, walk: JsonBytes(walk(raw["$json"], place)),
            lambda node, walk: {"$json": walk(node.value)},
        ),
    )
}
"""What may stand in a literal. `workcert.cases.matcher.MATCHER_FORMS` adds the matchers."""
