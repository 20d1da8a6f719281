"""The file: durability in force, whose file it is, and what a caller sees when the file or disk fails."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import AdmissionRequest, Grant, StoreUnavailable, Subject, WorkloadError
from workstore.sqlite import WorkloadStore, rows, schema

REQUESTER = Subject("agent", "a1")
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=REQUESTER,
    idempotency_key="one",
    definition_id="definition",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=(),
    connection_scopes=None,
    priority=None,
    retry_policy=None,
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(REQUESTER, "t", "app", "signed"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work # 100% ?.db"


@pytest.fixture
def store(path: Path) -> Iterator[WorkloadStore]:
    with WorkloadStore.open(path) as opened:
        yield opened


def pragma(store: WorkloadStore, name: str) -> Any:
    return store._connection.read(lambda connection: connection.execute(f"PRAGMA {name}").fetchone()[0])


def unavailable(text: str) -> Any:
    return pytest.raises(StoreUnavailable, match=text)


def admit(store: WorkloadStore, key: str = "one", **changes: Any) -> str:
    request = evolve(REQUEST, idempotency_key=key, **changes)
    return store.admit(request=request).workload.workload_id


def claim(store: WorkloadStore, workload_id: str) -> Any:
    return store.claim(workload_id=workload_id, worker_id="a", capabilities=[], lease_ms=1000, now_s=11)


def test_each_connection_is_as_durable_as_asked(path: Path) -> None:
    for synchronous, number in (("FULL", 2), ("NORMAL", 1)):
        with WorkloadStore.open(path, synchronous=synchronous) as store:
            assert pragma(store, "synchronous") == number
            assert pragma(store, "journal_mode") == "wal"
            assert pragma(store, "application_id") == schema.APPLICATION_ID
            assert pragma(store, "user_version") == len(schema.MIGRATIONS)
    with WorkloadStore.open(path) as store:
        assert pragma(store, "synchronous") == 2


def test_what_was_committed_is_there_after_reopening(path: Path) -> None:
    with WorkloadStore.open(path) as store:
        workload_id = admit(store)
        held = claim(store, workload_id)
        before = store.get(workload_id=workload_id)
    with WorkloadStore.open(path) as store:
        assert store.get(workload_id=workload_id) == before
        assert before is not None
        assert before.workload.current_claim == held


def test_tables_are_strict(store: WorkloadStore) -> None:
    admit(store)
    statement = "UPDATE workloads SET deadline_at = 'soon'"
    with pytest.raises(sqlite3.IntegrityError):
        store._connection.write(lambda connection: connection.execute(statement))


def test_a_closed_handle_says_so(path: Path) -> None:
    store = WorkloadStore.open(path)
    store.close()
    store.close()
    with unavailable("closed") as caught:
        store.get(workload_id="w")
    assert caught.value.definite


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


@pytest.mark.parametrize("place", ["", ":memory:", ".", "missing/work.db"])
def test_a_place_where_no_file_can_be(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUnavailable) as caught:
        WorkloadStore.open(place)
    assert caught.value.definite


def test_options_of_open(path: Path) -> None:
    for wrong in ({"synchronous": "OFF"}, {"busy_timeout_ms": -1}, {"max_page_count": 0}):
        with pytest.raises(ValueError, match=r"must be|at least"):
            WorkloadStore.open(path, **wrong)
    for wrong in ({"busy_timeout_ms": True}, {"read_only": 1}, {"max_page_count": "9"}):
        with pytest.raises(TypeError):
            WorkloadStore.open(path, **wrong)
    with pytest.raises(TypeError):
        WorkloadStore.open(os.fsencode(path))  # type: ignore[type-var]
    assert not path.exists()


def test_ids_come_from_the_injected_source(path: Path) -> None:
    numbers = iter(range(1, 100))
    with WorkloadStore.open(path, new_id=lambda prefix: f"{prefix} {next(numbers)}") as store:
        workload_id = admit(store)
        assert claim(store, workload_id).claim_id.startswith("claim ")


def test_a_handle_for_reading_only_reads(path: Path) -> None:
    with unavailable("cannot be opened"):
        WorkloadStore.open(path, read_only=True)
    with WorkloadStore.open(path) as store:
        workload_id = admit(store)
    with WorkloadStore.open(path, read_only=True) as reader:
        assert reader.get(workload_id=workload_id) is not None
        assert not reader.admit(request=REQUEST).created
        for write in (lambda: claim(reader, workload_id), lambda: admit(reader, "two"), reader.reset):
            with unavailable("reading only") as caught:
                write()
            assert caught.value.definite
        assert reader.snapshot() == {workload_id: 1}


def test_a_full_disk_loses_nothing_and_reads_go_on(path: Path) -> None:
    with WorkloadStore.open(path, max_page_count=40) as store:
        workload_id = admit(store)
        with unavailable("full") as caught:
            admit(store, "large", input="x" * 1_000_000)
        assert caught.value.definite
        assert store.snapshot() == {workload_id: 1}
        claim(store, workload_id)
        assert store.snapshot() == {workload_id: 2}
    with WorkloadStore.open(path) as store:
        assert store.snapshot() == {workload_id: 2}
        admit(store, "large", input="x" * 1_000_000)


def test_a_disk_too_full_for_the_tables(path: Path) -> None:
    with unavailable("full"):
        WorkloadStore.open(path, max_page_count=2)
    WorkloadStore.open(path).close()


def test_a_locked_file_is_waited_for_and_given_up(path: Path) -> None:
    with WorkloadStore.open(path, busy_timeout_ms=50) as store, closing(sqlite3.connect(path)) as other:
        workload_id = admit(store)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with unavailable("lock") as caught:
            claim(store, workload_id)
        assert caught.value.definite
        assert time.monotonic() - began >= 0.05
        assert store.snapshot() == {workload_id: 1}  # readers do not wait
        other.rollback()
        claim(store, workload_id)


def test_a_wait_ends_with_the_lock(path: Path) -> None:
    with WorkloadStore.open(path) as store, closing(sqlite3.connect(path, check_same_thread=False)) as other:
        workload_id = admit(store)
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.1, other.rollback)
        release.start()
        claim(store, workload_id)
        release.join()
        assert store.snapshot() == {workload_id: 2}


def test_a_damaged_record_is_reported(path: Path, store: WorkloadStore) -> None:
    workload_id = admit(store)
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE workloads SET record = '{}'")
        other.commit()
    with unavailable("damaged") as caught:
        store.get(workload_id=workload_id)
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
def test_a_child_made_by_fork_must_open_anew(path: Path, store: WorkloadStore) -> None:
    workload_id = admit(store)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_use_inherited_handle, args=(store, path, answers))
    child.start()
    assert "before a fork" in answers.get(timeout=10)
    assert answers.get(timeout=10) == {workload_id: 1}
    child.join(10)
    claim(store, workload_id)
    assert store.snapshot() == {workload_id: 2}


def test_reset_leaves_no_trace(store: WorkloadStore) -> None:
    def content() -> list[Any]:
        return store._connection.read(lambda connection: list(connection.iterdump()))

    empty = content()
    workload_id = admit(store)
    claim(store, workload_id)
    store.pause(lambda: pytest.fail("the pause outlived the reset"))
    store.reset()
    assert store.snapshot() == {}
    assert content() == empty
    assert store.admit(request=REQUEST).created
    assert claim(store, workload_id).fencing_token == 1


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
            lambda connection: connection.execute(
                f"EXPLAIN QUERY PLAN {statement}", [None] * values
            ).fetchall()
        )
        return [step[-1] for step in found]

    plan = steps()
    assert any(index in step for step in plan), plan
    assert not any("SCAN workloads" in step for step in plan), plan


def test_indexed_columns_follow_the_record(path: Path, store: WorkloadStore) -> None:
    workload_id = admit(store, not_before=None)
    held = claim(store, workload_id)
    shown = {"claim_id": held.claim_id, "worker_id": "a", "fencing_token": held.fencing_token}

    def columns() -> Any:
        with closing(sqlite3.connect(path)) as other:
            return other.execute(
                "SELECT state, deadline_at, lease_ends_at, result_id FROM workloads"
            ).fetchone()

    assert columns() == ("CLAIMED", None, 12, None)
    store.heartbeat(workload_id=workload_id, **shown, extension_ms=8000, now_s=11)
    assert columns() == ("CLAIMED", None, 19, None)
    store.start(workload_id=workload_id, **shown, now_s=11)
    store.complete(
        workload_id=workload_id,
        **shown,
        result_id="r",
        output=None,
        references=["file"],
        schema_version=2,
        now_s=12,
    )
    assert columns() == ("SUCCEEDED", None, None, "r")


def test_an_unwritable_record_is_a_refusal(store: WorkloadStore) -> None:
    admit(store)
    workload = store.list_workloads(tenant_id="t", application_id="app")[0].workload
    assert workload.current_claim is None
    with pytest.raises(WorkloadError) as caught:
        store.inject(record=evolve(workload, workload_id="w"), version=2**63)
    assert caught.value.code == "WORKLOAD_INVALID"
