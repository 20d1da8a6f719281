"""What a case expects literally was written for its own values: no shrunk case is left that accuses a right store."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from workcert.cases.model import Ok
from workcert.run.case import run_case
from workcert.run.engine import shrunk_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest

from .report_samples import admit, backend_answering, case, claim, specification

AT = 100


def test_an_expectation_that_no_longer_fits_is_not_the_failure() -> None:
    """The store fails as often as it is asked about the whole case, and then no more. Of smaller cases it is seen only
    that they expect what was written."""
    left = 3

    def at_first(name: str, answer: Any) -> Any:
        nonlocal left
        if name != "claim" or not left:
            return answer
        left -= 1
        return evolve(answer, claimed_at=answer.claimed_at + 1)

    def written(requirement: str) -> Any:
        expecting = evolve(claim("c1", AT), expect=Ok({"claimed_at": AT}))
        return case(admit(), expecting, requirements=(requirement,))

    with StoreUnderTest.of(backend_answering(at_first)) as wrong, StoreUnderTest.of(specification()) as right:
        found = run_case(wrong, written("WRK-CLM-01")).failure
        assert found is not None
        shrunk, _executions = shrunk_case(wrong, written(found.requirement), found)
        assert left == 0
        assert run_case(right, shrunk).verdict is Verdict.PASSED
