"""Small stores on SQLite, seen through its module: the specification decides, their SQL is right or wrong.

Each row holds one record. A right store guards what it writes (workload) or does all of a call in one transaction that
nobody else can write beside (jobs).
"""

from __future__ import annotations

import pickle
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import define, evolve, field

from workcert.backends.protocol import Place
from workcert.backends.specification import of
from workcert.binding import Binding
from workspec.core.choice import Declared
from workspec.core.interpreter import Decision, Refused, commit, decide
from workspec.core.record import Record, State, replaced
from workspec.core.scope import Call

ABILITIES = frozenset({"reset", "second_handle"})


@define(eq=False)
class SqlHandle:
    """``binding``: of the contract. ``busy_timeout_ms``: how long a statement waits for a lock."""

    binding: Binding
    path: str
    busy_timeout_ms: int = 5000
    connection: sqlite3.Connection = field(init=False)

    def __attrs_post_init__(self) -> None:
        wait_s = self.busy_timeout_ms / 1000
        self.connection = sqlite3.connect(self.path, timeout=wait_s, isolation_level=None, check_same_thread=False)
        with self._unavailable_when_busy():
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute("CREATE TABLE IF NOT EXISTS rows (key TEXT PRIMARY KEY, version INT, record BLOB)")
            self.connection.execute("CREATE TABLE IF NOT EXISTS clock (at INT)")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self.binding.calls.calls or self.binding.signature(name).inside:
            raise AttributeError(name)
        return lambda **arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        stated = None if self.binding.calls.instant is None else arguments.pop(self.binding.calls.instant, None)
        with self._unavailable_when_busy():
            return self.made(Call(name, arguments), stated)

    def made(self, call: Call, stated: int | None) -> Any:
        """Reads and decides first, then writes what is still as it was read; or all of it in one transaction."""
        if not self.binding.versioned:
            return self.serial(call)
        state = self.read()
        decision = self.decided(state, call, stated)
        if not decision.parts:
            return self.answered(commit(self.binding.contract, state, decision).outcome)
        with self.transaction():
            present = {key: state[key] if state.get(key) == each else each for key, each in self.read().items()}
            done = commit(self.binding.contract, present, decision)
            self.put(present, done.state)
        return self.answered(done.outcome)

    def serial(self, call: Call) -> Any:
        with self.transaction():
            state = self.read()
            done = commit(self.binding.contract, state, self.decided(state, call, None))
            self.put(state, done.state)
            self.move_clock(call)
        return self.answered(done.outcome)

    # What these are made of --------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def read(self) -> State:
        found = self.connection.execute("SELECT key, record FROM rows ORDER BY rowid").fetchall()
        return {key: pickle.loads(record) for key, record in found}

    def decided(self, state: State, call: Call, stated: int | None) -> Decision:
        now = self.binding.contract.instant(call, self.now() if self.binding.has_clock else stated)
        return decide(self.binding.contract, state, call, now, Declared({}))

    def answered(self, outcome: Any) -> Any:
        if isinstance(outcome, Refused):
            raise self.binding.error(outcome.code, outcome.details)
        return outcome.value

    def put(self, before: State, after: State) -> None:
        """Without any guard."""
        for key in {*before, *after}:
            if not _moved(before, after, key):
                continue
            record = after.get(key)
            if record is None:
                self.connection.execute("DELETE FROM rows WHERE key = ?", (key,))
            else:
                self.connection.execute(
                    "INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record",
                    (key, record.version, pickle.dumps(record)),
                )

    def now(self) -> int:
        row = self.connection.execute("SELECT at FROM clock").fetchone()
        return int(time.time() * 1000) if row is None else int(row[0])

    def move_clock(self, call: Call) -> None:
        if call.name in ("freeze_clock", "advance_clock", "unfreeze_clock") and self.binding.clock_after is not None:
            row = self.connection.execute("SELECT at FROM clock").fetchone()
            after = self.binding.clock_after(call, None if row is None else row[0])
            self.connection.execute("DELETE FROM clock")
            if after is not None:
                self.connection.execute("INSERT INTO clock VALUES (?)", (after,))

    @contextmanager
    def _unavailable_when_busy(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise self.binding.unavailable(str(error), True) from error

    # Abilities ---------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        self.connection.execute("DELETE FROM rows")

    def close(self) -> None:
        self.connection.close()


def _moved(before: State, after: State, key: str) -> bool:
    return before.get(key) is not after.get(key)


@define(eq=False)
class Unguarded(SqlHandle):
    """One operation reads and decides, and then writes by key, whatever has come since."""

    operation: str = field(kw_only=True)

    def made(self, call: Call, stated: int | None) -> Any:
        if call.name != self.operation:
            return SqlHandle.made(self, call, stated)
        state = self.read()
        done = commit(self.binding.contract, state, self.decided(state, call, stated))
        if done.state is not state:
            with self.transaction():
                self.put(state, done.state)
        return self.answered(done.outcome)


@define(eq=False)
class TwoTransactions(SqlHandle):
    """One operation writes its row twice: first without what ``half`` takes away, then as it should be."""

    operation: str = field(kw_only=True)
    half: Callable[[Any], Any] = field(kw_only=True)

    def made(self, call: Call, stated: int | None) -> Any:
        if call.name != self.operation:
            return SqlHandle.made(self, call, stated)
        with self.transaction():
            state = self.read()
            done = commit(self.binding.contract, state, self.decided(state, call, stated))
            moved = {key: done.state[key] for key in done.state if _moved(state, done.state, key)}
            first = {key: Record(each.version, self.half(each.facts), each.log) for key, each in moved.items()}
            self.put(state, {**state, **first})
        with self.transaction():
            present = self.read()
            second = {key: each for key, each in moved.items() if present.get(key) == first[key]}
            self.put(present, {**present, **second})
        return self.answered(done.outcome)


@define(eq=False)
class CountedBefore(SqlHandle):
    """What is counted (records whose keys begin so) is read before the transaction, and written in it."""

    counted: str = field(kw_only=True)

    def serial(self, call: Call) -> Any:
        earlier = {key: record for key, record in self.read().items() if key.startswith(self.counted)}
        with self.transaction():
            state = {**self.read(), **earlier}
            done = commit(self.binding.contract, state, self.decided(state, call, None))
            self.put(state, done.state)
            self.move_clock(call)
        return self.answered(done.outcome)


@define(eq=False)
class SweptWhenOpened(SqlHandle):
    """Whoever opens the file takes what is claimed there for left over from a crash."""

    def __attrs_post_init__(self) -> None:
        SqlHandle.__attrs_post_init__(self)
        state = self.read()
        swept = {key: Record(each.version, without_lease(each.facts), each.log) for key, each in state.items()}
        self.put(state, {key: swept[key] if swept[key] != each else each for key, each in state.items()})


@define(eq=False)
class RollbackJournal(SqlHandle):
    """Who commits waits for those who read."""

    def __attrs_post_init__(self) -> None:
        SqlHandle.__attrs_post_init__(self)
        with self._unavailable_when_busy():
            self.connection.execute("PRAGMA journal_mode = DELETE")


@define(eq=False)
class WritesWhenOpened(SqlHandle):
    """Who opens the file writes there, what was there already."""

    def __attrs_post_init__(self) -> None:
        SqlHandle.__attrs_post_init__(self)
        with self._unavailable_when_busy(), self.transaction():
            self.put({}, self.read())


def without_lease(facts: Any) -> Any:
    """A claim that is over as soon as it begins."""
    if hasattr(facts, "claim") and facts.claim is not None:
        return replaced(facts, {"claim": evolve(facts.claim, expires_at=facts.claim.claimed_at)})
    if getattr(facts, "expires_at_ms", None) is not None:
        return replaced(facts, {"expires_at_ms": facts.claimed_at_ms})
    return facts


@define(eq=False)
class SqlBackend:
    """Handles of one kind on a file of its place. ``dbapi``: the module through which the kit sees their statements."""

    binding: Binding
    kind: Callable[..., SqlHandle] = SqlHandle
    abilities: frozenset[str] = ABILITIES
    configurable: frozenset[str] = frozenset({"busy_timeout_ms"})
    dbapi: str | None = "sqlite3"
    profiles: frozenset[str] = field(init=False)

    @profiles.default
    def _every(self) -> frozenset[str]:
        return frozenset({*of(self.binding).profiles} - {"DURABLE", "TXN", "LEGACY"})

    @property
    def contract(self) -> str:
        return self.binding.name

    def open(self, place: Place, config: Mapping[str, Any]) -> SqlHandle:
        return self.kind(self.binding, str(place.path / "rows.db"), **config)


class BoundToItsThread(SqlHandle):
    """A connection that is of no use to another thread, as the module makes it unless it is told otherwise."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.connection.close()
        self.connection = sqlite3.connect(self.path, timeout=0, isolation_level=None)
