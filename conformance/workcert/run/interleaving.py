"""Calls that meet: one committing between the two halves of another, and several at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from workcert.backends import coroutines
from workcert.backends.registry import BackendError
from workcert.cases.model import Call, Frozen, Together
from workcert.judge.together import judge_together
from workcert.judge.verdict import TOGETHER, Failure, Kind, StepRun
from workcert.run.calling import Answered, Observed, observe
from workcert.run.literal import brief, expectation_differences
from workcert.run.reading import Unreadable
from workcert.run.referred import check_referred
from workspec.core.interpreter import decide
from workspec.core.rule import Batch
from workspec.core.scope import Call as ModelCall

if TYPE_CHECKING:
    from workcert.run.execution import Execution


def run_frozen(execution: Execution, step: Frozen) -> StepRun:
    """The held call reads and decides, the others commit, then it goes on."""
    held = step.frozen
    made = execution.prepare(held)
    if isinstance(made, StepRun):
        return made
    call, now_s = made
    before, stale = execution.judge.state, execution.stale(held.on)
    ran: list[StepRun] = []
    trouble: list[Exception] = []

    def meanwhile() -> None:
        try:
            _check_pause(execution)
            ran.extend(execution.call(inner) for inner in step.during if isinstance(inner, Call))
        except (Unreadable, BackendError) as error:
            # The store may swallow it: it is raised again when the held call has come back.
            trouble.append(error)

    handle = execution.store.handle(held.on)
    with execution.store.ability("pause"):
        handle.pause(lambda: coroutines.meanwhile(meanwhile))
    observed = observe(execution.store.backend, handle, held.call, execution.keywords(held, call))
    with execution.store.ability("pause"):
        handle.pause(None)
    if trouble:
        raise trouble[0]
    check_referred(execution.store.backend, held.call, observed)
    if not ran:
        # The call did not come to its guarded write: it stands before the others. If it should have, then nothing
        # was forced, and what is written of the outcome holds of another order.
        if decide(execution.binding.contract, before, call, now_s).parts:
            execution.unforced = f"{held.call} wrote without running the callback of pause: no interleaving was forced"
            execution.literal = False
        first = execution.judged_run(held, call, now_s, observed)
        meanwhile()
        return _combined(step, first, ran)
    if not execution.judged:
        execution.put(held, observed)
        execution.judge.follow(call, now_s, observed, before)
        return _combined(step, StepRun(held.id, held.on, held.at, held.call, call.arguments, observed, None), ran)
    execution.rows.clear()
    failed = next((run for run in ran if run.failure is not None), None)
    if failed is not None:
        return _combined(step, failed, ran)
    decision, chooser = execution.judge.first_half(call, now_s, observed, execution.read, before)
    between = execution.judge.state
    judged = execution.judge.half(decision, observed, execution.read, chooser, stale)
    if judged.failure is not None and isinstance(decision.operation, Batch):
        # No batch is promised a conflict: one that asks again before it writes stands behind the others.
        again = execution.judge.call(call, now_s, observed, execution.read)
        judged = judged if again.failure is not None else again
    return _combined(step, execution.finished(held, call, observed, judged, between), ran)


def _check_pause(execution: Execution) -> None:
    """The callback runs before the guarded write, so nothing has changed yet.

    Raises:
        AbilityLie: something has.
    """
    if (
        execution.judged
        and execution.store.backend.can("snapshot")
        and execution.judge.others(execution.store.snapshot()) is not None
    ):
        execution.store.accuse("pause", "its callback runs after the write; it must run before")


def _combined(step: Frozen, held: StepRun, during: Sequence[StepRun]) -> StepRun:
    failure = held.failure or next((run.failure for run in during if run.failure is not None), None)
    traces = tuple(trace for run in (*during, held) for trace in run.traces)
    return attrs.evolve(held, failure=failure, traces=traces, note=step.note or "frozen", during=tuple(during))


def run_together(execution: Execution, step: Together) -> StepRun:
    if execution.binding.has_clock and len({call.at for call in step.calls}) > 1:
        return execution.left_out(step, "a store has one clock: calls at once are made at one instant")
    prepared = [execution.prepare(call) for call in step.calls]
    for made in prepared:
        if isinstance(made, StepRun):
            return attrs.evolve(made, id=step.id)
    calls = [made for made in prepared if not isinstance(made, StepRun)]
    why = execution.not_asserted(calls)
    if why:
        return execution.left_out(step, why, elsewhere=True)
    observed = _at_once(execution, step.calls, [call for call, _ in calls])
    execution.rows.clear()
    for call, seen in zip(step.calls, observed, strict=True):
        check_referred(execution.store.backend, call.call, seen)
        execution.put(call, seen)
    # Which calls met a conflict differs from run to run, so their decisions are no evidence: what a race shows is
    # written in the header of its case.
    failure = judge_together(execution.judge, calls, observed, execution.read)
    if failure is None and execution.literal and step.expect_one_of is not None:
        failure = _check_combinations(execution, step, observed)
    execution.history.append(execution.judge.state)
    arguments = {call.id: made.arguments for call, (made, _) in zip(step.calls, calls, strict=True)}
    names = " | ".join(call.call for call in step.calls)
    shown = Answered([brief(seen) for seen in observed])
    return StepRun(step.id, "", step.calls[0].at, names, arguments, shown, None, (), failure, note=TOGETHER)


def _at_once(execution: Execution, steps: Sequence[Call], calls: Sequence[ModelCall]) -> list[Observed]:
    barrier = threading.Barrier(len(steps))
    seen: list[Observed | None] = [None] * len(steps)
    handles = [execution.store.handle(step.on) for step in steps]

    def run(index: int) -> None:
        keywords = execution.keywords(steps[index], calls[index])
        barrier.wait()
        seen[index] = observe(execution.store.backend, handles[index], steps[index].call, keywords)

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(steps))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found for found in seen if found is not None]


def _check_combinations(execution: Execution, step: Together, observed: Sequence[Observed]) -> Failure | None:
    assert step.expect_one_of is not None
    for combination in step.expect_one_of:
        if all(
            not expectation_differences(expectation, seen, execution.answers)
            for expectation, seen in zip(combination, observed, strict=True)
        ):
            return None
    text = f"the answers fit none of the {len(step.expect_one_of)} allowed combinations"
    return Failure(execution.ids_of_case or ("WRK-GEN-01",), Kind.EXPECTATION, text)
