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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
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
_CLAIM_NAMES: Final = [column.rpartition(".")[2] for column in CLAIM_COLUMNS.split(", ")]
_own_of: Final = itemgetter(*(_CLAIM_NAMES.index(name) for name in Candidate._fields[:-1]))
_FROM: Final = "FROM jobs INDEXED BY jobs_to_draw "
_FROM_WITH_CONTENTS: Final = (
    "jobs INDEXED BY jobs_to_draw CROSS JOIN contents USING (row_id) LEFT JOIN checkpoints USING (row_id) "
)
_IS_QUARANTINED: Final = "EXISTS (SELECT 1 FROM fingerprints WHERE fingerprints.fingerprint = jobs.fingerprint)"


def _on_route(route: str, now: str) -> str:
    return f"state = 'available' AND queue = ?1 AND sticky_worker = {route} AND scheduled_at_ms <= {now} "


def _found(route: str, now: str) -> str:
    """The partitions that hold a candidate on one route, in order, then NULL. One step of the index for each."""
    following = (
        f"SELECT partition_key FROM jobs AS other INDEXED BY jobs_to_draw WHERE {_on_route(route, now)}"
        "AND partition_key > found.name ORDER BY partition_key LIMIT 1"
    )
    return (
        f"WITH RECURSIVE found (name) AS (SELECT min(partition_key) {_FROM} WHERE {_on_route(route, now)}"
        f"UNION ALL SELECT ({following}) FROM found WHERE name IS NOT NULL) "
    )


_NOW: Final = f"coalesce({STOPPED_AT}, ?3)"
_OWN: Final = f"?2 <> '' AND EXISTS (SELECT 1 FROM jobs AS other INDEXED BY jobs_to_draw WHERE {_on_route('?2', _NOW)})"
_OUTERMOST: Final = (
    "SELECT {which}(partition_key) FROM jobs AS other INDEXED BY jobs_to_draw "
    "WHERE state = 'available' AND queue = ?1 AND sticky_worker = ?4"
)
_LEAST, _GREATEST = _OUTERMOST.format(which="min"), _OUTERMOST.format(which="max")
_IN_TURN: Final = (
    "SELECT name FROM found WHERE name IS NOT NULL LIMIT 1 "
    "OFFSET (SELECT cursor FROM queues WHERE name = ?1) % (SELECT max(count(name), 1) FROM found)"
)
FIRST: Final = (
    f"{_found('?4', _NOW)}"
    f"SELECT {_NOW}, queues.cursor, {_OWN}, {_IS_QUARANTINED}, {CLAIM_COLUMNS} "
    f"FROM queues CROSS JOIN {_FROM_WITH_CONTENTS}"
    f"WHERE queues.name = ?1 AND queues.paused = 0 AND {_on_route('?4', _NOW)}"
    f"AND partition_key = CASE ({_LEAST}) WHEN ({_GREATEST}) THEN ({_LEAST}) ELSE ({_IN_TURN}) END "
    "ORDER BY precedence, scheduled_at_ms, jobs.id LIMIT 1"
)
"""The first row of the partition whose turn it is on one route, with all that an admission of one job asks: the
instant, the cursor of the queue, whether the route of the worker holds a candidate, and what a claim is made of.
Nothing of a paused queue. Where all rows are of one partition, no others are looked for."""
VISIT: Final = f"SELECT coalesce({STOPPED_AT}, ?2), cursor FROM queues WHERE name = ?1 AND paused = 0"
PARTITIONS: Final = f"{_found('?2', '?3')}SELECT name FROM found WHERE name IS NOT NULL"
_IN_PARTITION: Final = f"WHERE {_on_route('?2', '?3')}AND partition_key = ?4 AND NOT {_IS_QUARANTINED} "
_IN_ORDER: Final = "ORDER BY precedence, scheduled_at_ms, jobs.id LIMIT ?5"
CANDIDATES: Final = f"SELECT {CLAIM_COLUMNS} FROM {_FROM_WITH_CONTENTS}{_IN_PARTITION}{_IN_ORDER}"
MORE_CANDIDATES: Final = (
    f"SELECT {_OWN_COLUMNS} {_FROM}{_IN_PARTITION}AND (precedence, scheduled_at_ms, id) > (?6, ?7, ?8) {_IN_ORDER}"
)

_FACTS: Final = 4
"""What `FIRST` tells beside the row."""
_GREATEST_PIECE: Final = 500


@frozen
class Turn:
    """Whose turn it is in a queue at one instant (JOB-FAIR-04): its cursor, and what is known already, the candidate
    that comes first or the partitions."""

    now: int
    cursor: int
    first: Candidate | None
    partitions: Partitions | None


class Queue:
    """The candidates of one queue for one worker."""

    def __init__(self, connection: sqlite3.Connection, name: str, worker: str) -> None:
        self._connection = connection
        self._name = name
        self._worker = worker

    def turn(self, system_ms: int, capacity: int) -> Turn | None:
        """None where no partition holds a candidate. The instant is that of the system unless the clock is stopped."""
        return self._turn_for_one(system_ms) if capacity == 1 else self._turn_for_many(system_ms)

    def _turn_for_many(self, system_ms: int) -> Turn | None:
        found = self._connection.execute(VISIT, (self._name, system_ms)).fetchone()
        if found is None:
            return None
        now, cursor = found
        partitions = self.partitions(now)
        return Turn(now, cursor, None, partitions) if partitions else None

    def _turn_for_one(self, system_ms: int) -> Turn | None:
        found = self._first("", system_ms)
        is_merged = bool(found and found[2])
        if found is None and self._worker:
            found = self._first(self._worker, system_ms)
        if found is None:
            return None
        now, cursor, _own, is_quarantined = found[:_FACTS]
        first = None if is_merged or is_quarantined else _candidate(found[_FACTS:])
        return Turn(now, cursor, first, None)

    def _first(self, route: str, system_ms: int) -> tuple[Any, ...] | None:
        # Read to its end: an open statement would go on reading what is changed under it.
        found = self._connection.execute(FIRST, (self._name, self._worker, system_ms, route)).fetchall()
        return found[0] if found else None

    def partitions(self, now: int) -> Partitions:
        """Those that hold a candidate before any policy is asked."""
        routes: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
        for route in dict.fromkeys(("", self._worker)):
            for (name,) in self._connection.execute(PARTITIONS, (self._name, route, now)).fetchall():
                routes[name] += (route,)
        return routes

    def candidates(self, now: int, partition: str, routes: Sequence[str], piece: int) -> Iterator[Candidate]:
        """In the order of JOB-ADM-11, routed and unrouted ones together (JOB-STK-04), read piece by piece."""
        if len(routes) == 1:
            return self._on_route(now, partition, routes[0], piece)
        return heapq.merge(*(self._on_route(now, partition, route, piece) for route in routes))

    def _on_route(self, now: int, partition: str, route: str, piece: int) -> Iterator[Candidate]:
        """The first piece is what is likely to be taken, so it is read whole; what comes behind blocked rows is not."""
        place = (self._name, route, now, partition)
        found = self._connection.execute(CANDIDATES, (*place, piece)).fetchall()
        line = [_candidate(row) for row in found]
        yield from line
        while len(line) == piece:
            after = line[-1][:3]
            piece = min(piece * 4, _GREATEST_PIECE)
            found = self._connection.execute(MORE_CANDIDATES, (*place, piece, *after)).fetchall()
            line = [Candidate._make((*row, ())) for row in found]
            yield from line


def _candidate(row: tuple[Any, ...]) -> Candidate:
    """Out of the values of `CLAIM_COLUMNS`."""
    return Candidate._make((*_own_of(row), row))


def drawn(queue: Queue, turn: Turn, capacity: int, ledger: Ledger) -> list[tuple[Candidate, int]]:
    """Round by round one candidate of each partition, from that of the cursor on, until the capacity is used or a whole
    round gives nothing; with what each is charged (JOB-FAIR-01, JOB-ADM-13)."""
    if turn.first is not None:
        charge = _charge(turn.first, turn.now, ledger)
        if charge is not None:
            return [(turn.first, charge)]
    partitions = queue.partitions(turn.now) if turn.partitions is None else turn.partitions
    if len(partitions) == 1:
        ((name, routes),) = partitions.items()
        line = queue.candidates(turn.now, name, routes, min(capacity, _GREATEST_PIECE))
        return list(islice(_all_that_pass(line, turn.now, ledger), capacity))
    names = sorted(partitions)
    start = turn.cursor % len(names)
    piece = min(max(-(-capacity // len(names)), 1), _GREATEST_PIECE)
    # Lazily: a worker that asks for one job does not begin to read every partition.
    lines: Iterable[Iterator[Candidate]] = (
        queue.candidates(turn.now, name, partitions[name], piece) for name in names[start:] + names[:start]
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
        charge = _charge(candidate, now, ledger)
        if charge is not None:
            yield candidate, charge


def _charge(candidate: Candidate, now: int, ledger: Ledger) -> int | None:
    """None where a policy keeps it back."""
    return ledger.spend(now, candidate.rate_class, candidate.weight) if candidate.rate_class else 0
