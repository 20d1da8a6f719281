"""What one handle remembers of the committed rows (WRK-MWR).

It answers reads that need not be fresh, and nothing else: every decision is made on committed rows, so that
throwing a projection away changes no answer. Use it with the lock of the rows held.
"""

from __future__ import annotations

from workstore.memory.rows import Row, Rows


class Projection:
    """A view of the rows that may be behind."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._seen: dict[str, Row] = {}
        self._revision = -1
        self._generation = rows.generation

    def known(self) -> dict[str, Row]:
        """The rows as this handle saw them last, by workload id."""
        if self._generation != self._rows.generation:
            self._seen.clear()
            self._generation = self._rows.generation
        return self._seen

    def adopt(self, row: Row | None) -> None:
        """Take over a committed row. A row that is gone is not forgotten (WRK-MWR-10)."""
        if row is not None:
            self.known()[row.workload.workload_id] = row

    def reconcile(self, workload_id: str) -> Row | None:
        """Bring one row up to date before an operation on it: a keyed read if it is known, else a look at all
        (WRK-MWR-03). Answers with the committed row."""
        if workload_id not in self.known():
            self.refresh()
        row = self._rows.find(workload_id)
        self.adopt(row)
        return row

    def refresh(self) -> None:
        """Bring all rows up to date; nothing to do when no row was written since (WRK-MWR-02)."""
        if self._revision == self._rows.revision:
            return
        self._revision = self._rows.revision
        for row in self._rows:
            self.adopt(row)
