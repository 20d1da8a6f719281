"""How little a call on the SQLite job store depends on the rows that are none of its business.

    python impl/bench/bench_jobs_scale.py [--rows FEW MANY]

Compares two stores that differ in their rows alone; they take turns, call by call, and ratios are medians of rounds,
since the speed of a machine drifts. Most rows are written by SQL: copies of one that was enqueued, under ids,
partitions and fingerprints of their own, waiting, running, scheduled and finished, so that each index is full; the
counters of the queues are moved with them. The exit code is 1 if a bar is missed. It takes about half a minute.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from attrs import evolve, field, frozen, mutable
from jobs_loads import LEASE_MS, QUEUE, Verdict, ack, admit, requests, seconds

from workspec.jobs.vocabulary import Claim, Outcome, State
from workstore.sqlite.jobs import JobStore, queues, rows

NOW_MS: Final = 1_000_000_000
FAR_MS: Final = 10**12
ROUNDS: Final = 5
CALLS: Final = 25
"""Of each case in each round: so few that the smaller store does not run out of rows that were never lost."""
CLAIMS: Final = 400
DUE: Final = 10
SIZE_BAR: Final = 1.5
FLOOD_BAR: Final = 2.0
BLOCKED: Final = 10_000

Value = TypeVar("Value")

_CHANGES: Final[Mapping[State, Mapping[str, str]]] = {
    State.AVAILABLE: {},
    State.RUNNING: {
        "lease_id": "'elsewhere'",
        "lease_expires_at_ms": f"{FAR_MS} + n",
        "claimed_at_ms": str(NOW_MS),
        "fence": "1",
    },
    State.SCHEDULED: {"scheduled_at_ms": f"{FAR_MS} + n"},
    State.COMPLETED: {"finalized_at_ms": f"{NOW_MS} + n"},
}
_SERIES: Final = "WITH RECURSIVE series (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM series WHERE n + 1 < ?1) "
_CONTENTS: Final = f"{_SERIES}INSERT INTO contents (row_id, payload) SELECT ?2 + n, zeroblob(100) FROM series"


def copy(connection: sqlite3.Connection, state: State, number: int, **changes: str) -> None:
    """Store copies of the row that was enqueued first; ``changes`` are expressions of SQL, over the number ``n`` of
    the copy."""
    if not number:
        return
    (last,) = connection.execute("SELECT max(row_id) FROM jobs").fetchone()
    expressions = dict.fromkeys(rows.Row._fields, "")
    expressions |= {name: f"template.{name}" for name in expressions}
    expressions |= {
        "row_id": "?2 + n",
        "id": f"'{state}-' || (?2 + n)",
        "fingerprint": "'copied-' || (?2 + n)",
        "state": f"'{state}'",
        **_CHANGES[state],
        **changes,
    }
    names, values = ", ".join(expressions), ", ".join(expressions.values())
    template = "(SELECT * FROM jobs ORDER BY row_id LIMIT 1) AS template"
    connection.execute(
        f"{_SERIES}INSERT INTO jobs ({names}) SELECT {values} FROM {template}, series", (number, last + 1)
    )
    connection.execute(_CONTENTS, (number, last + 1))
    queues.moved(connection, QUEUE, {state: number})


def opened(path: Path) -> JobStore:
    store = JobStore.open(path, synchronous="NORMAL")
    store.freeze_clock(at_ms=NOW_MS)
    store.enqueue(envelopes=requests(1, partitions=1))
    return store


def filled(directory: Path, number: int) -> JobStore:
    """Two fifths waiting in 100 partitions, a fifth each running, scheduled and finished."""
    store = opened(directory / f"{number}.db")

    def fill(connection: sqlite3.Connection) -> None:
        copy(connection, State.AVAILABLE, number * 2 // 5, partition_key="'p' || (n % 100)")
        for state in (State.RUNNING, State.SCHEDULED, State.COMPLETED):
            copy(connection, state, number // 5)

    store._connection.write(fill)
    return store


@mutable
class Subject:
    """A store in the making of a case: what it has been given."""

    store: JobStore
    claims: list[Claim] = field(factory=list)


def nothing(_: Subject) -> None:
    pass


def admit_due(subject: Subject) -> None:
    subject.claims = admit(subject.store, DUE)
    assert len(subject.claims) == DUE


def ack_all(subject: Subject) -> None:
    for claim in subject.claims:
        ack(subject.store, claim)


def enqueue_one(subject: Subject) -> None:
    subject.store.enqueue(envelopes=requests(1, partitions=100))


def lose_due(subject: Subject) -> None:
    admit(subject.store, DUE, lease_ms=1)
    subject.store.advance_clock(delta_ms=1)


def reclaim(subject: Subject) -> None:
    assert len(subject.store.reclaim_expired(limit=DUE)) == DUE


def let_backoffs_end(subject: Subject) -> None:
    subject.store.advance_clock(delta_ms=1_000)


def promote(subject: Subject) -> None:
    assert subject.store.promote_due(limit=DUE) == DUE


def finish_due(subject: Subject) -> None:
    store = subject.store
    store.enqueue(envelopes=[evolve(one, queue="short") for one in requests(DUE, retention_ms=1)])
    units = store.admit(
        worker="worker", lease_id="lease", queues=("short",), capacity=DUE, lease_ms=LEASE_MS, quantum=1
    )
    for unit in units:
        ack(store, unit.claims[0])
    store.advance_clock(delta_ms=1)


def evict(subject: Subject) -> None:
    assert subject.store.evict_retained(limit=DUE) == DUE


@frozen
class Case:
    name: str
    prepare: Callable[[Subject], None]
    run: Callable[[Subject], None]


CASES: Final = (
    Case(f"admit of {DUE}, 100 partitions", nothing, admit_due),
    Case(f"{DUE} acks", nothing, ack_all),
    Case("enqueue of one", nothing, enqueue_one),
    Case(f"reclaim of {DUE}", lose_due, reclaim),
    Case(f"promote of {DUE}", let_backoffs_end, promote),
    Case(f"evict of {DUE}", finish_due, evict),
)
"""In this order: the acks end what the admission began, and what was reclaimed is promoted."""


def in_turn(turn: int, subjects: Sequence[Value], times: Sequence[list[float]]) -> list[tuple[Value, list[float]]]:
    """The subjects with their times, each first as often as the other: what comes second finds warmer caches."""
    pairs = list(zip(subjects, times, strict=True))
    return pairs[::-1] if turn % 2 else pairs


def medians(stores: list[JobStore], rounds: int) -> dict[str, list[list[float]]]:
    """Milliseconds of a case on each store, round by round."""
    subjects = [Subject(store) for store in stores]
    found: dict[str, list[list[float]]] = {case.name: [[] for _ in stores] for case in CASES}
    for number in range(rounds + 1):
        taken: dict[str, list[list[float]]] = {case.name: [[] for _ in stores] for case in CASES}
        for turn in range(CALLS):
            for case in CASES:
                for subject, times in in_turn(turn, subjects, taken[case.name]):
                    case.prepare(subject)
                    times.append(seconds(partial(case.run, subject)) * 1000)
        for case in CASES:
            for times, rounds_of in zip(taken[case.name], found[case.name], strict=True):
                if number:  # The first round warms up.
                    rounds_of.append(statistics.median(times))
    return found


def claim_p99_ms(stores: list[JobStore], rounds: int) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in stores]
    for _ in range(rounds):
        taken: list[list[float]] = [[] for _ in stores]
        for turn in range(CLAIMS):
            for store, times in in_turn(turn, stores, taken):
                begin = time.perf_counter()
                (claim,) = admit(store, 1)
                times.append((time.perf_counter() - begin) * 1000)
                ack(store, claim, Outcome.RATE_LIMITED)  # Back to its place.
        for times, rounds_of in zip(taken, found, strict=True):
            rounds_of.append(statistics.quantiles(times, n=100)[-1])
    return found


def show(name: str, small: list[float], large: list[float], bar: float | None, verdict: Verdict) -> None:
    ratio = statistics.median(one / other for one, other in zip(large, small, strict=True))
    judged = "" if bar is None else verdict.at_most(name, ratio, bar)
    print(f"{name:44}{statistics.median(small):10.3f}{statistics.median(large):10.3f}{ratio:8.2f}   {judged}")


def compare_sizes(directory: Path, sizes: tuple[int, int], rounds: int, verdict: Verdict) -> None:
    began = time.perf_counter()
    stores = [filled(directory, size) for size in sizes]
    print(f"\nmilliseconds, median of {rounds} (filling took {time.perf_counter() - began:.0f} s)")
    print(f"{'':44}{sizes[0]:>10,}{sizes[1]:>10,}{'ratio':>8}")
    for name, (small, large) in medians(stores, rounds).items():
        show(name, small, large, SIZE_BAR, verdict)
    small, large = claim_p99_ms(stores, rounds)
    show("admit of 1, 100 partitions, p99", small, large, SIZE_BAR, verdict)
    for store in stores:
        store.close()


def with_copies(path: Path, number: int, *, partitions: int = 100, **changes: str) -> JobStore:
    """Ten thousand rows in so many partitions, and so many copies besides."""
    store = opened(path)

    def fill(connection: sqlite3.Connection) -> None:
        copy(connection, State.AVAILABLE, 10_000, partition_key=f"'p' || (n % {partitions})")
        copy(connection, State.AVAILABLE, number, **changes)

    store._connection.write(fill)
    return store


def admissions_ms(stores: list[JobStore], capacity: int, rounds: int) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in stores]
    for _ in range(rounds):
        taken: list[list[float]] = [[] for _ in stores]
        for turn in range(CALLS):
            for store, times in in_turn(turn, stores, taken):
                begin = time.perf_counter()
                claims = admit(store, capacity)
                times.append((time.perf_counter() - begin) * 1000)
                assert len(claims) == capacity
                for claim in claims:
                    ack(store, claim, Outcome.RATE_LIMITED)  # Back to its place.
        for times, rounds_of in zip(taken, found, strict=True):
            rounds_of.append(statistics.median(times))
    return found


def beside(title: str, stores: tuple[JobStore, JobStore], rounds: int, bar: float | None, verdict: Verdict) -> None:
    small, large = admissions_ms(list(stores), DUE, rounds)
    show(f"admit of {DUE}, {title}", small, large, bar, verdict)
    for store in stores:
        store.close()


def flood(directory: Path, number: int, rounds: int, verdict: Verdict) -> None:
    print(f"\n{'100 partitions':44}{'without':>10}{'with':>10}{'ratio':>8}")
    stores = with_copies(directory / "calm.db", 0), with_copies(directory / "flood.db", number, partition_key="'flood'")
    beside(f"{number:,} rows in one more", stores, rounds, FLOOD_BAR, verdict)


def blocked(directory: Path, rounds: int, verdict: Verdict) -> None:
    def parked(path: Path, fingerprint: str) -> JobStore:
        copies = {"fingerprint": fingerprint, "precedence": "-9", "partition_key": "'p0'"}
        store = with_copies(path, BLOCKED, partitions=1, **copies)
        store._connection.write(
            lambda connection: connection.execute("INSERT INTO fingerprints VALUES ('parked', 'w', 3, 0, '')")
        )
        return store

    stores = parked(directory / "ahead.db", "'free'"), parked(directory / "blocked.db", "'parked'")
    beside(f"1 partition, {BLOCKED:,} quarantined ahead", stores, rounds, None, verdict)


def partitions(directory: Path, rounds: int, verdict: Verdict) -> None:
    def spread(path: Path, number: int) -> JobStore:
        return with_copies(path, 20_000, partition_key=f"'many-' || (n % {number})")

    stores = spread(directory / "ten.db", 10), spread(directory / "thousand.db", 1_000)
    beside("1,000 partitions more, not 10", stores, rounds, None, verdict)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs=2, default=(10_000, 1_000_000), metavar=("FEW", "MANY"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    verdict = Verdict()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        compare_sizes(directory, tuple(options.rows), options.rounds, verdict)
        flood(directory, options.rows[1], options.rounds, verdict)
        blocked(directory, options.rounds, verdict)
        partitions(directory, options.rounds, verdict)
    return verdict.exit_code()


if __name__ == "__main__":
    sys.exit(main())
