"""Several processes on one file of the SQLite job store: whether each gets its share, and how long a call waits.

    python impl/bench/bench_jobs_writers.py

Four processes admit and ack, one job at a time, at synchronous FULL; then one does, alone. The slowest has to get at
least half of what the fastest gets, one call in a thousand may take 250 ms or more, and all together have to do at
least 0.6 of what one alone does. The exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final, TypeAlias

from attrs import frozen
from jobs_loads import Verdict, ack, admit, enqueue_all, requests

from workstore.sqlite.jobs import JobStore

WRITERS: Final = 4
SECONDS: Final = 4.0
ROUNDS: Final = 5
BACKLOG: Final = 60_000
SHARE_BAR: Final = 0.5
WAIT_BAR_MS: Final = 250
TOTAL_BAR: Final = 0.6

Reports: TypeAlias = "multiprocessing.Queue[list[float]]"


@frozen
class Round:
    """What each process did, and every call of all of them, in seconds."""

    counts: list[int]
    waits: list[float]


def work(path: Path, start: Event, seconds: float, reports: Reports) -> None:
    """Reports the time of each call: of admissions and acks in turn."""
    with JobStore.open(path, busy_timeout_ms=60_000) as store:
        start.wait()
        waits: list[float] = []
        end = time.perf_counter() + seconds
        while (before := time.perf_counter()) < end:
            (claim,) = admit(store, 1)
            between = time.perf_counter()
            ack(store, claim)
            waits += [between - before, time.perf_counter() - between]
    reports.put(waits)


def run(path: Path, writers: int, seconds: float) -> Round:
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    reports: Reports = context.Queue()
    processes = [context.Process(target=work, args=(path, start, seconds, reports)) for _ in range(writers)]
    for process in processes:
        process.start()
    time.sleep(0.5)  # All have opened the file by then; one that has not begins a little later.
    start.set()
    found = [reports.get(timeout=seconds + 120) for _ in processes]
    for process in processes:
        process.join()
    return Round([len(waits) // 2 for waits in found], [wait for waits in found for wait in waits])


def percentile_ms(waits: list[float], share: float) -> float:
    ordered = sorted(waits)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args()
    together: list[Round] = []
    alone: list[Round] = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "jobs.db"
        with JobStore.open(path, synchronous="NORMAL") as store:
            enqueue_all(store, requests(BACKLOG, partitions=10))
        for _ in range(options.rounds):
            together.append(run(path, WRITERS, options.seconds))
            alone.append(run(path, 1, options.seconds / 2))
    return report(together, alone, options.seconds)


def report(together: list[Round], alone: list[Round], seconds: float) -> int:
    verdict = Verdict()
    waits = [wait for one in together for wait in one.waits]
    totals = [sum(one.counts) / seconds for one in together]
    rates = [sum(one.counts) / (seconds / 2) for one in alone]
    share = statistics.median(min(one.counts) / max(one.counts) for one in together)
    total = statistics.median(one / other for one, other in zip(totals, rates, strict=True))
    late_ms = percentile_ms(waits, 0.999)
    print(f"\n{WRITERS} processes on one file, FULL; median of {len(together)} rounds of {seconds:g} s")
    print(f"jobs per second: {statistics.median(totals):,.0f} together, {statistics.median(rates):,.0f} alone")
    print(f"total, of one process alone   {total:8.2f}   {verdict.at_least('total', total, TOTAL_BAR)}")
    print(f"slowest of fastest            {share:8.2f}   {verdict.at_least('share', share, SHARE_BAR)}")
    print(f"p99.9 of a call, ms           {late_ms:8.1f}   {verdict.at_most('p99.9', late_ms, WAIT_BAR_MS)}")
    print(f"p50 {percentile_ms(waits, 0.5):.2f} ms, p99 {percentile_ms(waits, 0.99):.1f} ms, ", end="")
    print(f"longest {max(waits) * 1000:.1f} ms of {len(waits):,} calls")
    return verdict.exit_code()


if __name__ == "__main__":
    sys.exit(main())
