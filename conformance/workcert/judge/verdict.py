"""What the judge says of one step, and of a case."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from attrs import frozen

from workcert.judge.differences import Difference
from workcert.run.calling import Observed
from workspec.core.interpreter import Outcome
from workspec.core.scope import Trace


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


@frozen
class Failure:
    """A broken requirement. ``requirements``: the first is the one that is named, the others took part."""

    requirements: tuple[str, ...]
    kind: Kind
    text: str
    differences: tuple[Difference, ...] = ()

    @property
    def requirement(self) -> str:
        return self.requirements[0]


@frozen
class StepRun:
    """One step as it ran. ``changed``: what moved in the addressed record; ``applicable`` is False for a step that
    could not be made here."""

    id: str
    on: str
    at_s: int | None
    call: str
    arguments: Any
    observed: Observed | None
    expected: Outcome | None
    changed: tuple[Difference, ...] = ()
    failure: Failure | None = None
    traces: tuple[Trace, ...] = ()
    applicable: bool = True
    note: str = ""
