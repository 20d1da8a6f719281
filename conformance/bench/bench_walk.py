"""The walk against the Hypothesis machine on the same store, judging included: steps per second, in turns.

    PYTHONPATH=spec:impl:conformance python conformance/bench/bench_walk.py [backend ...]

Each round runs the one and then the other, each for about the same number of steps; the figure is the median of the
ratios of the rounds. Bars: at least 4 times on memory and 2 times on sqlite.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Final

from workcert.backends.registry import LoadedBackend, find
from workcert.run.campaign import Campaign
from workcert.run.engine import Effort, Options
from workcert.run.events import silent
from workcert.run.stateful import BATCH, drive
from workcert.run.store import StoreUnderTest
from workcert.walk.suite import walk

BARS: Final = {"memory": 4.0, "sqlite": 2.0}
ROUNDS: Final = 5
STEPS: Final = 1200
"""Of each driver in each round."""


def by_machine(campaign: Campaign, number: int) -> None:
    drive(campaign, BATCH, number)


def seconds_per_step(backend: LoadedBackend, advance: Callable[[Campaign, int], None], turn: int) -> float:
    """A driver until it has made its steps; the first examples, which fill caches, are not counted."""
    with StoreUnderTest.of(backend) as store:
        campaign = Campaign(store, Options(effort=Effort.CI, seed=turn), silent, "bench")
        advance(campaign, 0)
        first, began, number = campaign.steps, time.perf_counter(), 1
        while campaign.steps - first < STEPS:
            advance(campaign, number)
            assert campaign.failed is None, campaign.failed
            number += 1
        return (time.perf_counter() - began) / (campaign.steps - first)


def ratio(backend: LoadedBackend, rounds: int) -> float:
    pairs = [
        (seconds_per_step(backend, by_machine, turn), seconds_per_step(backend, walk, turn)) for turn in range(rounds)
    ]
    machine, walked = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = [one / other for one, other in pairs]
    print(
        f"{backend.name:15} {backend.binding.name:9} "
        f"machine {1 / machine:6.0f} steps/s, walk {1 / walked:6.0f} steps/s, "
        f"ratio {statistics.median(ratios):.2f} [{min(ratios):.2f}..{max(ratios):.2f}]",
        flush=True,
    )
    return statistics.median(ratios)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("backends", nargs="*", default=["memory", "sqlite"])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    missed = []
    for name in asked.backends:
        bar = next((each for part, each in BARS.items() if part in name.lower()), 0.0)
        for backend in find(name):
            if ratio(backend, asked.rounds) < bar:
                missed.append(f"{name} {backend.binding.name}")
    print(f"missed: {', '.join(missed)}" if missed else "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
