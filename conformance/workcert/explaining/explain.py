"""Explaining a failure: each step is left out once more, then each value varied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import define, field, frozen

from workcert.backends.registry import BackendError
from workcert.cases.cost import Budget
from workcert.cases.model import Case
from workcert.explaining.dropping import same_failure, why_needed
from workcert.explaining.model import Explanation, Need, Spot
from workcert.explaining.varying import namesakes, reductions, renamings, spots, variations
from workcert.judge.verdict import END
from workcert.run.case import CaseRun
from workcert.shrink.edits import base, leaves

BUDGET: Final = 300
"""Executions for one failure. A case of two steps takes some twenty, one of five about eighty."""


class _Spent(Exception):  # noqa: N818 - the end of a search, not an error
    """No execution is left, or none can be made."""


@define
class _Tries:
    run: Callable[[Case], CaseRun]
    budget: Budget

    def __call__(self, case: Case) -> CaseRun:
        if not self.budget.allows():
            raise _Spent
        self.budget.charge(case)
        try:
            ran = self.run(case)
        except BackendError as error:
            # What a variation shows of the adapter is no part of this failure, and the store may be gone with it.
            raise _Spent from error
        if ran.hung:
            raise _Spent
        return ran


@frozen(eq=False)
class _Question:
    case: Case
    seen: CaseRun
    tries: _Tries

    def always(self, cases: Iterable[Case]) -> bool:
        """Every one of these cases fails in the very same way, and there is one."""
        verdicts = []
        for case in cases:
            verdicts.append(same_failure(self.seen, self.tries(case)))
            if not verdicts[-1]:
                return False
        return bool(verdicts)


def explain(
    run: Callable[[Case], CaseRun],
    case: Case,
    seen: CaseRun,
    ordinary: Mapping[str, Mapping[str, Any]],
    budget: int = BUDGET,
) -> Explanation:
    """Why a case fails: pure but for ``run``, and deterministic if that is.

    Args:
        run: runs a case on the store that fails.
        case: a shrunk case.
        seen: a run of it that failed.
        ordinary: by the name of a large argument, its ordinary members.
        budget: how many cases may be run; fewer of those that are heavy. Steps come first: there are fewer of them.
    """
    tries = _Tries(run, Budget(budget))
    question = _Question(case, seen, tries)
    needs: list[Need] = []
    values = _Values()
    names: list[Spot] = []
    finished = True
    try:
        _needs(question, needs)
        _vary(question, ordinary, values)
        _names(question, values.held, names)
    except _Spent:
        finished = False
    free, least = tuple(values.free), tuple(values.least)
    return Explanation(free, least, tuple(names), tuple(needs), tries.budget.made, finished)


def _needs(question: _Question, needs: list[Need]) -> None:
    last = question.seen.steps[-1]
    failing = "" if last.call == END else base(last.id)
    steps = [leaf.id for leaf in leaves(question.case.steps)]
    for step in steps if len(steps) > 1 else ():
        if step != failing:
            needs.append(why_needed(question.case, step, question.seen, question.tries))


@define
class _Values:
    """``held``: those that matter."""

    free: list[Spot] = field(factory=list)
    least: list[Spot] = field(factory=list)
    held: list[Spot] = field(factory=list)


def _vary(question: _Question, ordinary: Mapping[str, Mapping[str, Any]], values: _Values) -> None:
    """Each value by itself. The shrinker has looked for the smallest, so that smaller ones are asked for last."""
    for spot in spots(question.case, ordinary):
        if not question.always(variations(question.case, spot)):
            values.held.append(spot)
            continue
        less = tuple(reductions(question.case, spot))
        (values.free if not less or question.always(less) else values.least).append(spot)


def _names(question: _Question, held: Sequence[Spot], names: list[Spot]) -> None:
    """Each text that matters by itself, in all its places at once."""
    found: dict[str, bool] = {}
    for spot in held:
        alike = namesakes(question.case, spot)
        if not alike:
            continue
        text = alike[0].value
        if text not in found:
            found[text] = question.always(renamings(question.case, alike))
        if found[text]:
            names.append(spot)
