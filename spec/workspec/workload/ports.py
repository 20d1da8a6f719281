"""The ports of the workload contract: what a store offers, one Protocol per profile that has methods of its own.

All arguments are keywords. A method returns its value or raises `WorkloadError`; `StoreUnavailable` says that
the storage is busy, full or broken; a wrong Python type is a `TypeError` before anything is read. A method that
an object lacks is a method that it does not claim.

The four arguments ``workload_id, claim_id, worker_id, fencing_token`` are the fence of a worker's call.
``now_s`` is an instant in seconds, given by the caller: the store reads no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Admitted,
    Checkpoint,
    Claim,
    ExecutionContext,
    Json,
    Result,
    Versioned,
)


@runtime_checkable
class WorkloadStore(Protocol):
    """Profile CORE. The profiles DURABLE, WRITERS, DEPENDENCIES, SECRETS and LEGACY add no methods."""

    def admit(self, *, request: AdmissionRequest) -> Admitted:
        """Create the workload of this request, or answer with the one that it replays (WRK-ADM, WRK-REP).

        The admission happens at ``request.created_at`` (P-01).

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, UNAUTHORIZED, IDEMPOTENCY_KEY_REUSED (details ``fields``),
                CONFLICT.
        """

    def claim(
        self, *, workload_id: str, worker_id: str, capabilities: Sequence[str], lease_ms: int, now_s: int
    ) -> Claim:
        """Take READY work under a lease (WRK-CLM). ``lease_ms`` >= 1.

        Raises:
            WorkloadError: INVALID, NOT_FOUND, TIMED_OUT and ATTEMPTS_EXHAUSTED (both commit), NOT_READY,
                CAPABILITY_MISSING, DEPENDENCY_PENDING, CONFLICT.
        """

    def start(self, *, workload_id: str, claim_id: str, worker_id: str, fencing_token: int, now_s: int) -> None:
        """Begin execution of claimed work (WRK-STR).

        Raises:
            WorkloadError: NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE, STATE_INVALID, CONFLICT.
        """

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
        """Renew the lease to ``now_s`` plus the extension, without an event (WRK-HBT). ``extension_ms`` >= 1.

        Raises:
            WorkloadError: INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE, CONFLICT.
        """

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
            WorkloadError: NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE, INVALID (an empty secret
                reference), SECRET_MATERIAL (a reference that is itself a secret), CONFLICT.
        """

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
            WorkloadError: SECRET_MATERIAL, INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE,
                STATE_INVALID, CONFLICT.
        """

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

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, RESULT_CONFLICT, RESULT_DUPLICATE, NOT_FOUND, TIMED_OUT
                (commits), CLAIM_INVALID, STALE_FENCE, STATE_INVALID, CONFLICT.
        """

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
        """Report a failure; the resulting state, or on a repeat the present one (WRK-FAL). ``effect`` is None,
        ``none`` or ``unknown``.

        Raises:
            WorkloadError: SECRET_MATERIAL, INVALID, NOT_FOUND, TIMED_OUT (commits), CLAIM_INVALID, STALE_FENCE,
                STATE_INVALID, CONFLICT.
        """

    def time_out(self, *, workload_id: str, actor: str, now_s: int) -> str:
        """An actor's timeout of waiting or active work; the resulting state (WRK-TMO). Not fenced.

        Raises:
            WorkloadError: NOT_FOUND, STATE_INVALID, CONFLICT.
        """

    def cancel(self, *, workload_id: str, actor: str, now_s: int) -> str:
        """Cancel resting work at once, ask active work to stop; the resulting state (WRK-CAN, P-11).

        Raises:
            WorkloadError: NOT_FOUND, STATE_INVALID, CONFLICT.
        """

    def acknowledge_cancel(
        self, *, workload_id: str, claim_id: str, worker_id: str, fencing_token: int, now_s: int
    ) -> str:
        """The holder has stopped: CANCELLATION_REQUESTED becomes CANCELLED (G-12).

        Raises:
            WorkloadError: NOT_FOUND, CLAIM_INVALID, STALE_FENCE, STATE_INVALID, CONFLICT.
        """

    def retry(self, *, workload_id: str, actor: str, reason: str | None, now_s: int) -> None:
        """An operator's re-arm of dead-lettered work: one attempt more (WRK-RTY).

        Raises:
            WorkloadError: NOT_FOUND, STATE_INVALID, RETRY_EXHAUSTED, CONFLICT.
        """

    def enforce_deadlines(self, *, now_s: int) -> list[str]:
        """Expire each workload that has passed a deadline; the ids that this call expired, in order (WRK-EDL)."""

    def recover_expired(self, *, now_s: int) -> list[str]:
        """Recover each workload whose lease has lapsed; the ids that this call recovered, in order (WRK-REC)."""

    def get(self, *, workload_id: str, fresh: bool = True) -> Versioned | None:
        """The record, or None. ``fresh=False`` may answer from a projection that is behind (P-06)."""

    def list_workloads(self, *, tenant_id: str, application_id: str, fresh: bool = True) -> list[Versioned]:
        """All records of one tenant and application, by workload id."""


@runtime_checkable
class MigratingStore(Protocol):
    """Profile MIGRATION."""

    def migrate(self, *, source: bytes) -> int:
        """Take over the content of a legacy file; how many workloads it wrote (WRK-MIG, P-04, P-05).

        ``source`` is one JSON object: ``workloads`` (id to record), ``idempotency`` (old scope text
        ``tenant:application:key`` to id), ``result_ids`` (result id to workload id), ``event_sequence`` (how many
        events the histories hold together).

        Raises:
            WorkloadError: INVALID (malformed file), MIGRATION_CONFLICT; nothing is written then.
        """
