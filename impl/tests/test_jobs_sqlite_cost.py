"""What a call costs, in steps of SQLite's virtual machine: rows that are none of its business cost it nothing."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workspec.jobs.vocabulary import Outcome
from workstore.sqlite.jobs import (
    JobStore,
    admission,
    draw,
    inspection,
    outcomes,
    quarantine,
    rows,
    sweeps,
    uniqueness,
)

from .jobs_driver import T0, Driver, envelope, ref

BACKLOG = 6_000


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Driver]:
    with JobStore.open(tmp_path / "jobs.db", synchronous="NORMAL", crash_limit=1) as store:
        yield Driver(store).at(T0)


def steps(jobs: Driver, call: Callable[[], object]) -> int:
    """How many steps of the virtual machine a call takes, in tens."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    def watch(connection: sqlite3.Connection, handler: Any) -> None:
        connection.set_progress_handler(handler, 10)

    jobs.store._connection.read(lambda connection: watch(connection, count))
    try:
        call()
    finally:
        jobs.store._connection.read(lambda connection: watch(connection, None))
    return counted


def fill(jobs: Driver, prefix: str, number: int, **changes: Any) -> None:
    for first in range(0, number, 1_000):
        last = min(first + 1_000, number)
        jobs.put_all(*[envelope(f"{prefix}{index:06}", **changes) for index in range(first, last)])


def lose_all(jobs: Driver, queue: str) -> None:
    jobs.admit(10**6, queues=[queue], lease_ms=1)
    jobs.later(1).reclaim(10**6)


def finish_all(jobs: Driver, queue: str, outcome: Outcome) -> None:
    for claim in jobs.admit(10**6, queues=[queue]):
        jobs.ack(claim, outcome)


def backlogs(jobs: Driver) -> None:
    """Thousands of rows that none of the calls below has to look at."""
    fill(jobs, "same", BACKLOG, priority=-1)
    fill(jobs, "routed", BACKLOG, priority=9, sticky_worker="other")
    fill(jobs, "late", 1_000, scheduled_at_ms=T0 + 10**9)
    fill(jobs, "held", 1_000, pending=True)
    fill(jobs, "elsewhere", 1_000, queue="r", retention_ms=10**12)
    finish_all(jobs, "r", Outcome.SKIP)
    fill(jobs, "parked", 500, queue="s", fingerprint="parked")
    jobs.admit(1, queues=["s"], lease_ms=1)
    jobs.later(1).reclaim()
    assert jobs.store.sweep_quarantined(limit=10**6) == 499
    fill(jobs, "busy", 1_000, queue="t")
    jobs.admit(10**6, queues=["t"], lease_ms=10**9)


def few(jobs: Driver) -> None:
    fill(jobs, "same", 1, priority=-1)


def measured(jobs: Driver) -> dict[str, int]:
    """The cost of each call, after one that warms up the statements."""
    taken: dict[str, int] = {}

    def take(name: str, call: Callable[[], object]) -> None:
        taken[name] = steps(jobs, call)

    jobs.store.set_enqueue_limit(queue="q", limit=10**9)
    for turn in ("warm", "x"):
        take("enqueue", lambda turn=turn: jobs.put(turn, unique_key=turn.encode(), unique_window_ms=0))  # type: ignore[misc]
        claims: list[Any] = []
        take("admit", lambda: claims.extend(jobs.admit(1)))  # noqa: B023
        assert [claim.envelope.id for claim in claims] == [turn]
        take("renew", lambda: jobs.renew(claims[0]))  # noqa: B023
        take("ack", lambda: jobs.ack(claims[0], Outcome.RETRY))  # noqa: B023
        jobs.later(1_000)
        take("promote", jobs.promote)
        take("explain", lambda turn=turn: jobs.store.explain_admission(job_id=turn))  # type: ignore[misc]
        jobs.admit(1, lease_ms=1)
        jobs.later(1)
        take("reclaim", jobs.reclaim)
        assert jobs.state(turn) == "quarantined"
        jobs.put(f"{turn}-sibling", queue="u", fingerprint=f"other-{turn}")
        jobs.store.edit_payload(job_id=f"{turn}-sibling", payload=b"", schema_version=1, fingerprint=f"fp-{turn}")
        take("sweep", lambda: jobs.store.sweep_quarantined(limit=100))
        take("release", lambda turn=turn: jobs.store.release_fingerprint(fingerprint=f"fp-{turn}"))  # type: ignore[misc]
        jobs.store.delete_job(job_id=f"{turn}-sibling")
        (claim,) = jobs.admit(1)
        jobs.ack(claim, Outcome.SUCCESS)
        jobs.put(f"{turn}-short", queue="u", retention_ms=1)
        (short,) = jobs.admit(queues=["u"])
        jobs.ack(short, Outcome.SUCCESS)
        jobs.later(1)
        take("evict", jobs.evict)
        assert jobs.state(f"{turn}-short") is None
        take("counts", lambda: jobs.store.counts(queue=None))
        take("stats", jobs.store.queue_stats)
        jobs.store.delete_job(job_id=turn)
    return taken


def test_no_call_costs_more_for_rows_that_are_none_of_its_business(jobs: Driver) -> None:
    few(jobs)
    small = measured(jobs)
    jobs.store.reset()
    jobs.at(T0)
    backlogs(jobs)
    large = measured(jobs)
    # A few more queues, fingerprints and retentions are there, and trees are deeper.
    assert {name: cost for name, cost in large.items() if cost > 2 * small[name] + 30} == {}


def test_a_flooding_partition_is_not_read(jobs: Driver) -> None:
    fill(jobs, "a", BACKLOG, partition_key="flood")
    for partition in "xyz":
        jobs.put(partition, partition_key=partition)
    assert steps(jobs, lambda: jobs.admit(4)) < BACKLOG // 10


def test_blocked_rows_cost_their_number_and_no_more(jobs: Driver) -> None:
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1, burst=0)
    fill(jobs, "blocked", 100, priority=9, rate_class="c")
    fill(jobs, "free", BACKLOG)
    cost = steps(jobs, lambda: jobs.admit(1))
    assert 100 * 3 < cost * 10 < 100 * 100


def test_a_draw_of_many_costs_what_it_takes(jobs: Driver) -> None:
    fill(jobs, "j", BACKLOG)
    first = steps(jobs, lambda: jobs.admit(100, lease_id="a"))
    second = steps(jobs, lambda: jobs.admit(1_000, lease_id="b"))
    assert second < 15 * first


def test_a_limited_sweep_reads_no_more_than_it_takes(jobs: Driver) -> None:
    fill(jobs, "due", 3_000, scheduled_at_ms=T0 + 1)
    fill(jobs, "crash", 1_000, queue="r")
    jobs.admit(10**4, queues=["r"], lease_ms=1)
    fill(jobs, "done", 1_000, queue="s", retention_ms=1)
    finish_all(jobs, "s", Outcome.SKIP)
    jobs.later(10)
    for sweep in (jobs.promote, jobs.reclaim, jobs.evict):
        assert steps(jobs, lambda call=sweep: call(5)) < 300  # type: ignore[misc]


PLANS: dict[str, tuple[str, str]] = {
    "first": (draw.FIRST, "jobs_to_draw"),
    "partitions": (draw.PARTITIONS, "jobs_to_draw"),
    "candidates": (draw.CANDIDATES, "jobs_to_draw"),
    "more candidates": (draw.MORE_CANDIDATES, "jobs_to_draw"),
    "first group": (inspection.FIRST_GROUP, "jobs_to_draw"),
    "next group": (inspection.NEXT_GROUP[0], "jobs_to_draw"),
    "promotion": (sweeps.DUE, "jobs_to_promote"),
    "reclamation": (sweeps.EXPIRED, "jobs_to_reclaim"),
    "next retention": (sweeps.NEXT_RETENTION, "jobs_to_evict"),
    "eviction": (sweeps.LAPSED, "jobs_to_evict"),
    "quarantine": (quarantine._WAITING, "jobs_to_quarantine"),
    "release": (quarantine._PARKED, "jobs_to_release"),
    "lifecycle key": (uniqueness._LIFECYCLE_HOLDER, "jobs_by_lifecycle_key"),
}


@pytest.mark.parametrize("name", PLANS)
def test_each_statement_searches_its_index_and_sorts_nothing(jobs: Driver, name: str) -> None:
    statement, index = PLANS[name]
    # Numbered parameters may occur more than once, others do not.
    named = re.findall(r"\?(\d+)", statement)
    values = [1] * (max(map(int, named)) if named else statement.count("?"))

    def explain(connection: sqlite3.Connection) -> list[str]:
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]

    plan = jobs.store._connection.read(explain)
    on_jobs = [line for line in plan if " jobs" in line]
    assert on_jobs
    assert all(line.startswith("SEARCH ") and index in line for line in on_jobs), plan
    assert not any("TEMP B-TREE" in line for line in plan), plan


@pytest.mark.parametrize(
    "statement",
    [rows.INSERT, admission._LEASE, outcomes._FINISH, outcomes._WAIT, "DELETE FROM jobs WHERE row_id = ?"],
)
def test_a_move_of_one_row_builds_no_table(jobs: Driver, statement: str) -> None:
    values = [None] * statement.count("?")

    def explain(connection: sqlite3.Connection) -> list[str]:
        return [row[1] for row in connection.execute(f"EXPLAIN {statement}", values)]

    steps_of_it = jobs.store._connection.read(explain)
    assert "IdxDelete" in steps_of_it or "IdxInsert" in steps_of_it
    # A list of values in a condition of an index, or RETURNING, would cost one for each write.
    assert "OpenEphemeral" not in steps_of_it


def test_an_ack_needs_no_look_at_other_jobs(jobs: Driver) -> None:
    jobs.put("x")
    claim = jobs.run()
    small = steps(jobs, lambda: jobs.renew(claim))
    fill(jobs, "j", BACKLOG)
    assert steps(jobs, lambda: jobs.renew(claim)) <= small + 5
    assert jobs.store.renew(leases=[ref(claim)], lease_ms=1) == []
