"""How much of what can be reached at all a run has come to: search says what can, tours that passed what was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from workcert.backends.registry import LoadedBackend
from workcert.report.model import CoverageLine, Toured
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Verdict
from workcert.search.targets import KINDS, Target
from workcert.tour.library import Tour, index_of, tours

TOUR = "tour"


def toured_of(backend: LoadedBackend, options: Options, ended: Sequence[CaseEnded]) -> Toured | None:
    """What the tours of the claimed profiles show, and what no configuration can reach; None where they did not run."""
    contract = backend.binding.name
    if TOUR not in options.suites or options.only or not tours(contract):
        return None
    passed = {each.name for each in ended if each.suite == TOUR and each.verdict is Verdict.PASSED}
    own = [tour for tour in tours(contract) if backend.profiles.issuperset(tour.case.header.profiles)]
    reachable = _by_kind(own)
    shown = _by_kind([tour for tour in own if tour.case.header.name in passed])
    unreached = (Target(kind, tuple(name)) for kind, *name in index_of(contract)["unreached"])
    return Toured(
        tuple(CoverageLine(kind, shown[kind], reachable[kind]) for kind in KINDS if reachable[kind]),
        tuple(f"{target.kind} {target.text}" for target in unreached),
    )


def _by_kind(own: Sequence[Tour]) -> Mapping[str, int]:
    """How many targets tours show. Some are shown by several, to stores of one profile and to those of another."""
    return Counter(target.kind for target in {target for tour in own for target in tour.targets})
