"""Taking over a legacy file, into either store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from attrs import evolve

from workspec.workload.vocabulary import Workload
from workstore.memory import WorkloadStore

DEEPEST = 500
POLICY = {"max_attempts": 1, "backoff": "fixed", "initial_delay_ms": 1, "max_delay_ms": 1, "retry_on": []}
TIMEOUTS = dict.fromkeys(("queue_ms", "claim_ms", "execution_ms", "heartbeat_ms", "overall_ms"))
ATTEMPT = {
    **dict.fromkeys(("attempt_id", "claim_id", "worker_id", "status"), "x"),
    **dict.fromkeys(("started_at", "ended_at", "error")),
    "fencing_token": 1,
}


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
        "result_ids": {record.result.result_id: record.workload_id for record in records if record.result},
        "event_sequence": sum(len(record.execution_history) for record in records),
        **changes,
    }


def encoded(content: object) -> bytes:
    return json.dumps(content).encode()


@pytest.fixture
def records(asking: Any, driven: Any) -> list[Workload]:
    """One finished workload with every optional part, one that waits, and one of contract version 1; by id."""
    store = WorkloadStore()

    def admitted(**changes: Any) -> Any:
        answer = store.admit(request=asking(capability_snapshot=("b", "a"), **changes))
        return driven(store, answer.workload.workload_id)

    done = admitted()
    held = done.claim("w", 11, lease_ms=1000, capabilities=("a", "b"))
    done.start(held, 11)
    done.checkpoint(held, {"n": [1, 2.5, None]}, 11)
    store.complete(
        **done.fence(held), result_id="r", output={"sent": True}, references=("x",), schema_version=1, now_s=11
    )
    admitted(idempotency_key="two", not_before=50)
    admitted(idempotency_key="three").inject(contract_version=1)
    return [found.workload for found in store.list_workloads(tenant_id="t", application_id="app")]


@pytest.fixture
def finished(records: list[Workload]) -> Workload:
    return next(record for record in records if record.result is not None)


@pytest.fixture
def waiting(records: list[Workload]) -> Workload:
    return next(record for record in records if record.next_attempt_at == 50)


@pytest.fixture
def migrate(store: Any) -> Callable[[object], int]:
    return lambda content: store.migrate(source=encoded(content))


class TestTakingOver:
    def test_twice_is_the_same(self, store: Any, owner: Any, migrate: Any, records: list[Workload]) -> None:
        versions = {record.workload_id: 1 for record in records}
        assert migrate(file_of(*records)) == 3
        assert [found.workload for found in store.list_workloads(**owner)] == records
        assert store.snapshot() == versions
        assert migrate(file_of(*records)) == 0
        assert store.snapshot() == versions

    def test_empty_file(self, migrate: Any) -> None:
        assert migrate(file_of()) == 0

    def test_taken_over_work_replays_and_goes_on(
        self, store: Any, asking: Any, driven: Any, migrate: Any, records: list[Workload], waiting: Workload
    ) -> None:
        migrate(file_of(*records))
        assert not store.admit(request=asking(capability_snapshot=("a", "b"))).created
        work = driven(store, waiting.workload_id)
        assert work.claim("w", 50, capabilities=("a", "b")).fencing_token == 1

    def test_records_under_older_ids_replay(self, store: Any, asking: Any, migrate: Any, finished: Workload) -> None:
        older = evolve(finished, workload_id="workload_older")
        migrate(file_of(older))
        assert store.admit(request=asking(capability_snapshot=("a", "b"))).workload == older

    def test_what_is_there_already_is_left_out(self, store: Any, migrate: Any, records: list[Workload]) -> None:
        store.inject(record=records[0], version=1)
        assert migrate(file_of(*records)) == 2

    def test_the_old_index_names_the_greater_id_of_two_requesters(self, migrate: Any, waiting: Workload) -> None:
        two = [evolve(waiting, workload_id=name, requested_by=evolve(waiting.requested_by, id=name)) for name in "ab"]
        content = file_of(*two)
        assert [*content["idempotency"].values()] == ["b"]
        assert migrate(content) == 2

    def test_spellings_of_older_stores(self, store: Any, migrate: Any, finished: Workload) -> None:
        attempts = (evolve(finished.attempts[0], status="DONE"),)
        events = (evolve(finished.execution_history[0], from_state="NEW"), *finished.execution_history[1:])
        older = evolve(finished, attempts=attempts, execution_history=events)
        assert migrate(file_of(older)) == 1
        assert store.get(workload_id=older.workload_id).workload == older

    def test_the_deepest_json_that_an_admission_takes(
        self, store: Any, migrate: Any, code_of: Any, finished: Workload
    ) -> None:
        deep: Any = None
        for _ in range(DEEPEST):
            deep = [deep]
        record = evolve(finished, input=deep, checkpoints=(evolve(finished.checkpoints[0], state=deep),))
        assert migrate(file_of(record)) == 1
        assert migrate(file_of(record)) == 0
        store.reset()
        too_deep = evolve(finished, input=[deep])
        assert code_of(migrate, file_of(too_deep)) == "WORKLOAD_INVALID"
        assert store.snapshot() == {}


class TestConflicts:
    @pytest.fixture
    def conflict(self, refused: Any, migrate: Any) -> Callable[[object], None]:
        def check(content: object) -> None:
            error = refused(migrate, content)
            assert (error.code, error.details) == ("WORKLOAD_MIGRATION_CONFLICT", None)

        return check

    @pytest.mark.parametrize(
        "changes", [{"priority": 1}, {"input": {"id": True}}, {"input": {"id": 1.0}}, {"last_failure": "x"}]
    )
    def test_differing_record(
        self, store: Any, migrate: Any, conflict: Any, records: list[Workload], changes: dict[str, Any]
    ) -> None:
        migrate(file_of(*records))
        conflict(file_of(evolve(records[0], **changes), *records[1:]))
        assert set(store.snapshot().values()) == {1}

    @pytest.mark.parametrize(
        "changes",
        [
            {"idempotency": {}},
            {"idempotency": {"t:app:one": "other"}},
            {"result_ids": {}},
            {"result_ids": {"r": "other"}},
            {"event_sequence": 6},
            {"event_sequence": 8},
            {"event_sequence": -1},
        ],
    )
    def test_derived_parts(self, store: Any, conflict: Any, records: list[Workload], changes: dict[str, Any]) -> None:
        assert file_of(*records)["event_sequence"] == 7
        conflict(file_of(*records, **changes))
        assert store.snapshot() == {}

    def test_derived_parts_are_those_of_file_and_store_together(
        self, store: Any, migrate: Any, finished: Workload, waiting: Workload
    ) -> None:
        store.inject(record=waiting, version=1)
        content = file_of(finished, waiting)
        del content["workloads"][waiting.workload_id]
        assert migrate(content) == 1

    def test_store_with_other_work(self, drive: Any, conflict: Any, records: list[Workload]) -> None:
        store = drive(idempotency_key="other").store
        before = store.snapshot()
        conflict(file_of(*records))
        assert store.snapshot() == before

    def test_two_results_under_one_id(self, store: Any, conflict: Any, finished: Workload) -> None:
        conflict(file_of(*(evolve(finished, workload_id=name, idempotency_key=name) for name in "ab")))
        assert store.snapshot() == {}

    def test_a_result_id_that_the_store_has(self, store: Any, conflict: Any, finished: Workload) -> None:
        store.inject(record=evolve(finished, workload_id="there", idempotency_key="there"), version=1)
        conflict(file_of(finished))
        assert store.snapshot() == {"there": 1}


class TestMeanwhile:
    """Another handle commits when the file is read and checked, and nothing is written yet."""

    def test_other_work_is_admitted(
        self, store: Any, other: Any, asking: Any, migrate: Any, code_of: Any, records: list[Workload]
    ) -> None:
        store.pause(lambda: other.admit(request=asking(idempotency_key="other")))
        assert code_of(migrate, file_of(*records)) == "WORKLOAD_MIGRATION_CONFLICT"
        assert len(store.snapshot()) == 1

    def test_the_same_file_is_taken_over(self, store: Any, other: Any, records: list[Workload]) -> None:
        source = encoded(file_of(*records))
        store.pause(lambda: other.migrate(source=source))
        assert store.migrate(source=source) == 0
        assert set(store.snapshot().values()) == {1}

    def test_a_part_is_written(self, store: Any, other: Any, migrate: Any, records: list[Workload]) -> None:
        store.pause(lambda: other.inject(record=records[0], version=1))
        assert migrate(file_of(*records)) == 2

    def test_a_part_is_written_otherwise(
        self, store: Any, other: Any, migrate: Any, code_of: Any, records: list[Workload]
    ) -> None:
        store.pause(lambda: other.inject(record=evolve(records[-1], priority=1), version=1))
        assert code_of(migrate, file_of(*records)) == "WORKLOAD_MIGRATION_CONFLICT"
        assert store.snapshot() == {records[-1].workload_id: 1}


MALFORMED = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"x": "\xff"}',
    "UTF-16": "{}".encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + encoded(file_of()),
    "no object": b"[]",
    "no parts": b"{}",
    "a part missing": encoded({key: value for key, value in file_of().items() if key != "result_ids"}),
    "a part too many": encoded(file_of(more=1)),
    "NaN": encoded(file_of(event_sequence=float("nan"))),
    "member twice": encoded(file_of()).replace(b'"result_ids": {}', b'"result_ids": {}, "result_ids": {}'),
    "lone surrogate": encoded(file_of(idempotency={"\ud800": "x"})),
    "endless nesting": b"[" * 100_000,
    "number of many digits": encoded(file_of()).replace(b": 0", b": " + b"9" * 10_000),
    "float for an integer": encoded(file_of(event_sequence=0.0)),
    "bool for an integer": encoded(file_of(event_sequence=False)),
    "integer beyond 64 bits": encoded(file_of(event_sequence=2**63)),
    "list for an object": encoded(file_of(idempotency=[])),
    "list for the workloads": encoded(file_of(workloads=[])),
    "wrong text": encoded(file_of(result_ids={"r": 1})),
    "no record": encoded(file_of(workloads={"x": 1})),
}
MALFORMED_MEMBERS: list[dict[str, Any]] = [
    {"colour": "red"},
    {"workload_id": "other"},
    {"state": "WAITING"},
    {"state": None},
    *({"attempt_count": value} for value in (-1, "1", None)),
    *({name: -1} for name in ("contract_version", "retry_count")),
    *({"created_at": value} for value in (True, 2**63, 1.0)),
    {"next_attempt_at": "x"},
    {"timeouts": {}},
    {"timeouts": {**TIMEOUTS, "queue_ms": -1}},
    {"retry_policy": {**POLICY, "backoff": "linear"}},
    *({"retry_policy": {**POLICY, name: -1}} for name in ("max_attempts", "initial_delay_ms", "max_delay_ms")),
    {"execution_history": [{}]},
    {"attempts": [{**ATTEMPT, "fencing_token": -1}]},
    {"attempts": [{**ATTEMPT, "status": None}]},
    {"capability_snapshot": "a"},
    {"capability_snapshot": {}},
    {"current_claim": []},
    {"input": float("nan")},
    {"input": "\ud800"},
    {"input": {"x": 2**63}},
]


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files(store: Any, refused: Any, name: str) -> None:
    error = refused(store.migrate, source=MALFORMED[name])
    assert (error.code, error.details) == ("WORKLOAD_INVALID", None)
    assert store.snapshot() == {}


class TestMalformedRecords:
    @pytest.fixture
    def malformed(
        self, store: Any, migrate: Any, code_of: Any, records: Sequence[Workload]
    ) -> Callable[[Callable[[dict[str, Any]], Any]], None]:
        """Spoils the last record of a file; nothing of the file is written then."""

        def check(spoil: Callable[[dict[str, Any]], Any]) -> None:
            content = file_of(*records)
            spoil(content["workloads"][records[-1].workload_id])
            assert code_of(migrate, content) == "WORKLOAD_INVALID"
            assert store.snapshot() == {}

        return check

    @pytest.mark.parametrize("changes", MALFORMED_MEMBERS)
    def test_members(self, malformed: Any, changes: dict[str, Any]) -> None:
        malformed(lambda record: record.update(changes))

    @pytest.mark.parametrize("name", [field.name for field in attrs.fields(Workload)])
    def test_no_member_may_be_missing(self, malformed: Any, name: str) -> None:
        malformed(lambda record: record.pop(name))

    def test_the_parts_that_members_are_made_of_are_sound(self, migrate: Any, waiting: Workload) -> None:
        """So that it is the change alone for which the files above are refused."""
        content = file_of(waiting)
        content["workloads"][waiting.workload_id].update(timeouts=TIMEOUTS, retry_policy=POLICY, attempts=[ATTEMPT])
        assert migrate(content) == 1
