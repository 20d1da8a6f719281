"""JSON from callers: what is in it, its canonical text, and copies that nobody else holds."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from attrs import frozen

from workspec.workload.vocabulary import Event, Json, Workload
from workstore.memory.carriers import changed
from workstore.memory.numbers import INSTANT_MAX, INSTANT_MIN

MAX_DEPTH = 500
"""How many arrays and objects may stand inside one another. A known limit of this store: what lies deeper is
refused with INVALID. `json` and ``==`` recurse once per level, and Python ends a stack at 1000: this is half of
it."""

Value = TypeVar("Value")


@frozen
class Findings:
    """What an inspection found; None or False where all is well."""

    wrong_type: str | None
    secret: bool
    fault: str | None


def is_secret(text: str) -> bool:
    """Whether a text looks like a credential (WRK-GEN-08)."""
    return "BEGIN PRIVATE KEY" in text or text.startswith(("sk-", "fdb_live_"))


def text_fault(text: str) -> str | None:
    """Why a text cannot be kept: it holds half a surrogate pair, which has no form in UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "a text holds a lone surrogate"
    return None


def inspect(value: object, max_depth: int = MAX_DEPTH) -> Findings:
    """Look at every value and member name at any depth (G-03), level by level: deep input must not exhaust
    the stack of Python, and neither must a container that holds itself."""
    wrong_type = fault = None
    secret = False
    level: list[object] = [value]
    seen: set[int] = set()
    depth = 0
    while level:
        containers: dict[int, list[object] | dict[object, object]] = {}
        for item in level:
            if isinstance(item, list | dict):
                containers[id(item)] = item
            elif isinstance(item, str):
                secret = secret or is_secret(item)
                fault = fault if fault or item.isascii() else text_fault(item)
            elif item is not None and not isinstance(item, bool | int | float):
                wrong_type = wrong_type or type(item).__name__
            else:
                fault = fault or _number_fault(item)
        depth += bool(containers)
        if depth > max_depth:
            # Further down only what was never seen, so that a container in itself comes to an end.
            fault = fault or f"JSON is nested more than {max_depth} deep"
            containers = {key: item for key, item in containers.items() if key not in seen}
        seen.update(containers)
        level = []
        for container in containers.values():
            wrong_type = wrong_type or _name_of_wrong_type(container)
            level.extend(_children(container))
    return Findings(wrong_type, secret, fault)


def _children(container: list[object] | dict[object, object]) -> Iterator[object]:
    if isinstance(container, list):
        yield from container
        return
    for name, value in container.items():
        yield name
        yield value


def _name_of_wrong_type(container: list[object] | dict[object, object]) -> str | None:
    if isinstance(container, list):
        return None
    wrong = (type(name).__name__ for name in container if not isinstance(name, str))
    return next((f"an object with a member name of type {name}" for name in wrong), None)


def _number_fault(number: bool | int | float | None) -> str | None:
    if isinstance(number, float) and not math.isfinite(number):
        return "JSON has no NaN and no infinity"
    if isinstance(number, int) and not INSTANT_MIN <= number <= INSTANT_MAX:
        return "an integer is beyond signed 64 bits"
    return None


def with_room(work: Callable[[], Value]) -> Value:
    """Do work that recurses once per level of JSON. A caller may stand so deep in its own stack that the rest does
    not suffice; that of a new thread counts from zero.

    Raises:
        RecursionError: it does not suffice either; for JSON of at most `MAX_DEPTH` levels it does.
    """
    try:
        return work()
    except RecursionError:
        with ThreadPoolExecutor(max_workers=1) as fresh:
            return fresh.submit(work).result()


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Json) -> str:
    """Compact JSON with sorted members: equal for equal values. ``1`` and ``1.0`` differ (G-08)."""
    return with_room(lambda: _CANONICAL.encode(value))


def canonical_hash(value: Json) -> str:
    """SHA-256 of the canonical text, in lower-case hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def copied(value: Json) -> Json:
    """A copy that shares no array and no object with the value."""
    whole = _shallow_copy(value)
    pending = [whole]
    while pending:
        container = pending.pop()
        if isinstance(container, dict):
            for name, item in container.items():
                if isinstance(item, list | dict):
                    container[name] = inner = _shallow_copy(item)
                    pending.append(inner)
        elif isinstance(container, list):
            container[:] = [_shallow_copy(item) for item in container]
            pending += container
    return whole


def _shallow_copy(value: Json) -> Json:
    if isinstance(value, list):
        return list(value)
    return dict(value) if isinstance(value, dict) else value


def detached(workload: Workload) -> Workload:
    """A copy of the record that shares nothing mutable with it. A caller that edits what it was given must
    not edit what is committed."""
    result = workload.result
    return changed(
        workload,
        input=copied(workload.input),
        checkpoints=tuple(changed(entry, state=copied(entry.state)) for entry in workload.checkpoints),
        result=result and changed(result, output=copied(result.output), provenance=dict(result.provenance)),
        # By its initialiser: `evolve` takes five times as long, and a history holds many of these.
        execution_history=tuple(
            [
                Event(e.sequence, e.from_state, e.to_state, e.actor, e.at, dict(e.evidence))
                for e in workload.execution_history
            ]
        ),
    )
