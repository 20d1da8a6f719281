"""Other job queues on SQLite, each driven through its public calls, with the durability that a bench sets."""

from __future__ import annotations

import importlib
import logging
import sqlite3
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from attrs import frozen

logging.getLogger("persistqueue").setLevel(logging.ERROR)


@frozen
class Peer:
    """``put`` takes a payload, ``claim`` gives what ``ack`` takes; ``ack`` is None where a claim already deletes."""

    connection: sqlite3.Connection
    put: Callable[[bytes], object]
    claim: Callable[[], Any]
    ack: Callable[[Any], object] | None
    close: Callable[[], object]

    def set_synchronous(self, level: str) -> None:
        self.connection.execute(f"PRAGMA synchronous = {level}")


def _litequeue(module: Any, path: Path) -> Peer:
    queue = module.LiteQueue(str(path))
    return Peer(
        connection=queue.conn,
        put=lambda payload: queue.put(payload.decode()),
        claim=lambda: queue.pop().message_id,
        ack=queue.done,
        close=queue.close,
    )


def _persist_queue(module: Any, path: Path) -> Peer:
    path.mkdir()
    queue = module.SQLiteAckQueue(str(path))
    queue._conn.execute("PRAGMA journal_mode = WAL")
    return Peer(
        connection=queue._conn,
        put=queue.put,
        claim=lambda: queue.get(block=False, raw=True)["pqid"],
        ack=lambda number: queue.ack(id=number),
        close=queue.close,
    )


def _huey(module: Any, path: Path) -> Peer:
    storage = module.SqliteHuey(filename=str(path)).storage
    return Peer(storage.conn, put=storage.enqueue, claim=storage.dequeue, ack=None, close=storage.close)


@frozen
class Kind:
    """A peer by the name under which pip knows it."""

    package: str
    module: str
    make: Callable[[Any, Path], Peer]
    to_be_beaten: bool
    remark: str

    def title(self) -> str:
        remark = f", {self.remark}" if self.remark else ""
        return f"{self.package} {version(self.package)}{remark}"

    def opened(self, path: Path) -> Peer | None:
        """None where it is not installed."""
        try:
            module = importlib.import_module(self.module)
        except ImportError:
            return None
        return self.make(module, path)


PEERS: Final = (
    Kind("litequeue", "litequeue", _litequeue, True, ""),
    Kind("persist-queue", "persistqueue", _persist_queue, False, "claims may double"),
    Kind("huey", "huey", _huey, False, "claim deletes: no ack"),
)
