"""Live progress on a terminal: one line, rewritten. In a pipe nothing is written."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import Final, TextIO

from attrs import define, field

from workcert.run.events import CaseEnded, Event, ExamplesRun, StepJudged, SuiteEnded, SuiteStarted, Verdict

REDRAW_S: Final = 0.1
"""A terminal that is written to after every step would cost more than the steps."""


@define(eq=False)
class Progress:
    """A consumer of events. Use it as a context manager, so that an interrupted run leaves a clean line too."""

    stream: TextIO = field(factory=lambda: sys.stderr)
    _suite: str = ""
    _total: int = 0
    _cases: int = 0
    _examples: int = 0
    _steps: int = 0
    _failures: int = 0
    _drawn: int = 0
    _drawn_at: float = 0.0
    _shows: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._shows = self.stream.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, event: Event) -> None:
        if not self._shows:
            return
        match event:
            case StepJudged():
                self._steps += 1
                self._draw()
            case ExamplesRun():
                self._examples = event.done
                self._steps = max(self._steps, event.steps)
                self._draw()
            case CaseEnded():
                self._cases += 1
                self._failures += event.verdict in (Verdict.FAILED, Verdict.FLAKY)
                self._draw()
            case SuiteStarted():
                self._begin(event)
            case SuiteEnded():
                self._end()

    def close(self) -> None:
        """Leave the terminal as a program that writes next needs it: at the beginning of an empty line."""
        if self._drawn:
            self._clear()
            self.stream.flush()

    def _begin(self, event: SuiteStarted) -> None:
        self._suite, self._total = f"{event.contract} {event.suite}", event.total
        self._cases = self._examples = self._steps = self._failures = 0
        self._draw(now=True)

    def _end(self) -> None:
        self._clear()
        self.stream.write(f"{self._line()}\n")
        self.stream.flush()

    def _line(self) -> str:
        # A suite of examples also ends a case when one fails; its examples are what it counts then.
        done = self._examples or self._cases
        failed = f"{self._failures} failed" if self._failures else "no failure"
        far = f"{done}/{self._total}" if self._total else f"{done} tried"
        return f"{self._suite}: {far}, {self._steps} steps, {failed}"

    def _draw(self, now: bool = False) -> None:
        moment = time.monotonic()
        if not now and moment - self._drawn_at < REDRAW_S:
            return
        self._drawn_at = moment
        # One column is left free: a full line would make some terminals wrap.
        line = self._line()[: max(shutil.get_terminal_size().columns - 1, 1)]
        self.stream.write(f"\r{line.ljust(self._drawn)}")
        self.stream.flush()
        self._drawn = len(line)

    def _clear(self) -> None:
        self.stream.write(f"\r{' ' * self._drawn}\r")
        self._drawn = 0
