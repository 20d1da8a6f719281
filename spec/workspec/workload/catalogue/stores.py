"""Several writers of one store, older records and rows, migration.

Families: WRK-MWR, WRK-LEG, WRK-MIG, WRK-ROW.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import LEGACY, MIGRATION, PAUSE, RESTART, WRITERS

WRITERS_OF_ONE_STORE: Final = (
    Requirement(
        "WRK-MWR-01",
        "The committed store is the authority. What a writer holds beside it (workloads, index of scopes, "
        "index of result ids, row versions) is a projection that can be rebuilt from the rows.",
        Kind.DEFINITION,
        WRITERS,
    ),
    Requirement(
        "WRK-MWR-02",
        "A refresh does nothing if the store's revision is the last reconciled one; else it reads every row "
        "again whose version differs, either way, from the projection's. It remembers a revision taken "
        "before the rows were listed, and so does opening a store, so that a write which slips in meanwhile "
        "is picked up the next time.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "WRK-MWR-03",
        "Before an operation on an id, a writer reads the row again if it knows the id, and refreshes as a "
        "whole if it does not; an admission reads the derived id.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "WRK-MWR-04",
        "A writer sees, fences against and replays what another has committed, without a restart. A plain "
        "read may be stale, a fresh read is not.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "WRK-MWR-05",
        "A commit is guarded by the version that the edit started from, or by absence for a creation. A "
        "loser gets `WORKLOAD_CONFLICT`, commits nothing, and its projection adopts the committed row at "
        "once.",
        Kind.SCENARIO,
        WRITERS,
        (PAUSE,),
    ),
    Requirement(
        "WRK-MWR-06",
        "Two concurrent recoveries of one lapsed lease give exactly one list with the id and one empty "
        "list, and one RECOVERING event. Afterwards both projections equal the committed record, and later "
        "recoveries return nothing and commit nothing.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "WRK-MWR-07",
        "A writer whose view is older than such a recovery gets `WORKLOAD_CONFLICT` for a start at "
        "`expires_at` - 1 and then shows READY; its next completion gets `WORKLOAD_CLAIM_INVALID`. An "
        "up-to-date writer's heartbeat with the lost claim gets `WORKLOAD_CLAIM_INVALID`.",
        Kind.SCENARIO,
        WRITERS,
        (PAUSE,),
    ),
    Requirement(
        "WRK-MWR-08",
        "Concurrent recovery never exceeds the budget: with a budget of 3, after three losses "
        "`attempt_count` is 3, the state DEAD_LETTER and every attempt WORKER_LOST.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "WRK-MWR-09",
        "Concurrent admissions of the same request give one id and exactly one `created` = true. Of "
        "different requests under one key exactly one is admitted, the other gets `IDEMPOTENCY_KEY_REUSED`, "
        "and what is stored is the winner's.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "WRK-MWR-10",
        "Nothing in this contract deletes a workload; a row that is no longer live need not leave the projection.",
        Kind.DEFINITION,
        WRITERS,
    ),
)

OLDER_RECORDS: Final = (
    Requirement(
        "WRK-LEG-01",
        "Records of contract version 1 keep their contract: timeouts are stored but never enforced.",
        Kind.SCENARIO,
        LEGACY,
    ),
    Requirement(
        "WRK-LEG-02",
        "Everything else applies to records of version 1: fencing, budget, bounded recovery, exhausted "
        "claim, failure reports, actor timeout and operator retry.",
        Kind.SCENARIO,
        LEGACY,
    ),
    Requirement(
        "WRK-LEG-03",
        "A record of version 1 left in READY with `attempt_count` at or over the budget is dead-lettered by "
        "the next claim.",
        Kind.SCENARIO,
        LEGACY,
    ),
)

LEGACY_FILE: Final = (
    Requirement(
        "WRK-MIG-01",
        "Migration writes every workload of the file; migrating the same file again succeeds and changes nothing.",
        Kind.SCENARIO,
        MIGRATION,
    ),
    Requirement(
        "WRK-MIG-02",
        "A file with a workload that differs from the committed one fails with "
        "`WORKLOAD_MIGRATION_CONFLICT`, and the committed workload stays as it is.",
        Kind.RULE,
        MIGRATION,
    ),
    Requirement(
        "WRK-MIG-03",
        "The file may be removed after the migration: a reopened store has the workloads.",
        Kind.SCENARIO,
        MIGRATION,
        (RESTART,),
    ),
    Requirement(
        "WRK-MIG-04",
        "The file's idempotency index (with the old scope text `tenant:application:key`), result-id index "
        "and event sequence (the number of all events in the histories) serve only as a cross-check: each "
        "must equal what follows from file and store together, else the answer is "
        "`WORKLOAD_MIGRATION_CONFLICT`. So a file can be migrated only into a store that is empty or "
        "already holds just its workloads.",
        Kind.RULE,
        MIGRATION,
    ),
    Requirement(
        "WRK-MIG-05",
        "After a migration the live index uses the scope that includes the requester.",
        Kind.SCENARIO,
        MIGRATION,
    ),
)

UNVERSIONED_ROWS: Final = (
    Requirement(
        "WRK-ROW-01",
        "A row without a version counts as version 1.",
        Kind.SCENARIO,
        LEGACY,
    ),
    Requirement(
        "WRK-ROW-02",
        "The first update of a row without a version is guarded like any other, on the row being still "
        "without a version and unchanged, and leaves a row that has a version, other than 1.",
        Kind.SCENARIO,
        LEGACY,
    ),
    Requirement(
        "WRK-ROW-03",
        "Emptied projections are rebuilt from the rows alone, with the same content of every index.",
        Kind.SCENARIO,
        LEGACY,
        (RESTART,),
    ),
)
