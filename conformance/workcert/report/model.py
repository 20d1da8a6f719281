"""What a report says: frozen values, all of them text and numbers, that the writers turn into files.

Nothing here holds a time, a date, a host, a path or an opaque id, so that two runs with one seed give equal values;
what does is in `workcert.report.timings`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from attrs import frozen

FORMAT: Final = 1
"""The version of the report's schema."""


class Status(StrEnum):
    """What is known of one requirement. *Not exercised* is never *passed*."""

    PASSED = "passed"
    FAILED = "failed"
    FLAKY = "flaky"
    NOT_EXERCISED = "not_exercised"
    NOT_CLAIMED = "not_claimed"
    NOT_ASSERTED = "not_asserted"
    DEFINITION = "definition"
    """There is nothing to test; printed, never counted."""


COUNTED: Final = (Status.PASSED, Status.FAILED, Status.FLAKY, Status.NOT_EXERCISED, Status.NOT_CLAIMED)
"""The statuses of requirements that are counted, in the order in which tables show them."""


class ContractVerdict(StrEnum):
    CONFORMANT = "conformant"
    NOT_CONFORMANT = "not conformant"
    INCOMPLETE = "incomplete"
    """A full run in which nothing failed, and something that is claimed was not shown."""
    PASSED_IN_PART = "passed in part"
    FAILED = "failed"
    COULD_NOT_RUN = "could not run"


EXIT_CODES: Final = {
    ContractVerdict.CONFORMANT: 0,
    ContractVerdict.PASSED_IN_PART: 0,
    ContractVerdict.NOT_CONFORMANT: 1,
    ContractVerdict.INCOMPLETE: 1,
    ContractVerdict.FAILED: 1,
    ContractVerdict.COULD_NOT_RUN: 2,
}

PROVEN: Final = (ContractVerdict.NOT_CONFORMANT, ContractVerdict.FAILED)
"""A failure was found, whatever else could not be done."""
BROKE_OFF: Final = "the run broke off: "


@frozen
class RequirementResult:
    """``exercised``: steps that were judged right under this requirement, and passed cases that show it. ``case``: the
    one that failed, else the first that showed it. ``provisional`` ones are reported and decide nothing."""

    id: str
    family: str
    kind: str
    profile: str
    status: Status
    exercised: int
    case: str | None
    text: str
    digest: str
    reason: str = ""
    provisional: bool = False

    @property
    def counted(self) -> bool:
        return self.status in COUNTED


@frozen
class SuiteCounts:
    """``steps``: those of a suite of cases that were judged right, without what ran at once and came after it; those
    of a suite of examples that were made."""

    name: str
    cases: int = 0
    passed: int = 0
    failed: int = 0
    flaky: int = 0
    unknown: int = 0
    skipped: int = 0
    examples: int = 0
    steps: int = 0


@frozen
class LeftOut:
    """A case that was skipped or gave no verdict, and why."""

    suite: str
    case: str
    verdict: str
    reason: str


@frozen
class ChoiceValue:
    """``declared`` is False where the reference's default is taken."""

    id: str
    value: str
    declared: bool


@frozen
class KeyCount:
    key: str
    count: int


@frozen
class CheckCount:
    """``fired``: it decided the call; ``passed``: it was asked and let the call through."""

    key: str
    fired: int
    passed: int


@frozen
class SideCount:
    """How often the left side of a comparison lay below, at and above the right one."""

    key: str
    below: int
    at: int
    above: int


@frozen
class CoverageTables:
    """Every key of the contract, also those that were never reached."""

    checks: tuple[CheckCount, ...] = ()
    transitions: tuple[KeyCount, ...] = ()
    table_rows: tuple[KeyCount, ...] = ()
    effects: tuple[KeyCount, ...] = ()
    moves: tuple[KeyCount, ...] = ()
    comparisons: tuple[SideCount, ...] = ()


@frozen
class CoverageLine:
    """One line of the summary: how many of the keys of a kind were reached."""

    kind: str
    reached: int
    total: int


@frozen
class Toured:
    """``lines``: by kind of target, how many the tours that passed have shown, of those that can be reached within the
    claimed profiles. ``unreachable``: what no configuration reaches, although every state of each was looked at."""

    lines: tuple[CoverageLine, ...]
    unreachable: tuple[str, ...]


@frozen
class TriedRow:
    name: str
    counts: tuple[int, ...]


@frozen
class Tried:
    """What one part of the adversity suite has tried, as a table: of each row one number for each column."""

    part: str
    columns: tuple[str, ...]
    rows: tuple[TriedRow, ...]


@frozen
class ShownDifference:
    """``expected`` and ``seen`` as compact JSON text."""

    path: str
    expected: str
    seen: str


@frozen
class StepRow:
    """One call of a failing case as it is printed, values that do not matter with a mark. ``id``: by which later
    arguments refer to it; ``needed``: why there is such a step, empty for the one that fails."""

    n: str
    id: str
    time: str
    handle: str
    operation: str
    arguments: str
    expected: str
    seen: str
    changed: str
    needed: str = ""


@frozen
class FailureReport:
    """``reproduced``: n of m replays that failed again; fewer than all makes it flaky. ``case_file`` is a name within
    the report's directory, None when there is no case. ``executions``: runs that shrinking and explaining took.
    ``free``: the places of values that do not matter, as far as was looked into; ``least``: of those that may be larger
    or later, and not smaller; ``names``: of texts that need only be
    the same wherever they recur. ``explained``: empty, *whole*, or *in part* where the budget ended it. ``group``: the
    requirement and the case of the failure that leads those of one cause."""

    requirement: str
    requirement_text: str
    also: tuple[str, ...]
    suite: str
    case: str
    kind: str
    text: str
    differences: tuple[ShownDifference, ...]
    steps: tuple[StepRow, ...]
    case_lines: tuple[str, ...]
    case_file: str | None
    flaky: bool
    reproduced: tuple[int, int] | None
    executions: int
    provisional: bool = False
    explained: str = ""
    free: tuple[str, ...] = ()
    least: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    group: str = ""
    drawing: tuple[str, ...] = ()
    """Lines that show calls at once, by their callers."""

    @property
    def name(self) -> str:
        """What tells it from the other failures of a report."""
        return f"{self.requirement} {self.case}"

    @property
    def leads(self) -> bool:
        return self.group in ("", self.name)


@frozen
class LookAlike:
    """A known fault that breaks much the same: of the ``either`` requirements that it or the store breaks, both break
    ``common``. ``cause``: what is usually wrong; empty where nobody knows."""

    what: str
    common: int
    either: int
    cause: str


@frozen
class Strength:
    """How many of the ``seeded`` faults of the claimed requirements the suites of a run are known to catch at its
    effort. ``equivalent``: further ones that cannot be told from a right store. ``survived``: those that no suite
    catches. ``at_least``: not all suites ran, and of each fault only the first that catches it is known. Where nothing
    is known there are no numbers, and ``note`` says why, and which command finds out."""

    graded_effort: str | None = None
    seeded: int | None = None
    caught: int | None = None
    equivalent: int | None = None
    survived: int | None = None
    note: str = ""
    at_least: bool = False


@frozen
class ContractReport:
    """``profiles_passed``, ``profiles_offered`` (not claimed, and every case passes) and ``tier`` are those of a full
    run; a narrowed one shows none. ``reason`` says why the
    verdict is *incomplete* or *could not run*. ``only`` with ``suites_asked`` is what was asked for."""

    contract: str
    version: str
    digest: str
    kit: str
    backend: str
    profiles_claimed: tuple[str, ...]
    profiles_passed: tuple[str, ...]
    profiles_offered: tuple[str, ...]
    tier: str | None
    abilities: tuple[str, ...]
    choices: tuple[ChoiceValue, ...]
    seed: int
    effort: str
    examples_asked: int
    suites_asked: tuple[str, ...]
    only: tuple[str, ...]
    narrowed: bool
    verdict: ContractVerdict
    reason: str
    suites: tuple[SuiteCounts, ...]
    requirements: tuple[RequirementResult, ...]
    coverage: CoverageTables
    failures: tuple[FailureReport, ...]
    left_out: tuple[LeftOut, ...]
    looks_like: tuple[LookAlike, ...] = ()
    strength: Strength | None = None
    toured: Toured | None = None
    """None of a run that was narrowed to some requirements, or that broke off."""
    adversity: tuple[Tried, ...] = ()
    """In the order in which the parts were run."""
    broke_off: bool = False
    """The run did not come to its end; what it had found by then stands, and ``reason`` says why it ended."""

    @property
    def counted(self) -> tuple[RequirementResult, ...]:
        return tuple(result for result in self.requirements if result.counted)

    @property
    def is_certificate(self) -> bool:
        """A narrowed run, or one that did not come to its end, certifies nothing."""
        return not (self.narrowed or self.broke_off or self.verdict is ContractVerdict.COULD_NOT_RUN)


def count(results: tuple[RequirementResult, ...], status: Status) -> int:
    return sum(1 for result in results if result.status is status)


def by_family(report: ContractReport) -> dict[str, tuple[RequirementResult, ...]]:
    """The requirements of a report by the title of their family, in the order of the catalogue."""
    found: dict[str, list[RequirementResult]] = {}
    for result in report.requirements:
        found.setdefault(result.family, []).append(result)
    return {family: tuple(results) for family, results in found.items()}


def exit_code(*reports: ContractReport) -> int:
    """0 conformant or passed in part, 1 not conformant, incomplete or failed, 2 could not run (or nothing ran); of
    several contracts the worst, and what has been shown of one is not undone by another that could not run."""
    if any(report.verdict in PROVEN for report in reports):
        return 1
    return max((EXIT_CODES[report.verdict] for report in reports), default=2)
