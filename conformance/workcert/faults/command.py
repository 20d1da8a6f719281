"""``workcert faults``: seeded faults against the suites, with progress on a terminal only."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TextIO

from attrs import define, evolve, field
from tabulate import tabulate

from workcert.binding import bindings
from workcert.faults.argued import argued
from workcert.faults.campaign import SCENARIOS, VOLUME, WALK, Asked, Graded, faults_of, graded
from workcert.faults.equivalence import proven
from workcert.faults.fault import Fault, Kind
from workcert.faults.grades import EQUIVALENT, SURVIVED, Grade, Grades, as_text, place
from workcert.faults.grading import TOUR
from workcert.run.engine import Effort
from workspec.core.configuration import Configuration
from workspec.core.contract import digest

ALL_CAUGHT, SURVIVORS = 0, 1
MOST_LISTED: Final = 40
FIRST: Final = (TOUR, SCENARIOS)
"""By these every fault is tried: a configuration is small, and a bound that lies outside of it is a scenario's."""
LATER: Final = (VOLUME, WALK)
"""By these, which take long, what no search has shown to be no fault."""


def chosen(faults: Sequence[Fault], *, sample: int | None, only: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the faults to grade: those whose names hold one of the texts; evenly spread where a sample of
    them is asked for.

    Raises:
        KeyError: no name holds one of these texts.
    """
    found = [n for n, fault in enumerate(faults) if not only or any(text in fault.name for text in only)]
    if not found:
        raise KeyError(", ".join(only))
    if sample is None or sample >= len(found):
        return tuple(found)
    return tuple(found[index * len(found) // sample] for index in range(sample))


def run(
    contract: str,
    numbers: Sequence[int],
    *,
    effort: Effort,
    seed: int,
    processes: int | None,
    as_json: bool,
    write: bool,
) -> int:
    """Grade these faults of a contract, print what became of them, and keep the grades if that is asked for.

    Returns:
        0 when every fault was caught or shown to be none, 1 when one survived.
    """
    progress = Progress(len(numbers))
    asked = Asked(contract, tuple(numbers), effort, seed, FIRST)
    done = {each.number: each for each in progress.told(graded(asked, processes))}
    faults = faults_of(contract)
    left = [number for number, each in done.items() if each.found is None]
    proofs = proven(bindings()[contract], [faults[number] for number in left], progress.tell_proofs)
    left = [number for number in left if faults[number].name not in proofs]
    progress.goes_on_with(len(left))
    again = evolve(asked, numbers=tuple(left), suites=LATER)
    done |= {each.number: each for each in progress.told(graded(again, processes))}
    progress.end()
    reasons = argued(contract, [faults[number] for number in left if done[number].found is None])
    results = [done[number] for number in numbers]
    rules = bindings()[contract].contract
    grades = tuple(_with_proof(each.grade, {**proofs, **reasons}) for each in results)
    whole = Grades(contract, rules.version, digest(rules), effort, seed, grades)
    if write:
        target = place(contract)
        target.parent.mkdir(exist_ok=True)
        target.write_text(as_text(whole), encoding="utf-8", newline="\n")
    print(_as_json(whole, results) if as_json else _as_table(whole, results))
    return SURVIVORS if whole.of((SURVIVED,)) else ALL_CAUGHT


def _with_proof(grade: Grade, proofs: Mapping[str, str]) -> Grade:
    proof = proofs.get(grade.name)
    return grade if proof is None else evolve(grade, fate=EQUIVALENT, proof=proof)


# Printing ------------------------------------------------------------------------------------------------------------


def _as_json(grades: Grades, done: Sequence[Graded]) -> str:
    """The grades as they are kept, with what each took here."""
    head, *lines = (json.loads(line) for line in as_text(grades).splitlines())
    for line, each in zip(lines, done, strict=True):
        if each.found is not None:
            line["seconds_to_find"] = round(each.found.seconds_to_find, 3)
            line["seconds"] = round(each.found.seconds, 3)
    return json.dumps({**head, "faults": lines}, indent=2, ensure_ascii=False)


def _as_table(grades: Grades, done: Sequence[Graded]) -> str:
    rows = [_row(str(kind), [g for g in grades.faults if g.kind == kind]) for kind in Kind]
    rows = [row for row in rows if row[1]]
    headers = ("kind", "seeded", "caught", "equivalent", "survived", "longest case")
    found = [each.found for each in done if each.found is not None]
    spent = f"{sum(each.seconds_to_find for each in found):.0f} s to find, {sum(e.seconds for e in found):.0f} s with "
    parts = [
        f"{grades.contract} {grades.version}, effort {grades.effort}, seed {grades.seed}",
        tabulate([*rows, _row("all", grades.faults)], headers, disable_numparse=True),
        f"{spent}replays and shrinking, counted over all processes",
        *_survivors(grades),
    ]
    return "\n\n".join(parts)


def _row(kind: str, grades: Sequence[Grade]) -> tuple[str, ...]:
    fates = [grade.fate for grade in grades]
    caught = sum(grade.caught for grade in grades)
    longest = max((grade.length for grade in grades), default=0)
    counts = (len(grades), caught, fates.count(EQUIVALENT), fates.count(SURVIVED), longest)
    return (kind, *(str(count) if count else "" for count in counts))


def _survivors(grades: Grades) -> Iterable[str]:
    survived = grades.of((SURVIVED,))
    if not survived:
        return
    names = [f"  {grade.name}" for grade in survived[:MOST_LISTED]]
    more = [f"  and {len(survived) - MOST_LISTED} more; --json lists all"] if len(survived) > MOST_LISTED else []
    yield "\n".join((f"Survived ({len(survived)}):", *names, *more))


@define(eq=False)
class Progress:
    """One line on a terminal, rewritten; nothing in a pipe."""

    total: int
    stream: TextIO = field(factory=lambda: sys.stderr)
    done: int = 0
    survived: int = 0
    _began: float = field(factory=time.monotonic)

    def told(self, results: Iterable[Graded]) -> Iterator[Graded]:
        """The results, each counted as it comes."""
        for each in results:
            self.done += 1
            self.survived += each.found is None
            left = (time.monotonic() - self._began) / self.done * (self.total - self.done)
            self._draw(f"{self.done} of {self.total} faults, {self.survived} not caught, about {left:.0f} s left")
            yield each

    def tell_proofs(self, configuration: Configuration) -> None:
        self._draw(f"{self.survived} faults beside the right rules, state by state: {configuration.name}")

    def goes_on_with(self, total: int) -> None:
        self.total, self.done, self.survived, self._began = total, 0, 0, time.monotonic()

    def end(self) -> None:
        self._draw("")

    def _draw(self, text: str) -> None:
        if self.stream.isatty():
            print(f"\r{text:<78}", end="\r" if not text else "", file=self.stream, flush=True)
