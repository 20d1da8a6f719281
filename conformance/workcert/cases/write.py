"""A case as text: canonical, one step a line, so that two equal cases differ in no byte."""

from __future__ import annotations

from typing import Any

from workcert.cases.contracts import contracts
from workcert.cases.matcher import MATCHER_FORMS
from workcert.cases.model import (
    FORMAT,
    OPENING,
    Call,
    Case,
    Crash,
    Damage,
    Expectation,
    Frozen,
    Header,
    Inject,
    Misuse,
    Ok,
    Reopen,
    Repeat,
    Restart,
    Step,
    Together,
    Transaction,
)
from workcert.codec import encode, render


def write(case: Case) -> str:
    """The text of a case file; ``parse(write(case)) == case``.

    Members of values stay in the order in which the case has them: the order is part of what it tries.

    Raises:
        CodecError: a value that JSON cannot hold.
    """
    known = contracts().get(case.header.contract)
    time = "at_s" if known is None else known.time
    lines = [_header(case.header), *(_step(step, time) for step in case.steps), {"end": len(case.steps)}]
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


def _step(step: Step, time: str) -> dict[str, Any]:
    match step:
        case Call():
            written = _call(step, time)
        case Restart():
            written = {"id": step.id, "restart": True}
        case Reopen():
            written = {"id": step.id, "on": step.on, "reopen": True}
        case Inject():
            written = {"id": step.id, "on": step.on, "inject": encode(step.record), "version": step.version}
        case Together():
            written = {"id": step.id, "together": [_step(call, time) for call in step.calls], "rounds": step.rounds}
            if step.apart:
                written["apart"] = True
            if step.shared:
                written["shared"] = True
            if step.expect_one_of is not None:
                written["expect_one_of"] = [[_expectation(e) for e in row] for row in step.expect_one_of]
        case Frozen():
            written = {
                "id": step.id,
                "frozen": _step(step.frozen, time),
                "during": [_step(each, time) for each in step.during],
            }
            if step.point is not None:
                written["point"] = step.point
        case Transaction():
            written = {"id": step.id, "on": step.on, time: encode(step.at)}
            written["tx"] = [_inside(call, time) for call in step.calls]
            written["end"] = step.end
            if step.after:
                written["after"] = [_inside(call, time) for call in step.after]
        case Crash():
            written = {"id": step.id, "crash": OPENING if step.step is None else _step(step.step, time)}
            written["point"] = step.point
            if step.disk is not None:
                written["disk"] = step.disk
        case Damage():
            written = {"id": step.id, "damage": step.file, "how": step.how, "at": step.at, "length": step.length}
        case Misuse():
            written = {"id": step.id, "misuse": _step(step.step, time), "way": step.way.value}
        case Repeat():
            written = {"id": step.id, "repeat": step.times, "steps": [_step(inner, time) for inner in step.steps]}
    return written if step.note is None else {**written, "note": step.note}


def _inside(call: Call, time: str) -> dict[str, Any]:
    """A call of a transaction, which has one handle for all."""
    return {name: value for name, value in _step(call, time).items() if name not in ("on", time)}


def _call(step: Call, time: str) -> dict[str, Any]:
    written: dict[str, Any] = {"id": step.id, "on": step.on}
    if step.at is not None or time == contracts()["jobs"].time:
        # Where the store has a clock, a call without an instant is made while that runs.
        written[time] = encode(step.at)
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
