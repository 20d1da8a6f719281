"""How the certification kit reaches the stores of this package. The kit finds these objects by their entry
points; nothing of it is imported here, so that a store can be used without it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from attrs import define, field

from workstore.memory import WorkloadStore as MemoryStore
from workstore.memory.jobs import JobStore as MemoryJobStore

if TYPE_CHECKING:
    from workstore.sqlite import WorkloadStore as SqliteStore
    from workstore.sqlite.jobs import JobStore as SqliteJobStore


_BUSY_TIMEOUT_MS: Final = "busy_timeout_ms"
_DATABASE_MODULE: Final = "sqlite3"
_PROMISES: Final[Mapping[str, str | int]] = {"PRAGMA journal_mode": "wal", "PRAGMA synchronous": 2}
"""What every connection that commits is to answer: without it a commit would not outlast a loss of power."""


class Place(Protocol):
    """Where one store may live: an empty directory, and a name that is used once."""

    @property
    def path(self) -> Path: ...

    @property
    def name(self) -> str: ...


class HandledStore(Protocol):
    """An in-memory store, of which every further handle shares the rows."""

    def handle(self, *, on_close: Callable[[], None] | None = None) -> Any: ...


@define
class Shelf:
    """In-memory stores by place. Handles on one place share their rows; the last one to close takes the rows with
    it."""

    _stores: dict[tuple[str, str], tuple[HandledStore, list[int]]] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def handle(self, place: Place, make: Callable[[], HandledStore]) -> Any:
        key = (str(place.path), place.name)
        with self._lock:
            store, handles = self._stores.setdefault(key, (make(), [0]))
            handles[0] += 1
        return store.handle(on_close=lambda: self._release(key))

    def _release(self, key: tuple[str, str]) -> None:
        with self._lock:
            _store, handles = self._stores[key]
            handles[0] -= 1
            if handles[0] == 0:
                del self._stores[key]


@define
class MemoryBackend:
    """The in-memory store. It loses its rows with the last handle, which is why DURABLE and restart are not claimed."""

    contract: str = "workload"
    profiles: frozenset[str] = frozenset({"CORE", "WRITERS", "DEPENDENCIES", "SECRETS", "LEGACY", "MIGRATION"})
    abilities: frozenset[str] = frozenset({"second_handle", "reset", "inject", "snapshot", "pause"})
    choices: dict[str, str] = field(factory=dict)
    _shelf: Shelf = field(factory=Shelf, init=False, repr=False)

    def open(self, place: Place, config: Mapping[str, Any]) -> MemoryStore:
        """A handle on the rows at this place, which are made when no handle on it is open.

        Raises:
            ValueError: the configuration has keys; this store knows none.
        """
        _refuse_config(config)
        opened: MemoryStore = self._shelf.handle(place, MemoryStore)
        return opened


@define
class SqliteBackend:
    """The SQLite store, in the file ``workload.db`` of its place."""

    contract: str = "workload"
    profiles: frozenset[str] = frozenset(
        {"CORE", "DURABLE", "WRITERS", "DEPENDENCIES", "SECRETS", "LEGACY", "MIGRATION"}
    )
    abilities: frozenset[str] = frozenset({"reset", "second_handle", "restart", "inject", "snapshot", "pause", "kill"})
    configurable: frozenset[str] = frozenset({_BUSY_TIMEOUT_MS})
    choices: dict[str, str] = field(factory=dict)
    dbapi: str = _DATABASE_MODULE
    promises: dict[str, str | int] = field(factory=lambda: dict(_PROMISES))

    def open(self, place: Place, config: Mapping[str, Any]) -> SqliteStore:
        """A handle on the database at this place, which is created when nothing is there yet.

        Raises:
            TypeError, ValueError: an option that is none.
            StoreUnavailable: the file cannot be opened.
        """
        _refuse_config(config, self.configurable)
        # Imported late: the in-memory store must work where this one does not load.
        from workstore.sqlite import WorkloadStore as SqliteStore

        return SqliteStore.open(place.path / "workload.db", **config)


def _refuse_config(config: Mapping[str, Any], known: frozenset[str] = frozenset()) -> None:
    unknown = sorted(config.keys() - known)
    if unknown:
        raise ValueError(f"unknown configuration: {', '.join(unknown)}; known: {', '.join(sorted(known)) or 'none'}")


_JOB_PROFILES: Final = frozenset(
    {"CORE", "PAUSE", "RATE", "RESULT", "OUTPUT", "PROGRESS", "CLOCK", "INSPECT", "BACKPRESSURE", "TXN", "LIMITS"}
    | {"WRITERS"}
)
_CONFIGURABLE: Final = frozenset({"crash_limit", "retry_base_ms", "retry_cap_ms"})


@define
class MemoryJobsBackend:
    """The test double for job handlers. As above: no DURABLE, no restart."""

    contract: str = "jobs"
    profiles: frozenset[str] = _JOB_PROFILES
    abilities: frozenset[str] = frozenset({"second_handle", "reset"})
    configurable: frozenset[str] = _CONFIGURABLE
    choices: dict[str, str] = field(factory=dict)
    _shelf: Shelf = field(factory=Shelf, init=False, repr=False)

    def open(self, place: Place, config: Mapping[str, Any]) -> MemoryJobStore:
        """A handle on the rows at this place, which are made when no handle on it is open.

        Raises:
            TypeError, ValueError: an option that is none.
        """
        opened: MemoryJobStore = self._shelf.handle(place, lambda: MemoryJobStore(**config))
        return opened


@define
class SqliteJobsBackend:
    """The SQLite job store, in the file ``jobs.db`` of its place."""

    contract: str = "jobs"
    profiles: frozenset[str] = _JOB_PROFILES | {"DURABLE"}
    abilities: frozenset[str] = frozenset({"second_handle", "reset", "restart", "kill"})
    configurable: frozenset[str] = _CONFIGURABLE | {_BUSY_TIMEOUT_MS}
    choices: dict[str, str] = field(factory=dict)
    dbapi: str = _DATABASE_MODULE
    promises: dict[str, str | int] = field(factory=lambda: dict(_PROMISES))

    def open(self, place: Place, config: Mapping[str, Any]) -> SqliteJobStore:
        """A handle on the database at this place, which is created when nothing is there yet.

        Raises:
            TypeError, ValueError: an option that is none.
            StoreUnavailable: the file cannot be opened.
        """
        from workstore.sqlite.jobs import JobStore as SqliteJobStore

        return SqliteJobStore.open(place.path / "jobs.db", **config)


MEMORY = (MemoryBackend(), MemoryJobsBackend())
SQLITE = (SqliteBackend(), SqliteJobsBackend())
