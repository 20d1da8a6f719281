"""The committed rows: what every handle on one store shares. `Rows.lock` guards all of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from attrs import frozen

from workspec.workload.vocabulary import Workload
from workstore.memory.admission import Scope, scope_of


@frozen(eq=False)
class Row:
    """One committed record. Two rows are the same only if they are one object: the guard of a write
    compares rows, so that a row which went and came back with its old version does not pass for the one
    that was read."""

    workload: Workload
    version: int | None
    """1 at creation, one more with each commit; None for a row put there without one (WRK-ROW-01)."""

    @property
    def shown_version(self) -> int:
        """A row without a version reads as version 1 (P-07)."""
        return 1 if self.version is None else self.version


class Rows:
    """Committed rows by workload id, with an index of scopes and one of result ids."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.revision = 0
        """Moves with every write of any row."""
        self.generation = 0
        """Moves when everything is thrown away."""
        self._by_id: dict[str, Row] = {}
        self._by_scope: dict[Scope, set[str]] = {}
        self._by_result: dict[str, str] = {}

    def __iter__(self) -> Iterator[Row]:
        """All rows, by workload id."""
        return iter([self._by_id[workload_id] for workload_id in sorted(self._by_id)])

    def find(self, workload_id: str) -> Row | None:
        return self._by_id.get(workload_id)

    def find_by_scope(self, scope: Scope) -> Row | None:
        """The row of this scope under whatever id; the least id, should there be several (WRK-REP-07)."""
        holders = self._by_scope.get(scope)
        return self._by_id[min(holders)] if holders else None

    def result_is_taken(self, result_id: str, except_by: str) -> bool:
        """Whether a workload other than this one has recorded this result id (WRK-CMP-04)."""
        return self._by_result.get(result_id, except_by) != except_by

    def commit(self, before: Row | None, workload: Workload) -> Row:
        """Put the next version of a row. The caller has checked, under the lock, that ``before`` is the
        present one."""
        version = 1 if before is None else before.shown_version + 1
        return self.put(workload, version)

    def put(self, workload: Workload, version: int | None) -> Row:
        """Put a row as it is, whatever is there. The caller has checked that its result id is not taken."""
        workload_id = workload.workload_id
        self._unindex(workload_id)
        row = Row(workload, version)
        self._by_id[workload_id] = row
        self._by_scope.setdefault(scope_of(workload), set()).add(workload_id)
        if workload.result is not None:
            self._by_result[workload.result.result_id] = workload_id
        self.revision += 1
        return row

    def clear(self) -> None:
        """Throw every row away."""
        self._by_id.clear()
        self._by_scope.clear()
        self._by_result.clear()
        self.revision += 1
        self.generation += 1

    def _unindex(self, workload_id: str) -> None:
        old = self._by_id.get(workload_id)
        if old is None:
            return
        scope = scope_of(old.workload)
        self._by_scope[scope].discard(workload_id)
        if not self._by_scope[scope]:
            del self._by_scope[scope]
        if old.workload.result is not None:
            del self._by_result[old.workload.result.result_id]
