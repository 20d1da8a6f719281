"""Small stores on SQLite that look at one state and write on another, or show a mixture of two."""

from __future__ import annotations

from typing import Any, Final

from attrs import define, field

from workspec.core.interpreter import commit
from workspec.core.record import Record, State
from workspec.core.scope import Call

from .sql_stores import SqlHandle

WAITING: Final = frozenset({"pending", "scheduled", "available", "retryable"})


@define(eq=False)
class ByState(SqlHandle):
    """One operation decides before its transaction, and in it asks of each row for its state alone, or whether it is
    there. With ``fenced`` it asks whether the row is the one that it has read."""

    operation: str = field(kw_only=True)
    fenced: bool = field(kw_only=True, default=False)

    def made(self, call: Call, stated: int | None) -> Any:
        if call.name != self.operation:
            return SqlHandle.made(self, call, stated)
        early = self.read()
        decision = self.decided(early, call, stated)
        if not decision.parts:
            return self.answered(commit(self.binding.contract, early, decision).outcome)
        done = commit(self.binding.contract, early, decision)
        with self.transaction():
            present = self.read()
            moved = [key for key in {*early, *done.state} if early.get(key) is not done.state.get(key)]
            if not all(self._is_the_same(early, present, key) for key in moved):
                fresh = commit(self.binding.contract, present, self.decided(present, call, stated))
                self.put(present, fresh.state)
                return self.answered(fresh.outcome)
            left = {key: record for key, record in present.items() if key not in moved}
            self.put(present, {**left, **{key: done.state[key] for key in moved if key in done.state}})
        return self.answered(done.outcome)

    def _is_the_same(self, early: State, present: State, key: str) -> bool:
        if self.fenced:
            return early.get(key) == present.get(key)
        return _looks(early, key) == _looks(present, key)


def _looks(state: State, key: str) -> Any:
    """What is asked of a row: its state, or, where rows of its kind have none, whether it is there."""
    return (key in state, _state(state, key))


def _state(state: State, key: str) -> Any:
    return getattr(getattr(state.get(key), "facts", None), "state", None)


@define(eq=False)
class Torn(SqlHandle):
    """One read takes what it shows from two statements: the history of each record from the second, or, with
    ``by_state``, the records that wait. With ``at_once`` both are made on one state."""

    operation: str = field(kw_only=True)
    by_state: bool = field(kw_only=True, default=False)
    at_once: bool = field(kw_only=True, default=False)

    def made(self, call: Call, stated: int | None) -> Any:
        if call.name != self.operation:
            return SqlHandle.made(self, call, stated)
        if not self.at_once:
            return self._shown(call, stated)
        self.connection.execute("BEGIN")
        try:
            return self._shown(call, stated)
        finally:
            self.connection.execute("COMMIT")

    def _shown(self, call: Call, stated: int | None) -> Any:
        first, then = self.read(), self.read()
        mixed = _by_state(first, then) if self.by_state else _with_later_logs(first, then)
        return self.answered(commit(self.binding.contract, mixed, self.decided(mixed, call, stated)).outcome)


def _with_later_logs(first: State, then: State) -> State:
    return {key: Record(one.version, one.facts, then.get(key, one).log) for key, one in first.items()}


def _by_state(first: State, then: State) -> State:
    early = {key: record for key, record in first.items() if _state(first, key) not in WAITING}
    return early | {key: record for key, record in then.items() if _state(then, key) in WAITING}


@define(eq=False)
class AsItBegan(SqlHandle):
    """One read, where it need not be fresh, shows what was there before anything was written."""

    operation: str = field(kw_only=True)

    def made(self, call: Call, stated: int | None) -> Any:
        if call.name != self.operation or not self.binding.may_be_stale(call):
            return SqlHandle.made(self, call, stated)
        return self.answered(commit(self.binding.contract, {}, self.decided({}, call, stated)).outcome)
