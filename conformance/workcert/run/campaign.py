"""What the examples of a generating suite share, whoever drives them: the store, what has failed, a failure as a case.

A requirement that has failed is passed over in the examples that follow, so that one run finds several faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field

from workcert.cases.model import Case, Header, Plain, required_abilities
from workcert.explaining.explain import BUDGET as EXPLAIN_BUDGET
from workcert.judge.verdict import Failure
from workcert.run.calling import CallHung
from workcert.run.case import run_case
from workcert.run.engine import SHRINK_BUDGET, Options, examined, explained
from workcert.run.events import CaseEnded, Emit, ExamplesRun, StepJudged, Verdict
from workcert.run.execution import Execution
from workcert.run.store import StoreUnderTest
from workspec.core.contract import digest

MOST_FAILURES: Final = 5
"""After so many different requirements a suite stops: the store needs mending, not more findings."""

PROGRESS_EVERY: Final = 10


class StepFailed(AssertionError):  # noqa: N818 - the end of an example, not an error
    """Ends an example; its driver reads the case from the campaign."""


@define(eq=False)
class Campaign:
    """``suite`` names the driver in what is said of the steps. ``looks_every``: as of an `Execution`."""

    store: StoreUnderTest
    options: Options
    emit: Emit
    suite: str
    known: set[str] = field(factory=set)
    failed: tuple[Case, Failure] | None = None
    stopped: str = ""
    """Why no further example can be made: a call that hung."""
    examples: int = 0
    steps: int = 0
    judged: bool = True
    looks_every: int = 1

    def begin(self, config: Mapping[str, Any] | None = None) -> Execution:
        """An empty store, opened with what an example asks for."""
        self.store.begin(config)
        self.examples += 1
        if self.examples % PROGRESS_EVERY == 0:
            self.emit(ExamplesRun(self.suite, self.examples, self.steps))
        # What failed is run again as a case, and told of then.
        return Execution(self.store, literal=False, judged=self.judged, tells=False, looks_every=self.looks_every)

    def step(self, execution: Execution, made: list[Plain], step: Plain) -> bool:
        """Make one step; True when the example is over, because it met a requirement that is known to fail.

        Raises:
            StepFailed: a requirement that had not failed before.
        """
        if self.stopped:
            # Hypothesis repeats an example that failed; a store that hung would hang again.
            raise StepFailed(self.stopped)
        made.append(step)
        self.steps += 1
        try:
            run = execution.step(step)
        except CallHung as hung:
            self.stopped = str(hung)
            raise StepFailed(self.stopped) from hung
        if run.failure is None:
            if run.applicable:
                self.emit(StepJudged(self.suite, self.suite, run))
            return False
        return self._fail(execution, made, run.failure)

    def end(self, execution: Execution, made: list[Plain]) -> None:
        if execution.failure is not None or self.stopped:
            return
        failure = execution.finish()
        if failure is not None:
            self._fail(execution, made, failure)
        elif execution.runs:
            self.emit(StepJudged(self.suite, self.suite, execution.runs[-1]))

    @property
    def goes_on(self) -> bool:
        return len(self.known) < MOST_FAILURES and not self.stopped

    def examine(self) -> None:
        """Replay and shrink what the last example failed with, and say so; from now on it is known."""
        if self.failed is None:
            return
        (case, failure), self.failed = self.failed, None
        self.known.add(failure.requirement)
        # Further ones are as a rule of the same cause, and come from as long a history: none may take as long.
        number = len(self.known)
        ended = examined(self.store, self.suite, case, failure, budget=SHRINK_BUDGET // number)
        self.emit(explained(self.store, ended, EXPLAIN_BUDGET // number) if self.options.explains else ended)

    def conclude(self) -> None:
        """Say what became of the suite as a whole."""
        if self.stopped:
            self.emit(CaseEnded(self.suite, self.suite, Verdict.UNKNOWN, reason=self.stopped, hung=True))
        elif not self.known:
            self.emit(CaseEnded(self.suite, self.suite, Verdict.PASSED))
        self.emit(ExamplesRun(self.suite, self.examples, self.steps))

    def _fail(self, execution: Execution, made: list[Plain], failure: Failure) -> bool:
        if failure.requirement in self.known:
            return True
        case = case_of(execution, made, failure)
        if self.looks_every > 1:
            # Something may have gone wrong before it was looked at: as a case every step of it is.
            failure = run_case(self.store, case).failure or failure
            if failure.requirement in self.known:
                return True
            case = case_of(execution, made, failure)
        self.failed = (case, failure)
        raise StepFailed(failure.text)


def case_of(execution: Execution, made: list[Plain], failure: Failure) -> Case:
    """The steps of an example as a case file."""
    backend = execution.store.backend
    handles = tuple(dict.fromkeys(handle for step in made for handle in _handles(step))) or ("A",)
    header = Header(
        contract=backend.binding.name,
        name=f"{backend.binding.name}/{failure.requirement.lower()}",
        title=f"{failure.requirement}: {failure.text}"[:200],
        requirements=(failure.requirement,),
        profiles=tuple(sorted(backend.profiles - {"CORE"})),
        abilities=tuple(sorted(_abilities(made, handles))),
        config=dict(execution.store.config),
        handles=handles,
        digest=digest(backend.binding.contract),
    )
    return Case(header, tuple(made))


def _handles(step: Any) -> list[str]:
    inner = [step.frozen, *step.during] if hasattr(step, "during") else [step]
    return [one.on for one in inner if getattr(one, "on", "")]


def _abilities(made: list[Plain], handles: tuple[str, ...]) -> set[str]:
    bare = Header(contract="", name="", title="", handles=handles)
    return set(required_abilities(Case(bare, tuple(made))))
