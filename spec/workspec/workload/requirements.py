"""The catalogue of the workload contract: every requirement, in the order in which it is printed."""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Catalogue, Family
from workspec.workload.catalogue import (
    admission,
    arithmetic,
    execution,
    general,
    invariants,
    outcomes,
    passes,
    stores,
)

FAMILIES: Final = (
    Family("WRK-GEN", "general", "General rules"),
    Family("WRK-ADM", "admit", "Admission"),
    Family("WRK-REP", "replay", "Replay of an admission"),
    Family("WRK-CLM", "claim", "Claim"),
    Family("WRK-FNC", "fence", "Fence"),
    Family("WRK-STR", "start", "Start"),
    Family("WRK-HBT", "heartbeat", "Heartbeat"),
    Family("WRK-CTX", "context", "Execution context"),
    Family("WRK-CKP", "checkpoint", "Checkpoint"),
    Family("WRK-CMP", "complete", "Completion"),
    Family("WRK-FAL", "fail", "Failure report"),
    Family("WRK-TMO", "timeout", "Timeout by an actor"),
    Family("WRK-CAN", "cancel", "Cancellation"),
    Family("WRK-RTY", "retry", "Operator retry"),
    Family("WRK-DLN", "deadline", "Deadlines: when they are passed"),
    Family("WRK-EDL", "expiry", "Deadlines: how they are enforced"),
    Family("WRK-REC", "recovery", "Recovery of lapsed leases"),
    Family("WRK-DEC", "decision", "Decisions on ended attempts"),
    Family("WRK-ART", "arithmetic", "Arithmetic and defaults"),
    Family("WRK-MWR", "writers", "Several writers of one store"),
    Family("WRK-LEG", "legacy", "Records of an older contract version"),
    Family("WRK-MIG", "migration", "Migration of a legacy file"),
    Family("WRK-ROW", "row", "Rows without a version"),
    Family("WRK-INV", "invariant", "Invariants"),
    Family("WRK-PRT", "port", "The port"),
)

CATALOGUE: Final = Catalogue(
    contract="workload",
    version="1.0",
    requirements=(
        *general.GENERAL,
        *admission.ADMISSION,
        *admission.REPLAY,
        *execution.CLAIM,
        *execution.FENCE,
        *execution.START,
        *execution.HEARTBEAT,
        *execution.CONTEXT,
        *execution.CHECKPOINT,
        *outcomes.COMPLETION,
        *outcomes.FAILURE,
        *outcomes.TIMEOUT,
        *outcomes.CANCELLATION,
        *outcomes.RETRY,
        *passes.DEADLINE,
        *passes.EXPIRY,
        *passes.RECOVERY,
        *arithmetic.DECISION,
        *arithmetic.ARITHMETIC,
        *stores.WRITERS_OF_ONE_STORE,
        *stores.OLDER_RECORDS,
        *stores.LEGACY_FILE,
        *stores.UNVERSIONED_ROWS,
        *invariants.INVARIANTS,
        *general.PORT,
    ),
    families=FAMILIES,
)
