"""The chooser of a play: declared choices as the reference takes them, a mark for each free one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import attrs
from attrs import define, field

from workcert.vectors.marks import MORE, Json, Likely, Mark, Marks, Translate, in_order
from workspec.core.choice import Choice, ChoiceKind
from workspec.core.scope import Scope
from workspec.jobs import choices as jobs
from workspec.workload import choices as workload


@define(eq=False)
class OpenChooser:
    """``declared``: choice id to the value of a declared choice that is not the reference's. ``asked`` gathers the
    declared choices that rules have asked for."""

    marks: Marks
    declared: Mapping[str, Any] = field(factory=dict)
    asked: dict[str, Choice] = field(factory=dict)

    def __call__(self, choice: Choice, scope: Scope) -> Any:
        """The value that this choice takes in this decision.

        Raises:
            KeyError: a free choice that nobody has said how to leave open.
        """
        default = choice.default_in(scope)
        if choice.kind is ChoiceKind.DECLARED:
            self.asked[choice.id] = choice
            return self.declared.get(choice.id, default)
        return OPEN[choice.id](self.marks, choice, scope, default)


_Open = Callable[[Marks, Choice, Scope, Any], Any]


def _fixed(rule: Json) -> Callable[[Translate], Json]:
    return lambda _translate: rule


def _one_of(marks: Marks, choice: Choice, _scope: Scope, _default: Any) -> Any:
    """One of a few values, anew at every sight."""
    rule: Json = {"$one_of": [str(option) for option in choice.options]}
    return marks.text(Mark("code", _fixed(rule), kept=False))


def _unasserted(marks: Marks, _choice: Choice, _scope: Scope, _default: Any) -> Any:
    return marks.text(Mark("open", None, kept=False))


def _text(kind: str, rule: Json, marks: Marks, _choice: Choice, _scope: Scope, _default: Any) -> Any:
    return marks.text(Mark(kind, _fixed(rule)))


def _new_id(kind: str, marks: Marks, _choice: Choice, scope: Scope, _default: Any) -> Any:
    """A text that this workload has not used for the same thing."""
    used = [value for what, value in scope.facts.used_ids if what == kind]
    return marks.text(
        Mark(kind, lambda translate: {"$none_of": ["", None, *sorted(map(translate, used), key=in_order)]})
    )


def _token(marks: Marks, _choice: Choice, scope: Scope, _default: Any) -> Any:
    last = scope.facts.last_token
    return marks.number(Mark("token", lambda translate: {"$greater": translate(last)}))


def _due(_marks: Marks, _choice: Choice, _scope: Scope, default: Any) -> Any:
    """As it was, or absent; where it was absent already there is nothing to choose."""
    if default is None:
        return None
    return Likely.made(default, Mark("due", lambda translate: {"$one_of": [translate(int(default)), None]}))


def _expiry(marks: Marks, _choice: Choice, scope: Scope, _default: Any) -> Any:
    passed = scope.settled["passed deadline"]
    rule = {"$all": [{"$starts_with": "timeout: "}, {"$contains": str(passed)}]}
    return marks.text(Mark("expiry", _fixed(rule)))


def _kinds(marks: Marks, choice: Choice, scope: Scope, default: Any) -> Any:
    """A sample: any of the kinds that there are, no more than asked for."""
    # The same question without a limit that binds.
    every = choice.default_in(attrs.evolve(scope, call={**scope.call, "limit": len(scope.state)}))
    rule = {"$sample": {"of": every, "at_most": len(default)}}
    return [marks.text(Mark("sample", _fixed(rule), kept=False))]


def _swept(marks: Marks, _choice: Choice, scope: Scope, default: Any) -> Any:
    return tuple(reversed(scope.settled["candidates"])) if marks.falling else default


def _drawn(_marks: Marks, _choice: Choice, scope: Scope, _default: Any) -> Any:
    return tuple(sorted((key.removeprefix("job/") for key in scope.state if key.startswith("job/")), reverse=True))


_not_empty: Json = {"$none_of": ["", None]}
_ended = [str(status) for status in sorted(workload.ENDED)]
_not_ended: Json = {"$none_of": _ended}
_not_another_end: Json = {"$none_of": [status for status in _ended if status != "CANCELLED"]}

OPEN: Final[Mapping[str, _Open]] = {
    workload.WORKLOAD_ID.id: partial(_text, "workload", _not_empty),
    workload.CREATION_ACTOR.id: _unasserted,
    workload.FOLLOW_UP_ACTOR.id: _unasserted,
    workload.EVENT_ACTOR.id: _unasserted,
    workload.OPEN_EVIDENCE.id: lambda *_asked: {MORE: MORE},
    workload.INPUT_HASH.id: partial(_text, "input hash", _not_empty),
    workload.OUTPUT_HASH.id: partial(_text, "output hash", _not_empty),
    workload.FENCE_CODE.id: _one_of,
    workload.FENCE_CODE_OTHER_TOKEN.id: _one_of,
    workload.CLAIM_STATUS.id: partial(_text, "status", _not_ended),
    workload.RUNNING_STATUS.id: partial(_text, "status", _not_ended),
    workload.CANCELLED_STATUS.id: partial(_text, "status", _not_another_end),
    workload.NEXT_ATTEMPT_AT.id: _due,
    workload.FENCING_TOKEN.id: _token,
    workload.ATTEMPT_ID.id: partial(_new_id, "attempt"),
    workload.CLAIM_ID.id: partial(_new_id, "claim"),
    workload.EXPIRY_TEXT.id: _expiry,
    workload.LOSS_TEXT.id: partial(_text, "loss", {"$starts_with": "worker_lost: "}),
    jobs.JITTER_MS.id: lambda *_asked: 7,
    jobs.SWEPT.id: _swept,
    jobs.DRAWN.id: _drawn,
    jobs.SAMPLED_KINDS.id: _kinds,
}
"""How each free choice of the two contracts is left open."""


def alternatives(choice: Choice, options: frozenset[str]) -> tuple[Any, ...]:
    """The other values of a declared choice; ``options``: the choices that a store is configured with, for which any
    other number stands."""
    if choice.id in options:
        return (choice.default + 1,)
    return tuple(option for option in choice.options if option != choice.default)
