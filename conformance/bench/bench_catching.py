"""How well each suite catches the miniature faults, and how it names them.

    PYTHONPATH=spec:impl:conformance python conformance/bench/bench_catching.py --examples 500 --seeds 3

Every fault is tried by the scenarios and, for each seed, by the stateful suite. Prints a line for each: the requirement
named (marked where it is none of those that a person would look up), calls until found, seconds with replays and
shrinking, steps of the shrunk case. The exit code is 1 when a fault escapes both suites.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tabulate import tabulate

from selftest.miniatures import MINIATURES, SCENARIOS, STATEFUL, Caught, Miniature, caught
from workcert.shrink import size

HEADERS = ("fault", "suite", "requirement", "calls", "seconds", "steps")


def tried(miniature: Miniature, examples: int, seeds: int) -> Iterator[tuple[str, Caught | None]]:
    yield SCENARIOS, caught(miniature.name, miniature.make(), SCENARIOS)
    for seed in range(seeds):
        yield (
            f"{STATEFUL}, seed {seed}",
            caught(miniature.name, miniature.make(), STATEFUL, examples=examples, seed=seed),
        )


def row(miniature: Miniature, suite: str, found: Caught | None) -> tuple[object, ...]:
    if found is None:
        return (miniature.name, suite, "-", "", "", "")
    named = found.requirement if found.requirement in miniature.right else f"{found.requirement} ?"
    return (miniature.name, suite, named, found.steps, f"{found.seconds:.1f}", size(found.case))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--examples", type=int, default=500, help="of the stateful suite; 500 is the effort ci")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="", help="part of the name of a fault")
    asked = parser.parse_args()
    results = [
        (miniature, suite, found)
        for miniature in MINIATURES
        if asked.only in miniature.name
        for suite, found in tried(miniature, asked.examples, asked.seeds)
    ]
    print(tabulate([row(*result) for result in results], HEADERS, disable_numparse=True))
    by_suite = [(suite == SCENARIOS, found, miniature) for miniature, suite, found in results]
    for scenarios in (True, False):
        mine = [(found, miniature) for is_scenario, found, miniature in by_suite if is_scenario is scenarios]
        hits = [(found, miniature) for found, miniature in mine if found is not None]
        right = sum(found.requirement in miniature.right for found, miniature in hits)
        print(f"{SCENARIOS if scenarios else STATEFUL}: {len(hits)} of {len(mine)} caught, {right} named as expected")
    escaped = {m.name for m, _, _ in results} - {m.name for m, _, found in results if found is not None}
    print(f"escaped both suites: {', '.join(sorted(escaped)) or 'none'}")
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())
