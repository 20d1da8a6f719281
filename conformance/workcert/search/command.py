"""The search as a command: a report for people or programs, progress on a terminal only."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tabulate import tabulate

from workcert.binding import bindings
from workcert.cases.write import write
from workcert.search import stored
from workcert.search.brief import brief_path
from workcert.search.progress import Progress
from workcert.search.reach import reach, search
from workcert.search.result import Reached, SearchResult
from workcert.search.targets import KINDS
from workspec.core.condition import ABOVE, AT, BELOW
from workspec.core.configuration import Configuration
from workspec.jobs.configurations import CONFIGURATIONS as JOBS
from workspec.workload.configurations import CONFIGURATIONS as WORKLOAD

CONFIGURATIONS: Final[Mapping[str, Sequence[Configuration]]] = {"workload": WORKLOAD, "jobs": JOBS}
"""By contract; the first is taken when none is named."""
DEFAULT_OUT: Final = Path("reports")

HOLDS, BROKEN, CANNOT_RUN = 0, 1, 2


def run(contract_name: str, configuration_name: str | None, limit: int | None, as_json: bool) -> int:
    """Search a configuration and print what was found.

    Args:
        contract_name: ``workload`` or ``jobs``.
        configuration_name: one of its configurations, the first if None.
        limit: stop after so many states.
        as_json: for programs; the report then holds the cases of violations as text.

    Returns:
        0 when all invariants hold in what was searched, 1 when one is broken, 2 when there is nothing of that name.
    """
    known = CONFIGURATIONS.get(contract_name, ())
    chosen = [each for each in known if configuration_name in (None, each.name)]
    if not chosen:
        names = ", ".join(each.name for each in known) or "none"
        wanted = f"configuration {configuration_name!r}" if known else f"contract {contract_name!r} to search"
        print(f"workcert search: no {wanted}; there are: {names}", file=sys.stderr)
        return CANNOT_RUN
    result = search(bindings()[contract_name].contract, chosen[0], limit, _progress_on_terminal())
    print(json.dumps(as_plain(result), indent=2) if as_json else as_text(result, chosen[0].text))
    return BROKEN if result.violations else HOLDS


def run_all(contract_name: str, as_json: bool, write: bool, out: Path | None = None) -> int:
    """Search all configurations of a contract and print what they reach together.

    Args:
        contract_name: ``workload`` or ``jobs``.
        as_json: for programs.
        write: keep the result beside the tables of the contract, which show it.
        out: the folder of all tables; None for the usual one.

    Returns:
        As `run`.
    """
    configurations = CONFIGURATIONS.get(contract_name, ())
    if not configurations:
        print(f"workcert search: contract {contract_name!r} has no configuration to search", file=sys.stderr)
        return CANNOT_RUN
    reached = reach(bindings()[contract_name].contract, configurations, _progress_on_terminal())
    print(json.dumps(stored.as_plain(reached), indent=2) if as_json else as_table(reached))
    if write:
        file = stored.write(reached, (out or DEFAULT_OUT) / contract_name)
        made, met = _keep_tours(reached), _keep_meetings(reached.contract)
        print(
            f"wrote {file}, {made} tours and {met} meetings of calls; to print it into the tables: workcert tables",
            file=sys.stderr,
        )
    return BROKEN if any(result.violations for result in reached.searched) else HOLDS


def _keep_tours(reached: Reached) -> int:
    from workcert.tour.build import built
    from workcert.tour.library import keep, place

    found = built(bindings()[reached.contract], reached)
    keep(found, reached.unreached, reached.digest, place(reached.contract))
    return len(found)


def _keep_meetings(contract_name: str) -> int:
    from workcert.adversity.crashes import richer
    from workcert.adversity.crashes.targets import pairs_by_way
    from workcert.adversity.interleavings.library import keep, most_telling, place
    from workcert.adversity.interleavings.meetings import searched

    binding = bindings()[contract_name]
    searches = searched(binding, CONFIGURATIONS[contract_name])
    kept = keep(binding, most_telling(binding, searches), place())
    richer.keep(binding, richer.richer(binding, searches, pairs_by_way(contract_name)))
    return kept


def as_table(reached: Reached) -> str:
    """What a contract's configurations reach, for people."""
    worlds = [
        (each.configuration, f"{each.states:,}", each.depth, "empty" if each.frontier_empty else f"{each.frontier:,}")
        for each in reached.searched
    ]
    kinds = [
        (kind, sum(t.kind == kind for t in reached.paths), sum(t.kind == kind for t in reached.unreached))
        for kind in KINDS
    ]
    found = [(target.kind, target.text, path.configuration, brief_path(path)) for target, path in reached.paths.items()]
    violations = [each for result in reached.searched for each in result.violations]
    parts = [
        f"{reached.contract}, digest {reached.digest}",
        tabulate(worlds, ("configuration", "states", "longest path", "frontier"), "plain", disable_numparse=True),
        tabulate(kinds, ("kind", "reached", "not reached"), "plain"),
        *(f"{each.requirement}: {each.text}\n{write(each.case)}" for each in violations),
        tabulate(found, ("kind", "target", "configuration", "shortest sequence"), "plain", disable_numparse=True),
        _listed(f"Each {reached.unreached_text}", [f"{each.kind} {each.text}" for each in reached.unreached]),
    ]
    return "\n\n".join(part for part in parts if part)


def as_plain(result: SearchResult) -> dict[str, Any]:
    """The whole result as JSON; the same search gives the same."""
    return {
        "contract": result.contract,
        "configuration": result.configuration,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "frontier": result.frontier,
        "frontier_empty": result.frontier_empty,
        "violations": [
            {"requirement": each.requirement, "text": each.text, "case": write(each.case)} for each in result.violations
        ],
        "never_fired": list(result.never_fired),
        "sides": {key: list(sides) for key, sides in result.sides.items()},
    }


def as_text(result: SearchResult, about: str) -> str:
    """The report for people."""
    left = f"{result.frontier:,} states not looked at" if result.frontier else "empty: nothing else can be reached"
    rows = [
        ("states", f"{result.states:,}"),
        ("calls and steps of time", f"{result.transitions:,}"),
        ("longest path", f"{result.depth:,} steps"),
        ("frontier", left),
        ("broken requirements", ", ".join(each.requirement for each in result.violations) or "none"),
    ]
    parts = [
        f"{result.contract}, configuration {result.configuration}: {about}",
        tabulate(rows, tablefmt="plain", disable_numparse=True),
        *(f"{each.requirement}: {each.text}\n{write(each.case)}" for each in result.violations),
        _listed("Never took part", result.never_fired),
        _listed("Sides of a bound never seen", _missing_sides(result)),
    ]
    return "\n\n".join(part for part in parts if part)


def _missing_sides(result: SearchResult) -> list[str]:
    missing = {key: [s for s in (BELOW, AT, ABOVE) if s not in seen] for key, seen in result.sides.items()}
    return [f"{key}: {' and '.join(sides)}" for key, sides in missing.items() if sides]


def _listed(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title} ({len(lines)}):", *(f"  {line}" for line in lines)]) if lines else ""


def _progress_on_terminal() -> Callable[[Progress], None] | None:
    if not sys.stderr.isatty():
        return None
    began: dict[str, float] = {}

    def show(now: Progress) -> None:
        rate = now.states / max(time.monotonic() - began.setdefault(now.configuration, time.monotonic()), 0.001)
        far = f"{now.states:,} states, {now.frontier:,} to look at, depth {now.depth}, {rate:,.0f} states/s"
        line = f"{now.configuration}: {far}"
        print(f"\r{line:<90}", end="" if now.frontier else "\n", file=sys.stderr, flush=True)

    return show
