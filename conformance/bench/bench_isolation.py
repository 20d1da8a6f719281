"""What an empty store for the next example costs: emptied by the backend's reset, or at a fresh place.

Each figure includes a little use of the store before. Bar: under 1 ms for an emptied one.
Run: ``python conformance/bench/bench_isolation.py [backend ...]``.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Final

from workcert.backends.registry import find
from workcert.cases.library import load_case
from workcert.cases.model import Case, unrolled
from workcert.run.execution import Execution
from workcert.run.store import StoreUnderTest

BAR_MS: Final = 1.0
ROUNDS: Final = 60


def use(store: StoreUnderTest, case: Case) -> None:
    execution = Execution(store)
    for step in unrolled(case.steps):
        execution.step(step)


def measure(store: StoreUnderTest, case: Case, *, fresh: bool) -> float:
    """Milliseconds until a used store is empty again and its first handle is open."""
    use(store, case)
    began = time.perf_counter()
    store.fresh() if fresh else store.begin()
    store.handle("A")
    return (time.perf_counter() - began) * 1e3


def main(names: list[str]) -> int:
    case = load_case("workload/18-resume-from-checkpoint")
    met = True
    for name in names:
        with StoreUnderTest.of(find(name)[0]) as store:
            store.fresh()
            emptied, fresh = [], []
            for _ in range(ROUNDS):
                emptied.append(measure(store, case, fresh=False))
                fresh.append(measure(store, case, fresh=True))
        cost, new = statistics.median(emptied), statistics.median(fresh)
        met = met and cost < BAR_MS
        print(f"{name:15} emptied {cost:.3f} ms, fresh {new:.3f} ms, ratio {cost / new:.2f}")
    print(f"bar {BAR_MS} ms: {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["memory", "sqlite"]))
