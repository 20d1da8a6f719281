"""The walks of each contract; one test each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workcert.plugin import asked
from workcert.run.engine import Options
from workcert.walk import run_walk


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    contracts = [pytest.param(backend, options, id=backend.binding.name) for backend, options in asked(metafunc.config)]
    metafunc.parametrize(("workcert_store", "options"), contracts, indirect=["workcert_store"])


def test_walk(options: Options, workcert_generated: Callable[..., None]) -> None:
    workcert_generated(run_walk, options)
