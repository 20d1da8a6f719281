"""Live progress: one line on a terminal, nothing in a pipe."""

from __future__ import annotations

import io
import re

import pytest

from workcert.report import Progress
from workcert.report import progress as module
from workcert.run.events import CaseEnded, Event, ExamplesRun, SuiteEnded, SuiteStarted, Verdict

from .report_samples import LATE, case, events_of, specification


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO) -> list[str]:
    """What a terminal shows at the end: a carriage return writes over the line."""
    lines = []
    for line in stream.getvalue().split("\n"):
        screen = ""
        for part in line.split("\r"):
            screen = part + screen[len(part) :]
        lines.append(screen.rstrip())
    return lines


@pytest.fixture(autouse=True)
def always_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REDRAW_S", 0.0)
    monkeypatch.setenv("COLUMNS", "80")


def run(stream: io.StringIO, *events: Event) -> None:
    with Progress(stream) as progress:
        for event in events:
            progress(event)


def test_a_suite_that_does_not_know_how_much_it_will_try() -> None:
    stream = Terminal()
    started, ended = SuiteStarted("workload", "adversity", 0), SuiteEnded("adversity", 1.0)
    run(stream, started, ExamplesRun("adversity", 7, 30), ended)
    assert shown(stream)[0] == "workload adversity: 7 tried, 30 steps, no failure"


def test_nothing_is_written_in_a_pipe() -> None:
    stream = io.StringIO()
    run(stream, *events_of(specification(), [case(*LATE)]))
    assert stream.getvalue() == ""


def test_a_suite_ends_with_one_clean_line() -> None:
    stream = Terminal()
    run(stream, *events_of(specification(), [case(*LATE), case(*LATE)]))
    assert re.fullmatch(r"workload scenarios: 2/2, [68] steps, no failure", shown(stream)[0])
    assert stream.getvalue().endswith("\n")


def test_examples_and_failures_are_counted() -> None:
    stream = Terminal()
    run(
        stream,
        SuiteStarted("workload", "stateful", 40),
        ExamplesRun("stateful", 10, 300),
        CaseEnded("stateful", "workload/x", Verdict.FAILED),
        CaseEnded("stateful", "workload/y", Verdict.FLAKY),
        ExamplesRun("stateful", 40, 1200),
        SuiteEnded("stateful", 1.0),
    )
    assert shown(stream) == ["workload stateful: 40/40, 1200 steps, 2 failed", ""]


def test_an_interrupted_run_leaves_an_empty_line() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress(SuiteStarted("workload", "scenarios", 9))
    progress.close()
    assert shown(stream) == [""]
    assert stream.getvalue().endswith("\r")


def test_a_line_never_fills_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    progress = Progress(stream)
    progress(SuiteStarted("workload", "scenarios", 9))
    assert max(map(len, re.split(r"[\r\n]", stream.getvalue()))) == 19


def test_a_terminal_is_not_written_to_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REDRAW_S", 3600.0)
    stream = Terminal()
    run(stream, *events_of(specification(), [case(*LATE)] * 20))
    assert stream.getvalue().count("workload scenarios") == 2
