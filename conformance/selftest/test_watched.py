"""Statements seen: on sqlite3, on another DB-API module, in coroutines; and the order of commits."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from workcert.backends.registry import describe, find
from workcert.cases.library import builtin_cases
from workcert.cases.model import Call, Ok
from workcert.codec import Ref
from workcert.run.execution import Execution
from workcert.run.store import StoreUnderTest
from workcert.watched import WatchedHandle, installed


class Store:
    """Rows of one table, by whatever way of making statements a test names."""

    def __init__(self, work: Callable[[Any], Any], path: Path, **options: Any) -> None:
        self.connection = sqlite3.connect(path, **options)
        self.work = work

    def call(self) -> Any:
        return self.work(self.connection)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, n INTEGER)")
    connection.commit()
    connection.close()
    return path


def seen(file: Path, work: Callable[[Any], Any], **options: Any) -> tuple[list[str], int | None]:
    """The labels of all points of one call, and its place among all commits."""
    labels: list[str] = []
    with installed("sqlite3"):
        handle = WatchedHandle(Store(work, file, **options))
        handle.points(labels.append)
        handle.call()
    return labels, handle.commit_order()


def _insert(connection: Any) -> None:
    connection.execute("INSERT INTO rows\n   (n) VALUES (?)", (1,))


def _begin_and_commit(connection: Any) -> None:
    connection.execute("BEGIN IMMEDIATE")
    _insert(connection)
    connection.execute("COMMIT")


def _with_block(connection: Any) -> None:
    with connection:
        _insert(connection)


INSERT = "INSERT INTO rows (n) VALUES (?)"


def test_statements_and_their_commit(file: Path) -> None:
    labels, order = seen(file, _begin_and_commit, isolation_level=None)
    assert labels == ["BEGIN IMMEDIATE", INSERT, "COMMIT", "after the commit"]
    assert order is not None


def test_commit_of_the_connection_and_of_its_block(file: Path) -> None:
    for work in (_with_block, lambda connection: (_insert(connection), connection.commit())):
        labels, order = seen(file, work)
        assert labels == [INSERT, "COMMIT", "after the commit"]
        assert order is not None


def test_a_statement_that_commits_by_itself(file: Path) -> None:
    labels, order = seen(file, _insert, isolation_level=None)
    assert labels == [INSERT]
    assert order is not None


def test_what_commits_nothing_has_no_place(file: Path) -> None:
    def read(connection: Any) -> None:
        connection.execute("SELECT n FROM rows").fetchall()

    def give_up(connection: Any) -> None:
        _insert(connection)
        connection.rollback()

    def fail(connection: Any) -> None:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.IntegrityError):
            connection.executemany("INSERT INTO rows VALUES (?, 1)", [(1,), (1,)])
        connection.execute("ROLLBACK")

    for work in (read, give_up, fail):
        assert seen(file, work)[1] is None


def test_cursors_scripts_and_many(file: Path) -> None:
    def work(connection: Any) -> None:
        cursor = connection.cursor()
        assert cursor.execute("SELECT 1") is cursor
        cursor.executemany("INSERT INTO rows (n) VALUES (?)", [(1,), (2,)])
        connection.executescript("-- a note\nDELETE FROM rows;")

    labels, order = seen(file, work)
    assert labels == ["SELECT 1", INSERT, "-- a note DELETE FROM rows;"]
    assert order is not None


def test_a_factory_of_the_store_is_kept(file: Path) -> None:
    class Rows(sqlite3.Cursor):
        pass

    class Own(sqlite3.Connection):
        made = 0

        def cursor(self, *_anything: Any) -> Any:
            Own.made += 1
            return super().cursor(Rows)

        def commit(self) -> None:
            Own.made += 100
            super().commit()

    def work(connection: Any) -> None:
        assert isinstance(connection, Own)
        assert isinstance(connection.cursor().execute("SELECT 1"), Rows)
        with connection:
            _insert(connection)

    assert seen(file, work, factory=Own)[0] == ["SELECT 1", INSERT, "COMMIT", "after the commit"]
    assert Own.made == 101


def test_a_long_statement_is_cut(file: Path) -> None:
    labels, _ = seen(file, lambda connection: connection.execute(f"SELECT {'1, ' * 100} 1"))
    assert len(labels[0]) == 80
    assert labels[0].endswith("…")


def test_the_module_is_as_before() -> None:
    before = sqlite3.connect
    with installed("sqlite3"):
        with installed("sqlite3"):
            assert sqlite3.connect is not before
            assert sqlite3.dbapi2.connect is sqlite3.connect  # type: ignore[attr-defined]
        assert sqlite3.connect is not before
    assert sqlite3.connect is before
    assert sqlite3.dbapi2.connect is before  # type: ignore[attr-defined]


def test_only_the_armed_call_is_held(file: Path) -> None:
    labels: list[str] = []
    with installed("sqlite3"):
        armed = WatchedHandle(Store(_insert, file, isolation_level=None))
        other = WatchedHandle(Store(_insert, file, isolation_level=None, check_same_thread=False))

        def meanwhile(label: str) -> None:
            labels.append(label)
            other.call()
            armed._handle.connection.execute("SELECT 1")
            thread = threading.Thread(target=other.call)
            thread.start()
            thread.join()

        armed.points(meanwhile)
        armed.call()
        armed.points(None)
        armed.call()
    assert labels == [INSERT]


def test_a_coroutine_is_held_too(file: Path) -> None:
    async def in_a_thread(connection: Any) -> None:
        await asyncio.to_thread(_insert, connection)

    labels, order = seen(file, in_a_thread, isolation_level=None, check_same_thread=False)
    assert labels == [INSERT]
    assert order is not None


def test_order_of_the_sqlite_store() -> None:
    """Calls of two handles have places in the order in which they committed; a read has none."""
    for backend in find("sqlite"):
        with StoreUnderTest.of(backend) as store:
            store.begin(watched=True)
            execution = Execution(store)
            made = _steps(backend.binding.name)
            orders = []
            for step in made:
                assert execution.step(step).failure is None
                orders.append(store.commit_order(step.on))
        *written, read = orders
        assert read is None
        assert all(each is not None for each in written)
        assert written == sorted(written)
        assert len(set(written)) == len(written)


def _steps(contract: str) -> list[Call]:
    if contract == "jobs":
        envelope = {"id": "a", "kind": "k", "queue": "q"}
        return [
            Call("s1", "A", "enqueue", {"envelopes": [envelope]}, 0),
            Call("s2", "B", "enqueue", {"envelopes": [{**envelope, "id": "b"}]}, 0),
            Call("s3", "A", "get_job", {"job_id": "a", "include_payload": False}, 0),
        ]
    admit = next(
        step
        for case in builtin_cases("workload")
        for step in case.steps
        if isinstance(step, Call) and step.call == "admit" and isinstance(step.expect, Ok)
    )
    named = Ref("s1.workload.workload_id")
    return [
        Call("s1", "A", "admit", admit.args),
        Call("s2", "B", "cancel", {"workload_id": named, "actor": "operator"}, 10**9),
        Call("s3", "A", "get", {"workload_id": named, "fresh": True}),
    ]


# Another module ------------------------------------------------------------------------------------------------------


class _Cursor:
    def __init__(self, real: Any, connection: Any) -> None:
        self.real, self.connection, self.arraysize = real, connection, 1

    def execute(self, sql: str, parameters: Any = ()) -> None:
        self.real.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any) -> None:
        self.real.executemany(sql, parameters)

    def fetchall(self) -> Any:
        return self.real.fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.real)


class _Connection:
    """No class of sqlite3, as the connections of other modules are none."""

    def __init__(self, path: Path) -> None:
        self.real = sqlite3.connect(path, check_same_thread=False)
        self.autocommit = False
        self.note = ""

    def cursor(self) -> _Cursor:
        return _Cursor(self.real.cursor(), self)

    def execute(self, sql: str, parameters: Any = ()) -> _Cursor:
        cursor = self.cursor()
        cursor.execute(sql, parameters)
        return cursor

    def commit(self) -> None:
        self.real.commit()

    def rollback(self) -> None:
        self.real.rollback()

    def close(self) -> None:
        self.real.close()

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, kind: Any, *_rest: Any) -> None:
        if kind is None:
            self.commit()
        else:
            self.rollback()


@pytest.fixture
def other_module(monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = ModuleType("other_database")
    module.connect = _Connection
    monkeypatch.setitem(sys.modules, "other_database", module)
    return module


def test_another_module(file: Path, other_module: Any) -> None:
    def work(connection: Any) -> None:
        connection.note = "kept"
        assert connection._real.note == "kept"
        cursor = connection.cursor()
        cursor.arraysize = 7
        assert cursor.arraysize == 7
        assert cursor.connection is connection
        cursor.execute("INSERT INTO rows (n) VALUES (5)")
        cursor.executemany("INSERT INTO rows (n) VALUES (?)", [(6,)])
        connection.commit()
        assert [n for (n,) in connection.execute("SELECT n FROM rows").fetchall()] == [5, 6]
        cursor.execute("SELECT n FROM rows")
        assert [n for (n,) in cursor] == [5, 6]
        with connection:
            connection.execute("DELETE FROM rows")

    labels: list[str] = []
    with installed("other_database"):

        class Rows(Store):
            def __init__(self) -> None:
                self.connection, self.work = other_module.connect(file), work

        handle = WatchedHandle(Rows())
        handle.points(labels.append)
        handle.call()
    assert labels == [
        "INSERT INTO rows (n) VALUES (5)",
        INSERT,
        "COMMIT",
        "after the commit",
        "SELECT n FROM rows",
        "SELECT n FROM rows",
        "DELETE FROM rows",
        "COMMIT",
        "after the commit",
    ]
    assert handle.commit_order() is not None
    assert other_module.connect is _Connection


def test_what_another_module_does_not_commit(file: Path, other_module: Any) -> None:
    def work(connection: Any) -> None:
        connection.execute("DELETE FROM rows")
        connection.rollback()
        connection.execute("SELECT n FROM rows").fetchall()
        connection.commit()

    with installed("other_database"):

        class Rows(Store):
            def __init__(self) -> None:
                self.connection, self.work = other_module.connect(file), work

        handle = WatchedHandle(Rows())
        handle.call()
    assert handle.commit_order() is None


def test_methods_of_a_handle_come_first() -> None:
    class Own:
        armed: Any = None

        def points(self, callback: Any) -> None:
            self.armed = callback

        def commit_order(self) -> int:
            return 7

    own = Own()
    handle = WatchedHandle(own)
    handle.points(print)
    assert own.armed is print
    assert handle.commit_order() == 7


def test_an_adapter_that_names_its_module_has_both_abilities() -> None:
    class Adapter:
        contract = "workload"
        dbapi = "sqlite3"

        def open(self, place: Any, config: Any) -> Any:
            raise AssertionError(place, config)

    assert describe("adapter", Adapter()).abilities >= {"points", "commit_order"}
