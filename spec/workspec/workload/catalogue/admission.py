"""Admission and its replay.

Families: WRK-ADM, WRK-REP.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import CORE, DURABLE, LEGACY, PAUSE, SECRETS, WRITERS

ADMISSION: Final = (
    Requirement(
        "WRK-ADM-01",
        "To create is to admit without being told whether the workload is new: a replay gives the original "
        "as if it had just been created.",
        Kind.DEFINITION,
        CORE,
    ),
    Requirement(
        "WRK-ADM-02",
        "Admission checks in this order: secret material in `input`, blank key, zero timeout, authorization "
        "snapshot. Then a committed record under the derived id, and after it one in the index under the "
        "same scope, is answered by the replay rules; only then is the workload created. A lost race for "
        "creation is answered by the replay rules against the winner.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-ADM-03",
        "An `input` that contains secret material is refused with `WORKLOAD_SECRET_MATERIAL` before anything else.",
        Kind.RULE,
        SECRETS,
    ),
    Requirement(
        "WRK-ADM-04",
        "An idempotency key that is empty or only white space is refused with `WORKLOAD_INVALID`. Any other "
        'key is used verbatim and is not trimmed, so that `" one "` and `"one"` are different keys.',
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ADM-05",
        "Any of the five timeouts equal to 0 is refused with `WORKLOAD_INVALID` and nothing is created. An "
        "absent timeout means no deadline, and 1 ms is the least value.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ADM-06",
        "The authorization snapshot must name the same subject as `requested_by` and the same tenant as "
        "`tenant_id`, else the answer is `WORKLOAD_UNAUTHORIZED`; a store may hold it to the same "
        "application too, as the reference does. The check precedes every replay lookup, so that the answer "
        "is the same whether or not a record exists under the key. The signature and expiry of the snapshot "
        "are the caller's duty.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ADM-07",
        "The idempotency scope is the compact JSON array of five strings: tenant, application, kind of the "
        "requester, id of the requester, key. The encoding is injective, so that a separator inside one "
        "part cannot imitate another split: requester `x:k1` with key `k2` and requester `x` with key "
        "`k1:k2` are two workloads.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ADM-08",
        "The workload id is `workload_` and the first 24 lower-case hex digits of SHA-256 over the UTF-8 "
        'bytes of the scope: the scope `["t","app","agent","a1","one"]` gives '
        "`workload_a905c442ee731da96617b295`.",
        Kind.RULE,
        CORE,
        not_asserted="The form of an id is the store's choice; the kit only compares ids with each other.",
    ),
    Requirement(
        "WRK-ADM-09",
        "The scope includes the requester: the same key from another requester of the same tenant and "
        "application creates an independent workload. Nothing is looked up, disclosed or refused across "
        "requesters.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-ADM-10",
        "Because the id is derived from the scope, competing admissions contend on one record, whose "
        "creation requires that it is absent. No separate index makes them unique.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "WRK-ADM-11",
        "A new record gets contract version 2.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ADM-12",
        "Creation records one event to READY at `at` = `created_at`. When `not_before` is given, its "
        "decimal text stands in that event's evidence under `not_before`, and it is also the first "
        "`next_attempt_at`. The actor of the event and further evidence are the store's choice.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ADM-13",
        "Admission does not check that dependencies exist: unknown ids are accepted.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-ADM-14",
        "Success returns the workload and whether this call created it: true then, false when it answered "
        "with an existing one.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ADM-15",
        "A writer that loses the race for creation drops its own row and index entry, loads the committed "
        "row and answers by the replay rules. Only when no committed row can be loaded does it return "
        "`WORKLOAD_CONFLICT`; other errors of the write pass through.",
        Kind.SCENARIO,
        WRITERS,
        (PAUSE,),
    ),
)

REPLAY: Final = (
    Requirement(
        "WRK-REP-01",
        "A repeated scope is answered with the original and `created` = false only if all eleven execution "
        'fields are equal. Otherwise the answer is `IDEMPOTENCY_KEY_REUSED` with the details `{"fields": '
        "[...]}`, and nothing is created or changed.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REP-02",
        "The detail `fields` lists every conflicting field, in this order whatever the caller changed "
        "first: `definition_id`, `definition_revision`, `environment`, `input`, `capability_snapshot`, "
        "`connection_scopes`, `priority`, `retry_policy`, `timeouts`, `dependencies`, `not_before`. The "
        "requester is never among them, because it is part of the scope.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REP-03",
        "Definition, revision and environment are compared as exact text, priority as an integer, `input` "
        "by its canonical hash (the order of members is irrelevant at every depth, that of arrays is not; "
        "whether 1 equals 1.0 is the store's choice), capabilities and connection scopes as sets, and "
        "dependencies as a multiset, where order is irrelevant and repetition is not. Retry policy and "
        "timeouts are each compared as a whole after defaults, `retry_on` as a set, and each is reported "
        "once. `not_before` is compared with the value admitted, not with the present `next_attempt_at`, "
        "and absent differs from any value.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REP-04",
        "A replay compares none of `trigger`, `session_id`, `created_at` and the authorization snapshot, "
        "which was checked already.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "WRK-REP-05",
        "A replay returns the workload as it is now, in whatever state, terminal ones included, and never "
        "re-arms or changes it.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-REP-06",
        "After a restart a repeated admission is answered as before it, from the committed record.",
        Kind.SCENARIO,
        DURABLE,
    ),
    Requirement(
        "WRK-REP-07",
        "A record whose id was derived from an older scope still replays for its own requester, through the "
        "index over tenant, application, requester and key. A writer that has not yet seen that record "
        "brings itself up to date before it looks into the index, so that no second workload is admitted.",
        Kind.SCENARIO,
        LEGACY,
    ),
)
