"""The judge of one run: the model's state beside the store's, compared after every step.

A store is judged under its own declared choices; free choices are taken from what it showed if they are legal. The
judge reads through a handle of its own.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from attrs import define, evolve, frozen

from workcert.judge.chooser import ObservingChooser
from workcert.judge.comparing import NOTHING_STALE, Comparing, Stale, nothing_read
from workcert.judge.differences import Difference
from workcert.judge.ledger import Read
from workcert.judge.verdict import Failure
from workcert.run.calling import Answered, Observed, Refusal, Unavailable
from workspec.core.choice import UNSEEN, ChoiceKind, NotAsserted
from workspec.core.contract import Contract
from workspec.core.interpreter import Committed, Decision, commit, decide
from workspec.core.orders import other_orders
from workspec.core.record import State
from workspec.core.rule import Batch
from workspec.core.scope import Call


@frozen
class Judged:
    """``committed`` is what the model did, None where nothing is specified (the step is not applicable)."""

    committed: Committed | None
    failure: Failure | None = None
    changed: tuple[Difference, ...] = ()


@define(eq=False)
class Judge(Comparing):
    """A ledger that also decides what each call should have done."""

    # One call, alone -----------------------------------------------------------------------------------------------

    def call(
        self,
        call: Call,
        now_s: int,
        observed: Observed,
        read: Read,
        stale: Stale | None = None,
    ) -> Judged:
        """Judge a call that ran with nothing beside it. ``stale``: what its handle may still hold."""
        chooser = self._chooser(observed, read)
        try:
            decision = decide(self.binding.contract, self.state, call, now_s, chooser)
        except NotAsserted:
            return Judged(None)
        judged = self.half(decision, observed, read, chooser, stale)
        if judged.failure is None:
            return judged
        if self.binding.may_be_stale(call):
            return self.plain_read(call, observed, () if stale is None else stale.states) or judged
        ordered = self._another_order(call, now_s, observed, read, decision)
        return ordered or self._with_hint(judged, call, now_s, observed, read, chooser.asked)

    def _with_hint(
        self, judged: Judged, call: Call, now_s: int, observed: Observed, read: Read, asked: Container[str]
    ) -> Judged:
        """What was seen may be one of the ways that the contract leaves open, and that the adapter has to declare.
        Of a choice that was not asked for, another value would change nothing."""
        for choice in self.binding.contract.choices:
            is_open = choice.kind is ChoiceKind.DECLARED and choice.id in asked
            for value in choice.options if is_open else ():
                if judged.failure is None or value == self.declared.get(choice.id, choice.default):
                    continue
                if not self.explained(call, now_s, observed, read, {choice.id: value}):
                    continue
                hint = f"It would be right if the adapter declared choices = {{{choice.id!r}: {value!r}}}"
                return evolve(judged, failure=evolve(judged.failure, text=f"{judged.failure.text}. {hint}"))
        return judged

    def explained(
        self,
        call: Call,
        now_s: int,
        observed: Observed,
        read: Read,
        otherwise: Mapping[str, Any] = MappingProxyType({}),
    ) -> bool:
        """All that was seen is right if the call was made at this instant, with these choices."""
        contract, chooser = self.binding.contract, self._chooser(observed, read, otherwise)
        try:
            committed = commit(contract, self.state, decide(contract, self.state, call, now_s, chooser))
        except NotAsserted:
            return False
        wrong = self._judge_crash(committed, observed) or self._judge_content(committed, observed, read, chooser)
        return wrong is None

    def _another_order(
        self, call: Call, now_s: int, observed: Observed, read: Read, decision: Decision
    ) -> Judged | None:
        """Where the place of a check is not asserted, the answer in another order is as right."""
        contract = self.binding.contract

        def decide_without(keys: Container[str]) -> Decision:
            return decide(contract, self.state, call, now_s, self._chooser(observed, read), keys)

        with suppress(NotAsserted):
            for other in other_orders(decision, decide_without):
                chooser = other.scope.choose
                assert isinstance(chooser, ObservingChooser)
                judged = self.half(other, observed, read, chooser)
                if judged.failure is None:
                    return judged
        return None

    def plain_read(self, call: Call, observed: Observed, stale: Sequence[State]) -> Judged | None:
        """A read that need not be fresh may show any earlier state."""
        contract = self.binding.contract
        for state in (*stale, {}):
            older = commit(contract, state, decide(contract, state, call, 0))
            if self._judge_answer(older, observed, nothing_read) is None:
                return Judged(older)
        return None

    def follows(self, state: State, call: Call, now_s: int, observed: Observed, read: Read) -> State | None:
        """Where this state is after a call, if all that was seen of the call is right on it."""
        here, self.state = self.state, state
        contract, chooser = self.binding.contract, self._chooser(observed, read)
        try:
            committed = commit(contract, state, decide(contract, state, call, now_s, chooser))
            wrong = self._judge_crash(committed, observed) or self._judge_content(committed, observed, read, chooser)
        finally:
            self.state = here
        return None if wrong is not None else committed.state

    def first_half(self, call: Call, now_s: int, observed: Observed, read: Read, state: State) -> Any:
        """The decision of a frozen call on the state that it read; with its chooser, for `half`."""
        chooser = self._chooser(observed, read)
        return decide(self.binding.contract, state, call, now_s, chooser), chooser

    def half(
        self,
        decision: Decision,
        observed: Observed,
        read: Read,
        chooser: ObservingChooser,
        stale: Stale | None = None,
    ) -> Judged:
        """Commit a decision on the present state, and judge what was seen of it."""
        committed = commit(self.binding.contract, self.state, decision, self._late(decision, read))
        failure = self._judge_crash(committed, observed) or self._judge_content(committed, observed, read, chooser)
        if failure is not None:
            return Judged(committed, self._maybe_stale(failure, committed, observed, stale or NOTHING_STALE, read))
        changed = self.changed_by(committed)
        broken = self.accept(committed, observed, read)
        return Judged(committed, broken, changed)

    def _late(self, decision: Decision, read: Read) -> set[str]:
        """What a frozen pass came to only after others had committed: it acted on what they had changed.

        The pass was held at its first write, so at least one element was decided before; if the others changed every
        one that it was to act on, then one of them must have been passed over.
        """
        operation, before = decision.operation, decision.scope.state
        if not isinstance(operation, Batch) or operation.atomic or before is self.state:
            return set()
        changed = [key for key in self.state if self.state[key] is not before.get(key)]
        rows = {key: read(key) for key in changed}
        late = {key for key, row in rows.items() if row is not None and row.version != self.versions.get(key)}
        chosen = [change.key for part in decision.parts for change in part.changes]
        if chosen and late.issuperset(chosen):
            late.discard(chosen[0])
        return late

    def follow(self, call: Call, now_s: int, observed: Observed, read_on: State | None = None) -> None:
        """Let the model make the call without comparing anything; ``read_on`` is what a frozen one decided on."""
        chooser = self._chooser(observed, lambda _key: None)
        state = self.state if read_on is None else read_on
        decision = decide(self.binding.contract, state, call, now_s, chooser)
        self.state = commit(self.binding.contract, self.state, decision).state

    def answer_only(
        self,
        call: Call,
        now_s: int,
        observed: Observed,
        read: Read,
        contract: Contract | None = None,
        *,
        blind: bool = False,
    ) -> tuple[Committed, Failure | None]:
        """Apply one of several calls that ran at once: its answer is judged, records are when all have run.

        An answer that holds a record shows it as it was then; records that later calls of the group changed are
        therefore compared by the members that the answer shows. Whether a choice that a record shows was legal is not
        asked: another call of the group may have written over it. Of a call that may have happened nobody knows the
        answer.

        Args:
            contract: the rules where they are those of a part of the call.
            blind: what the call chose is taken from its answer alone, and is as good as any where that does not tell.
        """
        chooser = self._chooser(observed, read)
        if blind:
            chooser.record_of = lambda _key: UNSEEN
        rules = contract or self.binding.contract
        committed = commit(rules, self.state, decide(rules, self.state, call, now_s, chooser))
        failure = None if isinstance(observed, Unavailable) else self._judge_answer(committed, observed, read)
        if failure is None:
            self.state = committed.state
        return committed, failure

    def wrong_answer(
        self, call: Call, now: int, observed: Observed, read: Read, chooser: ObservingChooser
    ) -> Failure | None:
        """Why a call that is made next does not answer so. Nothing is applied."""
        contract = self.binding.contract
        committed = commit(contract, self.state, decide(contract, self.state, call, now, chooser))
        return self._judge_choices(chooser, committed) or self._judge_answer(committed, observed, read)

    def _chooser(
        self, observed: Observed, read: Read, otherwise: Mapping[str, Any] = MappingProxyType({})
    ) -> ObservingChooser:
        def record_of(key: str | None) -> Any:
            if key is not None and not self.legible(key):
                return UNSEEN
            row = None if key is None else read(key)
            return None if row is None else row.record

        answer = observed.value if isinstance(observed, Answered) else None
        code = observed.code if isinstance(observed, Refusal) else None
        declared = {**self.declared, **otherwise} if otherwise else self.declared
        return ObservingChooser(declared, code, answer, record_of)
