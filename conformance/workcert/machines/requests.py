"""Values that the workload machine draws: admission requests and near misses of them, durations, JSON."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from workcert.machines.sources import Made, Source, each, either, just, one_of
from workcert.ordinary import WORKLOAD_REQUEST

Json = Any

KINDS: Final = ("queue_ms", "claim_ms", "execution_ms", "heartbeat_ms", "overall_ms")
RETRY_ON: Final[tuple[list[str], ...]] = (
    ["timeout", "transient_connection", "worker_failure"],
    ["timeout", "transient_connection"],
    ["transient_connection", "worker_failure"],
    ["worker_failure"],
    [],
)
SECRETS: Final = ({"a": "sk-x"}, {"a": [{"b": "say BEGIN PRIVATE KEY"}]}, ["fdb_live_1"])

BASE: Final = WORKLOAD_REQUEST


def no_timeouts() -> dict[str, Json]:
    return dict.fromkeys(KINDS)


def members(**sources: Source) -> Source:
    """An object with a value of each source."""
    names = tuple(sources)
    return Made(each(*sources.values()), lambda values: dict(zip(names, values, strict=True)))


def policies() -> Source:
    return members(
        max_attempts=one_of([3, 1, 2, 0]),
        backoff=one_of(["fixed", "exponential"]),
        initial_delay_ms=one_of([1000, 0, 999, 1500, 3000]),
        max_delay_ms=one_of([60000, 1999, 5000, 2500]),
        retry_on=one_of(RETRY_ON),
    )


def timeouts() -> Source:
    """None, one deadline, or two that may pass in either order."""
    durations = one_of([3000, 1, 1000, 1001, 4000, 6000])
    one = Made(each(one_of(KINDS), durations), lambda pair: {pair[0]: pair[1]})
    two = Made(each(one, one), lambda pair: {**pair[0], **pair[1]})
    some = Made(either(one, one, two), lambda limits: no_timeouts() | limits)
    return either(just(None), some, some)


@cache
def requests(*, secrets: bool) -> Source:
    """A request without its times; few keys and requesters, so that scopes meet."""
    inputs: list[Json] = [{"id": 1}, {"id": 1, "more": [1, {"x": None}]}, "text"]
    if secrets:
        inputs.append(SECRETS[0])
    drawn = members(
        idempotency_key=one_of(["one", "two", "one ", "three", "four"]),
        requested_by=one_of([{"kind": "agent", "id": agent} for agent in ("a1", "a2")]),
        retry_policy=policies(),
        timeouts=timeouts(),
        input=one_of(inputs),
    )
    return Made(drawn, _as_authorized)


def _as_authorized(request: Json) -> Json:
    """A request whose snapshot of the authorization is of its requester."""
    snapshot = {**BASE["authorization_snapshot"], "subject": request["requested_by"]}
    return {**BASE, **request, "authorization_snapshot": snapshot}


CHANGES: Final[dict[str, Json]] = {
    "nothing": {},
    "trigger": {"trigger": "cron"},
    "session_id": {"session_id": "s9"},
    "definition_id": {"definition_id": "other"},
    "definition_revision": {"definition_revision": "r2"},
    "environment": {"environment": "staging"},
    "input": {"input": {"id": 2}},
    "capability_snapshot": {"capability_snapshot": ["email:send", "more"]},
    "repeated capability": {"capability_snapshot": ["email:send", "email:send"]},
    "connection_scopes": {"connection_scopes": ["c"]},
    "no connection scopes": {"connection_scopes": []},
    "priority": {"priority": 5},
    "priority 0": {"priority": 0},
    "absent timeouts": {"timeouts": no_timeouts()},
    "execution_ms": {"timeouts": no_timeouts() | {"execution_ms": 60000}},
    "dependencies": {"dependencies": [{"workload_id": "w1", "required_state": "SUCCEEDED"}]},
    "not_before": {"not_before": 5000},
    "zero timeout": {"timeouts": no_timeouts() | {"queue_ms": 0}},
    "blank key": {"idempotency_key": " \t"},
    "another subject": {
        "authorization_snapshot": {**BASE["authorization_snapshot"], "subject": {"kind": "agent", "id": "x"}}
    },
    "another tenant": {"authorization_snapshot": {**BASE["authorization_snapshot"], "tenant_id": "x"}},
    "unknown back-off": {"retry_policy": {**BASE["retry_policy"], "backoff": "sideways"}},
    "max_attempts": {"retry_policy": {**BASE["retry_policy"], "max_attempts": 9}},
}
"""Near misses of an admission: what a repeat changes. Some still replay, each of the others is refused."""
