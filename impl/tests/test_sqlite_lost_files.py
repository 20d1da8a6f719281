"""A database or its log that is removed, renamed or replaced while a handle has it open: noticed before a commit is
lost in it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workspec.workload.vocabulary import StoreUnavailable
from workstore.sqlite import WorkloadStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows refuses to remove or rename a file that is open")


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.fixture
def log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


@pytest.fixture
def backup(tmp_path: Path, asking: Any) -> Path:
    """Another store, with one workload of its own."""
    place = tmp_path / "backup.db"
    with WorkloadStore.open(place) as other:
        other.admit(request=asking(idempotency_key="of the backup"))
    return place


def refused(call: Callable[..., object], text: str) -> None:
    with pytest.raises(StoreUnavailable, match=text) as caught:
        call()
    assert caught.value.definite
    assert "open the store anew" in str(caught.value)


def calls_on(work: Any, asking: Any) -> list[Callable[..., object]]:
    """Reads, writes after a read, and writes that read nothing before."""
    store = work.store
    return [
        lambda: work.record,
        store.snapshot,
        lambda: store.recover_expired(now_s=11),
        lambda: store.enforce_deadlines(now_s=11),
        lambda: store.admit(request=asking(idempotency_key="late")),
        lambda: work.claim("a", 11),
        store.reset,
    ]


def test_a_removed_file(drive: Any, asking: Any, path: Path) -> None:
    work = drive()
    path.unlink()
    for call in calls_on(work, asking):
        refused(call, r"work\.db was removed or renamed .*No such file")
    assert not path.exists()


def test_a_replaced_file(drive: Any, asking: Any, path: Path, backup: Path, log: Path) -> None:
    work = drive()
    backup.rename(path)
    for call in calls_on(work, asking):
        refused(call, r"work\.db was replaced by another file")
    work.store.close()
    # As the text says: SQLite would apply the log of the old file to the new one.
    log.unlink()
    path.with_name("work.db-shm").unlink()
    with WorkloadStore.open(path) as anew:
        (listed,) = anew.list_workloads(tenant_id="t", application_id="app")
        assert (listed.version, listed.workload.idempotency_key) == (1, "of the backup")


def test_a_name_that_leads_nowhere(drive: Any, path: Path) -> None:
    work = drive()
    path.unlink()
    path.symlink_to(path)
    refused(lambda: work.record, "removed or renamed .*symbolic links")


def test_a_file_that_is_renamed_and_restored(drive: Any, asking: Any, path: Path) -> None:
    work = drive()
    away = path.rename(path.with_name("away.db"))
    for call in calls_on(work, asking):
        refused(call, "removed or renamed")
    away.rename(path)
    work.claim("a", 11)
    work.store.close()
    with WorkloadStore.open(path) as anew:
        assert anew.snapshot() == {work.workload_id: 2}


def test_a_handle_for_reading_only(drive: Any, open_handle: Any, path: Path) -> None:
    work = drive()
    reader = work.on(open_handle(read_only=True))
    away = path.rename(path.with_name("away.db"))
    refused(lambda: reader.record, "removed or renamed")
    away.rename(path)
    assert reader.record.state == "READY"


def test_a_file_that_is_removed_between_decision_and_write(drive: Any, path: Path) -> None:
    work = drive()
    work.store.pause(path.unlink)
    refused(lambda: work.claim("a", 11), "removed or renamed")


def test_a_file_that_is_renamed_in_the_transaction_itself(drive: Any, path: Path) -> None:
    work = drive()
    away = path.with_name("away.db")

    def delete_and_rename(rows: sqlite3.Connection) -> None:
        rows.execute("DELETE FROM workloads")
        path.rename(away)

    refused(lambda: work.store._connection.write(delete_and_rename), "removed or renamed")
    away.rename(path)
    assert work.version == 1


def test_a_removed_log(drive: Any, other: Any, path: Path, log: Path) -> None:
    work = drive()
    log.unlink()
    for handle in (work.store, other):
        refused(lambda handle=handle: work.on(handle).claim("a", 11), r"work\.db-wal.* was removed or renamed")
    refused(work.store.reset, "close every handle on the database, and only then")
    assert work.version == 1
    # As the text says: the commits of before are not lost.
    work.store.close()
    other.close()
    with WorkloadStore.open(path) as anew:
        assert anew.snapshot() == {work.workload_id: 1}


def test_opening_anew_where_the_log_was_removed_under_an_open_handle(drive: Any, path: Path, log: Path) -> None:
    drive()
    log.unlink()
    refused(lambda: WorkloadStore.open(path), r"-wal file, a part of the database, was removed.*close every handle")


def test_a_log_that_is_renamed_and_restored(drive: Any, log: Path) -> None:
    work = drive()
    away = log.rename(log.with_name("away"))
    refused(lambda: work.claim("a", 11), "removed or renamed")
    away.rename(log)
    work.claim("a", 11)
    assert work.version == 2


def test_the_log_of_a_file_behind_a_link(tmp_path: Path, asking: Any, log: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to("work.db")
    with WorkloadStore.open(link) as store:
        store.admit(request=asking())
        log.unlink()
        refused(lambda: store.admit(request=asking(idempotency_key="two")), r"work\.db-wal")


def test_a_link_that_leads_to_another_file(tmp_path: Path, asking: Any, backup: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to("work.db")
    with WorkloadStore.open(link) as store:
        link.unlink()
        link.symlink_to(backup)
        refused(lambda: store.admit(request=asking()), "replaced by another file")


def test_a_relative_path_leads_to_the_same_file_from_everywhere(
    tmp_path: Path, asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with WorkloadStore.open("work.db") as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir("elsewhere")
        assert store.admit(request=asking()).created


def test_a_lost_handle_leaves_the_log_of_the_new_store(drive: Any, asking: Any, path: Path, log: Path) -> None:
    work = drive()
    for lost in (path, log, path.with_name("work.db-shm")):
        lost.unlink()
    with WorkloadStore.open(path) as anew:
        anew.admit(request=asking())
        work.store.close()
        assert log.exists()
        work.on(anew).claim("a", 11)
        assert work.on(anew).version == 2


class TestOpening:
    """The file may be replaced between the moment when SQLite opens it and a look at which one it is."""

    @pytest.fixture
    def after_connecting(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Callable[[], object]]], None]:
        """Runs one of these after each connection that the store makes, as long as there are any."""

        def arrange(events: list[Callable[[], object]]) -> None:
            connect = sqlite3.connect

            def connected(*arguments: Any, **named: Any) -> Any:
                made = connect(*arguments, **named)
                if events:
                    events.pop(0)()
                return made

            monkeypatch.setattr(sqlite3, "connect", connected)

        return arrange

    def test_a_file_that_is_replaced_just_then(
        self, path: Path, backup: Path, asking: Any, after_connecting: Any
    ) -> None:
        WorkloadStore.open(path).close()
        after_connecting([lambda: backup.rename(path)])
        with WorkloadStore.open(path) as store:
            (listed,) = store.list_workloads(tenant_id="t", application_id="app")
            assert listed.workload.idempotency_key == "of the backup"
            assert store.admit(request=asking()).created

    def test_a_file_that_is_removed_just_then(self, path: Path, asking: Any, after_connecting: Any) -> None:
        after_connecting([path.unlink])
        with WorkloadStore.open(path) as store:
            assert store.admit(request=asking()).created
        assert path.exists()

    def test_a_file_that_is_replaced_without_end(self, path: Path, tmp_path: Path, after_connecting: Any) -> None:
        WorkloadStore.open(path).close()
        before = path.read_bytes()

        def replace() -> None:
            another = tmp_path / "another"
            another.write_bytes(before)
            another.rename(path)

        after_connecting([replace] * 10)
        with pytest.raises(StoreUnavailable, match="another file each time") as caught:
            WorkloadStore.open(path)
        assert caught.value.definite
