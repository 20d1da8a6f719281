"""The walk against the Hypothesis machine on the same store, judging included: steps per second, in turns.

    PYTHONPATH=spec:impl:conformance python conformance/bench/bench_walk.py [backend ...]
    PYTHONPATH=spec:impl:conformance python conformance/bench/bench_walk.py --faults 100

With ``--faults`` the time to catch instead: of each of so many wrong stores, the seconds until the first failure, of
which one that is not found within the limit counts as the limit. Bar: the geometric mean of the ratios is at least 5.

Each round runs the one and then the other, each for about the same number of steps; the figure is the median of the
ratios of the rounds. Bars: at least 4 times on memory and 2 times on sqlite.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from attrs import define
from wrong_stores import wrong_stores

from workcert.backends.registry import LoadedBackend, find
from workcert.run.campaign import Campaign
from workcert.run.engine import Effort, Options
from workcert.run.events import Emit, silent
from workcert.run.stateful import BATCH, drive
from workcert.run.store import StoreUnderTest
from workcert.walk.suite import campaign_of, walk

BARS: Final = {"memory": 4.0, "sqlite": 2.0}
FAULTS_BAR: Final = 5.0
LIMIT_S: Final = 20.0
"""For one driver on one wrong store."""
ROUNDS: Final = 61
"""Of one batch of examples each: short, so that both meet the same neighbours on a machine that is shared, and many,
since the ratios of single rounds lie between 2.5 and 6."""
STEPS: Final = 400
"""Of each driver in each round, at least."""


Begin: TypeAlias = Callable[[StoreUnderTest, Options, Emit], Campaign]


@define
class Driver:
    """One of the two, with what it has used so far."""

    campaign: Campaign
    advance: Callable[[Campaign, int], None]
    number: int = 0

    def go(self, least: int) -> float:
        """Seconds a step over at least so many steps."""
        first, began = self.campaign.steps, time.perf_counter()
        while self.campaign.steps - first < least:
            self.advance(self.campaign, self.number)
            assert self.campaign.failed is None, self.campaign.failed
            self.number += 1
        return (time.perf_counter() - began) / (self.campaign.steps - first)


def of_machine(store: StoreUnderTest, options: Options, emit: Emit) -> Campaign:
    return Campaign(store, options, emit, "stateful")


def by_machine(campaign: Campaign, number: int) -> None:
    drive(campaign, BATCH, number)


def ratio(backend: LoadedBackend, rounds: int) -> float:
    options = Options(effort=Effort.CI, seed=1)
    with StoreUnderTest.of(backend) as one, StoreUnderTest.of(backend) as other:
        machine = Driver(of_machine(one, options, silent), by_machine)
        walks = Driver(campaign_of(other, options, silent), walk)
        # The first examples fill caches.
        for driver in (machine, walks):
            driver.go(1)
        pairs = [(machine.go(STEPS), walks.go(STEPS)) for _ in range(rounds)]
    slow, fast = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = [slower / faster for slower, faster in pairs]
    print(
        f"{backend.name:15} {backend.binding.name:9} machine {1 / slow:6.0f} steps/s, walk {1 / fast:6.0f} steps/s, "
        f"ratio {statistics.median(ratios):.2f} [{min(ratios):.2f}..{max(ratios):.2f}]",
        flush=True,
    )
    return statistics.median(ratios)


# Time to catch ---------------------------------------------------------------------------------------------------


def seconds_to_catch(
    backend: LoadedBackend, begin: Begin, advance: Callable[[Campaign, int], None], limit_s: float
) -> float:
    """Until the first failure; infinite where there is none within the limit."""
    with StoreUnderTest.of(backend) as store:
        campaign = begin(store, Options(effort=Effort.CI, seed=1), silent)
        began, number = time.perf_counter(), 0
        while campaign.failed is None and not campaign.stopped:
            if time.perf_counter() - began > limit_s:
                return math.inf
            advance(campaign, number)
            number += 1
        return time.perf_counter() - began


def caught(faults: int, limit_s: float) -> bool:
    rows = []
    for wrong in wrong_stores(faults):
        slow = seconds_to_catch(wrong.backend, of_machine, by_machine, limit_s)
        fast = seconds_to_catch(wrong.backend, campaign_of, walk, limit_s)
        rows.append((slow, fast))
        print(f"machine {slow:6.2f} s, walk {fast:6.2f} s  {wrong.name}", flush=True)
    seen = [pair for pair in rows if min(pair) < math.inf]
    ratios = [min(slow, limit_s) / min(fast, limit_s) for slow, fast in seen]
    both = [slow / fast for slow, fast in rows if max(slow, fast) < math.inf]
    mean = statistics.geometric_mean(ratios)
    print(
        f"{len(rows)} wrong stores: {len(rows) - len(seen)} that neither finds in {limit_s:g} s, "
        f"{sum(slow == math.inf for slow, _ in seen)} that only the walk finds, "
        f"{sum(fast == math.inf for _, fast in seen)} that only the machine finds"
    )
    of_both = statistics.geometric_mean(both)
    print(f"time to catch, machine by walk: {mean:.2f} on {len(seen)}; {of_both:.2f} on the {len(both)} that both find")
    return mean >= FAULTS_BAR


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("backends", nargs="*", default=["memory", "sqlite"])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--faults", type=int, default=0, help="time to catch, on so many wrong stores")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S)
    asked = parser.parse_args()
    if asked.faults:
        met = caught(asked.faults, asked.limit_s)
        print(f"bar {FAULTS_BAR:g}: {'met' if met else 'missed'}")
        return 0 if met else 1
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
