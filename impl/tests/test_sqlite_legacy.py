"""Records of older versions: rows without a version, contract version 1, older ids, and the legacy file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Grant,
    Result,
    Subject,
    Timeouts,
    Workload,
    WorkloadError,
)
from workstore.sqlite import WorkloadStore
from workstore.sqlite.encoding import plain

REQUESTER = Subject("agent", "a1")
NO_TIMEOUTS = Timeouts(None, None, None, None, None)
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=REQUESTER,
    idempotency_key="one",
    definition_id="definition",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=("b", "a"),
    connection_scopes=None,
    priority=None,
    retry_policy=None,
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(REQUESTER, "t", "app", "signed"),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkloadStore]:
    with WorkloadStore.open(tmp_path / "work.db", synchronous="NORMAL") as opened:
        yield opened


def admitted(store: WorkloadStore, **changes: Any) -> Workload:
    return store.admit(request=evolve(REQUEST, **changes)).workload


def claim(store: WorkloadStore, workload_id: str, now_s: int = 11) -> Any:
    return store.claim(
        workload_id=workload_id, worker_id="a", capabilities=["a", "b"], lease_ms=1000, now_s=now_s
    )


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(WorkloadError) as caught:
        call()
    return caught.value.code


def test_a_row_without_a_version_counts_as_one_and_gets_two(store: WorkloadStore) -> None:
    workload = admitted(store)
    store.inject(record=workload, version=None)
    assert store.snapshot() == {workload.workload_id: None}
    versioned = store.get(workload_id=workload.workload_id)
    assert versioned is not None
    assert versioned.version == 1
    claim(store, workload.workload_id)
    assert store.snapshot() == {workload.workload_id: 2}


def test_a_row_without_a_version_is_guarded_by_its_content(store: WorkloadStore) -> None:
    workload = admitted(store)
    store.inject(record=workload, version=None)
    store.pause(lambda: store.inject(record=evolve(workload, priority=5), version=None))
    assert code_of(lambda: claim(store, workload.workload_id)) == "WORKLOAD_CONFLICT"
    assert store.snapshot() == {workload.workload_id: None}


def test_contract_version_one_has_leases_and_budget_but_no_deadlines(store: WorkloadStore) -> None:
    workload = admitted(store, timeouts=evolve(NO_TIMEOUTS, queue_ms=1000))
    workload_id = workload.workload_id
    store.inject(record=evolve(workload, contract_version=1), version=1)
    assert store.enforce_deadlines(now_s=1_000_000) == []
    claim(store, workload_id, 1_000_000)
    assert store.recover_expired(now_s=1_000_001) == [workload_id]
    versioned = store.get(workload_id=workload_id)
    assert versioned is not None
    assert (versioned.workload.contract_version, versioned.workload.state) == (1, "READY")
    store.inject(record=evolve(versioned.workload, attempt_count=3), version=9)
    assert code_of(lambda: claim(store, workload_id, 1_000_002)) == "WORKLOAD_ATTEMPTS_EXHAUSTED"
    assert store.snapshot() == {workload_id: 10}


def test_a_record_under_an_older_id_replays_for_its_own_requester(store: WorkloadStore) -> None:
    older = evolve(admitted(store), workload_id="older")
    store.reset()
    store.inject(record=older, version=3)
    answer = store.admit(request=REQUEST)
    assert (answer.created, answer.workload) == (False, older)
    other = Subject("agent", "a2")
    grant = Grant(other, "t", "app", "signed")
    assert store.admit(request=evolve(REQUEST, requested_by=other, authorization_snapshot=grant)).created


def result_of(workload: Workload, result_id: str) -> Workload:
    result = Result(result_id, "attempt", {"sent": 1}, "hash", "a", {"claim_id": "c"}, ("file",), 1)
    return evolve(workload, state="SUCCEEDED", result=result)


def legacy_file(*records: Workload, **changes: Any) -> dict[str, Any]:
    return {
        "workloads": {record.workload_id: plain(record) for record in records},
        "idempotency": {
            f"{record.tenant_id}:{record.application_id}:{record.idempotency_key}": record.workload_id
            for record in records
        },
        "result_ids": {record.result.result_id: record.workload_id for record in records if record.result},
        "event_sequence": sum(len(record.execution_history) for record in records),
        **changes,
    }


@pytest.fixture
def records(store: WorkloadStore) -> list[Workload]:
    made = [admitted(store, idempotency_key=str(number)) for number in range(3)]
    made[1] = result_of(made[1], "r")
    made[2] = evolve(made[2], contract_version=1)
    store.reset()
    return sorted(made, key=lambda record: record.workload_id)


def migrate(store: WorkloadStore, file: Any) -> int:
    return store.migrate(source=json.dumps(file).encode())


def test_migration_writes_once_and_reads_back_the_same(store: WorkloadStore, records: list[Workload]) -> None:
    file = legacy_file(*records)
    assert migrate(store, file) == 3
    assert store.snapshot() == {record.workload_id: 1 for record in records}
    listed = store.list_workloads(tenant_id="t", application_id="app")
    assert [row.workload for row in listed] == records
    assert migrate(store, file) == 0
    assert store.snapshot() == {record.workload_id: 1 for record in records}


def test_an_interrupted_migration_is_finished_by_the_next(
    store: WorkloadStore, records: list[Workload]
) -> None:
    store.inject(record=records[0], version=1)
    assert migrate(store, legacy_file(*records)) == 2


def test_a_migration_accepts_what_another_wrote_meanwhile(
    store: WorkloadStore, records: list[Workload]
) -> None:
    store.pause(lambda: store.inject(record=records[0], version=1))
    assert migrate(store, legacy_file(*records)) == 2
    store.reset()
    store.pause(lambda: store.inject(record=evolve(records[0], priority=1), version=1))
    assert code_of(lambda: migrate(store, legacy_file(*records))) == "WORKLOAD_MIGRATION_CONFLICT"


@pytest.mark.parametrize(
    "change",
    [
        {"event_sequence": 4},
        {"event_sequence": 2},
        {"result_ids": {}},
        {"result_ids": {"r": "other"}},
        {"idempotency": {}},
        {"idempotency": {"t:app:0": "other"}},
    ],
)
def test_a_derived_part_that_differs_writes_nothing(
    store: WorkloadStore, records: list[Workload], change: dict[str, Any]
) -> None:
    assert code_of(lambda: migrate(store, legacy_file(*records, **change))) == "WORKLOAD_MIGRATION_CONFLICT"
    assert store.snapshot() == {}


def test_a_store_with_other_or_later_rows_refuses(store: WorkloadStore, records: list[Workload]) -> None:
    file = legacy_file(*records)
    migrate(store, file)
    file["workloads"][records[0].workload_id]["priority"] = 1
    assert code_of(lambda: migrate(store, file)) == "WORKLOAD_MIGRATION_CONFLICT"
    store.reset()
    admitted(store, idempotency_key="unrelated")
    before = store.snapshot()
    assert code_of(lambda: migrate(store, legacy_file(*records))) == "WORKLOAD_MIGRATION_CONFLICT"
    assert store.snapshot() == before


def test_two_results_under_one_id_are_refused(store: WorkloadStore, records: list[Workload]) -> None:
    doubled = [result_of(record, "r") for record in records[:2]]
    assert code_of(lambda: migrate(store, legacy_file(*doubled))) == "WORKLOAD_MIGRATION_CONFLICT"
    assert store.snapshot() == {}


def without(name: str) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        del record[name]

    return change


def setting(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        record[name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        without("created_at"),
        setting("unknown", 1),
        setting("state", "WAITING"),
        setting("attempt_count", -1),
        setting("created_at", True),
        setting("created_at", 2**63),
        setting("workload_id", "other"),
        setting("timeouts", {}),
        setting("execution_history", [{}]),
        setting("capability_snapshot", "a"),
        setting("input", float("nan")),
        setting("input", "\ud800"),
        setting("current_claim", []),
    ],
)
def test_a_malformed_record_writes_nothing(
    store: WorkloadStore, records: list[Workload], change: Callable[[dict[str, Any]], None]
) -> None:
    file = legacy_file(*records)
    change(file["workloads"][records[2].workload_id])
    assert code_of(lambda: migrate(store, file)) == "WORKLOAD_INVALID"
    assert store.snapshot() == {}


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"workloads":{},"idempotency":{},"result_ids":{}}',
        b'{"workloads":[],"idempotency":{},"result_ids":{},"event_sequence":0}',
        b'{"workloads":{},"idempotency":{},"result_ids":{},"event_sequence":0,"event_sequence":0}',
        b'{"workloads":{},"idempotency":{},"result_ids":{},"event_sequence":' + b"9" * 5000 + b"}",
        b"[" * 100_000,
    ],
)
def test_a_malformed_file_is_invalid(store: WorkloadStore, source: bytes) -> None:
    assert code_of(lambda: store.migrate(source=source)) == "WORKLOAD_INVALID"


def test_an_empty_file_is_no_fault(store: WorkloadStore) -> None:
    assert migrate(store, legacy_file()) == 0
