"""The file under the SQLite job store: whose it is, restarts, locks, full and lost files, clocks of several handles."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from workspec.jobs.vocabulary import LeaseRef, Outcome, ProgressUpdate, StoreUnavailable
from workspec.workload.vocabulary import StoreUnavailable as WorkloadUnavailable
from workstore.sqlite import WorkloadStore
from workstore.sqlite.jobs import JobStore, schema
from workstore.sqlite.jobs.clock import Clock

from .jobs_driver import T0, Driver, envelope, invalid, ref, refusal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs # 100% ?.db"


@pytest.fixture
def jobs(path: Path) -> Iterator[Driver]:
    with JobStore.open(path) as store:
        yield Driver(store)


def test_one_file_holds_one_kind_of_store(tmp_path: Path) -> None:
    jobs, work = tmp_path / "jobs.db", tmp_path / "work.db"
    JobStore.open(jobs).close()
    WorkloadStore.open(work).close()
    with pytest.raises(StoreUnavailable, match="another application") as caught:
        JobStore.open(work)
    assert caught.value.definite
    with pytest.raises(WorkloadUnavailable, match="another application"):
        WorkloadStore.open(jobs)
    JobStore.open(jobs).close()


def test_a_newer_schema_is_refused(path: Path) -> None:
    JobStore.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreUnavailable, match="schema version is 99"):
        JobStore.open(path)


def test_a_handle_that_is_open_while_a_later_release_migrates_the_file(path: Path) -> None:
    """Two releases on one file: the earlier one is refused, and writes nothing."""
    with JobStore.open(path) as store:
        jobs = Driver(store)
        jobs.put("before")
        with closing(sqlite3.connect(path)) as later:
            version = len(schema.TABLES.migrations) + 1
            later.executescript(f"BEGIN; ALTER TABLE jobs RENAME TO jobs_2; PRAGMA user_version = {version}; END")
            rows = later.execute("SELECT count(*) FROM jobs_2").fetchone()
            for call in (lambda: jobs.put("after"), lambda: jobs.admit(), lambda: store.reclaim_expired(limit=9)):
                with pytest.raises(StoreUnavailable, match="migrated by a later release") as caught:
                    call()
                assert caught.value.definite
            assert later.execute("SELECT count(*) FROM jobs_2").fetchone() == rows == (1,)
    with pytest.raises(StoreUnavailable, match="schema version is"):
        JobStore.open(path)


def test_a_commit_is_synchronous_and_tables_are_strict(jobs: Driver) -> None:
    jobs.put()

    def pragma(connection: sqlite3.Connection) -> Any:
        return connection.execute("SELECT synchronous, journal_mode FROM pragma_synchronous, pragma_journal_mode")

    assert jobs.store._connection.read(lambda connection: pragma(connection).fetchone()) == (2, "wal")
    for statement in ("UPDATE jobs SET fence = 'x'", "UPDATE jobs SET state = 'running'"):
        with pytest.raises(sqlite3.IntegrityError):
            jobs.store._connection.write(lambda connection, text=statement: connection.execute(text))


def test_everything_is_there_after_a_restart(path: Path) -> None:
    with JobStore.open(path) as store:
        jobs = Driver(store).at(T0)
        jobs.put("x", unique_key=b"K", tags=("t",), headers={"h": "v"})
        jobs.put("throttled", unique_key=b"T", unique_window_ms=60_000, pending=True)
        jobs.store.set_rate_limit(name="c", limit=1, window_ms=10, burst=5)
        jobs.store.set_enqueue_limit(queue="q", limit=9)
        jobs.store.claim_duty(name="d", holder="h", lease_ms=5)
        claim = jobs.run()
        before = store.snapshot()
    with JobStore.open(path) as store:
        jobs = Driver(store)
        assert store.snapshot() == before
        jobs.ack(claim, Outcome.SUCCESS)
        assert jobs.job().finalized_at_ms == T0


@pytest.mark.parametrize(
    ("option", "value", "kind"),
    [
        ("crash_limit", 0, ValueError),
        ("crash_limit", True, TypeError),
        ("retry_base_ms", 0, ValueError),
        ("retry_cap_ms", 0, ValueError),
        ("retry_cap_ms", 1.0, TypeError),
        ("synchronous", "OFF", ValueError),
        ("busy_timeout_ms", -1, ValueError),
    ],
)
def test_options_of_open(path: Path, option: str, value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=option):
        JobStore.open(path, **{option: value})
    assert not path.exists()


def test_a_locked_file(path: Path, jobs: Driver) -> None:
    jobs.at(T0).put()
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as locker,
        JobStore.open(path, busy_timeout_ms=50) as store,
    ):
        locker.execute("BEGIN IMMEDIATE")
        waiting = Driver(store)
        for call in (waiting.put, waiting.admit, waiting.promote, waiting.reclaim, waiting.evict, store.reset):
            with pytest.raises(StoreUnavailable) as caught:
                call()
            assert caught.value.definite
        # Malformed input is told without any look at the file, and reading waits for nobody.
        lease = LeaseRef("x", "l", 1)
        assert refusal(waiting.put, "") == invalid("empty_id")
        assert refusal(waiting.admit, lease_ms=0) == invalid("bad_lease")
        assert refusal(store.renew, leases=[], lease_ms=0) == invalid("bad_lease")
        assert refusal(waiting.ack, lease, Outcome.SNOOZE) == invalid("snooze_needs_delay")
        assert refusal(waiting.put_all, envelope("a"), envelope("a")) == ("IdConflict", {"job_id": "a"})
        waiting.put_all()
        assert waiting.admit(0) == []
        assert waiting.counts() == {"available": 1}
        locker.execute("ROLLBACK")
        assert waiting.admitted() == ["x"]


def test_a_full_file_keeps_what_it_has(path: Path) -> None:
    JobStore.open(path).close()
    pages = path.stat().st_size // schema.PAGE_SIZE
    with JobStore.open(path, max_page_count=pages + 80) as store:
        jobs = Driver(store)
        ids = (f"j{number:03}" for number in range(200))
        with pytest.raises(StoreUnavailable, match="full") as caught:
            deque((jobs.put(job_id, payload=bytes(4_000)) for job_id in ids), maxlen=0)
        assert caught.value.definite
        kept = sum(jobs.counts().values())
        assert 0 < kept == len(store.envelopes()) < 200
        assert jobs.admitted(1) == ["j000"]


@pytest.mark.skipif(os.name == "nt", reason="Windows refuses to remove a file that is open")
def test_a_removed_file_is_noticed(path: Path, jobs: Driver) -> None:
    jobs.put()
    transaction = jobs.store.begin()
    path.unlink()
    for call in (transaction.commit, jobs.admit, jobs.counts, jobs.store.snapshot):
        with pytest.raises(StoreUnavailable, match="removed or renamed") as caught:
            call()
        assert caught.value.definite


def test_a_closed_handle(jobs: Driver) -> None:
    jobs.store.close()
    jobs.store.close()
    for call in (jobs.put, jobs.counts, jobs.store.begin):
        with pytest.raises(StoreUnavailable, match="closed"):
            call()


def test_all_handles_see_one_stopped_clock(path: Path, jobs: Driver) -> None:
    jobs.at(T0)
    with JobStore.open(path) as store:
        second = Driver(store)
        second.put("x", scheduled_at_ms=T0 + 5)
        assert second.job().enqueued_at_ms == T0
        jobs.later(5)
        assert second.promote() == 1
        second.store.unfreeze_clock()
        jobs.put("y")
        assert abs(jobs.job("y").enqueued_at_ms - time.time_ns() // 1_000_000) < 60_000


def test_to_step_a_running_clock_stops_it(jobs: Driver) -> None:
    before = time.time_ns() // 1_000_000
    jobs.later(1_000_000)
    jobs.put("x")
    time.sleep(0.01)
    jobs.put("y")
    first, second = jobs.job("x").enqueued_at_ms, jobs.job("y").enqueued_at_ms
    assert first == second
    assert before + 1_000_000 <= first <= before + 1_060_000


def test_the_clock_of_the_system_never_runs_back(monkeypatch: pytest.MonkeyPatch) -> None:
    instants = iter([5_000_000, 3_000_000, 6_000_000])
    monkeypatch.setattr("workstore.sqlite.jobs.clock.time.time_ns", lambda: next(instants) * 1_000_000)
    clock = Clock()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE settings (name, value)")
        assert [clock.now(connection) for _ in range(3)] == [5_000_000, 5_000_000, 6_000_000]


def test_threads_on_one_handle(jobs: Driver) -> None:
    jobs.put_all(*[envelope(f"j{number:03}") for number in range(100)])
    claimed: list[Any] = []

    def work(name: str) -> None:
        for turn in range(50):
            for claim in jobs.admit(3, lease_id=f"{name}-{turn}"):
                claimed.append(claim)
                jobs.ack(claim, Outcome.SUCCESS)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(claimed) == len({ref(claim).job_id for claim in claimed}) == 100
    assert jobs.counts() == {"completed": 100}


def test_a_snapshot_shows_each_change(jobs: Driver) -> None:
    jobs.at(T0)
    seen = [jobs.store.snapshot()]

    def changed() -> set[str]:
        before, after = seen[-1], jobs.store.snapshot()
        seen.append(after)
        return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}

    jobs.put("x", rate_class="c", unique_key=b"K", unique_window_ms=5)
    assert changed() == {"job/x", "queue/q", "hold/" + b"\x01K\0\0\0\1wK".hex()}
    jobs.store.set_rate_limit(name="c", limit=1, window_ms=1, burst=1)
    assert changed() == {"bucket/c"}
    claim = jobs.run()
    assert changed() == {"job/x", "queue/q", "bucket/c"}
    jobs.renew(claim, lease_ms=7)
    assert changed() == {"job/x"}
    assert jobs.renew(claim, lease_ms=7) == []
    assert changed() == set()
    jobs.store.claim_duty(name="d", holder="h", lease_ms=1)
    assert changed() == {"duty/d"}
    jobs.store.write_job_progress(lease=ref(claim), progress=ProgressUpdate(1, 2, None))
    assert changed() == {"job/x"}
    jobs.store.reset()
    assert jobs.store.snapshot() == {}
    jobs.put("after")
    assert jobs.job("after").enqueued_at_ms == T0


def test_the_size_of_the_pages(path: Path) -> None:
    """A file that was created with others keeps them."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("VACUUM")
    other = path.with_name("other.db")
    for file, page_size in ((path, 4096), (other, schema.PAGE_SIZE)):
        with JobStore.open(file) as store:
            Driver(store).put(payload=bytes(10_000))
            assert store._connection.read(lambda c: c.execute("PRAGMA page_size").fetchone()) == (page_size,)
            assert Driver(store).run().envelope.payload == bytes(10_000)
