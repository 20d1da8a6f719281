"""Where the time of one claim with its ack goes: by part, and how many pages of the log it writes."""

from __future__ import annotations

import sqlite3
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from workstore.sqlite import open_files
from workstore.sqlite.jobs import JobStore

PARTS: Final = {
    "BEGIN": "begin",
    "SELECT": "read",
    "WITH": "read",
    "INSERT": "write",
    "UPDATE": "write",
    "DELETE": "write",
    "COMMIT": "commit",
}
FILES: Final = "look at the files"
REST: Final = "Python around them"
_FRAME_HEADER: Final = 24
_LOG_HEADER: Final = 32


class _Watched:
    """A connection that notes how long each kind of statement takes, until its rows are read."""

    def __init__(self, connection: sqlite3.Connection, note: Callable[[str, Callable[[], Any]], Any]) -> None:
        self._connection = connection
        self._note = note

    def execute(self, statement: str, values: Any = ()) -> Any:
        return self._note(PARTS[statement.split(None, 1)[0]], lambda: self._connection.execute(statement, values))

    def executemany(self, statement: str, values: Any) -> Any:
        return self._note(PARTS[statement.split(None, 1)[0]], lambda: self._connection.executemany(statement, values))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def parts(store: JobStore, work: Callable[[int], object], jobs: int, clock: Callable[[], float]) -> dict[str, float]:
    """Microseconds of one job in each part; what the clock itself takes is left out."""
    spent: defaultdict[str, float] = defaultdict(float)
    looks: Counter[str] = Counter()

    def note(part: str, call: Callable[[], Any]) -> Any:
        looks[part] += 1
        began = clock()
        value = call()
        spent[part] += clock() - began
        return value

    began = clock()
    with _watching(store, note):
        work(jobs)
    whole = clock() - began
    tick = statistics.median(_ticks(clock))
    # Of the two looks at the clock around each call, one falls within what is noted and one without.
    found = {part: seconds - tick * looks[part] for part, seconds in spent.items()}
    found[REST] = whole - sum(spent.values()) - tick * looks.total()
    return {part: max(seconds, 0) / jobs * 1e6 for part, seconds in found.items()}


def _ticks(clock: Callable[[], float]) -> Iterator[float]:
    for _ in range(101):
        began = clock()
        yield clock() - began


@contextmanager
def _watching(store: JobStore, note: Callable[[str, Callable[[], Any]], Any]) -> Iterator[None]:
    connection: Any = store._connection
    opened, kinds = connection._connection, (open_files.MainFile, open_files.Log)
    looks = [kind.refuse_loss for kind in kinds]
    connection._connection = _Watched(opened, note)
    for kind, look in zip(kinds, looks, strict=True):
        kind.refuse_loss = lambda file, look=look: note(FILES, lambda: look(file))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        connection._connection = opened
        for kind, look in zip(kinds, looks, strict=True):
            kind.refuse_loss = look  # type: ignore[attr-defined]


def pages_of_log(path: Path, connection: sqlite3.Connection, work: Callable[[int], object], jobs: int) -> float:
    """How many pages one job writes to the log."""
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    work(jobs)
    size = path.with_name(f"{path.name}-wal").stat().st_size
    return (size - _LOG_HEADER) / (page_size + _FRAME_HEADER) / jobs
