"""How often a generating suite accuses a store that is right: it must be never.

    PYTHONPATH=spec:impl:conformance python conformance/bench/bench_false_alarms.py --backend memory --examples 2000
    PYTHONPATH=spec:impl:conformance python conformance/bench/bench_false_alarms.py --suite walk --contract jobs

Runs the suite once for each seed and prints examples, steps and failures, each failure with its shrunk case. The exit
code is 1 when there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Final

from workcert.backends.registry import BackendError, LoadedBackend, find
from workcert.cases.write import write
from workcert.run.engine import Effort, Options
from workcert.run.events import CaseEnded, Event, ExamplesRun, Verdict
from workcert.run.stateful import run_stateful
from workcert.run.store import StoreUnderTest
from workcert.walk import run_walk

DRIVERS: Final = {"stateful": run_stateful, "walk": run_walk}


def run(backend: LoadedBackend, suite: str, examples: int, seed: int) -> int:
    """One seed; how many failures it found."""
    ended: list[CaseEnded] = []
    done = ExamplesRun(suite, 0, 0)

    def emit(event: Event) -> None:
        nonlocal done
        if isinstance(event, ExamplesRun):
            done = event
        elif isinstance(event, CaseEnded) and event.verdict is not Verdict.PASSED:
            ended.append(event)

    began = time.perf_counter()
    with StoreUnderTest.of(backend) as store:
        DRIVERS[suite](store, Options(effort=Effort.CI, examples=examples, seed=seed), emit)
    print(f"{seed:4} {done.done:9,} {done.steps:9,} {len(ended):9} {time.perf_counter() - began:8.1f}", flush=True)
    for event in ended:
        print(f"     {event.verdict}: {event.failure.requirements if event.failure else event.reason}")
        print(f"     {event.failure.text if event.failure else ''}")
        print("" if event.case is None else write(event.case))
    return len(ended)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--backend", default="memory", help="memory, sqlite, specification, or package.module:NAME")
    parser.add_argument("--suite", choices=sorted(DRIVERS), default="stateful")
    parser.add_argument("--contract", default="workload")
    parser.add_argument("--examples", type=int, default=2000, help="or walks, for each seed")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    try:
        (backend,) = (each for each in find(asked.backend) if each.binding.name == asked.contract)
    except BackendError as error:
        print(error, file=sys.stderr)
        return 2
    print("seed  examples     steps  failures  seconds")
    failures = sum(
        run(backend, asked.suite, asked.examples, seed)
        for seed in range(asked.first_seed, asked.first_seed + asked.seeds)
    )
    print(f"{failures} failures: {'ok' if not failures else 'FALSE ALARMS, or a store that is wrong'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
