"""The histories of each contract: what a generating suite may do next."""

from __future__ import annotations

from typing import Any


def history_of(contract: str) -> type[Any]:
    """The class whose instances are examples; see `workcert.machines.rules` for what it holds."""
    from workcert.machines.jobs import JobsMachine
    from workcert.machines.workload import WorkloadMachine

    known: dict[str, type[Any]] = {"workload": WorkloadMachine, "jobs": JobsMachine}
    return known[contract]
