"""One row per known queue: how many jobs it holds in each state, whether it is paused, its limit and its turn.

The counters move in the transaction that moves the jobs, so they are exact wherever they are read.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from workspec.jobs.vocabulary import Envelope, State

from .refusals import backpressure

MINUTE_MS: Final = 60_000
UNFINISHED: Final = (State.PENDING, State.SCHEDULED, State.AVAILABLE, State.RUNNING, State.RETRYABLE)
STATES: Final = tuple(State)
UNFINISHED_SUM: Final = " + ".join(UNFINISHED)

Moves: TypeAlias = Mapping[State, int]
"""How many rows each state gains; a loss is negative."""

_KNOWN: Final = "INSERT INTO queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING"
_LOAD: Final = f"SELECT enqueue_limit, {UNFINISHED_SUM} FROM queues WHERE name = ?"
_PAUSE: Final = "INSERT INTO queues (name, paused) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET paused = 1"
_UNPAUSE: Final = "UPDATE queues SET paused = 0 WHERE name = ?"
_LIMIT: Final = (
    "INSERT INTO queues (name, enqueue_limit) VALUES (?, ?) "
    "ON CONFLICT (name) DO UPDATE SET enqueue_limit = excluded.enqueue_limit"
)


def _minute(counter: str, minute: str, before: str) -> str:
    """Assignments that add ?1 to the counter of the minute ?2 and keep the one before. Known limit: when the clock is
    set back, what was counted since is forgotten."""
    return (
        f"{before} = CASE {minute} WHEN ?2 THEN {before} WHEN ?2 - {MINUTE_MS} THEN {counter} ELSE 0 END, "
        f"{counter} = CASE {minute} WHEN ?2 THEN {counter} ELSE 0 END + ?1, {minute} = ?2"
    )


_ARRIVED: Final = (
    f"UPDATE queues SET {_minute('arrivals', 'arrival_minute_ms', 'arrivals_before')}, "
    + ", ".join(f"{state} = {state} + ?{3 + index}" for index, state in enumerate(UNFINISHED[:3]))
    + " WHERE name = ?6"
)
_SUCCEEDED: Final = (
    f"UPDATE queues SET {_minute('completions', 'completion_minute_ms', 'completions_before')}, "
    "running = running - ?1, completed = completed + ?3 WHERE name = ?4"
)


def minute_of(now: int) -> int:
    """The minute bucket of an instant (JOB-ENQ-17)."""
    return now // MINUTE_MS * MINUTE_MS


def arrived(connection: sqlite3.Connection, now: int, queue: str, states: Mapping[State, int]) -> None:
    """New rows of one queue, by state (JOB-ENQ-17)."""
    connection.execute(_KNOWN, (queue,))
    counts = [states.get(state, 0) for state in UNFINISHED[:3]]
    connection.execute(_ARRIVED, (sum(counts), minute_of(now), *counts, queue))


def succeeded(connection: sqlite3.Connection, now: int, queue: str, kept: bool) -> None:
    """A running row of the queue has succeeded, and is kept or gone (JOB-ACK-16)."""
    connection.execute(_SUCCEEDED, (1, minute_of(now), int(kept), queue))


class Successes:
    """Those of one transaction, which are counted together: nobody sees the counters before it commits.

    `write` has to come before whatever looks at the counters, and before the commit.
    """

    def __init__(self) -> None:
        self._minute = 0
        self._all: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()

    def add(self, connection: sqlite3.Connection, now: int, queue: str, kept: bool) -> None:
        """Count one more as `succeeded` does."""
        minute = minute_of(now)
        if minute != self._minute:
            self.write(connection)
            self._minute = minute
        self._all[queue] += 1
        self._kept[queue] += kept

    def write(self, connection: sqlite3.Connection) -> None:
        for queue, number in self._all.items():
            connection.execute(_SUCCEEDED, (number, self._minute, self._kept[queue], queue))
        self._all.clear()
        self._kept.clear()

    def __bool__(self) -> bool:
        return bool(self._all)


def moved(connection: sqlite3.Connection, queue: str, moves: Moves) -> None:
    """Rows of one queue have gone from state to state."""
    assignments = ", ".join(f"{state} = {state} + ?" for state in moves)
    connection.execute(f"UPDATE queues SET {assignments} WHERE name = ?", (*moves.values(), queue))


def moved_all(connection: sqlite3.Connection, sources: Iterable[tuple[str, State]], target: State | None) -> None:
    """Many rows, each given by queue and the state that it leaves; ``target`` None where they are gone."""
    for (queue, state), number in sorted(Counter(sources).items()):
        moved(connection, queue, {state: -number} if target is None else {state: -number, target: number})


def refuse_over_limit(connection: sqlite3.Connection, envelopes: Iterable[Envelope]) -> None:
    """Compare what a queue holds and gains with its limit, in ascending name (JOB-BPR-02, JOB-BPR-04).

    Raises:
        JobError: Backpressure.
    """
    for queue, incoming in sorted(Counter(effective_name(envelope.queue) for envelope in envelopes).items()):
        found = connection.execute(_LOAD, (queue,)).fetchone()
        if found is None or found[0] is None:
            continue
        limit, current = found
        if current + incoming > limit:
            raise backpressure(queue, limit, current, incoming)


def effective_name(queue: str) -> str:
    """Only enqueue maps the empty name (A-41)."""
    return queue or "default"


def pause(connection: sqlite3.Connection, queue: str) -> None:
    """Admit nothing from it (JOB-PAU-01)."""
    connection.execute(_PAUSE, (queue,))


def unpause(connection: sqlite3.Connection, queue: str) -> None:
    """Admit from it again; an unknown queue stays unknown (JOB-PAU-03)."""
    connection.execute(_UNPAUSE, (queue,))


def set_limit(connection: sqlite3.Connection, queue: str, limit: int | None) -> None:
    """Bound its unfinished jobs, or not (JOB-BPR-01)."""
    connection.execute(_LIMIT, (queue, limit))
