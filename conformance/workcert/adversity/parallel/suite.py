"""The part ``parallel``: programs of several callers, run by threads and by processes, judged for some order.

What fails is run again with fewer callers and calls, several times each, for a race does not always show, and kept as a
case of many rounds. One failure is a failure, whether it shows again or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from attrs import define, evolve, field

from workcert.adversity.parallel.authors import author_of
from workcert.adversity.parallel.programs import program
from workcert.adversity.parallel.races import races_apart
from workcert.adversity.parallel.shrinking import Shown, fewest
from workcert.adversity.part import SUITE, Part
from workcert.backends.protocol import Ability
from workcert.cases.model import Case, Together, required_abilities
from workcert.children import cannot
from workcert.judge.cause import cause_of
from workcert.run.case import CaseRun, run_case
from workcert.run.engine import MOST_HUNG, Effort, Options, Shrinking, emit_case
from workcert.run.events import CaseEnded, Emit, ExamplesRun, StepJudged, Tallied, Verdict
from workcert.run.store import StoreUnderTest
from workcert.run.turning_away import TURNED_AWAY

NAME: Final = "parallel"
BY_THREADS: Final = {Effort.QUICK: 8, Effort.CI: 30, Effort.DEEP: 1500}
BY_PROCESSES: Final = {Effort.QUICK: 1, Effort.CI: 6, Effort.DEEP: 200}
MOST_FAILURES: Final = 3
"""After so many different failures no further program is tried: the store needs mending, not more findings."""
PROGRESS_EVERY: Final = 10


def run_parallel(store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """As many programs as the effort asks for. Program n of a seed is the same on any store with the same methods; what
    becomes of it hangs on who comes first.

    Raises:
        BackendError: the backend cannot be used, hangs again and again, or lies about an ability.
    """
    trying = _Trying(store, options, emit)
    trying.by("threads", BY_THREADS[options.effort] if options.examples is None else options.examples)
    why = _no_processes(store)
    if why:
        emit(CaseEnded(SUITE, f"{NAME}/processes", Verdict.SKIPPED, reason=why))
    else:
        trying.by("processes", BY_PROCESSES[options.effort])
        trying.races()


def _no_processes(store: StoreUnderTest) -> str:
    if not store.backend.can(Ability.KILL):
        return "the backend has not the ability kill, so that no other process may open its stores"
    return cannot(store.backend)


@define(eq=False)
class _Trying:
    """``failed``: in what failures have shown themselves; ``hung``: programs in which a call did not come back."""

    store: StoreUnderTest
    options: Options
    emit: Emit
    failed: set[str] = field(factory=set)
    """In what failures have shown themselves so far: all of them break the requirement on calls at once."""
    done: int = 0
    calls: int = 0
    hung: int = 0

    def by(self, whom: str, count: int) -> None:
        """So many programs, whose callers are threads or processes."""
        unknown: list[str] = []
        left_out: list[str] = []
        shown = 0
        failures = len(self.failed)
        for case in self._programs(whom, count):
            if len(self.failed) >= MOST_FAILURES:
                break
            run = run_case(self.store, case)
            if run.verdict is Verdict.SKIPPED:
                left_out.append(run.reason)
                continue
            self._count(case, whom)
            self._note_turned_away(whom, run)
            if run.verdict is Verdict.UNKNOWN:
                unknown.append(run.reason)
                self._note_hung(case, run)
            elif run.verdict is Verdict.FAILED:
                self._examine(case, run)
            else:
                shown += 1
                for step in run.steps:
                    self.emit(StepJudged(SUITE, NAME, step))
        self.emit(ExamplesRun(SUITE, self.done, self.calls))
        if left_out:
            share = f"of {len(left_out)} of {count} programs: " if shown else ""
            self.emit(CaseEnded(SUITE, f"{NAME}/{whom}, left out", Verdict.SKIPPED, reason=share + left_out[0]))
        if len(self.failed) == failures and (shown or unknown):
            self._conclude(whom, shown, unknown)

    def races(self) -> None:
        """The races of the scenarios, by processes."""
        shrinking = Shrinking()
        passed = failed = 0
        for case in races_apart(self.store.backend, self.options.effort):
            run = run_case(self.store, case)
            if run.verdict is Verdict.SKIPPED:
                self.emit(CaseEnded(SUITE, f"{NAME}/{case.header.name}", run.verdict, case, reason=run.reason))
                continue
            self.emit(Tallied(NAME, "processes", "catalogued races"))
            self._note_turned_away("processes", run)
            if run.verdict is Verdict.FAILED:
                emit_case(self.store, SUITE, case, run, self.emit, shrinking)
                failed += 1
            passed += run.verdict is Verdict.PASSED
            self._note_hung(case, run)
        if passed and not failed:
            self.emit(CaseEnded(SUITE, f"{NAME}/catalogued races", Verdict.PASSED))

    def _programs(self, whom: str, count: int) -> Iterator[Case]:
        self.store.begin()
        handle = self.store.handle("A")
        backend = self.store.backend
        methods = frozenset(name for name in backend.binding.calls.calls if hasattr(handle, name))
        for number in range(count):
            random = Random(f"{self.options.seed}/{whom}/{number}")
            yield _made_by(whom, program(backend, methods, author_of(backend.binding.name), random))

    def _count(self, case: Case, whom: str) -> None:
        block = _block(case)
        self.done += 1
        self.calls += len(block.calls)
        self.emit(Tallied(NAME, whom, "histories"))
        self.emit(Tallied(NAME, whom, "calls", len(block.calls)))
        if self.done % PROGRESS_EVERY == 0:
            self.emit(ExamplesRun(SUITE, self.done, self.calls))

    def _note_turned_away(self, whom: str, run: CaseRun) -> None:
        """How many calls have shown nothing; none on a store that waits, and so never in its certificate."""
        if run.turned_away:
            self.emit(Tallied(NAME, whom, TURNED_AWAY, run.turned_away))

    def _note_hung(self, case: Case, run: CaseRun) -> None:
        self.hung += run.hung
        if self.hung >= MOST_HUNG:
            self.store.accuse_hanging(case.header.name, run.reason)

    def _examine(self, case: Case, run: CaseRun) -> None:
        failure = run.failure
        assert failure is not None
        general = self.store.backend.binding.contract.conflict_requirements
        shown_in = next((each for each in failure.requirements if each not in general), failure.requirement)
        if shown_in in self.failed:
            return
        self.failed.add(shown_in)
        first = Shown(case, failure, run.steps, (1, 1))
        least, executions = fewest(self.store, first)
        verdict = Verdict.FAILED if least.always else Verdict.FLAKY
        self.emit(
            CaseEnded(
                SUITE,
                f"{NAME}/{failure.requirement.lower()}",
                verdict,
                least.case,
                failure=least.failure,
                steps=least.steps,
                reproduced=least.reproduced,
                executions=executions,
                cause=cause_of(least.failure, least.steps),
            )
        )

    def _conclude(self, whom: str, shown: int, unknown: list[str]) -> None:
        """Passed if some were judged; what nobody knows is told beside it, and is neither a failure nor a pass."""
        if shown:
            self.emit(CaseEnded(SUITE, f"{NAME}/{whom}", Verdict.PASSED))
        if unknown:
            share = f"{len(unknown)} of {shown + len(unknown)} histories"
            reason = f"of {share} nobody knows whether an order fits: {unknown[0]}"
            self.emit(CaseEnded(SUITE, f"{NAME}/{whom}, unknown", Verdict.SKIPPED, reason=reason))


def _block(case: Case) -> Together:
    block = case.steps[-1]
    assert isinstance(block, Together)
    return block


def _made_by(whom: str, case: Case) -> Case:
    if whom == "threads":
        return case
    apart = Case(case.header, (*case.steps[:-1], evolve(_block(case), apart=True)))
    return evolve(apart, header=evolve(case.header, abilities=tuple(sorted(required_abilities(apart)))))


PART: Final = Part(NAME, frozenset({Ability.SECOND_HANDLE.value}), run_parallel)
