"""The legacy file: reading it into records, and the cross-check of its derived parts (WRK-MIG)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from workspec.core.record import Record
from workspec.workload.facts import absorb, present
from workspec.workload.rules import BACKOFFS, MAX_I64, MIN_I64, is_sound_json
from workspec.workload.vocabulary import Json, State, Workload

MEMBERS = ("workloads", "idempotency", "result_ids", "event_sequence")


class MalformedFile(Exception):  # noqa: N818 - what is wrong with the file, not with the caller
    """The file is no legacy file; the text says where."""


@attrs.frozen
class LegacyFile:
    records: Mapping[str, Record]
    idempotency: Mapping[str, str]
    result_ids: Mapping[str, str]
    event_sequence: int


@lru_cache(maxsize=16)
def read(source: bytes) -> LegacyFile:
    """Parse a legacy file; several rules ask for the same one, and what it gives is never changed in place.

    Raises:
        MalformedFile: it is not one JSON object of the form in `ports.MigratingStore.migrate` (P-04).
    """
    try:
        tree = json.loads(source.decode("utf-8"), object_pairs_hook=_unique_members)
    except (ValueError, RecursionError) as error:
        raise MalformedFile(f"not JSON: {error}") from error
    if not isinstance(tree, dict) or set(tree) != set(MEMBERS) or not is_sound_json(tree):
        raise MalformedFile(f"not one object with exactly the members {', '.join(MEMBERS)}")
    workloads = _mapping(tree["workloads"], "workloads")
    records = {}
    for key in sorted(workloads):
        workload = _structure(Workload, workloads[key], f"workloads.{key}")
        if workload.workload_id != key:
            raise MalformedFile(f"workloads.{key} names another id, {workload.workload_id!r}")
        if workload.state not in set(State) or workload.retry_policy.backoff not in BACKOFFS:
            raise MalformedFile(f"workloads.{key} has an unknown state or back-off")
        if min(workload.attempt_count, workload.retry_count, workload.retry_policy.max_attempts) < 0:
            raise MalformedFile(f"workloads.{key} counts below zero")
        records[key] = absorb(workload, 1)
    sequence = tree["event_sequence"]
    if not isinstance(sequence, int) or isinstance(sequence, bool):
        raise MalformedFile("event_sequence is no integer")
    return LegacyFile(
        records,
        _texts(tree["idempotency"], "idempotency"),
        _texts(tree["result_ids"], "result_ids"),
        sequence,
    )


def derived_parts_agree(file: LegacyFile, state: Mapping[str, Record]) -> bool:
    """The file's derived parts equal those of file and store together (WRK-MIG-04, P-05)."""
    # Two requesters with one key collapse in the old index; the greater id stays, on any store.
    together = [present(record) for _key, record in sorted({**state, **file.records}.items())]
    idempotency = {f"{w.tenant_id}:{w.application_id}:{w.idempotency_key}": w.workload_id for w in together}
    results = [(w.result.result_id, w.workload_id) for w in together if w.result is not None]
    result_ids = dict(results)
    if len(result_ids) != len(results):
        return False
    events = sum(len(w.execution_history) for w in together)
    found = (dict(file.idempotency), dict(file.result_ids), file.event_sequence)
    return (idempotency, result_ids, events) == found


def differs_from_store(file: LegacyFile, state: Mapping[str, Record]) -> bool:
    """A workload of the file stands in the store with other content (WRK-MIG-02)."""
    return any(key in state and present(state[key]) != present(record) for key, record in file.records.items())


# From JSON to the vocabulary's carriers --------------------------------------------------------------------------


def _unique_members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member name stands twice in one object")
    return members


def _mapping(value: Json, path: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise MalformedFile(f"{path} is no object")
    return value


def _texts(value: Json, path: str) -> dict[str, str]:
    members = _mapping(value, path)
    if not all(isinstance(item, str) for item in members.values()):
        raise MalformedFile(f"{path} holds something other than texts")
    return {name: str(item) for name, item in members.items()}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _structure(kind: Any, value: Json, path: str) -> Any:
    """One value by its type hint; every member must be there and no other."""
    origin = get_origin(kind)
    if attrs.has(kind):
        members = _mapping(value, path)
        hints = {field.name: _hints(kind)[field.name] for field in attrs.fields(kind)}
        if set(members) != set(hints):
            raise MalformedFile(f"{path} lacks or adds members: {sorted(set(members) ^ set(hints))}")
        return kind(**{name: _structure(hint, members[name], f"{path}.{name}") for name, hint in hints.items()})
    if origin in (tuple, frozenset):
        if not isinstance(value, list):
            raise MalformedFile(f"{path} is no array")
        return origin(_structure(get_args(kind)[0], item, f"{path}[]") for item in value)
    if origin is not None and issubclass(origin if isinstance(origin, type) else object, Mapping):
        return _texts(value, path)
    if kind in (int, str):
        return _scalar(kind, value, path)
    if origin in (Union, UnionType) and len(get_args(kind)) == 2 and NoneType in get_args(kind):
        inner = next(option for option in get_args(kind) if option is not NoneType)
        return None if value is None else _structure(inner, value, path)
    return value  # Json: anything


def _scalar(kind: type, value: Json, path: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise MalformedFile(f"{path} is no {'integer' if kind is int else 'text'}")
    if isinstance(value, int) and not MIN_I64 <= value <= MAX_I64:
        raise MalformedFile(f"{path} is beyond signed 64 bits")
    return value
