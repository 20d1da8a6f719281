"""A failing case on a place that was never used: elsewhere it may be what earlier cases left behind that fails it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from attrs import define, field

from workcert.cases.model import Case, Together, every_step
from workcert.judge.verdict import Failure
from workcert.run.case import CaseRun, run_case, soils
from workcert.run.store import StoreUnderTest
from workcert.shrink import StillFails

TIMES: Final = 3
"""So often a case has to pass on places that were never used before anything is said of a reset."""
MOST_TRIED: Final = 20
"""Of the cases on the way to a shrunk one, the last so many; then the one that it was made of."""


def run_fresh(store: StoreUnderTest, case: Case) -> CaseRun:
    """Run a case on a place that was never used, as one who replays it will."""
    store.use_up()
    return run_case(store, case)


def run_confirming(store: StoreUnderTest, case: Case) -> CaseRun:
    """Run a case that is to be told of: on a fresh place, where that may say anything."""
    return run_case(store, case) if hangs_on_time(case) else run_fresh(store, case)


def hangs_on_time(case: Case) -> bool:
    """Whether it fails may be another thing each time, and no place says why."""
    return any(isinstance(step, Together) for step in every_step(case.steps))


@define
class Confirming:
    """``failing``: the cases that failed on the way to the smallest one, in the order in which they were found."""

    store: StoreUnderTest
    requirement: str
    failing: list[Case] = field(factory=list)
    executions: int = 0

    def noting(self, still_fails: StillFails) -> StillFails:
        """The same, and each case that fails is kept."""

        def noted(case: Case) -> str | None:
            found = still_fails(case)
            if found is not None:
                self.failing.append(case)
            return found

        return noted

    def least(self, wanted: Case, original: Case) -> Case:
        """The one that is wanted, if it fails on a fresh place too; else the last before it that does, and where none
        is found the original."""
        if hangs_on_time(wanted):
            return wanted
        last = self.failing[: -MOST_TRIED - 1 : -1]
        for case in (wanted, *(each for each in last if each is not wanted)):
            self.executions += 1
            failure = run_fresh(self.store, case).failure
            if failure is not None and failure.requirement == self.requirement:
                return case
        return original


def survives_reset(store: StoreUnderTest, case: Case) -> bool:
    """A case that failed again and again where the place had been emptied passes where it was never used."""
    if not store.backend.can("reset") or hangs_on_time(case) or soils(case):
        return False
    return all(run_fresh(store, case).failure is None for _ in range(TIMES))


def said_of_reset(failure: Failure, failed: Sequence[CaseRun]) -> Failure:
    """The failure with what it is a finding about."""
    text = (
        f"{failure.text}. So it was {len(failed)} of {len(failed)} times on a place that reset had emptied. On "
        f"one that was never used the case passes, {TIMES} of {TIMES} times: something that earlier cases left behind "
        "survives reset. Mend that first, or take 'reset' out of abilities: the kit then uses a fresh place each time"
    )
    return attrs.evolve(failure, text=text)
