"""Arithmetic, ids and comparisons of the workload contract (its sections 6, 3.1 and 3.2), by literal values."""

from typing import Any

import pytest
from attrs import evolve

from workspec.workload.rules import (
    DEFAULT_POLICY,
    MAX_I64,
    MIN_I64,
    NO_TIMEOUTS,
    canonical_hash,
    conflicting_fields,
    deadline_instant,
    delayed_instant,
    failure_delay_ms,
    holds_secret,
    is_secret,
    is_sound_json,
    is_text,
    lease_end,
    recorded_reason,
    saturated,
    scope_of,
    terms_of,
    workload_id_of,
)
from workspec.workload.samples import REQUEST
from workspec.workload.vocabulary import AdmissionRequest, Dependency, Grant, Subject


@pytest.mark.parametrize(
    ("duration_ms", "seconds"), [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (4000, 4), (4001, 5)]
)
def test_a_deadline_is_rounded_up(duration_ms: int, seconds: int) -> None:
    assert deadline_instant(12, duration_ms) == 12 + seconds
    assert deadline_instant(-12, duration_ms) == -12 + seconds


def test_a_deadline_without_base_or_duration_is_none() -> None:
    assert deadline_instant(None, 1) is None
    assert deadline_instant(1, None) is None


def test_instants_saturate() -> None:
    assert deadline_instant(MAX_I64 - 1, 2**64 - 1) == MAX_I64
    assert delayed_instant(MAX_I64, 60_000) == MAX_I64
    assert lease_end(MAX_I64, 10_000, "up") == MAX_I64
    assert saturated(MIN_I64 - 1) == MIN_I64


@pytest.mark.parametrize(
    ("lease_ms", "up", "down"), [(1, 1, 0), (999, 1, 0), (1000, 1, 1), (1001, 2, 1), (10_000, 10, 10)]
)
def test_a_lease_is_rounded_as_declared(lease_ms: int, up: int, down: int) -> None:
    assert lease_end(11, lease_ms, "up") == 11 + up
    assert lease_end(11, lease_ms, "down") == 11 + down


@pytest.mark.parametrize(
    ("backoff", "initial_ms", "cap_ms", "seconds"),
    [
        ("exponential", 1500, 5000, [1, 3, 5, 5]),
        ("fixed", 1500, 60_000, [1, 1, 1, 1]),
        ("fixed", 1999, 60_000, [1, 1, 1, 1]),
        ("fixed", 999, 60_000, [0, 0, 0, 0]),
        ("exponential", 999, 60_000, [0, 1, 3, 7]),
        ("fixed", 5000, 2000, [2, 2, 2, 2]),
        ("exponential", 0, 60_000, [0, 0, 0, 0]),
    ],
)
def test_back_off(backoff: str, initial_ms: int, cap_ms: int, seconds: list[int]) -> None:
    policy = evolve(DEFAULT_POLICY, backoff=backoff, initial_delay_ms=initial_ms, max_delay_ms=cap_ms)
    delays = [failure_delay_ms(policy, count, 0) for count in (1, 2, 3, 4)]
    assert [delayed_instant(100, delay) - 100 for delay in delays] == seconds


def test_back_off_of_a_store_that_begins_with_the_double() -> None:
    policy = evolve(DEFAULT_POLICY, initial_delay_ms=1500, max_delay_ms=5000)
    assert [failure_delay_ms(policy, count, 1) for count in (1, 2, 3)] == [3000, 5000, 5000]


def test_back_off_saturates_after_any_number_of_retries() -> None:
    policy = evolve(DEFAULT_POLICY, initial_delay_ms=1, max_delay_ms=2**64 - 1)
    assert failure_delay_ms(policy, 64, 0) == 2**63
    assert failure_delay_ms(policy, 65, 0) == 2**64 - 1
    assert failure_delay_ms(policy, 10**9, 0) == 2**64 - 1


def test_the_id_is_derived_from_the_scope() -> None:
    """WRK-ADM-08."""
    assert scope_of(REQUEST) == ("t", "app", "agent", "a1", "one")
    assert workload_id_of(REQUEST) == "workload_a905c442ee731da96617b295"


def test_parts_of_the_scope_cannot_imitate_another_split() -> None:
    first = evolve(REQUEST, requested_by=Subject("agent", "x:k1"), idempotency_key="k2")
    second = evolve(REQUEST, requested_by=Subject("agent", "x"), idempotency_key="k1:k2")
    quoted = evolve(REQUEST, requested_by=Subject("agent", 'x","k1'), idempotency_key="k2")
    blank = evolve(REQUEST, idempotency_key=" one")
    ids = {workload_id_of(request) for request in (REQUEST, first, second, quoted, blank)}
    assert len(ids) == 5


def test_text_beyond_utf_8_has_an_id_all_the_same() -> None:
    """It is refused by a check, and locating comes before checks."""
    assert workload_id_of(evolve(REQUEST, idempotency_key="\ud800")).startswith("workload_")


W1, W2 = Dependency("w1", "SUCCEEDED"), Dependency("w2", "SUCCEEDED")
ADMITTED = evolve(
    REQUEST,
    input={"a": 1, "b": {"c": [1, 2], "d": None}},
    dependencies=(W1, W2),
    retry_policy=evolve(DEFAULT_POLICY, backoff="fixed"),
)


def fields(changed: AdmissionRequest, admitted: AdmissionRequest = ADMITTED) -> list[str]:
    return list(conflicting_fields(changed, terms_of(admitted, "")))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"input": {"b": {"d": None, "c": [1, 2]}, "a": 1}},
        {"capability_snapshot": ("email:send", "email:send")},
        {"connection_scopes": ()},
        {"priority": 0},
        {"timeouts": NO_TIMEOUTS},
        {"dependencies": (W2, W1)},
        {"trigger": "cron", "session_id": "s9", "created_at": 99},
        {"authorization_snapshot": Grant(Subject("agent", "a1"), "t", "app", "signed anew")},
    ],
)
def test_what_makes_no_difference(changes: dict[str, Any]) -> None:
    assert fields(evolve(ADMITTED, **changes)) == []


@pytest.mark.parametrize(
    ("changes", "conflicting"),
    [
        ({"definition_id": "other"}, ["definition_id"]),
        ({"definition_revision": "r2"}, ["definition_revision"]),
        ({"environment": "staging"}, ["environment"]),
        ({"input": {"a": 1, "b": 3}}, ["input"]),
        ({"input": {"a": 1.0, "b": {"c": [1, 2], "d": None}}}, ["input"]),
        ({"input": {"a": 1, "b": {"c": [2, 1], "d": None}}}, ["input"]),
        ({"input": {"a": 1, "b": {"c": [1, 2]}}}, ["input"]),
        ({"input": {"a": True, "b": {"c": [1, 2], "d": None}}}, ["input"]),
        ({"capability_snapshot": ("email:send", "sms:send")}, ["capability_snapshot"]),
        ({"connection_scopes": ("x",)}, ["connection_scopes"]),
        ({"priority": 5}, ["priority"]),
        ({"retry_policy": evolve(DEFAULT_POLICY, backoff="fixed", max_attempts=9)}, ["retry_policy"]),
        ({"retry_policy": None}, ["retry_policy"]),
        ({"timeouts": evolve(NO_TIMEOUTS, execution_ms=60_000)}, ["timeouts"]),
        ({"dependencies": (W1,)}, ["dependencies"]),
        ({"dependencies": (W1, W1, W2)}, ["dependencies"]),
        ({"dependencies": None}, ["dependencies"]),
        ({"dependencies": (W1, evolve(W2, required_state="FAILED"))}, ["dependencies"]),
        ({"not_before": 5000}, ["not_before"]),
        ({"not_before": 0}, ["not_before"]),
        ({"priority": 1, "environment": "staging"}, ["environment", "priority"]),
        (
            {"not_before": 5000, "definition_id": "z", "timeouts": evolve(NO_TIMEOUTS, execution_ms=60_000)},
            ["definition_id", "timeouts", "not_before"],
        ),
    ],
)
def test_what_makes_a_difference_is_named_in_fixed_order(changes: dict[str, Any], conflicting: list[str]) -> None:
    assert fields(evolve(ADMITTED, **changes)) == conflicting


def test_every_execution_field_at_once() -> None:
    changes = evolve(
        ADMITTED,
        not_before=1,
        dependencies=(),
        timeouts=evolve(NO_TIMEOUTS, queue_ms=1),
        retry_policy=None,
        priority=-1,
        connection_scopes=("s",),
        capability_snapshot=(),
        input=None,
        environment="e",
        definition_revision="r",
        definition_id="d",
    )
    assert fields(changes) == [
        "definition_id",
        "definition_revision",
        "environment",
        "input",
        "capability_snapshot",
        "connection_scopes",
        "priority",
        "retry_policy",
        "timeouts",
        "dependencies",
        "not_before",
    ]


def test_the_defaults() -> None:
    terms = terms_of(REQUEST, "h")
    assert terms.retry_policy.max_attempts == 3
    assert terms.retry_policy.backoff == "exponential"
    assert (terms.retry_policy.initial_delay_ms, terms.retry_policy.max_delay_ms) == (1000, 60_000)
    assert terms.retry_policy.retry_on == {"worker_failure", "timeout", "transient_connection"}
    assert (terms.priority, terms.dependencies, terms.connection_scopes) == (0, (), frozenset())
    assert terms.timeouts == NO_TIMEOUTS


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("a BEGIN PRIVATE KEY", True),
        ("sk-1", True),
        ("sk-", True),
        ("ask-sk-1", False),
        (" sk-1", False),
        ("fdb_live_", True),
        ("Sk-1", False),
        ("begin private key", False),
        ("", False),
    ],
)
def test_what_is_secret(text: str, secret: bool) -> None:
    assert is_secret(text) is secret
    assert holds_secret([{"a": [0, {"b": text}]}]) is secret
    assert holds_secret({text: 1}) is secret


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63, -(2**63) - 1, "\ud800", {"\udfff": 1}])
def test_unsound_json(value: Any) -> None:
    assert not is_sound_json([{"deep": [value]}])


@pytest.mark.parametrize("value", [None, True, 2**63 - 1, -(2**63), 1.5, "\U0001f600", {"é": []}])
def test_sound_json(value: Any) -> None:
    assert is_sound_json([{"deep": [value]}])
    assert is_text("\ue000")


def test_the_hash_is_that_of_compact_sorted_json() -> None:
    assert canonical_hash({"b": 1, "a": "é"}) == canonical_hash({"a": "é", "b": 1})
    assert canonical_hash({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize(
    ("reason", "recorded"),
    [
        (None, None),
        ("", None),
        ("   ", None),
        ("\t\n", None),
        (" why ", " why "),
        ("é" * 256, "é" * 256),
        ("  " + "é" * 300, "  " + "é" * 254),
    ],
)
def test_an_operators_reason(reason: str | None, recorded: str | None) -> None:
    assert recorded_reason(reason) == recorded
