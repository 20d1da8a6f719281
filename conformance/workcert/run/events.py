"""What the engine says while it runs. Coverage, progress and reports consume these and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from attrs import frozen

from workcert.cases.model import Case
from workcert.explaining.model import Explanation
from workcert.judge.cause import Cause
from workcert.judge.verdict import Failure, StepRun


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    FLAKY = "flaky"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"
    """A timeout: never a failure."""


@frozen
class SuiteStarted:
    """``total``: how many cases or examples it will run, 0 where nobody knows."""

    contract: str
    suite: str
    total: int


@frozen
class StepJudged:
    """One step that was judged right, with the evidence of its decisions."""

    suite: str
    case: str
    run: StepRun


@frozen
class CaseEnded:
    """``shown``: requirements that the case itself shows, credited when it passed. ``reproduced``: n of m replays
    that failed again. ``case`` is the shrunk one, and ``explanation`` is of it; ``cause`` is that of the failure as it
    was found. ``executions``: runs that shrinking and explaining took. ``hung``: a call did not answer in
    time, so that there is no verdict."""

    suite: str
    name: str
    verdict: Verdict
    case: Case | None = None
    shown: tuple[str, ...] = ()
    failure: Failure | None = None
    steps: tuple[StepRun, ...] = ()
    reason: str = ""
    reproduced: tuple[int, int] | None = None
    executions: int = 0
    cause: Cause | None = None
    explanation: Explanation | None = None
    hung: bool = False


@frozen
class ProfileTried:
    """The cases of a profile that the backend does not claim and lets the kit see all the same."""

    profile: str
    cases: int
    passed: int


@frozen
class ExamplesRun:
    """Progress of a suite that counts examples."""

    suite: str
    done: int
    steps: int


@frozen
class Tallied:
    """What a part of the adversity suite has tried, as one number of its table: of the *crashes* ``enqueue`` was killed
    at 12 *points*. Numbers of one cell add up. None may hang on time or luck, for they stand in certificates; but for
    the calls that a busy store turns away, without which nobody knows what a race has shown."""

    part: str
    row: str
    column: str
    count: int = 1


@frozen
class SuiteEnded:
    suite: str
    seconds: float


Event: TypeAlias = "SuiteStarted | StepJudged | CaseEnded | ProfileTried | ExamplesRun | Tallied | SuiteEnded"
Emit = Callable[[Event], None]


def silent(_event: Event) -> None:
    """For callers that want the result alone."""
