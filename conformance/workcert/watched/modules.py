"""Database modules whose connections are watched for a while."""

from __future__ import annotations

import importlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from workcert.watched import proxies, sqlite

_lock: Final = threading.Lock()
_open: Final[dict[str, int]] = {}
"""By module, how many want its connections watched."""
_own: Final[dict[tuple[str, str], Any]] = {}
"""By module and place where it is found, its own ``connect``."""


@contextmanager
def installed(name: str) -> Iterator[None]:
    """While it is open, ``connect`` of the module gives connections that are watched; those stay so afterwards.

    A store that took ``connect`` out of the module before is not seen.

    Args:
        name: the name by which the module is imported.
    """
    module = importlib.import_module(name)
    with _lock:
        _open[name] = _open.get(name, 0) + 1
        if _open[name] == 1:
            _replace(name, module)
    try:
        yield
    finally:
        with _lock:
            _open[name] -= 1
            if _open[name] == 0:
                _put_back(name)


def _replace(name: str, module: ModuleType) -> None:
    connecting = sqlite.connecting if module.connect is sqlite3.connect else proxies.connecting
    # One function stands in several modules, and is taken out of any of them.
    places = (module, sqlite3, sqlite3.dbapi2) if connecting is sqlite.connecting else (module,)
    watched = connecting(module.connect)
    for place in dict.fromkeys(places):
        _own[name, place.__name__] = place.connect
        place.connect = watched  # type: ignore[attr-defined]


def _put_back(name: str) -> None:
    for key in [key for key in _own if key[0] == name]:
        importlib.import_module(key[1]).connect = _own.pop(key)  # type: ignore[attr-defined]
