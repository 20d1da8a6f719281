"""What was exercised, in numbers: requirements, checks, rows, effects, moves, sides of comparisons.

A step costs a few dictionary updates; the contract's own list of keys is laid beside them once, at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from attrs import define, field

from workcert.judge.verdict import END, TOGETHER
from workcert.report.model import CheckCount, CoverageLine, CoverageTables, KeyCount, SideCount
from workcert.run.events import CaseEnded, Event, StepJudged, Verdict
from workspec.core.condition import ABOVE, AT, BELOW, Comparison
from workspec.core.contract import Contract, conditions_of, steps_of
from workspec.core.rule import Effect, check_keys, walk_steps


@define(eq=False)
class Coverage:
    """A consumer of events.

    ``requirements`` counts steps that were judged right, each id once per step. ``shown`` counts passed cases by what
    they show; ``shown_in_part`` those of which a step was not made, because the backend goes its own way there.
    ``steps``: those counted, by suite.

    Where calls ran at once, who came first differs from run to run, and so may every step after them: these are not
    counted, so that a seed gives the same counts again. What their case shows is credited all the same.
    """

    requirements: Counter[str] = field(factory=Counter)
    shown: Counter[str] = field(factory=Counter)
    shown_in_part: Counter[str] = field(factory=Counter)
    first_case: dict[str, str] = field(factory=dict)
    fired: Counter[str] = field(factory=Counter)
    passed: Counter[str] = field(factory=Counter)
    sides: Counter[tuple[str, str]] = field(factory=Counter)
    steps: Counter[str] = field(factory=Counter)
    _raced: str | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepJudged):
            self._step(event)
        elif isinstance(event, CaseEnded):
            self._raced = None
            if event.verdict is Verdict.PASSED:
                self._case(event)

    def _step(self, event: StepJudged) -> None:
        run = event.run
        if not run.applicable or event.case == self._raced:
            return
        if run.note.startswith(TOGETHER):
            # The examples of a generated suite have no names of their own: there only the step itself is left out.
            self._raced = event.case if event.case != event.suite else None
            return
        if run.call != END:
            self.steps[event.suite] += 1
        traces = run.traces
        for trace in traces:
            self.fired.update(trace.fired)
            self.passed.update(trace.passed)
            self.sides.update(trace.sides)
        if traces:
            found = traces[0].requirements if len(traces) == 1 else [i for t in traces for i in t.requirements]
            self.requirements.update(set(found))

    def _case(self, event: CaseEnded) -> None:
        elsewhere = any(run.elsewhere for step in event.steps for run in (step, *step.during))
        (self.shown_in_part if elsewhere else self.shown).update(set(event.shown))
        for identifier in event.shown:
            self.first_case.setdefault(identifier, event.name)

    def exercised(self, requirement: str, *, in_part: bool = True) -> int:
        """How often a requirement was shown to hold. ``in_part`` False leaves out cases that did not run whole."""
        partly = self.shown_in_part[requirement] if in_part else 0
        return self.requirements[requirement] + self.shown[requirement] + partly


def tables(contract: Contract, coverage: Coverage) -> CoverageTables:
    """Every key of the contract with its counts."""
    fired, passed, sides = coverage.fired, coverage.passed, coverage.sides
    events: dict[str, int] = {}
    for row in contract.transitions.rows:
        events[row.event] = events.get(row.event, 0) + fired[row.key]
    return CoverageTables(
        checks=tuple(
            CheckCount(key, fired[key], passed[key])
            for operation in contract.operations
            for key in check_keys(operation)
        ),
        transitions=tuple(KeyCount(row.key, fired[row.key]) for row in contract.transitions.rows),
        table_rows=tuple(KeyCount(key, fired[key]) for key in _table_rows(contract)),
        effects=tuple(KeyCount(name, fired[name]) for name in dict.fromkeys(_effects(contract))),
        moves=tuple(KeyCount(event, count) for event, count in events.items()),
        comparisons=tuple(
            SideCount(key, sides[key, BELOW], sides[key, AT], sides[key, ABOVE])
            for key in dict.fromkeys(_comparisons(contract))
        ),
    )


def _table_rows(contract: Contract) -> Iterator[str]:
    for table in contract.tables:
        for index in range(len(table.rows)):
            yield table.row_key(index)


def _effects(contract: Contract) -> Iterator[str]:
    for operation in contract.operations:
        for step in walk_steps(steps_of(operation)):
            if isinstance(step, Effect):
                yield step.name


def _comparisons(contract: Contract) -> Iterator[str]:
    """The keys under which traces hold comparisons."""
    for owner, condition in conditions_of(contract):
        for leaf in condition.leaves():
            if isinstance(leaf, Comparison):
                yield f"{owner} | {leaf.text}"


def summary(tables: CoverageTables) -> tuple[CoverageLine, ...]:
    """How much of each kind was reached."""

    def line(kind: str, counts: list[int]) -> CoverageLine:
        return CoverageLine(kind, sum(1 for count in counts if count), len(counts))

    return (
        line("checks that decided", [check.fired for check in tables.checks]),
        line("checks that let a call through", [check.passed for check in tables.checks]),
        line("transitions", [row.count for row in tables.transitions]),
        line("rows of decision tables", [row.count for row in tables.table_rows]),
        line("effects", [row.count for row in tables.effects]),
        line("moves", [row.count for row in tables.moves]),
        line("sides of comparisons", [n for row in tables.comparisons for n in (row.below, row.at, row.above)]),
    )
