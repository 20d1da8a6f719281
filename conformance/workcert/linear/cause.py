"""Why a call fits no order: what the specification answers where the others fit best."""

from __future__ import annotations

from workcert.judge.verdict import Failure, Kind
from workcert.linear.acts import Act, Way
from workcert.linear.applying import Applying
from workspec.core.record import State


def cause_of(applying: Applying, act: Act | None, state: State) -> Failure:
    """What is broken if this act comes next on this state; of none, if all was over then."""
    judge, read, contract = applying.judge, applying.read, applying.contract
    own = contract.conflict_requirements
    before, judge.state = judge.state, state
    try:
        if act is None:
            text = "every call fits, and no order ends as what was read afterwards"
            failure = judge.everything(read, contract.comparisons["others"], Kind.RECORD, text)
            return failure or applying.rest() or Failure(contract.comparisons["others"], Kind.RECORD, text)
        if act.way is Way.CONFLICT:
            text = f"refused with {contract.conflict_code}, and no other commit on this record fell inside the call"
            return Failure(own, Kind.ANSWER, text)
        if act.way is Way.ELEMENT:
            return Failure(judge.binding.contract.operation(act.name).requirements or own, Kind.ANSWER, _of_pass(act))
        assert act.made.seen is not None
        found = judge.wrong_answer(act.call, act.now, act.made.seen, read, applying.chooser(act))
        return found or Failure(own, Kind.ANSWER, "it fits, but what follows does not")
    finally:
        judge.state = before


def _of_pass(act: Act) -> str:
    if act.taken:
        return f"it names {act.key}, which it had no ground to touch"
    return f"it leaves out {act.key}, which was due, and no other commit on it fell inside the call"
