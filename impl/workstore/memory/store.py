"""The verbs of the workload contract that may write. Each looks at its arguments, reads, decides, settles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import uuid4

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Admitted,
    Checkpoint,
    Claim,
    ErrorCode,
    ExecutionContext,
    Json,
    Result,
    Workload,
    WorkloadError,
)
from workstore.memory import admission, deadlines, execution, interventions, legacy, outcomes, recovery
from workstore.memory.arguments import (
    EFFECTS,
    Arguments,
    admission_arguments,
    fenced_arguments,
    wrong_type,
)
from workstore.memory.carriers import changed
from workstore.memory.handle import Handle
from workstore.memory.json_values import copied, detached
from workstore.memory.refusals import refusal
from workstore.memory.rows import Row, Rows


def _random_id(prefix: str) -> str:
    return f"{prefix}_{uuid4().hex}"


class WorkloadStore(Handle):
    """An in-memory store of the workload contract: the port, the migration, and what a test may do to a
    store.

    Safe for threads. A new store is empty; `handle` gives a further handle on the same rows, which has a
    view of its own like another process would have. Everything is lost with the last handle.

    All instants are seconds, all durations milliseconds; no clock is read. A wrong Python type is a TypeError
    before anything is read; a call on a closed handle raises StoreUnavailable. The codes that a method may
    raise stand at its port, `workspec.workload.ports`.

    Args:
        new_id: gives an id for a prefix, ``claim`` or ``attempt``; it must never repeat itself.
        rows: what other handles share; a new store when it is left out. `handle` passes it on.
        on_close: called once, when this handle is closed.
    """

    def __init__(
        self,
        *,
        new_id: Callable[[str], str] = _random_id,
        rows: Rows | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(Rows() if rows is None else rows, on_close)
        self._new_id = new_id

    def handle(self, *, on_close: Callable[[], None] | None = None) -> WorkloadStore:
        """Another handle on the same committed rows, with the same source of ids."""
        return WorkloadStore(new_id=self._new_id, rows=self._rows, on_close=on_close)

    # --- admission

    def admit(self, *, request: AdmissionRequest) -> Admitted:
        """Create the workload of this request, or answer with the one that it replays.

        Implements WRK-ADM-01..15 and WRK-REP-01..07; the order of the checks is that of WRK-ADM-02.

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, UNAUTHORIZED, IDEMPOTENCY_KEY_REUSED.
        """
        admission_arguments(request)
        admission.check_grant(request)
        existing = self._find_admitted(request)
        if existing is not None:
            return _replayed(existing, request)
        created = admission.new_workload(request)
        try:
            self._commit(None, created)
        except WorkloadError as error:
            winner = self._find_admitted(request)
            if error.code != ErrorCode.CONFLICT or winner is None:
                raise
            return _replayed(winner, request)
        return Admitted(workload=detached(created), created=True)

    def _find_admitted(self, request: AdmissionRequest) -> Row | None:
        """The row under the derived id, else one that holds the same scope under an older id (WRK-REP-07)."""
        with self._opened() as rows:
            row = rows.find(admission.derived_id(request)) or rows.find_by_scope(admission.scope_of(request))
            self._projection.adopt(row)
            return row

    # --- execution

    def claim(
        self, *, workload_id: str, worker_id: str, capabilities: Sequence[str], lease_ms: int, now_s: int
    ) -> Claim:
        """Take READY work for ``lease_ms`` (at least 1, rounded up to seconds). Implements WRK-CLM-01..11.

        Raises:
            WorkloadError: INVALID, NOT_FOUND, TIMED_OUT and ATTEMPTS_EXHAUSTED (both commit), NOT_READY,
                CAPABILITY_MISSING, DEPENDENCY_PENDING, CONFLICT.
        """
        arguments = Arguments().text(workload_id=workload_id, worker_id=worker_id)
        arguments.texts(capabilities=capabilities).integer(now_s=now_s).integer(lease_ms=lease_ms, least=1)
        arguments.settle()
        with self._opened():
            row = self._read(workload_id)
            decision = execution.claim(
                row.workload, worker_id, capabilities, lease_ms, now_s, self._committed, self._new_id
            )
        return self._settle(row, decision)

    def _committed(self, workload_id: str) -> Workload | None:
        row = self._rows.find(workload_id)
        return row.workload if row is not None else None

    def start(self, *, workload_id: str, claim_id: str, worker_id: str, fencing_token: int, now_s: int) -> None:
        """Begin execution of claimed work. Implements WRK-STR-01..04.

        Raises:
            WorkloadError: NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE, STATE_INVALID,
                CONFLICT.
        """
        arguments, fence = fenced_arguments(workload_id, claim_id, worker_id, fencing_token, now_s)
        arguments.settle()
        row = self._read(workload_id)
        self._settle(row, execution.start(row.workload, fence, now_s))

    def heartbeat(
        self,
        *,
        workload_id: str,
        claim_id: str,
        worker_id: str,
        fencing_token: int,
        extension_ms: int,
        now_s: int,
    ) -> Claim:
        """Renew the lease to ``now_s`` plus ``extension_ms`` (at least 1). Implements WRK-HBT-01..03.

        Raises:
            WorkloadError: INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE, CONFLICT.
        """
        arguments, fence = fenced_arguments(workload_id, claim_id, worker_id, fencing_token, now_s)
        arguments.integer(extension_ms=extension_ms, least=1).settle()
        row = self._read(workload_id)
        return self._settle(row, execution.heartbeat(row.workload, fence, extension_ms, now_s))

    def execution_context(
        self,
        *,
        workload_id: str,
        claim_id: str,
        worker_id: str,
        fencing_token: int,
        secret_references: Sequence[str],
        now_s: int,
    ) -> ExecutionContext:
        """What the holder needs to run or resume. Implements WRK-CTX-01..05 and P-03.

        Raises:
            WorkloadError: NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE, INVALID,
                SECRET_MATERIAL.
        """
        arguments, fence = fenced_arguments(workload_id, claim_id, worker_id, fencing_token, now_s)
        arguments.texts(secret_references=secret_references).settle()
        row = self._read(workload_id)
        # Copied first: the input and the checkpoints of the answer are the caller's to edit.
        decision = execution.execution_context(detached(row.workload), fence, secret_references, now_s)
        return self._settle(row, decision)

    def checkpoint(
        self,
        *,
        workload_id: str,
        claim_id: str,
        worker_id: str,
        fencing_token: int,
        state: Json,
        now_s: int,
    ) -> Checkpoint:
        """Record progress of a started attempt. Implements WRK-CKP-01..04.

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID,
                STALE_FENCE, STATE_INVALID, CONFLICT.
        """
        arguments, fence = fenced_arguments(workload_id, claim_id, worker_id, fencing_token, now_s)
        arguments.safe_json(state=state).settle()
        row = self._read(workload_id)
        entry = self._settle(row, execution.checkpoint(row.workload, fence, copied(state), now_s))
        return changed(entry, state=copied(entry.state))

    # --- outcomes

    def complete(
        self,
        *,
        workload_id: str,
        claim_id: str,
        worker_id: str,
        fencing_token: int,
        result_id: str,
        output: Json,
        references: Sequence[str],
        schema_version: int,
        now_s: int,
    ) -> Result:
        """Record the result of a started attempt, or answer with the recorded one. ``schema_version`` >= 1.
        Implements WRK-CMP-01..10 and P-08.

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, RESULT_CONFLICT, RESULT_DUPLICATE, NOT_FOUND, TIMED_OUT
                (commits), CLAIM_INVALID, STALE_FENCE, STATE_INVALID, CONFLICT.
        """
        arguments, fence = fenced_arguments(workload_id, claim_id, worker_id, fencing_token, now_s)
        arguments.not_blank(result_id=result_id).safe_json(output=output).texts(references=references)
        arguments.integer(schema_version=schema_version, least=1).settle()
        completion = outcomes.Completion(result_id, copied(output), references, schema_version)
        with self._opened() as rows:
            taken = rows.result_is_taken(result_id, except_by=workload_id)
            own = self._committed(workload_id)
            recorded = outcomes.recorded_result(own, fence, completion) if own is not None else None
            if recorded is None and taken:
                raise refusal(ErrorCode.RESULT_DUPLICATE, "another workload has recorded this result id")
            row = self._read(workload_id)
        if recorded is None:
            recorded = self._settle(row, outcomes.complete(row.workload, fence, completion, now_s))
        return changed(recorded, output=copied(recorded.output), provenance=dict(recorded.provenance))

    def fail(
        self,
        *,
        workload_id: str,
        claim_id: str,
        worker_id: str,
        fencing_token: int,
        kind: str,
        error: str,
        effect: str | None,
        now_s: int,
    ) -> str:
        """Report a failure; the resulting state, on a repeat the present one. ``effect`` is None, ``none`` or
        ``unknown``. Implements WRK-FAL-01..16.

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID,
                STALE_FENCE, STATE_INVALID, CONFLICT.
        """
        arguments, fence = fenced_arguments(workload_id, claim_id, worker_id, fencing_token, now_s)
        arguments.text(kind=kind).safe_text(error=error)
        if effect is not None:
            arguments.one_of(EFFECTS, effect=effect)
        arguments.settle()
        row = self._read(workload_id)
        report = outcomes.FailureReport(kind, error, effect)
        return self._settle(row, outcomes.fail(row.workload, fence, report, now_s))

    # --- interventions

    def time_out(self, *, workload_id: str, actor: str, now_s: int) -> str:
        """An actor's timeout of waiting or active work; the resulting state. Implements WRK-TMO-01..06.

        Raises:
            WorkloadError: INVALID, NOT_FOUND, STATE_INVALID, CONFLICT.
        """
        Arguments().text(workload_id=workload_id, actor=actor).integer(now_s=now_s).settle()
        row = self._read(workload_id)
        return self._settle(row, interventions.time_out(row.workload, actor, now_s))

    def cancel(self, *, workload_id: str, actor: str, now_s: int) -> str:
        """Cancel resting work, ask active work to stop; the resulting state. Implements WRK-CAN-01..05, P-11.

        Raises:
            WorkloadError: INVALID, NOT_FOUND, STATE_INVALID, CONFLICT.
        """
        Arguments().text(workload_id=workload_id, actor=actor).integer(now_s=now_s).settle()
        row = self._read(workload_id)
        return self._settle(row, interventions.cancel(row.workload, actor, now_s))

    def acknowledge_cancel(
        self, *, workload_id: str, claim_id: str, worker_id: str, fencing_token: int, now_s: int
    ) -> str:
        """The holder has stopped: CANCELLATION_REQUESTED becomes CANCELLED. Implements WRK-CAN-05 (G-12).

        Raises:
            WorkloadError: NOT_FOUND, CLAIM_INVALID, STALE_FENCE, STATE_INVALID, CONFLICT.
        """
        arguments, fence = fenced_arguments(workload_id, claim_id, worker_id, fencing_token, now_s)
        arguments.settle()
        row = self._read(workload_id)
        return self._settle(row, interventions.acknowledge_cancel(row.workload, fence, now_s))

    def retry(self, *, workload_id: str, actor: str, reason: str | None, now_s: int) -> None:
        """An operator's re-arm of dead-lettered work: one attempt more. Implements WRK-RTY-01..08.

        Raises:
            WorkloadError: INVALID, NOT_FOUND, STATE_INVALID, RETRY_EXHAUSTED, CONFLICT.
        """
        arguments = Arguments().text(workload_id=workload_id, actor=actor).optional_text(reason=reason)
        arguments.integer(now_s=now_s).settle()
        row = self._read(workload_id)
        self._settle(row, interventions.retry(row.workload, actor, reason, now_s))

    # --- passes

    def enforce_deadlines(self, *, now_s: int) -> list[str]:
        """Expire each workload that has passed a deadline; the ids that this call expired, in order.
        Decided on one view of all rows. Implements WRK-EDL-01..10. Its cost grows with the stored rows.

        Raises:
            WorkloadError: INVALID.
        """
        Arguments().integer(now_s=now_s).settle()
        edits = []
        for row in self._read_all():
            breach = deadlines.passed_deadline(row.workload, now_s)
            if breach is not None:
                edits.append((row, deadlines.expired(row.workload, breach, now_s)))
        return self._commit_each(edits)

    def recover_expired(self, *, now_s: int) -> list[str]:
        """Recover each workload whose lease has lapsed; the ids that this call recovered, in order. Decided
        on one view of all rows. Implements WRK-REC-01..09. Its cost grows with the stored rows.

        Raises:
            WorkloadError: INVALID.
        """
        Arguments().integer(now_s=now_s).settle()
        edits = []
        for row in self._read_all():
            edited = recovery.recovered(row.workload, now_s)
            if edited is not None:
                edits.append((row, edited))
        return self._commit_each(edits)

    # --- migration

    def migrate(self, *, source: bytes) -> int:
        """Take over the content of a legacy file; how many workloads it wrote, 0 when all were there. A
        refusal writes nothing. Implements WRK-MIG-01..05, P-04, P-05.

        Raises:
            WorkloadError: INVALID (malformed file), MIGRATION_CONFLICT.
        """
        if not isinstance(source, bytes):
            raise wrong_type("source", "bytes", source)
        file = legacy.read_legacy_file(source)
        missing = legacy.missing_workloads(file, [row.workload for row in self._read_all()])
        if not missing:
            return 0
        self._run_pause()
        with self._opened() as rows:
            # Asked again, since another handle may have written meanwhile: the file is checked against all
            # rows.
            missing = legacy.missing_workloads(file, [row.workload for row in rows])
            for workload in missing:
                self._projection.adopt(rows.commit(None, workload))
        return len(missing)


def _replayed(row: Row, request: AdmissionRequest) -> Admitted:
    admission.check_replay(row.workload, request)
    return Admitted(workload=detached(row.workload), created=False)
