"""One act on one state: what the interpreter makes of it, and whether that is what was seen.

It says no more than whether; why not is asked of the judge, once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from attrs import define, field

from workcert.binding import Binding
from workcert.judge.chooser import ObservingChooser
from workcert.judge.differences import differ
from workcert.judge.hidden import unordered_differences
from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.judge.verdict import Failure
from workcert.linear.acts import Act, Way
from workcert.run.calling import Refusal
from workspec.core.choice import UNSEEN, Choice, Seen
from workspec.core.contract import Contract
from workspec.core.interpreter import Committed, Decision, Refused, commit, decide
from workspec.core.orders import other_orders
from workspec.core.record import Record, State
from workspec.core.scope import Scope


@define(eq=False)
class HistoryChooser(ObservingChooser):
    """Takes from records that were read when the whole history was over: others may have changed them since."""

    binding: Binding = field(kw_only=True)
    views: dict[Any, Any] = field(factory=dict, kw_only=True)
    """Records as they were at some moment, for all choosers of one history."""

    def shown_by_record(self, choice: Choice, scope: Scope) -> Any:
        assert choice.observe is not None
        moment, views = self.binding.moment(scope), self.views

        def as_it_was(key: str | None) -> Any:
            if (key, moment) not in views:
                views[key, moment] = self.binding.as_it_was(self.record_of(key), moment)
            return views[key, moment]

        value = choice.observe(Seen(self.code, self.answer, as_it_was(scope.key), as_it_was), scope)
        # What is not legal was written by a later call; nobody knows what stood there.
        return value if value is UNSEEN or choice.allows(value, scope) else UNSEEN


@define(eq=False)
class Applying:
    """``read``: the records when the history was over. ``rest``: why the store is not as the judge has it, in what no
    row shows."""

    judge: Judge
    read: Read
    rest: Callable[[], Failure | None] = lambda: None
    binding: Binding = field(init=False)
    contract: Contract = field(init=False)
    _rows: dict[str, Any] = field(factory=dict)
    _views: dict[Any, Any] = field(factory=dict)
    _passed: dict[tuple[str, int, str], tuple[Record, Record]] = field(factory=dict)
    """What a pass makes of a record: by its name, its instant and the key, the last record and what becomes of it."""

    def __attrs_post_init__(self) -> None:
        self.binding, self.contract = self.judge.binding, self.judge.binding.contract

    def after(self, act: Act, state: State) -> State | None:
        """The state when this act comes next, None if it cannot. The state itself where it changes nothing."""
        if act.way is Way.CONFLICT:
            return None
        if not act.alone:
            return self._after_call(act, state)
        record = state.get(act.key or "")
        if record is act.stuck:
            return None
        found = self._after_element(act, state) if act.way is Way.ELEMENT else self._after_call(act, state)
        if found is None:
            act.stuck = record
        return found

    def _after_call(self, act: Act, state: State) -> State | None:
        chooser = self.chooser(act)
        committed = commit(self.contract, state, decide(self.contract, state, act.call, act.now, chooser))
        if not act.must or self._is_seen(committed, act, chooser):
            return committed.state
        # Where the place of a check is not asserted, the answer in another order is as right.
        return self._in_another_order(act, state, committed.decision) if act.code is not None else None

    def _in_another_order(self, act: Act, state: State, first: Decision) -> State | None:
        def decide_without(keys: Container[str]) -> Decision:
            return decide(self.contract, state, act.call, act.now, self.chooser(act), keys)

        for other in other_orders(first, decide_without):
            committed, chooser = commit(self.contract, state, other), other.scope.choose
            assert isinstance(chooser, HistoryChooser)
            if self._is_seen(committed, act, chooser):
                return committed.state
        return None

    def _after_element(self, act: Act, state: State) -> State | None:
        """A pass over this record alone."""
        assert act.key is not None
        record = state.get(act.key)
        if record is None:
            return None if act.taken else state
        after = self._passed_over(act, act.key, record)
        if act.must and (after is not record) is not act.taken:
            return None
        return state if after is record else {**state, act.key: after}

    def _passed_over(self, act: Act, key: str, record: Record) -> Record:
        known = self._passed.get((act.name, act.now, key))
        if known is not None and known[0] is record:
            return known[1]
        alone = {key: record}
        decision = decide(self.contract, alone, act.call, act.now, self.chooser(act))
        after = commit(self.contract, alone, decision).state[key]
        self._passed[act.name, act.now, key] = record, after
        return after

    def is_about(self, act: Act, state: State, changed: Iterable[str]) -> bool:
        """Whether an act that names no record may have meant one of these."""
        touched = self.binding.touched(act.call, act.answer)
        return touched is None or any(touched & self.binding.linked(state[key]) for key in changed)

    def _is_seen(self, committed: Committed, act: Act, chooser: HistoryChooser) -> bool:
        expected = committed.outcome
        if isinstance(expected, Refused):
            return expected.code == act.code and self._same_details(expected.details, act.made.seen)
        if act.code is not None or not self._same_answer(expected.value, act):
            return False
        return not any(not illegal.choice.options for illegal in chooser.illegal)

    def _same_answer(self, expected: Any, act: Act) -> bool:
        value = self.binding.comparable(expected)
        if act.name in self.binding.unordered:
            return not unordered_differences(value, act.comparable)
        return not differ(value, act.comparable)

    def _same_details(self, expected: Mapping[str, Any] | None, seen: Any) -> bool:
        assert isinstance(seen, Refusal)
        if expected is None and seen.details is None:
            return True
        return not differ(_plain(expected), _plain(seen.details))

    def chooser(self, act: Act) -> HistoryChooser:
        return HistoryChooser(
            self.judge.declared, act.code, act.answer, self._record_of, binding=self.binding, views=self._views
        )

    def _record_of(self, key: str | None) -> Any:
        if key is None:
            return None
        if key not in self._rows:
            if not self.judge.legible(key):
                self._rows[key] = UNSEEN
            else:
                row = self.read(key)
                self._rows[key] = None if row is None else row.record
        return self._rows[key]

    # The end ---------------------------------------------------------------------------------------------------------

    def ends(self, state: State, begun: State) -> bool:
        """What was read when all was over is this state; records that were deleted read as absent."""
        present = self.binding.present
        for key in {*begun, *state}:
            if not self.judge.legible(key):
                continue
            record, seen = state.get(key), self._record_of(key)
            if record is None or seen is None:
                if record is not None or seen is not None:
                    return False
            elif differ(present(record), seen):
                return False
        return self.wrong_beside(state) is None

    def wrong_beside(self, state: State) -> Failure | None:
        """Why the store cannot be in this state, by what no row shows."""
        before, self.judge.state = self.judge.state, state
        try:
            return self.rest()
        finally:
            self.judge.state = before


def _plain(details: Any) -> Any:
    return dict(details) if isinstance(details, Mapping) else details
