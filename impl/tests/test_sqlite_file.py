"""The file: durability in force, whose file it is, and what a caller sees when the file or disk fails."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from workspec.workload.vocabulary import StoreUnavailable
from workstore.sqlite import WorkloadStore, rows, schema


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work # 100% ?.db"


@pytest.fixture
def admit(asking: Any, driven: Any) -> Any:
    """Admits work through a handle that the test opened, and gives the workload to drive."""

    def admitted(store: WorkloadStore, key: str = "one", **changes: Any) -> Any:
        answer = store.admit(request=asking(idempotency_key=key, **changes))
        return driven(store, answer.workload.workload_id)

    return admitted


def pragma(store: WorkloadStore, name: str) -> Any:
    return store._connection.read(lambda connection: connection.execute(f"PRAGMA {name}").fetchone()[0])


def unavailable(text: str) -> Any:
    return pytest.raises(StoreUnavailable, match=text)


def test_each_connection_is_as_durable_as_asked(path: Path) -> None:
    for synchronous, number in (("FULL", 2), ("NORMAL", 1)):
        with WorkloadStore.open(path, synchronous=synchronous) as store:
            assert pragma(store, "synchronous") == number
            assert pragma(store, "journal_mode") == "wal"
            assert pragma(store, "application_id") == schema.APPLICATION_ID
            assert pragma(store, "user_version") == len(schema.MIGRATIONS)
    with WorkloadStore.open(path) as store:
        assert pragma(store, "synchronous") == 2


def test_what_was_committed_is_there_after_reopening(path: Path, admit: Any) -> None:
    with WorkloadStore.open(path) as store:
        work = admit(store)
        held = work.claim("a", 11)
        before = store.get(workload_id=work.workload_id)
    with WorkloadStore.open(path) as store:
        assert store.get(workload_id=work.workload_id) == before
        assert before is not None
        assert before.workload.current_claim == held


def test_tables_are_strict(store: WorkloadStore, admit: Any) -> None:
    admit(store)
    statement = "UPDATE workloads SET deadline_at = 'soon'"
    with pytest.raises(sqlite3.IntegrityError):
        store._connection.write(lambda connection: connection.execute(statement))


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.write_bytes(b"these are notes, not a database" * 100)
    before = path.read_bytes()
    with unavailable("no SQLite database") as caught:
        WorkloadStore.open(path)
    assert caught.value.definite
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "script", ["CREATE TABLE notes (text)", "PRAGMA application_id = 1", "PRAGMA user_version = 1"]
)
def test_a_database_of_another_application_is_left_alone(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    before = path.read_bytes()
    with unavailable("another application") as caught:
        WorkloadStore.open(path)
    assert caught.value.definite
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(path: Path) -> None:
    WorkloadStore.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
    with unavailable("schema version is 2"):
        WorkloadStore.open(path)


def test_a_handle_that_is_open_while_a_later_release_migrates_the_file(path: Path, asking: Any) -> None:
    """Two releases on one file: the earlier one is refused, and writes nothing."""
    with WorkloadStore.open(path) as store:
        store.admit(request=asking())
        with closing(sqlite3.connect(path)) as later:
            later.executescript(
                "BEGIN; ALTER TABLE workloads RENAME TO workloads_2; "
                f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}; END"
            )
            for call in (lambda: store.admit(request=asking()), lambda: store.recover_expired(now_s=1)):
                with unavailable("migrated by a later release") as caught:
                    call()
                assert caught.value.definite
            assert later.execute("SELECT count(*) FROM workloads_2").fetchone() == (1,)


@pytest.mark.parametrize("place", ["", ":memory:", ".", "missing/work.db"])
def test_a_place_where_no_file_can_be(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUnavailable) as caught:
        WorkloadStore.open(place)
    assert caught.value.definite


def test_options_of_open(path: Path) -> None:
    for name, value, text in (
        ("synchronous", "OFF", "synchronous must be 'FULL' or 'NORMAL', not 'OFF'"),
        ("busy_timeout_ms", -1, "busy_timeout_ms must be at least 0, not -1"),
        ("busy_timeout_ms", 2**31, "busy_timeout_ms must be at most 2147483647, which is 24 days, not 2147483648"),
        ("max_page_count", 0, "max_page_count must be at least 1, not 0"),
        (
            "max_page_count",
            10**20,
            "max_page_count must be at most 4294967294, all that SQLite can number, not 100000000000000000000",
        ),
        (
            "max_page_count",
            10**5000,
            "max_page_count must be at most 4294967294, all that SQLite can number, not an integer of 16610 bits",
        ),
    ):
        with pytest.raises(ValueError, match=r"\A" + re.escape(text) + r"\Z"):
            WorkloadStore.open(path, **{name: value})
    for wrong in ({"busy_timeout_ms": True}, {"read_only": 1}, {"max_page_count": "9"}, {"synchronous": ["FULL"]}):
        with pytest.raises(TypeError, match=f"{next(iter(wrong))} must be .*, not "):
            WorkloadStore.open(path, **wrong)
    with pytest.raises(TypeError, match=r"path must be str, .*not bytes"):
        WorkloadStore.open(os.fsencode(path))  # type: ignore[type-var]
    assert not path.exists()
    WorkloadStore.open(path, busy_timeout_ms=2**31 - 1, max_page_count=0xFFFFFFFE).close()


@pytest.mark.parametrize(("name", "text"), [("a\0b", "no NUL character"), ("a\ud800b", "surrogates not allowed")])
def test_names_that_no_file_can_have(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"path must .*{text}") as caught:
        WorkloadStore.open(f"{tmp_path}/{name}")
    assert "max_page_count" not in str(caught.value)


def test_a_handle_for_reading_only_reads(path: Path, admit: Any, asking: Any) -> None:
    with unavailable("cannot be opened"):
        WorkloadStore.open(path, read_only=True)
    with WorkloadStore.open(path) as store:
        work = admit(store)
        parts = {"idempotency": {"t:app:one": work.workload_id}, "result_ids": {}, "event_sequence": 1}
        taken_over = json.dumps({"workloads": {}, **parts}).encode()
    with WorkloadStore.open(path, read_only=True) as reader:
        assert work.on(reader).record.state == "READY"
        assert not reader.admit(request=asking()).created
        assert reader.migrate(source=taken_over) == 0
        for write in (lambda: work.on(reader).claim("a", 11), lambda: admit(reader, "two"), reader.reset):
            with unavailable("reading only") as caught:
                write()
            assert caught.value.definite
        assert reader.snapshot() == {work.workload_id: 1}


def test_a_full_disk_loses_nothing_and_reads_go_on(path: Path, admit: Any) -> None:
    with WorkloadStore.open(path, max_page_count=40) as store:
        work = admit(store)
        with unavailable("full") as caught:
            admit(store, "large", input="x" * 1_000_000)
        assert caught.value.definite
        assert store.snapshot() == {work.workload_id: 1}
        work.claim("a", 11)
        assert work.version == 2
    with WorkloadStore.open(path) as store:
        assert store.snapshot() == {work.workload_id: 2}
        admit(store, "large", input="x" * 1_000_000)


def test_a_disk_too_full_for_the_tables(path: Path) -> None:
    with unavailable("full"):
        WorkloadStore.open(path, max_page_count=2)
    WorkloadStore.open(path).close()


def test_a_locked_file_is_waited_for_and_given_up(path: Path, admit: Any) -> None:
    with WorkloadStore.open(path, busy_timeout_ms=50) as store, closing(sqlite3.connect(path)) as other:
        work = admit(store)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with unavailable("lock") as caught:
            work.claim("a", 11)
        assert caught.value.definite
        assert time.monotonic() - began >= 0.05
        assert work.version == 1  # readers do not wait
        other.rollback()
        work.claim("a", 11)


def test_opening_a_file_that_is_up_to_date_waits_for_no_writer(path: Path, admit: Any) -> None:
    with WorkloadStore.open(path) as store:
        work = admit(store)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM workloads")
        for options in ({"max_page_count": 1000}, {"synchronous": "NORMAL"}, {"read_only": True}):
            with WorkloadStore.open(path, busy_timeout_ms=50, **options) as store:
                assert work.on(store).record.state == "READY"
                assert store.snapshot() == {work.workload_id: 1}


def test_opening_a_file_that_lacks_the_tables_waits_for_the_writer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        with unavailable("lock") as caught:
            WorkloadStore.open(path, busy_timeout_ms=50)
        assert caught.value.definite
        other.rollback()
        WorkloadStore.open(path, busy_timeout_ms=50).close()


def test_a_wait_ends_with_the_lock(path: Path, admit: Any) -> None:
    with WorkloadStore.open(path) as store, closing(sqlite3.connect(path, check_same_thread=False)) as other:
        work = admit(store)
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.1, other.rollback)
        release.start()
        work.claim("a", 11)
        release.join()
        assert work.version == 2


def test_a_damaged_record_is_reported(path: Path, store: WorkloadStore, admit: Any) -> None:
    work = admit(store)
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE workloads SET record = '{}'")
        other.commit()
    with unavailable("damaged") as caught:
        store.get(workload_id=work.workload_id)
    assert caught.value.definite


def _use_inherited_handle(store: WorkloadStore, path: Path, answers: Any) -> None:
    try:
        store.snapshot()
    except StoreUnavailable as error:
        answers.put(str(error))
    store.close()
    with WorkloadStore.open(path) as own:
        answers.put(own.snapshot())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_made_by_fork_must_open_anew(path: Path, store: WorkloadStore, admit: Any) -> None:
    work = admit(store)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_use_inherited_handle, args=(store, path, answers))
    child.start()
    assert "before a fork" in answers.get(timeout=60)
    assert answers.get(timeout=60) == {work.workload_id: 1}
    child.join(10)
    work.claim("a", 11)
    assert work.version == 2


def test_reset_leaves_no_trace(store: WorkloadStore, admit: Any) -> None:
    def content() -> list[Any]:
        return store._connection.read(lambda connection: list(connection.iterdump()))

    empty = content()
    work = admit(store)
    work.claim("a", 11)
    store.pause(lambda: pytest.fail("the pause outlived the reset"))
    store.reset()
    assert store.snapshot() == {}
    assert content() == empty
    assert admit(store).claim("a", 11).fencing_token == 1


@pytest.mark.parametrize(
    ("statement", "values", "index"),
    [
        (rows.FIND, 1, "sqlite_autoindex_workloads_1 (workload_id=?)"),
        (rows.FIND_BY_SCOPE, 5, "workloads_by_scope (tenant_id=? AND application_id=? AND requester_kind=?"),
        (rows.FIND_WITH_RESULT_OWNER, 2, "workloads_by_result_id (result_id=?)"),
        (rows.FIND_WITH_RESULT_OWNER, 2, "sqlite_autoindex_workloads_1 (workload_id=?)"),
        (rows.LIST, 2, "workloads_by_owner (tenant_id=? AND application_id=?)"),
        (rows.STATE_OF, 3, "sqlite_autoindex_workloads_1 (workload_id=?)"),
        (rows.PAST_DEADLINE, 1, "workloads_by_deadline_at (deadline_at<?)"),
        (rows.PAST_LEASE, 1, "workloads_by_lease_ends_at (lease_ends_at<?)"),
        (rows.CREATE, 12, "workloads_by_scope (tenant_id=? AND application_id=? AND requester_kind=?"),
        (rows.REPLACE, 8, "sqlite_autoindex_workloads_1 (workload_id=?)"),
        (rows.REPLACE_UNVERSIONED, 9, "sqlite_autoindex_workloads_1 (workload_id=?)"),
    ],
)
def test_no_statement_walks_the_table(store: WorkloadStore, statement: str, values: int, index: str) -> None:
    def steps() -> list[str]:
        found = store._connection.read(
            lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {statement}", [None] * values).fetchall()
        )
        return [step[-1] for step in found]

    plan = steps()
    assert any(index in step for step in plan), plan
    assert not any("SCAN workloads" in step for step in plan), plan


def test_indexed_columns_follow_the_record(path: Path, store: WorkloadStore, admit: Any) -> None:
    work = admit(store)
    held = work.claim("a", 11, lease_ms=1000)

    def columns() -> Any:
        with closing(sqlite3.connect(path)) as other:
            return other.execute("SELECT state, deadline_at, lease_ends_at, result_id FROM workloads").fetchone()

    assert columns() == ("CLAIMED", None, 12, None)
    work.heartbeat(held, 11, extension_ms=8000)
    assert columns() == ("CLAIMED", None, 19, None)
    work.start(held, 11)
    work.complete(held, 12)
    assert columns() == ("SUCCEEDED", None, None, "r")
