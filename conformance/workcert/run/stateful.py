"""The stateful suite: Hypothesis drives a machine of the contract, the judge judges every step.

Hypothesis generates and its failure becomes a case; our shrinker alone shrinks it. A requirement that has failed is
passed over in the examples that follow, so that one run finds several faults.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from workcert.machines.histories import history_of
from workcert.machines.strategies import machine_of
from workcert.run.calling import watched
from workcert.run.campaign import Campaign, StepFailed
from workcert.run.engine import Effort, Options
from workcert.run.events import Emit, SuiteEnded, SuiteStarted
from workcert.run.store import StoreUnderTest

STEPS: Final = {Effort.QUICK: 30, Effort.CI: 40, Effort.DEEP: 60}

BATCH: Final = 12
"""Examples of one engine. After its first ten it mutates each new one several times, which finds less than new ones do,
and it remembers every choice of every example, half a megabyte for a long one."""
BATCH_OF_CHANGEABLE: Final = 2
"""Of a store that may answer the same calls otherwise the next time, as some choices allow: an engine that comes
through a beginning twice gives up where it goes on otherwise. Its first example is always the least one."""
SEEDS_APART: Final = 1_000_003
"""Between the seeds of two batches, so that runs with neighbouring seeds share none."""


def machine_settings(options: Options, examples: int) -> settings:
    """Generate only: our shrinker shrinks, and a run is bounded by counts.

    ``deadline`` is None because a step's time is the store's, and a slow disk is no finding.
    """
    deep = options.effort is Effort.DEEP
    phases = (Phase.explicit, Phase.reuse, Phase.generate) if deep else (Phase.explicit, Phase.generate)
    return settings(
        max_examples=max(examples, 1),
        stateful_step_count=STEPS[options.effort],
        phases=phases,
        database=DirectoryBasedExampleDatabase(Path(".workcert") / "examples") if deep else None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
    )


def run_stateful(store: StoreUnderTest, options: Options, emit: Emit) -> Campaign:
    """Run the machine of the backend's contract for the examples that the options ask for."""
    began = time.perf_counter()
    wanted = options.example_count(store.backend.binding)
    emit(SuiteStarted(store.backend.binding.name, "stateful", wanted))
    campaign = Campaign(store, options, emit, "stateful")
    batch, size = 0, BATCH
    while campaign.goes_on:
        begun = campaign.examples
        left = wanted - begun
        if left <= 0:
            break
        if not drive(campaign, min(left, size), batch):
            size = BATCH_OF_CHANGEABLE
        if campaign.failed is not None:
            campaign.examine()
        elif campaign.examples == begun:
            break
        else:
            batch += 1
    campaign.conclude()
    emit(SuiteEnded("stateful", time.perf_counter() - began))
    return campaign


def drive(campaign: Campaign, examples: int, batch: int = 0) -> bool:
    """Let Hypothesis run the contract's machine; a failure is left in the campaign.

    Returns:
        False when the store answered the same calls on an empty store otherwise than before: its answers decide what an
        example can do next, so that Hypothesis gives up.
    """
    machine = machine_of(history_of(campaign.store.backend.binding.name), campaign)
    # The seed is read from this attribute by run_state_machine_as_test; `hypothesis.seed` sets the same one.
    machine._hypothesis_internal_use_seed = campaign.options.seed + batch * SEEDS_APART
    with watched(), suppress(StepFailed):
        try:
            run_state_machine_as_test(machine, settings=machine_settings(campaign.options, examples))
        except Flaky:
            return False
    return True
