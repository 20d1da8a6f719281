"""The part ``handles`` of the adversity suite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define, field

from workcert.adversity.handles.crowds import crowds
from workcert.adversity.handles.skew import run_skews
from workcert.adversity.handles.targets import TRANSACTION, Target, misused, shared, targets
from workcert.adversity.part import SUITE, Part
from workcert.adversity.steps import requirements_of
from workcert.cases.model import HOLDING, Case, Misuse, Way
from workcert.children import WAITED, cannot
from workcert.run.case import CaseRun, lacking, run_case
from workcert.run.engine import MOST_HUNG, Effort, Options, Shrinking, emit_case, wanted_ids
from workcert.run.events import CaseEnded, Emit, ExamplesRun, Tallied, Verdict
from workcert.run.misuse import REFUSED, RIGHT
from workcert.run.store import StoreUnderTest

NAME: Final = "handles"
ROUNDS: Final = {Effort.QUICK: 2, Effort.CI: 3, Effort.DEEP: 20}
"""Of calls at once on one handle."""
STRIDE: Final = {Effort.QUICK: 5, Effort.CI: 1, Effort.DEEP: 1}
"""Of how many operations one is tried."""
TRIED: Final = "tried"
SHARED: Final = "at once on one handle"
WORDS: Final = {
    Way.OTHER_THREAD: "by another thread",
    Way.FORKED: "in a process forked from its owner",
    Way.CLOSED: "after close",
    Way.CLOSED_TWICE: "closed twice",
    Way.CLOSED_MEANWHILE: "closed while in a call",
    Way.RESTARTED_MEANWHILE: "held while all others restart",
    Way.LEFT_OPEN: "transaction left open at the end of a process",
}


def run_handles(store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """Every operation on a handle that is misused in each way, by two threads at once, and under clocks that differ.

    Raises:
        BackendError: the backend cannot be used, or lies about an ability.
    """
    tried = _Tried(store, options, emit)
    for way in Way:
        tried.way(way)
    tried.at_once()
    run_skews(store, options, emit)


@define(eq=False)
class _Tried:
    store: StoreUnderTest
    options: Options
    emit: Emit
    shrinking: Shrinking = field(factory=Shrinking)
    _targets: tuple[Target, ...] = field(init=False)
    _done: int = 0
    _steps: int = 0
    _hung: int = 0

    def __attrs_post_init__(self) -> None:
        found = targets(self.store.backend)[:: STRIDE[self.options.effort]]
        ids, binding = wanted_ids(self.options.only, self.store.backend), self.store.backend.binding
        self._targets = tuple(target for target in found if not ids or ids & requirements_of(binding, target.operation))

    def way(self, way: Way) -> None:
        """Every operation in this way, and each outcome counted."""
        wanted = [target for target in self._targets if (target.operation == TRANSACTION) == (way is Way.LEFT_OPEN)]
        cases = [misused(target, way) for target in wanted]
        why = self._cannot(way, cases)
        if not cases and (self.options.only or not self._has(way)):
            return
        if why:
            name = f"{NAME}, {WORDS[way]}"
            self.emit(CaseEnded(SUITE, name, Verdict.SKIPPED, reason=why))
            return
        vain = 0
        for case in cases:
            if vain == MOST_HUNG:
                self.emit(CaseEnded(SUITE, case.header.name, Verdict.SKIPPED, case, reason=WAITED))
                continue
            run = self._run(case)
            vain += _waited(run)
            for step in run.steps if run.verdict is Verdict.PASSED else ():
                if step.note.startswith(f"{way.value}: ") and step.applicable:
                    self.emit(Tallied(NAME, WORDS[way], _outcome(way, step.note)))

    def at_once(self) -> None:
        """Every operation by two threads at once, and crowds of different ones."""
        rounds = ROUNDS[self.options.effort]
        pairs = (shared(target, rounds) for target in self._targets)
        own = () if self.options.only else crowds(self.store.backend, rounds)
        for case in (*(case for case in pairs if case is not None), *own):
            run = self._run(case)
            if run.verdict is Verdict.PASSED:
                self.emit(Tallied(NAME, SHARED, TRIED))

    def _has(self, way: Way) -> bool:
        """The contract has calls that could be misused so: only some have transactions."""
        calls = self.store.backend.binding.calls.calls.values()
        return way is not Way.LEFT_OPEN or any(call.inside for call in calls)

    def _cannot(self, way: Way, cases: list[Case]) -> str:
        if not cases:
            return "no call that was found can be misused in this way"
        reasons = [lacking(case, self.store.backend) for case in cases]
        if all(reasons):
            return reasons[0]
        return cannot(self.store.backend) if way in (Way.FORKED, Way.LEFT_OPEN) else ""

    def _run(self, case: Case) -> CaseRun:
        if self._hung >= MOST_HUNG:
            return CaseRun(Verdict.SKIPPED, reason="earlier cases of this part waited in vain")
        run = run_case(self.store, case)
        self._done, self._steps = self._done + 1, self._steps + len(run.steps)
        self._hung += run.hung
        self.emit(ExamplesRun(NAME, self._done, self._steps))
        emit_case(self.store, SUITE, case, _unless_made(case, run), self.emit, self.shrinking)
        return run


def _waited(run: CaseRun) -> bool:
    """For a thread that a forked process has not: what one call does about it, nearly all do."""
    return run.reason.startswith(WAITED) or any(step.note == WAITED for step in run.steps)


def _outcome(way: Way, note: str) -> str:
    """Where a call is held, which of the two it is may hang on who is quicker, and both are right."""
    if way in HOLDING:
        return TRIED
    return REFUSED if note.startswith(f"{way.value}: {REFUSED}") else RIGHT


def _unless_made(case: Case, run: CaseRun) -> CaseRun:
    """A case whose misuse could not be made has shown nothing."""
    ids = set(_misuses(case))
    left = next((step for step in run.steps if step.id in ids and not step.applicable), None)
    if run.verdict is not Verdict.PASSED or left is None:
        return run
    return CaseRun(Verdict.SKIPPED, run.steps, reason=left.note)


def _misuses(case: Case) -> Iterator[str]:
    return (step.id for step in case.steps if isinstance(step, Misuse))


HANDLES: Final = Part(NAME, frozenset(), run_handles)
