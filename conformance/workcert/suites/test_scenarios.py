"""The hand-written cases, one test each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import pytest

from workcert.cases.library import builtin_cases
from workcert.cases.model import Case
from workcert.plugin import backends_of, options_of, selected
from workcert.run.case import run_case
from workcert.run.engine import emit_case
from workcert.run.events import CaseEnded, Event
from workcert.run.store import StoreUnderTest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    only = options_of(metafunc.config).only
    cases = [
        pytest.param(backend, case, id=case.header.name)
        for backend in backends_of(metafunc.config)
        for case in selected(builtin_cases(backend.binding.name), only, backend)
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
