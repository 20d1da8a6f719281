"""The legacy file: read strictly, then compared with what is committed before anything is written
(WRK-MIG)."""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

import workspec.workload.vocabulary as vocabulary
from workspec.workload.vocabulary import ErrorCode, Json, State, Workload
from workstore.memory.arguments import BACKOFFS
from workstore.memory.json_values import MAX_DEPTH, canonical, inspect, with_room
from workstore.memory.refusals import refusal

_DEPTH_OF_STATE = 4
"""The state of a checkpoint stands in the entry, in the list, in the record, in ``workloads``."""
_MAY_BE_NEGATIVE = {
    *("priority", "created_at", "next_attempt_at", "claimed_at", "expires_at", "last_heartbeat"),
    *("started_at", "ended_at", "at"),
}
"""The priority and the instants; every other integer of a record counts something."""
_PARTS = {"workloads", "idempotency", "result_ids", "event_sequence"}


@frozen
class LegacyFile:
    """What the file says: the records, and three parts derived from them that serve as a cross-check."""

    workloads: tuple[Workload, ...]
    idempotency: Mapping[str, str]
    result_ids: Mapping[str, str]
    event_sequence: int


def read_legacy_file(source: bytes) -> LegacyFile:
    """Read a legacy file: UTF-8 JSON with the members of `LegacyFile`, ``workloads`` from id to record. Each
    record has all members of `Workload` and no others; what is absent is null.

    Raises:
        WorkloadError: INVALID for whatever is malformed (P-04).
    """
    try:
        return _legacy_file(with_room(lambda: _parsed(source)))
    except RecursionError:
        raise refusal(ErrorCode.INVALID, "the legacy file is nested too deep") from None
    except ValueError as error:
        raise refusal(ErrorCode.INVALID, f"the legacy file is malformed: {error}") from error


def _parsed(source: bytes) -> object:
    return json.loads(source.decode("utf-8"), object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)


def _legacy_file(content: object) -> LegacyFile:
    # Of the whole file first: without this the code below could meet JSON of any depth.
    fault = inspect(content, MAX_DEPTH + 1 + _DEPTH_OF_STATE).fault
    if fault is not None:
        raise ValueError(fault)
    if not isinstance(content, dict) or set(content) != _PARTS:
        raise ValueError(f"it must be an object with exactly {', '.join(sorted(_PARTS))}")
    records = _structured(dict[str, Workload], content["workloads"], "workloads")
    for workload_id, record in records.items():
        if workload_id != record.workload_id:
            raise ValueError(f"the record under {workload_id} calls itself {record.workload_id}")
        _check_words(record)
        _check_depth(record)
    return LegacyFile(
        workloads=tuple(records[workload_id] for workload_id in sorted(records)),
        idempotency=_structured(dict[str, str], content["idempotency"], "idempotency"),
        result_ids=_structured(dict[str, str], content["result_ids"], "result_ids"),
        event_sequence=_structured(int, content["event_sequence"], "event_sequence"),
    )


def _check_words(record: Workload) -> None:
    """The state and the back-off are words of the contract: with others no rule would know the record. Attempts
    and events may be spelled as an older store did: nothing but the replay of a failure report reads them."""
    for word, known in ((record.state, tuple(State)), (record.retry_policy.backoff, BACKOFFS)):
        if word not in known:
            raise ValueError(f"{record.workload_id} holds the unknown word {word!r}")


def _check_depth(record: Workload) -> None:
    """As on admission: what one store may hold another may take over."""
    for value in _json_of(record):
        fault = inspect(value).fault
        if fault is not None:
            raise ValueError(f"{record.workload_id}: {fault}")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object names a member twice")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# --- records out of JSON, by the annotations of the vocabulary


class _AnyJson:
    """Stands for the alias of JSON, which is recursive: no reader of annotations needs to unfold it."""


_NAMES = {**vars(vocabulary), "Json": _AnyJson}


def _structured(kind: Any, value: Any, where: str) -> Any:
    """The value of a declared type out of its JSON form (the head of the vocabulary gives the forms).

    Raises:
        ValueError: the JSON has another shape.
    """
    if kind is _AnyJson:
        return value
    origin, parameters = _taken_apart(kind)
    if origin in (Union, types.UnionType):
        inner = next(parameter for parameter in parameters if parameter is not types.NoneType)
        return None if value is None else _structured(inner, value, where)
    if origin in (tuple, frozenset):
        items = [_structured(parameters[0], item, where) for item in _expect(list, value, where)]
        return origin(items)
    if origin is not None and issubclass(origin, Mapping):
        members = _expect(dict, value, where)
        return {name: _structured(parameters[1], item, f"{where}.{name}") for name, item in members.items()}
    if attrs.has(kind):
        return _structured_record(kind, value, where)
    return _expect(kind, value, where)


@cache
def _taken_apart(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(kind), get_args(kind)


@cache
def _hints_of(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, _NAMES)


@cache
def _never_negative(kind: type) -> tuple[str, ...]:
    numbers = (name for name, hint in _hints_of(kind).items() if hint in (int, int | None))
    return tuple(name for name in numbers if name not in _MAY_BE_NEGATIVE)


def _structured_record(kind: Any, value: Any, where: str) -> Any:
    members = _expect(dict, value, where)
    hints = _hints_of(kind)
    if set(members) != set(hints):
        raise ValueError(f"{where} lacks or adds {', '.join(sorted(set(members) ^ set(hints)))}")
    parts = {name: _structured(hint, members[name], f"{where}.{name}") for name, hint in hints.items()}
    for name in _never_negative(kind):
        if (parts[name] or 0) < 0:
            raise ValueError(f"{where}.{name} must not be negative")
    return kind(**parts)


def _expect(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{where} must be of type {kind.__name__}")
    return value


# --- against what is committed


def missing_workloads(file: LegacyFile, committed: Iterable[Workload]) -> list[Workload]:
    """The workloads of the file that are not committed yet, by id.

    Raises:
        WorkloadError: MIGRATION_CONFLICT when a committed record differs from that of the file
            (WRK-MIG-02), or when a derived part of the file is not that of file and store together
            (WRK-MIG-04, P-05).
    """
    present = {workload.workload_id: workload for workload in committed}
    missing = []
    for workload in file.workloads:
        existing = present.get(workload.workload_id)
        if existing is None:
            missing.append(workload)
        elif not _is_same(existing, workload):
            raise _conflict(f"{workload.workload_id} is committed with other content")
    together = present | {workload.workload_id: workload for workload in missing}
    _check_derived_parts(file, [together[workload_id] for workload_id in sorted(together)])
    return missing


def _check_derived_parts(file: LegacyFile, workloads: list[Workload]) -> None:
    # Two requesters who share a key collapse into one entry here; the old scope did not know the requester.
    idempotency = {
        f"{workload.tenant_id}:{workload.application_id}:{workload.idempotency_key}": workload.workload_id
        for workload in workloads
    }
    result_ids = {
        workload.result.result_id: workload.workload_id for workload in workloads if workload.result is not None
    }
    if idempotency != file.idempotency:
        raise _conflict("the idempotency index of file and store together is not that of the file")
    results = sum(workload.result is not None for workload in workloads)
    if result_ids != file.result_ids or len(result_ids) != results:
        raise _conflict("the result ids of file and store together are not those of the file, each of one workload")
    if sum(len(workload.execution_history) for workload in workloads) != file.event_sequence:
        raise _conflict("the events of file and store together are not as many as the file says")


def _is_same(one: Workload, other: Workload) -> bool:
    """Equal as JSON too: for Python alone 1, 1.0 and True are equal."""
    return with_room(lambda: one == other) and [canonical(value) for value in _json_of(one)] == [
        canonical(value) for value in _json_of(other)
    ]


def _json_of(workload: Workload) -> list[Json]:
    outputs = [] if workload.result is None else [workload.result.output]
    return [workload.input, *(entry.state for entry in workload.checkpoints), *outputs]


def _conflict(message: str) -> Exception:
    return refusal(ErrorCode.MIGRATION_CONFLICT, message)
