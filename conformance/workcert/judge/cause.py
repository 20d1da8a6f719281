"""What failures must share to be taken for one fault seen several times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.run.calling import Answered, Crashed, Refusal, Unavailable
from workspec.core.interpreter import Refused

_INDEX: Final = re.compile(r"\[[^\]]*\]")
"""Which element of a list or mapping it is says nothing of the cause."""


@frozen
class Cause:
    """``operation``: of the failing step. ``kind``: where it showed itself. ``rule``: the refusal that the model
    decides for, with its check; empty where the call succeeds. ``seen``: what the store did; where a refusal is not
    given it says nothing, for what comes instead is up to the other checks. ``members``: what differs.

    Two failures with equal causes are grouped, whatever requirements they are reported under: one fault is named
    differently by cases that were written for different requirements. Nothing else is: failures that one fault brings
    about in two operations stand apart, since two faults would look the same.
    """

    operation: str
    kind: str
    rule: str
    seen: str
    members: tuple[str, ...]


def cause_of(failure: Failure, steps: Sequence[StepRun]) -> Cause:
    """The cause of a failure at the last of these steps; of a flaky one that was not seen again, its requirement. A
    promise is of the connection, whichever operation commits on it."""
    kind = str(failure.kind)
    if failure.kind is Kind.PROMISE:
        return Cause("", kind, "", failure.text, ())
    members = tuple(sorted({_INDEX.sub("", difference.path) for difference in failure.differences}))
    if not steps:
        return Cause("", kind, failure.requirement, "", members)
    last = steps[-1]
    return Cause(last.call, kind, _rule(last), _seen(last), members or _about(failure))


def _rule(step: StepRun) -> str:
    if not isinstance(step.expected, Refused):
        return ""
    fired = step.traces[-1].fired[-1:] if step.traces else []
    return " ".join((str(step.expected.code), *fired))


def _seen(step: StepRun) -> str:
    refused = isinstance(step.expected, Refused)
    match step.observed:
        case Answered():
            return "" if refused else "answered"
        case Refusal(code):
            right = isinstance(step.expected, Refused) and code == step.expected.code
            return "other details" if right else "" if refused else f"refused with {code}"
        case Unavailable():
            return "unavailable"
        case Crashed(_, error):
            return f"raised {type(error).__name__}"
    return ""


def _about(failure: Failure) -> tuple[str, ...]:
    """Where no member differs and the kind says little (an invariant, what no order explains), the requirement has to
    tell one from another."""
    return () if failure.kind in _TOLD_BY_ANSWER else (failure.requirement,)


_TOLD_BY_ANSWER: Final = frozenset({"answer", "crash"})
