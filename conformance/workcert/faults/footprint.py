"""Which cases can tell a faulty store from a right one at all: those that come to the place of the fault.

A rule that is not asked cannot show that it is wrong, so a case that never comes to the changed check runs on the
faulty store as on the right one, step for step. Leaving it out changes no grade, and most of the time is saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from workcert.backends.protocol import Ability
from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import Binding
from workcert.cases.model import Case, Restart, Together, every_step
from workcert.faults.fault import Fault
from workcert.judge.verdict import StepRun
from workcert.run.case import run_case
from workcert.run.store import StoreUnderTest
from workspec.core.scope import Call

MOST_CHEAP = 600
"""Calls and rows of a case that is cheap: what needs more is about volume."""
BY_THE_KIT = frozenset({"freeze_clock"})
"""What the kit calls on its own account, beside the reads of the contract."""


@frozen(eq=False)
class Footprint:
    """A case, the operations that it makes on a right store, the checks that decide and those that are asked there, and
    how many steps it takes. ``in_turn`` is False where calls are made at once: what they come to is another each time.
    """

    case: Case
    operations: frozenset[str]
    fired: frozenset[str]
    asked: frozenset[str]
    in_turn: bool
    steps: int
    restarts: bool
    handles: int

    def comes_to(self, fault: Fault, by_the_kit: frozenset[str]) -> bool:
        if fault.needs == Ability.RESTART and not self.restarts:
            return False
        if fault.touched and not fault.touched & (self.operations | by_the_kit):
            return False
        if not self.in_turn or fault.touched & by_the_kit or not fault.fires | fault.asks:
            return True
        return bool(fault.fires & self.fired or fault.asks & self.asked)


def by_the_kit(binding: Binding) -> frozenset[str]:
    return binding.reads | BY_THE_KIT


def footprints(binding: Binding, cases: Sequence[Case]) -> tuple[Footprint, ...]:
    """What each case comes to, seen by running it on the specification."""
    with StoreUnderTest.of(describe("the specification", of(binding))) as store:
        return tuple(_footprint(binding, store, case) for case in cases)


def _footprint(binding: Binding, store: StoreUnderTest, case: Case) -> Footprint:
    runs: list[StepRun] = []
    run_case(store, case, watch=lambda _execution, _step, run: runs.append(run))
    every = [inner for run in runs for inner in _all(run)]
    fired = frozenset(key for run in every for trace in run.traces for key in trace.fired)
    passed = frozenset(key for run in every for trace in run.traces for key in trace.passed)
    steps = list(every_step(case.steps))
    return Footprint(
        case,
        frozenset(name for run in every for name in _operations(binding, run)),
        fired,
        fired | passed,
        not any(isinstance(step, Together) for step in steps),
        len(runs),
        any(isinstance(step, Restart) for step in steps),
        len(case.header.handles),
    )


def _all(run: StepRun) -> Iterator[StepRun]:
    yield run
    for inner in run.during:
        yield from _all(inner)


def _operations(binding: Binding, run: StepRun) -> Iterator[str]:
    contract = binding.contract
    keys = (key for trace in run.traces for key in (*trace.fired, *trace.passed))
    yield from (key.partition(": ")[0] for key in keys)
    if contract.has(run.call):
        yield run.call
    if isinstance(run.arguments, dict) and "outcome" in run.arguments:
        yield contract.resolved(Call(run.call, run.arguments)).name
