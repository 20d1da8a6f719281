"""The clock of tests (11.1). Where it stands is no record: it is the ``now`` of every later call."""

from __future__ import annotations

from typing import Final

from workspec.core.rule import Operation, ids
from workspec.jobs.facts import STORE_KEY
from workspec.jobs.operations.shared import nothing


def _verb(name: str, requirements: str) -> Operation:
    return Operation(
        name,
        checks=(),
        steps=(),
        answer=nothing,
        locate=lambda _scope: STORE_KEY,
        requirements=ids(requirements),
    )


OPERATIONS: Final = (
    _verb("freeze_clock", "JOB-CLK-01 JOB-CLK-04"),
    _verb("advance_clock", "JOB-CLK-03 JOB-CLK-01 JOB-CLK-04"),
    _verb("unfreeze_clock", "JOB-CLK-01 JOB-CLK-04"),
)
