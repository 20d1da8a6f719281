"""The tours: what search has reached, as case files; one test each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workcert.cases.model import Case
from workcert.plugin import asked
from workcert.run.engine import wanted_ids
from workcert.tour.suite import selected


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = [
        pytest.param(backend, case, id=case.header.name)
        for backend, options in asked(metafunc.config)
        for case in selected(backend.binding.name, wanted_ids(options.only, backend))
    ]
    metafunc.parametrize(("workcert_store", "case"), cases, indirect=["workcert_store"])


def test_tour(case: Case, workcert_case: Callable[[str, Case], None]) -> None:
    workcert_case("tour", case)
