"""Running one suite on one miniature until it finds something."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any, Final, TypeAlias

from attrs import evolve, frozen

from workcert.backends.registry import describe
from workcert.cases.cost import cost
from workcert.cases.library import builtin_cases
from workcert.cases.model import Case, Together
from workcert.run.case import CaseRun, run_case
from workcert.run.engine import Effort, Options, examined, run_scenarios
from workcert.run.events import CaseEnded, Emit, Event, StepJudged, Verdict
from workcert.run.stateful import run_stateful
from workcert.run.store import StoreUnderTest
from workcert.walk.suite import run_walk

from .model import SCENARIOS

Suite: TypeAlias = Callable[[StoreUnderTest, Options, Emit], Any]
EXAMPLES, SEED = 660, 1
"""Of the stateful suite, for each miniature: as many steps as a certification makes."""
LARGE: Final = 60
"""A case of more calls and rows is large."""
TURNS: Final = 8
"""Among so many stores each large case comes up once."""


@cache
def scenarios() -> tuple[Case, ...]:
    return builtin_cases("workload")


def in_one_round(case: Case) -> Case:
    """The case with its calls at once tried once, in each order and in each forced one, instead of in many rounds:
    those find a store that has a race, and say nothing new of one that is right."""
    steps = (evolve(step, rounds=1) if isinstance(step, Together) else step for step in case.steps)
    return evolve(case, steps=tuple(steps))


def in_turn(cases: Iterable[Case], place: int) -> tuple[Case, ...]:
    """What the right store at this place among its like is held to: every case, in one round, and of the large ones
    every eighth, another one than its neighbours. The few large ones and the rounds took as long as all the rest, for
    each store, and what most of the stores do otherwise shows in the small ones; the suites hold the reference stores
    to all of them."""
    once = [in_one_round(case) for case in cases]
    small = [case for case in once if cost(case) <= LARGE]
    large = [case for case in once if cost(case) > LARGE]
    return (*small, *large[place % TURNS :: TURNS])


@frozen
class Caught:
    """``steps``: calls made until the first failure."""

    ended: CaseEnded
    steps: int
    seconds: float

    @property
    def requirement(self) -> str:
        assert self.ended.failure is not None
        return self.ended.failure.requirement

    @property
    def case(self) -> Case:
        assert self.ended.case is not None
        return self.ended.case


def caught(
    name: str, backend: Any, suite: str, requirements: Iterable[str], *, examples: int = EXAMPLES, seed: int = SEED
) -> Caught | None:
    """The first finding of a suite, replayed and shrunk; None when it finds nothing. Of the scenarios those that name
    one of these requirements come first."""
    began = time.perf_counter()
    with StoreUnderTest.of(describe(name, backend)) as store:
        ended, steps = (
            _by_scenarios(store, set(requirements)) if suite == SCENARIOS else _by_machine(store, examples, seed)
        )
    return None if ended is None else Caught(ended, steps, time.perf_counter() - began)


def _by_scenarios(store: StoreUnderTest, wanted: set[str]) -> tuple[CaseEnded | None, int]:
    steps = 0
    for case in sorted(scenarios(), key=lambda case: wanted.isdisjoint(case.header.requirements)):
        run = run_case(store, case)
        steps += len(run.steps)
        if run.verdict is Verdict.FAILED and run.failure is not None:
            return examined(store, SCENARIOS, case, run.failure), steps
    return None, steps


class _Found(Exception):  # noqa: N818 - ends a run at its first finding
    pass


def _by_machine(store: StoreUnderTest, examples: int, seed: int) -> tuple[CaseEnded | None, int]:
    found: list[CaseEnded] = []
    steps = 0

    def emit(event: Event) -> None:
        nonlocal steps
        steps += isinstance(event, StepJudged)
        if isinstance(event, CaseEnded) and event.verdict is not Verdict.PASSED:
            found.append(event)
            raise _Found

    with suppress(_Found):
        run_stateful(store, Options(effort=Effort.QUICK, examples=examples, seed=seed), emit)
    return (found[0] if found else None), steps


def replay(name: str, backend: Any, case: Case) -> CaseRun:
    with StoreUnderTest.of(describe(name, backend)) as store:
        return run_case(store, case)


def accusations(
    name: str,
    backend: Any,
    cases: Iterable[Case],
    *,
    examples: int,
    suite: Suite = run_walk,
    seed: int = SEED,
    first: bool = False,
) -> list[str]:
    """What these scenarios and a suite of histories say against a store, a line for each failure; or the first only."""
    found: list[str] = []

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded) and event.verdict not in (Verdict.PASSED, Verdict.SKIPPED):
            said = event.failure
            what = event.reason if said is None else f"{said.requirement}: {said.text}"
            found.append(f"{event.name}: {what}")
            if first:
                raise _Found

    with StoreUnderTest.of(describe(name, backend)) as store, suppress(_Found):
        run_scenarios(store, tuple(cases), emit)
        suite(store, Options(effort=Effort.QUICK, examples=examples, seed=seed), emit)
    return found
