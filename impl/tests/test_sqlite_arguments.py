"""Arguments that no operation can take: TypeError or INVALID, before anything is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Grant,
    RetryPolicy,
    Subject,
    Timeouts,
    WorkloadError,
)
from workstore.sqlite import WorkloadStore

REQUESTER = Subject("agent", "a1")
POLICY = RetryPolicy(3, "fixed", 1000, 60000, frozenset({"timeout"}))
NO_TIMEOUTS = Timeouts(None, None, None, None, None)
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=REQUESTER,
    idempotency_key="one",
    definition_id="definition",
    definition_revision="r1",
    environment="production",
    input=None,
    capability_snapshot=(),
    connection_scopes=None,
    priority=None,
    retry_policy=POLICY,
    timeouts=NO_TIMEOUTS,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(REQUESTER, "t", "app", "signed"),
)
FENCE: dict[str, Any] = {"workload_id": "w", "claim_id": "c", "worker_id": "a", "fencing_token": 1}
CALLS: dict[str, dict[str, Any]] = {
    "claim": {"workload_id": "w", "worker_id": "a", "capabilities": [], "lease_ms": 1, "now_s": 1},
    "start": {**FENCE, "now_s": 1},
    "heartbeat": {**FENCE, "extension_ms": 1, "now_s": 1},
    "execution_context": {**FENCE, "secret_references": [], "now_s": 1},
    "checkpoint": {**FENCE, "state": None, "now_s": 1},
    "complete": {
        **FENCE,
        "result_id": "r",
        "output": None,
        "references": [],
        "schema_version": 1,
        "now_s": 1,
    },
    "fail": {**FENCE, "kind": "k", "error": "e", "effect": None, "now_s": 1},
    "acknowledge_cancel": {**FENCE, "now_s": 1},
    "time_out": {"workload_id": "w", "actor": "o", "now_s": 1},
    "cancel": {"workload_id": "w", "actor": "o", "now_s": 1},
    "retry": {"workload_id": "w", "actor": "o", "reason": "why", "now_s": 1},
    "enforce_deadlines": {"now_s": 1},
    "recover_expired": {"now_s": 1},
    "get": {"workload_id": "w", "fresh": True},
    "list_workloads": {"tenant_id": "t", "application_id": "app", "fresh": True},
    "migrate": {"source": b"{}"},
}
DOCUMENTS = {("checkpoint", "state"), ("complete", "output")}
GREATEST = 2**63 - 1


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkloadStore]:
    with WorkloadStore.open(tmp_path / "work.db", synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
def closed(tmp_path: Path) -> WorkloadStore:
    """A handle on which every look at the file fails: what it refuses, it refuses without reading."""
    opened = WorkloadStore.open(tmp_path / "work.db", synchronous="NORMAL")
    opened.close()
    return opened


def code_of(store: WorkloadStore, method: str, **arguments: Any) -> str:
    with pytest.raises(WorkloadError) as caught:
        getattr(store, method)(**arguments)
    assert caught.value.details is None
    return caught.value.code


@pytest.mark.parametrize(
    ("method", "argument"),
    [
        (method, argument)
        for method, arguments in CALLS.items()
        for argument in arguments
        if (method, argument) not in DOCUMENTS
    ],
)
def test_a_wrong_type_is_a_type_error_before_any_read(closed: WorkloadStore, method: str, argument: str) -> None:
    right = CALLS[method][argument]
    wrong: list[Any] = [object(), 1.0, [1]]
    if isinstance(right, int) and not isinstance(right, bool):
        wrong += [True, "1", None]
    elif isinstance(right, (str, list)):
        wrong += [1, b"bytes"]
    for value in wrong:
        with pytest.raises(TypeError):
            getattr(closed, method)(**{**CALLS[method], argument: value})


@pytest.mark.parametrize(("method", "argument"), sorted(DOCUMENTS))
@pytest.mark.parametrize("document", [object(), {1: 2}, (1, 2), [{"a": b"x"}], {"a": {1, 2}}])
def test_a_document_that_is_not_json_is_a_type_error(
    closed: WorkloadStore, method: str, argument: str, document: Any
) -> None:
    with pytest.raises(TypeError):
        getattr(closed, method)(**{**CALLS[method], argument: document})


@pytest.mark.parametrize(
    "changes",
    [
        {"tenant_id": 1},
        {"requested_by": "agent"},
        {"requested_by": Subject("agent", 1)},  # type: ignore[arg-type]
        {"capability_snapshot": "email:send"},
        {"capability_snapshot": (1,)},
        {"priority": True},
        {"created_at": 1.0},
        {"created_at": None},
        {"not_before": "5"},
        {"timeouts": evolve(NO_TIMEOUTS, queue_ms=True)},
        {"timeouts": {}},
        {"retry_policy": evolve(POLICY, max_attempts=1.5)},
        {"retry_policy": evolve(POLICY, backoff=None)},
        {"dependencies": ("w",)},
        {"authorization_snapshot": None},
        {"input": {"a": (1,)}},
        {"trigger": 1},
    ],
)
def test_a_wrong_type_in_a_request_is_a_type_error(closed: WorkloadStore, changes: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        closed.admit(request=evolve(REQUEST, **changes))
    with pytest.raises(TypeError):
        closed.admit(request=object())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("claim", {"lease_ms": 0}),
        ("claim", {"lease_ms": -1}),
        ("claim", {"lease_ms": GREATEST + 1}),
        ("claim", {"now_s": GREATEST + 1}),
        ("claim", {"now_s": -GREATEST - 2}),
        ("claim", {"worker_id": "\ud800"}),
        ("claim", {"capabilities": ["\udfff"]}),
        ("start", {"fencing_token": 2**64}),
        ("heartbeat", {"extension_ms": 0}),
        ("execution_context", {"secret_references": ["\ud800"]}),
        ("checkpoint", {"state": [float("nan")]}),
        ("checkpoint", {"state": {"\ud800": 1}}),
        ("complete", {"result_id": " \t"}),
        ("complete", {"schema_version": 0}),
        ("complete", {"output": {"a": [float("inf")]}}),
        ("complete", {"references": ["\ud800"]}),
        ("fail", {"effect": "maybe"}),
        ("fail", {"error": "\ud800"}),
        ("retry", {"reason": "\ud800"}),
        ("cancel", {"now_s": 2**63}),
        ("enforce_deadlines", {"now_s": 2**63}),
        ("get", {"workload_id": "\ud800"}),
        ("migrate", {"source": b"{"}),
    ],
)
def test_a_value_that_nothing_can_take_is_refused_before_any_read(
    closed: WorkloadStore, method: str, changes: dict[str, Any]
) -> None:
    assert code_of(closed, method, **{**CALLS[method], **changes}) == "WORKLOAD_INVALID"


@pytest.mark.parametrize(
    "changes",
    [
        {"idempotency_key": ""},
        {"idempotency_key": " \n"},
        {"idempotency_key": "\ud800"},
        *({"timeouts": evolve(NO_TIMEOUTS, **{name: 0})} for name in Timeouts.__annotations__),
        {"timeouts": evolve(NO_TIMEOUTS, queue_ms=-1)},
        {"timeouts": evolve(NO_TIMEOUTS, queue_ms=2**63)},
        {"retry_policy": evolve(POLICY, backoff="linear")},
        {"retry_policy": evolve(POLICY, initial_delay_ms=-1)},
        {"retry_policy": evolve(POLICY, max_delay_ms=2**63)},
        {"retry_policy": evolve(POLICY, max_attempts=-1)},
        {"retry_policy": evolve(POLICY, max_attempts=2**32)},
        {"created_at": 2**63},
        {"not_before": -(2**63) - 1},
        {"priority": 2**63},
        {"input": {"deep": [{"number": 2**63}]}},
        {"input": float("-inf")},
        {"input": ["\udc00"]},
    ],
)
def test_a_request_that_nothing_can_take_is_refused_before_any_read(
    closed: WorkloadStore, changes: dict[str, Any]
) -> None:
    assert code_of(closed, "admit", request=evolve(REQUEST, **changes)) == "WORKLOAD_INVALID"


@pytest.mark.parametrize("secret", ["a BEGIN PRIVATE KEY", "sk-1", "fdb_live_"])
def test_secret_material_is_found_at_any_depth_and_ahead_of_every_other_fault(
    closed: WorkloadStore, secret: str
) -> None:
    faulty = evolve(REQUEST, idempotency_key="")
    for document in ({"a": [{"b": secret}]}, {"a": {secret: 1}}, [float("nan"), secret]):
        assert code_of(closed, "admit", request=evolve(faulty, input=document)) == "WORKLOAD_SECRET_MATERIAL"
        for method, argument in DOCUMENTS:
            arguments = {**CALLS[method], argument: document, "now_s": 2**63}
            assert code_of(closed, method, **arguments) == "WORKLOAD_SECRET_MATERIAL"
    arguments = {**CALLS["fail"], "error": secret, "effect": "maybe"}
    assert code_of(closed, "fail", **arguments) == "WORKLOAD_SECRET_MATERIAL"


@pytest.mark.parametrize("text", ["ask-sk-1", " sk-1", "Sk-1", "private key"])
def test_text_that_only_resembles_a_secret_is_stored(store: WorkloadStore, text: str) -> None:
    assert store.admit(request=evolve(REQUEST, input={"a": text})).workload.input == {"a": text}


def nested(levels: int, innermost: Any = None) -> Any:
    document = innermost
    for level in range(levels):
        document = [document] if level % 2 else {"in": document}
    return document


def test_documents_nest_as_deep_as_documented_and_no_deeper(store: WorkloadStore) -> None:
    admitted = store.admit(request=evolve(REQUEST, input=nested(500)))
    versioned = store.get(workload_id=admitted.workload.workload_id)
    assert versioned is not None
    assert versioned.workload.input == nested(500)
    for levels in (501, 100_000):
        request = evolve(REQUEST, input=nested(levels), idempotency_key="deep")
        assert code_of(store, "admit", request=request) == "WORKLOAD_INVALID"
    secret = evolve(REQUEST, input=nested(100_000, "sk-1"))
    assert code_of(store, "admit", request=secret) == "WORKLOAD_SECRET_MATERIAL"


def test_a_caller_deep_in_its_own_stack_is_served(store: WorkloadStore) -> None:
    def deeper(levels: int) -> bool:
        if levels:
            return deeper(levels - 1)
        return store.admit(request=evolve(REQUEST, input=nested(500))).created

    assert deeper(sys.getrecursionlimit() - 400)


def test_a_document_that_holds_itself_is_refused(closed: WorkloadStore) -> None:
    document: list[Any] = []
    document += [document, document]
    assert code_of(closed, "checkpoint", **{**CALLS["checkpoint"], "state": document}) == "WORKLOAD_INVALID"


def test_a_large_document_is_stored(store: WorkloadStore) -> None:
    document = {"text": "é" * 5_000_000}
    admitted = store.admit(request=evolve(REQUEST, input=document))
    versioned = store.get(workload_id=admitted.workload.workload_id)
    assert versioned is not None
    assert versioned.workload.input == document


def test_edges_that_are_inside_are_taken(store: WorkloadStore) -> None:
    request = evolve(
        REQUEST,
        timeouts=Timeouts(1, 1, 1, 1, 2**63 - 1),
        created_at=-(2**63),
        priority=-(2**63),
        retry_policy=evolve(POLICY, max_attempts=2**32 - 1),
        not_before=2**63 - 1,
        input=["\x00", "\U0010ffff", -(2**63), 2**63 - 1, -0.0, 1e308],
        tenant_id="\x00",
        authorization_snapshot=Grant(REQUESTER, "\x00", "app", ""),
    )
    workload = store.admit(request=request).workload
    (listed,) = store.list_workloads(tenant_id="\x00", application_id="app")
    assert listed.workload == workload
    assert not store.admit(request=request).created
