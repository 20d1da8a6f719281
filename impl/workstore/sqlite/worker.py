"""The calls of a worker: from claim to its one outcome."""

from __future__ import annotations

from collections.abc import Sequence

from workspec.workload.vocabulary import Checkpoint, Claim, ExecutionContext, Json, Result, Workload

from . import claims, interventions, reports, rows, states
from .arguments import (
    refuse_below,
    refuse_faulty_document,
    refuse_secret,
    refuse_unknown_effect,
    refuse_unstorable,
    require_fence,
    require_integers,
    require_optional_texts,
    require_several_texts,
    require_texts,
)
from .decision import invalid, not_found
from .fence import Fence
from .handle import Handle
from .json_values import canonical_hash, examine, is_secret


class WorkerCalls(Handle):
    """Every call but `claim` shows a fence. All but `acknowledge_cancel` first enforce a passed deadline."""

    def _dependency_states(self, record: Workload) -> dict[str, str]:
        if record.state != states.READY or not record.dependencies:
            return {}
        wanted = {dependency.workload_id for dependency in record.dependencies}
        return self._connection.read(
            lambda connection: rows.states_of(connection, wanted, record.tenant_id, record.application_id)
        )

    def claim(
        self, *, workload_id: str, worker_id: str, capabilities: Sequence[str], lease_ms: int, now_s: int
    ) -> Claim:
        """Take READY work under a lease of at least ``lease_ms``, rounded up to seconds (WRK-CLM).

        Raises:
            WorkloadError: INVALID, NOT_FOUND, TIMED_OUT and ATTEMPTS_EXHAUSTED (both commit), NOT_READY,
                CAPABILITY_MISSING, DEPENDENCY_PENDING, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_texts(workload_id=workload_id, worker_id=worker_id)
        require_several_texts("capabilities", capabilities)
        require_integers(lease_ms=lease_ms, now_s=now_s)
        refuse_unstorable(
            workload_id=workload_id,
            worker_id=worker_id,
            capabilities=capabilities,
            lease_ms=lease_ms,
            now_s=now_s,
        )
        refuse_below(1, lease_ms=lease_ms)
        row = self._find(workload_id)
        claimant = claims.Claimant(
            worker_id, frozenset(capabilities), lease_ms, self._new_id("attempt"), self._new_id("claim")
        )
        dependency_states = self._dependency_states(row.workload)
        return self._settle(row, claims.claim(row.workload, claimant, dependency_states, now_s))

    def start(self, *, workload_id: str, claim_id: str, worker_id: str, fencing_token: int, now_s: int) -> None:
        """Begin execution of claimed work (WRK-STR).

        Raises:
            WorkloadError: INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE, STATE_INVALID,
                CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        fence = _checked_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        row = self._find(workload_id)
        return self._settle(row, claims.start(row.workload, fence, now_s))

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
        """Renew the lease to ``now_s`` plus the extension, rounded up; it may so become shorter (WRK-HBT).

        Raises:
            WorkloadError: INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_integers(extension_ms=extension_ms)
        fence = _checked_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        refuse_unstorable(extension_ms=extension_ms)
        refuse_below(1, extension_ms=extension_ms)
        row = self._find(workload_id)
        return self._settle(row, claims.heartbeat(row.workload, fence, extension_ms, now_s))

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
        """What the holder needs to run or resume; commits nothing but a due expiry (WRK-CTX).

        Raises:
            WorkloadError: INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE,
                SECRET_MATERIAL, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_several_texts("secret_references", secret_references)
        fence = _checked_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        refuse_unstorable(secret_references=secret_references)
        row = self._find(workload_id)
        return self._settle(row, claims.execution_context(row.workload, fence, secret_references, now_s))

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
        """Record progress of a started attempt (WRK-CKP).

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID,
                STALE_FENCE, STATE_INVALID, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        examination = examine(state, "state")
        refuse_secret(examination.has_secret, "state")
        fence = _checked_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        refuse_faulty_document(examination, "state")
        row = self._find(workload_id)
        return self._settle(row, reports.checkpoint(row.workload, fence, state, now_s))

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
        """Record the result of a started attempt, or answer with the one already recorded (WRK-CMP).

        A result id is unique in the whole store, across tenants.

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, RESULT_CONFLICT, RESULT_DUPLICATE, NOT_FOUND, TIMED_OUT
                (commits), CLAIM_INVALID, STALE_FENCE, STATE_INVALID, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        require_texts(result_id=result_id)
        require_several_texts("references", references)
        require_integers(schema_version=schema_version)
        examination = examine(output, "output")
        refuse_secret(examination.has_secret, "output")
        fence = _checked_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        refuse_unstorable(result_id=result_id, references=references, schema_version=schema_version)
        if not result_id.strip():
            raise invalid("result_id is blank. Give each result an id that a repeat can name.")
        refuse_below(1, schema_version=schema_version)
        refuse_faulty_document(examination, "output")
        completion = reports.Completion(result_id, output, canonical_hash(output), tuple(references), schema_version)
        row, owner = self._connection.read(
            lambda connection: rows.find_with_result_owner(connection, workload_id, result_id)
        )
        if owner is not None and owner != workload_id:
            raise reports.duplicate_result(result_id)
        if row is None:
            raise not_found(workload_id)
        return self._settle(row, reports.complete(row.workload, fence, completion, now_s))

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
        """Report a failure; the resulting state, on a repeat the present one (WRK-FAL).

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID,
                STALE_FENCE, STATE_INVALID, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        require_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        require_texts(kind=kind, error=error)
        require_optional_texts(effect=effect)
        refuse_secret(is_secret(error), "error")
        refuse_unknown_effect(effect)
        fence = _checked_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        refuse_unstorable(kind=kind, error=error)
        row = self._find(workload_id)
        failure = reports.Failure(kind, error, effect)
        return self._settle(row, reports.fail(row.workload, fence, failure, now_s))

    def acknowledge_cancel(
        self, *, workload_id: str, claim_id: str, worker_id: str, fencing_token: int, now_s: int
    ) -> str:
        """The holder has stopped: CANCELLATION_REQUESTED becomes CANCELLED, which is the answer (G-12).

        Raises:
            WorkloadError: INVALID, NOT_FOUND, CLAIM_INVALID, STALE_FENCE, STATE_INVALID, CONFLICT.
            StoreUnavailable: the file is busy, full or broken.
        """
        fence = _checked_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
        row = self._find(workload_id)
        return self._settle(row, interventions.acknowledge_cancel(row.workload, fence, now_s))


def _checked_fence(workload_id: str, claim_id: str, worker_id: str, fencing_token: int, now_s: int) -> Fence:
    require_fence(workload_id, claim_id, worker_id, fencing_token, now_s)
    refuse_unstorable(
        workload_id=workload_id,
        claim_id=claim_id,
        worker_id=worker_id,
        fencing_token=fencing_token,
        now_s=now_s,
    )
    return Fence(claim_id, worker_id, fencing_token)
