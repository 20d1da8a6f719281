"""Both job stores hold to the rules of the jobs contract over random walks; a store that does not is found out."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from workspec.jobs.vocabulary import Outcome
from workstore.memory.jobs import JobStore as MemoryStore
from workstore.sqlite.jobs import JobStore as SqliteStore

from .jobs_walk import disagreements

SEED = 11
STEPS = 120


def test_the_memory_store_holds_to_the_rules() -> None:
    assert disagreements(MemoryStore, seed=SEED, walks=60, steps=STEPS) == []


def test_the_sqlite_store_holds_to_the_rules(tmp_path: Path) -> None:
    names = count()

    def fresh() -> SqliteStore:
        return SqliteStore.open(tmp_path / f"{next(names)}.db", synchronous="NORMAL")

    assert disagreements(fresh, seed=SEED, walks=25, steps=STEPS) == []


class _Forgetful(MemoryStore):
    """A snooze costs an attempt."""

    def ack(self, **arguments: Any) -> None:
        if arguments["outcome"] is Outcome.SNOOZE and (arguments["delay_ms"] or 0) > 0:
            arguments["outcome"] = Outcome.RETRY
        super().ack(**arguments)


class _Partial(MemoryStore):
    """A promotion takes one row less than it may."""

    def promote_due(self, *, limit: int) -> int:
        return super().promote_due(limit=max(limit - 1, 0))


@pytest.mark.parametrize("wrong", [_Forgetful, _Partial])
def test_a_store_that_does_not_is_found_out(wrong: type[MemoryStore]) -> None:
    assert disagreements(wrong, seed=SEED, walks=30, steps=STEPS)
