"""How a failure is printed for a person."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from tabulate import tabulate

from workcert.judge.verdict import Kind
from workcert.report.model import FailureReport, LookAlike, StepRow
from workcert.report.steps import LEAST_NOTE, MARK_NOTE, NAME_NOTE, ORDINARY, ORDINARY_NOTE

KINDS: Final = {
    Kind.ANSWER: "the call answered otherwise than it must",
    Kind.RECORD: "the record after the call is not as it must be",
    Kind.VERSION: "the version of the row did not move exactly when the record changed",
    Kind.OTHERS: "the call changed records that it is not about",
    Kind.CHOICE: "a choice that the contract leaves to the store fell on something that is not allowed",
    Kind.INVARIANT: "what must hold after every step does not hold",
    Kind.RESTART: "after the restart the store is not as it was before",
    Kind.CRASH: "the store raised an error that is no refusal of the contract",
    Kind.EXPECTATION: "what the case expects literally was not seen",
    Kind.KILLED: "a process that was killed has left something that is neither before nor after what it did",
    Kind.PROMISE: "a connection is without what the adapter promises of it",
    Kind.ORDER: "no order of the calls, one after the other, explains what was seen",
}
HEADERS: Final = ("n", "id", "time", "handle", "operation", "arguments", "expected", "seen", "what changed")
DEFAULT_WIDTH: Final = 120
MOST_NAMED: Final = 10
"""Failures of one cause that are named by a line each: a store may fail in hundreds of cases for one reason."""
MOST_IN_A_ROW: Final = 2
"""Steps in a row that are needed for one reason and stand by themselves all the same."""
OF_CASES: Final = ("scenarios", "tour")
"""The suites whose cases ship with the kit under a name."""
NARROWEST: Final = 12
"""Characters of a column below which a table is harder to read than one that does not fit."""
_FREE: Final = range(5, 9)
"""The columns that may be wrapped."""


def failure_text(
    failure: FailureReport, backend: str, *, directory: str | Path | None = None, width: int = DEFAULT_WIDTH
) -> str:
    """Everything about one failure; the last line replays it.

    Args:
        backend: the backend as the user names it on the command line.
        directory: where the report was written; the case is saved below it. None when nothing was written.
        width: of the terminal, in characters.
    """
    parts = [
        f"{failure.requirement}  {failure.case}{flaky_mark(failure)}",
        _wrapped(failure.requirement_text, width, "  "),
        "",
        _wrapped(f"{kind_text(failure.kind).capitalize()}: {failure.text}", width),
    ]
    if failure.also:
        parts.append(_wrapped(f"Also took part: {', '.join(failure.also)}", width))
    if failure.drawing:
        parts += ["", *failure.drawing]
    if failure.steps:
        parts += ["", step_table(failure.steps, width)]
        parts += ["", *(_wrapped(note, width) for note in notes(failure))] if notes(failure) else []
        if any(row.needed for row in failure.steps):
            parts += ["", need_table(failure.steps, width)]
    if failure.differences:
        parts += ["", difference_table(failure, width)]
    parts += ["", *_ending(failure, backend, directory)]
    return "\n".join(parts)


def kind_text(kind: str) -> str:
    return KINDS.get(Kind(kind), kind) if kind in {known.value for known in Kind} else kind


def flaky_mark(failure: FailureReport) -> str:
    if not failure.flaky:
        return ""
    return "  *flaky*" if failure.reproduced is None else f"  *flaky{times_text(*failure.reproduced)}*"


def times_text(failed: int, replays: int) -> str:
    """How often it showed again. What none of the replays showed was seen all the same: it is rare, and no mistake."""
    return f" {failed} of {replays}" if failed else f", seen once and in none of {replays} replays"


def reproduced_text(failure: FailureReport) -> str:
    if failure.reproduced is None:
        return "It was not replayed."
    done = {"": "shrunk", "whole": "shrunk and explained"}.get(failure.explained, "shrunk, and explained in part,")
    shrinking = f"; {done} in {failure.executions} executions" if failure.executions else "; not shrunk"
    failed, replays = failure.reproduced
    if not failed:
        return (
            f"Seen once, as it stands here, and in none of {replays} replays: it hangs on what runs at the same time, "
            f"and more replays may show it{shrinking}."
        )
    return f"Reproduced {failed} of {replays}{shrinking}."


def replay_command(failure: FailureReport, backend: str, directory: str | Path | None) -> str | None:
    """The command that replays the case; None when there is no file of it and the kit has none of its name."""
    case = case_path(failure, directory) or (failure.case if failure.suite in OF_CASES else None)
    return None if case is None else f"workcert replay {shlex.quote(case)} {shlex.quote(backend)}"


def case_path(failure: FailureReport, directory: str | Path | None) -> str | None:
    if failure.case_file is None or directory is None:
        return None
    return str(Path(directory) / failure.case_file)


def _ending(failure: FailureReport, backend: str, directory: str | Path | None) -> list[str]:
    command = replay_command(failure, backend, directory)
    if command is None:
        return [f"{reproduced_text(failure)} The case was not saved: name a directory for the report to have it."]
    path = case_path(failure, directory)
    return [reproduced_text(failure), *([] if path is None else [f"The case was saved as {path}"]), command]


def further_text(further: Sequence[FailureReport], backend: str, directory: str | Path | None) -> list[str]:
    """One line for each failure that is named only, as far as `MOST_NAMED` goes: its requirement, and how it is
    replayed."""
    named = further[:MOST_NAMED]
    lines = [f"  {each.requirement}  {replay_command(each, backend, directory) or each.case}" for each in named]
    return [*lines, *(f"  {more}" for more in unnamed(further))]


def unnamed(further: Sequence[FailureReport]) -> list[str]:
    """A line for those beyond `MOST_NAMED`, if there are such: their number, and the requirements that they break."""
    left = further[MOST_NAMED:]
    if not left:
        return []
    broken = list(dict.fromkeys(each.requirement for each in left))
    ids = ", ".join(broken[:MOST_NAMED])
    others = f" and {len(broken) - MOST_NAMED} further requirements" if len(broken) > MOST_NAMED else ""
    return [f"and {len(left)} more, which break {ids}{others}"]


def of_one_cause(further: Sequence[FailureReport]) -> str:
    return f"{len(further)} further {'failure' if len(further) == 1 else 'failures'} of the same cause:"


def look_alike_text(alike: LookAlike) -> str:
    """``Looks like: ... (3 of 4 requirements in common): ...``."""
    requirements = "requirement" if alike.either == 1 else "requirements"
    cause = f": {alike.cause}" if alike.cause else ""
    return f"Looks like: {alike.what} ({alike.common} of {alike.either} {requirements} in common){cause}"


# Tables ----------------------------------------------------------------------------------------------------------


def step_table(rows: Sequence[StepRow], width: int = DEFAULT_WIDTH) -> str:
    """The steps, numbered, cells wrapped so that the table fits the width."""
    cells = [[r.n, r.id, r.time, r.handle, r.operation, r.arguments, r.expected, r.seen, r.changed] for r in rows]
    return _table(HEADERS, cells, _FREE, width)


def difference_table(failure: FailureReport, width: int = DEFAULT_WIDTH) -> str:
    cells = [[d.path, d.expected, d.seen] for d in failure.differences]
    return _table(("member", "expected", "seen"), cells, range(3), width)


def need_table(rows: Sequence[StepRow], width: int = DEFAULT_WIDTH) -> str:
    """Why each step is needed, one line each; many in a row with one reason share a line."""
    needs = dict.fromkeys((row.id, row.needed) for row in rows if row.needed)
    cells: list[list[str]] = []
    for reason, group in groupby(needs, key=lambda need: need[1]):
        steps = [step for step, _reason in group]
        if len(steps) <= MOST_IN_A_ROW:
            cells += [[step, reason] for step in steps]
        else:
            cells.append([f"{steps[0]} to {steps[-1]}", f"each of these {len(steps)}: {reason}"])
    return _table(("step", "needed because"), cells, range(1, 2), width)


def notes(failure: FailureReport) -> tuple[str, ...]:
    """How the table is to be read, as far as there is something to read."""
    ordinary = (ORDINARY_NOTE,) if leaves_out(failure.steps) else ()
    marked = (*((MARK_NOTE,) if failure.free else ()), *((LEAST_NOTE,) if failure.least else ()))
    return (*ordinary, *marked, *((NAME_NOTE,) if failure.names else ()))


def leaves_out(rows: Iterable[StepRow]) -> bool:
    return any(f"={ORDINARY}(" in row.arguments for row in rows)


def _table(headers: Sequence[str], cells: Sequence[Sequence[str]], free: range, width: int) -> str:
    # tabulate leaves two characters beside a header, whatever stands below it.
    heads = [f"{header}  " for header in headers]
    natural = [max(len(row[column]) for row in (heads, *cells)) for column in range(len(headers))]
    gaps = 2 * (len(headers) - 1)
    room = width - gaps - sum(natural[column] for column in range(len(headers)) if column not in free)
    widths = dict(zip(free, _shared([natural[column] for column in free], room), strict=True))
    wrapped = [
        ["\n".join(_fold(cell, widths[i])) if i in widths else cell for i, cell in enumerate(row)] for row in cells
    ]
    text = tabulate(wrapped, headers=list(headers), tablefmt="plain", disable_numparse=True)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _shared(wanted: Sequence[int], room: int) -> list[int]:
    """Widths of columns that want so much: who wants less than a fair share gets it, the others share the rest."""
    widths = [0] * len(wanted)
    left = room
    for place, column in enumerate(sorted(range(len(wanted)), key=lambda index: wanted[index])):
        fair = max(left // (len(wanted) - place), NARROWEST)
        widths[column] = min(wanted[column], fair)
        left -= widths[column]
    return widths


def _fold(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 1), break_on_hyphens=False) or [""]


def _wrapped(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(text, max(width, 40), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
