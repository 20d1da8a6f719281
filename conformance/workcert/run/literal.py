"""Written expectations: what a case says literally, held against what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workcert.cases.matcher import match
from workcert.cases.model import UNCHANGED, Call
from workcert.cases.model import Ok as ExpectOk
from workcert.codec import to_json
from workcert.judge.hidden import is_whole
from workcert.judge.verdict import Failure, Kind
from workcert.references import ReferenceFault, resolve
from workcert.run.calling import Answered, Observed, Refusal
from workspec.core.record import State

if TYPE_CHECKING:
    from workcert.run.execution import Execution


def expectation_differences(expectation: Any, observed: Observed, answers: Mapping[str, Any]) -> list[Any]:
    """What a written expectation and an observation differ in. Of an answer that is not shown whole only that it is
    an answer: what it does show, the judge compares."""
    if isinstance(expectation, ExpectOk):
        if not isinstance(observed, Answered):
            return [f"expected success, seen {brief(observed)}"]
        if not is_whole(observed.value):
            return []
        return _mismatches(expectation.answer, answers, to_json(observed.value), "answer")
    if not isinstance(observed, Refusal):
        return [f"expected a refusal with {expectation.code}, seen success"]
    found = list(match(expectation.code, observed.code, "code"))
    if expectation.details is not None and is_whole(observed.details):
        found.extend(_mismatches(expectation.details, answers, to_json(observed.details), "details"))
    return found


def _mismatches(matcher: Any, answers: Mapping[str, Any], seen: Any, path: str) -> list[Any]:
    try:
        return list(match(resolve(matcher, answers), seen, path))
    except ReferenceFault:
        # It is written by what an earlier answer does not show.
        return []


def answer_differences(step: Call, observed: Observed, answers: Mapping[str, Any]) -> list[Any]:
    """What the written expectation of a call and its answer differ in."""
    return [] if step.expect is None else expectation_differences(step.expect, observed, answers)


def literal_failure(
    execution: Execution, step: Call, key: str | None, observed: Observed, before: State
) -> Failure | None:
    """What a case says of a call that the model agrees with; ``key`` is that of the record which the call is about."""
    if not execution.literal or (step.expect is None and step.record is None and step.version is None):
        return None
    found = answer_differences(step, observed, execution.answers)
    if step.record is not None or step.version is not None:
        found += _record_differences(execution, step, key, before)
    if not found:
        return None
    text = "; ".join(str(difference) for difference in found[:3])
    ids = execution.ids_of_case or execution.binding.contract.comparisons["refusal"]
    return Failure(ids, Kind.EXPECTATION, text)


def _record_differences(execution: Execution, step: Call, key: str | None, before: State) -> list[Any]:
    if step.of is not None:
        try:
            key = execution.binding.key_of_id(str(resolve(step.of, execution.answers)))
        except ReferenceFault:
            return []
    if key is None:
        return ["the step names no record"]
    now, then = execution.judge.state.get(key), before.get(key)
    if step.record == UNCHANGED or step.version == "same":
        return [] if now is then else [f"the record of {key} moved; it must stay as it is"]
    if step.version == "moved" and now is then:
        return [f"the record of {key} stayed as it is; it must move"]
    if step.record is None or not execution.judge.legible(key):
        return []
    row = execution.read(key)
    if row is not None and not is_whole(row.record):
        return []
    return _mismatches(step.record, execution.answers, None if row is None else to_json(row.record), "record")


def brief(observed: Observed) -> Any:
    match observed:
        case Answered(value):
            return value
        case Refusal(code, _, _):
            return code
    return getattr(observed, "text", "")
