"""Values and outcomes as short text for reports: JSON where it must be exact, a few words where it must be brief."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
from attrs import frozen

from workcert.codec import CodecError, encode, render, to_json
from workcert.judge.differences import Difference, differences
from workcert.references import Copies, JsonBytes, Ref, RepeatBytes, RepeatText, Text
from workcert.report.model import ShownDifference
from workcert.report.opaque import Names
from workcert.run.calling import Answered, Crashed, Observed, Refusal, Unavailable
from workspec.core.choice import UNSEEN
from workspec.core.interpreter import Accepted, Outcome, Refused

LONGEST: Final = 300
"""Characters of one value in a report; the case file has it whole."""
BRIEF: Final = 100
MARK: Final = "*"
"""Behind a value that does not matter."""
LEAST_MARK: Final = "+"
"""Behind a number that may be larger, or an instant that may be later."""
NAME_MARK: Final = "**"
"""Behind a text that matters only in being the same as elsewhere."""
ABSENT: Final = "(absent)"
MARKS: Final = (ABSENT, "(no record)")
AS_EXPECTED: Final = "as expected"
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
"""Where an object lives in memory differs from run to run."""
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What would steer a terminal, break a line or be no text at all: a store may put anything into its errors."""


def shown(value: Any, names: Names, member: str = "", longest: int = LONGEST) -> str:
    """A value as compact JSON text, opaque ids renamed, cut where it is too long."""
    if value is UNSEEN:
        return "(not shown)"
    if isinstance(value, str) and value in MARKS:
        return value
    try:
        text = render(encode(names.renamed(to_json(value), member)))
    except CodecError:
        # A store may answer with anything; what JSON cannot hold is named by its type and shown as it prints itself.
        text = f"({type(value).__name__}) {sentence(repr(value), names)}"
    return cut(printable(text), longest)


def sentence(text: str, names: Names) -> str:
    """A text of the judge or of a store, with opaque ids and addresses replaced and nothing in it that is unsafe."""
    return printable(_ADDRESS.sub("0x…", names.text(text)))


def printable(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 20]}… ({len(text)} characters)"


def shown_difference(difference: Difference, names: Names) -> ShownDifference:
    # A path may end in a key of a mapping, which may hold dots; its last part is the member all the same.
    member = re.split(r"[.\[]", re.sub(r"\[\d+\]$", "", difference.path))[-1]
    return ShownDifference(
        sentence(difference.path, names) or "the answer",
        shown(difference.expected, names, member),
        shown(difference.seen, names, member),
    )


def changes(changed: tuple[Difference, ...], names: Names, most: int = 4) -> str:
    """What moved in the records: ``state: "READY" → "CLAIMED"``."""
    parts = []
    for difference in changed[:most]:
        moved = shown_difference(difference, names)
        parts.append(f"{moved.path}{_movement(moved)}")
    if len(changed) > most:
        parts.append(f"and {len(changed) - most} more")
    return "; ".join(parts)


def _movement(moved: ShownDifference) -> str:
    """How a member moved. What an object holds says little beside its members, and much of it."""
    if moved.expected == ABSENT:
        return " added"
    if moved.expected == "null" and moved.seen.startswith("{"):
        return " set"
    if moved.seen == "null" and moved.expected.startswith("{"):
        return " cleared"
    return f": {cut(moved.expected, BRIEF)} → {cut(moved.seen, BRIEF)}"


# Outcomes --------------------------------------------------------------------------------------------------------


def expected_text(outcome: Outcome | None, names: Names) -> str:
    match outcome:
        case Accepted(value):
            return brief(value, names)
        case Refused(code, details):
            return _refused(code, details, names)
    return ""


def seen_text(observed: Observed | None, outcome: Outcome | None, names: Names) -> str:
    """What the store did; *as expected* where it is."""
    match observed:
        case Answered(value):
            same = isinstance(outcome, Accepted) and not differences(outcome.value, value)
            return AS_EXPECTED if same else brief(value, names)
        case Refusal(code, details, _):
            same = isinstance(outcome, Refused) and code == outcome.code and details == outcome.details
            return AS_EXPECTED if same else _refused(code, details, names)
        case Unavailable(_, text):
            return f"unavailable: {sentence(text, names)}"
        case Crashed(text, _):
            return f"raised {sentence(text, names)}"
    return ""


def _refused(code: str, details: Mapping[str, Any] | None, names: Names) -> str:
    # An enumeration prints itself as its value here, a plain text as itself.
    return str(code) if details is None else f"{code!s} {shown(details, names, longest=BRIEF)}"


def _claimed(unit: Any, names: Names) -> str:
    """What was admitted: of each claim what tells it from others, and what it counts."""
    members = ("fence", "attempt", "crash_attempt")
    parts = []
    for claim in unit.claims if isinstance(unit.claims, list | tuple) else ():
        if not hasattr(getattr(claim, "envelope", None), "id"):
            return f"({type(claim).__name__}, which is no claim)"
        given = {name: getattr(claim, name, getattr(claim.envelope, name, 0)) for name in members}
        counted = " ".join(f"{name}={value}" for name, value in given.items() if value or name == "fence")
        parts.append(f"{shown(claim.envelope.id, names, 'job_id')} {counted}")
    return " + ".join(parts) or "(no claim)"


def brief(value: Any, names: Names) -> str:
    """An answer in a few words: a record by its state, a carrier by its members."""
    if value is None:
        return "ok"
    if isinstance(value, list | tuple) and value and all(hasattr(unit, "claims") for unit in value):
        return cut(", ".join(_claimed(unit, names) for unit in value), 2 * BRIEF)
    if not attrs.has(type(value)):
        return shown(value, names, longest=BRIEF)
    if hasattr(value, "state"):
        return str(value.state) if value.state is not UNSEEN else shown(UNSEEN, names)
    parts = []
    for member in attrs.fields(type(value)):
        inner = getattr(value, member.name)
        if inner is not None:
            text = brief(inner, names) if attrs.has(type(inner)) else shown(inner, names, member.name, BRIEF)
            parts.append(f"{member.name}={text}")
    return cut(" ".join(parts), 2 * BRIEF)


# What a case has written -----------------------------------------------------------------------------------------


@frozen
class Marked:
    """A value of a case in its place, with what is written behind it."""

    value: Any
    mark: str = MARK


def bare(value: Any) -> Any:
    """A value of a case without marks."""
    match value:
        case Marked(inner):
            return inner
        case JsonBytes(inner):
            return JsonBytes(bare(inner))
        case Mapping():
            return {name: bare(member) for name, member in value.items()}
        case list():
            return [bare(member) for member in value]
    return value


def written(value: Any) -> str:
    """A value of a case as its author wrote it: references by their path, long texts by their length."""
    match value:
        case Marked(inner, mark):
            return f"{written(inner)}{mark}"
        case Ref(path, plus, append):
            added = "" if plus is None else f" {'+' if plus >= 0 else '-'} {abs(plus)}"
            return f"{path}{added}" + ("" if append is None else f" + {render(append)}")
        case RepeatText(text, times):
            return f"{render(text)} × {times}"
        case RepeatBytes(text, times):
            return f"bytes of {render(text)} × {times}"
        case Copies(of, times, member):
            return f"{times} × {written(of)}, each with a {member} of its own"
        case Text(parts):
            return " + ".join(written(part) for part in parts)
        case JsonBytes(inner):
            return f"JSON bytes of {written(inner)}"
        case bytes():
            return f"{len(value)} bytes"
        case Mapping():
            return "{" + ", ".join(f"{name}: {written(member)}" for name, member in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(written(member) for member in value) + "]"
    try:
        return cut(render(encode(value)), BRIEF)
    except CodecError:
        return cut(repr(value), BRIEF)
