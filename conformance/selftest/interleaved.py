"""Running the part ``interleavings`` on one store, for tests."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from workcert.adversity.interleavings.suite import run_interleavings
from workcert.backends.registry import describe
from workcert.cases.model import Case
from workcert.cases.parse import parse
from workcert.cases.write import write
from workcert.run.case import run_case
from workcert.run.engine import Effort, Options
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import StoreUnderTest

CI = Options(effort=Effort.CI, explains=False)
QUICK = Options(effort=Effort.QUICK, explains=False)
SHORT = 5
"""Steps of a case that a person reads at a glance."""


class _Found(Exception):  # noqa: N818 - ends a run at its first finding
    pass


def first_failure(backend: Any, options: Options = CI) -> CaseEnded | None:
    found: list[CaseEnded] = []

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded) and event.verdict not in (Verdict.PASSED, Verdict.SKIPPED):
            found.append(event)
            raise _Found

    with StoreUnderTest.of(describe("miniature", backend)) as store, suppress(_Found):
        run_interleavings(store, options, emit)
    return found[0] if found else None


def replays(backend: Any, case: Case) -> list[Verdict]:
    again = parse(write(case))
    with StoreUnderTest.of(describe("miniature", backend)) as store:
        return [run_case(store, again).verdict for _ in range(3)]


def ends(backend: Any, options: Options) -> tuple[list[CaseEnded], Counter[str]]:
    found: list[CaseEnded] = []
    tally: Counter[str] = Counter()

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded):
            found.append(event)
        if isinstance(event, Tallied):
            tally[event.column] += event.count

    with StoreUnderTest.of(backend) as store:
        run_interleavings(store, options, emit)
    return found, tally
