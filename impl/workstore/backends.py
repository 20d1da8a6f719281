"""How the certification kit reaches the stores of this package. The kit finds these objects by their entry
points; nothing of it is imported here, so that a store can be used without it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, field

from workstore.memory import WorkloadStore as MemoryStore

if TYPE_CHECKING:
    from workstore.sqlite import WorkloadStore as SqliteStore


class Place(Protocol):
    """Where one store may live: an empty directory, and a name that is used once."""

    @property
    def path(self) -> Path: ...

    @property
    def name(self) -> str: ...


@define
class _Shared:
    """One in-memory store and how many handles on it are open."""

    store: MemoryStore
    handles: int = 0


@define
class MemoryBackend:
    """The in-memory store. Handles on one place share their rows; the last one to close takes the rows with
    it, which is why DURABLE and restart are not claimed."""

    contract: str = "workload"
    profiles: frozenset[str] = frozenset({"CORE", "WRITERS", "DEPENDENCIES", "SECRETS", "LEGACY", "MIGRATION"})
    abilities: frozenset[str] = frozenset({"second_handle", "reset", "inject", "snapshot", "pause"})
    choices: dict[str, str] = field(factory=dict)
    _shared: dict[tuple[str, str], _Shared] = field(factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, repr=False)

    def open(self, place: Place, config: Mapping[str, Any]) -> MemoryStore:
        """A handle on the rows at this place, which are made when no handle on it is open.

        Raises:
            ValueError: the configuration has keys; this store knows none.
        """
        _refuse_config(config)
        key = (str(place.path), place.name)
        with self._lock:
            shared = self._shared.setdefault(key, _Shared(MemoryStore()))
            shared.handles += 1
        return shared.store.handle(on_close=lambda: self._release(key))

    def _release(self, key: tuple[str, str]) -> None:
        with self._lock:
            shared = self._shared[key]
            shared.handles -= 1
            if shared.handles == 0:
                del self._shared[key]


@define
class SqliteBackend:
    """The SQLite store, in the file ``workload.db`` of its place."""

    contract: str = "workload"
    profiles: frozenset[str] = frozenset(
        {"CORE", "DURABLE", "WRITERS", "DEPENDENCIES", "SECRETS", "LEGACY", "MIGRATION"}
    )
    abilities: frozenset[str] = frozenset({"reset", "second_handle", "restart", "inject", "snapshot", "pause"})
    choices: dict[str, str] = field(factory=dict)

    def open(self, place: Place, config: Mapping[str, Any]) -> SqliteStore:
        """A handle on the database at this place, which is created when nothing is there yet.

        Raises:
            ValueError: the configuration has keys; this adapter knows none.
            StoreUnavailable: the file cannot be opened.
        """
        _refuse_config(config)
        # Imported late: the in-memory store must work where this one does not load.
        from workstore.sqlite import WorkloadStore as SqliteStore

        return SqliteStore.open(place.path / "workload.db")


def _refuse_config(config: Mapping[str, Any]) -> None:
    if config:
        raise ValueError(f"unknown configuration: {', '.join(sorted(config))}; the contract has none")


MEMORY = MemoryBackend()
SQLITE = SqliteBackend()
