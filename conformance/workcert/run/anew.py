"""What looks wrong, looked at once more through a handle that was opened only now: it may be an old view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from workcert.cases.model import Call
from workcert.judge.judge import Judged
from workcert.run.calling import Observed, Refusal, observe
from workcert.run.clock import shifts
from workspec.core.interpreter import Committed
from workspec.core.scope import Call as ModelCall

if TYPE_CHECKING:
    from workcert.run.execution import Execution


def read_anew(
    execution: Execution, step: Call, call: ModelCall, now_s: int, observed: Observed, judged: Judged
) -> Judged:
    """A record that is not as it should be may be an old view of the handle that the judge reads through.

    Raises:
        AbilityLie: a second handle shows another store.
    """
    if not execution.store.backend.can("second_handle") or judged.committed is None or judged.failure is None:
        return judged
    execution.rows.clear()
    execution.store.reopen_reader()
    again = execution.judge.call(execution.as_the_model_asks(call), now_s, observed, execution.read)
    if again.failure is None:
        ids = (*execution.binding.contract.comparisons["stale view"], *judged.failure.requirements)
        text = f"{judged.failure.text}, but a handle opened only now shows it right"
        return attrs.evolve(judged, failure=attrs.evolve(judged.failure, requirements=ids, text=text))
    absent = next((key for key in _kept(execution, judged.committed) if execution.read(key) is None), None)
    if absent is not None:
        execution.store.check_second_handle(step.on, absent)
    return judged


def at_its_own_time(execution: Execution, call: ModelCall, now: int, observed: Observed, judged: Judged) -> Judged:
    """A call that was made while the clock of the store runs has an instant that only the store knows: a moment after
    the kit looked at its own clock, and on another machine anything. What it shows of it must hold of all that it does.
    """
    asked = execution.as_the_model_asks(call)
    for late in () if judged.failure is None else shifts(judged.failure.differences):
        again = execution.judge.call(asked, now + late, observed, execution.read)
        if again.failure is None:
            return again
    return judged


def _kept(execution: Execution, committed: Committed) -> list[str]:
    """The records that a call is about or has changed, and that are there after it."""
    changed = [change.key for part in committed.decision.parts for change in part.changes]
    named = [key for key in (committed.decision.scope.key, *changed) if key is not None]
    return [key for key in named if key in committed.state and execution.judge.legible(key)]


def ask_anew(
    execution: Execution, step: Call, call: ModelCall, now_s: int, observed: Observed, judged: Judged
) -> Judged:
    """A refusal that an old view would explain is no such thing when a handle opened only now refuses too."""
    asked = isinstance(observed, Refusal) or step.call in execution.binding.reads
    if not asked or not execution.store.backend.can("second_handle"):
        return judged
    execution.store.reopen_reader()
    again = observe(execution.store.backend, execution.store.reader(), step.call, execution.keywords(step, call))
    if isinstance(observed, Refusal):
        if not isinstance(again, Refusal) or again.code != observed.code:
            return judged
    elif again != observed:
        return judged
    return execution.judge.call(execution.as_the_model_asks(call), now_s, observed, execution.read)
