"""Grading: one suite after the other is run on a faulty store until one finds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Final

from attrs import frozen

from workcert.backends.registry import BackendError, describe
from workcert.binding import Binding
from workcert.cases.model import Case
from workcert.faults.fault import Fault
from workcert.faults.footprint import Footprint, by_the_kit
from workcert.run.case import run_case
from workcert.run.engine import Options, examined
from workcert.run.events import CaseEnded, Emit, Event, ExamplesRun, StepJudged, Verdict
from workcert.run.store import StoreUnderTest
from workcert.shrink import size

TOUR: Final = "tour"
"""The suite by which stores are compared: it comes to every rule once, and takes seconds."""


class Fate(StrEnum):
    CAUGHT = "caught"
    REFUSED = "refused"
    """The kit says that the adapter lies about an ability, and runs no further: exit code 2."""
    FLAKY = "flaky"
    SURVIVED = "survived"


@frozen
class Found:
    """A finding of one suite. ``calls``: steps made until then; ``seconds``: until then, and with replays and
    shrinking."""

    fate: Fate
    suite: str
    requirement: str
    calls: int
    case: Case | None
    seconds_to_find: float
    seconds: float

    @property
    def length(self) -> int:
        return 0 if self.case is None else size(self.case)


Generated = Callable[[StoreUnderTest, Options, Emit], object]
"""A suite that makes its own steps, from a store, options and a place for its events."""


@frozen(eq=False)
class Suites:
    """What a fault is tried by, in order: suites of case files, then those that make their own steps."""

    of_cases: Sequence[tuple[str, Sequence[Footprint]]]
    generated: Sequence[tuple[str, Generated]]
    options: Options

    def only(self, names: Sequence[str]) -> Suites:
        """Those of these names."""
        of_cases = tuple(each for each in self.of_cases if each[0] in names)
        return Suites(of_cases, tuple(each for each in self.generated if each[0] in names), self.options)


def grade(binding: Binding, fault: Fault, suites: Suites) -> Found | None:
    """The first finding against a faulty store, replayed and shrunk; None when it survives every suite."""
    began = time.perf_counter()
    with StoreUnderTest.of(describe(fault.name, fault.make())) as store:
        for name, cases in suites.of_cases:
            found = _by_cases(binding, fault, store, name, cases, began)
            if found is not None:
                return found
        for name, run in suites.generated:
            found = _by_generating(store, name, run, suites.options, began)
            if found is not None:
                return found
    return None


def _by_cases(
    binding: Binding, fault: Fault, store: StoreUnderTest, suite: str, cases: Sequence[Footprint], began: float
) -> Found | None:
    own = by_the_kit(binding)
    calls = 0
    for footprint in cases:
        if not footprint.comes_to(fault, own):
            calls += footprint.steps
            continue
        try:
            run = run_case(store, footprint.case)
            calls += len(run.steps)
            if run.verdict is not Verdict.FAILED or run.failure is None:
                continue
            seconds = time.perf_counter() - began
            ended = examined(store, suite, footprint.case, run.failure)
        except BackendError as error:
            return _refused(suite, calls, error, time.perf_counter() - began)
        return _found(suite, ended, calls, seconds, began)
    return None


def signature(binding: Binding, fault: Fault, suites: Suites) -> tuple[str, ...]:
    """Every requirement that the tours break on a faulty store, each as its first failure names it."""
    own = by_the_kit(binding)
    broken: set[str] = set()
    with StoreUnderTest.of(describe(fault.name, fault.make())) as store, suppress(BackendError):
        for footprint in next((cases for name, cases in suites.of_cases if name == TOUR), ()):
            if footprint.comes_to(fault, own):
                run = run_case(store, footprint.case)
                broken |= set() if run.failure is None else {run.failure.requirement}
    return tuple(sorted(broken))


class _Found(Exception):  # noqa: N818 - ends a suite at its first finding
    pass


def _by_generating(store: StoreUnderTest, suite: str, run: Generated, options: Options, began: float) -> Found | None:
    ends: list[CaseEnded] = []
    calls = 0
    seconds = 0.0

    def emit(event: Event) -> None:
        nonlocal calls, seconds
        if isinstance(event, StepJudged):
            calls += 1
            seconds = time.perf_counter() - began
        if isinstance(event, ExamplesRun) and not seconds:
            calls = event.steps
        if isinstance(event, CaseEnded) and event.failure is not None:
            ends.append(event)
            raise _Found

    try:
        with suppress(_Found):
            run(store, options, emit)
    except BackendError as error:
        return _refused(suite, calls, error, time.perf_counter() - began)
    return _found(suite, ends[0], calls, seconds, began) if ends else None


def _found(suite: str, ended: CaseEnded, calls: int, seconds: float, began: float) -> Found:
    assert ended.failure is not None
    fate = Fate.FLAKY if ended.verdict is Verdict.FLAKY else Fate.CAUGHT
    requirement = ended.failure.requirement
    return Found(fate, suite, requirement, calls, ended.case, seconds, time.perf_counter() - began)


def _refused(suite: str, calls: int, error: BackendError, seconds: float) -> Found:
    return Found(Fate.REFUSED, suite, str(error), calls, None, seconds, seconds)
