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
faster. Where a single claim stays below its aim, its profile is printed: the pages of the log that it writes, and its
time by part. At NORMAL the statements alone come to about 0.55 of the minimum, by ten statements instead of two, and
nine pages instead of five: one for the index of waiting fingerprints, one for that of what is to be evicted, and two
for the counters of the queue. The Python around them takes 15 microseconds when it is run by itself, and two to three
times that between statements, for its code and that of SQLite and of the kernel push each other out of the caches; the
two looks at each of two files take ten. Each partition more costs more than a microsecond: which one is in turn depends
on how many of them hold a due job. At FULL much depends on the disk: where a sync takes 0.1 ms the store reaches 0.65
to 0.7, where it takes some milliseconds 0.8 to 0.9. A job of a batch takes 35 microseconds of the processor whatever
the disk, so that a batch is 12 times as fast where a single claim with its ack takes 420; with a sync of 3 ms it is
more than 30 times. The bars leave room below the worst of that; the aims are printed beside them.

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
from jobs_profile import pages_of_log, parts

from workspec.jobs.vocabulary import Claim, LeaseRef
from workstore.sqlite.jobs import JobStore, admission, checkpoints, draw, outcomes, queues, rows

ROUNDS: Final = 9
WARM_UP: Final = {"NORMAL": 2, "FULL": 5}
"""Rounds that do not count: until then the logs of the minimum and of the store still grow to the length at which they
are begun anew, and a sync of a file that grows takes longer. They were filled in different ways."""
JOBS: Final = {"NORMAL": 200, "FULL": 60}
"""In one round of one contender."""
CLOCKS: Final[dict[str, Callable[[], float]]] = {"NORMAL": time.thread_time, "FULL": time.perf_counter}
BACKLOG: Final = 10_000
BATCH: Final = 100
SINGLE_BAR: Final = {"NORMAL": 0.25, "FULL": 0.5}
PARTITIONS_BAR: Final = {"NORMAL": 0.2, "FULL": 0.45}
"""Of ten partitions, each of which takes a step of the index more."""
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
        (row,) = execute(draw.FIRST, (QUEUE, "worker", now, "")).fetchall()
        row_id, fence, document, cursor, *envelope = row[draw._FACTS :]
        execute(admission._TURN, (1, QUEUE))
        execute(admission._LEASE, ("lease", now + LEASE_MS, now, 0, row_id))
        execute("COMMIT")
        checkpoint = checkpoints.decode(document, cursor)
        Claim(rows.envelope_of(envelope), "lease", fence + 1, now + LEASE_MS, checkpoint)
        lease = LeaseRef(envelope[0], "lease", fence + 1)
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


def rates(contenders: Sequence[Contender], rounds: int, synchronous: str) -> dict[str, list[float]]:
    """Jobs per second of each contender in each round."""
    found: dict[str, list[float]] = {one.name: [] for one in contenders}
    for number in range(-WARM_UP[synchronous], rounds):
        for one in contenders:
            one.prepare()
            rate = one.jobs / seconds(one.run, CLOCKS[synchronous])
            if number >= 0:
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
            bars = PARTITIONS_BAR if "10 partitions" in name else SINGLE_BAR
            line(name, MINIMUM, bars[synchronous], SINGLE_AIM[synchronous])
    line(STATEMENTS, MINIMUM)
    line(BATCHED, SINGLE, BATCH_BAR[synchronous], BATCH_AIM[synchronous])
    line(ENQUEUE)
    line(BULK, ENQUEUE, BULK_BAR[synchronous])
    for kind in PEERS:
        for name in found:
            if name.startswith(kind.package):
                line(name, MINIMUM)
                line(SINGLE, name, 1 if kind.to_be_beaten and synchronous == "NORMAL" else None)


def profile(directory: Path, synchronous: str) -> None:
    """Where the time of `single` goes, and what no Python around its statements can change."""
    jobs, least = JOBS[synchronous], MinimalQueue(directory / "least.db", "OFF")
    least.enqueue_all(QUEUE, [(one.id, one.payload) for one in requests(jobs)])

    def claim_and_ack(number: int) -> None:
        for _ in range(number):
            claimed = least.claim(QUEUE, "lease", LEASE_MS)
            assert claimed is not None
            least.ack(claimed[0], "lease")

    path = directory / "profiled.db"
    with filled(path, synchronous, 1, DAY_MS) as store:
        connection = store._connection._connection
        assert connection is not None
        work = partial(single, store)
        pages = pages_of_log(path, connection, work, 20)
        of_minimum = pages_of_log(directory / "least.db", least._connection, claim_and_ack, 20)
        rounds = [parts(store, work, jobs, CLOCKS[synchronous]) for _ in range(ROUNDS)]
    least.close()
    shares = {part: statistics.median(found[part] for found in rounds) for part in rounds[0]}
    print(f"\n{SINGLE}: {pages:.1f} pages of the log for each job, the minimum {of_minimum:.1f}; microseconds by part")
    for part, taken in sorted(shares.items(), key=lambda share: -share[1]):
        print(f"    {part:20}{taken:8.1f}{taken / sum(shares.values()):8.0%}")
    print(f"    The floor is the ratio of '{STATEMENTS}': no Python around the statements can reach more.")


def below_aim(synchronous: str, found: dict[str, list[float]]) -> bool:
    return median_ratio(found[SINGLE], found[MINIMUM]) < SINGLE_AIM[synchronous]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    verdict = Verdict()
    for synchronous in LEVELS:
        with tempfile.TemporaryDirectory() as name:
            taking_part = contenders(Path(name), synchronous)
            found = rates(taking_part, rounds, synchronous)
            report(synchronous, found, verdict)
            if below_aim(synchronous, found):
                profile(Path(name), synchronous)
            for one in taking_part:
                one.close()
    return verdict.exit_code()


if __name__ == "__main__":
    sys.exit(main())
