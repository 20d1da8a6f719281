"""Calls that meet: one committing between the two halves of another, and several at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs

from workcert.backends import coroutines
from workcert.backends.registry import BackendError
from workcert.cases.model import Call, Frozen, Together
from workcert.judge.together import judge_history
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.linear import FitsNone, Made
from workcert.linear.lanes import drawn
from workcert.references import Refused
from workcert.run.at_once import run_at_once
from workcert.run.calling import Answered, Observed, Unavailable, observe
from workcert.run.literal import brief, expectation_differences
from workcert.run.misuse import ACCIDENTS, kind_of
from workcert.run.others import stray_rows
from workcert.run.reading import Unreadable
from workcert.run.referred import check_referred
from workcert.run.store import BOUND
from workcert.run.turning_away import TURNED_AWAY, for_nothing, is_turned_away, note_of, shows_no_race, was_unavailable
from workspec.core.interpreter import decide
from workspec.core.rule import Batch
from workspec.core.scope import Call as ModelCall

if TYPE_CHECKING:
    from workcert.run.execution import Execution

MOST_LANES: Final = 8
"""Of more callers no drawing is made: it would be wider than a page."""


def run_frozen(execution: Execution, step: Frozen) -> StepRun:
    """The held call reads and decides, the others commit, then it goes on."""
    held = step.frozen
    made = execution.prepare(held)
    if isinstance(made, StepRun):
        return made
    call, now_s = made
    before, stale = execution.judge.state, execution.views.stale(held.on)
    ran: list[StepRun] = []
    trouble: list[Exception] = []

    def meanwhile() -> None:
        try:
            _check_pause(execution)
            ran.extend(_made_meanwhile(execution, inner) for inner in step.during if isinstance(inner, Call))
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
    if is_turned_away(observed):
        return _combined(step, _turned_away(execution, held, call, observed), ran)
    decision, chooser = execution.judge.first_half(call, now_s, observed, execution.read, before)
    between = execution.judge.state
    judged = execution.judge.half(decision, observed, execution.read, chooser, stale)
    if judged.failure is not None and isinstance(decision.operation, Batch):
        # No batch is promised a conflict: one that asks again before it writes stands behind the others.
        again = execution.judge.call(call, now_s, observed, execution.read)
        judged = judged if again.failure is not None else again
    return _combined(step, execution.finished(held, call, observed, judged, between), ran)


def _made_meanwhile(execution: Execution, inner: Call) -> StepRun:
    """A call while another one is held; where the store is busy with that one, nothing was forced."""
    made = execution.prepare(inner)
    if isinstance(made, StepRun):
        return made
    call, now_s = made
    observed = execution.observed(inner, call)
    if not is_turned_away(observed):
        return execution.judged_run(inner, call, now_s, observed)
    execution.unforced = f"{inner.call} was turned away while another call was held: no interleaving was forced"
    return _turned_away(execution, inner, call, observed)


def _turned_away(execution: Execution, step: Call, call: ModelCall, observed: Observed) -> StepRun:
    """It has done nothing, which is looked after; what is written of the outcome holds of another order."""
    execution.put(step, observed)
    execution.literal = False
    execution.rows.clear()
    ids = execution.binding.contract.comparisons["refusal"]
    failure = None
    if execution.judged:
        text = f"after {step.call}, which was turned away and said that nothing was written"
        failure = execution.judge.everything(execution.read, ids, Kind.OTHERS, text)
    return StepRun(
        step.id,
        step.on,
        step.at,
        step.call,
        call.arguments,
        observed,
        None,
        (),
        failure,
        note=TURNED_AWAY,
        turned_away=1,
    )


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
    if not step.shared and not step.apart and execution.store.bound_to_threads():
        return execution.not_forced(step, BOUND)
    alone = step.shared or len({call.on for call in step.calls}) == len(step.calls)
    why = _why_not(execution, step, step.calls if alone else _first_of_each(step.calls))
    if isinstance(why, StepRun):
        return attrs.evolve(why, id=step.id)
    ran = run_at_once(execution, step.calls, apart=step.apart, shared=step.shared)
    execution.rows.clear()
    for each in ran:
        if each.made is None:
            execution.answers.put(each.step.id, Refused("not_applicable"))
        elif each.made.seen is not None:
            check_referred(execution.store.backend, each.step.call, each.made.seen)
    made = [each for each in ran if each.made is not None]
    history = [each.made for each in made if each.made is not None]
    seen = [None if each.made is None else each.made.seen for each in ran]
    refused, failure = _refused(execution, history) if step.shared else (frozenset[int](), None)
    unavailable: list[Made] = []
    if failure is None:
        titles = [f"{each.step.id} {each.step.call}" for index, each in enumerate(made) if index not in refused]
        history = [one for index, one in enumerate(history) if index not in refused]
        unavailable = was_unavailable(history)
        failure = for_nothing(execution.binding.contract, history) or _judged(execution, history, titles)
    if unavailable:
        _note_unavailable(execution, step, history)
    if failure is None and not refused and execution.literal and step.expect_one_of is not None:
        failure = _check_combinations(execution, step, seen)
    execution.history.append(execution.judge.state)
    arguments = {each.step.id: {} if each.made is None else each.made.call.arguments for each in ran}
    names = " | ".join(call.call for call in step.calls)
    shown = Answered(["not made" if one is None else brief(one) for one in seen])
    run = StepRun(step.id, "", step.calls[0].at, names, arguments, shown, None, (), failure, note=note_of(history))
    return attrs.evolve(run, turned_away=len(unavailable))


def _note_unavailable(execution: Execution, step: Together, history: Sequence[Made]) -> None:
    """What is written of the outcome presumes that every call came through; what the model says does not."""
    execution.literal = False
    execution.unsure = execution.unsure or any(made.may_have_happened for made in history)
    if shows_no_race(history):
        execution.raceless.add(step.id)


def _judged(execution: Execution, history: Sequence[Made], names: Sequence[str]) -> Failure | None:
    """Which calls met a conflict differs from run to run, so their decisions are no evidence: what a race shows is
    written in the header of its case."""
    rest = partial(stray_rows, execution)
    failure, furthest = judge_history(execution.judge, history, execution.read, rest)
    if failure is None or furthest is None or len({made.caller for made in history}) > MOST_LANES:
        return failure
    return _as_drawn(failure, history, furthest, names)


def _first_of_each(calls: Sequence[Call]) -> list[Call]:
    """The first call of each caller: what the later ones are, their answers say."""
    return list({call.on: call for call in reversed(calls)}.values())[::-1]


def _refused(execution: Execution, history: Sequence[Made]) -> tuple[frozenset[int], Failure | None]:
    """Which calls on one handle were refused because they met another one, by an exception of one kind for all."""
    observed = [made.seen for made in history if made.seen is not None]
    kinds = [kind_of(seen) for seen in observed]
    found = {kind for kind in kinds if kind}
    ids = execution.binding.contract.conflict_requirements
    accident = next((seen for seen, kind in zip(observed, kinds, strict=True) if kind in ACCIDENTS), None)
    if accident is not None:
        text = f"calls at once on one handle: the store raised {getattr(accident, 'text', '')}, which refuses nothing"
        return frozenset(), Failure(ids, Kind.CRASH, text)
    if len(found) > 1:
        text = f"calls at once on one handle were refused by exceptions of several kinds: {', '.join(sorted(found))}"
        return frozenset(), Failure(ids, Kind.CRASH, text)
    if any(isinstance(seen, Unavailable) and not seen.definite for seen in observed):
        text = "a call at once with others on one handle was refused without saying that nothing was written"
        return frozenset(), Failure(ids, Kind.CRASH, text)
    return frozenset(index for index, kind in enumerate(kinds) if kind), None


def _why_not(execution: Execution, step: Together, calls: Sequence[Call]) -> StepRun | None:
    """Why the block cannot be asked; None where it can."""
    prepared = [execution.prepare(call) for call in calls]
    for made in prepared:
        if isinstance(made, StepRun):
            return made
    why = execution.not_asserted([made for made in prepared if not isinstance(made, StepRun)])
    return execution.left_out(step, why, elsewhere=True) if why else None


def _as_drawn(failure: Failure, history: Sequence[Made], furthest: FitsNone, names: Sequence[str]) -> Failure:
    """The failure with the call that fits no order, and with what was seen of all of them."""
    which = (
        "all of them fit one, but" if furthest.call is None else f"{names[furthest.call]} is the first that fits none:"
    )
    text = f"no serial order of the calls explains what was seen; {which} {furthest.cause.text}"
    return attrs.evolve(failure, text=text, drawing=drawn(history, furthest, names.__getitem__, brief))


def _check_combinations(execution: Execution, step: Together, observed: Sequence[Observed | None]) -> Failure | None:
    assert step.expect_one_of is not None
    for combination in step.expect_one_of:
        if all(
            seen is not None and not expectation_differences(expectation, seen, execution.answers)
            for expectation, seen in zip(combination, observed, strict=True)
        ):
            return None
    text = f"the answers fit none of the {len(step.expect_one_of)} allowed combinations"
    return Failure(execution.ids_of_case or ("WRK-GEN-01",), Kind.EXPECTATION, text)
