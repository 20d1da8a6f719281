"""What operators do and read (10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workspec.core.condition import Condition, Term
from workspec.core.rule import Draw, Operation, Refuse, Skip, Step, When, ids
from workspec.core.scope import Scope
from workspec.jobs import effects, terms, values
from workspec.jobs.draw import jobs, rows_in
from workspec.jobs.facts import (
    EVICTABLE,
    UNFINISHED,
    WAITING,
    FingerprintFacts,
    JobFacts,
    fingerprint_key,
)
from workspec.jobs.operations.shared import NO_SUCH_JOB, flag, invalid, move, nothing, of_job, wrong_state
from workspec.jobs.vocabulary import ErrorCode, QuarantineEntry, State

PENDING, RUNNING = State.PENDING, State.RUNNING
CANCELLABLE: Final = tuple(State(name) for name in UNFINISHED)
AT_REST: Final = tuple(State(name) for name in (*WAITING, *EVICTABLE, "quarantined"))


def _verb(name: str, requirements: str, *steps: Step, checks: tuple[Refuse, ...]) -> Operation:
    return Operation(
        name,
        checks=(NO_SUCH_JOB, *checks),
        steps=steps,
        answer=nothing,
        locate=of_job,
        requirements=ids(requirements),
    )


def _other_holder(scope: Scope) -> str | None:
    """The id of another live row that holds the key of the addressed one."""
    key = scope.facts.unique_key
    return None if key is None else terms.lifecycle_holder(scope, key)


_key_is_taken: Final[Condition] = flag("another row holds the key", "store", lambda s: _other_holder(s) is not None)
_is_running: Final = terms.state_is("running")
_version: Final = terms.argument("schema_version", "version")

CANCEL: Final = _verb(
    "operator_cancel",
    "JOB-OPR-02 JOB-OPR-03 JOB-UNQ-03 JOB-BPR-08 JOB-RATE-13",
    When(_is_running, (effects.clear_lease,)),
    move("operator cancel", "JOB-OPR-02"),
    effects.finalize,
    checks=(wrong_state("JOB-OPR-02", *CANCELLABLE),),
)
RETRY: Final = _verb(
    "operator_retry",
    "JOB-OPR-04 JOB-OPR-05 JOB-OPR-06 JOB-BPR-09",
    move("operator retry", "JOB-OPR-04"),
    effects.due_now,
    checks=(
        wrong_state("JOB-OPR-04", State.ARCHIVED, State.CANCELLED, State.UNDECODABLE),
        Refuse(
            ids("JOB-OPR-05"),
            ErrorCode.DUPLICATE,
            _key_is_taken,
            details=lambda scope: {"existing_id": _other_holder(scope), "replaced": False},
        ),
    ),
)
PROMOTE: Final = _verb(
    "promote_job",
    "JOB-OPR-07",
    move("operator promote", "JOB-OPR-07"),
    effects.due_now,
    checks=(wrong_state("JOB-OPR-07", PENDING),),
)
SCHEDULE_PENDING: Final = _verb(
    "schedule_pending_job",
    "JOB-OPR-08",
    move("schedule pending", "JOB-OPR-08"),
    effects.due_as_given,
    checks=(wrong_state("JOB-OPR-08", PENDING),),
)
RESCHEDULE: Final = _verb(
    "reschedule_job",
    "JOB-OPR-09",
    effects.due_as_given,
    checks=(wrong_state("JOB-OPR-09", State.SCHEDULED, State.RETRYABLE),),
)
EDIT_PAYLOAD: Final = Operation(
    "edit_payload",
    checks=(
        invalid("JOB-OPR-10 JOB-PRT-01", "bad_schema_version", (_version < 1) | (_version > values.MAX_SCHEMA_VERSION)),
        invalid(
            "JOB-PRT-12",
            "payload_too_large",
            Term("payload bytes", "bytes", "call", lambda s: len(s.call["payload"])) > values.MAX_PAYLOAD_BYTES,
        ),
        NO_SUCH_JOB,
        wrong_state("JOB-OPR-10", *AT_REST),
    ),
    steps=(effects.edit_content,),
    answer=nothing,
    locate=of_job,
    requirements=ids("JOB-OPR-10"),
)
DELETE: Final = _verb(
    "delete_job",
    "JOB-OPR-11 JOB-UNQ-03 JOB-UNQ-07 JOB-BPR-08",
    move("delete", "JOB-OPR-11"),
    checks=(wrong_state("JOB-OPR-11", *AT_REST),),
)

# Release -----------------------------------------------------------------------------------------------------------


def _of_fingerprint(scope: Scope, facts: JobFacts) -> bool:
    return bool(facts.fingerprint == scope.call["fingerprint"])


def _register_key(scope: Scope) -> str:
    return fingerprint_key(scope.call["fingerprint"])


def _knows_nothing(scope: Scope) -> bool:
    parked = any(row.state == "quarantined" and _of_fingerprint(scope, row) for row in jobs(scope))
    return _register_key(scope) not in scope.state and not parked


def _retaken(scope: Scope) -> bool:
    """A live row holds the key, be it one that this very release has freed (A-26)."""
    key = scope.facts.unique_key
    if key is None:
        return False
    rows = {**{f"job/{row.id}": row for row in jobs(scope)}, **scope.drafted}
    return any(
        isinstance(row, JobFacts) and row.unique_key == key and row.state in UNFINISHED and name != scope.key
        for name, row in rows.items()
    )


RELEASE: Final = Draw(
    "release_fingerprint",
    order=rows_in("quarantined", by=lambda _facts: 0, also=_of_fingerprint),
    checks=(
        Refuse(
            ids("JOB-QUA-05 JOB-PRT-09"),
            ErrorCode.NOT_FOUND,
            flag("neither an entry nor a row of the fingerprint", "store", _knows_nothing),
            details=lambda scope: {"what": "fingerprint", "id": scope.call["fingerprint"]},
        ),
    ),
    gate=(Skip(ids("JOB-QUA-05 JOB-PRT-09"), flag("another row holds the key", "store", _retaken)),),
    steps=(move("release", "JOB-QUA-05 JOB-QUA-06"), effects.due_now),
    closing=(effects.unregister_released,),
    until=flag("never", "constant", lambda _scope: False),
    answer=lambda _scope, taken, _after: len(taken),
    states=("quarantined",),
    requirements=ids("JOB-QUA-05 JOB-QUA-06 JOB-BPR-09"),
)

# Reads -------------------------------------------------------------------------------------------------------------


def _register(_scope: Scope, after: Mapping[str, Any]) -> list[QuarantineEntry]:
    entries = [record.facts for record in after.values() if isinstance(record.facts, FingerprintFacts)]
    return [
        QuarantineEntry(entry.fingerprint, entry.kind, entry.crash_attempt, entry.since_ms, "")
        for entry in sorted(entries, key=lambda entry: entry.fingerprint.encode())
    ]


LIST_QUARANTINED: Final = Operation(
    "list_quarantined",
    checks=(),
    steps=(),
    answer=_register,
    locate=lambda _scope: "store",
    requirements=ids("JOB-QUA-07"),
)

OPERATIONS: Final = (
    CANCEL,
    RETRY,
    PROMOTE,
    SCHEDULE_PENDING,
    RESCHEDULE,
    EDIT_PAYLOAD,
    DELETE,
    RELEASE,
    LIST_QUARANTINED,
)
