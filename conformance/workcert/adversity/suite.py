"""The suite ``adversity``: its parts, one after the other."""

from __future__ import annotations

import time
from typing import Final

from attrs import define

from workcert.adversity import interleavings, parallel
from workcert.adversity.crashes import CRASHES, DAMAGED_FILES, FAILING_DISKS
from workcert.adversity.handles import HANDLES
from workcert.adversity.part import SUITE, Part
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Emit, Event, ExamplesRun, SuiteEnded, SuiteStarted, Verdict
from workcert.run.store import StoreUnderTest

PARTS: Final[tuple[Part, ...]] = (
    interleavings.PART,
    parallel.PART,
    CRASHES,
    DAMAGED_FILES,
    FAILING_DISKS,
    HANDLES,
)


def run_adversity(store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """Every part, in order.

    Raises:
        BackendError: the backend cannot be used, or lies about an ability.
    """
    began = time.perf_counter()
    # How much a part tries hangs on the backend, so that nobody knows it beforehand.
    emit(SuiteStarted(store.backend.binding.name, SUITE, 0))
    summed = _Summed(emit)
    for part in PARTS:
        run_part(part, store, options, summed)
        summed.next()
    emit(SuiteEnded(SUITE, time.perf_counter() - began))


@define
class _Summed:
    """Passes events on; what the parts have tried adds up."""

    _emit: Emit
    _before: tuple[int, int] = (0, 0)
    _now: tuple[int, int] = (0, 0)

    def __call__(self, event: Event) -> None:
        if isinstance(event, ExamplesRun):
            self._now = (self._before[0] + event.done, self._before[1] + event.steps)
            event = ExamplesRun(SUITE, *self._now)
        self._emit(event)

    def next(self) -> None:
        """The next part counts from zero."""
        self._before = self._now


def run_part(part: Part, store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """One part, or why it is left out.

    Raises:
        BackendError: as `run_adversity`.
    """
    lacking = sorted(part.needs - store.backend.abilities)
    if lacking:
        reason = f"the backend has not the ability {', '.join(lacking)}"
        emit(CaseEnded(SUITE, part.name, Verdict.SKIPPED, reason=reason))
        return
    part.run(store, options, emit)
