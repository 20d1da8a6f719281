"""Grading every fault of a contract, on as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Final

from attrs import evolve, frozen

from workcert.adversity.crashes.sweep import run_crashes
from workcert.adversity.interleavings.suite import run_interleavings
from workcert.adversity.part import SUITE as ADVERSITY
from workcert.binding import bindings
from workcert.cases.cost import cost
from workcert.cases.library import builtin_cases
from workcert.cases.model import Case
from workcert.faults.derived import derived
from workcert.faults.fault import Fault
from workcert.faults.field import field_faults
from workcert.faults.field.model import Tier
from workcert.faults.footprint import MOST_CHEAP, Footprint, footprints
from workcert.faults.grades import SURVIVED, Grade
from workcert.faults.grading import TOUR, Found, Suites, grade, signature
from workcert.faults.restarts import forgotten_facts
from workcert.faults.views import stale_views
from workcert.run.engine import Effort, Options
from workcert.tour.suite import selected
from workcert.walk import run_walk

SCENARIOS: Final = "scenarios"
VOLUME: Final = "scenarios of volume"
WALK: Final = "walk"
KILLS: Final = "adversity by kills"
BY_TIER: Final[Mapping[str, tuple[str, ...]]] = {Tier.INTERLEAVING: (ADVERSITY,), Tier.CRASH: (KILLS,)}
"""What shows the faults of a tier, where calls one after the other do not."""
WITHIN: Final = {VOLUME: SCENARIOS, KILLS: ADVERSITY}
"""Parts of a suite that are one for a certificate."""


@cache
def faults_of(contract: str) -> tuple[Fault, ...]:
    """Every seeded fault of a contract, in a fixed order."""
    binding = bindings()[contract]
    return (*derived(binding), *forgotten_facts(binding), *stale_views(binding), *field_faults(binding))


@frozen
class Asked:
    """What to grade: the faults of a contract with these numbers, at an effort, by the suites of these names."""

    contract: str
    numbers: tuple[int, ...]
    effort: Effort
    seed: int
    suites: tuple[str, ...]


@frozen
class Graded:
    """One fault with what became of it, and what it took."""

    number: int
    grade: Grade
    found: Found | None


def graded(asked: Asked, processes: int | None = None) -> Iterator[Graded]:
    """Grade the faults one by one, in the order of their numbers."""
    workers = processes or os.cpu_count() or 1
    if workers == 1:
        yield from (_graded(asked, number) for number in asked.numbers)
        return
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    # Where processes are forked they find these made.
    _suites(asked.contract, asked.effort, asked.seed)
    faults_of(asked.contract)
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(_graded, [asked] * len(asked.numbers), asked.numbers, chunksize=1)


def _graded(asked: Asked, number: int) -> Graded:
    fault = faults_of(asked.contract)[number]
    binding = bindings()[asked.contract]
    every = _suites(asked.contract, asked.effort, asked.seed)
    # What only calls that meet can show is tried by calls that meet: each time, and by no luck. So with kills.
    meeting = BY_TIER.get(fault.tier, ())
    said = Grade(fault.name, str(fault.kind), fault.requirements, SURVIVED, tier=fault.tier, cause=fault.cause)
    found = grade(binding, fault, every.only(meeting)) if meeting else None
    found = found or grade(binding, fault, every.only(asked.suites))
    if found is None:
        return Graded(number, said, None)
    caught = evolve(
        said,
        fate=str(found.fate),
        suite=WITHIN.get(found.suite, found.suite),
        requirement=found.requirement,
        calls=found.calls,
        length=found.length,
        signature=signature(binding, fault, every),
    )
    return Graded(number, caught, found)


@cache
def _suites(contract: str, effort: Effort, seed: int) -> Suites:
    """The tours come first, and of the scenarios those of volume last; in each suite the cheapest cases: what a short
    one finds is soon found and shrunk."""
    binding = bindings()[contract]

    def by_cost(cases: Iterable[Case]) -> list[Footprint]:
        return sorted(footprints(binding, tuple(cases)), key=lambda each: (cost(each.case), each.steps))

    options = Options(effort=effort, seed=seed, explains=False)
    cases = builtin_cases(contract)
    of_cases = (
        (TOUR, by_cost(selected(contract, ()))),
        (SCENARIOS, by_cost(case for case in cases if cost(case) <= MOST_CHEAP)),
        (VOLUME, by_cost(case for case in cases if cost(case) > MOST_CHEAP)),
    )
    return Suites(of_cases, ((ADVERSITY, run_interleavings), (KILLS, run_crashes), (WALK, run_walk)), options)
