"""Taking over a legacy file into the in-memory store."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from attrs import evolve

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Grant,
    Subject,
    Workload,
    WorkloadError,
)
from workstore.memory import WorkloadStore
from workstore.memory.json_values import MAX_DEPTH

AGENT = Subject(kind="agent", id="a1")
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=AGENT,
    idempotency_key="one",
    definition_id="d",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=("a", "b"),
    connection_scopes=None,
    priority=None,
    retry_policy=None,
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(subject=AGENT, tenant_id="t", application_id="app", signature="s"),
)


def as_json(value: Any) -> Any:
    """The JSON form of the vocabulary's values."""
    if attrs.has(type(value)):
        return {field.name: as_json(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    return dict(value) if isinstance(value, dict) else value


def file_of(*records: Workload, **changes: Any) -> dict[str, Any]:
    return {
        "workloads": {record.workload_id: as_json(record) for record in records},
        "idempotency": {
            f"{record.tenant_id}:{record.application_id}:{record.idempotency_key}": record.workload_id
            for record in records
        },
        "result_ids": {
            record.result.result_id: record.workload_id for record in records if record.result is not None
        },
        "event_sequence": sum(len(record.execution_history) for record in records),
        **changes,
    }


def encoded(content: object) -> bytes:
    return json.dumps(content).encode()


def records() -> list[Workload]:
    """One finished workload with every optional part, and one that waits."""
    store = WorkloadStore()
    done = store.admit(request=REQUEST).workload.workload_id
    store.admit(request=evolve(REQUEST, idempotency_key="two", not_before=50))
    held = store.claim(workload_id=done, worker_id="w", capabilities=("a", "b"), lease_ms=1000, now_s=11)
    fence: dict[str, Any] = {
        "workload_id": done,
        "claim_id": held.claim_id,
        "worker_id": "w",
        "fencing_token": 1,
        "now_s": 11,
    }
    store.start(**fence)
    store.checkpoint(**fence, state={"n": [1, 2.5, None]})
    store.complete(**fence, result_id="r", output={"sent": True}, references=("x",), schema_version=1)
    return [found.workload for found in store.list_workloads(tenant_id="t", application_id="app")]


def code_of(store: WorkloadStore, source: bytes) -> str:
    with pytest.raises(WorkloadError) as caught:
        store.migrate(source=source)
    assert caught.value.details is None
    return str(caught.value.code)


@pytest.fixture
def store() -> WorkloadStore:
    return WorkloadStore()


class TestTakingOver:
    def test_twice_is_the_same(self, store: WorkloadStore) -> None:
        given = records()
        assert store.migrate(source=encoded(file_of(*given))) == 2
        assert [
            found.workload for found in store.list_workloads(tenant_id="t", application_id="app")
        ] == given
        assert set(store.snapshot().values()) == {1}
        assert store.migrate(source=encoded(file_of(*given))) == 0
        assert set(store.snapshot().values()) == {1}

    def test_empty_file(self, store: WorkloadStore) -> None:
        assert store.migrate(source=encoded(file_of())) == 0

    def test_taken_over_work_replays_and_goes_on(self, store: WorkloadStore) -> None:
        given = records()
        store.migrate(source=encoded(file_of(*given)))
        assert not store.admit(request=REQUEST).created
        waiting = next(record for record in given if record.result is None)
        claim = store.claim(
            workload_id=waiting.workload_id, worker_id="w", capabilities=("a", "b"), lease_ms=1, now_s=50
        )
        assert claim.fencing_token == 1

    def test_records_under_older_ids_replay(self, store: WorkloadStore) -> None:
        older = evolve(records()[0], workload_id="workload_older")
        store.migrate(source=encoded(file_of(older)))
        request = evolve(REQUEST, idempotency_key=older.idempotency_key, not_before=50)
        if older.result is not None:
            request = evolve(request, not_before=None)
        assert store.admit(request=request).workload == older

    def test_the_deepest_json_that_an_admission_takes(self, store: WorkloadStore) -> None:
        deep: Any = None
        for _ in range(MAX_DEPTH):
            deep = [deep]
        record = evolve(records()[0], input=deep)
        assert store.migrate(source=encoded(file_of(record))) == 1
        too_deep = evolve(record, input=[deep])
        assert code_of(WorkloadStore(), encoded(file_of(too_deep))) == "WORKLOAD_INVALID"


class TestConflicts:
    @pytest.mark.parametrize(
        "changes", [{"priority": 1}, {"input": {"id": True}}, {"input": {"id": 1.0}}, {"last_failure": "x"}]
    )
    def test_differing_record(self, store: WorkloadStore, changes: dict[str, Any]) -> None:
        given = records()
        store.migrate(source=encoded(file_of(*given)))
        changed = [evolve(given[0], **changes), given[1]]
        assert code_of(store, encoded(file_of(*changed))) == "WORKLOAD_MIGRATION_CONFLICT"
        assert set(store.snapshot().values()) == {1}

    @pytest.mark.parametrize(
        "changes",
        [
            {"idempotency": {}},
            {"idempotency": {"t:app:one": "other"}},
            {"result_ids": {}},
            {"result_ids": {"r": "other"}},
            {"event_sequence": 5},
            {"event_sequence": 7},
        ],
    )
    def test_derived_parts(self, store: WorkloadStore, changes: dict[str, Any]) -> None:
        given = records()
        assert file_of(*given)["event_sequence"] == 6
        assert code_of(store, encoded(file_of(*given, **changes))) == "WORKLOAD_MIGRATION_CONFLICT"
        assert store.snapshot() == {}

    def test_store_with_other_work(self, store: WorkloadStore) -> None:
        store.admit(request=evolve(REQUEST, idempotency_key="other"))
        before = store.snapshot()
        assert code_of(store, encoded(file_of(*records()))) == "WORKLOAD_MIGRATION_CONFLICT"
        assert store.snapshot() == before

    def test_other_work_admitted_meanwhile(self, store: WorkloadStore) -> None:
        other = store.handle()
        store.pause(lambda: drop(other.admit(request=evolve(REQUEST, idempotency_key="other"))))
        assert code_of(store, encoded(file_of(*records()))) == "WORKLOAD_MIGRATION_CONFLICT"
        assert len(store.snapshot()) == 1

    def test_same_file_taken_over_meanwhile(self, store: WorkloadStore) -> None:
        source = encoded(file_of(*records()))
        other = store.handle()
        store.pause(lambda: drop(other.migrate(source=source)))
        assert store.migrate(source=source) == 0
        assert set(store.snapshot().values()) == {1}


def drop(_: object) -> None:
    """Drop an answer, for a callback that must have none."""


def with_record(**changes: Any) -> bytes:
    content = file_of(records()[0])
    for record in content["workloads"].values():
        record.update(changes)
    return encoded(content)


MALFORMED = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"x": "\xff"}',
    "UTF-16": "{}".encode("utf-16"),
    "no object": b"[]",
    "no parts": b"{}",
    "a part missing": encoded({key: value for key, value in file_of().items() if key != "result_ids"}),
    "a part too many": encoded(file_of(more=1)),
    "NaN": b'{"workloads": {}, "idempotency": {}, "result_ids": {}, "event_sequence": NaN}',
    "member twice": encoded(file_of()).replace(b'"result_ids": {}', b'"result_ids": {}, "result_ids": {}'),
    "lone surrogate": encoded(file_of(idempotency={"\ud800": "x"})),
    "endless nesting": b"[" * 100_000,
    "number of many digits": b'{"event_sequence": ' + b"9" * 10_000 + b"}",
    "float for an integer": encoded(file_of(event_sequence=0.0)),
    "bool for an integer": encoded(file_of(event_sequence=False)),
    "list for an object": encoded(file_of(idempotency=[])),
    "wrong text": encoded(file_of(result_ids={"r": 1})),
    "record under another id": encoded(file_of() | {"workloads": {"x": as_json(records()[0])}}),
    "no record": encoded(file_of() | {"workloads": {"x": 1}}),
    "unknown member": with_record(colour="red"),
    "unknown state": with_record(state="PAUSED"),
    "unknown status": with_record(
        attempts=[
            {
                **dict.fromkeys(("attempt_id", "claim_id", "worker_id"), "x"),
                "fencing_token": 1,
                "status": "LOST",
            }
        ]
    ),
    "null for a state": with_record(state=None),
    "set as an object": with_record(capability_snapshot={}),
    "integer beyond 64 bits": with_record(created_at=2**63),
    "unknown back-off": with_record(
        retry_policy={
            "max_attempts": 1,
            "backoff": "linear",
            "initial_delay_ms": 1,
            "max_delay_ms": 1,
            "retry_on": [],
        }
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files(store: WorkloadStore, name: str) -> None:
    assert code_of(store, MALFORMED[name]) == "WORKLOAD_INVALID"
    assert store.snapshot() == {}


@pytest.mark.parametrize("name", ["state", "input", "current_claim"])
def test_no_member_may_be_missing(store: WorkloadStore, name: str) -> None:
    content = file_of(records()[0])
    (record,) = content["workloads"].values()
    del record[name]
    assert code_of(store, encoded(content)) == "WORKLOAD_INVALID"
