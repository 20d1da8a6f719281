"""The hand-written cases, one test each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workcert.cases.library import builtin_cases
from workcert.cases.model import Case
from workcert.plugin import asked
from workcert.run.engine import select


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = [
        pytest.param(backend, case, id=case.header.name)
        for backend, options in asked(metafunc.config)
        for case in select(builtin_cases(backend.binding.name), options.only, backend)
    ]
    metafunc.parametrize(("workcert_store", "case"), cases, indirect=["workcert_store"])


def test_scenario(case: Case, workcert_case: Callable[[str, Case], None]) -> None:
    workcert_case("scenarios", case)
