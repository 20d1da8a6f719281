"""Bad input to the in-memory store: the wrong type, the wrong value, and what hostile JSON does not do."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Claim,
    Grant,
    Json,
    RetryPolicy,
    Subject,
    Timeouts,
    WorkloadError,
)
from workstore.memory import WorkloadStore
from workstore.memory.json_values import MAX_DEPTH, canonical, inspect

AGENT = Subject(kind="agent", id="a1")
POLICY = RetryPolicy(
    max_attempts=3, backoff="fixed", initial_delay_ms=1000, max_delay_ms=60_000, retry_on=frozenset()
)
NO_TIMEOUTS = Timeouts(queue_ms=None, claim_ms=None, execution_ms=None, heartbeat_ms=None, overall_ms=None)
GRANT = Grant(subject=AGENT, tenant_id="t", application_id="app", signature="s")
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=AGENT,
    idempotency_key="one",
    definition_id="d",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=(),
    connection_scopes=None,
    priority=None,
    retry_policy=POLICY,
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=GRANT,
)
LONE = "\ud800"
BEYOND = 2**63
TOO_DEEP = MAX_DEPTH + 1


def nested(depth: int, core: Json = None) -> Json:
    value = core
    for level in range(depth):
        value = [value] if level % 2 else {"x": value}
    return value


def own_container() -> Json:
    value: list[Json] = []
    value.append(value)
    return value


class Started:
    """A store with one started workload, and right arguments for every call on it."""

    def __init__(self) -> None:
        self.store = WorkloadStore()
        self.work = self.store.admit(request=REQUEST).workload.workload_id
        self.held: Claim = self.store.claim(
            workload_id=self.work, worker_id="a", capabilities=(), lease_ms=10_000, now_s=11
        )
        self.store.start(**self.right("start"))
        self.before = self.store.get(workload_id=self.work)

    def right(self, method: str) -> dict[str, Any]:
        fence = {
            "workload_id": self.work,
            "claim_id": self.held.claim_id,
            "worker_id": "a",
            "fencing_token": 1,
            "now_s": 12,
        }
        acted = {"workload_id": self.work, "actor": "o", "now_s": 12}
        arguments: dict[str, dict[str, Any]] = {
            "claim": {
                "workload_id": self.work,
                "worker_id": "a",
                "capabilities": (),
                "lease_ms": 1,
                "now_s": 12,
            },
            "start": fence,
            "acknowledge_cancel": fence,
            "heartbeat": fence | {"extension_ms": 1000},
            "execution_context": fence | {"secret_references": ()},
            "checkpoint": fence | {"state": 1},
            "complete": fence | {"result_id": "r", "output": 1, "references": (), "schema_version": 1},
            "fail": fence | {"kind": "timeout", "error": "x", "effect": None},
            "time_out": acted,
            "cancel": acted,
            "retry": acted | {"reason": None},
            "enforce_deadlines": {"now_s": 12},
            "recover_expired": {"now_s": 12},
            "get": {"workload_id": self.work, "fresh": True},
            "list_workloads": {"tenant_id": "t", "application_id": "app", "fresh": True},
            "migrate": {"source": b"{}"},
        }
        return arguments[method]


@pytest.fixture
def started() -> Started:
    return Started()


TEXTS = {
    "claim": ["workload_id", "worker_id"],
    "start": ["workload_id", "claim_id", "worker_id"],
    "fail": ["workload_id", "kind", "error"],
    "complete": ["result_id"],
    "time_out": ["workload_id", "actor"],
    "cancel": ["workload_id", "actor"],
    "retry": ["workload_id", "actor"],
    "get": ["workload_id"],
    "list_workloads": ["tenant_id", "application_id"],
}
INTEGERS = {
    "claim": ["lease_ms", "now_s"],
    "start": ["fencing_token", "now_s"],
    "acknowledge_cancel": ["fencing_token", "now_s"],
    "heartbeat": ["extension_ms", "now_s"],
    "execution_context": ["now_s"],
    "checkpoint": ["now_s"],
    "complete": ["schema_version", "now_s"],
    "fail": ["now_s"],
    "time_out": ["now_s"],
    "cancel": ["now_s"],
    "retry": ["now_s"],
    "enforce_deadlines": ["now_s"],
    "recover_expired": ["now_s"],
}
SEQUENCES = {
    "claim": ["capabilities"],
    "execution_context": ["secret_references"],
    "complete": ["references"],
}
DOCUMENTS = {"checkpoint": ["state"], "complete": ["output"]}


def pairs(table: dict[str, list[str]], *values: object) -> list[tuple[str, str, object]]:
    return [(method, name, value) for method, names in table.items() for name in names for value in values]


WRONG_TYPES = [
    *pairs(TEXTS, None, b"x", 1),
    *pairs(INTEGERS, "1", 1.0, True, None),
    *pairs(SEQUENCES, "text", b"", b"x", {"a"}, None, [1], [None]),
    *pairs(DOCUMENTS, (1,), {1: 2}, {"x": {1, 2}}, b"x", [object()]),
    ("fail", "effect", 1),
    ("retry", "reason", b"x"),
    ("get", "fresh", 1),
    ("list_workloads", "fresh", None),
    ("migrate", "source", "{}"),
    ("migrate", "source", bytearray(b"{}")),
]

INVALID = [
    *pairs(TEXTS, LONE),
    *pairs(INTEGERS, BEYOND, -BEYOND - 1),
    *pairs(SEQUENCES, [LONE]),
    *pairs(
        DOCUMENTS,
        float("nan"),
        [float("-inf")],
        {"x": BEYOND},
        [LONE],
        {LONE: 1},
        nested(TOO_DEEP),
        nested(100_000),
        own_container(),
    ),
    ("claim", "lease_ms", 0),
    ("claim", "lease_ms", -1),
    ("heartbeat", "extension_ms", 0),
    ("complete", "schema_version", 0),
    ("complete", "result_id", ""),
    ("complete", "result_id", " \t"),
    ("fail", "effect", "maybe"),
    ("fail", "effect", ""),
    ("retry", "reason", LONE),
]


class TestCalls:
    @pytest.mark.parametrize(("method", "name", "value"), WRONG_TYPES)
    def test_wrong_type(self, started: Started, method: str, name: str, value: object) -> None:
        with pytest.raises(TypeError):
            getattr(started.store, method)(**started.right(method) | {name: value})
        assert started.store.get(workload_id=started.work) == started.before

    @pytest.mark.parametrize(
        ("method", "name", "value"), INVALID, ids=lambda value: str(type(value).__name__)
    )
    def test_invalid(self, started: Started, method: str, name: str, value: object) -> None:
        with pytest.raises(WorkloadError) as caught:
            getattr(started.store, method)(**started.right(method) | {name: value})
        assert (caught.value.code, caught.value.details) == ("WORKLOAD_INVALID", None)
        assert started.store.get(workload_id=started.work) == started.before

    @pytest.mark.parametrize("method", ["claim", "heartbeat", "complete", "fail"])
    def test_invalid_comes_before_the_lookup(self, started: Started, method: str) -> None:
        bad = {"claim": "lease_ms", "heartbeat": "extension_ms", "complete": "schema_version"}.get(method)
        changes = {bad: 0} if bad else {"effect": "maybe"}
        with pytest.raises(WorkloadError) as caught:
            getattr(started.store, method)(**started.right(method) | changes | {"workload_id": "none"})
        assert caught.value.code == "WORKLOAD_INVALID"

    @pytest.mark.parametrize("core", ["sk-1", ["fdb_live_x"]])
    @pytest.mark.parametrize("depth", [0, MAX_DEPTH, 5000])
    def test_secrets_are_found_at_any_depth_and_first(self, started: Started, depth: int, core: Json) -> None:
        for method, name in (("checkpoint", "state"), ("complete", "output")):
            arguments = started.right(method) | {name: [nested(depth, core), float("nan")]}
            with pytest.raises(WorkloadError) as caught:
                getattr(started.store, method)(**arguments)
            assert caught.value.code == "WORKLOAD_SECRET_MATERIAL"

    def test_the_deepest_json_that_is_taken(self, started: Started) -> None:
        deep = nested(MAX_DEPTH)
        entry = started.store.checkpoint(**started.right("checkpoint") | {"state": deep})
        assert canonical(entry.state) == canonical(deep)

    @pytest.mark.parametrize("value", [None, True, 2**63 - 1, -(2**63), 0.5, "", [], {}, "é\u0000\U0001f600"])
    def test_json_that_is_taken(self, started: Started, value: Json) -> None:
        started.store.checkpoint(**started.right("checkpoint") | {"state": value})
        context = started.store.execution_context(**started.right("execution_context"))
        assert canonical(context.checkpoints[0].state) == canonical(value)

    @pytest.mark.parametrize("capabilities", [[], ("a",), ["a", "b"]])
    def test_capabilities_are_any_sequence(self, capabilities: Any) -> None:
        store = WorkloadStore()
        work = store.admit(request=REQUEST).workload.workload_id
        held = store.claim(workload_id=work, worker_id="a", capabilities=capabilities, lease_ms=1, now_s=11)
        assert held.expires_at == 12


ADMISSIONS_OF_WRONG_TYPE: list[dict[str, Any]] = [
    {"tenant_id": None},
    {"idempotency_key": 1},
    {"environment": b"x"},
    {"trigger": 1},
    {"created_at": True},
    {"created_at": 1.0},
    {"not_before": "5"},
    {"priority": False},
    {"input": {"x": ()}},
    {"capability_snapshot": "email:send"},
    {"capability_snapshot": None},
    {"connection_scopes": (1,)},
    {"requested_by": "a1"},
    {"requested_by": Subject(kind="agent", id=1)},  # type: ignore[arg-type]
    {"authorization_snapshot": None},
    {"authorization_snapshot": evolve(GRANT, signature=None)},  # type: ignore[arg-type]
    {"retry_policy": {"max_attempts": 3}},
    {"retry_policy": evolve(POLICY, max_attempts=True)},
    {"retry_policy": evolve(POLICY, retry_on="timeout")},  # type: ignore[arg-type]
    {"retry_policy": evolve(POLICY, retry_on=frozenset({1}))},  # type: ignore[arg-type]
    {"timeouts": 5},
    {"timeouts": evolve(NO_TIMEOUTS, queue_ms=True)},
    {"dependencies": ("w",)},
    {"dependencies": "w"},
]

INVALID_ADMISSIONS: list[dict[str, Any]] = [
    {"idempotency_key": ""},
    {"idempotency_key": " \n"},
    {"tenant_id": LONE},
    {"created_at": BEYOND},
    {"not_before": -BEYOND - 1},
    {"priority": BEYOND},
    {"input": float("inf")},
    {"input": nested(TOO_DEEP)},
    {"input": own_container()},
    {"connection_scopes": (LONE,)},
    {"retry_policy": evolve(POLICY, backoff="linear")},
    {"retry_policy": evolve(POLICY, max_attempts=-1)},
    {"retry_policy": evolve(POLICY, max_attempts=2**32)},
    {"retry_policy": evolve(POLICY, initial_delay_ms=BEYOND)},
    {"retry_policy": evolve(POLICY, max_delay_ms=-1)},
    *(
        {"timeouts": evolve(NO_TIMEOUTS, **{name: value})}
        for name in ("queue_ms", "claim_ms", "execution_ms", "heartbeat_ms", "overall_ms")
        for value in (0, -1, BEYOND)
    ),
]


class TestAdmissions:
    @pytest.mark.parametrize("changes", ADMISSIONS_OF_WRONG_TYPE, ids=str)
    def test_wrong_type(self, changes: dict[str, Any]) -> None:
        store = WorkloadStore()
        # A secret in the input shows that types come even before that.
        request = evolve(REQUEST, **{"input": "sk-1"} | changes)
        with pytest.raises(TypeError):
            store.admit(request=request)
        assert store.snapshot() == {}

    def test_no_request_at_all(self) -> None:
        with pytest.raises(TypeError):
            WorkloadStore().admit(request={"tenant_id": "t"})  # type: ignore[arg-type]

    @pytest.mark.parametrize("index", range(len(INVALID_ADMISSIONS)))
    def test_invalid(self, index: int) -> None:
        store = WorkloadStore()
        # The grant is for another tenant too: INVALID comes first (WRK-ADM-02).
        request = evolve(
            REQUEST,
            **{"authorization_snapshot": evolve(GRANT, tenant_id="u")} | INVALID_ADMISSIONS[index],
        )
        with pytest.raises(WorkloadError) as caught:
            store.admit(request=request)
        assert (caught.value.code, store.snapshot()) == ("WORKLOAD_INVALID", {})

    def test_least_and_largest_values_are_taken(self) -> None:
        all_one = Timeouts(queue_ms=1, claim_ms=1, execution_ms=1, heartbeat_ms=1, overall_ms=1)
        largest = RetryPolicy(
            max_attempts=2**32 - 1,
            backoff="exponential",
            initial_delay_ms=2**63 - 1,
            max_delay_ms=2**63 - 1,
            retry_on=frozenset(),
        )
        taken: list[dict[str, Any]] = [
            {"timeouts": all_one},
            {"retry_policy": largest, "priority": -BEYOND, "created_at": -BEYOND},
            {"retry_policy": evolve(POLICY, max_attempts=0), "priority": BEYOND - 1},
        ]
        for changes in taken:
            assert WorkloadStore().admit(request=evolve(REQUEST, **changes)).created


class TestInspection:
    def test_a_container_shared_many_times_is_looked_at_once_per_level(self) -> None:
        value: list[Any] = ["x"]
        for _ in range(60):
            value = [value, value]
        findings = inspect(value)
        assert (findings.wrong_type, findings.secret, findings.fault) == (None, False, None)

    def test_empty_containers_count_as_a_level(self) -> None:
        assert inspect(nested(MAX_DEPTH - 1, [])).fault is None
        assert inspect(nested(MAX_DEPTH, [])).fault is not None


def test_refusals_name_the_argument() -> None:
    arguments: dict[str, Any] = {"workload_id": "w", "worker_id": "a", "capabilities": (), "now_s": 1}
    with pytest.raises(WorkloadError, match="lease_ms"):
        WorkloadStore().claim(**arguments, lease_ms=0)
    with pytest.raises(TypeError, match="lease_ms"):
        WorkloadStore().claim(**arguments, lease_ms="0")
