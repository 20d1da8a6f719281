"""Each step left out once more, and what that says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workcert.cases.model import Call, Case, Crash, every_step
from workcert.explaining.model import NOT_NEEDED, Need
from workcert.judge.verdict import StepRun
from workcert.run.case import CaseRun
from workcert.run.events import Verdict
from workcert.shrink.edits import Leaf, base, changed, find, leaves, needed, tidied, without_judgement_on
from workspec.core.interpreter import Refused


def why_needed(case: Case, step: str, seen: CaseRun, run: Callable[[Case], CaseRun]) -> Need:
    """Why a step of a failing case is needed.

    Args:
        seen: the run of the whole case.
        run: runs a case; asked at most once.
    """
    killed = {inner.id: each.id for each in case.steps if isinstance(each, Crash) for inner in every_step((each,))}
    using = (leaf.id for leaf in leaves(case.steps) if any(base(ref.step) == step for ref in needed(leaf)))
    # A call in a process that is killed is shown by the name of the kill.
    users = list(dict.fromkeys(killed.get(each, each) for each in using))
    if users:
        return Need(step, f"{_listed(users)} {'uses' if len(users) == 1 else 'use'} its answer")
    return Need(step, _said(case, seen, run(without(case, step))))


def without(case: Case, step: str) -> Case:
    """The case without one step, and without what was said of it."""

    def kept(leaf: Leaf) -> Leaf | None:
        return None if leaf.id == step else without_judgement_on(leaf, {step})

    return tidied(changed(case, kept))


def same_failure(first: CaseRun, other: CaseRun) -> bool:
    """The very same: at the same step, of the same requirement, seen in the same way."""
    if first.failure is None or other.failure is None:
        return False
    where = [(run.steps[-1].id, run.steps[-1].call) for run in (first, other)]
    what = [(run.failure.requirement, run.failure.kind) for run in (first, other) if run.failure]
    return where[0] == where[1] and what[0] == what[1]


def _said(case: Case, seen: CaseRun, left: CaseRun) -> str:
    failing = seen.steps[-1]
    if same_failure(seen, left):
        return NOT_NEEDED
    if left.failure is not None:
        last = left.steps[-1].id
        if seen.failure is not None and left.failure.requirement != seen.failure.requirement:
            return f"without it {last} breaks {left.failure.requirement} instead"
        return f"without it {last} fails in another way"
    if left.verdict is not Verdict.PASSED:
        return "without it the case shows nothing"
    now = next((step for step in left.steps if (step.id, step.call) == (failing.id, failing.call)), None)
    if now is None or not isinstance(find(case, base(failing.id)), Call):
        return "without it nothing fails"
    if not now.applicable:
        return f"without it {failing.id} cannot be made"
    if _expected(now) != _expected(failing):
        return f"without it {failing.id} must be answered otherwise, and is"
    return f"without it {failing.id} passes"


def _expected(step: StepRun) -> str:
    """What kind of answer is right: ids and counts in it differ as soon as a step is gone."""
    outcome = step.expected
    return str(outcome.code) if isinstance(outcome, Refused) else type(outcome).__name__


def _listed(ids: Sequence[str]) -> str:
    if len(ids) == 1:
        return ids[0]
    return f"{ids[0]} and {ids[1]}" if len(ids) == 2 else f"{ids[0]}, {ids[1]} and {len(ids) - 2} more"
