"""The best case so far, the judge, and what it may still cost."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from workcert.cases.cost import Budget
from workcert.cases.model import Case
from workcert.shrink.edits import cut_after, tidied

StillFails = Callable[[Case], str | None]


class Exhausted(Exception):  # noqa: N818 - the end of a search, not an error
    """No execution is left."""


@define
class Attempt:
    """``case`` is the smallest case seen to fail, ``failing`` the id of its failing step (no iteration)."""

    case: Case
    still_fails: StillFails
    budget: Budget
    failing: str = ""
    accepted: int = 0
    _seen: set[str] = field(factory=set)

    @property
    def executions(self) -> int:
        return self.budget.made

    def confirm(self) -> bool:
        """Run the case as it was given, and cut it after the failing step."""
        step = self._run(self.case)
        if step is None:
            return False
        self._accept(self.case, step)
        return True

    def take(self, candidate: Case | None) -> bool:
        """Run a candidate unless it was run before; keep it if it fails.

        Raises:
            Exhausted: the budget is spent.
        """
        if candidate is None:
            return False
        candidate = tidied(candidate)
        step = self._run(candidate)
        if step is None:
            return False
        self._accept(candidate, step)
        return True

    def lowest(self, least: int, present: int, candidate: Callable[[Case, int], Case | None]) -> int:
        """The least number between ``least`` and ``present`` whose candidate fails, by bisection.

        ``present`` is known to fail. Where failing is not monotone this is some number that fails.
        Candidates are made of the case as it is by then: taking one may have cut it.
        """
        for easy in (least, least + 1):
            if easy < present and self.take(candidate(self.case, easy)):
                return easy
        passing, failing = least + 1, present
        while failing - passing > 1:
            middle = (passing + failing) // 2
            if self.take(candidate(self.case, middle)):
                failing = middle
            else:
                passing = middle
        return failing

    def _run(self, case: Case) -> str | None:
        # Python holds 1, 1.0 and True equal and cannot hash a dict; the printed form tells all cases apart.
        key = repr((case.steps, case.header.handles, case.header.config))
        if key in self._seen:
            return None
        if not self.budget.allows():
            raise Exhausted
        self._seen.add(key)
        self.budget.charge(case)
        return self.still_fails(case)

    def _accept(self, case: Case, step: str) -> None:
        self.case, self.failing = case, step.partition("#")[0]
        self.accepted += 1
        # What stands after the failing step cannot matter, but only a case that was run is ever kept.
        self.take(cut_after(case, step))
