"""Arguments that no call can take: TypeError or INVALID on either store, before anything is read.

They are given to a closed handle, on which every look at the store fails.
"""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import Dependency, StoreUnavailable, Timeouts

FENCE: dict[str, Any] = {"workload_id": "w", "claim_id": "c", "worker_id": "a", "fencing_token": 1, "now_s": 1}
ACTED: dict[str, Any] = {"workload_id": "w", "actor": "o", "now_s": 1}
CALLS: dict[str, dict[str, Any]] = {
    "claim": {"workload_id": "w", "worker_id": "a", "capabilities": [], "lease_ms": 1, "now_s": 1},
    "start": FENCE,
    "heartbeat": {**FENCE, "extension_ms": 1},
    "execution_context": {**FENCE, "secret_references": []},
    "checkpoint": {**FENCE, "state": None},
    "complete": {**FENCE, "result_id": "r", "output": None, "references": [], "schema_version": 1},
    "fail": {**FENCE, "kind": "k", "error": "e", "effect": "none"},
    "acknowledge_cancel": FENCE,
    "time_out": ACTED,
    "cancel": ACTED,
    "retry": {**ACTED, "reason": "why"},
    "enforce_deadlines": {"now_s": 1},
    "recover_expired": {"now_s": 1},
    "get": {"workload_id": "w", "fresh": True},
    "list_workloads": {"tenant_id": "t", "application_id": "app", "fresh": True},
    "migrate": {"source": b'{"workloads": {}, "idempotency": {}, "result_ids": {}, "event_sequence": 0}'},
}
ARGUMENTS = [(method, argument) for method, arguments in CALLS.items() for argument in arguments]
OPTIONAL = {("fail", "effect"), ("retry", "reason")}
DOCUMENTS = [("checkpoint", "state"), ("complete", "output")]

LONE = "\ud800"
BEYOND = 2**63
HUGE = 10**5000
"""More digits than Python writes: no text about it may hold it."""


def own_container() -> list[Any]:
    value: list[Any] = []
    value += [value, value]
    return value


WRONG: dict[type, list[Any]] = {
    str: [None, 1, 1.0, b"x", ["x"], object()],
    int: [None, "1", 1.0, True, [1], object()],
    list: [None, 1, 1.0, "text", b"", b"x", bytearray(), {"a"}, frozenset({"a"}), {}, [1], [None], object()],
    bool: [None, 1, 1.0, "x", [True], object()],
    bytes: [None, 1, 1.0, "{}", bytearray(b"{}"), [1], object()],
}
WRONG_DOCUMENTS = [object(), b"x", (1, 2), {1: 2}, [(1,)], [{"a": b"x"}], {"x": {1, 2}}, [object()]]
INVALID: dict[type, list[Any]] = {
    str: [LONE, "x\udfff"],
    int: [BEYOND, -BEYOND - 1, HUGE, -HUGE],
    list: [[LONE], ["x", "\udfff"]],
    bool: [],
    bytes: [b"", b"{", b"{}"],
}
INVALID_DOCUMENTS = [
    float("nan"),
    [float("-inf")],
    {"a": [float("inf")]},
    {"x": BEYOND},
    [-HUGE],
    LONE,
    [LONE],
    {LONE: 1},
    own_container(),
]
INVALID_HERE = [
    ("claim", "lease_ms", 0),
    ("claim", "lease_ms", -1),
    ("heartbeat", "extension_ms", 0),
    ("heartbeat", "extension_ms", -1),
    ("complete", "schema_version", 0),
    ("complete", "result_id", ""),
    ("complete", "result_id", " \t"),
    ("fail", "effect", "maybe"),
    ("fail", "effect", ""),
]

# The grant stays as it is, so that it has no part in the refusal.
WRONG_REQUESTS: list[dict[str, Any]] = [
    *({name: value} for name in ("tenant_id", "application_id", "environment") for value in (None, 1, b"x")),
    *({name: value} for name in ("definition_id", "definition_revision", "idempotency_key") for value in (None, 1)),
    {"trigger": 1},
    {"session_id": b"x"},
    {"created_at": None},
    {"created_at": True},
    {"created_at": 1.0},
    {"not_before": "5"},
    {"priority": False},
    {"priority": 1.0},
    {"input": (1,)},
    {"input": {"x": ()}},
    {"capability_snapshot": None},
    {"capability_snapshot": "email:send"},
    {"capability_snapshot": {"email:send"}},
    {"capability_snapshot": bytearray()},
    {"capability_snapshot": (1,)},
    {"connection_scopes": (1,)},
    {"connection_scopes": frozenset({"crm"})},
    {"requested_by": None},
    {"requested_by": "a1"},
    {"requested_by": {"kind": None}},
    {"requested_by": {"id": 1}},
    {"authorization_snapshot": None},
    {"authorization_snapshot": {"subject": "a1"}},
    {"authorization_snapshot": {"tenant_id": 1}},
    {"authorization_snapshot": {"application_id": b"x"}},
    {"authorization_snapshot": {"signature": None}},
    {"retry_policy": 3},
    {"retry_policy": [("max_attempts", 3)]},
    {"retry_policy": {"max_attempts": True}},
    {"retry_policy": {"max_attempts": 1.5}},
    {"retry_policy": {"backoff": None}},
    {"retry_policy": {"initial_delay_ms": None}},
    {"retry_policy": {"max_delay_ms": "1"}},
    {"retry_policy": {"retry_on": "timeout"}},
    {"retry_policy": {"retry_on": ["timeout"]}},
    {"retry_policy": {"retry_on": ("timeout",)}},
    {"retry_policy": {"retry_on": None}},
    {"retry_policy": {"retry_on": frozenset({1})}},
    {"timeouts": 5},
    {"timeouts": []},
    *({"timeouts": {name: value}} for name in Timeouts.__annotations__ for value in (True, 1.0, "1")),
    {"dependencies": "w"},
    {"dependencies": ("w",)},
    {"dependencies": {Dependency("w", "READY")}},
    {"dependencies": (Dependency(1, "READY"),)},  # type: ignore[arg-type]
    {"dependencies": (Dependency("w", None),)},  # type: ignore[arg-type]
]
INVALID_REQUESTS: list[dict[str, Any]] = [
    {"idempotency_key": ""},
    {"idempotency_key": " \n"},
    *({name: LONE} for name in ("tenant_id", "application_id", "idempotency_key", "definition_id", "environment")),
    *({name: LONE} for name in ("definition_revision", "trigger", "session_id")),
    {"requested_by": {"id": LONE}},
    {"requested_by": {"kind": LONE}},
    {"authorization_snapshot": {"signature": LONE}},
    {"capability_snapshot": (LONE,)},
    {"connection_scopes": (LONE,)},
    {"dependencies": (Dependency("w", LONE),)},
    *({name: value} for name in ("created_at", "not_before", "priority") for value in (BEYOND, -BEYOND - 1, HUGE)),
    *({"input": value} for value in (float("-inf"), LONE, {"deep": [{"number": BEYOND}]}, [LONE], own_container())),
    {"retry_policy": {"backoff": "linear"}},
    {"retry_policy": {"backoff": LONE}},
    {"retry_policy": {"retry_on": frozenset({LONE})}},
    {"retry_policy": {"max_attempts": 2**32}},
    *({"retry_policy": {"max_attempts": value}} for value in (-1, HUGE, -HUGE)),
    *({"retry_policy": {"initial_delay_ms": value}} for value in (-1, BEYOND, HUGE, -HUGE)),
    *({"retry_policy": {"max_delay_ms": value}} for value in (-1, BEYOND, HUGE, -HUGE)),
    *({"timeouts": {name: value}} for name in Timeouts.__annotations__ for value in (0, -1, BEYOND, HUGE, -HUGE)),
]


@pytest.fixture
def closed(store: Any) -> Any:
    """What this handle refuses, it refuses without reading."""
    store.close()
    return store


@pytest.mark.parametrize("method", CALLS)
def test_right_arguments_come_to_the_look_at_the_store(closed: Any, method: str) -> None:
    with pytest.raises(StoreUnavailable):
        getattr(closed, method)(**CALLS[method])


@pytest.mark.parametrize(("method", "argument"), ARGUMENTS)
def test_wrong_types_of_an_argument(closed: Any, method: str, argument: str) -> None:
    values = WRONG_DOCUMENTS if (method, argument) in DOCUMENTS else WRONG[type(CALLS[method][argument])]
    for value in values:
        if value is not None or (method, argument) not in OPTIONAL:
            with pytest.raises(TypeError):
                getattr(closed, method)(**{**CALLS[method], argument: value})


@pytest.mark.parametrize(("method", "argument"), ARGUMENTS)
def test_invalid_values_of_an_argument(closed: Any, refused: Any, method: str, argument: str) -> None:
    values = INVALID_DOCUMENTS if (method, argument) in DOCUMENTS else INVALID[type(CALLS[method][argument])]
    for value in values:
        error = refused(getattr(closed, method), **{**CALLS[method], argument: value})
        assert (error.code, error.details) == ("WORKLOAD_INVALID", None)


@pytest.mark.parametrize(("method", "argument", "value"), INVALID_HERE)
def test_values_that_this_argument_alone_refuses(
    closed: Any, refused: Any, method: str, argument: str, value: Any
) -> None:
    error = refused(getattr(closed, method), **{**CALLS[method], argument: value})
    assert (error.code, error.details) == ("WORKLOAD_INVALID", None)


@pytest.mark.parametrize("changes", WRONG_REQUESTS)
def test_wrong_types_in_a_request(closed: Any, asking: Any, changes: dict[str, Any]) -> None:
    # A secret in the input shows that types come even before that.
    request = asking(**{"authorization_snapshot": {}, "input": "sk-1", **changes})
    with pytest.raises(TypeError):
        closed.admit(request=request)


@pytest.mark.parametrize("name", ["requested_by", "authorization_snapshot", "retry_policy", "timeouts"])
def test_a_dict_is_no_part_of_a_request(closed: Any, asking: Any, name: str) -> None:
    with pytest.raises(TypeError):
        closed.admit(request=evolve(asking(), **{name: {}}))


@pytest.mark.parametrize("request_", [object(), {"tenant_id": "t"}, None])
def test_no_request_at_all(closed: Any, request_: Any) -> None:
    with pytest.raises(TypeError):
        closed.admit(request=request_)


@pytest.mark.parametrize("changes", INVALID_REQUESTS)
def test_invalid_values_in_a_request(closed: Any, asking: Any, refused: Any, changes: dict[str, Any]) -> None:
    # The grant is for another tenant too: INVALID comes first (WRK-ADM-02).
    grant = {"tenant_id": "another", **changes.get("authorization_snapshot", {})}
    error = refused(closed.admit, request=asking(**{**changes, "authorization_snapshot": grant}))
    assert (error.code, error.details) == ("WORKLOAD_INVALID", None)


def test_refusals_name_the_argument(closed: Any, refused: Any) -> None:
    assert "lease_ms" in str(refused(closed.claim, **{**CALLS["claim"], "lease_ms": 0}))
    with pytest.raises(TypeError, match="lease_ms"):
        closed.claim(**{**CALLS["claim"], "lease_ms": "0"})


@pytest.mark.parametrize(
    "changes",
    [
        {"timeouts": Timeouts(1, 1, 1, 1, 1)},
        {"timeouts": Timeouts(1, 1, 1, 1, BEYOND - 1), "not_before": BEYOND - 1},
        {"retry_policy": {"max_attempts": 0}, "priority": BEYOND - 1},
        {
            "retry_policy": {
                "max_attempts": 2**32 - 1,
                "backoff": "exponential",
                "initial_delay_ms": BEYOND - 1,
                "max_delay_ms": BEYOND - 1,
                "retry_on": frozenset(),
            },
            "priority": -BEYOND,
            "created_at": -BEYOND,
        },
        {"retry_policy": {"retry_on": {"timeout"}}},
        {"capability_snapshot": ["email:send"], "connection_scopes": [], "dependencies": []},
        {"tenant_id": "\x00", "authorization_snapshot": {"tenant_id": "\x00", "signature": ""}},
    ],
)
def test_edges_that_are_inside_are_taken(store: Any, asking: Any, changes: dict[str, Any]) -> None:
    request = asking(**changes)
    admitted = store.admit(request=request)
    assert admitted.created
    (listed,) = store.list_workloads(tenant_id=request.tenant_id, application_id="app")
    assert listed.workload == admitted.workload
    assert not store.admit(request=request).created


class TestInject:
    @pytest.mark.parametrize(("what", "version"), [("no record", 1), (None, 1), (..., "1"), (..., True), (..., 1.0)])
    def test_wrong_types(self, drive: Any, what: Any, version: Any) -> None:
        work = drive()
        with pytest.raises(TypeError):
            work.store.inject(record=work.record if what is ... else what, version=version)
        assert work.version == 1

    @pytest.mark.parametrize("version", [BEYOND, -BEYOND - 1])
    def test_versions_beyond_64_bits(self, drive: Any, code_of: Any, version: int) -> None:
        work = drive()
        assert code_of(work.inject, version) == "WORKLOAD_INVALID"
        assert work.version == 1
