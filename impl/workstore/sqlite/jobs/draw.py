"""The fair draw: which candidates of a queue an admission takes, and in which order (contract, 6 and 6.1).

The index leads to the candidates on one route and of one partition in their order, so the draw reads what it takes,
what stands blocked ahead of that, and one row of each partition; rows routed to other workers it never reads
(JOB-STK-03).

The place for further policies: ceilings (CONCURRENCY) join the ledger in `_all_that_pass`; quantum shares (QUANTUM)
replace `drawn`; weighted choice of queues (QWEIGHT) replaces the order in which `admission` visits them.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from attrs import frozen

from .buckets import Ledger
from .clock import FROZEN_AT
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
_FROM_WITH_CONTENTS: Final = (
    "jobs INDEXED BY jobs_to_draw CROSS JOIN contents USING (row_id) LEFT JOIN checkpoints USING (row_id) "
)
_IS_QUARANTINED: Final = "EXISTS (SELECT 1 FROM fingerprints WHERE fingerprints.fingerprint = jobs.fingerprint)"
_ON_ROUTE: Final = "state = 'available' AND queue = ?1 AND sticky_worker = {route} AND scheduled_at_ms <= {now} "
_PARTITION: Final = (
    f"SELECT partition_key FROM jobs AS other INDEXED BY jobs_to_draw WHERE {_ON_ROUTE}"
    "AND partition_key {condition} ORDER BY partition_key LIMIT 1"
)
_NOW: Final = "coalesce(settings.value, ?3)"
_NEXT: Final = _PARTITION.format(route="?4", now=_NOW, condition="> jobs.partition_key")
_OWN: Final = _PARTITION.format(route="?2", now=_NOW, condition="IS NOT NULL AND ?2 <> ''")
FIRST: Final = (
    f"SELECT {_NOW}, queues.cursor, partition_key, ({_NEXT}), ({_OWN}), {_IS_QUARANTINED}, "
    f"{_OWN_COLUMNS}, {CLAIM_COLUMNS} "
    f"FROM queues LEFT JOIN settings ON settings.name = '{FROZEN_AT}' CROSS JOIN {_FROM_WITH_CONTENTS}"
    f"WHERE queues.name = ?1 AND queues.paused = 0 AND {_ON_ROUTE.format(route='?4', now=_NOW)}"
    "ORDER BY partition_key, precedence, scheduled_at_ms, jobs.id LIMIT 1"
)
"""The first row of a queue on one route, with all that most admissions ask: the instant, the cursor of the queue,
whether another partition or the route of the worker holds a candidate, and what a claim is made of. Nothing of a
paused queue."""
PARTITIONS: Final = (
    "WITH RECURSIVE found (name) AS (SELECT ?4 "
    f"UNION ALL SELECT ({_PARTITION.format(route='?2', now='?3', condition='> found.name')}) "
    "FROM found WHERE name IS NOT NULL) SELECT name FROM found WHERE name IS NOT NULL"
)
"""The partitions that hold a candidate on one route, from a known one on. One step of the index for each."""
_IN_PARTITION: Final = (
    f"WHERE {_ON_ROUTE.format(route='?2', now='?3')}AND partition_key = ?4 AND NOT {_IS_QUARANTINED} "
)
_IN_ORDER: Final = "ORDER BY precedence, scheduled_at_ms, jobs.id LIMIT ?5"
CANDIDATES: Final = f"SELECT {_OWN_COLUMNS}, {CLAIM_COLUMNS} FROM {_FROM_WITH_CONTENTS}{_IN_PARTITION}{_IN_ORDER}"
MORE_CANDIDATES: Final = (
    f"SELECT {_OWN_COLUMNS} {_FROM}{_IN_PARTITION}AND (precedence, scheduled_at_ms, id) > (?6, ?7, ?8) {_IN_ORDER}"
)

_FACTS: Final = 6
"""What `FIRST` tells beside the row."""
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
        self._read: dict[tuple[str, str], tuple[Any, ...]] = {}
        """By route and partition the first candidate, where it is read already."""

    def turn(self, system_ms: int) -> Turn | None:
        """None where no partition holds a candidate. The instant is that of the system unless the clock is stopped."""
        route = ""
        first = self._first(route, system_ms)
        if first is None and self._worker:
            route = self._worker
            first = self._first(route, system_ms)
        if first is None:
            return None
        now, cursor, name, following, own, is_quarantined = first[:_FACTS]
        if not is_quarantined:
            self._read[route, name] = first[_FACTS:]
        names = [name] if following is None else self._partitions(route, now, name)
        partitions: dict[str, tuple[str, ...]] = dict.fromkeys(names, (route,))
        if own is not None and not route:
            for name in self._partitions(self._worker, now, own):
                partitions[name] = (*partitions.get(name, ()), self._worker)
        return Turn(now, cursor, partitions)

    def _first(self, route: str, system_ms: int) -> tuple[Any, ...] | None:
        # Read to its end: an open statement would go on reading what is changed under it.
        found = self._connection.execute(FIRST, (self._name, self._worker, system_ms, route)).fetchall()
        return found[0] if found else None

    def _partitions(self, route: str, now: int, first: str) -> list[str]:
        found = self._connection.execute(PARTITIONS, (self._name, route, now, first)).fetchall()
        return [name for (name,) in found]

    def candidates(self, now: int, partition: str, routes: Sequence[str], piece: int) -> Iterator[Candidate]:
        """In the order of JOB-ADM-11, routed and unrouted ones together (JOB-STK-04), read piece by piece."""
        if len(routes) == 1:
            return self._on_route(now, partition, routes[0], piece)
        return heapq.merge(*(self._on_route(now, partition, route, piece) for route in routes))

    def _on_route(self, now: int, partition: str, route: str, piece: int) -> Iterator[Candidate]:
        """The first piece is what is likely to be taken, so it is read whole; what comes behind blocked rows is not."""
        place = (self._name, route, now, partition)
        first = self._read.get((route, partition)) if piece == 1 else None
        found = [first] if first else self._connection.execute(CANDIDATES, (*place, piece)).fetchall()
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
    if len(turn.partitions) == 1:
        ((name, routes),) = turn.partitions.items()
        line = queue.candidates(turn.now, name, routes, min(capacity, _GREATEST_PIECE))
        return list(islice(_all_that_pass(line, turn.now, ledger), capacity))
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
            passed = next(_all_that_pass(line, turn.now, ledger), None)
            if passed is None:
                continue
            taken.append(passed)
            if len(taken) == capacity:
                return taken
            open_lines.append(line)
        if not open_lines:
            return taken
        lines = open_lines


def _all_that_pass(line: Iterator[Candidate], now: int, ledger: Ledger) -> Iterator[tuple[Candidate, int]]:
    """With their charges. What a policy keeps back is left untouched (JOB-GEN-11)."""
    for candidate in line:
        charge = ledger.spend(now, candidate.rate_class, candidate.weight) if candidate.rate_class else 0
        if charge is not None:
            yield candidate, charge
