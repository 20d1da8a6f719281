"""Admissions and their replays, and what a store lists, on either store."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import Dependency, Event, Json

FIRST = Dependency(workload_id="w1", required_state="SUCCEEDED")
SECOND = Dependency(workload_id="w2", required_state="SUCCEEDED")


class TestNewWork:
    def test_record_of_an_admission(self, store: Any, asking: Any) -> None:
        admitted = store.admit(request=asking(not_before=50))
        record = admitted.workload
        assert admitted.created
        assert record.workload_id == "workload_a905c442ee731da96617b295"
        assert (record.contract_version, record.state, record.next_attempt_at) == (2, "READY", 50)
        assert record.execution_history == (Event(1, "CREATED", "READY", "a1", 10, {"not_before": "50"}),)
        assert store.snapshot() == {record.workload_id: 1}
        found = store.get(workload_id=record.workload_id)
        assert (found.version, found.workload) == (1, record)

    def test_the_hash_of_the_input_is_that_of_its_canonical_text(self, drive: Any) -> None:
        record = drive(input={"é": 1, "a": [1.0, None]}).record
        assert record.input_hash == hashlib.sha256('{"a":[1.0,null],"é":1}'.encode()).hexdigest()

    def test_defaults(self, drive: Any, policy: Any, no_timeouts: Any) -> None:
        record = drive(retry_policy=None).record
        assert record.retry_policy == evolve(policy, backoff="exponential")
        assert (record.timeouts, record.priority) == (no_timeouts, 0)
        assert (record.dependencies, record.connection_scopes) == ((), frozenset())

    @pytest.mark.parametrize("grant", [{"subject": None}, {"tenant_id": "u"}, {"application_id": "other"}])
    def test_grant_for_another(self, store: Any, asking: Any, refused: Any, grant: dict[str, Any]) -> None:
        if "subject" in grant:
            grant = {"subject": evolve(asking().requested_by, kind="user")}
        error = refused(store.admit, request=asking(authorization_snapshot=grant))
        assert (error.code, error.details) == ("WORKLOAD_UNAUTHORIZED", None)
        assert store.snapshot() == {}

    def test_scenario_4_scope(self, store: Any, asking: Any) -> None:
        requests = [
            asking(requested_by={"id": "x:k1"}, idempotency_key="k2"),
            asking(requested_by={"id": "x"}, idempotency_key="k1:k2"),
            asking(),
            asking(requested_by={"id": "a2"}),
            asking(requested_by={"kind": "user"}),
            asking(idempotency_key=" one "),
        ]
        assert all(store.admit(request=request).created for request in requests)
        assert len(store.snapshot()) == 6

    @pytest.mark.parametrize("text", ["a BEGIN PRIVATE KEY", "sk-1", "fdb_live_"])
    def test_scenario_7_secrets(self, store: Any, asking: Any, code_of: Any, text: str) -> None:
        values: list[Json] = [{"a": text}, {"a": [{"b": text}]}, {text: 1}, text]
        for value in values:
            assert code_of(store.admit, request=asking(input=value)) == "WORKLOAD_SECRET_MATERIAL"
        assert store.snapshot() == {}

    @pytest.mark.parametrize("text", ["ask-sk-1", " sk-1", "Sk-1", "private key"])
    def test_scenario_7_texts_that_only_look_like_secrets(self, drive: Any, text: str) -> None:
        assert drive(input={"a": text}).record.input == {"a": text}

    def test_the_caller_cannot_edit_what_is_committed(self, drive: Any, asking: Any) -> None:
        given: dict[str, Json] = {"id": 1, "list": [1]}
        work = drive(input=given)
        given["id"] = 2
        again = work.store.admit(request=asking(input={"id": 1, "list": [1]})).workload
        for answer in (work.record, again):
            answer.input["id"] = 3
            answer.execution_history[0].evidence["x"] = "y"
        assert work.record.input == {"id": 1, "list": [1]}
        assert work.record.execution_history[0].evidence == {}

    def test_the_answer_does_not_share_the_input_of_the_caller(self, store: Any, asking: Any) -> None:
        document: dict[str, Any] = {"ids": [1]}
        admitted = store.admit(request=asking(input=document))
        document["ids"].append(2)
        assert admitted.workload.input == {"ids": [1]}


class TestReplay:
    def test_scenario_1_form_and_bystanders_are_ignored(self, store: Any, asking: Any, no_timeouts: Any) -> None:
        created = store.admit(request=asking(input={"a": 1, "b": {"c": 1, "d": 2}}, dependencies=(FIRST, SECOND)))
        again = store.admit(
            request=asking(
                created_at=99,
                trigger="cron",
                session_id="z",
                input={"b": {"d": 2, "c": 1}, "a": 1},
                capability_snapshot=("email:send", "email:send"),
                dependencies=(SECOND, FIRST),
                timeouts=no_timeouts,
                priority=0,
                connection_scopes=(),
            )
        )
        assert (again.workload, again.created) == (created.workload, False)
        assert list(store.snapshot().values()) == [1]

    @pytest.mark.parametrize(
        "changes",
        [
            {"definition_id": "other"},
            {"definition_revision": "r2"},
            {"environment": "staging"},
            {"environment": "staging", "priority": 1},
            {"input": {"id": 2}},
            {"input": {"id": 1.0}},
            {"input": {"id": True}},
            {"capability_snapshot": ("email:send", "sms:send")},
            {"connection_scopes": ("crm",)},
            {"priority": 5},
            {"retry_policy": {"max_attempts": 9}},
            {"retry_policy": {"retry_on": frozenset({"timeout"})}},
            {"timeouts": {"execution_ms": 60_000}},
            {"dependencies": (FIRST,)},
            {"dependencies": (FIRST, FIRST)},
            {"dependencies": (FIRST, FIRST, SECOND)},
            {"not_before": 5000},
        ],
    )
    def test_scenario_1_each_change_is_named(
        self, store: Any, asking: Any, refused: Any, changes: dict[str, Any]
    ) -> None:
        both = {"dependencies": (FIRST, SECOND)}
        workload_id = store.admit(request=asking(**both)).workload.workload_id
        error = refused(store.admit, request=asking(**both | changes))
        assert (error.code, error.details) == ("IDEMPOTENCY_KEY_REUSED", {"fields": [*changes]})
        assert store.snapshot() == {workload_id: 1}

    def test_scenario_2_fields_in_the_order_of_the_contract(self, drive: Any, asking: Any, refused: Any) -> None:
        store = drive().store
        changed = asking(not_before=5000, definition_id="z", timeouts={"execution_ms": 60_000})
        error = refused(store.admit, request=changed)
        assert error.details == {"fields": ["definition_id", "timeouts", "not_before"]}
        assert len(store.snapshot()) == 1

    def test_scenario_3_layered_errors(self, drive: Any, asking: Any, code_of: Any) -> None:
        store = drive().store
        request = asking(
            input={"a": "sk-x"},
            idempotency_key=" ",
            timeouts={"queue_ms": 0},
            authorization_snapshot={"subject": evolve(asking().requested_by, id="a2")},
            priority=1,
        )
        repairs: list[tuple[str, dict[str, Any]]] = [
            ("WORKLOAD_SECRET_MATERIAL", {"input": {"id": 1}}),
            ("WORKLOAD_INVALID", {"idempotency_key": "one"}),
            ("WORKLOAD_INVALID", {"timeouts": None}),
            ("WORKLOAD_UNAUTHORIZED", {"authorization_snapshot": asking().authorization_snapshot}),
            ("IDEMPOTENCY_KEY_REUSED", {"priority": 0}),
        ]
        for code, repair in repairs:
            assert code_of(store.admit, request=request) == code
            request = evolve(request, **repair)
        assert not store.admit(request=request).created

    def test_scenario_5_not_before_as_admitted(self, drive: Any, asking: Any, code_of: Any, refused: Any) -> None:
        work = drive(not_before=50)
        assert code_of(work.claim, "a", 49) == "WORKLOAD_NOT_READY"
        assert work.fail(work.claim("a", 50), 51, "timeout") == "READY"
        assert work.record.next_attempt_at == 52
        assert not work.store.admit(request=asking(not_before=50)).created
        for moved in (52, None):
            error = refused(work.store.admit, request=asking(not_before=moved))
            assert (error.code, error.details) == ("IDEMPOTENCY_KEY_REUSED", {"fields": ["not_before"]})

    def test_scenario_6_dependencies_are_a_multiset(self, store: Any, asking: Any, refused: Any) -> None:
        store.admit(request=asking(dependencies=(FIRST, SECOND)))
        assert not store.admit(request=asking(dependencies=(SECOND, FIRST))).created
        repeated = asking(dependencies=(FIRST, FIRST, SECOND))
        assert refused(store.admit, request=repeated).details == {"fields": ["dependencies"]}


def test_listing_is_by_tenant_and_application_and_in_order(store: Any, asking: Any, owner: Any) -> None:
    ids = sorted(store.admit(request=asking(idempotency_key=key)).workload.workload_id for key in "abcdef")
    for stranger in ({"tenant_id": "u"}, {"application_id": "else"}):
        assert store.admit(request=asking(**stranger)).created
    assert [found.workload.workload_id for found in store.list_workloads(**owner)] == ids
