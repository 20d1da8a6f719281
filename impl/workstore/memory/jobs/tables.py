"""What is committed, and layers of changes above it.

A call writes into a `View`: a layer of changes that is committed when the call succeeds and dropped when it is refused,
so that a refusal cannot leave anything behind (JOB-GEN-05). A transaction is a view that outlives its calls; each
of these has a view of its own above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from workspec.jobs.vocabulary import QuarantineEntry
from workstore.memory.jobs.index import Index
from workstore.memory.jobs.rows import Bucket, Duty, Flow, Hold, Row

Key = TypeVar("Key")
Value = TypeVar("Value")
KeyRead = TypeVar("KeyRead", contravariant=True)
ValueRead = TypeVar("ValueRead", covariant=True)

# Profiles that this store does not have would add here what they keep: deficits (QUANTUM), weights (QWEIGHT),
# ceilings (CONCURRENCY).
TABLES = (
    "jobs",
    "lifecycle_holds",
    "throttle_holds",
    "registry",
    "unfinished",
    "limits",
    "pauses",
    "cursors",
    "arrivals",
    "completions",
    "buckets",
    "duties",
    "effects",
)


class Readable(Protocol[KeyRead, ValueRead]):
    def get(self, key: KeyRead, /) -> ValueRead | None: ...


class Layer(Generic[Key, Value]):
    """Changes of one table: what is not changed is read from below."""

    def __init__(self, below: Readable[Key, Value]) -> None:
        self._below = below
        self.changes: dict[Key, Value | None] = {}

    def get(self, key: Key, /) -> Value | None:
        return self.changes[key] if key in self.changes else self._below.get(key)

    def put(self, key: Key, value: Value) -> None:
        self.changes[key] = value

    def remove(self, key: Key) -> None:
        self.changes[key] = None


class Tables:
    """The committed state, which all handles share, under the lock of the store."""

    def __init__(self) -> None:
        self.jobs: dict[str, Row] = {}
        self.lifecycle_holds: dict[bytes, Hold] = {}
        self.throttle_holds: dict[bytes, Hold] = {}
        """Never pruned: a hold outlives its row, and only a later one takes its place (JOB-UNQ-07, SIM-09)."""
        self.registry: dict[str, QuarantineEntry] = {}
        self.unfinished: dict[str, int] = {}
        self.limits: dict[str, int] = {}
        self.pauses: dict[str, bool] = {}
        self.cursors: dict[str, int] = {}
        self.arrivals: dict[str, Flow] = {}
        self.completions: dict[str, Flow] = {}
        self.buckets: dict[str, Bucket] = {}
        self.duties: dict[str, Duty] = {}
        self.effects: dict[str, bool] = {}
        self.index = Index()
        self.row_numbers = count(1)

    def apply(self, view: View) -> None:
        """Commit the changes of a view that stands directly above."""
        for row_id, row in view.jobs.changes.items():
            self.index.move(self.jobs.get(row_id), row)
        for name, changes in view.changed():
            table: dict[Any, Any] = getattr(self, name)
            for key, value in changes.items():
                if value is None:
                    table.pop(key, None)
                else:
                    table[key] = value

    def clear(self) -> None:
        """Empty every table, in place: views above must see it."""
        for name in TABLES:
            getattr(self, name).clear()
        self.index = Index()


class View:
    """What one call, or one transaction, sees and changes. A layer over a table is made when it is first looked at:
    most calls come to few of them."""

    jobs: Layer[str, Row]
    lifecycle_holds: Layer[bytes, Hold]
    throttle_holds: Layer[bytes, Hold]
    registry: Layer[str, QuarantineEntry]
    unfinished: Layer[str, int]
    limits: Layer[str, int]
    pauses: Layer[str, bool]
    cursors: Layer[str, int]
    arrivals: Layer[str, Flow]
    completions: Layer[str, Flow]
    buckets: Layer[str, Bucket]
    duties: Layer[str, Duty]
    effects: Layer[str, bool]

    def __init__(self, below: Tables | View) -> None:
        self._below = below
        self._layers: dict[str, Layer[Any, Any]] = {}
        self.row_numbers: count[int] = below.row_numbers

    def __getattr__(self, name: str) -> Layer[Any, Any]:
        if name not in TABLES:
            raise AttributeError(f"a view has no {name}")
        layer: Layer[Any, Any] = Layer(getattr(self._below, name))
        # Found without this function from now on.
        self.__dict__[name] = self._layers[name] = layer
        return layer

    def changed(self) -> Iterator[tuple[str, dict[Any, Any]]]:
        """The tables that it has changed, with what it has put there: None for what it has removed."""
        return ((name, layer.changes) for name, layer in self._layers.items() if layer.changes)

    @property
    def index(self) -> Index:
        """Orders over the committed rows. What this view has changed is not in it, nor are the calls of
        transactions meant to look here."""
        return self._below.index

    def apply(self, view: View) -> None:
        """Take over the changes of a view that stands directly above."""
        for name, changes in view.changed():
            getattr(self, name).changes.update(changes)

    def present(self, job_id: str) -> Row:
        """The row of an id that the index gave."""
        row = self.jobs.get(job_id)
        if row is None:
            raise LookupError(f"the index names job {job_id}, which is not there")
        return row

    def put(self, row: Row) -> None:
        """Add or replace a row. A row that begins or ceases to be unfinished takes or frees its slot and its
        lifecycle key (JOB-UNQ-03, JOB-BPR-08); whoever lets it begin has seen that the key is free."""
        before = self.jobs.get(row.id)
        self.jobs.put(row.id, row)
        if before is not None and before.unfinished and not row.unfinished:
            self._finish(before)
        if row.unfinished and (before is None or not before.unfinished):
            self._begin(row)

    def remove(self, row: Row) -> None:
        """Remove a row with all that belongs to it; its throttle key stays (JOB-UNQ-07)."""
        self.jobs.remove(row.id)
        if row.unfinished:
            self._finish(row)

    def _begin(self, row: Row) -> None:
        self.unfinished.put(row.queue, (self.unfinished.get(row.queue) or 0) + 1)
        if row.lifecycle_key is not None:
            self.lifecycle_holds.put(row.lifecycle_key, Hold(row.id, row.number, None))

    def _finish(self, row: Row) -> None:
        left = (self.unfinished.get(row.queue) or 0) - 1
        if left:
            self.unfinished.put(row.queue, left)
        else:
            self.unfinished.remove(row.queue)
        if row.lifecycle_key is None:
            return
        hold = self.lifecycle_holds.get(row.lifecycle_key)
        if hold is not None and hold.number == row.number:
            self.lifecycle_holds.remove(row.lifecycle_key)
