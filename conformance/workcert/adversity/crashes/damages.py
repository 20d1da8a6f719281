"""Files of a store that are found damaged: cut, gone, with other bytes in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from workcert.adversity.crashes.sweep import wanted
from workcert.adversity.crashes.targets import Target
from workcert.adversity.part import SUITE, Part
from workcert.cases.model import Call, Case, Crash, Damage, Restart, required_abilities
from workcert.children import cannot
from workcert.run.case import run_case
from workcert.run.damaging import UNNOTICED
from workcert.run.engine import Effort, Options, Shrinking, emit_case
from workcert.run.events import CaseEnded, Emit, ExamplesRun, Tallied, Verdict
from workcert.run.store import StoreUnderTest

NAME: Final = "damaged files"
HEADER: Final = 100
"""Bytes at the beginning of a file: a header of most formats, all of it in that of SQLite."""
PAGE: Final = 4096
MOST_PAGES: Final = {Effort.QUICK: 4, Effort.CI: 8, Effort.DEEP: 500}
LONGEST: Final = 8
"""Calls that fill the store before its files are damaged."""
NOTICED: Final = "refused, or a state that was committed"


def run_damages(store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """Damage each file of a store that holds something, in each way.

    Raises:
        BackendError: the backend cannot be used, or lies about an ability.
    """
    why = cannot(store.backend)
    filled = None if why else filling(wanted(store, options, store.backend.binding.damaged))
    cases = [] if filled is None else list(_cases(store, filled, MOST_PAGES[options.effort]))
    if not cases:
        nothing = "the store keeps no files in its place"
        reason = why or (nothing if filled is not None else "nothing of what was asked for fills a store")
        emit(CaseEnded(SUITE, NAME, Verdict.SKIPPED, reason=reason))
        return
    shrinking, steps = Shrinking(), 0
    for tried, (row, case) in enumerate(cases, start=1):
        run = run_case(store, case)
        steps += len(run.steps)
        emit(ExamplesRun(NAME, tried, steps))
        seen = run.steps[-1] if run.steps else None
        if run.verdict is Verdict.PASSED and seen is not None and seen.applicable:
            emit(Tallied(NAME, row, UNNOTICED if seen.note == UNNOTICED else NOTICED))
        else:
            emit_case(store, SUITE, case, run, emit, shrinking)


def _cases(store: StoreUnderTest, filled: Case, most_pages: int) -> Iterator[tuple[str, Case]]:
    """What is damaged while the store is at work, and after it was closed well and opened again, with the row of the
    table in which it counts."""
    closed = attrs.evolve(filled, steps=(*filled.steps, Restart("closed")))
    for when, case in (("", filled), (" at rest", closed)):
        for name, size in _files(store, case).items():
            for damage in damages(name, size, most_pages) if size else ():
                yield f"{name}{when}, {damage.how}", _damaged(case, damage)


def filling(found: tuple[Target, ...]) -> Case | None:
    """The calls that lead to one of the operations, as many as there are in a short case; None where there is none."""
    prefixes = [_prefix(target) for target in found]
    short = [case for case in prefixes if 0 < len(case.steps) <= LONGEST]
    return max(short, key=lambda case: (len(case.steps), case.header.name), default=None)


def _prefix(target: Target) -> Case:
    position = next(n for n, step in enumerate(target.case.steps) if step.id == target.killed)
    steps = target.case.steps[:position]
    whole = all(isinstance(step, Call) for step in steps)
    return attrs.evolve(target.case, steps=steps if whole else ())


def damages(name: str, size: int, most_pages: int) -> Iterator[Damage]:
    """What is done to a file of so many bytes."""
    yield Damage("damaged", name, "removed")
    for at in sorted({0, min(PAGE, size // 3), size // 2, max(size - 1, 0)}):
        yield Damage("damaged", name, "cut", at)
    yield Damage("damaged", name, "zeroed", 0, min(HEADER, size))
    pages = range(0, size, PAGE)
    for at in pages[:: max(1, -(-len(pages) // most_pages))]:
        yield Damage("damaged", name, "overwritten", at, PAGE)


def _files(store: StoreUnderTest, filled: Case) -> Mapping[str, int]:
    """The files of the store when the case has been run, and their sizes in bytes."""
    if run_case(store, filled).verdict is not Verdict.PASSED:
        return {}
    place = store.place.path
    found = sorted(path for path in place.rglob("*") if path.is_file())
    return {path.relative_to(place).as_posix(): path.stat().st_size for path in found}


def _damaged(filled: Case, damage: Damage) -> Case:
    steps = (*(step for step in filled.steps if not isinstance(step, Crash)), damage)
    abilities = required_abilities(Case(filled.header, steps))
    header = attrs.evolve(
        filled.header,
        name=f"{filled.header.contract}/damage-{damage.how}",
        title=f"{damage.file} is found damaged: {damage.how}",
        abilities=tuple(sorted({*filled.header.abilities, *abilities})),
    )
    return Case(header, steps)


DAMAGED_FILES: Final = Part(NAME, frozenset({"kill", "restart"}), run_damages)
