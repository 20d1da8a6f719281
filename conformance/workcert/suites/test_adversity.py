"""The parts of the adversity suite on each contract; one test each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from workcert.adversity import PARTS, Part, run_part
from workcert.plugin import asked
from workcert.run.engine import Options


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parts = [
        pytest.param(backend, options, part, id=f"{backend.binding.name}-{part.name}")
        for backend, options in asked(metafunc.config)
        for part in PARTS
    ]
    metafunc.parametrize(("workcert_store", "options", "part"), parts, indirect=["workcert_store"])


def test_adversity(part: Part, options: Options, workcert_generated: Callable[..., None]) -> None:
    workcert_generated(partial(run_part, part), options)
