"""The part ``interleavings``: each meeting, with either of its calls held at each of its points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from attrs import define, evolve, field

from workcert.adversity.interleavings.later import later
from workcert.adversity.interleavings.library import cases_from, everything, kept
from workcert.adversity.interleavings.meetings import searched
from workcert.adversity.part import SUITE, Part
from workcert.backends.protocol import Ability
from workcert.backends.registry import LoadedBackend
from workcert.binding import bindings
from workcert.cases.model import Call, Case, Frozen, Plain, Reopen, calls_of
from workcert.judge.verdict import StepRun
from workcert.run.case import CaseRun, run_case
from workcert.run.engine import MOST_HUNG, Effort, Options, Shrinking, emit_case
from workcert.run.events import CaseEnded, Emit, ExamplesRun, Tallied, Verdict
from workcert.run.execution import Execution
from workcert.run.holding import Held
from workcert.run.store import StoreUnderTest

NAME: Final = "interleavings"
MOST_LATER: Final = 3
"""Of each operation that is held while the clock goes on. At effort deep there are more."""
SAMPLE: Final = 6
"""At effort quick every so manieth meeting is tried; the seed says with which to begin."""
MOST_POINTS: Final = 60
"""Of one call. Who makes more statements than that is held at the first of them."""
PROGRESS_EVERY: Final = 10


def run_interleavings(store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """Try every meeting that the effort asks for and the store can be asked for.

    Raises:
        BackendError: the backend cannot be used, hangs again and again, or lies about an ability.
    """
    why = why_not(store)
    if why:
        emit(CaseEnded(SUITE, NAME, Verdict.SKIPPED, reason=why))
        return
    hold_each(store, asked(store.backend, options), asked_later(store.backend, options), emit)


def why_not(store: StoreUnderTest) -> str:
    """Why no call of this store can be held, empty where one can.

    Raises:
        BackendError: the backend cannot be used.
    """
    if not {Ability.POINTS, Ability.PAUSE} & store.backend.abilities:
        return "the backend has neither the ability points nor pause, and names no dbapi"
    store.begin(watched=True)
    store.handle("A")
    return store.cannot_hold()


def hold_each(store: StoreUnderTest, meetings: Iterable[Case], later: Iterable[Case], emit: Emit) -> None:
    """Try these meetings, and those between whose calls the clock goes on, on a store that `why_not` has begun.

    Raises:
        BackendError: as `run_interleavings`.
    """
    backend, handle = store.backend, store.handle("A")
    cases = [case for case in meetings if _has_all(handle, case)]
    trying = _Trying(store, emit)
    for case in cases:
        trying.meeting(case)
        if trying.meetings % PROGRESS_EVERY == 0:
            trying.tell()
    if backend.can(Ability.POINTS):
        for case in beside_reopening(cases):
            trying.reopening(case)
        for case in later:
            if _has_all(handle, case):
                trying.later(case)
        # Of a database module that nobody uses a case says so itself; where its statements hold up an event loop, or
        # the store refuses what would be held, nothing can be held.
        if cases and not trying.points and (backend.dbapi is None or handle.has_own_points):
            store.accuse("points", "none of its calls ran the callback of handle.points(callback)")
    trying.tell()


def asked(backend: LoadedBackend, options: Options) -> Sequence[Case]:
    """The cases of the meetings to try on this backend, in a fixed order."""
    binding = backend.binding
    if options.effort is Effort.DEEP:
        from workcert.search.command import CONFIGURATIONS

        every = everything(binding, searched(binding, CONFIGURATIONS[binding.name]))
        return list(cases_from(binding, (each for each in every if each[0].needs <= backend.profiles)))
    cases = _fitting(binding.name, backend.profiles)
    return cases[options.seed % SAMPLE :: SAMPLE] if options.effort is Effort.QUICK else cases


def asked_later(backend: LoadedBackend, options: Options) -> Sequence[Case]:
    """Those between whose calls the clock goes on. None at effort quick: to find them takes longer than to try them."""
    if options.effort is Effort.QUICK:
        return ()
    most = None if options.effort is Effort.DEEP else MOST_LATER
    return _later(backend.binding.name, backend.profiles, most)


@cache
def _later(contract: str, profiles: frozenset[str], most: int | None) -> tuple[Case, ...]:
    return later(bindings()[contract], _fitting(contract, profiles), profiles, most)


def _fitting(contract: str, profiles: frozenset[str]) -> list[Case]:
    """Of the cases that ship with the kit and are of one name, the first that a store with these profiles can be asked
    for."""
    first: dict[str, Case] = {}
    for case in kept(contract):
        if profiles.issuperset(case.header.profiles):
            first.setdefault(case.header.name, case)
    return list(first.values())


def _has_all(handle: Any, case: Case) -> bool:
    return all(hasattr(handle, call.call) for call in calls_of(case))


def beside_reopening(cases: Sequence[Case]) -> Iterator[Case]:
    """Each operation once, held while another handle opens the place anew."""
    seen: set[str] = set()
    for case in cases:
        held = _frozen(case)
        if held.frozen.call in seen:
            continue
        seen.add(held.frozen.call)
        name = f"{case.header.contract}/{held.frozen.call}-against-reopening".replace("_", "-")
        title = f"{held.frozen.call} is held, and another handle opens the place anew"
        other = held.during[0]
        yield _with(case, evolve(held, during=(Reopen(other.id, other.on),)), name, title)


def _frozen(case: Case) -> Frozen:
    return next(step for step in case.steps if isinstance(step, Frozen))


def _with(case: Case, step: Frozen, name: str = "", title: str = "") -> Case:
    header = evolve(case.header, name=name or case.header.name, title=title or case.header.title)
    return Case(header, tuple(step if isinstance(each, Frozen) else each for each in case.steps))


def turned(case: Case) -> Case | None:
    """The same with the other call held; None where both are one and the same, or several come between."""
    step = _frozen(case)
    if len(step.during) > 1:
        return None
    (other,) = step.during
    assert isinstance(other, Call)
    if (step.frozen.call, step.frozen.args) == (other.call, other.args):
        return None
    title = f"{other.call} is held, and {step.frozen.call} comes between"
    swapped = evolve(step, frozen=evolve(other, on="A"), during=(evolve(step.frozen, on="B"),))
    return _with(case, swapped, f"{case.header.name}-turned", title)


def at_pause(case: Case) -> Case:
    """The same for a store that can only be held between reading and writing."""
    step = evolve(_frozen(case), point=None)
    return _with(evolve(case, header=evolve(case.header, abilities=("pause", "second_handle"))), step)


@define(eq=False)
class _Trying:
    """``points``: at how many points calls were held; ``steps``: made in all cases."""

    store: StoreUnderTest
    emit: Emit
    shrinking: Shrinking = field(factory=Shrinking)
    points: int = 0
    steps: int = 0
    meetings: int = 0
    hung: int = 0
    _last: Held | None = None

    def tell(self) -> None:
        self.emit(ExamplesRun(SUITE, self.meetings, self.steps))

    def meeting(self, case: Case) -> None:
        """Either call is held while the other runs, and the case ends as the worst of all that."""
        self._all_ways(case, [way for way in (case, turned(case)) if way is not None], "meetings")

    def later(self, case: Case) -> None:
        """One call is held while the clock goes on and the other runs."""
        self._all_ways(case, [case], "clock gone on")

    def _all_ways(self, case: Case, ways: Sequence[Case], column: str) -> None:
        self.meetings += 1
        whys: list[str] = []
        for way in ways:
            self._tally(way, column)
            why = self._at_each_point(way) if self.store.backend.can(Ability.POINTS) else self._at_pause(way)
            if why is None:
                return
            whys.append(why)
        held = [why for why in whys if not why]
        shown = case.header.requirements if held else ()
        verdict = Verdict.PASSED if held else Verdict.SKIPPED
        self.emit(CaseEnded(SUITE, f"{NAME}/{_short(case)}", verdict, case, shown, reason="" if held else whys[0]))

    def reopening(self, case: Case) -> None:
        """The other handle is opened at every point, in one run up to where that has to wait and in another after it:
        to open it changes nothing."""
        point, waited = 1, 0
        while True:
            run = self._run(_held_at(case, point))
            held = self._last
            if run.verdict is Verdict.FAILED:
                self._failed(case, point, MOST_POINTS, run)
                return
            point += 0 if held is None else held.refused
            if held is None or not held.waited or held.timed or point >= MOST_POINTS:
                break
            point += 1
            waited += 1
        self._tally(case, "points beside reopening", point - 1)
        passed = run.verdict is Verdict.PASSED or (run.verdict is Verdict.SKIPPED and waited > 0)
        verdict, reason = (Verdict.PASSED, "") if passed else (run.verdict, run.reason)
        self.emit(CaseEnded(SUITE, f"{NAME}/{_short(case)}", verdict, case, reason=reason, hung=run.hung))

    def _at_each_point(self, case: Case) -> str | None:
        """Why the call was held nowhere, empty where it was; None where the case has ended otherwise."""
        point, reason = 1, ""
        while point <= MOST_POINTS:
            run = self._run(_held_at(case, point))
            held = self._last
            if run.verdict is Verdict.FAILED:
                refused = 0 if held is None else held.refused
                self._failed(case, point, point + refused, run)
                return None
            if run.verdict is Verdict.UNKNOWN:
                self._unknown(case, run)
                return None
            if held is None or held.label is None:
                reason = run.reason
                break
            self._count(case, held)
            point += held.refused + 1
        return reason if point == 1 else ""

    def _at_pause(self, case: Case) -> str | None:
        paused = at_pause(case)
        run = self._run(paused)
        if run.verdict is Verdict.FAILED:
            self._emit(paused, run)
            return None
        if run.verdict is Verdict.UNKNOWN:
            self._unknown(case, run)
            return None
        if run.verdict is Verdict.PASSED:
            self.points += 1
            self._tally(case, "points")
        return run.reason

    def _run(self, case: Case) -> CaseRun:
        self._last = None
        return run_case(self.store, case, watch=self._watch, tries_on=True)

    def _watch(self, execution: Execution, _step: Plain, _run: StepRun) -> None:
        self.steps += 1
        self._last = execution.held

    def _failed(self, case: Case, first: int, last: int, seen: CaseRun) -> None:
        """A case of its own for one point: of those that were tried in one run, the first that shows it alone."""
        for point in range(first, last + 1):
            alone = _held_at(case, point)
            run = run_case(self.store, alone)
            if run.verdict is Verdict.FAILED:
                self._emit(alone, run)
                return
            if run.verdict is Verdict.SKIPPED:
                break
        self._emit(_held_at(case, last), seen)

    def _emit(self, case: Case, run: CaseRun) -> None:
        self.tell()
        named = evolve(case, header=evolve(case.header, name=f"{NAME}/{_short(case)}"))
        emit_case(self.store, SUITE, named, run, self.emit, self.shrinking)

    def _unknown(self, case: Case, run: CaseRun) -> None:
        self.emit(CaseEnded(SUITE, f"{NAME}/{_short(case)}", run.verdict, case, reason=run.reason, hung=run.hung))
        self.hung += run.hung
        if self.hung >= MOST_HUNG:
            self.store.accuse_hanging(_short(case), run.reason)

    def _count(self, case: Case, held: Held) -> None:
        self.points += 1
        self._tally(case, "points")
        if held.timed:
            # Who waits for a lock, and who then comes first, is another thing each time.
            return
        self._tally(case, "turned away", held.refused)
        self._tally(case, "kept waiting", int(held.waited))
        order = {True: "before the other", False: "after the other", None: "one of both alone"}[held.first]
        self._tally(case, order)

    def _tally(self, case: Case, column: str, count: int = 1) -> None:
        if count:
            self.emit(Tallied(NAME, _frozen(case).frozen.call, column, count))


def _short(case: Case) -> str:
    return case.header.name.rpartition("/")[2]


def _held_at(case: Case, point: int) -> Case:
    return _with(case, evolve(_frozen(case), point=point))


PART: Final = Part(NAME, frozenset({"second_handle"}), run_interleavings)
