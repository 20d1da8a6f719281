"""A call that is held at one of its points while others are made on other handles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import define, field, frozen

from workcert.backends import coroutines
from workcert.backends.registry import BackendError
from workcert.cases.model import Call, Frozen, Reopen
from workcert.judge.overlapping import Overlap, judge_overlapping
from workcert.judge.verdict import HELD, Failure, Kind, StepRun
from workcert.raised import told
from workcert.run.beside import Companion
from workcert.run.calling import Answered, Observed, Unavailable, observe
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


@frozen(eq=False)
class _Made:
    step: Call
    call: ModelCall
    now: int
    observed: Observed


@define(eq=False)
class _Meanwhile:
    """The steps of ``during``, made in a thread of their own: they may have to wait for the held call."""

    execution: Execution
    step: Frozen
    made: list[_Made] = field(factory=list)
    left_out: list[StepRun] = field(factory=list)
    reopened: list[StepRun] = field(factory=list)
    trouble: list[BaseException] = field(factory=list)
    companion: Companion | None = None
    is_timed: bool = False

    @property
    def came_back(self) -> bool:
        """They had ended when the held call went on."""
        return self.companion is not None and self.companion.came_back

    def start(self) -> None:
        self.forget()
        self.companion = Companion(self.execution.store, self._run)
        self.companion.start()
        self.is_timed |= self.companion.is_timed

    def go_on(self) -> None:
        """The held call has come to a further point."""
        if self.companion is not None:
            self.companion.go_on()
            self.is_timed |= self.companion.is_timed

    def forget(self) -> None:
        self.companion = None
        for kept in (self.made, self.left_out, self.reopened):
            kept.clear()

    def finish(self) -> None:
        """Wait for them, or make them now.

        Raises:
            CallHung: they do not come back though nothing holds them up any more.
        """
        if self.companion is None:
            self._run()
        else:
            self.companion.finish(f"a call beside {self.step.frozen.call}")
        for error in self.trouble:
            raise error

    def _run(self) -> None:
        try:
            for each in self.step.during:
                if self.companion is not None:
                    self.companion.next_call()
                self._make(each)
        except BaseException as error:  # raised again where somebody can hear it
            self.trouble.append(error)
        finally:
            # A handle that was opened in this thread may be of no use in another.
            for each in self.step.during:
                if isinstance(each, Reopen):
                    self.execution.store.close_handle(each.on)

    def _make(self, each: Call | Reopen) -> None:
        execution = self.execution
        if isinstance(each, Reopen):
            self.reopened.append(_reopened(execution, each))
            return
        made = execution.prepare(each)
        if isinstance(made, StepRun):
            self.left_out.append(made)
            return
        call, now = made
        observed = execution.observed(each, call)
        execution.put(each, observed)
        self.made.append(_Made(each, call, now, observed))

    @property
    def did_nothing(self) -> bool:
        """All of them said at once, and definitely, that they did nothing; to open a handle is to do nothing, and what
        refers to the answer of one that did nothing cannot be made."""
        seen = [each.observed for each in self.made]
        failed = any(each.failure is not None for each in self.reopened)
        turned_away = all(isinstance(one, Unavailable) and one.definite for one in seen)
        nothing_made = bool(self.left_out) and not seen
        return self.came_back and turned_away and not failed and not self.trouble and not nothing_made


def run_held(execution: Execution, step: Frozen) -> StepRun:
    """Hold one call at its point, make the others, let it go on; then some serial order must explain all."""
    held, number = step.frozen, step.point
    assert number is not None
    if execution.binding.has_clock and any(getattr(each, "at", held.at) != held.at for each in step.during):
        return execution.left_out(step, "a store has one clock: a call during another is made at the same instant")
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
    meanwhile = _Meanwhile(execution, step)
    state, observed = _hold(execution, held, call, number, meanwhile)
    meanwhile.finish()
    check_referred(execution.store.backend, held.call, observed)
    made = [_Made(held, call, now, observed), *meanwhile.made]
    why = execution.not_asserted([(each.call, each.now) for each in made])
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
    execution: Execution, held: Call, call: ModelCall, number: int, meanwhile: _Meanwhile
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


def _check_seen(execution: Execution, held: _Made, points: _Points) -> None:
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


def _reopened(execution: Execution, step: Reopen) -> StepRun:
    """Closed and opened anew. What the store says of being held up is no failure; anything else that it raises is."""
    execution.store.close_handle(step.on)
    seen: Observed = Answered(None)
    failure = None
    try:
        execution.store.handle(step.on)
    except BackendError as error:
        cause = error.__cause__
        if isinstance(cause, execution.binding.unavailable):
            seen = Unavailable(cause.definite, told(cause))
        else:
            ids = execution.binding.contract.comparisons["read"]
            failure = Failure(ids, Kind.CRASH, f"opening the place while another handle is in a call: {error}")
    return StepRun(step.id, step.on, None, "reopen", {}, seen, None, (), failure)


# Judging -------------------------------------------------------------------------------------------------------------


def _judged(
    execution: Execution, step: Frozen, made: Sequence[_Made], meanwhile: _Meanwhile, points: _Points
) -> StepRun:
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


def _as_run(made: _Made) -> StepRun:
    step = made.step
    return StepRun(step.id, step.on, step.at, step.call, made.call.arguments, made.observed, None)


def _overlap(place: int, made: _Made, calls: int, points: _Points, waited: bool) -> Overlap:
    """Those made meanwhile came one after the other. One that did not wait had ended before the held one went on, so
    that the held one committed inside of none of them."""
    others = frozenset(range(1, calls))
    if points.label is None:
        after = frozenset(range(place))
        return Overlap(made.call, made.now, made.observed, after, frozenset[int]())
    if place == 0:
        return Overlap(made.call, made.now, made.observed, frozenset[int](), others)
    met = frozenset({0}) if waited else frozenset[int]()
    return Overlap(made.call, made.now, made.observed, frozenset(range(1, place)), met)


def _held_comes_first(order: Sequence[int]) -> bool | None:
    if 0 not in order or not any(order):
        return None
    return order[0] == 0
