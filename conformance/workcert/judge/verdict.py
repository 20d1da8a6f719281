"""What the judge says of one step, and of a case."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from attrs import frozen

from workcert.judge.differences import Difference
from workcert.run.calling import Observed
from workspec.core.interpreter import Outcome
from workspec.core.scope import Trace

HELD: Final = "held"
"""How the note of a call begins that was held at a point; what it was held before follows."""
TOGETHER: Final = "together"
"""How the note of a step of calls that ran at once begins."""
END: Final = "(end)"
"""What is judged after the last step stands as a step with this for a call."""


class Kind(StrEnum):
    """Where a mismatch showed itself."""

    ANSWER = "answer"
    RECORD = "record"
    VERSION = "version"
    OTHERS = "other records"
    CHOICE = "choice"
    INVARIANT = "invariant"
    RESTART = "restart"
    CRASH = "crash"
    EXPECTATION = "literal expectation"
    ORDER = "no serial order"
    PROMISE = "promise of the adapter"
    KILLED = "killed process"


@frozen
class Failure:
    """A broken requirement. ``requirements``: the first is the one that is named, the others took part."""

    requirements: tuple[str, ...]
    kind: Kind
    text: str
    differences: tuple[Difference, ...] = ()
    drawing: str = ""
    """Lines that show how it came about, where a table of steps cannot: calls at once, by their callers."""

    @property
    def requirement(self) -> str:
        return self.requirements[0]


@frozen(slots=False)
class StepRun:
    """One step as it ran. ``changed``: what moved in the addressed record; ``applicable`` is False for a step that
    could not be made here; ``during``: the calls that committed between the halves of a frozen one; ``elsewhere``: it
    was not made because the backend declares that it goes its own way there; ``turned_away``: for how many calls, of
    those that meet, the store was not available; ``points``: the labels of those that a process of its own passed."""

    id: str
    on: str
    at: int | None
    call: str
    arguments: Any
    observed: Observed | None
    expected: Outcome | None
    changed: tuple[Difference, ...] = ()
    failure: Failure | None = None
    traces: tuple[Trace, ...] = ()
    applicable: bool = True
    note: str = ""
    during: tuple[StepRun, ...] = ()
    elsewhere: bool = False
    turned_away: int = 0
    points: tuple[str, ...] = ()
