"""The legacy file: reading it strictly, and checking it against itself and the store (WRK-MIG).

The file's three derived parts serve as a cross-check only. Of two workloads under one old scope text, the one
with the greater id is what the old index should name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from attrs import frozen

from workspec.workload.vocabulary import ErrorCode, State, Workload, WorkloadError

from .decision import invalid, refusal
from .encoding import from_plain, plain
from .json_values import at_any_depth, canonical_text, examine, is_storable_integer, is_unicode

Form: TypeAlias = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and is_unicode(value)


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and is_storable_integer(value)


def _count(value: Any) -> bool:
    return _integer(value) and value >= 0


def _document(value: Any) -> bool:
    return examine(value, "a document of the file").fault is None


def _one_of(*allowed: str) -> Form:
    return lambda value: isinstance(value, str) and value in allowed


def _optional(form: Form) -> Form:
    return lambda value: value is None or form(value)


def _several(form: Form) -> Form:
    return lambda value: isinstance(value, list) and all(form(member) for member in value)


def _map_to(form: Form) -> Form:
    return lambda value: isinstance(value, dict) and all(_text(name) and form(value[name]) for name in value)


def _object(**members: Form) -> Form:
    """An object with exactly these members: what an unknown one says would be lost."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == members.keys()
        and all(form(value[name]) for name, form in members.items())
    )


_claim = _object(
    claim_id=_text,
    worker_id=_text,
    fencing_token=_count,
    claimed_at=_integer,
    expires_at=_integer,
    last_heartbeat=_integer,
)
_attempt = _object(
    attempt_id=_text,
    claim_id=_text,
    worker_id=_text,
    fencing_token=_count,
    # Any text: older stores had spellings of their own, and nothing but a report's replay reads them.
    status=_text,
    started_at=_optional(_integer),
    ended_at=_optional(_integer),
    error=_optional(_text),
)
_result = _object(
    result_id=_text,
    attempt_id=_text,
    output=_document,
    output_hash=_text,
    produced_by=_text,
    provenance=_map_to(_text),
    references=_several(_text),
    schema_version=_count,
)
_event = _object(sequence=_count, from_state=_text, to_state=_text, actor=_text, at=_integer, evidence=_map_to(_text))
_policy = _object(
    max_attempts=_count,
    backoff=_one_of("fixed", "exponential"),
    initial_delay_ms=_count,
    max_delay_ms=_count,
    retry_on=_several(_text),
)
_timeouts = _object(
    queue_ms=_optional(_count),
    claim_ms=_optional(_count),
    execution_ms=_optional(_count),
    heartbeat_ms=_optional(_count),
    overall_ms=_optional(_count),
)
_workload = _object(
    contract_version=_count,
    workload_id=_text,
    tenant_id=_text,
    application_id=_text,
    requested_by=_object(kind=_text, id=_text),
    idempotency_key=_text,
    definition_id=_text,
    definition_revision=_text,
    environment=_text,
    input=_document,
    input_hash=_text,
    capability_snapshot=_several(_text),
    connection_scopes=_several(_text),
    priority=_integer,
    retry_policy=_policy,
    timeouts=_timeouts,
    dependencies=_several(_object(workload_id=_text, required_state=_text)),
    created_at=_integer,
    state=_one_of(*State),
    attempt_count=_count,
    retry_count=_count,
    attempts=_several(_attempt),
    current_claim=_optional(_claim),
    next_attempt_at=_optional(_integer),
    last_failure=_optional(_text),
    checkpoints=_several(_object(attempt_id=_text, state=_document)),
    result=_optional(_result),
    execution_history=_several(_event),
)
_derived: Final[Mapping[str, Form]] = {
    "idempotency": _map_to(_text),
    "result_ids": _map_to(_text),
    "event_sequence": _integer,
}


@frozen
class LegacyFile:
    """A well-formed file: its records by id, and the three derived parts as they stand there."""

    workloads: Mapping[str, Workload]
    idempotency: Mapping[str, str]
    """Old scope text ``tenant:application:key`` to workload id."""
    result_ids: Mapping[str, str]
    event_sequence: int
    """How many events the histories hold together."""


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object names a member twice")
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _loaded(source: bytes) -> Any:
    decoder = json.JSONDecoder(object_pairs_hook=_unique_members, parse_constant=_no_constant)
    try:
        return at_any_depth(decoder.decode, source.decode())
    except (ValueError, RecursionError) as error:
        raise invalid(f"The legacy file is not readable JSON: {error}. Nothing was written.") from error


def parse(source: bytes) -> LegacyFile:
    """Read a legacy file.

    Raises:
        WorkloadError: INVALID (P-04).
    """
    content = _loaded(source)
    if not isinstance(content, dict) or content.keys() != {"workloads", *_derived}:
        raise invalid(f"The legacy file must be an object of workloads, {', '.join(_derived)}, no more.")
    for name, form in _derived.items():
        if not form(content[name]):
            raise invalid(f"The part {name} of the legacy file is malformed. Nothing was written.")
    forms = content["workloads"]
    if not isinstance(forms, dict):
        raise invalid("The part workloads of the legacy file must map ids to records. Nothing was written.")
    for workload_id, form in forms.items():
        if not _workload(form) or form["workload_id"] != workload_id:
            raise invalid(f"Workload {workload_id!r} of the legacy file is malformed. Nothing was written.")
    records = {workload_id: from_plain(forms[workload_id]) for workload_id in sorted(forms)}
    return LegacyFile(records, content["idempotency"], content["result_ids"], content["event_sequence"])


def _difference(part: str) -> WorkloadError:
    """The refusal of a file that does not fit the store or itself (WRK-MIG-02, G-20)."""
    return refusal(
        ErrorCode.MIGRATION_CONFLICT,
        f"{part} of the legacy file does not agree with the workloads in file and store. Migrate an "
        "unchanged file into an empty store, or repeat the migration that filled this one.",
    )


def _identical(one: Workload, other: Workload) -> bool:
    """Whether two records are the same JSON, whatever the order of members; 1, 1.0 and true differ."""
    return canonical_text(plain(one)) == canonical_text(plain(other))


def _old_scope(record: Workload) -> str:
    return f"{record.tenant_id}:{record.application_id}:{record.idempotency_key}"


def _refuse_inconsistency(file: LegacyFile, records: Sequence[Workload]) -> None:
    """Derive the three parts from the records of file and store together, by id, and compare (WRK-MIG-04, P-05).

    Raises:
        WorkloadError: MIGRATION_CONFLICT.
    """
    if file.idempotency != {_old_scope(record): record.workload_id for record in records}:
        raise _difference("The idempotency index")
    results = [(record.result.result_id, record.workload_id) for record in records if record.result]
    if file.result_ids != dict(results) or len(file.result_ids) != len(results):
        raise _difference("The index of result ids")
    if file.event_sequence != sum(len(record.execution_history) for record in records):
        raise _difference("The event sequence")


def missing_records(file: LegacyFile, stored: Mapping[str, Workload]) -> list[Workload]:
    """The records still to be written, by id, once file and store agree (WRK-MIG-02, WRK-MIG-04, G-20).

    Raises:
        WorkloadError: MIGRATION_CONFLICT.
    """
    missing = {workload_id: record for workload_id, record in file.workloads.items() if workload_id not in stored}
    for workload_id in file.workloads.keys() & stored.keys():
        if not _identical(stored[workload_id], file.workloads[workload_id]):
            raise _difference(f"Workload {workload_id!r}")
    together = {**stored, **missing}
    _refuse_inconsistency(file, [together[workload_id] for workload_id in sorted(together)])
    return list(missing.values())
