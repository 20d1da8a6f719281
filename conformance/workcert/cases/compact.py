"""Large values of a case in few words: a text or bytes of one repeated letter, objects that differ in their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from workcert.cases.model import Call, Case, Frozen, Step, Transaction
from workcert.codec import Copies, RepeatBytes, RepeatText

ASCII: Final = 128
LONGEST_PLAIN: Final = 64
"""Characters, bytes or elements that are written out."""


def compacted(case: Case, omitted: Mapping[str, Mapping[str, Any]]) -> Case:
    """The case with every long value that is regular written as `RepeatText`, `RepeatBytes` or `Copies`.

    ``omitted``: by the name of an argument, members of it, or of its elements, that need not be written where they have
    these values.
    """
    return evolve(case, steps=tuple(_step(step, omitted) for step in case.steps))


def _step(step: Step, omitted: Mapping[str, Mapping[str, Any]]) -> Step:
    if isinstance(step, Call):
        return _call(step, omitted)
    if isinstance(step, Frozen):
        during = tuple(_call(each, omitted) if isinstance(each, Call) else each for each in step.during)
        return evolve(step, frozen=_call(step.frozen, omitted), during=during)
    if isinstance(step, Transaction):
        return evolve(step, calls=tuple(_call(inner, omitted) for inner in step.calls))
    return step


def _call(call: Call, omitted: Mapping[str, Mapping[str, Any]]) -> Call:
    args = {name: _without(value, omitted.get(name, {})) for name, value in call.args.items()}
    return evolve(call, args={name: _value(value) for name, value in args.items()})


def _without(value: Any, plain: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_without(item, plain) for item in value]
    if not isinstance(value, Mapping) or not plain:
        return value
    return {name: member for name, member in value.items() if name not in plain or plain[name] != member}


def _value(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_PLAIN and value == value[0] * len(value):
        return RepeatText(value[0], len(value))
    if isinstance(value, bytes) and len(value) > LONGEST_PLAIN and value[0] < ASCII and value == value[:1] * len(value):
        return RepeatBytes(value[:1].decode(), len(value))
    if isinstance(value, Mapping):
        return {name: _value(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return _copies(value) or [_value(item) for item in value]
    return value


def _copies(values: Sequence[Any]) -> Copies | None:
    """Objects whose ids are one text with a number behind it, and that are else equal."""
    if len(values) <= LONGEST_PLAIN or not all(isinstance(each, Mapping) and "id" in each for each in values):
        return None
    first = str(values[0]["id"])
    stem = first.rstrip("0123456789")
    if not stem or any(each != {**values[0], "id": f"{stem}{number}"} for number, each in enumerate(values)):
        return None
    return Copies({**_value({**values[0]}), "id": stem}, len(values), "id")
