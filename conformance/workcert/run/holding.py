"""A call that is held at one of its points while others are made on other handles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import define, frozen

from workcert.backends import coroutines
from workcert.cases.model import Call, Frozen, Reopen, runs_back
from workcert.judge.overlapping import Overlap, judge_overlapping
from workcert.judge.verdict import HELD, StepRun
from workcert.run.calling import Answered, Observed, observe
from workcert.run.clock import RUNS_BACK
from workcert.run.meanwhile import Made, Meanwhile
from workcert.run.others import stray_rows
from workcert.run.referred import check_referred
from workcert.run.store import OWN_THREADS
from workspec.core.interpreter import decide
from workspec.core.scope import Call as ModelCall

if TYPE_CHECKING:
    from workcert.run.execution import Execution

LOOP_IS_HELD: Final = "a statement blocks the event loop, in which no other call can come between"


@frozen
class Held:
    """What became of a held call. ``label``: of the point at which it was held, None where it did not come to one;
    ``points``: how many it came to in all; ``refused``: points at which the others did nothing;
    ``waited``: another had not come back when it went on; ``timed``: whether it had hangs on how fast all are;
    ``first``: whether the held call came before the others in the order that explains all, None where either none or
    only one of both did anything."""

    label: str | None
    points: int
    refused: int = 0
    waited: bool = False
    timed: bool = False
    first: bool | None = None


def run_held(execution: Execution, step: Frozen) -> StepRun:
    """Hold one call at its point, make the others, let it go on; then some serial order must explain all."""
    held, number = step.frozen, step.point
    assert number is not None
    if execution.binding.has_clock and runs_back([held, *step.during]):
        return execution.left_out(step, f"{RUNS_BACK}: what is made during a call is made at its instant or later")
    why = execution.store.cannot_hold()
    if why:
        return execution.not_forced(step, why)
    prepared = execution.prepare(held)
    if isinstance(prepared, StepRun):
        return attrs.evolve(prepared, id=step.id)
    call, now = prepared
    for each in step.during:
        if not isinstance(each, Reopen):
            # Opened in this thread and before the call begins: it has an older view than the call leaves.
            execution.store.handle(each.on)
    meanwhile = Meanwhile(execution, step)
    state, observed = _hold(execution, held, call, number, meanwhile)
    meanwhile.finish()
    check_referred(execution.store.backend, held.call, observed)
    instant = execution.binding.contract.instant
    later = tuple(instant(call, at) for at in sorted(meanwhile.gone_on))
    made = [Made(held, call, now, observed, later), *meanwhile.made]
    why = execution.not_asserted([(each.call, at) for each in made for at in (each.now, *each.later)])
    if why:
        return execution.left_out(step, why, elsewhere=True)
    execution.put(held, observed)
    _check_seen(execution, made[0], state)
    if state.label is None:
        reason = _why_nowhere(execution, state)
        execution.unforced = f"{held.call} was not held at its point {number}: {reason}"
    return _judged(execution, step, made, meanwhile, state)


# Holding -------------------------------------------------------------------------------------------------------------


@define(eq=False)
class _Points:
    """``count``: points so far; ``label``: of the one at which the call was held."""

    count: int = 0
    label: str | None = None
    refused: int = 0
    is_blocked: bool = False
    is_over: bool = False


def _hold(
    execution: Execution, held: Call, call: ModelCall, number: int, meanwhile: Meanwhile
) -> tuple[_Points, Observed]:
    points = _Points()

    # A point that the kit sees itself lies inside of a statement, where nothing can be awaited.
    is_own = execution.store.statements_seen() is None

    def at_point(label: str) -> Any:
        points.count += 1
        if points.count < number:
            return None
        if points.is_over:
            return None if meanwhile.companion is None else coroutines.meanwhile(meanwhile.go_on)
        if coroutines.is_running_here() and not is_own:
            points.is_blocked = points.is_over = True
            return None
        return coroutines.meanwhile(lambda: come_between(label))

    def come_between(label: str) -> None:
        meanwhile.start()
        if execution.tries_on and meanwhile.did_nothing:
            points.refused += 1
            if not meanwhile.made:
                points.label = label
            return
        points.is_over, points.label = True, label

    handle = execution.store.handle(held.on)
    with execution.store.ability("points"):
        handle.points(at_point)
    observed = observe(execution.store.backend, handle, held.call, execution.keywords(held, call))
    with execution.store.ability("points"):
        handle.points(None)
    if points.label is None:
        # Where they were turned away at each point, they are made again now that nothing holds them up.
        meanwhile.forget()
    return points, observed


def _why_nowhere(execution: Execution, points: _Points) -> str:
    if points.is_blocked:
        return LOOP_IS_HELD
    if not points.count and execution.store.statements_elsewhere():
        return OWN_THREADS
    return f"the call came to {points.count} points"


def _check_seen(execution: Execution, held: Made, points: _Points) -> None:
    """A call that wrote has made statements.

    Raises:
        AbilityLie: none was ever seen, not even in a thread of the store's own.
    """
    if execution.store.statements_elsewhere():
        return
    if points.count or execution.store.statements_seen() != 0 or not isinstance(held.observed, Answered):
        return
    if decide(execution.binding.contract, execution.judge.state, held.call, held.now).parts:
        module = execution.store.backend.dbapi
        execution.store.accuse(
            "points",
            f"no call has made a statement on a connection that {module}.connect(...) gave. The store may take connect "
            f"out of the module before it is opened (from {module} import connect), or keep connections elsewhere",
            "the adapter then names no dbapi",
        )


# Judging -------------------------------------------------------------------------------------------------------------


def _judged(execution: Execution, step: Frozen, made: Sequence[Made], meanwhile: Meanwhile, points: _Points) -> StepRun:
    waited = points.label is not None and not meanwhile.came_back
    group = [_overlap(place, each, len(made), points, waited) for place, each in enumerate(made)]
    execution.rows.clear()
    failure = next((each.failure for each in meanwhile.reopened if each.failure is not None), None)
    first = None
    if failure is None and execution.judged:
        before = execution.judge.state
        rest = partial(stray_rows, execution)
        explained = judge_overlapping(execution.judge, group, execution.read, rest, execution.history)
        failure = explained.failure
        execution.other_states = explained.others
        first = _held_comes_first(explained.order)
        if execution.judge.state is not before:
            execution.history.append(execution.judge.state)
    execution.held = Held(points.label, points.count, points.refused, waited, meanwhile.is_timed, first)
    runs = {each.step.id: _as_run(each) for each in made[1:]}
    runs |= {each.id: each for each in (*meanwhile.reopened, *meanwhile.left_out)}
    during = tuple(runs[each.id] for each in step.during if each.id in runs)
    note = f"{HELD} at: {points.label}" if points.label is not None else f"{HELD} nowhere"
    own = _as_run(made[0])
    # Who came first may hang on how long a store waits, so that the decisions are no evidence: see `run_together`.
    return attrs.evolve(own, failure=failure, during=during, note=note)


def _as_run(made: Made) -> StepRun:
    step = made.step
    return StepRun(step.id, step.on, step.at, step.call, made.call.arguments, made.observed, None)


def _overlap(place: int, made: Made, calls: int, points: _Points, waited: bool) -> Overlap:
    """Those made meanwhile came one after the other. One that did not wait had ended before the held one went on, so
    that the held one committed inside of none of them."""
    overlap = Overlap(made.call, made.now, made.observed, later=made.later)
    if points.label is None:
        return attrs.evolve(overlap, after=frozenset(range(place)))
    if place == 0:
        return attrs.evolve(overlap, met=frozenset(range(1, calls)))
    met = frozenset({0}) if waited else frozenset[int]()
    return attrs.evolve(overlap, after=frozenset(range(1, place)), met=met)


def _held_comes_first(order: Sequence[int]) -> bool | None:
    if 0 not in order or not any(order):
        return None
    return order[0] == 0
