"""The store as its users see it."""

from __future__ import annotations

import sqlite3
from functools import partial

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Admitted,
    Versioned,
    Workload,
)

from . import interventions, legacy_file, rows
from .admission import derived_id, new_record, refuse_reused_key, refuse_unauthorized, scope_of
from .arguments import (
    refuse_faulty_request,
    refuse_unstorable,
    require_bool,
    require_instance,
    require_integers,
    require_optional_texts,
    require_request,
    require_texts,
)
from .deadlines import expired, first_passed
from .decision import conflict
from .legacy_file import LegacyFile
from .recovery import recovered
from .worker import WorkerCalls


class WorkloadStore(WorkerCalls):
    """The workload contract on one SQLite file, for any number of threads, processes and handles of one
    machine.

    Known limits: one writer at a time; no network file systems; a record is one row of at most 10^9 bytes,
    written anew by each commit, so a long history or a large input makes every call on that workload dearer,
    and on no other; JSON documents nest at most 500 levels.

    The file and its ``-wal`` and ``-shm`` are one. When the file is removed, renamed or replaced under an open
    handle, each call raises `StoreUnavailable` until it is put back; when the ``-wal`` is, each commit does. Not
    noticed, so what it does to the data is not prevented: a loss during a commit, before the next call; a ``-wal``
    that another process makes anew before the next commit, and a lost ``-shm``; a rewriting of the file in place,
    as by ``cp`` onto it. Windows lets none be removed while it is open.
    """

    def admit(self, *, request: AdmissionRequest) -> Admitted:
        """Create the workload of this request, or answer with the one that it replays (WRK-ADM, WRK-REP).

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, UNAUTHORIZED, IDEMPOTENCY_KEY_REUSED (details
                ``fields``), CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        examination = require_request(request)
        refuse_faulty_request(request, examination)
        refuse_unauthorized(request)
        asked = new_record(request)
        existing = self._admitted_before(request)
        if existing is None and self._commit(rows.creation(asked)):
            return Admitted(asked, True)
        if existing is None:
            existing = self._admitted_before(request)
        if existing is None:
            raise conflict(asked.workload_id)
        refuse_reused_key(existing, asked)
        return Admitted(existing, False)

    def _admitted_before(self, request: AdmissionRequest) -> Workload | None:
        scope = scope_of(request)

        def look(connection: sqlite3.Connection) -> rows.Row | None:
            return rows.find(connection, derived_id(scope)) or rows.find_by_scope(connection, scope)

        row = self._connection.read(look)
        return None if row is None else row.workload

    def time_out(self, *, workload_id: str, actor: str, now_s: int) -> str:
        """An actor's timeout of waiting or active work; the resulting state (WRK-TMO).

        Raises:
            WorkloadError: INVALID, NOT_FOUND, STATE_INVALID, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        _check_intervention(workload_id, actor, now_s)
        row = self._find(workload_id)
        return self._settle(row, interventions.time_out(row.workload, actor, now_s))

    def cancel(self, *, workload_id: str, actor: str, now_s: int) -> str:
        """Cancel resting work at once, ask active work to stop; the resulting state (WRK-CAN, P-11).

        Raises:
            WorkloadError: INVALID, NOT_FOUND, STATE_INVALID, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        _check_intervention(workload_id, actor, now_s)
        row = self._find(workload_id)
        return self._settle(row, interventions.cancel(row.workload, actor, now_s))

    def retry(self, *, workload_id: str, actor: str, reason: str | None, now_s: int) -> None:
        """An operator's re-arm of dead-lettered work: one attempt more (WRK-RTY).

        Raises:
            WorkloadError: INVALID, NOT_FOUND, STATE_INVALID, RETRY_EXHAUSTED, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_optional_texts(reason=reason)
        _check_intervention(workload_id, actor, now_s)
        refuse_unstorable(reason=reason)
        row = self._find(workload_id)
        return self._settle(row, interventions.retry(row.workload, actor, reason, now_s))

    def enforce_deadlines(self, *, now_s: int) -> list[str]:
        """Expire each workload that has passed a deadline; the ids that this call expired, in order
        (WRK-EDL).

        Raises:
            WorkloadError: INVALID.
            StoreUnavailable: the file is busy, full or broken; expiries made before it stay.
        """
        _check_instant(now_s)

        def expire(record: Workload) -> Workload | None:
            deadline = first_passed(record, now_s)
            return None if deadline is None else expired(record, deadline, now_s)

        return self._sweep(rows.PAST_DEADLINE, now_s, expire)

    def recover_expired(self, *, now_s: int) -> list[str]:
        """Recover each workload whose lease has lapsed; the ids that this call recovered, in order (WRK-REC).

        Raises:
            WorkloadError: INVALID.
            StoreUnavailable: the file is busy, full or broken; recoveries made before it stay.
        """
        _check_instant(now_s)
        return self._sweep(rows.PAST_LEASE, now_s, lambda record: recovered(record, now_s))

    def get(self, *, workload_id: str, fresh: bool = True) -> Versioned | None:
        """The committed record, or None; this store has no projection, so every read is fresh (P-06).

        Raises:
            WorkloadError: INVALID.
            StoreUnavailable: the file is busy or broken.
        """
        require_texts(workload_id=workload_id)
        require_bool(fresh=fresh)
        refuse_unstorable(workload_id=workload_id)
        row = self._connection.read(lambda connection: rows.find(connection, workload_id))
        return None if row is None else row.versioned()

    def list_workloads(self, *, tenant_id: str, application_id: str, fresh: bool = True) -> list[Versioned]:
        """All committed records of one tenant and application, by workload id.

        Raises:
            WorkloadError: INVALID.
            StoreUnavailable: the file is busy or broken.
        """
        require_texts(tenant_id=tenant_id, application_id=application_id)
        require_bool(fresh=fresh)
        refuse_unstorable(tenant_id=tenant_id, application_id=application_id)
        found = self._connection.read(lambda connection: rows.listed(connection, tenant_id, application_id))
        return [row.versioned() for row in found]

    def migrate(self, *, source: bytes) -> int:
        """Take over the content of a legacy file; how many workloads were written (WRK-MIG, P-04, P-05).

        All workloads are written in one transaction, at version 1, or none. Repeating the call is safe.

        Known limit: file and store are compared inside the transaction, so other writers wait meanwhile.

        Raises:
            WorkloadError: INVALID (malformed file), MIGRATION_CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_instance("source", source, bytes)
        file = legacy_file.parse(source)
        if not self._connection.read(partial(_not_taken_over, file)):
            return 0
        self._run_pause()
        return self._connection.write(partial(_take_over, file))


def _not_taken_over(file: LegacyFile, connection: sqlite3.Connection) -> list[Workload]:
    stored = {row.workload.workload_id: row.workload for row in rows.all_rows(connection)}
    return legacy_file.missing_records(file, stored)


def _take_over(file: LegacyFile, connection: sqlite3.Connection) -> int:
    # Asked again, since another writer may have committed meanwhile.
    missing = _not_taken_over(file, connection)
    for record in missing:
        rows.taking_over(record).run(connection)
    return len(missing)


def _check_instant(now_s: int) -> None:
    require_integers(now_s=now_s)
    refuse_unstorable(now_s=now_s)


def _check_intervention(workload_id: str, actor: str, now_s: int) -> None:
    require_texts(workload_id=workload_id, actor=actor)
    require_integers(now_s=now_s)
    refuse_unstorable(workload_id=workload_id, actor=actor, now_s=now_s)
