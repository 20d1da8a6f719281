"""Playing a case on the model: what each step answers, and the state before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs
from attrs import define, field, frozen

from workcert.binding import Binding
from workcert.cases.model import (
    Call,
    Case,
    Crash,
    Damage,
    Frozen,
    Inject,
    Misuse,
    Plain,
    Restart,
    Together,
    Transaction,
    unrolled,
)
from workcert.codec import CodecError, structure, to_json
from workcert.references import ReferenceFault, Refused, resolve
from workspec.core.choice import Chooser
from workspec.core.interpreter import Committed, Decision, Outcome, commit, decide
from workspec.core.interpreter import Refused as ModelRefused
from workspec.core.orders import other_orders
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall

MOST_ROWS: Final = 2_000
"""In a store: whoever plays a case looks at every row that a step changes."""


class NoSingleCourse(Exception):  # noqa: N818 - a finding about a case, not an error of the program
    """Nobody can say beforehand what a case does; the text says why, alike for all cases of which the same holds."""


@frozen(eq=False)
class Played:
    """One step. ``outcomes``: every one that is right, of a call; none where nothing is asserted of it. ``inner``: the
    calls of a transaction, ``after`` those made with it when it has ended. ``decided``: what the rules say of a call.
    """

    step: Plain
    before: State
    state: State
    outcomes: tuple[Outcome, ...] = ()
    inner: tuple[Played, ...] = ()
    late: tuple[Played, ...] = ()
    decided: Decision | None = None


def play(binding: Binding, case: Case, choose: Chooser) -> tuple[Played, ...]:
    """Make every step of a case on an empty store.

    Raises:
        NoSingleCourse: more than one course of the case is right, or it cannot be made as it is written.
    """
    return tuple(Player(binding, choose).steps(case))


@define(eq=False)
class Player:
    """``state`` and ``answers``: of what was made so far."""

    binding: Binding
    choose: Chooser
    state: State = field(factory=dict)
    at: int | None = None
    """Where the clock of the store stands, None where it has none or runs."""
    answers: dict[str, Any] = field(factory=dict)

    def steps(self, case: Case) -> Iterator[Played]:
        for step in unrolled(case.steps):
            before = self.state
            match step:
                case Call():
                    yield _small(self.call(step))
                case Restart():
                    yield Played(step, before, before)
                case Inject():
                    yield self.inject(step)
                case Transaction():
                    yield self.transaction(step)
                case Together():
                    raise NoSingleCourse("calls at once: their order is the store's, and so is what follows")
                case Crash():
                    raise NoSingleCourse("a process that is killed: what it leaves behind is one of two states")
                case Misuse():
                    raise NoSingleCourse("a handle that is misused: a store may refuse that in its own way")
                case Damage():
                    raise NoSingleCourse("a file that is damaged: what a store can make of it is its own affair")
                case Frozen(point=int()):
                    raise NoSingleCourse("a call held at a point: what its statements are is the store's own affair")
                case Frozen():
                    raise NoSingleCourse("a call held between its halves: only a store that can pause is asked for it")

    def copy(self) -> Player:
        """One that goes on from here by itself."""
        return attrs.evolve(self, answers=dict(self.answers))

    def call(self, step: Call) -> Played:
        before = self.state
        call, now = self.made(step)
        committed, outcomes = self._decided(call, now)
        self.state = committed.state
        self._answer(step.id, committed.outcome)
        if self.binding.clock_after is not None:
            self.at = self.binding.clock_after(call, self.at)
        if self.binding.may_be_stale(call):
            # It may show any earlier state, so there is no one answer.
            outcomes = ()
        return Played(step, before, self.state, outcomes, decided=committed.decision)

    def inject(self, step: Inject) -> Played:
        before = self.state
        try:
            record = structure(self.binding.record, resolve(step.record, self.answers), "record")
        except (ReferenceFault, CodecError):
            raise NoSingleCourse("a record that is put there is made of what was refused") from None
        if self.binding.injectable(record):
            raise NoSingleCourse("a record that no version can have left behind")
        key = self.binding.key_of(record)
        self.state = {**before, key: self.binding.contract.absorb(record, step.version)}
        self.answers[step.id] = to_json(record)
        return Played(step, before, self.state)

    def transaction(self, step: Transaction) -> Played:
        before = self.state
        inner = tuple(self.call(attrs.evolve(call, at=step.at)) for call in step.calls)
        if step.end == "rollback":
            self.state = before
        return Played(step, before, self.state, (), inner, tuple(map(self._late, step.after)))

    def _late(self, call: Call) -> Played:
        """Refused for the transaction or for its own sake: which of the two comes first is not specified."""
        made, now = self.made(attrs.evolve(call, at=self.at))
        code, details = self.binding.ended_transaction
        refusals: list[Outcome] = [ModelRefused(code, details)]
        own = decide(self.binding.contract, self.state, made, now, self.choose)
        outcome = commit(self.binding.contract, self.state, own).outcome
        refusals += [outcome] if isinstance(outcome, ModelRefused) and outcome not in refusals else []
        self.answers[call.id] = Refused(code)
        return Played(call, self.state, self.state, tuple(refusals))

    def made(self, step: Call) -> tuple[ModelCall, int]:
        """The call with references filled in and arguments typed, and its instant; the clock is there then.

        Raises:
            NoSingleCourse: it cannot be made as it is written.
        """
        try:
            arguments = resolve(step.args, self.answers)
            hints = self.binding.signature(step.call).arguments
            typed = {name: structure(hints[name], value, name) for name, value in arguments.items()}
        except (ReferenceFault, CodecError):
            raise NoSingleCourse("a step needs an answer that was refused") from None
        call = ModelCall(step.call, typed)
        if self.binding.impossible(call):
            raise NoSingleCourse("a record that no version can have left behind")
        if self.binding.has_clock and step.at is None and self.at is None:
            raise NoSingleCourse("a call while the clock of the store runs: its instant is that of the system")
        if self.binding.has_clock and step.at is not None:
            if self.at is not None and step.at < self.at:
                raise NoSingleCourse("a store's clock does not run back")
            self.at = step.at
        return call, self.binding.contract.instant(call, step.at)

    def _decided(self, call: ModelCall, now: int) -> tuple[Committed, tuple[Outcome, ...]]:
        """The call as made, and every outcome that is right: where the place of a check is not asserted, there may be
        several."""
        contract = self.binding.contract
        decision = decide(contract, self.state, call, now, self.choose)
        committed = commit(contract, self.state, decision)
        outcomes = [committed.outcome]
        others = other_orders(decision, lambda keys: decide(contract, self.state, call, now, self.choose, keys))
        for each in others:
            other = commit(contract, self.state, each)
            if not _same_records(other.state, committed.state):
                raise NoSingleCourse("two checks may decide, and leave different records behind")
            outcomes += [] if other.outcome in outcomes else [other.outcome]
        return committed, tuple(outcomes)

    def _answer(self, step: str, outcome: Outcome) -> None:
        self.answers[step] = Refused(outcome.code) if isinstance(outcome, ModelRefused) else to_json(outcome.value)


def _small(played: Played) -> Played:
    if len(played.state) > MOST_ROWS:
        raise NoSingleCourse(f"more than {MOST_ROWS:,} rows in the store")
    return played


def _same_records(one: State, other: State) -> bool:
    return one.keys() == other.keys() and all(record is other[key] for key, record in one.items())
