"""What holds for every operation, and rulings on the port.

Families: WRK-GEN, WRK-PRT.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import CORE, LEGACY, MIGRATION, PAUSE, SECRETS, SNAPSHOT, WRITERS

GENERAL: Final = (
    Requirement(
        "WRK-GEN-01",
        "Every mutating operation edits a private copy of the workload and commits it in one guarded write. "
        "If the operation or the write fails, neither the store nor the projection keeps any part of the "
        "edit.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-GEN-02",
        "An operation that returns an error leaves the committed record untouched, with exactly two "
        "exceptions that commit and return an error: `WORKLOAD_TIMED_OUT` commits the expiry and "
        "`WORKLOAD_ATTEMPTS_EXHAUSTED` commits the dead-lettering. The deadline pass and recovery "
        "commit workload by workload: an error stops them without undoing what they committed before it. A "
        "migration may do so too, or commit as one.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-GEN-03",
        "All events of one operation are committed together. FAILED, RECOVERING and a deadline's TIMED_OUT "
        "are always followed, in the same commit and at the same `at`, by READY or DEAD_LETTER, so that "
        "they are seen in history but never as the committed current state of work handled by this version.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-GEN-04",
        "A successful mutating call gives the row one new version in one guarded write, however many events "
        "it appends; a replay and a plain read leave the version as it is. The step from one version to the "
        "next is the store's choice: the reference adds one.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-GEN-05",
        "All evidence values are strings, and integers are written there in plain decimal. Error details "
        "are JSON with native types, so that `deadline_at` is a string in evidence and a number in details. "
        "Only `IDEMPOTENCY_KEY_REUSED` and `WORKLOAD_TIMED_OUT` carry details; every other error has none.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "WRK-GEN-06",
        "Every state change appends one event with the new state, the actor, the instant `at` = now and its "
        "evidence. A change whose pair of states is not in the transition table is refused with "
        "`WORKLOAD_STATE_INVALID`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-GEN-07",
        "An operation that names an unknown id fails with `WORKLOAD_NOT_FOUND`. After the checks of the "
        "arguments (WRK-PRT-02) this is the first check of claim, start, heartbeat and execution context; "
        "in checkpoint it follows the secret check, in complete the secret check and the result-id lookup, "
        "in fail the secret check and the effect check.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-GEN-08",
        "Text is secret material if it contains `BEGIN PRIVATE KEY` anywhere, or starts with `sk-`, or "
        "starts with `fdb_live_`. Case counts and nothing is trimmed.",
        Kind.RULE,
        SECRETS,
    ),
    Requirement(
        "WRK-GEN-09",
        "Secret material in a string value at any depth of an admission's `input`, a checkpoint's `state` "
        "or a completion's `output`, or in a failure's `error` text, is refused with "
        "`WORKLOAD_SECRET_MATERIAL`, as the first check of each of these operations; whether member names "
        "are examined too is the store's choice. The check is not applied to the operator's retry reason, "
        "the failure kind, the idempotency key or any identifier.",
        Kind.RULE,
        SECRETS,
    ),
    Requirement(
        "WRK-GEN-10",
        "The engine writes four actors: `authority.claim` for work found exhausted at a claim, "
        "`authority.retry` for the decision after a failure report, `authority.deadline` and "
        "`authority.recovery`. A failure event carries the worker id as its actor; an actor timeout and an "
        "operator retry carry the caller's actor.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-GEN-11",
        "Claim, start, heartbeat, execution context, checkpoint, complete and fail check deadlines before "
        "anything on the claim. Admission, the actor timeout, operator retry, recovery, cancel and its "
        "acknowledgement check no deadline.",
        Kind.RULE,
        CORE,
    ),
)

PORT: Final = (
    Requirement(
        "WRK-PRT-01",
        "Admission and migration take no `now`: an admission happens at the request's `created_at`, a "
        "migration keeps the instants of the file. Execution context does take one, because it may expire "
        "the work.",
        Kind.DEFINITION,
        CORE,
    ),
    Requirement(
        "WRK-PRT-02",
        "A zero lease or extension, a blank result id, a schema number of 0, an instant or number beyond "
        "signed 64 bits, a NaN, an unknown back-off and an unknown effect are refused with "
        "`WORKLOAD_INVALID`, right after the secret check and before anything is read from the store. The "
        "order among such refusals is the store's choice.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-PRT-03",
        "An empty secret reference is refused with `WORKLOAD_INVALID`, one that is itself secret material "
        "with `WORKLOAD_SECRET_MATERIAL`.",
        Kind.RULE,
        SECRETS,
    ),
    Requirement(
        "WRK-PRT-04",
        "A malformed migration file is refused with `WORKLOAD_INVALID` and nothing is written.",
        Kind.RULE,
        MIGRATION,
    ),
    Requirement(
        "WRK-PRT-05",
        "The cross-check of a migration (WRK-MIG-04) is made on file and store together before anything is "
        "written, and a refusal writes nothing. Migration returns how many workloads it wrote, which is 0 "
        "the second time.",
        Kind.RULE,
        MIGRATION,
    ),
    Requirement(
        "WRK-PRT-06",
        "Reading one workload and listing both take `fresh`, which is true when left out. A fresh read "
        "gives what has been committed through any writer; a store without a projection answers each read "
        "so.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "WRK-PRT-07",
        "The version of a row without one is null in a snapshot and 1 in a read.",
        Kind.SCENARIO,
        LEGACY,
        (SNAPSHOT,),
    ),
    Requirement(
        "WRK-PRT-08",
        "A completion whose result id another workload takes between lookup and commit fails with "
        "`WORKLOAD_RESULT_DUPLICATE` and changes nothing else.",
        Kind.SCENARIO,
        WRITERS,
        (PAUSE,),
    ),
    Requirement(
        "WRK-PRT-09",
        "Expiry, exhaustion, replay and edit are decided on one and the same committed version. A "
        "`WORKLOAD_CONFLICT` returned by an operation on one workload comes from the guard of its write "
        "only.",
        Kind.SCENARIO,
        WRITERS,
        (PAUSE,),
    ),
    Requirement(
        "WRK-PRT-10",
        "A race of several rounds has a fresh store for each round.",
        Kind.DEFINITION,
        WRITERS,
    ),
    Requirement(
        "WRK-PRT-11",
        "A repeated cancel succeeds without change, in CANCELLATION_REQUESTED and in CANCELLED alike; a "
        "store may declare that it refuses one. Work in DEAD_LETTER may be cancelled; for work in SUCCEEDED "
        "the answer is `WORKLOAD_STATE_INVALID`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-PRT-12",
        "Reading a workload shows its committed record, and nothing for an unknown id. A list holds every workload "
        "of the tenant and application, and no other. A read changes nothing.",
        Kind.RULE,
        CORE,
    ),
)
