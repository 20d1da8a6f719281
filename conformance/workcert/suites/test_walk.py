"""The walks of each contract; one test each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import pytest

from workcert.plugin import asked
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Event
from workcert.run.store import StoreUnderTest
from workcert.walk import run_walk


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    contracts = [pytest.param(backend, options, id=backend.binding.name) for backend, options in asked(metafunc.config)]
    metafunc.parametrize(("workcert_store", "options"), contracts, indirect=["workcert_store"])


def test_walk(
    workcert_store: StoreUnderTest,
    options: Options,
    workcert_guard: Callable[[], AbstractContextManager[None]],
    workcert_verdict: Callable[[Sequence[CaseEnded]], None],
) -> None:
    ended: list[CaseEnded] = []

    def emit(event: Event) -> None:
        # The steps of a long run are not kept.
        if isinstance(event, CaseEnded):
            ended.append(event)

    with workcert_guard():
        run_walk(workcert_store, options, emit)
    workcert_verdict(ended)
