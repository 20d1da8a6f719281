"""The races of the scenarios once more, each caller in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from workcert.backends.registry import LoadedBackend
from workcert.cases.library import builtin_cases
from workcert.cases.model import Case, Together, every_step, required_abilities
from workcert.run.case import lacking
from workcert.run.engine import Effort

MOST_PROCESSES: Final = 8
"""At once, but for effort deep: to start one takes as long as a hundred calls."""


def races_apart(backend: LoadedBackend, effort: Effort) -> Iterator[Case]:
    """Those that this backend can be asked for; at effort deep with all their rounds, else with one."""
    for case in builtin_cases(backend.binding.name):
        if not any(isinstance(step, Together) for step in every_step(case.steps)):
            continue
        apart = _apart(case, every_round=effort is Effort.DEEP)
        few = effort is Effort.DEEP or len(case.header.handles) <= MOST_PROCESSES
        if few and not lacking(apart, backend):
            yield apart


def _apart(case: Case, *, every_round: bool) -> Case:
    steps = tuple(_changed(step, every_round) if isinstance(step, Together) else step for step in case.steps)
    made = Case(evolve(case.header, name=f"{case.header.name}-apart"), steps)
    return evolve(made, header=evolve(made.header, abilities=tuple(sorted(required_abilities(made)))))


def _changed(step: Together, every_round: bool) -> Together:
    return evolve(step, apart=True, rounds=step.rounds if every_round else 1)
