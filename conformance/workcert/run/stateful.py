"""The stateful suite: Hypothesis drives a machine of the contract, the judge judges every step.

Hypothesis generates and its failure becomes a case; our shrinker alone shrinks it. A requirement that has failed is
passed over in the examples that follow, so that one run finds several faults.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import define, field
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from workcert.cases.model import Case, Header, Plain
from workcert.judge.verdict import Failure
from workcert.run.calling import CallHung
from workcert.run.engine import Effort, Options, examined, explained
from workcert.run.events import CaseEnded, Emit, ExamplesRun, StepJudged, SuiteEnded, SuiteStarted, Verdict
from workcert.run.execution import Execution
from workcert.run.store import StoreUnderTest
from workspec.core.contract import digest

MOST_FAILURES: Final = 5
"""After so many different requirements the suite stops: the store needs mending, not more findings."""

STEPS: Final = {Effort.QUICK: 30, Effort.CI: 40, Effort.DEEP: 60}

PROGRESS_EVERY: Final = 10

BATCH: Final = 12
"""Examples of one engine. After its first ten it mutates each new one several times, which finds less than new ones do,
and it remembers every choice of every example, half a megabyte for a long one."""
SEEDS_APART: Final = 1_000_003
"""Between the seeds of two batches, so that runs with neighbouring seeds share none."""


class StepFailed(AssertionError):  # noqa: N818 - the end of an example, not an error
    """Ends a Hypothesis example; the driver reads the case from the machine's run."""


@define(eq=False)
class Campaign:
    """What all examples of one machine share: the store, what has failed, and the counts."""

    store: StoreUnderTest
    options: Options
    emit: Emit
    known: set[str] = field(factory=set)
    failed: tuple[Case, Failure] | None = None
    stopped: str = ""
    """Why no further example can be made: a call that hung, or a store that is not the same twice."""
    examples: int = 0
    steps: int = 0
    judged: bool = True

    def begin(self, config: Mapping[str, Any] | None = None) -> Execution:
        """An empty store, opened with what an example asks for."""
        self.store.begin(config)
        self.examples += 1
        if self.examples % PROGRESS_EVERY == 0:
            self.emit(ExamplesRun("stateful", self.examples, self.steps))
        return Execution(self.store, literal=False, judged=self.judged)

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
                self.emit(StepJudged("stateful", "stateful", run))
            return False
        return self._fail(execution, made, run.failure)

    def end(self, execution: Execution, made: list[Plain]) -> None:
        if execution.failure is not None or self.stopped:
            return
        failure = execution.finish()
        if failure is not None:
            self._fail(execution, made, failure)
        elif execution.runs:
            self.emit(StepJudged("stateful", "stateful", execution.runs[-1]))

    def _fail(self, execution: Execution, made: list[Plain], failure: Failure) -> bool:
        if failure.requirement in self.known:
            return True
        self.failed = (case_of(execution, made, failure), failure)
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
    from workcert.cases.model import required_abilities

    bare = Header(contract="", name="", title="", handles=handles)
    return set(required_abilities(Case(bare, tuple(made))))


def machine_settings(options: Options, examples: int) -> settings:
    """Generate only: our shrinker shrinks, and a run is bounded by counts.

    ``deadline`` is None because a step's time is the store's, and a slow disk is no finding.
    """
    deep = options.effort is Effort.DEEP
    phases = (Phase.explicit, Phase.reuse, Phase.generate) if deep else (Phase.explicit, Phase.generate)
    return settings(
        max_examples=max(examples, 1),
        stateful_step_count=STEPS[options.effort],
        phases=phases,
        database=DirectoryBasedExampleDatabase(Path(".workcert") / "examples") if deep else None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
    )


Machine = Callable[[Campaign], type[RuleBasedStateMachine]]


def machines() -> Mapping[str, Machine]:
    """The machine of each contract."""
    from workcert.machines.jobs import jobs_machine
    from workcert.machines.workload import workload_machine

    return {"workload": workload_machine, "jobs": jobs_machine}


def run_stateful(store: StoreUnderTest, options: Options, emit: Emit) -> Campaign:
    """Run the machine of the backend's contract for the examples that the options ask for."""
    began = time.perf_counter()
    wanted = options.example_count(store.backend.binding)
    emit(SuiteStarted(store.backend.binding.name, "stateful", wanted))
    campaign = Campaign(store, options, emit)
    batch = 0
    while len(campaign.known) < MOST_FAILURES and not campaign.stopped:
        campaign.failed = None
        begun = campaign.examples
        left = wanted - begun
        if left <= 0:
            break
        drive(campaign, min(left, BATCH), batch)
        if campaign.failed is None:
            if campaign.examples == begun:
                break
            batch += 1
            continue
        case, failure = campaign.failed
        campaign.known.add(failure.requirement)
        emit(explained(store, examined(store, "stateful", case, failure)))
    if campaign.stopped:
        emit(CaseEnded("stateful", "stateful", Verdict.UNKNOWN, reason=campaign.stopped))
    elif not campaign.known:
        emit(CaseEnded("stateful", "stateful", Verdict.PASSED))
    emit(ExamplesRun("stateful", campaign.examples, campaign.steps))
    emit(SuiteEnded("stateful", time.perf_counter() - began))
    return campaign


def drive(campaign: Campaign, examples: int, batch: int = 0) -> None:
    """Let Hypothesis run the contract's machine; a failure is left in the campaign."""
    machine = machines()[campaign.store.backend.binding.name](campaign)
    # The seed is read from this attribute by run_state_machine_as_test; `hypothesis.seed` sets the same one.
    machine._hypothesis_internal_use_seed = campaign.options.seed + batch * SEEDS_APART
    try:
        run_state_machine_as_test(machine, settings=machine_settings(campaign.options, examples))
    except StepFailed:
        return
    except Flaky as error:
        if campaign.failed is None:
            campaign.stopped = (
                "the same calls on an empty store were answered otherwise the second time, so that no example can be "
                f"made again ({type(error).__name__})"
            )
