"""Opening a store: where those lie that nobody keeps, and what is said where none can be opened."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from workcert.backends.coroutines import settled
from workcert.backends.protocol import Place
from workcert.backends.registry import BackendError, LoadedBackend
from workcert.raised import told
from workcert.run.calling import CallHung, time_limit

SHARED_MEMORY: Final = Path("/dev/shm")
ROOM_BYTES: Final = 2 * 2**30
"""A container often has 64 MB there, which one large result may fill."""


def in_memory() -> Path | None:
    """A directory for stores that nobody keeps, held in memory: none of the suites asks what a power cut leaves, and a
    store that waits for a disk after each step takes several times as long. None where there is none with room, or
    where the environment names a directory for temporary files."""
    if any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")) or not os.access(SHARED_MEMORY, os.W_OK):
        return None
    return SHARED_MEMORY if shutil.disk_usage(SHARED_MEMORY).free >= ROOM_BYTES else None


def opened(backend: LoadedBackend, place: Place, config: Mapping[str, Any]) -> Any:
    """What the adapter opens there.

    Raises:
        BackendError: it cannot open a store, or gives none.
    """
    try:
        with time_limit("open(place, config)"):
            handle = settled(backend.adapter.open(place, config))
    except (CallHung, KeyboardInterrupt):
        raise
    except BaseException as error:
        cause = "Is its server running, and are its packages installed?"
        if isinstance(error, TypeError) and not _can_take(backend.adapter.open, place, config):
            cause = "It is called as open(place, config)"
        elif config:
            cause = f"The case asks for config = {dict(config)!r}; can open(place, config) take that?"
        raise BackendError(f"{backend.name} cannot open a store: {told(error)}. {cause}") from error
    if handle is None:
        raise BackendError(f"{backend.name}: open(place, config) returned None; it must return a handle")
    return handle


def _can_take(function: Any, *arguments: object) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True
