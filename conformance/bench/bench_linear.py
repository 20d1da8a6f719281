"""What it takes to find an order for histories of callers at once, in which every call overlaps others.

    python conformance/bench/bench_linear.py

Histories are made by the interpreter, so that each fits some order: with the order of commits told, and without it.
Times are of the processor. ``floor`` is what the interpreter alone takes for the same calls in the order found.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

from tabulate import tabulate

from workcert.adversity.parallel.authors import author_of
from workcert.adversity.parallel.programs import Shape, program
from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import Binding, bindings
from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.linear import FitsAnOrder, Made, check
from workspec.core.interpreter import apply

sys.path.insert(0, str(Path(__file__).parents[1] / "selftest"))
from simulated_histories import simulated, without_tickets

SIZES: Final = ((25, 100, 5.0), (250, 10, 50.0))
"""Calls of each of four callers, how many histories, and the bar of the median in milliseconds."""
COLUMNS: Final = ("contract", "callers x calls", "histories", "commits", "median ms", "worst ms", "floor ms", "unknown")


def histories(binding: Binding, calls: int, count: int) -> Iterator[tuple[Judge, list[Made], Read]]:
    backend = describe("specification", of(binding))
    methods = frozenset(binding.calls.calls)
    for seed in range(count):
        random = Random(seed)
        case = program(backend, methods, author_of(binding.name), random, Shape(4, calls))
        yield simulated(binding, case, random, early=1.0)


def overlapping(history: Sequence[Made]) -> float:
    """The share of calls that overlap another one."""
    met = sum(any(o is not m and o.begin < m.end and m.begin < o.end for o in history) for m in history)
    return met / len(history)


def measured(binding: Binding, calls: int, count: int, told: bool) -> tuple[list[float], list[float], int]:
    times, floors, unknown = [], [], 0
    for judge, history, read in histories(binding, calls, count):
        # All but the last calls of who makes his longest.
        assert overlapping(history) > 0.8
        asked = history if told else without_tickets(history)
        began = time.process_time()
        found = check(judge, asked, read)
        times.append((time.process_time() - began) * 1000)
        if not isinstance(found, FitsAnOrder):
            unknown += 1
            continue
        state, began = judge.state, time.process_time()
        for index in found.order:
            state = apply(binding.contract, state, history[index].call, history[index].now).state
        floors.append((time.process_time() - began) * 1000)
    return times, floors, unknown


def main() -> int:
    rows, missed = [], False
    for name, binding in bindings().items():
        for calls, count, bar in SIZES:
            for told in (True, False):
                times, floors, unknown = measured(binding, calls, count, told)
                shape, commits = f"4 x {calls}", "told" if told else "not told"
                floor = median(floors) if floors else float("nan")
                rows.append((name, shape, count, commits, median(times), max(times), floor, unknown / count))
                missed = missed or (told and (median(times) > bar or unknown > 0))
    print(tabulate(rows, COLUMNS, floatfmt=".2f"))
    print("bars with commits told: median 5 ms for 4 x 25, 50 ms for 4 x 250, none unknown")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
