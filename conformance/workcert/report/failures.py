"""What is reported of one failure: all of it text, with opaque ids renamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workcert.binding import Binding
from workcert.cases.model import Case
from workcert.cases.write import write
from workcert.codec import CodecError
from workcert.judge.cause import cause_of
from workcert.report.groups import Causes, named
from workcert.report.model import FailureReport
from workcert.report.notation import sentence, shown_difference
from workcert.report.opaque import Names, names
from workcert.report.steps import step_rows
from workcert.run.events import CaseEnded, Verdict


def failure_of(binding: Binding, ended: CaseEnded, number: int = 1) -> FailureReport:
    """The report of a case that failed or is flaky. ``number``: which failure of its requirement it is.

    Raises:
        ValueError: the case did not fail.
    """
    failure = ended.failure
    if failure is None:
        raise ValueError(f"{ended.name} has no failure: its verdict is {ended.verdict}")
    known = opaque_names(ended)
    catalogue = binding.contract.catalogue
    requirement = next((each for each in catalogue if each.id == failure.requirement), None)
    lines = () if ended.case is None else _lines(ended.case)
    others = dict.fromkeys(i for i in failure.requirements if i != failure.requirement)
    return FailureReport(
        requirement=failure.requirement,
        requirement_text="" if requirement is None else requirement.text,
        also=tuple(others),
        suite=ended.suite,
        case=ended.name,
        kind=str(failure.kind),
        text=sentence(failure.text, known),
        differences=tuple(shown_difference(difference, known) for difference in failure.differences),
        steps=step_rows(binding, ended.case, ended.steps, known, ended.explanation),
        case_lines=lines,
        case_file=f"cases/{failure.requirement}-{number}.jsonl" if lines else None,
        flaky=ended.verdict is Verdict.FLAKY,
        reproduced=ended.reproduced,
        executions=ended.executions,
        provisional=requirement is not None and requirement.provisional,
        explained="" if ended.explanation is None else "whole" if ended.explanation.finished else "in part",
        free=() if ended.explanation is None else tuple(spot.text for spot in ended.explanation.free),
        drawing=tuple(sentence(line, known) for line in failure.drawing.splitlines()),
        least=() if ended.explanation is None else tuple(spot.text for spot in ended.explanation.least),
        names=() if ended.explanation is None else tuple(spot.text for spot in ended.explanation.names),
    )


def failures_of(binding: Binding, ended: Iterable[CaseEnded]) -> tuple[FailureReport, ...]:
    """All failures in the order in which they were found, those of one requirement numbered from 1, each with the
    name of its group."""
    counts: dict[str, int] = {}
    found: list[FailureReport] = []
    causes: list[Causes] = []
    for case in ended:
        if case.verdict in (Verdict.FAILED, Verdict.FLAKY) and case.failure is not None:
            number = counts[case.failure.requirement] = counts.get(case.failure.requirement, 0) + 1
            found.append(failure_of(binding, case, number))
            causes.append(Causes(case.cause, cause_of(case.failure, case.steps) if case.executions else None))
    return named(found, causes)


def _lines(case: Case) -> tuple[str, ...]:
    try:
        return tuple(write(case).splitlines())
    except CodecError:
        # A case that cannot be written down is reported by its steps alone.
        return ()


def opaque_names(ended: CaseEnded) -> Names:
    """The names of all opaque values of a failing case, in the order in which its steps showed them."""
    return names(_appearing(ended), () if ended.case is None else (ended.case,))


def _appearing(ended: CaseEnded) -> Iterator[Any]:
    for run in ended.steps:
        yield from (run.observed, run.expected)
        yield from ({difference.member: (difference.expected, difference.seen)} for difference in run.changed)
    for difference in () if ended.failure is None else ended.failure.differences:
        last = difference.path.rsplit(".", 1)[-1].split("[")[0]
        yield {last: (difference.expected, difference.seen)}
