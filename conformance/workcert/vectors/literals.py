"""Values of calls as vectors write them: few forms, each easy to read in any language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from workcert.cases.playing import NoSingleCourse
from workcert.codec import encode
from workcert.references import Copies, JsonBytes, Ref, RepeatBytes, RepeatText, Text, references
from workcert.vectors.marks import Json


class NotExportable(NoSingleCourse):
    """A vector cannot say what a case does; the text says why, alike for all cases of which the same holds."""


SHORT: Final = 64
"""A text up to this length is written out, however it is made."""


def literal(value: Any) -> Json:
    """A value of a case, references and all.

    Raises:
        NotExportable: bytes that are made of earlier answers.
        CodecError: a value that JSON cannot hold.
    """
    match value:
        case RepeatText(text, count):
            return repeated(text * count) if len(text) * count <= SHORT else {"$repeat": _repeat(text, count)}
        case RepeatBytes(text, count):
            return {"$utf8": literal(RepeatText(text, count))}
        case JsonBytes(inner):
            if any(references(inner)):
                raise NotExportable("bytes that are made of earlier answers")
            return {"$utf8": json.dumps(inner, separators=(",", ":"), ensure_ascii=False, allow_nan=False)}
        case Text(parts):
            return {"$text": [literal(part) for part in parts]}
        case Ref():
            return encode(value)
        case Copies(of, count, member, first, digits):
            body = {"of": literal(of), "count": count, "member": member, "first": first, "digits": digits}
            return {"$copies": body}
        case bytes():
            return bytes_as(value)
        case str():
            return repeated(value)
        case list() | tuple():
            return [literal(each) for each in value]
        case Mapping():
            return wrapped({name: literal(member) for name, member in value.items()})
    return encode(value)


def wrapped(members: Mapping[str, Json]) -> Json:
    """An object; within ``$value`` where one of its own members begins with ``$``."""
    return {"$value": dict(members)} if any(name.startswith("$") for name in members) else dict(members)


def repeated(text: str) -> Json:
    """A text; a long one that says the same over and over is kept short."""
    if len(text) <= SHORT:
        return text
    for width in (1, 2, 3, 4):
        count, rest = divmod(len(text), width)
        if not rest and text == text[:width] * count:
            return {"$repeat": _repeat(text[:width], count)}
    return text


def bytes_as(value: bytes) -> Json:
    """Bytes; those of a text are written as one, since people read it."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return encode(value)
    return {"$utf8": repeated(text)}


def _repeat(text: str, count: int) -> Json:
    return {"text": text, "count": count}
