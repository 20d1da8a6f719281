"""The rows of the workloads table: every statement of the store but the schema's."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Any, Final

from attrs import frozen

from workspec.workload.vocabulary import StoreUnavailable, Versioned, Workload

from .admission import Scope
from .deadlines import earliest
from .encoding import decode, encode
from .recovery import lease_end
from .reports import duplicate_result

FIND: Final = "SELECT workload_id, version, record FROM workloads WHERE workload_id = ?"
# Here and in the passes the index is named: left to itself, SQLite may walk all rows of an application, or
# of the store, to save itself a sort.
FIND_BY_SCOPE: Final = (
    "SELECT workload_id, version, record FROM workloads INDEXED BY workloads_by_scope "
    "WHERE tenant_id = ? AND application_id = ? AND requester_kind = ? AND requester_id = ? "
    "AND idempotency_key = ? ORDER BY workload_id LIMIT 1"
)
FIND_WITH_RESULT_OWNER: Final = (
    "SELECT wanted.workload_id, wanted.version, wanted.record, "
    "(SELECT workload_id FROM workloads WHERE result_id = ?) "
    "FROM (SELECT 1) LEFT JOIN workloads AS wanted ON wanted.workload_id = ?"
)
LIST: Final = (
    "SELECT workload_id, version, record FROM workloads WHERE tenant_id = ? AND application_id = ? ORDER BY workload_id"
)
STATE_OF: Final = "SELECT state FROM workloads WHERE workload_id = ? AND tenant_id = ? AND application_id = ?"
PAST_DEADLINE: Final = (
    "SELECT workload_id FROM workloads INDEXED BY workloads_by_deadline_at WHERE deadline_at <= ? ORDER BY workload_id"
)
PAST_LEASE: Final = (
    "SELECT workload_id FROM workloads INDEXED BY workloads_by_lease_ends_at "
    "WHERE lease_ends_at <= ? ORDER BY workload_id"
)
ALL: Final = "SELECT workload_id, version, record FROM workloads ORDER BY workload_id"
VERSIONS: Final = "SELECT workload_id, version FROM workloads ORDER BY workload_id"

_COLUMNS: Final = (
    "workload_id, version, tenant_id, application_id, requester_kind, requester_id, idempotency_key, "
    "state, deadline_at, lease_ends_at, result_id, record"
)
# The scope is asked for again in the write itself: another writer may have committed a record of the same
# scope under an id of the older derivation since it was looked for (WRK-REP-07).
CREATE: Final = (
    f"INSERT INTO workloads ({_COLUMNS}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS ("
    "SELECT 1 FROM workloads INDEXED BY workloads_by_scope WHERE tenant_id = ?3 AND application_id = ?4 "
    "AND requester_kind = ?5 AND requester_id = ?6 AND idempotency_key = ?7) "
    "ON CONFLICT (workload_id) DO NOTHING"
)
REPLACE: Final = (
    "UPDATE workloads SET version = ?, state = ?, deadline_at = ?, lease_ends_at = ?, result_id = ?, "
    "record = ? WHERE workload_id = ? AND version IS ?"
)
REPLACE_UNVERSIONED: Final = REPLACE + " AND record = ?"
TAKE_OVER: Final = (
    f"INSERT INTO workloads ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (workload_id) DO NOTHING"
)
PUT: Final = (
    f"INSERT INTO workloads ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (workload_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[1:])
)


@frozen
class Row:
    """A committed row as read."""

    stored_version: int | None
    text: str
    workload: Workload

    @property
    def version(self) -> int:
        """A row without a version counts as version 1 (WRK-ROW-01)."""
        return 1 if self.stored_version is None else self.stored_version

    def versioned(self) -> Versioned:
        return Versioned(self.version, self.workload)


def _row(found: tuple[Any, ...]) -> Row:
    workload_id, version, text = found
    try:
        return Row(version, text, decode(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreUnavailable(
            f"The stored record of workload {workload_id!r} is damaged ({error!r}). Restore the file from a backup.",
            True,
        ) from error


def find(connection: sqlite3.Connection, workload_id: str) -> Row | None:
    found = connection.execute(FIND, (workload_id,)).fetchone()
    return None if found is None else _row(found)


def find_by_scope(connection: sqlite3.Connection, scope: Scope) -> Row | None:
    """The record admitted in this scope under an id of whatever derivation (WRK-REP-07)."""
    found = connection.execute(
        FIND_BY_SCOPE,
        (
            scope.tenant_id,
            scope.application_id,
            scope.requester_kind,
            scope.requester_id,
            scope.idempotency_key,
        ),
    ).fetchone()
    return None if found is None else _row(found)


def find_with_result_owner(
    connection: sqlite3.Connection, workload_id: str, result_id: str
) -> tuple[Row | None, str | None]:
    """The row, and the id of the workload that has recorded this result id: one statement, so one version."""
    *found, owner = connection.execute(FIND_WITH_RESULT_OWNER, (result_id, workload_id)).fetchone()
    return (None if found[0] is None else _row(tuple(found))), owner


def listed(connection: sqlite3.Connection, tenant_id: str, application_id: str) -> list[Row]:
    return [_row(found) for found in connection.execute(LIST, (tenant_id, application_id)).fetchall()]


def all_rows(connection: sqlite3.Connection) -> list[Row]:
    return [_row(found) for found in connection.execute(ALL).fetchall()]


def ids(connection: sqlite3.Connection, statement: str, now_s: int) -> list[str]:
    """The candidates of a pass at ``now_s``, by workload id."""
    return [workload_id for (workload_id,) in connection.execute(statement, (now_s,)).fetchall()]


def states_of(
    connection: sqlite3.Connection, workload_ids: Collection[str], tenant_id: str, application_id: str
) -> dict[str, str]:
    """The states of those workloads that this tenant and application have (G-10)."""
    found: dict[str, str] = {}
    for workload_id in workload_ids:
        row = connection.execute(STATE_OF, (workload_id, tenant_id, application_id)).fetchone()
        if row is not None:
            found[workload_id] = row[0]
    return found


def versions(connection: sqlite3.Connection) -> dict[str, int | None]:
    return dict(connection.execute(VERSIONS).fetchall())


def _moving_columns(record: Workload) -> tuple[Any, ...]:
    return record.state, earliest(record), lease_end(record), _result_id(record), encode(record)


def _columns(record: Workload, version: int | None) -> tuple[Any, ...]:
    return (
        record.workload_id,
        version,
        record.tenant_id,
        record.application_id,
        record.requested_by.kind,
        record.requested_by.id,
        record.idempotency_key,
        *_moving_columns(record),
    )


@frozen
class Write:
    """One statement with all its values: they are computed before the write transaction begins."""

    statement: str
    parameters: tuple[Any, ...]
    result_id: str | None

    def run(self, connection: sqlite3.Connection) -> bool:
        """Whether a row was written; False when the guard held it back.

        Raises:
            WorkloadError: RESULT_DUPLICATE, when another workload has the result id (P-08).
        """
        try:
            return connection.execute(self.statement, self.parameters).rowcount == 1
        except sqlite3.IntegrityError as error:
            if self.result_id is None:
                raise
            raise duplicate_result(self.result_id) from error


def _result_id(record: Workload) -> str | None:
    return None if record.result is None else record.result.result_id


def creation(record: Workload) -> Write:
    """Insert at version 1 unless its id or its scope is taken (WRK-ADM-10)."""
    return Write(CREATE, _columns(record, 1), _result_id(record))


def taking_over(record: Workload) -> Write:
    """Insert at version 1 unless its id is taken."""
    return Write(TAKE_OVER, _columns(record, 1), _result_id(record))


def putting(record: Workload, version: int | None) -> Write:
    """Insert or overwrite, as it is."""
    return Write(PUT, _columns(record, version), _result_id(record))


def replacement(row: Row, record: Workload) -> Write:
    """Update unless the row has moved on; a row without a version must have the same content (G-21)."""
    values = (row.version + 1, *_moving_columns(record), record.workload_id, row.stored_version)
    if row.stored_version is None:
        return Write(REPLACE_UNVERSIONED, (*values, row.text), _result_id(record))
    return Write(REPLACE, values, _result_id(record))
