"""Histories of callers at once as a right store would give them: the interpreter makes each call at some moment between
its beginning and its return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from attrs import define, evolve, field

from workcert.binding import Binding
from workcert.cases.model import Call, Case, Together
from workcert.judge.judge import Judge
from workcert.judge.ledger import Row
from workcert.linear.acts import by_records
from workcert.linear.history import Made
from workcert.references import ReferenceFault, Refused, resolve
from workcert.run.answers import Answers
from workcert.run.calling import Answered, Observed, Refusal
from workspec.core.interpreter import Accepted, apply
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall


@define
class Pending:
    """A call that has begun. ``left``: the records that a pass has still to come to."""

    call: ModelCall
    begin: int
    step: str
    left: list[str] | None = None
    seen: Observed | None = None
    ticket: int | None = None


@define(eq=False)
class Simulation:
    """``early``: how likely a caller begins its next call before others go on: 1 makes every call overlap others."""

    binding: Binding
    random: Random
    early: float = 0.7
    state: State = field(factory=dict)
    answers: Answers = field(factory=Answers)
    history: list[Made] = field(factory=list)
    commits: int = 0
    events: int = 0

    def first(self, calls: Sequence[Call]) -> None:
        for step in calls:
            made = self._typed(step)
            if made is not None:
                self._make(step.id, made, self._now(made, step))

    def at_once(self, block: Together) -> None:
        left = {on: [call for call in block.calls if call.on == on] for on in dict.fromkeys(c.on for c in block.calls)}
        pending: dict[str, Pending] = {}
        while any(left.values()) or pending:
            idle = [on for on in left if left[on] and on not in pending]
            if idle and (not pending or self.random.random() < self.early):
                self._begin(self.random.choice(idle), left, pending)
                continue
            on = self.random.choice(list(pending))
            self._go_on(on, pending, block)

    def _begin(self, on: str, left: dict[str, list[Call]], pending: dict[str, Pending]) -> None:
        step = left[on].pop(0)
        made = self._typed(step)
        if made is None:
            self.answers.put(step.id, Refused("not_applicable"))
            return
        self.events += 1
        begun = Made("", made, 0, None, 0)
        left_over = sorted(self.state) if by_records(self.binding, begun) else None
        pending[on] = Pending(made, self.events, step.id, left_over)

    def _go_on(self, on: str, pending: dict[str, Pending], block: Together) -> None:
        """The call of this caller takes effect, or a part of it, or it returns."""
        call = pending[on]
        now = self.binding.contract.instant(call.call, block.calls[0].at)
        if call.left:
            self._pass_over(call, now)
        elif call.seen is None and call.left is None:
            before = self.state
            call.seen = self._make(call.step, call.call, now)
            if self.state is not before:
                self.commits += 1
                call.ticket = self.commits
        else:
            if call.left is not None:
                call.seen = call.seen or Answered([])
            self.events += 1
            self.history.append(Made(on, call.call, now, call.seen, call.begin, self.events, call.ticket))
            del pending[on]

    def _pass_over(self, call: Pending, now: int) -> None:
        assert call.left is not None
        key = call.left.pop(0)
        done = apply(self.binding.contract, {key: self.state[key]}, call.call, now)
        value = [] if call.seen is None else call.seen.value  # type: ignore[union-attr]
        if done.decision.parts:
            self.state = {**self.state, **done.state}
            self.commits += 1
            call.ticket = self.commits
            value = [*value, key]
        call.seen = Answered(value)

    def _typed(self, step: Call) -> ModelCall | None:
        try:
            return ModelCall(step.call, self.binding.signature(step.call).typed(resolve(step.args, self.answers)))
        except ReferenceFault:
            return None

    def _now(self, made: ModelCall, step: Call) -> int:
        return self.binding.contract.instant(made, step.at)

    def _make(self, step: str, made: ModelCall, now: int) -> Observed:
        done = apply(self.binding.contract, self.state, made, now)
        self.state = done.state
        if isinstance(done.outcome, Accepted):
            self.answers.put(step, done.outcome.value)
            return Answered(done.outcome.value)
        self.answers.put(step, Refused(done.outcome.code))
        return Refusal(done.outcome.code, done.outcome.details, done.outcome.code)


def simulated(binding: Binding, case: Case, random: Random, early: float = 0.7) -> tuple[Judge, list[Made], Any]:
    """A judge that stands before the block, the history of the block, and a reader of the records after it."""
    simulation = Simulation(binding, random, early)
    block = case.steps[-1]
    assert isinstance(block, Together)
    simulation.first([step for step in case.steps[:-1] if isinstance(step, Call)])
    judge = Judge(binding, {}, binding.legible)
    judge.state = simulation.state
    simulation.at_once(block)
    return judge, simulation.history, reader(binding, simulation.state)


def reader(binding: Binding, state: State) -> Callable[[str], Row | None]:
    rows = {key: Row(record.version, binding.present(record)) for key, record in state.items() if binding.legible(key)}
    return rows.get


def without_tickets(history: Sequence[Made]) -> list[Made]:
    return [evolve(made, ticket=None) for made in history]
