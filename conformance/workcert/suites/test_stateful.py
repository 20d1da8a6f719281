"""The machine of each contract, driven by Hypothesis; one test each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import pytest

from workcert.plugin import asked
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Event
from workcert.run.stateful import run_stateful
from workcert.run.store import StoreUnderTest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    machines = [pytest.param(backend, options, id=backend.binding.name) for backend, options in asked(metafunc.config)]
    metafunc.parametrize(("workcert_store", "options"), machines, indirect=["workcert_store"])


def test_stateful(
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
        run_stateful(workcert_store, options, emit)
    workcert_verdict(ended)
