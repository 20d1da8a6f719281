"""A handle on one file: opening, the one way to commit, and what certification needs to reach."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeVar

from workspec.workload.vocabulary import StoreUnavailable, Workload

from . import rows, schema
from .arguments import require_instance, require_optional_integers
from .connection import Connection, Contract
from .decision import CommitAndRefuse, Decision, Reply, conflict, invalid, not_found
from .opening import checked_settings

Answer = TypeVar("Answer")
NewId = Callable[[str], str]

_CONTRACT: Final = Contract(schema.WORKLOAD, StoreUnavailable, invalid)


def random_id(prefix: str) -> str:
    """An opaque id that nobody can guess: the prefix and 128 random bits."""
    return f"{prefix}_{secrets.token_hex(16)}"


class Handle:
    """Open a store with `open`; the constructor is for `open` alone."""

    def __init__(self, connection: Connection, new_id: NewId) -> None:
        self._connection = connection
        self._new_id = new_id
        self._pause: list[Callable[[], None]] = []

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        synchronous: str = "FULL",
        busy_timeout_ms: int = 5000,
        max_page_count: int | None = None,
        read_only: bool = False,
        new_id: NewId | None = None,
    ) -> Self:
        """A handle on the store in this file, which is created when it does not exist yet. To open one that is up
        to date is only to read it, which waits for no writer.

        ``synchronous`` is ``FULL`` (a commit survives loss of power) or ``NORMAL`` (it survives the end of
        the process). ``busy_timeout_ms`` bounds each wait for another writer, at most 2^31-1 milliseconds.
        ``max_page_count`` limits the file, at most 2^32-2 pages. ``new_id`` gives an opaque id for a prefix; it
        must never repeat itself.

        Raises:
            TypeError, ValueError: an option that is none; the text names it, the rule and the value.
            StoreUnavailable: definite; no store can be opened there, and the text says why.
        """
        settings = checked_settings(
            path,
            synchronous=synchronous,
            busy_timeout_ms=busy_timeout_ms,
            max_page_count=max_page_count,
            read_only=read_only,
            unavailable=StoreUnavailable,
        )
        return cls(Connection(settings, _CONTRACT), random_id if new_id is None else new_id)

    def close(self) -> None:
        """Close the handle; every later call raises `StoreUnavailable`. Closing twice is no fault."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _find(self, workload_id: str) -> rows.Row:
        row = self._connection.read(lambda connection: rows.find(connection, workload_id))
        if row is None:
            raise not_found(workload_id)
        return row

    def _commit(self, write: rows.Write) -> bool:
        """Make one guarded write; False when its guard held it back.

        Raises:
            WorkloadError: RESULT_DUPLICATE, when another workload took the result id meanwhile (P-08).
        """
        self._run_pause()
        return self._connection.write(write.run)

    def _run_pause(self) -> None:
        callback = self._pause.pop() if self._pause else None
        if callback is not None:
            callback()

    def _settle(self, row: rows.Row, decision: Decision[Answer]) -> Answer:
        """Commit what was decided on this row, and give the answer.

        Raises:
            WorkloadError: CONFLICT, or the refusal that the commit makes true.
        """
        if isinstance(decision, Reply):
            return decision.answer
        if not self._commit(rows.replacement(row, decision.record)):
            raise conflict(row.workload.workload_id)
        if isinstance(decision, CommitAndRefuse):
            raise decision.error
        return decision.answer

    def _sweep(self, statement: str, now_s: int, step: Callable[[Workload], Workload | None]) -> list[str]:
        """Commit ``step`` on each candidate by itself; the ids of those that this call changed.

        A candidate that another writer got to first is skipped (WRK-EDL-01, WRK-REC-09).

        Raises:
            StoreUnavailable: definite only where nothing of it was committed before.
        """
        changed: list[str] = []
        try:
            for workload_id in self._connection.read(lambda connection: rows.ids(connection, statement, now_s)):
                row = self._connection.read(partial(rows.find, workload_id=workload_id))
                record = None if row is None else step(row.workload)
                if row is not None and record is not None and self._commit(rows.replacement(row, record)):
                    changed.append(workload_id)
        except StoreUnavailable as error:
            if not changed:
                raise
            before = f"Before it this pass has changed {', '.join(changed)}, which stays."
            raise StoreUnavailable(f"{error} {before}", definite=False) from error
        return changed

    def reset(self) -> None:
        """Delete every row and disarm the pause, for a certification that needs an empty store again."""
        self._pause.clear()
        self._connection.write(lambda connection: connection.execute("DELETE FROM workloads"))

    def inject(self, *, record: Workload, version: int | None) -> None:
        """Store a record as it is, in place of one with its id; version None leaves the row without one."""
        require_instance("record", record, Workload)
        require_optional_integers(version=version)
        self._connection.write(rows.putting(record, version).run)

    def snapshot(self) -> dict[str, int | None]:
        """Every committed workload id with its row version, None for a row that has none (P-07)."""
        return self._connection.read(rows.versions)

    def pause(self, callback: Callable[[], None] | None) -> None:
        """Run ``callback`` once, when the next call has read and decided and is about to write; None disarms.

        No lock and no transaction is held meanwhile, so other handles may commit.
        """
        self._pause[:] = [] if callback is None else [callback]
