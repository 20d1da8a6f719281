"""Every operation in a process that is killed at each of its points in turn, or between its transactions, or at each of
its writes, or whose disk fails there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import define, evolve, field, frozen

from workcert.adversity.crashes.targets import Target, at_point, killed_step, targets
from workcert.adversity.crashes.tearing import seams
from workcert.adversity.part import SUITE, Part
from workcert.adversity.steps import requirements_of
from workcert.cases.model import DISKS, KILLED, Call, Case, Crash
from workcert.children import cannot, cannot_fail
from workcert.judge.verdict import StepRun
from workcert.run.case import CaseRun, run_case
from workcert.run.crashing import AFTER, BEFORE, EITHER, is_beyond
from workcert.run.engine import Effort, Options, Shrinking, emit_case, wanted_ids
from workcert.run.events import CaseEnded, Emit, ExamplesRun, Tallied, Verdict
from workcert.run.store import StoreUnderTest

NAME: Final = "crashes"
DISK_NAME: Final = "failing disks"
MOST_POINTS: Final = 500
"""A call that comes to more is left there."""
POINTS: Final = "points"
ANSWERED: Final = "after its answer"
ON_DISKS: Final = {Effort.QUICK: 1, Effort.CI: 2, Effort.DEEP: 1000}
"""Operations that are tried on disks that fail in every way: what one call does about an error, nearly all do."""
FULL: Final = "full"
"""How the disk of every operation fails, but for effort ``quick``: who forgets the error forgets it in one place."""
WIDEST: Final = {Effort.QUICK: 1, Effort.CI: 3, Effort.DEEP: 0}
"""Further ones that are killed at each of their writes, those that change most records: what a store tears shows where
it writes much, and in one page that it writes there is nothing to tear."""
MOST_WRITES: Final = 60
"""A call that writes more often is left there: where nothing holds its writes together, the first ones are torn too."""


def run_crashes(store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """Kill each operation at each of its points.

    Raises:
        BackendError: the backend cannot be used, or lies about an ability.
    """
    why = cannot(store.backend)
    if why:
        emit(CaseEnded(SUITE, NAME, Verdict.SKIPPED, reason=why))
        return
    kill_each(store, wanted(store, options), emit, finely=options.effort is Effort.DEEP)


def run_disks(store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """Let the disk fail at each write of some operations, and kill them and some more there; all with effort ``deep``.
    The disk of every other one is full from its first write on, or from each where it changes several records; with
    effort ``quick`` of none.

    Raises:
        BackendError: as `run_crashes`.
    """
    why = cannot(store.backend) or cannot_fail()
    if why:
        emit(CaseEnded(SUITE, DISK_NAME, Verdict.SKIPPED, reason=why))
        return
    fail_each(store, *on_disks(wanted(store, options), options.effort), emit)


def on_disks(asked: Iterable[Target], effort: Effort) -> tuple[list[Target], list[tuple[Target, str, int]]]:
    """Of these the ones for which the disk fails in every way; and others, each with the way in which it fails for it
    and at how many of its writes."""
    calls = [each for each in asked if isinstance(killed_step(each).step, Call) and not each.is_repeated]
    # Of each way the widest call will do: what it does about an error the others do where they write, too.
    widest_of = {each.way: each for each in sorted(calls, key=lambda each: len(each.pairs))}
    found = [each for each in calls if widest_of[each.way] is each]
    kept = found[:: max(1, -(-len(found) // ON_DISKS[effort]))]
    widest = sorted((each for each in found if each not in kept), key=lambda each: (-each.rows, each.name))
    full = [] if effort is Effort.QUICK else [each for each in found if each not in kept]
    # Who changes several records may have kept some of them when it says that it has written nothing.
    others = [(each, FULL, MOST_POINTS if each.rows > 1 else 1) for each in full]
    others += [(each, KILLED, MOST_WRITES) for each in widest[: WIDEST[effort]]]
    return kept, others


def kill_each(store: StoreUnderTest, found: Iterable[Target], emit: Emit, *, finely: bool = False) -> None:
    """Kill the nearest call of each way at each of its points, and the others where no transaction is open; ``finely``:
    all at each point. What fails is replayed, shrunk and explained as in any suite.

    Raises:
        BackendError: as `run_crashes`.
    """
    sweep = _Sweep(store, emit, NAME)
    for target in found:
        if target.is_nearest or finely:
            sweep.operation(target, None)
        else:
            sweep.at_seams(target)


def fail_each(
    store: StoreUnderTest, found: Iterable[Target], others: Iterable[tuple[Target, str, int]], emit: Emit
) -> None:
    """The same with each way in which a disk fails, at each write. ``others``: operations for which it fails in this
    way only, at so many of their writes.

    Raises:
        BackendError: as `run_crashes`.
    """
    sweep = _Sweep(store, emit, DISK_NAME)
    tried = [(target, disk, MOST_WRITES if disk == KILLED else MOST_POINTS) for target in found for disk in DISKS]
    for target, disk, most in (*tried, *others):
        if not sweep.is_hindered:
            sweep.operation(target, disk, most)
    if not (sweep.is_hindered or sweep.failed_writes):
        reason = "no call was seen to write to a file that the store had before it"
        emit(CaseEnded(SUITE, DISK_NAME, Verdict.SKIPPED, reason=reason))


def wanted(store: StoreUnderTest, options: Options, shown: Iterable[str] = ()) -> tuple[Target, ...]:
    """The targets of the operations that are asked for; all where none is named. ``shown``: what is asked of every
    operation beside what a kill says of it."""
    ids = wanted_ids(options.only, store.backend)
    binding = store.backend.binding
    # To be killed says something of every operation.
    every = not ids or not ids.isdisjoint((*binding.killed, *shown))
    return targets(
        store.backend,
        finely=options.effort is Effort.DEEP,
        only=lambda writing: every or bool(ids & requirements_of(binding, writing.operation)),
    )


@frozen
class _Tried:
    """A case with ``step`` in it, what became of it, and of that step."""

    case: Case
    run: CaseRun
    seen: StepRun | None
    step: Crash

    @property
    def goes_on(self) -> bool:
        """Nothing is wrong, and the process could be killed."""
        return self.run.verdict is Verdict.PASSED and self.seen is not None and self.seen.applicable

    @property
    def is_beyond(self) -> bool:
        return self.seen is not None and is_beyond(self.step, self.seen)


@define
class _Sweep:
    """``is_hindered``: a step was left out, for a reason that holds of all."""

    store: StoreUnderTest
    emit: Emit
    part: str
    shrinking: Shrinking = field(factory=Shrinking)
    is_hindered: bool = False
    failed_writes: int = 0
    _killed: int = 0
    _steps: int = 0

    def operation(self, target: Target, disk: str | None, most: int = MOST_POINTS) -> None:
        """Up to the first point at which something is wrong, or beyond the last; ``most``: to no later one."""
        for point in range(1, most + 1):
            tried = self._tried(target, point, disk)
            if not tried.goes_on or tried.is_beyond:
                break
        self._ended(tried)

    def at_seams(self, target: Target) -> None:
        """Where a call comes apart that a store makes in several transactions. Of a store that tells its points itself
        nobody knows where that is."""
        if self.store.backend.dbapi is None:
            self.operation(target, None)
            return
        whole = self._tried(target, MOST_POINTS, None)
        labels = whole.seen.points if whole.seen is not None else ()
        for point in seams(labels) if whole.goes_on else ():
            tried = self._tried(target, point, None)
            if not tried.goes_on:
                self._ended(tried)
                return
        self._ended(whole)

    def _tried(self, target: Target, point: int, disk: str | None) -> _Tried:
        case = at_point(target, point, disk)
        run = run_case(self.store, case)
        seen = next((each for each in run.steps if each.id == target.killed), None)
        tried = _Tried(case, run, seen, evolve(killed_step(target), disk=disk))
        self._said(run)
        if tried.goes_on:
            self._tally(target, tried)
        return tried

    def _said(self, run: CaseRun) -> None:
        self._killed, self._steps = self._killed + 1, self._steps + len(run.steps)
        self.emit(ExamplesRun(self.part, self._killed, self._steps))

    def _ended(self, tried: _Tried) -> None:
        run = tried.run
        if tried.seen is not None and not tried.seen.applicable:
            self.is_hindered = True
            run = evolve(run, verdict=Verdict.SKIPPED, reason=tried.seen.note)
        emit_case(self.store, SUITE, tried.case, run, self.emit, self.shrinking)

    def _tally(self, target: Target, tried: _Tried) -> None:
        disk, note = tried.step.disk, "" if tried.seen is None else tried.seen.note
        if disk is not None:
            if not tried.is_beyond:
                self.failed_writes += 1
                self.emit(Tallied(self.part, target.operation, disk))
            return
        if tried.is_beyond:
            self.emit(Tallied(self.part, target.operation, ANSWERED))
            return
        self.emit(Tallied(self.part, target.operation, POINTS))
        found = next((each for each in (EITHER, BEFORE, AFTER) if note.endswith(each)), EITHER)
        self.emit(Tallied(self.part, target.operation, found))


CRASHES: Final = Part(NAME, frozenset({"kill", "restart"}), run_crashes)
FAILING_DISKS: Final = Part(DISK_NAME, frozenset({"kill", "restart"}), run_disks)
