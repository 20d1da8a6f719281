"""Running the part ``interleavings`` on one store, for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from workcert.adversity.interleavings.suite import asked, asked_later, hold_each, run_interleavings, why_not
from workcert.backends.registry import describe
from workcert.cases.model import Case
from workcert.cases.parse import parse
from workcert.cases.write import write
from workcert.run.case import run_case
from workcert.run.engine import Effort, Options
from workcert.run.events import CaseEnded, Emit, Event, Tallied, Verdict
from workcert.run.store import StoreUnderTest

CI = Options(effort=Effort.CI, explains=False)
QUICK = Options(effort=Effort.QUICK, explains=False)
SHORT = 5
"""Steps of a case that a person reads at a glance."""


class _Found(Exception):  # noqa: N818 - ends a run at its first finding
    pass


def first_failure(backend: Any, among: Callable[[Case], bool] = lambda _case: True) -> CaseEnded | None:
    """At effort ci. ``among``: of these cases; the others are left out, since to try them all takes long."""
    found: list[CaseEnded] = []

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded) and event.verdict not in (Verdict.PASSED, Verdict.SKIPPED):
            found.append(event)
            raise _Found

    with StoreUnderTest.of(describe("miniature", backend)) as store, suppress(_Found):
        assert not why_not(store)
        hold_each(store, filter(among, asked(store.backend, CI)), filter(among, asked_later(store.backend, CI)), emit)
    return found[0] if found else None


def holding(*operations: str) -> Callable[[Case], bool]:
    """Cases in which a call of one of these is held, or comes between."""
    names = {f"-{each.replace('_', '-')}-" for each in operations}
    return lambda case: any(name in f"-{case.header.name.rpartition('/')[2]}-" for name in names)


def replays(backend: Any, case: Case) -> list[Verdict]:
    again = parse(write(case))
    with StoreUnderTest.of(describe("miniature", backend)) as store:
        return [run_case(store, again).verdict for _ in range(3)]


def ends(backend: Any, options: Options) -> tuple[list[CaseEnded], Counter[str]]:
    """What the part comes to."""
    return _noted(backend, lambda store, emit: run_interleavings(store, options, emit))


def held(backend: Any, meetings: Iterable[Case], later: Iterable[Case]) -> tuple[list[CaseEnded], Counter[str]]:
    """What these meetings come to."""

    def runs(store: StoreUnderTest, emit: Emit) -> None:
        assert not why_not(store)
        hold_each(store, meetings, later, emit)

    return _noted(backend, runs)


def _noted(backend: Any, runs: Callable[[StoreUnderTest, Emit], None]) -> tuple[list[CaseEnded], Counter[str]]:
    found: list[CaseEnded] = []
    tally: Counter[str] = Counter()

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded):
            found.append(event)
        if isinstance(event, Tallied):
            tally[event.column] += event.count

    with StoreUnderTest.of(backend) as store:
        runs(store, emit)
    return found, tally
