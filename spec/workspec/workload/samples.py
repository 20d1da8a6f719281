"""Calls worth trying on a store of workloads, for sampling walks over the model (`workspec.core.sample`).

Most fit the present state, so that a walk gets somewhere; some are stale, early or unsound on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from attrs import asdict, evolve

from workspec.core.record import Record, replaced
from workspec.core.record import State as Records
from workspec.core.sample import Pick
from workspec.core.scope import Call
from workspec.workload.facts import present
from workspec.workload.rules import DEFAULT_POLICY, NO_TIMEOUTS
from workspec.workload.vocabulary import AdmissionRequest, Dependency, Grant, State, Subject

AGENT: Final = Subject("agent", "a1")
REQUEST: Final = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=AGENT,
    idempotency_key="one",
    definition_id="send-mail",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=("email:send",),
    connection_scopes=None,
    priority=None,
    retry_policy=None,
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(AGENT, "t", "app", "signed"),
)
_POLICIES: Final = (
    None,
    None,
    evolve(DEFAULT_POLICY, max_attempts=1, backoff="fixed"),
    evolve(DEFAULT_POLICY, max_attempts=0),
    evolve(DEFAULT_POLICY, retry_on=frozenset({"timeout"})),
    evolve(DEFAULT_POLICY, retry_on=frozenset({"timeout", "validation"})),
    evolve(DEFAULT_POLICY, retry_on=frozenset({"worker_failure"})),
)
_TIMEOUTS: Final = (
    *(None,) * 6,
    *(evolve(NO_TIMEOUTS, **{f"{kind}_ms": 4000}) for kind in ("queue", "claim", "execution", "heartbeat")),
    evolve(NO_TIMEOUTS, overall_ms=9001),
)
_FAULTS: Final[tuple[Mapping[str, Any], ...]] = (
    {"input": "sk-secret"},
    {"input": float("nan")},
    {"idempotency_key": " "},
    {"timeouts": evolve(NO_TIMEOUTS, claim_ms=0)},
    {"authorization_snapshot": Grant(AGENT, "other", "app", "signed")},
    {"priority": 5},
)
_STORE: Final = ("enforce_deadlines", "recover_expired", "migrate", "list_workloads")
_ONE: Final = (
    *("claim", "start", "heartbeat", "execution_context", "checkpoint", "complete", "fail"),
    *("time_out", "cancel", "acknowledge_cancel", "retry", "get"),
)
_WORK: Final = ("checkpoint", "complete", "fail", "fail", "heartbeat", "execution_context")
_FITTING: Final[Mapping[str, tuple[str, ...]]] = {
    State.READY: ("claim",),
    State.CLAIMED: (*("start",) * 10, *_WORK),
    State.RUNNING: (*_WORK, "checkpoint", "checkpoint", "cancel"),
    State.CHECKPOINTED: (*_WORK, "cancel", "time_out"),
    State.CANCELLATION_REQUESTED: (*("acknowledge_cancel",) * 2, *_WORK),
    State.DEAD_LETTER: ("retry",),
    State.SUCCEEDED: ("complete",),
}


def propose(state: Records, now_s: int, pick: Pick) -> Call:
    """A call on one of the workloads, an admission, a pass, a migration or a read."""
    kind = pick(("one",) * 12 * bool(state) + ("admit", "admit", "store"))
    if kind == "admit":
        return Call("admit", {"request": _request(state, now_s, pick)})
    if kind == "store":
        return _of_store(pick(_STORE), state, pick)
    key = pick((*sorted(state) * 8, "nobody"))
    record = state.get(key)
    fitting = () if record is None else _FITTING.get(record.facts.state, ())
    name = pick(pick((_ONE, fitting, fitting, fitting)) or _ONE)
    arguments = _arguments(name, record, now_s, pick)
    texts = sorted(member for member, value in arguments.items() if isinstance(value, str))
    spoiled = {pick(texts): "\ud800"} if texts and pick((False,) * 40 + (True,)) else {}
    return Call(name, {"workload_id": key, **arguments, **spoiled})


def _of_store(name: str, state: Records, pick: Pick) -> Call:
    if name == "migrate":
        files = (b"[]", legacy_file({}), legacy_file(state), legacy_file(_another(state)), _edited(state))
        return Call(name, {"source": pick(files)})
    if name == "list_workloads":
        return Call(name, {"tenant_id": "t", "application_id": "app", "fresh": True})
    return Call(name, {})


def _request(state: Records, now_s: int, pick: Pick) -> AdmissionRequest:
    dependency = Dependency(pick(sorted(state)), "SUCCEEDED") if state else None
    request = evolve(
        REQUEST,
        idempotency_key=pick(("one", "two", "three", "four", "five")),
        retry_policy=pick(_POLICIES),
        timeouts=pick(_TIMEOUTS),
        dependencies=pick((None, None, (dependency,))) if dependency else None,
        not_before=pick((None, None, now_s + 3)),
        created_at=now_s,
    )
    replayed = [record.facts.terms for record in state.values()]
    if replayed and pick((True, False)):
        terms = pick(replayed)
        request = _as_admitted(terms, now_s)
    return evolve(request, **pick(({},) * 6 + _FAULTS))


def _as_admitted(terms: Any, now_s: int) -> AdmissionRequest:
    """The same admission once more."""
    members = {
        name: getattr(terms, name)
        for name in ("idempotency_key", "retry_policy", "timeouts", "dependencies", "not_before")
    }
    return evolve(REQUEST, **members, created_at=now_s)


def _arguments(name: str, record: Record | None, now_s: int, pick: Pick) -> dict[str, Any]:
    lease_ms = pick((5000, 5000, 5000, 1, 1500, 0))
    secret = pick((False,) * 9 + (True,))
    if name == "get":
        return {"fresh": True}
    if name == "claim":
        capabilities = pick((("email:send",),) * 6 + ((),))
        return {"worker_id": pick(("a", "b")), "capabilities": capabilities, "lease_ms": lease_ms}
    if name in ("time_out", "cancel"):
        return {"actor": "operator"}
    if name == "retry":
        return {"actor": "operator", "reason": pick((None, " ", "fixed", "x" * 300))}
    work: Mapping[str, Mapping[str, Any]] = {
        "heartbeat": {"extension_ms": lease_ms},
        "execution_context": {"secret_references": pick((("db",), ("db",), ("",), ("sk-x",)))},
        "checkpoint": {"state": "sk-x" if secret else {"at": now_s}},
        "complete": {
            "result_id": pick(("r1", "r1", "r2", "r3", " ")),
            "output": "sk-x" if secret else {"sent": pick((1, 1, 1, 2))},
            "references": pick(((), (), ("doc:1",))),
            "schema_version": pick((1,) * 8 + (0, 2)),
        },
        "fail": {
            "kind": pick(("timeout", "validation")),
            "error": "sk-x" if secret else "no route",
            "effect": pick((None, None, None, "none", "unknown", "unknown", "maybe")),
        },
    }
    return {**_fence(record, pick), **work.get(name, {})}


def _fence(record: Record | None, pick: Pick) -> dict[str, Any]:
    """The present claim's fence, or one that was recorded; now and then with one member changed."""
    fence = {"claim_id": "c", "worker_id": "a", "fencing_token": 1}
    held = [] if record is None else [*record.log.attempts, record.facts.claim, record.facts.claim]
    known = [claim for claim in held if claim is not None]
    if known:
        claim = pick((*known, *known[-1:] * 8))
        fence = {name: getattr(claim, name) for name in fence}
    others = ({"claim_id": "other"}, {"worker_id": "z"}, {"fencing_token": 99}, {"fencing_token": 0})
    changed = pick(({},) * 16 + others)
    return {**fence, **changed}


def legacy_file(state: Records) -> bytes:
    """The legacy file of these records, its derived parts right (WRK-MIG)."""
    workloads = [present(state[key]) for key in sorted(state)]
    tree = {
        "workloads": {w.workload_id: asdict(w) for w in workloads},
        "idempotency": {f"{w.tenant_id}:{w.application_id}:{w.idempotency_key}": w.workload_id for w in workloads},
        "result_ids": {w.result.result_id: w.workload_id for w in workloads if w.result is not None},
        "event_sequence": sum(len(w.execution_history) for w in workloads),
    }
    return json.dumps(tree, default=sorted).encode()


def _another(state: Records) -> Records:
    """These records and a copy of one, under another id and key. Result ids are unique, so it must have none."""
    copied = [record for record in state.values() if record.facts.result is None]
    if not copied:
        return state
    terms = replaced(copied[0].facts.terms, {"idempotency_key": "moved"})
    facts = replaced(copied[0].facts, {"workload_id": "moved", "terms": terms})
    return {**state, "moved": Record(1, facts, copied[0].log)}


def _edited(state: Records) -> bytes:
    """The legacy file of these records, and of one that differs from its record."""
    tree = json.loads(legacy_file(state))
    for workload in tree["workloads"].values():
        workload["priority"] += 1
    return json.dumps(tree).encode()
