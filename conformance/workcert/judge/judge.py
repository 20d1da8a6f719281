"""The judge of one run: the model's state beside the store's, compared after every step.

A store is judged under its own declared choices; free choices are taken from what it showed if they are legal. The
judge reads through a handle of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import define, evolve, fields, frozen

from workcert.judge import attribution, elements
from workcert.judge.chooser import ObservingChooser
from workcert.judge.differences import Difference, differences
from workcert.judge.hidden import unordered_differences
from workcert.judge.ledger import Ledger, Read, Row
from workcert.judge.unread import late_reading, of_write
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import Answered, Crashed, Observed, Refusal, Unavailable
from workspec.core.choice import UNSEEN, ChoiceKind, NotAsserted
from workspec.core.interpreter import Accepted, Committed, Decision, Refused, commit, decide
from workspec.core.record import State
from workspec.core.rule import Batch, Draw, Operation
from workspec.core.scope import Call


def _unread(_key: str) -> Row | None:
    """For asking what a failure would be called when nobody will hear it."""
    return None


@frozen
class Stale:
    """Older states that a handle may still hold, newest first, and what it breaks if it answers from one."""

    states: Sequence[State] = ()
    requirements: tuple[str, ...] = ()


NOTHING_STALE = Stale()


@frozen
class Judged:
    """``committed`` is what the model did, None where nothing is specified (the step is not applicable)."""

    committed: Committed | None
    failure: Failure | None = None
    changed: tuple[Difference, ...] = ()


@define(eq=False)
class Judge(Ledger):
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
            return self._plain_read(call, observed, () if stale is None else stale.states) or judged
        ordered = self._another_order(call, now_s, observed, read, decision)
        return ordered or self._with_hint(judged, call, now_s, observed, read)

    def _with_hint(self, judged: Judged, call: Call, now_s: int, observed: Observed, read: Read) -> Judged:
        """What was seen may be one of the ways that the contract leaves open, and that the adapter has to declare."""
        contract = self.binding.contract
        for choice in contract.choices:
            for value in choice.options if choice.kind is ChoiceKind.DECLARED else ():
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
        """Where the place of the deciding check is not asserted, the answer of a later one is as right."""
        without: set[str] = set()
        while decision.rule is not None and decision.unordered:
            without.add(decision.rule)
            chooser = self._chooser(observed, read)
            try:
                decision = decide(self.binding.contract, self.state, call, now_s, chooser, without)
            except NotAsserted:
                return None
            judged = self.half(decision, observed, read, chooser)
            if decision.rule is not None and judged.failure is None:
                return judged
        return None

    def _plain_read(self, call: Call, observed: Observed, stale: Sequence[State]) -> Judged | None:
        """A read that need not be fresh may show any earlier state."""
        contract = self.binding.contract
        for state in (*stale, {}):
            older = commit(contract, state, decide(contract, state, call, 0))
            if self._judge_answer(older, observed, _unread) is None:
                return Judged(older)
        return None

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

    def answer_only(self, call: Call, now_s: int, observed: Observed, read: Read) -> tuple[Committed, Failure | None]:
        """Apply one of several calls that ran at once: its answer is judged, records are when all have run.

        An answer that holds a record shows it as it was then; records that later calls of the group changed are
        therefore compared by the members that the answer shows.
        """
        chooser = self._chooser(observed, read)
        decision = decide(self.binding.contract, self.state, call, now_s, chooser)
        committed = commit(self.binding.contract, self.state, decision)
        failure = self._judge_choices(chooser, committed) or self._judge_answer(committed, observed, read)
        if failure is None:
            self.state = committed.state
        return committed, failure

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
        return ObservingChooser({**self.declared, **otherwise}, code, answer, record_of)

    # Parts of the verdict ------------------------------------------------------------------------------------------

    def _judge_crash(self, committed: Committed, observed: Observed) -> Failure | None:
        if isinstance(observed, Crashed):
            ids = self._ids_of(committed)
            return Failure(ids, Kind.CRASH, f"the store raised {observed.text}")
        if isinstance(observed, Unavailable):
            ids = self._ids_of(committed)
            return Failure(ids, Kind.CRASH, f"the store said that it is unavailable: {observed.text}")
        return None

    def _ids_of(self, committed: Committed) -> tuple[str, ...]:
        contract = self.binding.contract
        return attribution.for_crash(contract, committed.decision) or contract.comparisons["read"]

    def _judge_choices(self, chooser: ObservingChooser, committed: Committed) -> Failure | None:
        """A free choice that fell on something illegal. Where the guard was lost, what was seen is another's."""
        for illegal in chooser.illegal:
            choice = illegal.choice
            # A fence code that is none of the two is judged as an answer, which names the check.
            if illegal.key in committed.lost or choice.options:
                continue
            return Failure(
                tuple(dict.fromkeys((*choice.requirements, *attribution.for_success(committed.decision)))),
                Kind.CHOICE,
                f"{choice.text} Seen: {illegal.seen!r}; it must be {choice.legal_text}",
                (Difference(choice.id, illegal.expected, illegal.seen),),
            )
        return None

    def _judge_answer(self, committed: Committed, observed: Observed, read: Read) -> Failure | None:
        expected = committed.outcome
        if isinstance(expected, Refused):
            return self._judge_refusal(committed, expected, observed, read)
        if isinstance(observed, Refusal):
            ids = self._ids_for_eager_refusal(committed, observed)
            return Failure(ids, Kind.ANSWER, f"refused with {observed.code}; it should succeed")
        if not isinstance(observed, Answered):
            return self._judge_crash(committed, observed)
        comparable = self.binding.comparable
        name = committed.decision.operation.name
        compare = unordered_differences if name in self.binding.unordered else differences
        found = compare(comparable(expected.value), comparable(observed.value))
        if not found:
            return None
        text = "the answer differs"
        if found[0].path == "" and type(expected.value) is not type(observed.value):
            text = f"answered with {_typed(observed.value)} where {_typed(expected.value)} is due"
        decision = committed.decision
        contract = self.binding.contract
        taken = self._ids_of_draw(decision, expected.value, observed.value)
        if taken:
            ids = taken
        elif isinstance(decision.operation, Batch) and isinstance(expected.value, list):
            ids = self._ids_of_elements(committed, expected.value, observed.value, read)
        elif decision.rule is not None:
            ids = decision.rule_requirements
        else:
            written = self._ids_of_write(committed, observed, found)
            said = attribution.for_record(contract, committed, found, attribution.for_answer(contract, decision))
            ids = attribution.unique(written, said)
        return Failure(ids or contract.comparisons["read"], Kind.ANSWER, text, found)

    def _ids_of_write(self, committed: Committed, observed: Answered, found: Sequence[Difference]) -> tuple[str, ...]:
        """A reading of what is not read after each call may be wrong because an earlier call wrote it so."""
        decision, comparable = committed.decision, self.binding.comparable
        if decision.operation.name not in self.binding.reads:
            return ()
        writes = self.unread.since(decision.scope.key, self.state)

        def right(answer: Any) -> bool:
            return not differences(comparable(answer), comparable(observed.value))

        if late_reading(self.binding.contract, decision, writes, right):
            return ()
        return of_write(self.binding.contract, writes, found[0])

    def _ids_of_draw(self, decision: Decision, expected: Any, seen: Any) -> tuple[str, ...]:
        keys_of = self.binding.taken
        return () if keys_of is None else elements.for_draw(decision, keys_of(expected), keys_of(seen))

    def _ids_of_elements(self, committed: Committed, expected: Sequence[Any], seen: Any, read: Read) -> tuple[str, ...]:
        """A pass that names a record which it left as it was is wrong in what it answers, not in what it takes."""
        extra = [key for key in seen if key not in expected and key in self.state] if isinstance(seen, list) else []
        rows = {key: read(key) for key in extra}
        if any(row is not None and row.version == self.versions[key] for key, row in rows.items()):
            return attribution.for_success(committed.decision)
        return elements.for_pass(self.binding.contract, committed, expected, seen)

    def _judge_refusal(self, committed: Committed, expected: Refused, observed: Observed, read: Read) -> Failure | None:
        if not isinstance(observed, Refusal):
            ids = self._ids_of_refusal(committed, expected, observed, read)
            return Failure(ids, Kind.ANSWER, f"succeeded; it must be refused with {expected.code}")
        if observed.code != expected.code:
            ids = self._ids_of_refusal(committed, expected, observed, read)
            text = f"refused with {observed.code}; the code must be {expected.code}"
            return Failure(ids, Kind.ANSWER, text)
        found = differences(_plain(expected.details), _plain(observed.details))
        if not found:
            return None
        ids = self._ids_of_refusal(committed, expected, observed, read)
        return Failure(ids, Kind.ANSWER, "the details of the refusal differ", found)

    def _ids_of_refusal(
        self, committed: Committed, expected: Refused, observed: Observed, read: Read
    ) -> tuple[str, ...]:
        if committed.lost:
            return self.binding.contract.conflict_requirements
        if committed.decision.rule is None:
            return self._unique_ids(expected)
        return attribution.for_missed_check(
            self.binding.contract, committed.decision, self._shown(committed, observed, read)
        )

    def _shown(self, committed: Committed, observed: Observed, read: Read) -> attribution.Shown:
        code, details = (observed.code, observed.details) if isinstance(observed, Refusal) else (None, None)
        key = committed.decision.scope.key
        row = None if key is None else read(key)
        if key is None or row is None:
            return attribution.Shown(code, details)
        acted = row.version != self.versions.get(key) if self.binding.versioned else self._moved(key, row)
        return attribution.Shown(code, details, acted, self._shows_commit(committed, key, row))

    def _moved(self, key: str, row: Row) -> bool:
        """Where rows have no versions, what they hold tells whether something was written."""
        before = self.records.get(key)
        return before is None or bool(differences(before, row.record))

    def _shows_commit(self, committed: Committed, key: str, row: Row) -> bool:
        """What the model's refusal appends to the record stands there."""
        before = self.records.get(key)
        if before is None or not committed.decision.parts or key not in committed.state:
            return False
        after = self.binding.present(committed.state[key])
        for member in fields(type(after)):
            old, new, seen = (getattr(record, member.name) for record in (before, after, row.record))
            if isinstance(old, tuple) and isinstance(new, tuple) and isinstance(seen, Sequence) and len(new) > len(old):
                return not differences(new[len(old) :], seen[len(old) : len(new)])
        return False

    def _unique_ids(self, expected: Refused) -> tuple[str, ...]:
        for unique in self.binding.contract.uniques:
            if unique.code == expected.code:
                return unique.requirements
        return self.binding.contract.conflict_requirements

    def _ids_for_eager_refusal(self, committed: Committed, observed: Refusal) -> tuple[str, ...]:
        contract = self.binding.contract
        if observed.code == contract.conflict_code:
            unversioned = committed.decision.scope.key in self.unversioned
            return self.binding.unversioned if unversioned else contract.conflict_requirements
        if committed.decision.rule is not None:
            return committed.decision.rule_requirements
        return attribution.for_eager_check(contract, committed, attribution.Shown(observed.code, observed.details))

    def _judge_content(
        self, committed: Committed, observed: Observed, read: Read, chooser: ObservingChooser
    ) -> Failure | None:
        """Answer, choices and records. Where both sides succeed the record says more than the answer, so it comes
        first; but a pass that took other elements is wrong in that."""
        answer = self._judge_answer(committed, observed, read)
        refused = isinstance(observed, Refusal) or isinstance(committed.outcome, Refused)
        drawn = isinstance(committed.decision.operation, Draw) and self._took_others(committed, observed)
        if answer is not None and (refused or isinstance(committed.decision.operation, Batch) or drawn):
            return answer
        return self._judge_choices(chooser, committed) or self._judge_records(committed, read) or answer

    def _took_others(self, committed: Committed, observed: Observed) -> bool:
        outcome = committed.outcome
        if isinstance(outcome, Refused) or not isinstance(observed, Answered):
            return False
        return bool(self._ids_of_draw(committed.decision, outcome.value, observed.value))

    def _judge_records(self, committed: Committed, read: Read) -> Failure | None:
        """The addressed record and every record that the model changed, as far as shown."""
        changed = [key for key in committed.state if committed.state[key] is not self.state.get(key)]
        changed += [key for key in self.state if key not in committed.state]
        addressed = self._addressed(committed)
        if addressed is not None and addressed not in changed:
            changed.append(addressed)
        for key in changed:
            failure = self.compare(committed, key, read(key))
            if failure is not None:
                return failure
        return None

    def _addressed(self, committed: Committed) -> str | None:
        operation = committed.decision.operation
        if not isinstance(operation, Operation) or operation.name in self.binding.reads:
            return None
        key = committed.decision.scope.key
        return key if key in self.state or key in committed.state else None

    def _maybe_stale(
        self, failure: Failure, committed: Committed, observed: Observed, stale: Stale, read: Read
    ) -> Failure:
        """A wrong answer that would be right on an older state is a stale view; so is a lost guard alone."""
        known = committed.decision.scope.key in self.versions
        wrote = isinstance(observed, Answered) and known and self._shown(committed, observed, read).acted
        if failure.kind is not Kind.ANSWER or not stale.states or wrote:
            # A write is guarded by what is there now, whatever the view: one that held is no matter of the view.
            return failure
        contract, scope = self.binding.contract, committed.decision.scope
        call = Call(committed.decision.operation.name, scope.call)
        conflict = isinstance(observed, Refusal) and observed.code == contract.conflict_code
        for state in stale.states:
            try:
                older = commit(contract, state, decide(contract, state, call, scope.now, scope.choose))
            except NotAsserted:
                continue
            moved = scope.key is not None and state.get(scope.key) is not self.state.get(scope.key)
            explains = self._judge_answer(older, observed, _unread) is None and self._shows_what_it_wrote(older, read)
            if (conflict and moved) or explains:
                text = f"{failure.text}. On an older state of the store this answer would be right"
                return evolve(failure, requirements=stale.requirements, text=text)
        return failure

    def _shows_what_it_wrote(self, older: Committed, read: Read) -> bool:
        """A call that would have written on an older state has written just that, as far as rows can be read."""
        changes = (change for part in older.decision.parts for change in part.changes)
        for change in changes if isinstance(older.outcome, Accepted) else ():
            if change.record is None or not self.legible(change.key):
                continue
            row = read(change.key)
            if row is not None and differences(self.binding.present(change.record), row.record):
                return False
        return True


def _typed(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _plain(details: Any) -> Any:
    return dict(details) if isinstance(details, Mapping) else details
