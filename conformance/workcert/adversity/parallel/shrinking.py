"""Fewer callers and calls that still show a race. Each attempt is run several times: a race does not always show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve, frozen

from workcert.cases.model import Call, Case, Together, required_abilities
from workcert.judge.verdict import Failure, StepRun
from workcert.references import references
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest

RUNS: Final = 12
"""So often an attempt is run before it counts as one that shows nothing."""
MOST_RUNS: Final = 400
"""Runs of all attempts."""
CONFIRMING: Final = 20
"""Runs of the least case, to say how often it shows."""
ROUNDS: Final = 50
"""Rounds of the case that is kept, so that one replay most likely shows it."""


@frozen(eq=False)
class Shown:
    """A case that has failed, with what was seen then. ``reproduced``: n of m runs that failed again."""

    case: Case
    failure: Failure
    steps: tuple[StepRun, ...]
    reproduced: tuple[int, int]

    @property
    def always(self) -> bool:
        return self.reproduced[0] == self.reproduced[1]


def fewest(store: StoreUnderTest, first: Shown) -> tuple[Shown, int]:
    """The least case that was seen to fail as this one, to be run in rounds, and how many runs it took to find."""
    least, spent = first, 0
    progress = True
    while progress and spent < MOST_RUNS:
        progress = False
        for candidate in _smaller(least.case):
            found, runs = _again(store, candidate, first.failure.requirement, min(RUNS, MOST_RUNS - spent))
            spent += runs
            if found is not None:
                least, progress = found, True
                break
            if spent >= MOST_RUNS:
                break
    least, spent = _confirmed(store, least, first.failure.requirement), spent + CONFIRMING
    if not least.reproduced[0] and least.case is not first.case:
        # So small it hardly ever shows; with all its callers it may.
        whole, spent = _confirmed(store, first, first.failure.requirement), spent + CONFIRMING
        least = whole if whole.reproduced[0] else least
    return evolve(least, case=_in_rounds(least.case, first.failure.requirement)), spent


def _confirmed(store: StoreUnderTest, shown: Shown, requirement: str) -> Shown:
    """What was shown last, and how often it shows."""
    failed = 0
    for _ in range(CONFIRMING):
        found, _runs = _again(store, shown.case, requirement, 1)
        if found is not None:
            failed, shown = failed + 1, found
    return evolve(shown, reproduced=(failed, CONFIRMING))


def _again(store: StoreUnderTest, case: Case, requirement: str, runs: int) -> tuple[Shown | None, int]:
    for number in range(1, runs + 1):
        run = run_case(store, case)
        if run.verdict is Verdict.FAILED and run.failure is not None and run.failure.requirement == requirement:
            return Shown(case, run.failure, run.steps, (1, 1)), number
        if run.verdict is Verdict.UNKNOWN:
            # It takes long, and a smaller one will tell.
            return None, number
    return None, max(runs, 0)


def _smaller(case: Case) -> Iterator[Case]:
    """One caller less, half of the calls of one caller less, one call less, one earlier step less."""
    block = _block(case)
    handles = list(dict.fromkeys(call.on for call in block.calls))
    groups = [[call.id for call in block.calls if call.on == on] for on in handles]
    attempts = list(groups[::-1]) if len(handles) > 2 else []
    attempts += [own[len(own) // 2 :] for own in groups if len(own) > 3]
    attempts += [[call.id] for call in block.calls[::-1]]
    attempts += [[step.id] for step in case.steps[-2::-1]]
    for attempt in attempts:
        yield from _without(case, frozenset(attempt))


def _without(case: Case, ids: frozenset[str]) -> Iterator[Case]:
    """The case without some calls, and without those that refer to them; nothing where too little is left."""
    block = _block(case)
    gone: set[str] = set()

    def kept(call: Call) -> bool:
        if call.id in ids or any(ref.step in gone for ref in references(call.args)):
            gone.add(call.id)
            return False
        return True

    first = tuple(step for step in case.steps[:-1] if isinstance(step, Call) and kept(step))
    calls = tuple(call for call in block.calls if kept(call))
    if len({call.on for call in calls}) > 1:
        yield _with_handles(Case(case.header, (*first, evolve(block, calls=calls))))


def _with_handles(case: Case) -> Case:
    handles = tuple(dict.fromkeys(call.on for step in case.steps for call in _calls(step)))
    return evolve(case, header=evolve(case.header, handles=handles))


def _calls(step: object) -> tuple[Call, ...]:
    return step.calls if isinstance(step, Together) else (step,) if isinstance(step, Call) else ()


def _in_rounds(case: Case, requirement: str) -> Case:
    block = evolve(_block(case), rounds=ROUNDS)
    header = evolve(
        case.header,
        name=f"{case.header.contract}/{requirement.lower()}",
        title=f"{requirement}: calls at once",
        requirements=(requirement,),
    )
    kept = Case(header, (*case.steps[:-1], block))
    return evolve(kept, header=evolve(header, abilities=tuple(sorted(required_abilities(kept)))))


def _block(case: Case) -> Together:
    block = case.steps[-1]
    assert isinstance(block, Together)
    return block
