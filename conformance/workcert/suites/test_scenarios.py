"""The hand-written cases, one test each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import pytest

from workcert.cases.library import builtin_cases
from workcert.cases.model import Case
from workcert.plugin import asked
from workcert.run.case import run_case
from workcert.run.engine import emit_case, select
from workcert.run.events import CaseEnded, Event
from workcert.run.store import StoreUnderTest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = [
        pytest.param(backend, case, id=case.header.name)
        for backend, options in asked(metafunc.config)
        for case in select(builtin_cases(backend.binding.name), options.only, backend)
    ]
    metafunc.parametrize(("workcert_store", "case"), cases, indirect=["workcert_store"])


def test_scenario(
    workcert_store: StoreUnderTest,
    case: Case,
    workcert_guard: Callable[[], AbstractContextManager[None]],
    workcert_verdict: Callable[[Sequence[CaseEnded]], None],
) -> None:
    events: list[Event] = []
    with workcert_guard():
        emit_case(workcert_store, "scenarios", case, run_case(workcert_store, case), events.append)
    workcert_verdict([event for event in events if isinstance(event, CaseEnded)])
