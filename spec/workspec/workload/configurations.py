"""Small configurations of the workload contract: a few workloads, a few workers, short durations.

Each is data. A name stands in every report of a search, so that what was found unreachable was found so within
what the name says.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from attrs import evolve, field, frozen

from workspec.core.choice import reference
from workspec.core.configuration import Law, Taken
from workspec.core.interpreter import Accepted
from workspec.core.record import Record
from workspec.core.rule import Batch
from workspec.core.scope import Call, Scope, Trace
from workspec.workload.folding import fold
from workspec.workload.rules import workload_id_of
from workspec.workload.tables import deadline_passed
from workspec.workload.vocabulary import (
    AdmissionRequest,
    Dependency,
    Grant,
    RetryPolicy,
    Subject,
    Timeouts,
)


class Fence(StrEnum):
    """Whose fence a call carries. A call whose fence does not exist yet is not made."""

    PRESENT = "present"
    EARLIER = "earlier"
    """Of the latest attempt that has ended."""
    STRANGER = "stranger"
    """The present claim's, with a worker who does not hold it."""
    INVENTED = "invented"
    """The present claim's, with a token that was never given out."""


@frozen(eq=False)
class Ask:
    """A call that may be made of each workload, or of the one admitted under the idempotency key ``of``.
    ``fence`` None: the call has none."""

    call: str
    arguments: Mapping[str, Any] = field(factory=dict)
    fence: Fence | None = None
    of: str | None = None


PASSES: Final = (Call("enforce_deadlines", {}), Call("recover_expired", {}))


@frozen(eq=False)
class Workloads:
    """A configuration.

    ``requests`` may each be made at any time, and again if ``repeated``; their ``created_at`` is then, and
    ``not_before`` so many seconds after it (a repeated request names the instant that it named first). ``general``
    calls depend on no workload. ``waits`` are the steps of time, in seconds; ``to_instants`` adds the instants at which
    a rule turns.
    """

    name: str
    text: str
    requests: tuple[AdmissionRequest, ...]
    asks: tuple[Ask, ...]
    repeated: bool = True
    general: tuple[Call, ...] = PASSES
    waits: tuple[int, ...] = (1,)
    to_instants: bool = False
    start: int = 0
    renamings: tuple[Mapping[str, str], ...] = ()
    keys: tuple[str, ...] = field(init=False)

    @keys.default
    def _find_keys(self) -> tuple[str, ...]:
        return tuple(sorted({workload_id_of(request) for request in self.requests}))

    @property
    def laws(self) -> tuple[Law, ...]:
        return LAWS

    def calls(self, key: str | None, record: Record | None, now_s: int) -> Iterator[Call]:
        if key is None:
            yield from self.general
            return
        if record is None or self.repeated:
            for request in self.requests:
                if workload_id_of(request) == key:
                    yield Call("admit", {"request": _made_now(request, record, now_s)})
        if record is None:
            return
        for ask in self.asks:
            fence = _fence(ask.fence, record)
            if fence is not None and ask.of in (None, record.facts.terms.idempotency_key):
                yield Call(ask.call, {"workload_id": key, **fence, **ask.arguments})

    def holds_time(self, _record: Record, _now_s: int) -> bool:
        return False

    def fold(self, record: Record, now_s: int) -> Hashable:
        return fold(record, now_s)


def _made_now(request: AdmissionRequest, known: Record | None, now_s: int) -> AdmissionRequest:
    not_before = request.not_before
    if not_before is not None:
        not_before = now_s + not_before if known is None else known.facts.terms.not_before
    return evolve(request, created_at=now_s, not_before=not_before)


def _fence(whose: Fence | None, record: Record) -> dict[str, Any] | None:
    if whose is None:
        return {}
    ended = record.log.attempts
    claim = (ended[-1] if ended else None) if whose is Fence.EARLIER else record.facts.claim
    if claim is None:
        return None
    return {
        "claim_id": claim.claim_id,
        "worker_id": "stranger" if whose is Fence.STRANGER else claim.worker_id,
        "fencing_token": claim.fencing_token + (whose is Fence.INVENTED),
    }


# Laws ------------------------------------------------------------------------------------------------------------


def _nothing_passed_is_left(taken: Taken, keys: Iterable[str]) -> bool:
    after = taken.done.state
    scopes = (
        Scope(taken.now, {}, after, key, after[key].facts, after[key].facts, reference, Trace())
        for key in keys
        if key in after
    )
    return not any(deadline_passed.decide(scope) for scope in scopes)


def _others_stay(taken: Taken, _keys: Iterable[str]) -> bool:
    if not taken.changed or isinstance(taken.contract.operation(taken.call.name), Batch):
        return True
    return taken.changed <= {taken.done.decision.scope.key}


def _versions_move_with_writes(taken: Taken, _keys: Iterable[str]) -> bool:
    """A renewed lease moves the version and adds no event; a replay moves nothing."""
    before, after = taken.before, taken.done.state
    if not isinstance(taken.done.outcome, Accepted):
        return True
    if taken.done.decision.rule is not None:
        return not taken.changed
    if taken.call.name == "heartbeat":
        key = taken.call.arguments["workload_id"]
        return after[key].version != before[key].version and after[key].log == before[key].log
    return True


LAWS: Final = (
    Law("WRK-INV-11", "a heartbeat moves the version alone; a replay moves nothing", _versions_move_with_writes),
    Law("WRK-INV-13", "after a deadline pass no deadline is passed", _nothing_passed_is_left, ("enforce_deadlines",)),
    Law("WRK-INV-15", "a call on one workload changes no other", _others_stay),
)

# Data ------------------------------------------------------------------------------------------------------------

_AGENT: Final = Subject("agent", "a1")


def _request(key: str, policy: RetryPolicy, timeouts: Timeouts | None = None, **more: Any) -> AdmissionRequest:
    members: dict[str, Any] = {
        "tenant_id": "t",
        "application_id": "app",
        "requested_by": _AGENT,
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
        "authorization_snapshot": Grant(_AGENT, "t", "app", "signed"),
    }
    return AdmissionRequest(**members | more)


def _policy(max_attempts: int, backoff: str, delay_ms: int, most_ms: int, *kinds: str) -> RetryPolicy:
    return RetryPolicy(max_attempts, backoff, delay_ms, most_ms, frozenset(kinds))


def _claim(worker: str, lease_ms: int, *capabilities: str) -> Ask:
    return Ask("claim", {"worker_id": worker, "capabilities": capabilities, "lease_ms": lease_ms})


def _complete(result_id: str, output: Any, fence: Fence = Fence.PRESENT) -> Ask:
    arguments = {"result_id": result_id, "output": output, "references": (), "schema_version": 1}
    return Ask("complete", arguments, fence)


def _fail(kind: str, effect: str | None, fence: Fence = Fence.PRESENT) -> Ask:
    return Ask("fail", {"kind": kind, "error": "no route", "effect": effect}, fence)


_OPERATOR: Final = {"actor": "operator"}
_CANCEL: Final = Ask("cancel", _OPERATOR)
_REARM: Final = Ask("retry", {"actor": "operator", "reason": "again"})
_START: Final = Ask("start", fence=Fence.PRESENT)
_LIFE: Final = (
    _claim("a", 1000, "email:send"),
    _START,
    Ask("heartbeat", {"extension_ms": 1000}, Fence.PRESENT),
    Ask("checkpoint", {"state": {"at": 1}}, Fence.PRESENT),
    _complete("r1", {"sent": 1}),
    _fail("timeout", None),
    Ask("time_out", _OPERATOR),
    _CANCEL,
    Ask("acknowledge_cancel", fence=Fence.PRESENT),
    _REARM,
)
_MISFITS: Final = (
    _claim("a", 1000),
    _claim("a", 0, "email:send"),
    Ask("start", fence=Fence.EARLIER),
    Ask("heartbeat", {"extension_ms": 1000}, Fence.STRANGER),
    Ask("execution_context", {"secret_references": ("db",)}, Fence.PRESENT),
    Ask("checkpoint", {"state": None}, Fence.INVENTED),
    _complete("r1", {"sent": 1}, Fence.EARLIER),
    _complete("r1", {"sent": 2}, Fence.EARLIER),
    _fail("timeout", None, Fence.EARLIER),
    _fail("timeout", "maybe"),
    Ask("get", {"fresh": True}),
)
"""Calls that are refused, or change nothing, wherever they are made."""

_ALL_DEADLINES: Final = Timeouts(queue_ms=1000, claim_ms=1000, execution_ms=2000, heartbeat_ms=1000, overall_ms=4000)


def _of(key: str, *asks: Ask) -> tuple[Ask, ...]:
    return tuple(evolve(ask, of=key) for ask in asks)


CI: Final = Workloads(
    "ci",
    "one workload with every deadline and two attempts, one worker, an operator; every kind of refusal",
    requests=(_request("one", _policy(2, "fixed", 1000, 1000, "worker_failure", "timeout"), _ALL_DEADLINES),),
    asks=(*_LIFE, *_MISFITS),
)
_NO_ATTEMPTS: Final = _request("none", _policy(0, "fixed", 0, 0))
_FIRST: Final = _request("first", _policy(1, "fixed", 0, 0, "worker_failure"), Timeouts(None, None, 1000, None, None))
_SECOND: Final = _request(
    "second",
    _policy(1, "fixed", 0, 0),
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
        evolve(_FIRST, authorization_snapshot=Grant(_AGENT, "other", "app", "signed")),
    ),
    asks=(
        *_of("none", _claim("a", 1000, "email:send"), _REARM, _CANCEL),
        *_of("first", _claim("a", 1000, "email:send"), _START, _complete("r1", {"sent": 1})),
        *_of("first", _fail("validation", "none"), _fail("validation", "unknown"), Ask("time_out", _OPERATOR)),
        *_of("second", _claim("b", 1000, "email:send"), _START, _CANCEL),
        *_of("second", _complete("r1", {"sent": 1}), _fail("validation", "unknown")),
    ),
)
WIDE: Final = Workloads(
    "wide",
    "two workloads in one store: one with every deadline, back-off and two attempts, one with a single attempt; "
    "two workers, an operator",
    requests=(
        _request(
            "one",
            _policy(2, "exponential", 1000, 2000, "worker_failure", "timeout"),
            evolve(_ALL_DEADLINES, overall_ms=6000),
        ),
        _request("two", _policy(1, "fixed", 0, 0)),
    ),
    asks=(
        *_of("one", *_LIFE),
        *_of("two", _claim("b", 1000, "email:send"), _START, _complete("r1", {"sent": 1}), _CANCEL, _REARM),
    ),
    repeated=False,
)
CONFIGURATIONS: Final = (CI, WAITING, WIDE)
