"""Running one whole case on one backend: what it needs, its variants, its verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import attrs
from attrs import frozen

from workcert.backends.registry import LoadedBackend
from workcert.binding import WISHES
from workcert.cases.model import (
    HOLDING,
    Case,
    Crash,
    Damage,
    Frozen,
    Misuse,
    Plain,
    Step,
    Together,
    Transaction,
    Way,
    calls_of,
    every_step,
    required_abilities,
    unrolled,
)
from workcert.children import cannot
from workcert.judge.together import Undecided
from workcert.judge.verdict import Failure, StepRun
from workcert.run.calling import CallHung
from workcert.run.events import Verdict
from workcert.run.execution import Execution
from workcert.run.store import StoreUnderTest
from workcert.run.turning_away import NO_RACE
from workspec.core.choice import ChoiceKind


@frozen
class CaseRun:
    """``reason`` says why a case was skipped or is unknown. ``steps`` are those of the run that decided.
    ``turned_away``: how many calls at once the store was not available for, in all rounds; ``raceless``: the blocks of
    calls at once that showed no race, since hardly any call came through."""

    verdict: Verdict
    steps: tuple[StepRun, ...] = ()
    failure: Failure | None = None
    reason: str = ""
    hung: bool = False
    turned_away: int = 0
    raceless: frozenset[str] = frozenset()


def lacking(case: Case, backend: LoadedBackend) -> str:
    """Why this case cannot be asked of this backend; empty when it can."""
    if case.header.contract != backend.binding.name:
        return f"the case is of the contract {case.header.contract}, the backend of {backend.binding.name}"
    profiles = sorted(set(case.header.profiles) - backend.profiles)
    if profiles:
        return f"the backend does not claim {', '.join(profiles)}"
    options = sorted(set(case.header.config) - backend.configurable - WISHES)
    if options and backend.binding.configured:
        return f"the backend cannot be opened with {', '.join(options)} (configurable)"
    if holds(case) and not (backend.can("pause") or backend.can("points")):
        return "the backend lacks the ability pause, and points too"
    killed = any(_is_elsewhere(step) for step in every_step(case.steps))
    if killed and cannot(backend):
        return cannot(backend)
    abilities = sorted({*required_abilities(case), *case.header.abilities} - backend.abilities)
    if abilities:
        return f"the backend lacks the ability {', '.join(abilities)}"
    return ""


def holds(case: Case) -> bool:
    """A handle of it is misused while it is held in a call."""
    return any(isinstance(step, Misuse) and step.way in HOLDING for step in every_step(case.steps))


def _is_elsewhere(step: Step) -> bool:
    return isinstance(step, Crash) or (isinstance(step, Misuse) and step.way in (Way.FORKED, Way.LEFT_OPEN))


NO_METHOD: Final = "the store has no "
"""How the reason begins when a method is missing; their names follow, with commas between."""


def lacking_methods(case: Case, handle: object) -> str:
    """Which methods the case calls and the store does not have; empty when it has all."""
    asked = {call.call for call in calls_of(case)}
    if any(isinstance(step, Transaction) for step in every_step(case.steps)):
        asked.add("begin")
    absent = sorted(asked - {m for m in dir(handle) if not m.startswith("_")})
    absent = [name for name in absent if not hasattr(handle, name)]
    return f"{NO_METHOD}{', '.join(absent)}" if absent else ""


Watch = Callable[[Execution, Plain, StepRun], None]
"""Called after each step, with the run that it belongs to: each variant of a case is an execution of its own."""


def run_case(
    store: StoreUnderTest, case: Case, *, judged: bool = True, watch: Watch | None = None, tries_on: bool = False
) -> CaseRun:
    """Run a case in all its variants, each on a fresh store; the first that fails decides.

    ``tries_on``: where those that should run while a call is held are all turned away, they try again at its next
    point: having done nothing, they cost no run of the case.

    A block of calls at once runs with threads as often as it asks; for two calls once more in the other order, and, on
    a backend that can pause, once with each of them committing between the halves of the other.

    Raises:
        Nothing of the backend's: what an adapter raises is part of the verdict.
    """
    why = lacking(case, store.backend)
    if why:
        return CaseRun(Verdict.SKIPPED, reason=why)
    last: CaseRun | None = None
    for variant in variants(case, store.backend):
        run = _run_once(store, variant, judged, watch, tries_on)
        if run.verdict is Verdict.SKIPPED and variant is not case:
            continue
        last = run if last is None else _after(last, run)
        if last.verdict is not Verdict.PASSED:
            return last
    assert last is not None
    if last.raceless:
        return CaseRun(Verdict.SKIPPED, last.steps, reason=NO_RACE, turned_away=last.turned_away)
    return last


def _after(before: CaseRun, run: CaseRun) -> CaseRun:
    """One more run of a case; a race that showed in one of them has shown."""
    turned_away = before.turned_away + run.turned_away
    return attrs.evolve(run, turned_away=turned_away, raceless=before.raceless & run.raceless)


def variants(case: Case, backend: LoadedBackend) -> Iterator[Case]:
    """The runs of a case: its rounds, every other one with the calls begun the other way round, since on a fast store
    the same call always comes first; then each forced interleaving of its blocks of two calls."""
    blocks = [step for step in every_step(case.steps) if isinstance(step, Together)]
    rounds = max((block.rounds for block in blocks), default=1)
    pairs = any(len(block.calls) == 2 for block in blocks)
    for number in range(max(rounds, 2) if pairs else rounds):
        yield _turned(case, blocks) if number % 2 else case
    if not backend.can("pause"):
        return
    for block in blocks:
        if len(block.calls) == 2 and not block.shared:
            first, second = block.calls
            yield _with(case, block, Frozen(block.id, first, (second,), block.note))
            yield _with(case, block, Frozen(block.id, second, (first,), block.note))


def _turned(case: Case, blocks: Sequence[Together]) -> Case:
    for block in blocks:
        callers = [call.id if block.shared else call.on for call in block.calls]
        turned = list(dict.fromkeys(callers))[::-1]
        places = [place for on in turned for place, caller in enumerate(callers) if caller == on]
        expected = block.expect_one_of
        combinations = None if expected is None else tuple(tuple(each[i] for i in places) for each in expected)
        calls = tuple(block.calls[place] for place in places)
        case = _with(case, block, attrs.evolve(block, calls=calls, expect_one_of=combinations))
    return case


def _with(case: Case, block: Together, instead: Frozen | Together) -> Case:
    steps = tuple(instead if step is block else step for step in case.steps)
    return attrs.evolve(case, steps=steps)


def _run_once(store: StoreUnderTest, case: Case, judged: bool, watch: Watch | None, tries_on: bool) -> CaseRun:
    try:
        is_made = bool(case.steps) and isinstance(case.steps[0], Crash) and case.steps[0].step is None
        begin = store.fresh if soils(case) else store.begin
        seen = is_watched(case) or (holds(case) and (not store.backend.can("pause") or store.backend.dbapi is not None))
        begin(case.header.config, watched=seen or (has_callers(case) and store.backend.can("commit_order")))
        if soils(case):
            store.use_up()
        execution = Execution(store, literal=is_reference(store.backend), judged=judged)
        execution.ids_of_case, execution.tries_on = case.header.requirements, tries_on
        for name in () if is_made else case.header.handles:
            # Opened before the first step: one that is opened later has seen all, and shows no stale view.
            store.handle(name)
        if case.steps and not is_made:
            why = lacking_methods(case, store.handle(case.header.handles[0]))
            if why:
                return CaseRun(Verdict.SKIPPED, reason=why)
        for step in unrolled(case.steps):
            run = execution.step(step)
            if watch is not None:
                watch(execution, step, run)
            if run.failure is not None:
                return CaseRun(Verdict.FAILED, tuple(execution.runs), execution.failure)
        if execution.finish() is not None:
            return CaseRun(Verdict.FAILED, tuple(execution.runs), execution.failure)
    except CallHung as hung:
        store.fresh(case.header.config)
        return CaseRun(Verdict.UNKNOWN, reason=str(hung), hung=True)
    except Undecided as given_up:
        return CaseRun(Verdict.UNKNOWN, reason=str(given_up))
    if execution.unforced:
        return CaseRun(Verdict.SKIPPED, reason=execution.unforced)
    return CaseRun(
        Verdict.PASSED,
        tuple(execution.runs),
        turned_away=_turned_away(execution),
        raceless=frozenset(execution.raceless),
    )


def _turned_away(execution: Execution) -> int:
    return sum(run.turned_away for step in execution.runs for run in (step, *step.during))


def soils(case: Case) -> bool:
    """What a process leaves behind that is killed, or whose disk fails, may outlast a reset, and so may what is done to
    a file: a case of it has a place of its own, and so has the next case."""
    return any(isinstance(step, Crash | Damage) for step in every_step(case.steps))


def is_watched(case: Case) -> bool:
    """The calls of this case are seen at work, as far as the backend lets the kit see them."""
    held = (isinstance(step, Frozen) and step.point is not None for step in every_step(case.steps))
    return any(held) or not {"points", "commit_order"}.isdisjoint(case.header.abilities)


def has_callers(case: Case) -> bool:
    """Some block of it has callers with several calls each: the order of commits shortens the search of an order."""
    blocks = (step.calls for step in every_step(case.steps) if isinstance(step, Together) and not step.shared)
    return any(len({call.on for call in calls}) < len(calls) for calls in blocks)


def is_reference(backend: LoadedBackend) -> bool:
    """The backend declares every choice as the reference takes it, so that written expectations hold literally."""
    defaults = {c.id: c.default for c in backend.binding.contract.choices if c.kind is ChoiceKind.DECLARED}
    return all(defaults.get(identifier) == value for identifier, value in backend.choices.items())
