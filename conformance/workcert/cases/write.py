"""A case as text: canonical, one step a line, so that two equal cases differ in no byte."""

from __future__ import annotations

from typing import Any

from workcert.cases.matcher import MATCHER_FORMS
from workcert.cases.model import (
    FORMAT,
    Call,
    Case,
    Expectation,
    Frozen,
    Header,
    Inject,
    Ok,
    Repeat,
    Restart,
    Step,
    Together,
)
from workcert.codec import encode, render


def write(case: Case) -> str:
    """The text of a case file; ``parse(write(case)) == case``.

    Members of values stay in the order in which the case has them: the order is part of what it tries.

    Raises:
        CodecError: a value that JSON cannot hold.
    """
    lines = [_header(case.header), *(_step(step) for step in case.steps), {"end": len(case.steps)}]
    return "".join(f"{render(line)}\n" for line in lines)


def _header(header: Header) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "contract": header.contract,
        "name": header.name,
        "title": header.title,
        "requirements": list(header.requirements),
        "profiles": list(header.profiles),
        "abilities": list(header.abilities),
        "config": encode(header.config),
        "handles": list(header.handles),
        "digest": header.digest,
    }


def _step(step: Step) -> dict[str, Any]:
    match step:
        case Call():
            written = _call(step)
        case Restart():
            written = {"id": step.id, "restart": True}
        case Inject():
            written = {"id": step.id, "on": step.on, "inject": encode(step.record), "version": step.version}
        case Together():
            written = {"id": step.id, "together": [_step(call) for call in step.calls], "rounds": step.rounds}
            if step.expect_one_of is not None:
                written["expect_one_of"] = [[_expectation(e) for e in row] for row in step.expect_one_of]
        case Frozen():
            written = {
                "id": step.id,
                "frozen": _step(step.frozen),
                "during": [_step(call) for call in step.during],
            }
        case Repeat():
            written = {"id": step.id, "repeat": step.times, "steps": [_step(inner) for inner in step.steps]}
    return written if step.note is None else {**written, "note": step.note}


def _call(step: Call) -> dict[str, Any]:
    written: dict[str, Any] = {"id": step.id, "on": step.on}
    if step.at_s is not None:
        written["at_s"] = encode(step.at_s)
    written |= {"call": step.call, "args": encode(step.args)}
    if step.expect is not None:
        written["expect"] = _expectation(step.expect)
    if step.record is not None:
        written["record"] = encode(step.record, forms=MATCHER_FORMS)
    if step.of is not None:
        written["of"] = encode(step.of)
    if step.version is not None:
        written["version"] = step.version
    return written


def _expectation(expectation: Expectation) -> dict[str, Any]:
    if isinstance(expectation, Ok):
        return {"ok": encode(expectation.answer, forms=MATCHER_FORMS)}
    written = {"error": encode(expectation.code, forms=MATCHER_FORMS)}
    if expectation.details is not None:
        written["details"] = encode(expectation.details, forms=MATCHER_FORMS)
    return written
