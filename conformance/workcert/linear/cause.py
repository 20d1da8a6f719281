"""Why a call fits no order: what the specification answers where the others fit best."""

from __future__ import annotations

from attrs import evolve

from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.judge.verdict import Failure, Kind
from workcert.linear.acts import Act, Way
from workspec.core.record import State


def cause_of(judge: Judge, act: Act | None, state: State, read: Read) -> Failure:
    """What is broken if this act comes next on this state; of none, if all was over then."""
    contract = judge.binding.contract
    own = contract.conflict_requirements
    before, judge.state = judge.state, state
    try:
        if act is None:
            text = "no order of the calls ends as what was read afterwards"
            failure = judge.everything(read, contract.comparisons["others"], Kind.RECORD, text)
            return failure or Failure(contract.comparisons["others"], Kind.RECORD, text)
        if act.way is Way.CONFLICT:
            text = f"refused with {contract.conflict_code}, and no other commit on this record fell inside the call"
            return Failure(own, Kind.ANSWER, text)
        if act.way is Way.ELEMENT:
            return Failure(judge.binding.contract.operation(act.name).requirements or own, Kind.ANSWER, _of_pass(act))
        assert act.made.seen is not None
        _committed, found = judge.answer_only(act.call, act.now, act.made.seen, read)
        return found or Failure(own, Kind.ANSWER, "it fits, but what follows does not")
    finally:
        judge.state = before


def as_order(failure: Failure, own: tuple[str, ...], text: str) -> Failure:
    """A failure of one call as that of all of them."""
    return evolve(failure, requirements=tuple(dict.fromkeys((*own, *failure.requirements))), kind=Kind.ORDER, text=text)


def _of_pass(act: Act) -> str:
    if act.taken:
        return f"it names {act.key}, which it had no ground to touch"
    return f"it leaves out {act.key}, which was due, and no other commit on it fell inside the call"
