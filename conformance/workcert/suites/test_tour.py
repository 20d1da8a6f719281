"""The tours: what search has reached, as case files; one test each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import pytest

from workcert.cases.model import Case
from workcert.plugin import asked
from workcert.run.case import run_case
from workcert.run.engine import emit_case, wanted_ids
from workcert.run.events import CaseEnded, Event
from workcert.run.store import StoreUnderTest
from workcert.tour.suite import selected


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = [
        pytest.param(backend, case, id=case.header.name)
        for backend, options in asked(metafunc.config)
        for case in selected(backend.binding.name, wanted_ids(options.only, backend))
    ]
    metafunc.parametrize(("workcert_store", "case"), cases, indirect=["workcert_store"])


def test_tour(
    workcert_store: StoreUnderTest,
    case: Case,
    workcert_guard: Callable[[], AbstractContextManager[None]],
    workcert_verdict: Callable[[Sequence[CaseEnded]], None],
) -> None:
    events: list[Event] = []
    with workcert_guard():
        emit_case(workcert_store, "tour", case, run_case(workcert_store, case), events.append)
    workcert_verdict([event for event in events if isinstance(event, CaseEnded)])
