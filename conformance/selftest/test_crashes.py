"""A method that only raises is named by what the operation is for, not by what holds of calls in general."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from workcert.backends.registry import describe
from workcert.cases.model import Case, calls_of
from workcert.judge.verdict import Failure, Kind
from workcert.run.case import run_case
from workcert.run.store import StoreUnderTest

from .miniatures import WORKLOAD
from .miniatures.catching import scenarios
from .miniatures.handles import Around, Wrapped

FAMILIES = {
    "admit": "WRK-ADM",
    "claim": "WRK-CLM",
    "start": "WRK-STR",
    "heartbeat": "WRK-HBT",
    "execution_context": "WRK-CTX",
    "checkpoint": "WRK-CKP",
    "complete": "WRK-CMP",
    "fail": "WRK-FAL",
    "time_out": "WRK-TMO",
    "cancel": "WRK-CAN",
    "acknowledge_cancel": "WRK-CAN",
    "retry": "WRK-RTY",
    "enforce_deadlines": "WRK-EDL",
    "recover_expired": "WRK-REC",
    "migrate": "WRK-MIG",
    "get": "WRK-PRT",
    "list_workloads": "WRK-PRT",
}
ENOUGH = 6
"""Cases that fail, for each operation: some cases meet it where it must be refused."""


def raising(operation: str) -> type[Around]:
    class Raising(Around):
        def __getattr__(self, name: str) -> Any:
            if name != operation:
                return super().__getattr__(name)

            def call(**_arguments: Any) -> Any:
                raise ZeroDivisionError("no worker is no divisor")

            return call

    return Raising


def failures(operation: str) -> list[tuple[Case, Failure]]:
    with StoreUnderTest.of(describe("store", Wrapped(raising(operation)))) as store:
        met = (case for case in scenarios() if any(call.call == operation for call in calls_of(case)))
        ended = ((case, run_case(store, case).failure) for case in met)
        return list(islice(((case, failure) for case, failure in ended if failure is not None), ENOUGH))


def test_every_operation_is_there() -> None:
    assert FAMILIES.keys() == {operation.name for operation in WORKLOAD.contract.operations}


@pytest.mark.parametrize("operation", FAMILIES)
def test_operation_that_raises_is_named_by_its_own_requirements(operation: str) -> None:
    found = failures(operation)
    own = [failure for _case, failure in found if failure.requirement.startswith(FAMILIES[operation])]
    assert own
    for case, failure in found:
        assert failure.kind is Kind.CRASH
        assert "ZeroDivisionError" in failure.text
        # A case that was written for a check of every call, such as the fence, names that.
        assert failure in own or failure.requirement in case.header.requirements
