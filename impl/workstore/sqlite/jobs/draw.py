"""The fair draw: which candidates of a queue an admission takes, and in which order (contract, 6 and 6.1).

The index leads to the candidates on one route and of one partition in their order, so the draw reads what it takes,
what stands blocked ahead of that, and one row of each partition; rows routed to other workers it never reads
(JOB-STK-03).

The place for further policies: ceilings (CONCURRENCY) join the ledger in `_first_that_passes`; quantum shares (QUANTUM)
replace `drawn`; weighted choice of queues (QWEIGHT) replaces the order in which `admission` visits them.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from attrs import frozen

from .buckets import Ledger
from .clock import STOPPED_AT
from .rows import CLAIM_COLUMNS

Partitions: TypeAlias = Mapping[str, Sequence[str]]
"""The routes on which each partition holds a candidate: the empty one, that of the worker, or both."""


class Candidate(NamedTuple):
    """An available, due row of no quarantined fingerprint that the worker may have; the first three decide its place in
    the partition. ``stored`` has the values of `CLAIM_COLUMNS`, or is empty where they have not been read yet."""

    precedence: int
    scheduled_at_ms: int
    id: str
    row_id: int
    rate_class: str
    weight: int
    stored: tuple[Any, ...]


_OWN_COLUMNS: Final = ", ".join(f"jobs.{name}" for name in Candidate._fields[:-1])
_WIDTH: Final = len(Candidate._fields) - 1
_FROM: Final = "FROM jobs INDEXED BY jobs_to_draw "
_FROM_WITH_CONTENTS: Final = f"{_FROM}JOIN contents USING (row_id) LEFT JOIN checkpoints USING (row_id) "
_ON_ROUTE: Final = (
    "WHERE state = 'available' AND queue = ?1 AND sticky_worker = {route} AND scheduled_at_ms <= {now} "
    "AND partition_key {partition}"
)
_PARTITION: Final = f"SELECT partition_key {_FROM}{_ON_ROUTE} ORDER BY partition_key LIMIT 1"
_FIRST_PARTITION: Final = _PARTITION.format(route="routes.name", now="clock.now", partition="IS NOT NULL")
_NEXT_PARTITION: Final = _PARTITION.format(route="found.route", now="found.now", partition="> found.name")
PARTITIONS: Final = (
    "WITH RECURSIVE found (now, route, name) AS ("
    f"SELECT clock.now, routes.name, ({_FIRST_PARTITION}) "
    f"FROM (SELECT coalesce({STOPPED_AT}, ?3) AS now) AS clock "
    "CROSS JOIN (SELECT '' AS name UNION ALL SELECT ?2 WHERE ?2 <> '') AS routes "
    "CROSS JOIN queues WHERE queues.name = ?1 AND queues.paused = 0 "
    f"UNION ALL SELECT found.now, found.route, ({_NEXT_PARTITION}) FROM found WHERE found.name IS NOT NULL) "
    "SELECT name, route, now, (SELECT cursor FROM queues WHERE queues.name = ?1) FROM found WHERE name IS NOT NULL"
)
"""The partitions of a queue that hold a candidate of a worker, each with its route, the instant and the cursor of the
queue; none of a paused queue. One step of the index for each."""
_IN_PARTITION: Final = (
    _ON_ROUTE.format(route="?2", now="?3", partition="= ?4")
    + " AND NOT EXISTS (SELECT 1 FROM fingerprints WHERE fingerprints.fingerprint = jobs.fingerprint) "
)
_IN_ORDER: Final = "ORDER BY precedence, scheduled_at_ms, jobs.id LIMIT ?5"
CANDIDATES: Final = f"SELECT {_OWN_COLUMNS}, {CLAIM_COLUMNS} {_FROM_WITH_CONTENTS}{_IN_PARTITION}{_IN_ORDER}"
MORE_CANDIDATES: Final = (
    f"SELECT {_OWN_COLUMNS} {_FROM}{_IN_PARTITION}AND (precedence, scheduled_at_ms, id) > (?6, ?7, ?8) {_IN_ORDER}"
)

_GREATEST_PIECE: Final = 500


@frozen
class Turn:
    """Whose turn it is in a queue at one instant: its cursor, and the partitions that hold a candidate before any
    policy is asked (JOB-FAIR-04)."""

    now: int
    cursor: int
    partitions: Partitions


class Queue:
    """The candidates of one queue for one worker."""

    def __init__(self, connection: sqlite3.Connection, name: str, worker: str) -> None:
        self._connection = connection
        self._name = name
        self._worker = worker

    def turn(self, system_ms: int) -> Turn | None:
        """None where no partition holds a candidate. The instant is that of the system unless the clock is stopped."""
        found = self._connection.execute(PARTITIONS, (self._name, self._worker, system_ms)).fetchall()
        if not found:
            return None
        partitions: dict[str, tuple[str, ...]] = {name: ("",) for name, route, *_ in found if not route}
        if len(partitions) < len(found):
            for name, route, *_ in found:
                if route:
                    partitions[name] = (*partitions.get(name, ()), route)
        return Turn(found[0][2], found[0][3], partitions)

    def candidates(self, now: int, partition: str, routes: Sequence[str], piece: int) -> Iterator[Candidate]:
        """In the order of JOB-ADM-11, routed and unrouted ones together (JOB-STK-04), read piece by piece."""
        if len(routes) == 1:
            return self._on_route(now, partition, routes[0], piece)
        return heapq.merge(*(self._on_route(now, partition, route, piece) for route in routes))

    def _on_route(self, now: int, partition: str, route: str, piece: int) -> Iterator[Candidate]:
        """The first piece is what is likely to be taken, so it is read whole; what comes behind blocked rows is not."""
        place = (self._name, route, now, partition)
        found = self._connection.execute(CANDIDATES, (*place, piece)).fetchall()
        for row in found:
            yield Candidate._make((*row[:_WIDTH], row[_WIDTH:]))
        while len(found) == piece:
            after = found[-1][:3]
            piece = min(piece * 4, _GREATEST_PIECE)
            found = self._connection.execute(MORE_CANDIDATES, (*place, piece, *after)).fetchall()
            for row in found:
                yield Candidate._make((*row, ()))


def drawn(queue: Queue, turn: Turn, capacity: int, ledger: Ledger) -> list[tuple[Candidate, int]]:
    """Round by round one candidate of each partition, from that of the cursor on, until the capacity is used or a whole
    round gives nothing; with what each is charged (JOB-FAIR-01, JOB-ADM-13)."""
    names = sorted(turn.partitions)
    start = turn.cursor % len(names)
    piece = min(max(-(-capacity // len(names)), 1), _GREATEST_PIECE)
    # Lazily: a worker that asks for one job does not begin to read every partition.
    lines: Iterable[Iterator[Candidate]] = (
        queue.candidates(turn.now, name, turn.partitions[name], piece) for name in names[start:] + names[:start]
    )
    taken: list[tuple[Candidate, int]] = []
    while True:
        open_lines = []
        for line in lines:
            passed = _first_that_passes(line, turn.now, ledger)
            if passed is None:
                continue
            taken.append(passed)
            if len(taken) == capacity:
                return taken
            open_lines.append(line)
        if not open_lines:
            return taken
        lines = open_lines


def _first_that_passes(line: Iterator[Candidate], now: int, ledger: Ledger) -> tuple[Candidate, int] | None:
    """With its charge. What a policy keeps back is left untouched (JOB-GEN-11)."""
    for candidate in line:
        charge = ledger.spend(now, candidate.rate_class, candidate.weight)
        if charge is not None:
            return candidate, charge
    return None
