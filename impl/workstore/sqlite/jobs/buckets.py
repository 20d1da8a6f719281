"""Token buckets of rate classes, shared by the whole fleet (contract, 6.5)."""

from __future__ import annotations

import sqlite3
from typing import Final

from attrs import evolve, frozen

from workspec.jobs.vocabulary import RateClass

from .numbers import within_instants

_FIND: Final = "SELECT tokens, burst, refill, window_ms, refilled_at_ms, paused FROM buckets WHERE name = ?"
_WRITE: Final = (
    "INSERT INTO buckets (name, tokens, burst, refill, window_ms, refilled_at_ms, paused) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (name) DO UPDATE SET tokens = excluded.tokens, burst = excluded.burst, refill = excluded.refill, "
    "window_ms = excluded.window_ms, refilled_at_ms = excluded.refilled_at_ms, paused = excluded.paused"
)


@frozen
class Bucket:
    """``limit`` tokens are gained in each ``window_ms``, up to ``burst``; ``tokens`` may be a debt."""

    tokens: int
    burst: int
    limit: int
    window_ms: int
    refilled_at_ms: int
    paused: bool

    def gain(self, now: int) -> int:
        """Whole tokens since the last refill; none while paused (P-03)."""
        if self.paused or self.limit <= 0 or self.window_ms <= 0 or now <= self.refilled_at_ms:
            return 0
        return (now - self.refilled_at_ms) * self.limit // self.window_ms

    def available(self, now: int) -> int:
        """The tokens that a refill now would leave, without making it (JOB-RATE-17)."""
        return min(self.burst, self.tokens + self.gain(now))

    def refilled(self, now: int) -> Bucket:
        """A gain of nothing keeps the fraction that has grown meanwhile (JOB-RATE-05)."""
        if self.gain(now) == 0:
            return self
        return evolve(self, tokens=self.available(now), refilled_at_ms=now)

    def settled(self, now: int, charge: int, actual: int) -> Bucket:
        """Give back the estimate and take what was used; the fraction is dropped (JOB-RATE-05)."""
        tokens = min(self.burst, self.available(now) + charge - actual)
        return evolve(self, tokens=within_instants(tokens), refilled_at_ms=now)


def find(connection: sqlite3.Connection, name: str) -> Bucket | None:
    found = connection.execute(_FIND, (name,)).fetchone()
    if found is None:
        return None
    tokens, burst, limit, window_ms, refilled_at_ms, paused = found
    return Bucket(tokens, burst, limit, window_ms, refilled_at_ms, bool(paused))


def write(connection: sqlite3.Connection, name: str, bucket: Bucket) -> None:
    values = (bucket.tokens, bucket.burst, bucket.limit, bucket.window_ms, bucket.refilled_at_ms, int(bucket.paused))
    connection.execute(_WRITE, (name, *values))


def settle(connection: sqlite3.Connection, now: int, name: str, charge: int, actual: int) -> bool:
    """Whether the charge of an admission is settled with this; a charge of 0 stands for a class that had no bucket
    (JOB-RATE-08, JOB-RATE-11)."""
    if charge == 0:
        return False
    bucket = find(connection, name)
    if bucket is None:
        return False
    write(connection, name, bucket.settled(now, charge, actual))
    return True


def reset(connection: sqlite3.Connection, now: int, name: str, limit: int, window_ms: int, burst: int) -> None:
    """Full, refilled now (JOB-RATE-15)."""
    write(connection, name, Bucket(burst, burst, limit, window_ms, now, False))


def configure(connection: sqlite3.Connection, now: int, wanted: RateClass) -> None:
    """An operator's upsert: no tokens are given away, and a pause keeps a debt (JOB-RATE-16, P-03)."""
    bucket = find(connection, wanted.name)
    tokens = wanted.burst if bucket is None else min(bucket.tokens, wanted.burst)
    if wanted.paused:
        tokens = min(tokens, 0)
    write(connection, wanted.name, Bucket(tokens, wanted.burst, wanted.limit, wanted.window_ms, now, wanted.paused))


class Ledger:
    """What one admission spends, class by class; `settle_up` writes it (JOB-RATE-03)."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._before: dict[str, Bucket | None] = {}
        self._after: dict[str, Bucket | None] = {}

    def _bucket(self, now: int, name: str) -> Bucket | None:
        if name not in self._after:
            bucket = find(self._connection, name)
            self._before[name] = bucket
            self._after[name] = None if bucket is None else bucket.refilled(now)
        return self._after[name]

    def spend(self, now: int, name: str, cost: int) -> int | None:
        """What the admission is charged; None where the class has too few tokens for it (JOB-RATE-01, JOB-RATE-04).

        A class without a bucket is unlimited, and no bucket is made for it (JOB-RATE-02).
        """
        bucket = self._bucket(now, name) if name else None
        if bucket is None:
            return 0
        if bucket.paused or cost > bucket.tokens:
            return None
        self._after[name] = evolve(bucket, tokens=bucket.tokens - cost)
        return cost

    def settle_up(self) -> None:
        for name, bucket in self._after.items():
            if bucket is not None and bucket != self._before[name]:
                write(self._connection, name, bucket)
