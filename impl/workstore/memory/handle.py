"""One handle on the committed rows: it reads, and makes the one guarded write of an operation.

Between the two no lock is held: what another handle commits there makes this one lose (WRK-MWR-05).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from attrs import define

from workspec.workload.vocabulary import ErrorCode, StoreUnavailable, Versioned, Workload, WorkloadError
from workstore.memory.admission import scope_of
from workstore.memory.arguments import Arguments, wrong_type
from workstore.memory.json_values import detached
from workstore.memory.projection import Projection
from workstore.memory.refusals import Answer, CommitThenRefuse, Decision, refusal
from workstore.memory.rows import Row, Rows

Pause = Callable[[], None]


@define(eq=False)
class _Opening:
    """A context of the locked rows. One for each handle, for any number of uses, also within each other: made for each
    use, by a generator, it costs more than what most calls do in it."""

    rows: Rows
    closed: bool = False

    def __enter__(self) -> Rows:
        self.rows.lock.acquire()
        if self.closed:
            self.rows.lock.release()
            raise StoreUnavailable("this handle is closed; open another on the same store", definite=True)
        return self.rows

    def __exit__(self, *_exception: object) -> None:
        self.rows.lock.release()


class Handle:
    """The reads of the port, the guarded write, and what a test may do to a store."""

    def __init__(self, rows: Rows, on_close: Callable[[], None] | None) -> None:
        self._rows = rows
        self._on_close = on_close
        self._pause: tuple[int, Pause] | None = None
        self._opening = _Opening(rows)
        with rows.lock:
            self._projection = Projection(rows)
            self._projection.refresh()

    # --- what tests may do

    def reset(self) -> None:
        """Empty the store, for every handle on it; armed pauses are disarmed."""
        with self._opened() as rows:
            rows.clear()

    def inject(self, *, record: Workload, version: int | None) -> None:
        """Put a record there as it is. ``version`` None leaves the row without one (WRK-ROW-01).

        Raises:
            TypeError: a record or a version of a wrong Python type.
            WorkloadError: INVALID (a version beyond 64 bits), RESULT_DUPLICATE.
        """
        if not isinstance(record, Workload):
            raise wrong_type("record", "a Workload", record)
        Arguments().optional_integer(version=version).settle()
        with self._opened() as rows:
            _check_result_id(rows, record)
            self._projection.adopt(rows.put(detached(record), version))

    def snapshot(self) -> dict[str, int | None]:
        """The committed rows: workload id to row version, None where the row has none (P-07)."""
        with self._opened() as rows:
            return {row.workload.workload_id: row.version for row in rows}

    def pause(self, callback: Pause | None) -> None:
        """Arm this handle once: its next write runs ``callback`` first, with everything decided and no lock
        held. A call that writes nothing leaves it armed; None disarms it."""
        with self._opened() as rows:
            self._pause = None if callback is None else (rows.generation, callback)

    def close(self) -> None:
        """Close this handle; others on the same rows stay open. Closing twice is harmless."""
        with self._rows.lock:
            if self._opening.closed:
                return
            self._opening.closed = True
        if self._on_close is not None:
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- reads

    def get(self, *, workload_id: str, fresh: bool = True) -> Versioned | None:
        """The record with its row version, or None. ``fresh=False`` answers from what this handle saw last
        (P-06).

        Raises:
            WorkloadError: INVALID.
        """
        Arguments().text(workload_id=workload_id).flag(fresh=fresh).settle()
        with self._opened():
            view = self._projection
            row = view.reconcile(workload_id) if fresh else view.known().get(workload_id)
        return _versioned(row) if row is not None else None

    def list_workloads(self, *, tenant_id: str, application_id: str, fresh: bool = True) -> list[Versioned]:
        """All records of one tenant and application, by workload id. Its cost grows with the stored rows.

        Raises:
            WorkloadError: INVALID.
        """
        Arguments().text(tenant_id=tenant_id, application_id=application_id).flag(fresh=fresh).settle()
        with self._opened():
            if fresh:
                self._projection.refresh()
            known = dict(self._projection.known())
        return [
            _versioned(row)
            for _, row in sorted(known.items())
            if (row.workload.tenant_id, row.workload.application_id) == (tenant_id, application_id)
        ]

    # --- reading and writing

    def _opened(self) -> AbstractContextManager[Rows]:
        """The rows, locked, if this handle is open.

        Raises:
            StoreUnavailable: on entering; the handle is closed, and nothing was written.
        """
        return self._opening

    def _read(self, workload_id: str) -> Row:
        with self._opened():
            row = self._projection.reconcile(workload_id)
        if row is None:
            raise refusal(ErrorCode.NOT_FOUND, f"there is no workload {workload_id}")
        return row

    def _read_all(self) -> list[Row]:
        with self._opened() as rows:
            self._projection.refresh()
            return list(rows)

    def _settle(self, before: Row, decision: Decision[Answer]) -> Answer:
        """Carry a decision out: the guarded write, then the answer or the refusal."""
        if decision.commit is not None:
            self._commit(before, decision.commit)
        if isinstance(decision, CommitThenRefuse):
            raise decision.error
        return decision.answer

    def _commit(self, before: Row | None, after: Workload) -> Row:
        """The guarded write (WRK-MWR-05): it goes through only if ``before`` is still the committed row.
        Whoever loses adopts the row that won.

        Raises:
            WorkloadError: CONFLICT; RESULT_DUPLICATE when another workload took the result id meanwhile
                (P-08).
        """
        self._run_pause()
        with self._opened() as rows:
            present = rows.find(after.workload_id)
            if before is None and present is None:
                # A record of the same scope may have come in under an older id (WRK-REP-07).
                present = rows.find_by_scope(scope_of(after))
            if present is not before:
                self._projection.adopt(present)
                raise refusal(ErrorCode.CONFLICT, "somebody else changed this workload meanwhile; read it again")
            _check_result_id(rows, after)
            row = rows.commit(before, after)
            self._projection.adopt(row)
            return row

    def _commit_each(self, edits: list[tuple[Row, Workload]]) -> list[str]:
        """One guarded write per workload; the ids that were written. Whoever lost a race is skipped: the
        winner has dealt with it (WRK-EDL-01, WRK-REC-09)."""
        written = []
        for before, after in edits:
            try:
                self._commit(before, after)
            except WorkloadError as error:
                if error.code != ErrorCode.CONFLICT:
                    raise
                continue
            written.append(after.workload_id)
        return written

    def _run_pause(self) -> None:
        with self._opened() as rows:
            armed, self._pause = self._pause, None
            live = armed is not None and armed[0] == rows.generation
        if armed is not None and live:
            armed[1]()


def _check_result_id(rows: Rows, workload: Workload) -> None:
    """No other workload holds a result under the id of this one (G-18).

    Raises:
        WorkloadError: RESULT_DUPLICATE.
    """
    result = workload.result
    if result is not None and rows.result_is_taken(result.result_id, except_by=workload.workload_id):
        raise refusal(ErrorCode.RESULT_DUPLICATE, "another workload has recorded this result id")


def _versioned(row: Row) -> Versioned:
    return Versioned(version=row.shown_version, workload=detached(row.workload))
