"""What the benches of the job store share: jobs, the calls that they time, and medians."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "spec"), str(PROJECT / "impl")]

from workspec.jobs.vocabulary import Claim, Envelope, LeaseRef, Outcome  # noqa: E402
from workstore.sqlite.jobs import JobStore  # noqa: E402
from workstore.testing import envelope  # noqa: E402

QUEUE: Final = "q"
PAYLOAD: Final = b"x" * 100
LEASE_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
LEVELS: Final = ("NORMAL", "FULL")
GREATEST_BATCH: Final = 1_000

_NUMBERS: Final = count()


def requests(number: int, *, partitions: int = 1, retention_ms: int = DAY_MS) -> list[Envelope]:
    """Jobs with ids and fingerprints that no other call has given."""
    return [
        envelope(
            f"job-{serial:08}",
            "w",
            queue=QUEUE,
            payload=PAYLOAD,
            partition_key=f"p{serial % partitions}",
            fingerprint=f"fp-{serial:08}",
            retention_ms=retention_ms,
        )
        for _, serial in zip(range(number), _NUMBERS, strict=False)
    ]


def in_batches(envelopes: Sequence[Envelope]) -> Iterator[Sequence[Envelope]]:
    for first in range(0, len(envelopes), GREATEST_BATCH):
        yield envelopes[first : first + GREATEST_BATCH]


def enqueue_all(store: JobStore, envelopes: Sequence[Envelope]) -> None:
    for batch in in_batches(envelopes):
        store.enqueue(envelopes=batch)


def admit(store: JobStore, capacity: int, *, lease_ms: int = LEASE_MS) -> list[Claim]:
    units = store.admit(
        worker="worker", lease_id="lease", queues=(QUEUE,), capacity=capacity, lease_ms=lease_ms, quantum=1
    )
    return [claim for unit in units for claim in unit.claims]


def lease_of(claim: Claim) -> LeaseRef:
    return LeaseRef(claim.envelope.id, claim.lease_id, claim.fence)


def ack(store: JobStore, claim: Claim, outcome: Outcome = Outcome.SUCCESS) -> None:
    store.ack(lease=lease_of(claim), outcome=outcome, error=None, delay_ms=None, logs=(), actual_weight=None)


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    work()
    return clock() - began


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """Of the ratios of each round: what slows the machine for a while slows both sides of one round."""
    return statistics.median(one / other for one, other in zip(numerators, denominators, strict=True))


class Verdict:
    """Counts the bars that were missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def at_least(self, name: str, value: float, bar: float) -> str:
        return self._judged(name, value >= bar, f"at least {bar:g}")

    def at_most(self, name: str, value: float, bar: float) -> str:
        return self._judged(name, value <= bar, f"at most {bar:g}")

    def _judged(self, name: str, met: bool, bar: str) -> str:
        if not met:
            self.missed.append(name)
        return f"bar {bar}: {'ok' if met else 'MISSED'}"

    def exit_code(self) -> int:
        print(f"\nmissed: {'; '.join(self.missed)}" if self.missed else "\nevery bar is met")
        return 1 if self.missed else 0
