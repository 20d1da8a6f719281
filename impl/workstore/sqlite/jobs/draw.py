"""The fair draw: which candidates of a queue an admission takes, and in which order (contract, 6 and 6.1).

The index leads to the candidates of one partition and one route in their order, so the draw reads what it takes, what
stands blocked ahead of that, and one row of each partition; rows routed to other workers it never reads (JOB-STK-03).

The place for further policies: ceilings (CONCURRENCY) join the gate in `Gate.passes`; quantum shares (QUANTUM) replace
`drawn`; weighted choice of queues (QWEIGHT) replaces the order in which `admission` visits them.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from . import quarantine
from .buckets import Ledger


class Candidate(NamedTuple):
    """An available, due row that the worker may have; the first three decide its place in the partition."""

    precedence: int
    scheduled_at_ms: int
    id: str
    row_id: int
    fingerprint: str
    rate_class: str
    weight: int


_IN_PARTITION: Final = (
    "FROM jobs INDEXED BY jobs_to_draw WHERE state = 'available' AND queue = ?1 AND partition_key = {partition} "
    "AND sticky_worker = {route} AND scheduled_at_ms <= ?3"
)
_NEXT_PARTITION: Final = (
    "SELECT min(partition_key) FROM jobs INDEXED BY jobs_to_draw WHERE state = 'available' AND queue = ?1"
)
PARTITIONS: Final = (
    f"WITH RECURSIVE partitions (name) AS ({_NEXT_PARTITION} UNION ALL "
    f"SELECT ({_NEXT_PARTITION} AND partition_key > partitions.name) FROM partitions WHERE name IS NOT NULL) "
    "SELECT name FROM partitions WHERE name IS NOT NULL AND ("
    f"EXISTS (SELECT 1 {_IN_PARTITION.format(partition='partitions.name', route='?2')}) OR "
    f"EXISTS (SELECT 1 {_IN_PARTITION.format(partition='partitions.name', route=chr(39) * 2)}))"
)
"""The partitions of a queue that hold a candidate of a worker, ascending: one step of the index for each."""
_FIRST: Final = (
    f"SELECT {', '.join(Candidate._fields)} {_IN_PARTITION.format(partition='?4', route='?2')} "
    "{after}ORDER BY precedence, scheduled_at_ms, id LIMIT ?5"
)
CANDIDATES: Final = _FIRST.format(after="")
MORE_CANDIDATES: Final = _FIRST.format(after="AND (precedence, scheduled_at_ms, id) > (?6, ?7, ?8) ")

_GREATEST_PIECE: Final = 500


class Gate:
    """The policies that may keep a candidate back, for one admission: quarantine, then its rate class (JOB-ADM-05)."""

    def __init__(self, connection: sqlite3.Connection, ledger: Ledger) -> None:
        self._connection = connection
        self._ledger = ledger
        self._registered: dict[str, bool] = {"": False}

    def _is_quarantined(self, fingerprint: str) -> bool:
        if fingerprint not in self._registered:
            self._registered[fingerprint] = quarantine.is_registered(self._connection, fingerprint)
        return self._registered[fingerprint]

    def passes(self, candidate: Candidate) -> int | None:
        """What it is charged; None where a policy keeps it back, untouched (JOB-GEN-11)."""
        if self._is_quarantined(candidate.fingerprint):
            return None
        return self._ledger.spend(candidate.rate_class, candidate.weight)


class Queue:
    """The candidates of one queue for one worker at one instant."""

    def __init__(self, connection: sqlite3.Connection, name: str, worker: str, now: int) -> None:
        self._connection = connection
        self._name = name
        self._worker = worker
        self._now = now

    def partitions(self) -> list[str]:
        """Those that hold a candidate, before any policy is asked (JOB-FAIR-04)."""
        found = self._connection.execute(PARTITIONS, (self._name, self._worker, self._now))
        return [partition for (partition,) in found]

    def candidates(self, partition: str, piece: int) -> Iterator[Candidate]:
        """In the order of JOB-ADM-11, routed and unrouted ones together (JOB-STK-04), read piece by piece."""
        routes = {"", self._worker}
        return heapq.merge(*(self._on_route(partition, route, piece) for route in sorted(routes)))

    def _on_route(self, partition: str, route: str, piece: int) -> Iterator[Candidate]:
        statement = CANDIDATES
        after: tuple[Any, ...] = ()
        while True:
            values = (self._name, route, self._now, partition, piece, *after)
            found = [Candidate._make(row) for row in self._connection.execute(statement, values)]
            yield from found
            if len(found) < piece:
                return
            statement, after = MORE_CANDIDATES, found[-1][:3]
            piece = min(piece * 4, _GREATEST_PIECE)


def drawn(queue: Queue, partitions: list[str], start: int, capacity: int, gate: Gate) -> list[tuple[Candidate, int]]:
    """Round by round one candidate of each partition, from the start on, until the capacity is used or a whole round
    gives nothing; with what each is charged (JOB-FAIR-01, JOB-ADM-13)."""
    piece = min(max(-(-capacity // len(partitions)), 1), _GREATEST_PIECE)
    turns = [queue.candidates(partition, piece) for partition in partitions[start:] + partitions[:start]]
    taken: list[tuple[Candidate, int]] = []
    while turns:
        open_turns = []
        for turn in turns:
            passed = _first_that_passes(turn, gate)
            if passed is None:
                continue
            taken.append(passed)
            if len(taken) == capacity:
                return taken
            open_turns.append(turn)
        turns = open_turns
    return taken


def _first_that_passes(turn: Iterator[Candidate], gate: Gate) -> tuple[Candidate, int] | None:
    for candidate in turn:
        charge = gate.passes(candidate)
        if charge is not None:
            return candidate, charge
    return None
