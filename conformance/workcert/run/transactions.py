"""Calls inside one transaction: each is judged on a private state, which the others see only after the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from attrs import define

from workcert.backends.coroutines import Synchronous
from workcert.cases.contracts import TRANSACTION
from workcert.cases.model import Call, Transaction
from workcert.judge.differences import differences
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.run.calling import Answered, Observed, Refusal, observe
from workcert.run.literal import answer_differences
from workspec.core.interpreter import Committed, Refused, apply
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall
from workspec.core.scope import Trace

if TYPE_CHECKING:
    from workcert.run.execution import Execution

BEGIN = "begin"
_Answer: TypeAlias = "tuple[Committed, Failure | None, State]"


def run_transaction(execution: Execution, step: Transaction) -> StepRun:
    """Begin, make the calls, look from outside, end, look again, and use it once more where the case says so."""
    handle = execution.store.handle(step.on)
    if not hasattr(handle, BEGIN):
        return execution.left_out(step, f"the store has no method {BEGIN}")
    why = execution.clock.put(step.on, step.at)
    if why:
        return execution.left_out(step, why)
    begun = observe(execution.store.backend, handle, BEGIN, {})
    if not isinstance(begun, Answered):
        return _ended(execution, step, begun, (), Failure(_ids(execution), Kind.CRASH, _unwanted(BEGIN, begun)))
    views = Views.of(execution)
    runs, failure = _made(execution, step, handle, begun.value, views)
    execution.judge.state = views.outside[0]
    failure = failure or _from_outside(execution, "while the transaction is open, another handle looks")
    ended = observe(execution.store.backend, Synchronous(begun.value), step.end, {})
    if failure is None and not isinstance(ended, Answered):
        failure = Failure(_ids(execution), Kind.CRASH, _unwanted(step.end, ended))
    failure = failure or _settled(execution, step, views)
    after = [_after(execution, call, handle, begun.value) for call in step.after]
    failure = failure or next((run.failure for run in after if run.failure is not None), None)
    return _ended(execution, step, ended, (*runs, *after), failure)


@define
class Views:
    """What the transaction sees, and what the others see meanwhile: one of each, but for those further states that the
    store may be in after a process was killed."""

    outside: list[State]
    inside: list[State]

    @classmethod
    def of(cls, execution: Execution) -> Views:
        states = [execution.judge.state, *execution.other_states]
        return cls(states, list(states))

    def answer(self, execution: Execution, made: ModelCall, now: int, observed: Observed) -> _Answer:
        """Judge one call inside; the views that it fits stay."""
        answers: list[_Answer] = []
        for state in self.inside:
            execution.judge.state = state
            committed, failure = execution.judge.answer_only(made, now, observed, _unread)
            answers.append((committed, failure, execution.judge.state))
        fitting = [n for n, (_committed, failure, _state) in enumerate(answers) if failure is None] or [0]
        execution.other_states = execution.other_states if len(fitting) > 1 else ()
        self.outside = [self.outside[n] for n in fitting]
        self.inside = [answers[n][2] for n in fitting]
        return answers[fitting[0]]

    def take_over(self, execution: Execution, end: str) -> None:
        first, *others = self.inside if end == "commit" else self.outside
        execution.judge.state = first
        execution.other_states = tuple(state for state in others if state != first)


def _made(
    execution: Execution, step: Transaction, handle: Any, transaction: Any, views: Views
) -> tuple[list[StepRun], Failure | None]:
    """The calls one by one, until one is judged wrong; the judge is left on the private state."""
    runs: list[StepRun] = []
    for call in step.calls:
        prepared = execution.prepare(attrs.evolve(call, at=step.at))
        if isinstance(prepared, StepRun):
            runs.append(prepared)
            continue
        made, now = prepared
        arguments = {**made.arguments, TRANSACTION: transaction}
        observed = observe(execution.store.backend, handle, call.call, arguments)
        execution.put(call, observed)
        run = StepRun(call.id, step.on, step.at, call.call, made.arguments, observed, None)
        if execution.judged:
            committed, failure, _state = views.answer(execution, made, now, observed)
            failure = failure or _literally(execution, call, observed)
            further = execution.binding.contract.comparisons.get(call.call, ())
            if failure is not None:
                failure = attrs.evolve(failure, requirements=(*failure.requirements, *further))
            traces = (committed.decision.trace, Trace(requirements=list(further)))
            run = attrs.evolve(run, expected=committed.outcome, failure=failure, traces=traces)
        else:
            execution.judge.follow(made, now, observed)
            views.inside = [execution.judge.state]
        runs.append(run)
        if run.failure is not None:
            return runs, run.failure
    return runs, None


def _literally(execution: Execution, call: Call, observed: Observed) -> Failure | None:
    if not execution.literal or call.expect is None:
        return None
    found = answer_differences(call, observed, execution.answers)
    if not found:
        return None
    text = "; ".join(str(difference) for difference in found[:3])
    return Failure(execution.ids_of_case or _ids(execution), Kind.EXPECTATION, text)


def _settled(execution: Execution, step: Transaction, views: Views) -> Failure | None:
    views.take_over(execution, step.end)
    failure = _from_outside(execution, f"after the {step.end}")
    if failure is None and execution.judged:
        execution.judge.take_over(execution.read)
    execution.history.append(execution.judge.state)
    return failure


def _from_outside(execution: Execution, text: str) -> Failure | None:
    """Every record through a handle that is not the transaction's."""
    if not execution.judged or not execution.store.backend.can("second_handle"):
        return None
    execution.rows.clear()
    return execution.judge.everything(execution.read, _ids(execution), Kind.OTHERS, text)


def _after(execution: Execution, call: Call, handle: Any, transaction: Any) -> StepRun:
    """A call with a transaction that has ended: refused, whatever it asks for."""
    prepared = execution.prepare(attrs.evolve(call, at=execution.clock.at))
    if isinstance(prepared, StepRun):
        return prepared
    made, now = prepared
    arguments = {**made.arguments, TRANSACTION: transaction}
    observed = observe(execution.store.backend, handle, call.call, arguments)
    execution.put(call, observed)
    code, details = execution.binding.ended_transaction
    right = isinstance(observed, Refusal) and _say_alike(Refused(code, details), observed)
    if not right and isinstance(observed, Refusal):
        # Which of two refusals comes first is not specified: the call may be refused for its own sake too.
        outcome = apply(execution.binding.contract, execution.judge.state, made, now).outcome
        right = isinstance(outcome, Refused) and _say_alike(outcome, observed)
    text = f"with a transaction that has ended it must be refused with {code} {dict(details)}"
    failure = None if right else Failure(_ids(execution), Kind.ANSWER, text)
    return StepRun(call.id, call.on, execution.clock.at, call.call, made.arguments, observed, None, failure=failure)


def _say_alike(due: Refused, seen: Refusal) -> bool:
    """The same code, and the same details as far as they are shown."""
    return str(due.code) == str(seen.code) and not differences(dict(due.details or {}), dict(seen.details or {}))


def _ended(
    execution: Execution, step: Transaction, ended: Observed, runs: tuple[StepRun, ...], failure: Failure | None
) -> StepRun:
    # What was rolled back shows nothing of its effects.
    traces = tuple(trace for run in runs for trace in run.traces) if step.end == "commit" else ()
    own = Trace(requirements=list(_ids(execution)))
    note = step.note or "transaction"
    return StepRun(
        step.id, step.on, step.at, step.end, {}, ended, None, (), failure, (*traces, own), note=note, during=runs
    )


def _ids(execution: Execution) -> tuple[str, ...]:
    return execution.binding.contract.comparisons["transaction"]


def _unwanted(call: str, observed: Observed) -> str:
    said = getattr(observed, "text", getattr(observed, "code", ""))
    return f"{call} of a transaction that nobody disturbs: {said}"


def _unread(_key: str) -> None:
    return None
