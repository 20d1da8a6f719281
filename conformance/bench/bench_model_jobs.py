"""How many calls the model of the jobs contract decides and commits in a second.

    PYTHONPATH=spec python conformance/bench/bench_model_jobs.py

Each call works on a store that began with twenty jobs in three queues. The mix is that of the random walks which hold
the stores beside the rules: every operation of the contract, accepted and refused, on states that such walks reach;
three calls in ten admit or ack. The bar is 15,000 calls per second. Prints the median of five rounds, and where the
time goes by operation; the exit code is 1 below the bar.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import evolve

from workspec.core.interpreter import Accepted, apply
from workspec.core.record import State
from workspec.core.sample import Sample, walk
from workspec.core.scope import Call
from workspec.jobs.contract import CONTRACT
from workspec.jobs.facts import JobFacts
from workspec.jobs.samples import PLAIN, propose

BAR: Final = 15_000
ROUNDS: Final = 5
JOBS: Final = 20
QUEUES: Final = ("q", "p", "default")
PARTITIONS: Final = ("", "A", "B")
WALKS: Final = 60
STEPS: Final = 50
SEED: Final = 11
SHOWN: Final = 8


def stored_jobs() -> State:
    """Under ids of which the walks name the first few; all retained, so that few of them vanish."""
    envelopes = [
        evolve(
            PLAIN,
            id=chr(ord("a") + number),
            queue=QUEUES[number % len(QUEUES)],
            partition_key=PARTITIONS[number % len(PARTITIONS)],
            fingerprint=f"g{number}",
            retention_ms=60_000,
        )
        for number in range(JOBS)
    ]
    call = Call("enqueue", {"envelopes": envelopes})
    done = apply(CONTRACT, {}, call, CONTRACT.instant(call, 0))
    assert isinstance(done.outcome, Accepted), done.outcome
    return done.state


def mix() -> list[Sample]:
    pick = random.Random(SEED).choice
    return list(walk(CONTRACT, propose, pick, walks=WALKS, steps=STEPS, start=stored_jobs()))


def rows_in(state: State) -> int:
    return sum(1 for record in state.values() if isinstance(record.facts, JobFacts))


def seconds(samples: Iterable[Sample]) -> float:
    begin = time.perf_counter()
    for sample in samples:
        apply(CONTRACT, sample.state, sample.call, sample.now)
    return time.perf_counter() - begin


def show_by_operation(samples: Sequence[Sample]) -> None:
    by_name: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_name[sample.call.name].append(sample)
    taken = {name: seconds(group) for name, group in by_name.items()}
    total = sum(taken.values())
    print("the operations that take most of the time:")
    for name in sorted(taken, key=taken.__getitem__, reverse=True)[:SHOWN]:
        number = len(by_name[name])
        print(f"  {name:28}{number / len(samples):6.1%} of the calls{taken[name] / total:8.1%} of the time", end="")
        print(f"{taken[name] / number * 1e6:8.0f} us each")


def main() -> int:
    samples = mix()
    seconds(samples)
    rates = [len(samples) / seconds(samples) for _ in range(ROUNDS)]
    median = statistics.median(rates)
    print(f"{median:,.0f} calls per second (median of {ROUNDS}, from {min(rates):,.0f} to {max(rates):,.0f})")
    rows = statistics.mean(rows_in(sample.state) for sample in samples)
    print(f"{len(samples):,} calls on {rows:.1f} jobs on average; the bar is {BAR:,}: ", end="")
    print("ok" if median >= BAR else "TOO SLOW")
    show_by_operation(samples)
    return 0 if median >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
