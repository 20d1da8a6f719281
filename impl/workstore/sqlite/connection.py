"""One connection to the file: how it is opened, how it waits, and what its failures mean to a caller.

Several threads may use a connection: a lock is held for one statement or one short transaction at a time,
never while waiting. A process made by fork may not.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from attrs import frozen

from . import open_files, schema

SYNCHRONOUS: Final = {"NORMAL": 1, "FULL": 2}
GREATEST_BUSY_TIMEOUT_MS: Final = 2**31 - 1
GREATEST_PAGE_COUNT: Final = 0xFFFFFFFE
"""What SQLite can number; it takes a larger limit for this one and says nothing."""

_LOG_BYTES: Final = 4_096_000
"""About so long the log grows before its pages are moved into the file: as long as SQLite's own default allows."""
_FIRST_WAIT_S: Final = 50e-6
_LONGEST_WAIT_S: Final = 1.5e-3
"""Longer gives all writers together more, since they disturb the one at work less, and each of them a longer wait."""
_OPENINGS: Final = 3

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NEXT_STEP: Final = {
    sqlite3.SQLITE_ERROR: "Was it migrated by a later release, while this handle was open? Open it with that release.",
    sqlite3.SQLITE_BUSY: "Another connection holds its lock. Call again, or raise busy_timeout_ms.",
    sqlite3.SQLITE_LOCKED: "Another connection holds its lock. Call again, or raise busy_timeout_ms.",
    sqlite3.SQLITE_FULL: "The disk is full, or the file at its page limit. Make room; reads still work.",
    sqlite3.SQLITE_READONLY: "It can only be read. Check the permissions of file and directory.",
    sqlite3.SQLITE_PERM: "Access is denied. Check the permissions of file and directory.",
    sqlite3.SQLITE_AUTH: "Access is denied. Check the permissions of file and directory.",
    sqlite3.SQLITE_NOTADB: "It is no SQLite database. Give the store a file of its own.",
    sqlite3.SQLITE_CORRUPT: "It is damaged. Restore it from a backup.",
    sqlite3.SQLITE_CANTOPEN: "It cannot be opened. Check that the directory exists and may be written.",
    sqlite3.SQLITE_IOERR: "The disk failed. Check it, then open the store anew.",
}
_ABANDONED: Final[list[sqlite3.Connection]] = []
"""Connections inherited by fork: SQLite forbids a child to use them, and closing is a use."""

Value = TypeVar("Value")
Work: TypeAlias = Callable[[sqlite3.Connection], Value]
Way: TypeAlias = Callable[[sqlite3.Connection, Work[Value]], Value]
"""How work is done on the connection: in a transaction of its own, as a step of an open one, or just so."""


@frozen
class Settings:
    """How to open the file; ``busy_timeout_ms`` bounds every wait for a lock, in milliseconds."""

    path: Path
    synchronous: str
    busy_timeout_ms: int
    max_page_count: int | None
    read_only: bool


@frozen
class Contract:
    """What the file is to hold, and how a contract tells its callers that a file fails.

    ``unavailable`` takes a text and whether it is definite; ``does_not_fit`` takes a text. ``page_size``, in bytes, is
    that of a file which is created; one that exists keeps its own.
    """

    tables: schema.Tables
    unavailable: Callable[[str, bool], Exception]
    does_not_fit: Callable[[str], Exception]
    page_size: int = 4096


def _primary_code(error: sqlite3.Error) -> int:
    # An extended result code keeps its primary code in the lowest byte.
    return (getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR) & 0xFF


def _wait(attempt: int) -> None:
    """Sleep a random while: SQLite's own busy wait backs off so far that one writer can starve another."""
    time.sleep(random.uniform(0, min(_FIRST_WAIT_S * 2 ** min(attempt, 10), _LONGEST_WAIT_S)))


def _undo(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _begin(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")


def _just(connection: sqlite3.Connection, work: Work[Value]) -> Value:
    return work(connection)


def _on_one_state(connection: sqlite3.Connection, work: Work[Value]) -> Value:
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        _undo(connection)


class Connection:
    """A checked connection; `read` and `write` are the only ways to the rows."""

    def __init__(self, settings: Settings, contract: Contract) -> None:
        """Open, check and if needed create the file.

        Raises:
            StoreUnavailable: here and below the exception of the contract; definite; the text names cause and next
                step.
        """
        self._settings = settings
        self._contract = contract
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._path = str(settings.path.absolute())
        self._main_file: open_files.MainFile | None = None
        self._log: open_files.Log | None = None
        # SQLite makes an empty log at its first read, so that it could not be told afterwards.
        self._log_was_gone = open_files.lacks_its_log(self._path)
        if sqlite3.sqlite_version_info < schema.LEAST_SQLITE:
            raise self._contract.unavailable(
                f"SQLite {sqlite3.sqlite_version} has no strict tables. Use a Python with 3.37 or later.",
                True,
            )
        self._connection = self._connect()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _unavailable(self, error: sqlite3.Error, *, definite: bool = True) -> Exception:
        step = _NEXT_STEP.get(_primary_code(error), "Check the file and the disk.")
        if _primary_code(error) == sqlite3.SQLITE_IOERR and self._log_was_gone:
            step = open_files.LOG_IS_GONE
        outcome = "Nothing was written." if definite else "It may be written or not: read before calling again."
        return self._contract.unavailable(f"{self._settings.path}: {error}. {step} {outcome}", definite)

    def _connect(self) -> sqlite3.Connection:
        """A connection, and which file it is on: another may be put in its place just then."""
        if not open_files.CAN_VANISH:
            return self._open()
        before = open_files.identity_of(self._path)
        for _ in range(_OPENINGS):
            connection = self._open()
            after = open_files.identity_of(self._path)
            if after is not None and before in (None, after):
                self._main_file = open_files.MainFile(self._path, after)
                return connection
            connection.close()
            before = after
        raise self._contract.unavailable(
            f"{self._settings.path} is another file each time that it is looked at. Wait until nobody replaces "
            "it any more, or put it on a local disk.",
            True,
        )

    def _open(self) -> sqlite3.Connection:
        mode = "ro" if self._settings.read_only else "rwc"
        try:
            return sqlite3.connect(
                f"{Path(self._path).as_uri()}?mode={mode}",
                uri=True,
                timeout=0,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise self._unavailable(error) from error

    def _prepare(self) -> None:
        tables = self._contract.tables
        try:
            version = self.read(tables.identify)
            if self._settings.read_only and version < len(tables.migrations):
                raise schema.ForeignFileError("it has an earlier schema or none. Open it once for writing.")
            self.read(self._apply_settings)
            # Not asked again under the lock when the tables are there: opening then waits for no writer.
            if version < len(tables.migrations):
                self.write(tables.migrate)
        except schema.ForeignFileError as error:
            raise self._contract.unavailable(f"{self._settings.path} is not usable: {error}", True) from error
        # SQLite makes the log when it first reads or writes in WAL mode.
        self._log = open_files.log_of(self._path) if open_files.CAN_VANISH else None

    def _apply_settings(self, connection: sqlite3.Connection) -> None:
        """Set what each connection has to set anew, and look whether it is in force."""
        settings = self._settings
        if not settings.read_only:
            connection.execute(f"PRAGMA page_size = {self._contract.page_size:d}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_BYTES // self._contract.page_size:d}")
        connection.execute(f"PRAGMA synchronous = {settings.synchronous}")
        if settings.synchronous == "FULL":
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA checkpoint_fullfsync = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        if settings.max_page_count is not None:
            connection.execute(f"PRAGMA max_page_count = {settings.max_page_count:d}")
        journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
        synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
        if journal != "wal" or synchronous != SYNCHRONOUS[settings.synchronous]:
            raise self._contract.unavailable(
                f"{settings.path}: journal mode {journal}, synchronous {synchronous}, so commits would not "
                "last. Put the file on a local disk.",
                True,
            )

    def read(self, work: Work[Value]) -> Value:
        """Do ``work`` outside of any transaction: each statement sees the latest commit.

        Raises:
            StoreUnavailable: definite.
        """
        return self._patiently(self._look, work)

    def write(self, work: Work[Value]) -> Value:
        """Do ``work`` in one write transaction, which an exception undoes.

        Raises:
            StoreUnavailable: not definite only when the disk failed in the commit itself.
            Exception: the contract's refusal of a record that SQLite cannot hold in one row.
        """
        self._refuse_read_only()
        return self._fitting(self._transaction, work)

    def view(self, work: Work[Value]) -> Value:
        """Do ``work``, which only reads, on one state of the file: all of its statements see the same commits.

        Raises:
            StoreUnavailable: definite.
        """
        return self._patiently(self._look, lambda connection: _on_one_state(connection, work))

    def begin(self) -> None:
        """Begin a write transaction that stays open: until `commit`, or `close`, which rolls it back, work is done
        `inside`, and nothing else on this connection.

        Raises:
            StoreUnavailable: definite.
        """
        self._refuse_read_only()
        self._patiently(_just, _begin)

    def inside(self, work: Work[Value]) -> Value:
        """Do ``work`` in the open transaction; an exception undoes it and no more than it.

        Raises:
            StoreUnavailable: definite; the transaction is lost with all that was done in it.
            Exception: the contract's refusal of a record that SQLite cannot hold in one row.
        """
        return self._fitting(self._step, work)

    def inside_or_lose(self, work: Work[Value]) -> Value:
        """The same without a savepoint, which costs as much as a small write: an exception before the first write of
        ``work`` undoes nothing, for there is nothing to undo, and one after it loses the transaction.

        Raises:
            StoreUnavailable: definite; the transaction is lost with all that was done in it.
            Exception: the contract's refusal of a record that SQLite cannot hold in one row.
        """
        return self._fitting(self._step_or_loss, work)

    def commit(self) -> None:
        """Make all of it visible, or raise and leave nothing of it.

        Raises:
            StoreUnavailable: not definite only when the disk failed in the commit itself.
        """
        self._patiently(_just, self._finish)

    def refuse_closed(self) -> None:
        """Raises:
        StoreUnavailable: definite; the handle was closed, or opened before a fork.
        """
        self._patiently(_just, lambda _: None)

    def _refuse_read_only(self) -> None:
        if self._settings.read_only:
            raise self._contract.unavailable(
                f"{self._settings.path} was opened for reading only. Open it without read_only to write.",
                True,
            )

    def _fitting(self, way: Way[Value], work: Work[Value]) -> Value:
        try:
            return self._patiently(way, work)
        except (sqlite3.DataError, OverflowError) as error:
            raise self._contract.does_not_fit(
                f"The record does not fit in a row ({error}). Keep large data elsewhere."
            ) from error

    def _step(self, connection: sqlite3.Connection, work: Work[Value]) -> Value:
        self._refuse_lost(connection)
        connection.execute("SAVEPOINT step")
        try:
            value = work(connection)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK TO step")
                connection.execute("RELEASE step")
            raise
        connection.execute("RELEASE step")
        return value

    def _step_or_loss(self, connection: sqlite3.Connection, work: Work[Value]) -> Value:
        self._refuse_lost(connection)
        before = connection.total_changes
        try:
            return work(connection)
        except BaseException:
            if connection.total_changes != before:
                _undo(connection)
            raise

    def _refuse_lost(self, connection: sqlite3.Connection) -> None:
        # A failing disk ends a transaction without being asked; what is done then must not be taken for its rest.
        if not connection.in_transaction:
            raise self._contract.unavailable(
                f"{self._settings.path}: the transaction was lost when the file failed. Nothing of it was written. "
                "Begin another one.",
                True,
            )

    def _look(self, connection: sqlite3.Connection, work: Work[Value]) -> Value:
        # A pass that finds nothing due in a file that is no more would look there for ever.
        if self._main_file is not None:
            self._main_file.refuse_loss()
        return work(connection)

    def _transaction(self, connection: sqlite3.Connection, work: Work[Value]) -> Value:
        connection.execute("BEGIN IMMEDIATE")
        try:
            value = work(connection)
            self._finish(connection)
        except BaseException:
            _undo(connection)
            raise
        return value

    def _finish(self, connection: sqlite3.Connection) -> None:
        self._refuse_lost(connection)
        try:
            # As late as can be: nothing may be committed to a file that nobody will open again.
            if self._main_file is not None:
                self._main_file.refuse_loss()
            if self._log is not None:
                self._log.refuse_loss()
            connection.execute("COMMIT")
        except BaseException as error:
            _undo(connection)
            if isinstance(error, sqlite3.Error) and _primary_code(error) == sqlite3.SQLITE_IOERR:
                raise self._unavailable(error, definite=False) from error
            raise

    def _patiently(self, way: Way[Value], work: Work[Value]) -> Value:
        give_up_at: float | None = None
        attempt = 0
        while True:
            # Looked at before the lock: a fork may have copied it while another thread held it.
            if os.getpid() != self._process:
                raise self._contract.unavailable(
                    f"This handle on {self._settings.path} was opened before a fork. Open the store anew in the child.",
                    True,
                )
            try:
                with self._lock:
                    if self._connection is None:
                        raise self._contract.unavailable(
                            f"This handle on {self._settings.path} is closed. Open the store anew.", True
                        )
                    return way(self._connection, work)
            except open_files.LostFileError as error:
                raise self._contract.unavailable(str(error), True) from error
            except (sqlite3.DataError, sqlite3.IntegrityError):
                raise
            except sqlite3.Error as error:
                if _primary_code(error) not in _BUSY:
                    raise self._unavailable(error) from error
                now = time.monotonic()
                give_up_at = give_up_at or now + self._settings.busy_timeout_ms / 1000
                if now >= give_up_at:
                    raise self._unavailable(error) from error
            _wait(attempt)
            attempt += 1

    def close(self) -> None:
        """Close once; later calls do nothing. In a child made by fork the connection is only let go of."""
        if os.getpid() != self._process:
            if self._connection is not None:
                _ABANDONED.append(self._connection)
                self._connection = None
            return
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
