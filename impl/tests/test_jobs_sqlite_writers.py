"""Several handles, threads and processes on one file of the SQLite job store."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from workspec.jobs.vocabulary import JobError, Outcome, State
from workstore.sqlite.jobs import JobStore

from .jobs_driver import T0, Driver, duplicate, envelope, race, ref, refusal

Opening = Callable[[], Driver]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def opened(path: Path) -> Iterator[Opening]:
    with ExitStack() as open_stores:
        yield lambda: Driver(
            open_stores.enter_context(JobStore.open(path, synchronous="NORMAL", busy_timeout_ms=60_000))
        )


def test_s02_64_producers_never_pass_a_limit(opened: Opening) -> None:
    handles = [opened() for _ in range(8)]
    handles[0].at(T0)
    handles[0].store.set_enqueue_limit(queue="q", limit=25)
    answers = race(*[partial(handles[number % 8].put, f"j{number}") for number in range(64)])
    refused = [answer for answer in answers if answer is not None]
    assert len(refused) == 39
    for error in refused:
        assert isinstance(error, JobError)
        assert (error.code, error.details) == (
            "Backpressure",
            {"queue": "q", "limit": 25, "current": 25, "incoming": 1},
        )
    assert handles[1].stats().unfinished_jobs == 25


def test_one_of_many_producers_takes_a_key(opened: Opening) -> None:
    handles = [opened() for _ in range(4)]
    answers = race(*[partial(handles[number % 4].put, f"j{number}", unique_key=b"K") for number in range(16)])
    winner = f"j{answers.index(None)}"
    assert answers.count(None) == 1
    assert [error.details for error in answers if error] == [duplicate(winner)[1]] * 15
    assert handles[0].counts() == {"available": 1}


def test_s40_no_job_is_claimed_twice(opened: Opening) -> None:
    handles = [opened() for _ in range(4)]
    for first in range(0, 500, 100):
        handles[0].put_all(*[envelope(f"j{number:03}") for number in range(first, first + 100)])
    claims: list[Any] = []
    for turn in range(50):
        calls = [partial(handles[n % 4].admit, 80, lease_id=f"{turn}-{n}") for n in range(8)]
        admitted = [claim for answer in race(*calls) for claim in answer]
        if not admitted:
            break
        claims += admitted
    assert len(claims) == len({claim.envelope.id for claim in claims}) == 500
    assert {claim.fence for claim in claims} == {1}
    held = {job["id"]: job["lease_id"] for job in _jobs(handles[0]) if job["lease_id"]}
    assert held == {claim.envelope.id: claim.lease_id for claim in claims}


def _jobs(jobs: Driver) -> list[dict[str, Any]]:
    return [value for key, value in jobs.store.snapshot().items() if key.startswith("job/")]


def assert_invariants(jobs: Driver) -> None:
    """INV-01, INV-04, INV-05, INV-08 and INV-10, out of one snapshot."""
    snapshot = jobs.store.snapshot()
    stored = [value for key, value in snapshot.items() if key.startswith("job/")]
    unfinished = {"pending", "scheduled", "available", "running", "retryable"}
    for job in stored:
        assert (job["state"] == "running") == (job["lease_id"] is not None)
        assert (job["state"] in unfinished) == (job["finalized_at_ms"] is None)
    keys = [job["lifecycle_key"] for job in stored if job["lifecycle_key"] and job["state"] in unfinished]
    assert len(keys) == len(set(keys))
    for name, queue in ((key[6:], value) for key, value in snapshot.items() if key.startswith("queue/")):
        held = Counter(job["state"] for job in stored if job["queue"] == name)
        assert {state: queue[state] for state in State} == {state: held[state] for state in State}


def test_s40_everything_at_once(opened: Opening) -> None:
    handles = [opened() for _ in range(5)]
    handles[0].put_all(*[envelope(f"j{n:02}", partition_key="AB"[n % 2], unique_key=b"%d" % n) for n in range(60)])
    claimed: list[str] = []
    over = threading.Event()

    def work(jobs: Driver, name: str) -> None:
        # Those of the first turn are abandoned, when there is work for everybody.
        outcomes = [None, Outcome.SUCCESS, Outcome.RETRY, Outcome.SNOOZE, Outcome.RATE_LIMITED]
        for turn in range(60):
            for claim in jobs.admit(3, lease_id=f"{name}{turn}", lease_ms=5):
                claimed.append(claim.envelope.id)
                outcome = outcomes[turn % 5]
                if outcome is not None:
                    _ack(jobs, claim, outcome)

    def sweep(jobs: Driver) -> None:
        while not over.is_set():
            jobs.promote(10)
            jobs.reclaim(10)
            jobs.store.sweep_quarantined(limit=5)

    sweeper = threading.Thread(target=sweep, args=(handles[4],))
    sweeper.start()
    try:
        answers = race(*[partial(work, handle, name) for handle, name in zip(handles[:3], "abc", strict=True)])
    finally:
        over.set()
        sweeper.join(timeout=30)
    assert answers == [None] * 3
    assert_invariants(handles[0])
    # INV-02: no claim was handed out that a fence does not count.
    assert Counter({job["id"]: job["fence"] for job in _jobs(handles[0])}) == Counter(claimed)
    # However fast all of them were, what was abandoned has lapsed by now.
    time.sleep(0.01)
    handles[0].reclaim(60)
    assert_invariants(handles[0])
    assert any(job["crash_attempt"] for job in _jobs(handles[0]))


def _ack(jobs: Driver, claim: Any, outcome: Outcome) -> None:
    # A lease of 5 ms may have been reclaimed meanwhile; any other refusal ends the thread.
    delay_ms = 1 if outcome in (Outcome.SNOOZE, Outcome.RETRY) else None
    with suppress_rejected():
        jobs.ack(claim, outcome, delay_ms=delay_ms)


@contextmanager
def suppress_rejected() -> Iterator[None]:
    try:
        yield
    except JobError as error:
        if error.code != "LeaseRejected":
            raise


WORKER = """
import json, sys
from workspec.jobs.vocabulary import LeaseRef, Outcome
from workstore.sqlite.jobs import JobStore

path, worker = sys.argv[1:]
won = []
with JobStore.open(path, synchronous="NORMAL", busy_timeout_ms=60_000) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(1_000):
        units = store.admit(
            worker=worker, lease_id=f"{worker}{turn}", queues=["q"], capacity=2, lease_ms=60_000, quantum=1)
        if not units:
            break
        for unit in units:
            for claim in unit.claims:
                lease = LeaseRef(claim.envelope.id, claim.lease_id, claim.fence)
                store.ack(lease=lease, outcome=Outcome.SUCCESS, error=None, delay_ms=None, logs=[], actual_weight=None)
                won.append(claim.envelope.id)
print(json.dumps(won))
"""


def test_processes_that_race_from_an_absent_file_win_each_job_once(path: Path, opened: Opening) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in "abc"
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    jobs = opened()
    jobs.put_all(*[envelope(f"j{number:02}") for number in range(60)])
    won = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        won += json.loads(process.communicate(timeout=60)[0])
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(won) == len(set(won)) == 60
    assert jobs.counts() == {"completed": 60}
    assert_invariants(jobs)


def test_concurrent_sweeps_count_a_lost_lease_once(opened: Opening) -> None:
    handles = [opened() for _ in range(4)]
    handles[0].at(T0).put_all(*[envelope(f"j{number:02}") for number in range(40)])
    handles[0].admit(lease_ms=1)
    handles[0].later(1)
    answers = race(*[partial(handle.reclaim, 15) for handle in handles])
    lost = [one.job_id for answer in answers for one in answer]
    assert len(lost) == len(set(lost)) == 40
    assert {job["crash_attempt"] for job in _jobs(handles[0])} == {1}


def test_a_handle_acts_on_what_another_has_committed(opened: Opening) -> None:
    first, second = opened(), opened()
    first.at(T0).put()
    claim = second.run()
    first.store.operator_cancel(job_id="x")
    assert second.renew(claim) == ["x"]
    assert refusal(second.ack, ref(claim), Outcome.SUCCESS) == ("LeaseRejected", {"job_id": "x"})
    second.store.pause_queue(queue="q")
    first.store.operator_retry(job_id="x")
    assert first.admit() == []
    second.store.unpause_queue(queue="q")
    assert first.admitted() == ["x"]


def test_what_is_read_together_is_of_one_state(opened: Opening) -> None:
    first, second = opened(), opened()

    def look(connection: sqlite3.Connection) -> list[Any]:
        seen = connection.execute("SELECT count(*) FROM jobs").fetchone()
        second.put()
        return [seen, connection.execute("SELECT count(*) FROM jobs").fetchone()]

    assert first.store._connection.view(look) == [(0,), (0,)]
    assert first.state() == State.AVAILABLE
