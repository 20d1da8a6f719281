"""Jobs per second of the SQLite job store in one process, beside a hand-written minimum and beside other queues.

    python impl/bench/bench_jobs_throughput.py

The minimum (`jobs_minimum`) does one indexed UPDATE for a claim and one for an ack, each in a transaction of its own,
at the same durability. Every queue begins with the same backlog. All contenders take turns within each round, and each
ratio is the median of those of the rounds: the speed of a machine drifts, and that of its disk above all. The exit code
is 1 if a bar is missed.

NORMAL shows what the store itself costs, in time of the processor, so that neither the disk nor other processes count.
FULL shows what of that is left to see beside the sync of each commit, in time of the clock. For its cost the store does
what the minimum does not: turns of partitions and routes, quarantine and rate classes, exact counters of each queue, an
envelope of 29 members with its checkpoint, a look whether the files are still there. *Its statements alone* runs the
statements of a single admission and ack and makes the claim, with nothing around them: no Python on top of them can be
faster. At NORMAL it comes to 0.45 of the minimum, for nine pages of the log are written for each job instead of five,
by eleven statements instead of two. What is around them (checks of arguments, the draw, the look at the files, which
alone is a third of it) takes a quarter of the time. At FULL much depends on the disk: where a sync takes 0.1 ms the
store reaches 0.6, where it takes 3 ms 0.9. The bars leave room below the worst of that; the aims are printed beside
them.

Other queues are measured where they are installed:

    python -m pip install litequeue persist-queue huey

At NORMAL the store has to be ahead of litequeue; at FULL the disk decides. persist-queue is only shown: it asks for a
row, then marks it whatever has become of it meanwhile, so two processes may be given one job; such a claim costs less
than any that excludes that.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from attrs import frozen
from jobs_loads import (
    DAY_MS,
    GREATEST_BATCH,
    LEASE_MS,
    LEVELS,
    PAYLOAD,
    QUEUE,
    Verdict,
    ack,
    admit,
    enqueue_all,
    lease_of,
    median_ratio,
    requests,
    seconds,
)
from jobs_minimum import MinimalQueue
from jobs_peers import PEERS, Kind, Peer

from workspec.jobs.vocabulary import Claim, LeaseRef
from workstore.sqlite.jobs import JobStore, admission, checkpoints, draw, outcomes, queues, rows

ROUNDS: Final = 9
JOBS: Final = {"NORMAL": 200, "FULL": 60}
"""In one round of one contender."""
CLOCKS: Final[dict[str, Callable[[], float]]] = {"NORMAL": time.thread_time, "FULL": time.perf_counter}
BACKLOG: Final = 10_000
BATCH: Final = 100
SINGLE_BAR: Final = {"NORMAL": 0.25, "FULL": 0.5}
SINGLE_AIM: Final = {"NORMAL": 0.4, "FULL": 0.7}
BATCH_BAR: Final = {"NORMAL": 3, "FULL": 8}
BATCH_AIM: Final = {"NORMAL": 3, "FULL": 12}
BULK_BAR: Final = {"NORMAL": 4, "FULL": 10}
MINIMUM: Final = "hand-written minimum"
SINGLE: Final = "single, 1 partition"
STATEMENTS: Final = "its statements alone, 1 partition"
BATCHED: Final = f"admit {BATCH}, {BATCH} complete_tx"
ENQUEUE: Final = "enqueue, 1 each"
BULK: Final = f"enqueue, {GREATEST_BATCH} each"


@frozen
class Contender:
    """``run`` works off a number of jobs, and alone is timed; ``prepare`` comes before each."""

    name: str
    jobs: int
    run: Callable[[], object]
    close: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


def minimum(path: Path, synchronous: str, jobs: int) -> Contender:
    queue = MinimalQueue(path, "OFF")
    queue.enqueue_all(QUEUE, [(one.id, one.payload) for one in requests(BACKLOG)])
    queue.set_synchronous(synchronous)

    def run() -> None:
        for _ in range(jobs):
            claimed = queue.claim(QUEUE, "lease", LEASE_MS)
            assert claimed is not None
            acked = queue.ack(claimed[0], "lease")
            assert acked

    return Contender(MINIMUM, jobs, run, queue.close)


def filled(path: Path, synchronous: str, partitions: int, retention_ms: int) -> JobStore:
    with JobStore.open(path, synchronous="NORMAL") as store:
        enqueue_all(store, requests(BACKLOG, partitions=partitions, retention_ms=retention_ms))
    return JobStore.open(path, synchronous=synchronous)


def single(store: JobStore, jobs: int) -> None:
    for _ in range(jobs):
        (claim,) = admit(store, 1)
        ack(store, claim)


def batched(store: JobStore, jobs: int) -> None:
    """Two commits for each batch: that of the admission, and that of the transaction of the acks."""
    for _ in range(jobs // BATCH):
        claims = admit(store, BATCH)
        assert len(claims) == BATCH
        transaction = store.begin()
        for claim in claims:
            store.complete_tx(transaction=transaction, lease=lease_of(claim), actual_weight=None)
        transaction.commit()


def statements_alone(store: JobStore, jobs: int) -> None:
    """What `single` makes SQLite do, and the claim that comes of it."""
    connection = store._connection._connection
    assert connection is not None
    execute = connection.execute
    for _ in range(jobs):
        now = time.time_ns() // 1_000_000
        execute("BEGIN IMMEDIATE")
        ((name, route, now, _cursor),) = execute(draw.PARTITIONS, (QUEUE, "worker", now)).fetchall()
        (row,) = execute(draw.CANDIDATES, (QUEUE, route, now, name, 1)).fetchall()
        job_id, row_id = row[2:4]
        fence, document, cursor, *envelope = row[len(draw.Candidate._fields) - 1 :]
        execute(admission._TURN, (1, QUEUE))
        execute(admission._LEASE, ("lease", now + LEASE_MS, now, 0, row_id))
        execute("COMMIT")
        checkpoint = checkpoints.decode(document, cursor)
        Claim(rows.envelope_of(*envelope), "lease", fence + 1, now + LEASE_MS, checkpoint)
        lease = LeaseRef(job_id, "lease", fence + 1)
        execute("BEGIN IMMEDIATE")
        run = rows.held(connection, lease)
        queues.succeeded(connection, now, run.queue, kept=True)
        execute(outcomes._FINISH, ("completed", now, run.attempt, run.charge, run.row_id))
        execute("COMMIT")


def producer(store: JobStore, name: str, jobs: int, batch: int) -> Contender:
    """Makes its envelopes outside of the measured time."""
    ready: list[list[object]] = []

    def prepare() -> None:
        fresh = requests(jobs)
        ready[:] = [list(fresh[first : first + batch]) for first in range(0, jobs, batch)]

    def run() -> None:
        for envelopes in ready:
            store.enqueue(envelopes=envelopes)  # type: ignore[arg-type]

    return Contender(name, jobs, run, store.close, prepare)


def on_peer(kind: Kind, peer: Peer, jobs: int) -> Contender:
    def run() -> None:
        for _ in range(jobs):
            claimed = peer.claim()
            if peer.ack is not None:
                peer.ack(claimed)

    return Contender(kind.title(), jobs, run, peer.close)


def peers(directory: Path, synchronous: str, jobs: int) -> list[Contender]:
    found = []
    for kind in PEERS:
        peer = kind.opened(directory / f"{kind.package}-{synchronous}")
        if peer is None:
            print(f"{kind.package} is not installed: python -m pip install {kind.package}")
            continue
        peer.set_synchronous("OFF")
        for _ in range(BACKLOG):
            peer.put(PAYLOAD)
        peer.set_synchronous(synchronous)
        found.append(on_peer(kind, peer, jobs))
    return found


def contenders(directory: Path, synchronous: str) -> list[Contender]:
    jobs = JOBS[synchronous]

    def store(partitions: int = 1, retention_ms: int = DAY_MS) -> JobStore:
        number = sum(1 for _ in directory.glob("*.db"))
        return filled(directory / f"{number}.db", synchronous, partitions, retention_ms)

    def working(name: str, store: JobStore, work: Callable[[JobStore, int], None], jobs: int) -> Contender:
        return Contender(name, jobs, partial(work, store, jobs), store.close)

    return [
        minimum(directory / "minimum.db", synchronous, jobs),
        working(SINGLE, store(), single, jobs),
        working("single, 10 partitions", store(10), single, jobs),
        working("single, 1 partition, not retained", store(1, 0), single, jobs),
        working("single, 10 partitions, not retained", store(10, 0), single, jobs),
        working(STATEMENTS, store(), statements_alone, jobs),
        working(BATCHED, store(), batched, BATCH),
        producer(store(), ENQUEUE, jobs, 1),
        producer(store(), BULK, GREATEST_BATCH, GREATEST_BATCH),
        *peers(directory, synchronous, jobs),
    ]


def rates(contenders: Sequence[Contender], rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Jobs per second of each contender in each round, after one that warms up."""
    found: dict[str, list[float]] = {one.name: [] for one in contenders}
    for number in range(rounds + 1):
        for one in contenders:
            one.prepare()
            rate = one.jobs / seconds(one.run, clock)
            if number:
                found[one.name].append(rate)
    return found


def report(synchronous: str, found: dict[str, list[float]], verdict: Verdict) -> None:
    of_what = " of processor time" if CLOCKS[synchronous] is time.thread_time else ""
    print(
        f"\nsynchronous={synchronous}, backlog {BACKLOG:,}; jobs per second{of_what}, median of {len(found[MINIMUM])}"
    )

    def line(name: str, against: str | None = None, least: float | None = None, aim: float | None = None) -> None:
        shown = f"{name:42}{statistics.median(found[name]):10,.0f}"
        if against is not None:
            ratio = median_ratio(found[name], found[against])
            shown += f"{ratio:8.2f} of {against:42}"
            if least is not None:
                shown += verdict.at_least(f"{name} at {synchronous}, beside {against}", ratio, least)
            if aim is not None and least is not None and aim > least:
                shown += f" (aim {aim:g}: {'reached' if ratio >= aim else 'not reached'})"
        print(shown)

    line(MINIMUM)
    for name in found:
        if name.startswith("single"):
            line(name, MINIMUM, SINGLE_BAR[synchronous], SINGLE_AIM[synchronous])
    line(STATEMENTS, MINIMUM)
    line(BATCHED, SINGLE, BATCH_BAR[synchronous], BATCH_AIM[synchronous])
    line(ENQUEUE)
    line(BULK, ENQUEUE, BULK_BAR[synchronous])
    for kind in PEERS:
        for name in found:
            if name.startswith(kind.package):
                line(name, MINIMUM)
                line(SINGLE, name, 1 if kind.to_be_beaten and synchronous == "NORMAL" else None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    verdict = Verdict()
    for synchronous in LEVELS:
        with tempfile.TemporaryDirectory() as name:
            taking_part = contenders(Path(name), synchronous)
            report(synchronous, rates(taking_part, rounds, CLOCKS[synchronous]), verdict)
            for one in taking_part:
                one.close()
    return verdict.exit_code()


if __name__ == "__main__":
    sys.exit(main())
