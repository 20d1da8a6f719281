"""The lives of workloads: deadlines, retries, waiting work, two workloads in one store."""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from workspec.workload.configurations.world import Ask, Fence, Workloads
from workspec.workload.rules import workload_id_of
from workspec.workload.vocabulary import (
    AdmissionRequest,
    Dependency,
    Grant,
    RetryPolicy,
    Subject,
    Timeouts,
)

AGENT: Final = Subject("agent", "a1")


def request(key: str, policy: RetryPolicy, timeouts: Timeouts | None = None, **more: Any) -> AdmissionRequest:
    members: dict[str, Any] = {
        "tenant_id": "t",
        "application_id": "app",
        "requested_by": AGENT,
        "idempotency_key": key,
        "definition_id": "send-mail",
        "definition_revision": "r1",
        "environment": "production",
        "input": {"id": 1},
        "capability_snapshot": ("email:send",),
        "connection_scopes": None,
        "priority": None,
        "retry_policy": policy,
        "timeouts": timeouts,
        "dependencies": None,
        "not_before": None,
        "trigger": None,
        "session_id": None,
        "created_at": 0,
        "authorization_snapshot": Grant(AGENT, "t", "app", "signed"),
    }
    return AdmissionRequest(**members | more)


def policy(max_attempts: int, backoff: str, delay_ms: int, most_ms: int, *kinds: str) -> RetryPolicy:
    return RetryPolicy(max_attempts, backoff, delay_ms, most_ms, frozenset(kinds))


def claim(worker: str, lease_ms: int, *capabilities: str) -> Ask:
    return Ask("claim", {"worker_id": worker, "capabilities": capabilities, "lease_ms": lease_ms})


def complete(result_id: str, output: Any, fence: Fence = Fence.PRESENT) -> Ask:
    arguments = {"result_id": result_id, "output": output, "references": (), "schema_version": 1}
    return Ask("complete", arguments, fence)


def fail(kind: str, effect: str | None, fence: Fence = Fence.PRESENT) -> Ask:
    return Ask("fail", {"kind": kind, "error": "no route", "effect": effect}, fence)


OPERATOR: Final = {"actor": "operator"}
CANCEL: Final = Ask("cancel", OPERATOR)
REARM: Final = Ask("retry", {"actor": "operator", "reason": "again"})
START: Final = Ask("start", fence=Fence.PRESENT)
LIFE: Final = (
    claim("a", 1000, "email:send"),
    START,
    Ask("heartbeat", {"extension_ms": 1000}, Fence.PRESENT),
    Ask("checkpoint", {"state": {"at": 1}}, Fence.PRESENT),
    complete("r1", {"sent": 1}),
    fail("timeout", None),
    Ask("time_out", OPERATOR),
    CANCEL,
    Ask("acknowledge_cancel", fence=Fence.PRESENT),
    REARM,
)
MISFITS: Final = (
    claim("a", 1000),
    claim("a", 0, "email:send"),
    Ask("start", fence=Fence.EARLIER),
    Ask("heartbeat", {"extension_ms": 1000}, Fence.STRANGER),
    Ask("execution_context", {"secret_references": ("db",)}, Fence.PRESENT),
    Ask("checkpoint", {"state": None}, Fence.INVENTED),
    complete("r1", {"sent": 1}, Fence.EARLIER),
    complete("r1", {"sent": 2}, Fence.EARLIER),
    fail("timeout", None, Fence.EARLIER),
    fail("timeout", "maybe"),
    Ask("get", {"fresh": True}),
)
"""Calls that are refused, or change nothing, wherever they are made."""

SHORT_DEADLINES: Final = Timeouts(queue_ms=1000, claim_ms=1000, execution_ms=2000, heartbeat_ms=1000, overall_ms=2000)
ALL_DEADLINES: Final = Timeouts(queue_ms=1000, claim_ms=1000, execution_ms=2000, heartbeat_ms=1000, overall_ms=4000)


def of(key: str, *asks: Ask) -> tuple[Ask, ...]:
    return tuple(evolve(ask, of=key) for ask in asks)


CI: Final = Workloads(
    "ci",
    "one workload with every deadline and two attempts, one worker, an operator; every kind of refusal",
    requests=(request("one", policy(2, "fixed", 1000, 1000, "worker_failure", "timeout"), SHORT_DEADLINES),),
    asks=(*LIFE, *MISFITS),
)
_NO_ATTEMPTS: Final = request("none", policy(0, "fixed", 0, 0))
_FIRST: Final = request("first", policy(1, "fixed", 0, 0, "worker_failure"), Timeouts(None, None, 1000, None, None))
_SECOND: Final = request(
    "second",
    policy(1, "fixed", 0, 0),
    not_before=2,
    dependencies=(Dependency(workload_id_of(_FIRST), "SUCCEEDED"),),
)
WAITING: Final = Workloads(
    "waiting",
    "work without attempts; work that waits for an instant and for other work; admissions and failures of each kind",
    requests=(
        _NO_ATTEMPTS,
        _FIRST,
        _SECOND,
        evolve(_FIRST, priority=5),
        evolve(_FIRST, timeouts=Timeouts(None, None, 0, None, None)),
        evolve(_FIRST, idempotency_key=" "),
        evolve(_FIRST, input={"key": "sk-1"}),
        evolve(_FIRST, authorization_snapshot=Grant(AGENT, "other", "app", "signed")),
    ),
    asks=(
        *of("none", claim("a", 1000, "email:send"), REARM, CANCEL),
        *of("first", claim("a", 1000, "email:send"), START, complete("r1", {"sent": 1})),
        *of("first", fail("validation", "none"), fail("validation", "unknown"), Ask("time_out", OPERATOR)),
        *of("second", claim("b", 1000, "email:send"), START, CANCEL),
        *of("second", complete("r1", {"sent": 1}), fail("validation", "unknown")),
    ),
)
WIDE: Final = Workloads(
    "wide",
    "two workloads in one store: one with every deadline, back-off and two attempts, one with a single attempt; "
    "two workers, an operator",
    requests=(
        request(
            "one",
            policy(2, "exponential", 1000, 2000, "worker_failure", "timeout"),
            evolve(ALL_DEADLINES, overall_ms=7000),
        ),
        request("two", policy(1, "fixed", 0, 0)),
    ),
    asks=(
        *of("one", *LIFE),
        *of("two", claim("b", 1000, "email:send"), START, complete("r1", {"sent": 1}), CANCEL, REARM),
    ),
    repeated=False,
)
CONFIGURATIONS: Final = (CI, WAITING, WIDE)
