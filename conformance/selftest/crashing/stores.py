"""Stores on SQLite that are right until their process is killed, their disk is full or their file is damaged.

Each is the store of this package with one thing made wrong. The module is loaded by its path, in the kit and in
processes of its own, so that it imports nothing of the tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from workspec.jobs.vocabulary import Envelope, JobCounts, StoreUnavailable
from workstore.backends import SqliteBackend, SqliteJobsBackend
from workstore.sqlite import WorkloadStore
from workstore.sqlite.jobs import JobStore

ABILITIES = frozenset({"restart", "kill"})
CHANGES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")


class Wrapped:
    """Stands before a connection of `sqlite3`."""

    def __init__(self, real: Any) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class Split(Wrapped):
    """Commits after each statement that changes something, and begins anew."""

    changed = False

    def execute(self, sql: str, *parameters: Any) -> Any:
        word = sql.split(maxsplit=1)[0].upper()
        if word in ("BEGIN", "COMMIT", "ROLLBACK"):
            self.changed = False
        if word in CHANGES and self.changed and self.real.in_transaction:
            self.real.execute("COMMIT")
            self.real.execute("BEGIN IMMEDIATE")
        found = self.real.execute(sql, *parameters)
        self.changed = self.changed or word in CHANGES
        return found


class Afterwards(Wrapped):
    """Makes the statements that begin so in a transaction of their own, after the one that they belong to."""

    def __init__(self, start: str, real: Any) -> None:
        super().__init__(real)
        self.start = start
        self.left: list[tuple[Any, ...]] = []

    def execute(self, sql: str, *parameters: Any) -> Any:
        if sql.startswith(self.start):
            self.left.append((sql, *parameters))
            return self.real.execute("SELECT 1 WHERE 0")
        if sql in ("COMMIT", "ROLLBACK"):
            left, self.left = self.left, []
            ended = self.real.execute(sql)
            if sql == "ROLLBACK" or not left:
                return ended
            self.real.execute("BEGIN IMMEDIATE")
            for statement in left:
                self.real.execute(*statement)
        return self.real.execute(sql, *parameters)


class DueAfterwards(Wrapped):
    """Writes when a workload is due in a transaction of its own, after the record, where it comes into this state."""

    WRITES = "UPDATE workloads SET version = ?, state = ?, deadline_at = ?"

    def __init__(self, state: str, real: Any) -> None:
        super().__init__(real)
        self.state = state
        self.due: list[tuple[Any, Any]] = []

    def execute(self, sql: str, *parameters: Any) -> Any:
        if sql.startswith(self.WRITES) and parameters[0][1] == self.state:
            version, state, due, *rest = parameters[0]
            self.due.append((due, rest[3]))
            sql = sql.replace("deadline_at = ?", "deadline_at = deadline_at")
            return self.real.execute(sql, (version, state, *rest))
        found = self.real.execute(sql, *parameters)
        if sql in ("COMMIT", "ROLLBACK"):
            due, self.due = self.due, []
            if sql == "COMMIT" and due:
                self.real.execute("BEGIN IMMEDIATE")
                self.real.executemany("UPDATE workloads SET deadline_at = ? WHERE workload_id = ?", due)
                self.real.execute("COMMIT")
        return found


class Late(Wrapped):
    """Commits when the next transaction begins, or at the end: the answer has been given long before."""

    def execute(self, sql: str, *parameters: Any) -> Any:
        if sql == "COMMIT":
            return None
        if sql.startswith("BEGIN") and self.real.in_transaction:
            self.real.execute("COMMIT")
        return self.real.execute(sql, *parameters)

    def close(self) -> None:
        if self.real.in_transaction:
            self.real.execute("COMMIT")
        self.real.close()


class AtTheEnd(Wrapped):
    """One transaction for as long as the store is open: what is answered is written at its end."""

    def execute(self, sql: str, *parameters: Any) -> Any:
        if sql == "COMMIT":
            return self.real.execute("RELEASE operation") if self.real.in_transaction else None
        if sql == "ROLLBACK":
            self.real.execute("ROLLBACK TO operation")
            return self.real.execute("RELEASE operation")
        if sql.startswith("BEGIN"):
            if not self.real.in_transaction:
                self.real.execute("BEGIN IMMEDIATE")
            return self.real.execute("SAVEPOINT operation")
        return self.real.execute(sql, *parameters)

    def close(self) -> None:
        if self.real.in_transaction:
            self.real.execute("COMMIT")
        self.real.close()


class WithoutSync(Wrapped):
    """Leaves it to the system when a commit reaches the disk."""

    def __init__(self, real: Any) -> None:
        super().__init__(real)
        real.execute("PRAGMA synchronous = OFF")


class Journal(Wrapped):
    """Keeps what a commit needs to be undone in another way than in the write-ahead log."""

    mode = "DELETE"

    def __init__(self, real: Any) -> None:
        super().__init__(real)
        for mode in ("DELETE", self.mode):
            real.execute(f"PRAGMA journal_mode = {mode}").fetchall()


class NoJournal(Journal):
    mode = "OFF"


class InMemory(Journal):
    mode = "MEMORY"


def through(store: Any, wrapped: Callable[[Any], Any]) -> Any:
    """The store with something before its connection."""
    connection = store._connection
    connection._connection = wrapped(connection._connection)
    if isinstance(connection._connection, Journal):
        # There is no log, and it is not to be missed.
        connection._log = None
    return store


class WorkloadBackend(SqliteBackend):
    def __init__(self, change: Callable[[Any], Any], store: type[Any] = WorkloadStore) -> None:
        super().__init__()
        self.abilities = ABILITIES | {"inject", "snapshot"}
        self.profiles = frozenset({"CORE", "DURABLE", "MIGRATION"})
        self._change, self._store = change, store

    def open(self, place: Any, config: Mapping[str, Any]) -> Any:
        return through(self._store.open(place.path / "workload.db", **config), self._change)


class JobsBackend(SqliteJobsBackend):
    def __init__(self, store: type[Any] = JobStore, change: Callable[[Any], Any] = lambda real: real) -> None:
        super().__init__()
        self.abilities = ABILITIES | {"second_handle", "reset"}
        self._store, self._change = store, change

    def open(self, place: Any, config: Mapping[str, Any]) -> Any:
        store = through(self._store.open(place.path / "jobs.db", **config), self._change)
        store.place = place.path
        return store


class OneByOne(JobStore):
    """Commits each row of a batch."""

    def enqueue(self, *, envelopes: Any) -> None:
        for envelope in envelopes:
            super().enqueue(envelopes=[envelope])


class CountsElsewhere(JobStore):
    """Keeps the number of its rows in a file of its own."""

    place: Path

    def _file(self) -> Path:
        return self.place / "count.json"

    def reset(self) -> None:
        super().reset()
        self._file().unlink(missing_ok=True)

    def _rows(self) -> Mapping[str, int]:
        return super().counts(queue=None).by_state

    def enqueue(self, *, envelopes: Any) -> None:
        try:
            super().enqueue(envelopes=envelopes)
        finally:
            self._file().write_text(json.dumps(dict(self._rows())))

    def counts(self, *, queue: str | None) -> JobCounts:
        shown = super().counts(queue=queue)
        if queue is not None or not shown.by_state:
            return shown
        kept = sum(json.loads(self._file().read_text()).values()) if self._file().exists() else 0
        lost = sum(shown.by_state.values()) - kept
        state = max(shown.by_state, key=lambda name: shown.by_state[name])
        return type(shown)(**{**_members(shown), "by_state": {**shown.by_state, state: shown.by_state[state] - lost}})


def _members(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__ if not name.startswith("_")}


class CarelessTransaction(JobStore):
    """Opens the connection of a transaction without what it promises of every connection."""

    def begin(self) -> Any:
        transaction = super().begin()
        transaction.rollback()
        transaction = super().begin()
        connection = transaction._connection._connection
        connection.execute("ROLLBACK")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        return transaction


class Optimist(JobStore):
    """Takes a disk that is full for one that will have room in a moment."""

    def enqueue(self, *, envelopes: list[Envelope]) -> None:
        try:
            super().enqueue(envelopes=envelopes)
        except StoreUnavailable:
            return


class Anew(JobsBackend):
    """Takes a file that it cannot read for none."""

    def open(self, place: Any, config: Mapping[str, Any]) -> Any:
        try:
            return super().open(place, config)
        except StoreUnavailable:
            for path in place.path.iterdir():
                path.unlink()
            return super().open(place, config)


class Plain(JobsBackend):
    """Says in its own way that its file is damaged."""

    def open(self, place: Any, config: Mapping[str, Any]) -> Any:
        try:
            return super().open(place, config)
        except StoreUnavailable as error:
            raise ValueError("malformed") from error


ANEW = Anew()
PLAIN = Plain()
RIGHT_WORKLOAD = WorkloadBackend(lambda real: real)
RIGHT_JOBS = JobsBackend()
RESULT_AFTERWARDS = JobsBackend(change=partial(Afterwards, "INSERT INTO results"))
TOKENS_AFTERWARDS = JobsBackend(change=partial(Afterwards, "INSERT INTO buckets"))
COUNTS_AFTERWARDS = JobsBackend(change=partial(Afterwards, "UPDATE queues"))
CLAIM_DUE_AFTERWARDS = WorkloadBackend(partial(DueAfterwards, "CLAIMED"))
START_DUE_AFTERWARDS = WorkloadBackend(partial(DueAfterwards, "RUNNING"))
SPLIT_WORKLOAD = WorkloadBackend(Split)
SPLIT_JOBS = JobsBackend(change=Split)
LATE_WORKLOAD = WorkloadBackend(Late)
AT_THE_END = WorkloadBackend(AtTheEnd)
WITHOUT_SYNC = WorkloadBackend(WithoutSync)
ONE_BY_ONE = JobsBackend(OneByOne)
TORN_WORKLOAD = WorkloadBackend(InMemory)
TORN_JOBS = JobsBackend(change=NoJournal)
JOURNAL_WORKLOAD = WorkloadBackend(Journal)
JOURNAL_JOBS = JobsBackend(change=Journal)
for other in (TORN_WORKLOAD, TORN_JOBS, JOURNAL_WORKLOAD, JOURNAL_JOBS):
    # Without the log that the right store promises.
    other.promises = {}
COUNTS_ELSEWHERE = JobsBackend(CountsElsewhere)
CARELESS_TRANSACTION = JobsBackend(CarelessTransaction)
OPTIMIST = JobsBackend(Optimist)
