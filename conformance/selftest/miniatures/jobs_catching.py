"""Running one suite on one miniature job store until it finds something."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any, Final

from workcert.backends.registry import describe
from workcert.cases.library import builtin_cases
from workcert.cases.model import Case
from workcert.run.case import run_case
from workcert.run.engine import Effort, Options, examined, run_scenarios
from workcert.run.events import CaseEnded, Event, Verdict
from workcert.run.store import StoreUnderTest
from workcert.walk.suite import run_walk

from .catching import Caught, Suite, _by_machine, _Found
from .jobs_model import JobMiniature
from .model import SCENARIOS

EXAMPLES: Final = 300
"""Of the stateful suite, for each miniature."""
LARGE: Final = ("s-01-", "s-25", "s-40", "enq-val-00", "enq-val-08")
"""How the cases begin that take longer than a hundred others."""


@cache
def scenarios() -> tuple[Case, ...]:
    cases = builtin_cases("jobs")
    return tuple(case for case in cases if not case.header.name.removeprefix("jobs/").startswith(LARGE))


def showing(requirements: Iterable[str]) -> tuple[Case, ...]:
    """The cases that name one of these requirements, as ``--only`` selects them: first those that were written for it,
    and of these the shortest."""
    wanted = set(requirements)
    found = (case for case in scenarios() if wanted & set(case.header.requirements))

    def order(case: Case) -> tuple[int, int]:
        ids = case.header.requirements
        return min(ids.index(each) for each in wanted & set(ids)), len(case.steps)

    return tuple(sorted(found, key=order))


def caught(miniature: JobMiniature, backend: Any, seed: int) -> Caught | None:
    """The first finding of the suite of a miniature, replayed and shrunk; None when it finds nothing."""
    began = time.perf_counter()
    with StoreUnderTest.of(describe(miniature.name, backend)) as store:
        if miniature.suite == SCENARIOS:
            ended, steps = _by_scenarios(store, showing(miniature.right), miniature.shrunk)
        else:
            ended, steps = _by_machine(store, EXAMPLES, seed)
    return None if ended is None else Caught(ended, steps, time.perf_counter() - began)


def _by_scenarios(store: StoreUnderTest, cases: Iterable[Case], shrunk: bool) -> tuple[CaseEnded | None, int]:
    steps = 0
    for case in cases:
        run = run_case(store, case)
        steps += len(run.steps)
        if run.verdict is Verdict.FAILED and run.failure is not None:
            return examined(store, SCENARIOS, case, run.failure, shrunk), steps
    return None, steps


def accusations(
    backend: Any, cases: Iterable[Case], *, examples: int = 0, suite: Suite = run_walk, seed: int = 1
) -> list[str]:
    """What scenarios and a suite of histories say against a store, one line for each failure."""
    found: list[str] = []

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded) and event.verdict not in (Verdict.PASSED, Verdict.SKIPPED):
            said = event.failure
            what = event.reason if said is None else f"{said.requirement}: {said.text}"
            found.append(f"{event.name}: {what}")
            raise _Found

    with StoreUnderTest.of(describe("adapter.py", backend)) as store, suppress(_Found):
        run_scenarios(store, tuple(cases), emit)
        if examples:
            suite(store, Options(effort=Effort.QUICK, examples=examples, seed=seed), emit)
    return found
