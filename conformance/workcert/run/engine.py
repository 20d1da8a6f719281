"""The engine: suites over one backend, each failure replayed and shrunk, everything said as events.

A count, not a clock, bounds a run, so that a seed repeats it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import attrs
from attrs import define, field, frozen

from workcert.backends.registry import BackendError, LoadedBackend
from workcert.binding import WISHES, Binding
from workcert.cases.library import builtin_cases
from workcert.cases.model import Case
from workcert.explaining.dropping import same_failure, without
from workcert.explaining.explain import BUDGET as EXPLAIN_BUDGET
from workcert.explaining.explain import explain
from workcert.judge.cause import Cause, cause_of
from workcert.judge.verdict import Failure, Kind
from workcert.run.case import CaseRun, run_case
from workcert.run.confirming import Confirming, run_confirming, said_of_reset, survives_reset
from workcert.run.events import CaseEnded, Emit, ProfileTried, StepJudged, SuiteEnded, SuiteStarted, Verdict
from workcert.run.store import StoreUnderTest
from workcert.shrink import Failure as ShrinkFailure
from workcert.shrink import alike, settled, shrink

REPLAYS: Final = 3
SHRINK_BUDGET: Final = 500
SETTLE_BUDGET: Final = 100
MOST_HUNG: Final = 2
"""Cases that may wait for a call until its limit: a store that hangs in one case hangs in most."""
RUN_BUDGET: Final = 2500
"""Executions for shrinking and explaining in all scenarios of a run: one fault can break a hundred cases, and the rest
replay as they were written."""


class Effort(StrEnum):
    QUICK = "quick"
    CI = "ci"
    DEEP = "deep"


EXAMPLES: Final = {Effort.QUICK: 60, Effort.CI: 200, Effort.DEEP: 6000}
"""Examples of the stateful suite."""

WALKS: Final = {Effort.QUICK: 100, Effort.CI: 300, Effort.DEEP: 30000}
"""Walks of the walk suite."""

SUITES: Final = ("scenarios", "tour", "walk", "stateful", "adversity")


@frozen
class Options:
    """What to run. ``only``: requirement ids, families (``claim``) or names of operations; empty means all.
    ``examples`` overrides the effort's counts, of examples and of walks. ``one_of_several``: the backend serves further
    contracts that were left out. ``explains``: what is shrunk is explained too."""

    suites: tuple[str, ...] = SUITES
    effort: Effort = Effort.CI
    examples: int | None = None
    only: tuple[str, ...] = ()
    seed: int = 0
    one_of_several: bool = False
    explains: bool = True

    def example_count(self, binding: Binding) -> int:
        return round(EXAMPLES[self.effort] * binding.share) if self.examples is None else self.examples

    def walk_count(self, binding: Binding) -> int:
        return round(WALKS[self.effort] * binding.share) if self.examples is None else self.examples

    @property
    def narrowed(self) -> bool:
        """A narrowed run makes no certificate."""
        return self.one_of_several or bool(self.only) or set(self.suites) != set(SUITES)


def run_suites(backend: LoadedBackend, options: Options, emit: Emit) -> None:
    """Run the suites of one contract on one backend.

    Raises:
        BackendError: the backend cannot be used, or lies about an ability.
    """
    from workcert.adversity import run_adversity
    from workcert.run.stateful import run_stateful
    from workcert.tour import run_tour
    from workcert.walk import run_walk

    cases = builtin_cases(backend.binding.name)
    with StoreUnderTest.of(backend) as store:
        if "scenarios" in options.suites:
            run_scenarios(store, select(cases, options.only, backend), emit)
        if "tour" in options.suites:
            run_tour(store, wanted_ids(options.only, backend), emit)
        if "walk" in options.suites:
            run_walk(store, options, emit)
        if "stateful" in options.suites:
            run_stateful(store, options, emit)
        if "adversity" in options.suites:
            run_adversity(store, options, emit)
    if not options.narrowed:
        try_unclaimed(backend, cases, emit)


def try_unclaimed(backend: LoadedBackend, cases: Sequence[Case], emit: Emit) -> None:
    """Claims are looked at from the other side too: what a store could claim and does not is offered to it."""
    for profile, abilities in backend.binding.profile_abilities.items():
        if profile in backend.profiles or not backend.abilities.issuperset(abilities):
            continue
        wider = attrs.evolve(backend, profiles=backend.profiles | {profile})
        own = [case for case in cases if profile in case.header.profiles]
        own = [case for case in own if wider.profiles.issuperset(case.header.profiles)]
        with StoreUnderTest.of(wider) as store:
            verdicts = [run_case(store, case).verdict for case in own]
        emit(ProfileTried(profile, len(own), verdicts.count(Verdict.PASSED)))


def select(cases: Sequence[Case], only: Sequence[str], backend: LoadedBackend) -> tuple[Case, ...]:
    """The cases that show one of the wanted requirements, or that are named.

    Raises:
        KeyError: a pattern that selects nothing; the text suggests what may have been meant.
    """
    if not only:
        return tuple(cases)
    wanted = wanted_ids(only, backend)
    return tuple(case for case in cases if wanted & set(case.header.requirements))


def wanted_ids(only: Sequence[str], backend: LoadedBackend) -> frozenset[str]:
    """The ids that patterns name; empty where nothing is asked for by name, which means all.

    Raises:
        KeyError: as `select`.
    """
    return frozenset(each.id for each in backend.binding.contract.catalogue.matching(only)) if only else frozenset()


@define
class Shrinking:
    """Which failures of a run are still worth shrinking: the first of each cause, as far as the budget goes."""

    left: int = RUN_BUDGET
    _shrunk: set[Cause] = field(factory=set)

    def wanted(self, cause: Cause) -> bool:
        return self.left > 0 and cause not in self._shrunk

    def spent(self, ended: CaseEnded) -> None:
        if ended.executions and ended.cause is not None:
            self.left -= ended.executions
            self._shrunk.add(ended.cause)


def run_scenarios(store: StoreUnderTest, cases: Sequence[Case], emit: Emit) -> None:
    """Every hand-written case once, in order."""
    run_cases(store, "scenarios", cases, emit)


def run_cases(store: StoreUnderTest, suite: str, cases: Sequence[Case], emit: Emit) -> None:
    """Every case once, in order.

    Raises:
        BackendError: the backend cannot be used, lies about an ability, or hangs again and again.
    """
    began = time.perf_counter()
    emit(SuiteStarted(store.backend.binding.name, suite, len(cases)))
    shrinking = Shrinking()
    hung = 0
    for case in cases:
        run = run_case(store, case)
        emit_case(store, suite, case, run, emit, shrinking)
        hung += run.hung
        if hung == MOST_HUNG:
            name = case.header.name
            raise BackendError(
                f"{hung} cases waited in vain, and the others were left out: the store may be deadlocked. In {name} "
                f"{run.reason}. Mend that first; it is shown by: workcert replay {name} {store.backend.name}"
            )
    emit(SuiteEnded(suite, time.perf_counter() - began))


def emit_case(
    store: StoreUnderTest, suite: str, case: Case, run: CaseRun, emit: Emit, shrinking: Shrinking | None = None
) -> None:
    """Say what became of a case; a failure is replayed first, and shrunk and explained if that is wanted."""
    name = case.header.name
    if run.verdict is Verdict.FAILED and run.failure is not None:
        wanted = shrinking is None or shrinking.wanted(cause_of(run.failure, run.steps))
        ended = explained(store, examined(store, suite, case, run.failure, wanted))
        if shrinking is not None:
            shrinking.spent(ended)
        emit(ended)
        return
    if run.verdict is Verdict.PASSED:
        for step in run.steps:
            emit(StepJudged(suite, name, step))
    shown = case.header.requirements
    emit(CaseEnded(suite, name, run.verdict, case, shown, reason=run.reason, steps=run.steps, hung=run.hung))


def examined(
    store: StoreUnderTest,
    suite: str,
    case: Case,
    failure: Failure,
    shrinking: bool = True,
    budget: int = SHRINK_BUDGET,
) -> CaseEnded:
    """Replay a failing case three times, shrink it if it failed each time and that is wanted, and say so. ``budget``:
    executions for shrinking."""
    name = case.header.name
    again = [run_case(store, case) for _ in range(REPLAYS)]
    failed = [run for run in again if run.failure is not None]
    if len(failed) < REPLAYS:
        reproduced = (len(failed), REPLAYS)
        steps = failed[0].steps if failed else ()
        return CaseEnded(
            suite,
            name,
            Verdict.FLAKY,
            case,
            failure=failure,
            steps=steps,
            reproduced=reproduced,
            cause=cause_of(failure, steps),
        )
    seen, executions, is_confirmed = failed[-1], 0, False
    cause = cause_of(failure, seen.steps)
    if failure.kind is not Kind.EXPECTATION and shrinking:
        # Of a written expectation the judge knows nothing, and smaller cases have none.
        shrunk, executions = shrunk_case(store, case, failure, budget)
        final = run_confirming(store, shrunk)
        if final.failure is not None and final.failure.kind is not Kind.EXPECTATION:
            case, seen, failure, is_confirmed = shrunk, final, final.failure, True
    if not is_confirmed and survives_reset(store, case):
        failure = said_of_reset(failure, failed)
    return CaseEnded(
        suite,
        name,
        Verdict.FAILED,
        case,
        failure=failure,
        steps=seen.steps,
        reproduced=(REPLAYS, REPLAYS),
        executions=executions,
        cause=cause,
    )


def explained(store: StoreUnderTest, ended: CaseEnded, budget: int = EXPLAIN_BUDGET) -> CaseEnded:
    """A failure that was shrunk, with what is needed for it and what does not matter; any other as it is. A step that
    turns out not to be needed goes. ``budget``: executions."""
    if not ended.executions or ended.case is None or ended.failure is None:
        return ended
    seen = CaseRun(ended.verdict, ended.steps, ended.failure)
    found = explain(lambda case: run_case(store, case), ended.case, seen, store.backend.binding.ordinary, budget)
    ended = attrs.evolve(ended, explanation=found, executions=ended.executions + found.executions)
    idle = next((need.step for need in found.needed if need.idle), None)
    if idle is None or ended.case is None:
        return ended
    fewer = without(ended.case, idle)
    again = run_confirming(store, fewer)
    if not same_failure(seen, again):
        return ended
    smaller = attrs.evolve(ended, case=fewer, failure=again.failure, steps=again.steps)
    return explained(store, attrs.evolve(smaller, executions=ended.executions + 1), budget)


def shrunk_case(store: StoreUnderTest, case: Case, failure: Failure, budget: int = SHRINK_BUDGET) -> tuple[Case, int]:
    """The least case that breaks the same requirement, made ordinary where nothing hangs on it, and how many
    executions it took to find. It breaks it on a fresh place too, if any of those on the way to it does."""

    def judge(candidate: Case) -> tuple[ShrinkFailure, str] | None:
        run = run_case(store, candidate)
        # What is written in a case was written for its own values: with others it would accuse any store.
        if run.failure is None or run.failure.kind is Kind.EXPECTATION:
            return None
        return ShrinkFailure(run.steps[-1].id, run.failure.requirement), run.failure.text

    def broken(candidate: Case) -> ShrinkFailure | None:
        found = judge(candidate)
        return None if found is None else found[0]

    first = broken(case)
    if first is None:
        return case, 1
    confirming = Confirming(store, first.requirement)
    least = shrink(case, confirming.noting(alike(broken, first)), budget, store.backend.configurable - WISHES)
    wanted = judge(least.case)

    def fails_alike(candidate: Case) -> str | None:
        found = judge(candidate)
        return found[0].step if found is not None and found == wanted else None

    plain = settled(least.case, confirming.noting(fails_alike), store.backend.binding.ordinary, SETTLE_BUDGET)
    confirmed = confirming.least(plain.case, case)
    header = attrs.evolve(confirmed.header, requirements=(failure.requirement,))
    return attrs.evolve(confirmed, header=header), least.executions + plain.executions + confirming.executions
