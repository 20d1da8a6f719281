"""Values that the workload machine draws: admission requests and near misses of them, durations, JSON."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

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


def policies() -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {
            "max_attempts": st.sampled_from([3, 1, 2, 0]),
            "backoff": st.sampled_from(["fixed", "exponential"]),
            "initial_delay_ms": st.sampled_from([1000, 0, 999, 1500, 3000]),
            "max_delay_ms": st.sampled_from([60000, 1999, 5000, 2500]),
            "retry_on": st.sampled_from(RETRY_ON),
        }
    )


def timeouts() -> st.SearchStrategy[Json]:
    """None, one deadline, or two that may pass in either order."""
    durations = st.sampled_from([3000, 1, 1000, 1001, 4000, 6000])
    one = st.tuples(st.sampled_from(KINDS), durations).map(lambda pair: {pair[0]: pair[1]})
    two = st.tuples(one, one).map(lambda pair: {**pair[0], **pair[1]})
    some = st.one_of(one, one, two).map(lambda set_: no_timeouts() | set_)
    return st.one_of(st.none(), some, some)


def requests(*, secrets: bool) -> st.SearchStrategy[Json]:
    """A request without its times; few keys and requesters, so that scopes meet."""
    inputs: list[Json] = [{"id": 1}, {"id": 1, "more": [1, {"x": None}]}, "text"]
    if secrets:
        inputs.append(SECRETS[0])
    return st.builds(
        lambda key, agent, policy, limits, input_: {
            **BASE,
            "idempotency_key": key,
            "requested_by": {"kind": "agent", "id": agent},
            "authorization_snapshot": {
                **BASE["authorization_snapshot"],
                "subject": {"kind": "agent", "id": agent},
            },
            "retry_policy": policy,
            "timeouts": limits,
            "input": input_,
        },
        key=st.sampled_from(["one", "two", "one ", "three", "four"]),
        agent=st.sampled_from(["a1", "a2"]),
        policy=policies(),
        limits=timeouts(),
        input_=st.sampled_from(inputs),
    )


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
