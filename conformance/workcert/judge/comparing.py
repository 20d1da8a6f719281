"""What the model did, held against what was seen: the answer, the refusal, the records, and whose view it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from workspec.core.choice import NotAsserted
from workspec.core.interpreter import Accepted, Committed, Decision, Refused, commit, decide
from workspec.core.record import State
from workspec.core.rule import Batch, Draw, Operation
from workspec.core.scope import Call


def nothing_read(_key: str) -> Row | None:
    """For asking what a failure would be called when nobody will hear it."""
    return None


@frozen
class Stale:
    """Older states that a handle may still hold, newest first, and what it breaks if it answers from one."""

    states: Sequence[State] = ()
    requirements: tuple[str, ...] = ()


NOTHING_STALE = Stale()


@define(eq=False)
class Comparing(Ledger):
    """A ledger that says what is wrong with one call, and under which requirements."""

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
        operation = committed.decision.operation
        if answer is not None and (
            refused
            or isinstance(operation, Batch)
            or (isinstance(operation, Draw) and self._took_others(committed, observed))
        ):
            return answer
        return self._judge_choices(chooser, committed) or self._judge_records(committed, read) or answer

    def _took_others(self, committed: Committed, observed: Observed) -> bool:
        outcome = committed.outcome
        if isinstance(outcome, Refused) or not isinstance(observed, Answered):
            return False
        return bool(self._ids_of_draw(committed.decision, outcome.value, observed.value))

    def _judge_records(self, committed: Committed, read: Read) -> Failure | None:
        """The addressed record and every record that the model changed, as far as shown."""
        changed: list[str] = []
        if committed.state is not self.state:
            changed += [key for key, record in committed.state.items() if record is not self.state.get(key)]
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
            explains = self._judge_answer(older, observed, nothing_read) is None and self._shows_what_it_wrote(
                older, read
            )
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
    return dict(details) if details is not None and isinstance(details, (dict, Mapping)) else details
