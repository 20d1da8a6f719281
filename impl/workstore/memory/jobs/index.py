"""Orders over the committed rows, so that no call has to sort or to search all of them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Hashable, Iterator
from heapq import merge
from typing import TypeAlias, TypeVar

from workspec.jobs.vocabulary import State
from workstore.memory.jobs.rows import EVICTABLE, WAITING, WAITING_FOR_DUE_TIME, Row

Place: TypeAlias = tuple[int, int, str]
"""Where a row stands in its partition: priority descending, due time, id (JOB-ADM-11)."""
Instant: TypeAlias = tuple[int, str]
Key = TypeVar("Key", Place, Instant, str)


class Orders:
    """Sorted lists of keys, one for each group that is not empty."""

    def __init__(self) -> None:
        self._lists: dict[Hashable, list[Instant]] = {}

    def of(self, group: Hashable) -> list[Instant]:
        return self._lists.get(group, [])

    def add(self, group: Hashable, key: Instant) -> None:
        insort(self._lists.setdefault(group, []), key)

    def remove(self, group: Hashable, key: Instant) -> None:
        _remove(self._lists[group], key)
        if not self._lists[group]:
            del self._lists[group]


class Index:
    """The orders that the calls need. They know what is committed, and nothing of an open transaction."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.by_queue_and_state: Counter[tuple[str, State]] = Counter()
        self._orders = Orders()
        self._available: dict[str, dict[str, dict[str, list[Place]]]] = {}
        """Queue, partition, route (the empty one for everybody) to places."""

    def move(self, before: Row | None, after: Row | None) -> None:
        """A row was added, replaced or removed."""
        if before is not None and after is not None and _standing(before) == _standing(after):
            return
        if before is not None:
            self._remove(before)
        if after is not None:
            self._add(after)
        if before is None and after is not None:
            insort(self.ids, after.id)
        if before is not None and after is None:
            _remove(self.ids, before.id)

    def due(self) -> list[Instant]:
        """Scheduled and retryable rows by due time, then id (JOB-PRM-03)."""
        return self._orders.of("due")

    def leased(self) -> list[Instant]:
        """Running rows by the end of their lease, then id (A-25)."""
        return self._orders.of("leased")

    def retained(self) -> list[Instant]:
        """Finished rows that eviction may take some time, by the instant of their end, then id (A-25)."""
        return self._orders.of("retained")

    def waiting_with(self, fingerprint: str) -> list[Instant]:
        """Waiting rows of a fingerprint, by due time, then id (P-08)."""
        return self._orders.of(("waiting", fingerprint))

    def quarantined_with(self, fingerprint: str) -> list[Instant]:
        """Quarantined rows of a fingerprint, by id (A-26)."""
        return self._orders.of(("quarantined", fingerprint))

    def partitions(self, queue: str) -> list[str]:
        """Partitions with available rows, of any route, ascending."""
        return sorted(self._available.get(queue, ()))

    def places(self, queue: str, partition: str, worker: str) -> Iterator[Place]:
        """Available rows that this worker may have, best first (JOB-STK-01, JOB-STK-04). Rows of other routes are
        not even looked at (JOB-STK-03)."""
        routes = self._available[queue][partition]
        mine = [routes[route] for route in {"", worker} if route in routes]
        return merge(*mine)

    def oldest_due(self, queue: str) -> int | None:
        """The least due time of an available row."""
        oldest = self._orders.of(("available", queue))
        return oldest[0][0] if oldest else None

    def _add(self, row: Row) -> None:
        self.by_queue_and_state[row.queue, row.state] += 1
        for group, key in _keys(row):
            self._orders.add(group, key)
        if row.state == State.AVAILABLE:
            partitions = self._available.setdefault(row.queue, {})
            routes = partitions.setdefault(row.envelope.partition_key, {})
            insort(routes.setdefault(row.envelope.sticky_worker, []), _place(row))

    def _remove(self, row: Row) -> None:
        self.by_queue_and_state[row.queue, row.state] -= 1
        if not self.by_queue_and_state[row.queue, row.state]:
            del self.by_queue_and_state[row.queue, row.state]
        for group, key in _keys(row):
            self._orders.remove(group, key)
        if row.state == State.AVAILABLE:
            self._remove_available(row)

    def _remove_available(self, row: Row) -> None:
        partitions = self._available[row.queue]
        routes = partitions[row.envelope.partition_key]
        places = routes[row.envelope.sticky_worker]
        _remove(places, _place(row))
        if not places:
            del routes[row.envelope.sticky_worker]
        if not routes:
            del partitions[row.envelope.partition_key]
        if not partitions:
            del self._available[row.queue]


def _remove(keys: list[Key], key: Key) -> None:
    del keys[bisect_left(keys, key)]


def _place(row: Row) -> Place:
    return (-row.envelope.priority, row.due_ms, row.id)


def _keys(row: Row) -> list[tuple[Hashable, Instant]]:
    """The groups that a row is in, with its key in each."""
    by_due = (row.due_ms, row.id)
    fingerprint = row.envelope.fingerprint
    keys: list[tuple[Hashable, Instant]] = []
    if row.state in WAITING:
        keys.append((("waiting", fingerprint), by_due))
    if row.state in WAITING_FOR_DUE_TIME:
        keys.append(("due", by_due))
    if row.state == State.AVAILABLE:
        keys.append((("available", row.queue), by_due))
    if row.state == State.QUARANTINED:
        keys.append((("quarantined", fingerprint), (0, row.id)))
    if row.lease is not None:
        keys.append(("leased", (row.lease.expires_at_ms, row.id)))
    if row.state in EVICTABLE and row.finalized_at_ms is not None and row.envelope.retention_ms > 0:
        keys.append(("retained", (row.finalized_at_ms, row.id)))
    return keys


def _standing(row: Row) -> tuple[object, ...]:
    """Everything that decides where a row stands; queue, partition and route of a row never change."""
    return (
        row.state,
        row.lease,
        row.due_ms,
        row.envelope.priority,
        row.envelope.fingerprint,
        row.finalized_at_ms,
        row.number,
    )
