"""What a report is made of: everything that the events of one contract said."""

from __future__ import annotations

from collections import Counter

import attrs
from attrs import define, field

from workcert.report.coverage import Coverage
from workcert.run.events import (
    CaseEnded,
    Event,
    ExamplesRun,
    ProfileTried,
    SuiteEnded,
    SuiteStarted,
    Tallied,
    Verdict,
)


@define(eq=False)
class Collector:
    """A consumer of events; one for each contract that is run.

    ``ended`` holds the cases in the order in which they ended, without the steps of those that passed: a long run
    would not fit in memory. ``examples`` and ``seconds`` are by suite.
    """

    coverage: Coverage = field(factory=Coverage)
    ended: list[CaseEnded] = field(factory=list)
    suites: list[str] = field(factory=list)
    examples: dict[str, ExamplesRun] = field(factory=dict)
    seconds: dict[str, float] = field(factory=dict)
    tried: list[ProfileTried] = field(factory=list)
    tallies: dict[str, dict[str, Counter[str]]] = field(factory=dict)
    """By part of the adversity suite and row of its table, the numbers by column."""

    def __call__(self, event: Event) -> None:
        self.coverage(event)
        match event:
            case CaseEnded():
                self._suite(event.suite)
                keep = event.verdict in (Verdict.FAILED, Verdict.FLAKY)
                self.ended.append(event if keep else attrs.evolve(event, steps=()))
            case ExamplesRun():
                self._suite(event.suite)
                self.examples[event.suite] = event
            case ProfileTried():
                self.tried.append(event)
            case SuiteStarted():
                self._suite(event.suite)
            case Tallied():
                row = self.tallies.setdefault(event.part, {}).setdefault(event.row, Counter())
                row[event.column] += event.count
            case SuiteEnded():
                self.seconds[event.suite] = self.seconds.get(event.suite, 0.0) + event.seconds

    def _suite(self, name: str) -> None:
        if name not in self.suites:
            self.suites.append(name)

    @property
    def failed(self) -> bool:
        """Whether something failed so far, flaky or not."""
        return any(ended.verdict in (Verdict.FAILED, Verdict.FLAKY) for ended in self.ended)


def steps_of(collector: Collector, suite: str) -> int:
    """Steps that a suite made: as it says itself, where it counts examples, else as they were counted."""
    examples = collector.examples.get(suite)
    return collector.coverage.steps[suite] if examples is None else examples.steps
