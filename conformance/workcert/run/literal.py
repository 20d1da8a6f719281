"""Written expectations: what a case says literally, held against what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workcert.cases.matcher import match
from workcert.cases.model import UNCHANGED, Call, addressed
from workcert.cases.model import Ok as ExpectOk
from workcert.codec import to_json
from workcert.judge.ledger import Read
from workcert.references import resolve
from workcert.run.calling import Answered, Observed, Refusal
from workcert.run.reading import is_whole
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall


def expectation_differences(expectation: Any, observed: Observed, answers: Mapping[str, Any]) -> list[Any]:
    """What a written expectation and an observation differ in."""
    if isinstance(expectation, ExpectOk):
        if not isinstance(observed, Answered):
            return [f"expected success, seen {brief(observed)}"]
        return list(match(resolve(expectation.answer, answers), to_json(observed.value), "answer"))
    if not isinstance(observed, Refusal):
        return [f"expected a refusal with {expectation.code}, seen success"]
    found = list(match(expectation.code, observed.code, "code"))
    if expectation.details is not None:
        found.extend(match(resolve(expectation.details, answers), to_json(observed.details), "details"))
    return found


def answer_differences(step: Call, observed: Observed, answers: Mapping[str, Any]) -> list[Any]:
    """What the written expectation of a call and its answer differ in, where all of the answer is shown."""
    if step.expect is None or (isinstance(observed, Answered) and not is_whole(observed.value)):
        return []
    return expectation_differences(step.expect, observed, answers)


def record_differences(
    step: Call,
    call: ModelCall,
    observed: Observed,
    answers: Mapping[str, Any],
    before: State,
    after: State,
    read: Read,
) -> list[Any]:
    """What is written of the record after a call, and the record, differ in."""
    if step.record is None and step.version is None:
        return []
    plain = to_json(observed.value) if isinstance(observed, Answered) else None
    of = None if step.of is None else resolve(step.of, answers)
    arguments = {name: value for name, value in call.arguments.items() if isinstance(value, str)}
    key = of if of is not None else addressed(step, arguments, plain)
    if key is None:
        return ["the step names no record"]
    now, then = after.get(key), before.get(key)
    if step.record == UNCHANGED or step.version == "same":
        return [] if now is then else [f"the record of {key} moved; it must stay as it is"]
    if step.version == "moved" and now is then:
        return [f"the record of {key} stayed as it is; it must move"]
    if step.record is None:
        return []
    row = read(key)
    if row is not None and not is_whole(row.record):
        return []
    matcher = resolve(step.record, answers)
    return list(match(matcher, None if row is None else to_json(row.record), "record"))


def brief(observed: Observed) -> Any:
    match observed:
        case Answered(value):
            return value
        case Refusal(code, _, _):
            return code
    return getattr(observed, "text", "")
