"""Calls that should not be made: late, forged or unsound, of work that is not there; and files of older versions."""

from __future__ import annotations

import json
from typing import Any, Final

from attrs import evolve

from workspec.core.interpreter import apply
from workspec.core.record import Record, replaced
from workspec.core.record import State as Store
from workspec.core.scope import Call
from workspec.workload.configurations.lives import (
    AGENT,
    CANCEL,
    LIFE,
    OPERATOR,
    REARM,
    START,
    claim,
    complete,
    fail,
    policy,
    request,
)
from workspec.workload.configurations.world import PASSES, Ask, Fence, Workloads
from workspec.workload.contract import CONTRACT
from workspec.workload.rules import workload_id_of
from workspec.workload.samples import legacy_file
from workspec.workload.vocabulary import Grant, Timeouts

_BEYOND: Final = 2**63
_ONE: Final = request("one", policy(2, "fixed", 0, 0, "worker_failure", "timeout"))
_CLAIM: Final = claim("a", 1000, "email:send")
_HEARTBEAT: Final = Ask("heartbeat", {"extension_ms": 1000}, Fence.PRESENT)
_CONTEXT: Final = Ask("execution_context", {"secret_references": ("db",)}, Fence.PRESENT)
_CHECKPOINT: Final = Ask("checkpoint", {"state": {"at": 1}}, Fence.PRESENT)
_ACKNOWLEDGE: Final = Ask("acknowledge_cancel", fence=Fence.PRESENT)
_FENCED: Final = (
    START,
    _HEARTBEAT,
    _CONTEXT,
    _CHECKPOINT,
    complete("r1", {"sent": 1}),
    fail("timeout", None),
    _ACKNOWLEDGE,
)
_NOWHERE: Final = {"workload_id": "nowhere"}
_NO_FENCE: Final = {"claim_id": "c", "worker_id": "a", "fencing_token": 1}


def _of_unknown(ask: Ask) -> Call:
    return Call(ask.call, {**_NOWHERE, **(_NO_FENCE if ask.fence is not None else {}), **ask.arguments})


FENCES: Final = Workloads(
    "fences",
    "one workload with two attempts: every call of a worker under every kind of fence, and of a workload that is not "
    "there",
    requests=(_ONE,),
    asks=(
        _CLAIM,
        *(evolve(ask, fence=fence) for ask in _FENCED for fence in Fence),
        Ask("time_out", OPERATOR),
        CANCEL,
        REARM,
        Ask("get", {"fresh": True}),
    ),
    general=(
        *PASSES,
        *map(_of_unknown, (*_FENCED, _CLAIM, Ask("time_out", OPERATOR), CANCEL, REARM)),
        Call("get", {**_NOWHERE, "fresh": True}),
        Call("list_workloads", {"tenant_id": "t", "application_id": "app", "fresh": True}),
    ),
)


def _with(ask: Ask, **arguments: Any) -> Ask:
    return evolve(ask, arguments={**ask.arguments, **arguments})


_SINGLE: Final = request("single", policy(1, "fixed", 0, 0, "worker_failure"))
_COMPLETE: Final = complete("r1", {"sent": 1})
VALUES: Final = Workloads(
    "values",
    "one workload with a single attempt: values that are secret, empty, beyond their range, and at its limit",
    requests=(
        _SINGLE,
        evolve(_SINGLE, idempotency_key="other", input={"n": _BEYOND}),
        evolve(_SINGLE, input={"key": "sk-1"}),
        evolve(_SINGLE, timeouts=Timeouts(0, None, None, None, None)),
        evolve(_SINGLE, authorization_snapshot=Grant(AGENT, "t", "other", "signed")),
    ),
    asks=(
        *(claim("a", lease_ms, "email:send") for lease_ms in (1000, 1, 0, -1, _BEYOND)),
        START,
        *(_with(_HEARTBEAT, extension_ms=extension_ms) for extension_ms in (0, -1, 1, _BEYOND)),
        *(_with(_CONTEXT, secret_references=references) for references in (("",), ("sk-1",))),
        _CHECKPOINT,
        _with(_CHECKPOINT, state={"key": "sk-1"}),
        _with(_CHECKPOINT, state={"n": _BEYOND}),
        complete(" ", {"sent": 1}),
        complete("r1", {"key": "sk-1"}),
        complete("r1", {"n": _BEYOND}),
        *(_with(_COMPLETE, schema_version=version) for version in (-1, 0, 2)),
        _with(_COMPLETE, references=("doc:1",)),
        *(_with(fail("timeout", effect), error=error) for error in ("sk-1", "broken") for effect in (None, "maybe")),
    ),
)


def _after(store: Store, ask: Ask, **fence: Any) -> Store:
    return apply(CONTRACT, store, Call(ask.call, {"workload_id": _ID, **fence, **ask.arguments}), 0).state


_ID: Final = workload_id_of(_ONE)
_ADMITTED: Final = apply(CONTRACT, {}, Call("admit", {"request": _ONE}), 0).state
_CLAIMED: Final = _after(_ADMITTED, _CLAIM)
_TIMED_OUT: Final = _after(_ADMITTED, Ask("time_out", OPERATOR))
_FENCE: Final = {"claim_id": f"{_ID}/claim-1", "worker_id": "a", "fencing_token": 1}
_FAILED: Final = _after(_CLAIMED, fail("timeout", None), **_FENCE)


def _file(store: Store, **changes: Any) -> Call:
    """A migration of one record as an older version left it."""
    record = store[_ID]
    facts = replaced(record.facts, {"contract_version": 1, **changes})
    return Call("migrate", {"source": legacy_file({_ID: Record(1, facts, record.log)})})


def _cut_short(store: Store) -> Call:
    """The same of a record whose last event never came, so that it rests where it should have passed through."""
    record = store[_ID]
    *kept, last = record.log.history
    log = replaced(record.log, {"history": tuple(kept)})
    return _file({_ID: Record(1, record.facts, log)}, state=last.from_state)


def _inconsistent_file() -> Call:
    tree = json.loads(_file(_ADMITTED).arguments["source"])
    return Call("migrate", {"source": json.dumps({**tree, "idempotency": {}}).encode()})


LEGACY: Final = Workloads(
    "legacy",
    "one workload out of a file of an older version, at rest where this version never rests, or with more attempts "
    "than its policy allows",
    requests=(_ONE,),
    asks=(*LIFE,),
    general=(
        *PASSES,
        *map(_cut_short, (_ADMITTED, _FAILED, _TIMED_OUT)),
        *(_file(store, attempt_count=5) for store in (_ADMITTED, _CLAIMED)),
        _inconsistent_file(),
        Call("migrate", {"source": b"[]"}),
    ),
    aside=True,
)
