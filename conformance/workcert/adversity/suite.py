"""The suite ``adversity``: its parts, one after the other."""

from __future__ import annotations

import time
from typing import Final

from workcert.adversity import interleavings, parallel
from workcert.adversity.crashes import CRASHES, DAMAGED_FILES, FAILING_DISKS
from workcert.adversity.handles import HANDLES
from workcert.adversity.part import SUITE, Part
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Emit, SuiteEnded, SuiteStarted, Verdict
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
    emit(SuiteStarted(store.backend.binding.name, SUITE, len(PARTS)))
    for part in PARTS:
        run_part(part, store, options, emit)
    emit(SuiteEnded(SUITE, time.perf_counter() - began))


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
