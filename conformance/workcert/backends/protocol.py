"""What an adapter is. Nothing here is subclassed: an object with these members is a backend.

The least adapter has two members: ``contract`` and ``open``. What ``open`` returns is a *handle*: an object with
methods of the contract's port (a method that it lacks is not claimed) and, where it can, methods of the abilities
below. ``open`` and the methods of a handle may be coroutines.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen


class Ability(StrEnum):
    """What a backend lets the kit do. Each is claimed in ``abilities``; a claim that proves wrong ends the run."""

    RESET = "reset"
    """``handle.reset()`` empties the store, quicker than a fresh place."""
    SECOND_HANDLE = "second_handle"
    """``open`` may be called again on the same place while earlier handles are open."""
    RESTART = "restart"
    """After ``close()`` of every handle, ``open`` on the same place finds what was committed."""
    INJECT = "inject"
    """``handle.inject(record=..., version=...)`` stores a record as it is; version None leaves the row without one."""
    SNAPSHOT = "snapshot"
    """``handle.snapshot()`` gives the committed rows: workload id to version, None where the row has none."""
    PAUSE = "pause"
    """``handle.pause(callback)`` arms the handle: its next call runs ``callback`` once, after it has read and decided
    and before its guarded write. A call that does not write need not run it; the kit then disarms with None. Inside a
    coroutine what the callback gives back is to be awaited."""
    POINTS = "points"
    """``handle.points(callback)`` arms the handle: until it is disarmed with None its calls run ``callback(label)`` at
    every point at which another call could come between: before each statement, before the commit and after it. An
    adapter that names its database module (``dbapi``) need not write it."""
    COMMIT_ORDER = "commit_order"
    """``handle.commit_order()`` gives the place of what the last call of this handle committed in the order of all
    commits of the store, as an integer that can be compared with that of any other handle in any process; None where
    it committed nothing. An adapter that names its database module (``dbapi``) need not write it."""
    KILL = "kill"
    """``open`` may be called on the same place in a process of its own, which the kit kills at any point; what was
    committed is found by whoever opens the place afterwards."""


@frozen
class Place:
    """Where one store may live: a directory of the kit's own, empty at first, and a name that is used once."""

    path: Path
    name: str


class Backend(Protocol):
    """One way to reach a store, for one contract.

    Optional members, read with `getattr`: ``profiles`` (names of the claimed profiles, CORE if absent),
    ``abilities`` (names of `Ability`, none if absent), ``choices`` (choice id to the declared value),
    ``codes`` (the store's error code to the contract's), ``actors`` (the store's engine actor to the contract's),
    ``configurable`` (names of what ``open`` can be asked for in ``config``, none if absent; see the choices of the
    contract, and ``busy_timeout_ms``: how long a call waits for a lock that another holds, 0 for not at all),
    ``dbapi`` (the DB-API module whose ``connect`` opens all connections of its stores, ``sqlite3`` for instance: the
    kit then sees every statement, and has the abilities `Ability.POINTS` and `Ability.COMMIT_ORDER`), ``promises``
    (with ``dbapi``: by statement, what every connection that commits is to answer it with, as in ``{"PRAGMA
    synchronous": 2}``: what the durability of the store rests on), ``recipe`` (for an adapter that is found by no name:
    called in another process it gives the `LoadedBackend` there; see `workcert.children.recipe`).
    """

    contract: str

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        """A handle on the store at this place, which is created when nothing is there yet. ``config`` holds what the
        case asks for, of what is ``configurable``."""
