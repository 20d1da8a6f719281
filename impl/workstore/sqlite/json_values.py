"""JSON documents of callers: what is in them, and the one text that two equal documents share.

Known limit: a document nests at most `GREATEST_DEPTH` lists and objects. The standard library's JSON code
recurses once per level, and this leaves callers half of the default stack.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from attrs import frozen

from workspec.workload.vocabulary import Json

from .arithmetic import GREATEST_INTEGER, LEAST_INTEGER

GREATEST_DEPTH: Final = 500

_compact = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")).encode
_canonical = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode
_decode = json.JSONDecoder().decode

Value = TypeVar("Value")


@frozen
class Examination:
    """What one walk over a document found."""

    has_secret: bool
    fault: str | None
    """Why the document cannot be stored, or None."""


def is_secret(text: str) -> bool:
    """Whether the text is secret material (WRK-GEN-08)."""
    return "BEGIN PRIVATE KEY" in text or text.startswith(("sk-", "fdb_live_"))


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: a lone surrogate cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_storable_integer(value: int) -> bool:
    """Whether the integer fits in signed 64 bits."""
    return LEAST_INTEGER <= value <= GREATEST_INTEGER


def _scalar_fault(value: object, place: str) -> str | None:
    if isinstance(value, str):
        return None if is_unicode(value) else "holds a lone surrogate, which UTF-8 cannot write"
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return None if is_storable_integer(value) else "holds an integer beyond signed 64 bits"
    if isinstance(value, float):
        return None if math.isfinite(value) else "holds a number that is not finite"
    raise TypeError(f"{place} must be None, bool, int, float, str, list or dict, not {type(value).__name__}")


def _members(container: list[Any] | dict[Any, Any], place: str) -> list[Any]:
    if isinstance(container, list):
        return container
    for name in container:
        if not isinstance(name, str):
            raise TypeError(f"{place}: a member name must be str, not {type(name).__name__}")
    return [*container, *container.values()]


def examine(document: object, place: str) -> Examination:
    """Look at every value and member name, at any depth, without recursion.

    A container is looked into again only when it turns up deeper than before, so that a document which holds
    itself ends as too deep, and one that shares parts costs no more than its parts.

    Raises:
        TypeError: something in it is not JSON.
    """
    has_secret, fault = False, None
    deepest: dict[int, int] = {}
    pending: list[tuple[object, int]] = [(document, 1)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, (list, dict)):
            if depth > GREATEST_DEPTH:
                fault = fault or f"nests deeper than {GREATEST_DEPTH} levels"
                depth = GREATEST_DEPTH + 1
            if deepest.get(id(value), 0) >= depth:
                continue
            deepest[id(value)] = depth
            pending.extend([(member, depth + 1) for member in _members(value, place)])
            continue
        fault = _scalar_fault(value, place) or fault
        if isinstance(value, str) and is_secret(value):
            has_secret = True
    return Examination(has_secret, fault)


def _on_a_fresh_stack(work: Callable[[Any], Value], argument: object) -> Value:
    """Do the work in a thread of its own, since the depth of a thread's stack counts from zero."""
    outcome: list[Value] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work(argument))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="workstore-json")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def at_any_depth(work: Callable[[Any], Value], argument: object) -> Value:
    """A caller that is deep in its own stack leaves the JSON code too little of it."""
    try:
        return work(argument)
    except RecursionError:
        return _on_a_fresh_stack(work, argument)


def compact_text(document: object) -> str:
    """JSON text without blanks, members in the order they have."""
    return at_any_depth(_compact, document)


def canonical_text(document: object) -> str:
    """JSON text that is equal for equal documents: members sorted at every depth; 1 and 1.0 differ (G-08)."""
    return at_any_depth(_canonical, document)


def canonical_hash(document: Json) -> str:
    """SHA-256 of the canonical text, in lower-case hexadecimal."""
    return hashlib.sha256(canonical_text(document).encode()).hexdigest()


def parsed(text: str) -> Any:
    """The document of a text that this store wrote."""
    return at_any_depth(_decode, text)
