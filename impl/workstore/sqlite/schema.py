"""The tables of the workload store, the list of migrations that leads to them, and whose file it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final

from attrs import frozen
from sqlite_utils import Database

APPLICATION_ID: Final = 0x776B6C64
"""Marks a file as one of the workload store, in SQLite's header."""

LEAST_SQLITE: Final = (3, 37, 0)
"""Strict tables exist since then."""


class ForeignFileError(Exception):
    """The file belongs to something else, or to a later version; the text says which and what to do."""


def _create_workloads(database: Database) -> None:
    """One row per workload: the record as JSON text, and what is looked up by.

    ``deadline_at`` is the earliest deadline in force and ``lease_ends_at`` the end of the lease, both in
    seconds; they are written together with the record. The partial indexes hold only rows that a pass may
    have to change.
    """
    table = database.table("workloads")
    table.create(
        {
            "workload_id": str,
            "version": int,
            "tenant_id": str,
            "application_id": str,
            "requester_kind": str,
            "requester_id": str,
            "idempotency_key": str,
            "state": str,
            "deadline_at": int,
            "lease_ends_at": int,
            "result_id": str,
            "record": str,
        },
        pk="workload_id",
        not_null={
            "workload_id",
            "tenant_id",
            "application_id",
            "requester_kind",
            "requester_id",
            "idempotency_key",
            "state",
            "record",
        },
        strict=True,
    )
    table.create_index(
        ["tenant_id", "application_id", "requester_kind", "requester_id", "idempotency_key"],
        index_name="workloads_by_scope",
    )
    table.create_index(["tenant_id", "application_id", "workload_id"], index_name="workloads_by_owner")
    for column, unique in (("deadline_at", ""), ("lease_ends_at", ""), ("result_id", "UNIQUE ")):
        database.execute(
            f"CREATE {unique}INDEX workloads_by_{column} ON workloads ({column}) WHERE {column} IS NOT NULL"
        )


MIGRATIONS: Final[tuple[Callable[[Database], None], ...]] = (_create_workloads,)
"""In order; a file's ``user_version`` says how many it has seen. Only ever append. One that changes what an earlier
release writes gives the table a new name: a handle that the earlier release still has open then finds none, and is
refused, where to ask for the version before each call would cost every call."""


@frozen
class Tables:
    """What a file holds: the mark of its application in SQLite's header, and the migrations that lead to its tables."""

    application_id: int
    migrations: tuple[Callable[[Database], None], ...]

    def identify(self, connection: sqlite3.Connection) -> int:
        """How many migrations the file has seen; 0 for an empty one.

        Raises:
            ForeignFileError: the file holds something else, or was written by a later version.
        """
        application_id, version, objects = connection.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
            "FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if application_id == 0 and version == 0 and objects == 0:
            return 0
        if application_id != self.application_id:
            raise ForeignFileError("it is a database of another application. Give the store a file of its own.")
        if version > len(self.migrations):
            raise ForeignFileError(
                f"its schema version is {version}, and this release knows up to {len(self.migrations)}. Install the "
                "release that wrote it, or a later one."
            )
        return int(version)

    def migrate(self, connection: sqlite3.Connection) -> None:
        """Apply the missing migrations; the caller holds the write transaction, so that one opener does it.

        Raises:
            ForeignFileError: see `identify`.
        """
        version = self.identify(connection)
        if version == len(self.migrations):
            return
        database = Database(connection, recursive_triggers=False, execute_plugins=False)
        for migration in self.migrations[version:]:
            migration(database)
        connection.execute(f"PRAGMA application_id = {self.application_id}")
        connection.execute(f"PRAGMA user_version = {len(self.migrations)}")


WORKLOAD: Final = Tables(APPLICATION_ID, MIGRATIONS)
