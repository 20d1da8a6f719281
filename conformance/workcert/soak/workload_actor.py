"""What one process of a soak does of the workload contract. The instant of each call is the system's time: callers
bring their own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from attrs import define, evolve, field, frozen

from workcert.codec import structure
from workcert.ordinary import WORKLOAD_REQUEST
from workcert.run.calling import Answered
from workcert.soak.actor import Actor, picked
from workspec.workload.vocabulary import AdmissionRequest, RetryPolicy, Timeouts

TENANT: Final = "soak"
MOST_HELD: Final = 5
MOST_KNOWN: Final = 60
DOINGS: Final[Mapping[str, Mapping[str, float]]] = {
    "worker": {"submit": 2, "work": 16, "sweep": 1, "operate": 1},
    "sweeper": {"submit": 2, "work": 8, "sweep": 6, "operate": 1},
    "operator": {"submit": 2, "work": 8, "sweep": 2, "operate": 5},
}
POLICY: Final = RetryPolicy(3, "fixed", 1000, 1000, frozenset({"worker_failure", "timeout", "transient_connection"}))
_REQUEST: Final[AdmissionRequest] = structure(AdmissionRequest, {**WORKLOAD_REQUEST, "tenant_id": TENANT}, "request")


def now_s() -> int:
    return int(time.time())


@frozen
class Held:
    """A claim. ``late``: it is to be reported only after its lease has ended, at ``ends_s`` by the system's time."""

    workload: str
    claim: str
    worker: str
    token: int
    ends_s: int
    late: bool
    started: bool = False

    @property
    def fence(self) -> dict[str, Any]:
        return {
            "workload_id": self.workload,
            "claim_id": self.claim,
            "worker_id": self.worker,
            "fencing_token": self.token,
        }

    @property
    def about(self) -> dict[str, Any]:
        return {"workload": self.workload, "claim": self.claim, "worker": self.worker, "token": self.token}


@define(eq=False)
class WorkloadActor(Actor):
    DOINGS = DOINGS
    held: list[Held] = field(factory=list)

    def repeat(self, unanswered: Mapping[str, Any]) -> None:
        self._admit(unanswered)

    @property
    def application(self) -> str:
        return f"process-{self.task.index}"

    # Submitting ------------------------------------------------------------------------------------------------------

    def _submit(self) -> None:
        hurried = self.chance.random() < 0.1
        key = {"application": self.application, "key": self.name(), "created": now_s(), "hurried": hurried}
        self._admit(key)
        if self.chance.random() < 0.1:
            self._admit(key)

    def _admit(self, about: Mapping[str, Any]) -> None:
        request = evolve(
            _REQUEST,
            application_id=about["application"],
            idempotency_key=about["key"],
            input={"key": about["key"]},
            retry_policy=POLICY,
            timeouts=Timeouts(None, None, 2000, None, 4000) if about["hurried"] else None,
            created_at=about["created"],
            authorization_snapshot=evolve(
                _REQUEST.authorization_snapshot, tenant_id=TENANT, application_id=about["application"]
            ),
        )
        seen = self.ask("admit", dict(about), {"request": request}, lambda answer: _admitted(answer))
        if isinstance(seen, Answered):
            self.pool.put([seen.value.workload.workload_id])

    # Working ---------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        ready = [held for held in self.held if not held.late or held.ends_s < now_s()]
        if ready and (len(self.held) >= MOST_HELD or self.chance.random() < 0.75):
            self._go_on(self.chance.choice(ready))
        elif len(self.held) < MOST_HELD:
            self._claim()

    def _claim(self) -> None:
        workload, worker = picked(self.chance, self.pool.latest()[-MOST_KNOWN:]), f"w{self.task.who}"
        if workload is None:
            return
        arguments = {
            "workload_id": workload,
            "worker_id": worker,
            "capabilities": ("email:send",),
            "lease_ms": self.chance.randint(1000, 2000),
            "now_s": now_s(),
        }
        about = {"workload": workload, "worker": worker}
        seen = self.ask("claim", about, arguments, lambda claim: [claim.claim_id, claim.fencing_token])
        if isinstance(seen, Answered):
            claim = seen.value
            late = self.chance.random() < 0.08
            held = Held(workload, claim.claim_id, worker, claim.fencing_token, claim.expires_at, late)
            self.held.append(held)

    def _go_on(self, held: Held) -> None:
        draw = self.chance.random()
        if draw < 0.03:
            # Left to the sweep.
            self.held.remove(held)
        elif not held.started:
            self._fenced("start", held)
            self.held[self.held.index(held)] = evolve(held, started=True)
        elif draw < 0.12:
            self._fenced("heartbeat", held, extension_ms=self.chance.randint(1000, 2000))
        elif draw < 0.25:
            state = self.name()
            self._fenced("checkpoint", held, {"state": state}, state=state)
        elif draw < 0.27:
            forged = evolve(held, token=held.token + 1)
            self._complete(forged, {"forged": True})
        elif draw < 0.4:
            self.held.remove(held)
            effect = "unknown" if self.chance.random() < 0.1 else "none"
            self._fenced("fail", held, kind="transient_connection", error="on purpose", effect=effect)
        elif draw < 0.46:
            self._fenced("acknowledge_cancel", held)
        else:
            self.held.remove(held)
            self._complete(held)

    def _complete(self, held: Held, further: Mapping[str, Any] | None = None) -> None:
        result = f"result-{self.name()}"
        arguments = {"result_id": result, "output": {"by": result}, "references": (), "schema_version": 1}
        about = {"result": result, **(further or {})}
        for _ in range(2 if self.chance.random() < 0.1 else 1):
            # The second time it is a replay, and answers alike.
            self._fenced("complete", held, about, **arguments)

    def _fenced(self, call: str, held: Held, about: Mapping[str, Any] | None = None, /, **arguments: Any) -> None:
        self.ask(call, {**held.about, **(about or {})}, {**held.fence, **arguments, "now_s": now_s()}, _plain)

    # Sweeps and operators --------------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        sweep = self.chance.choice(("recover_expired", "recover_expired", "enforce_deadlines"))
        self.ask(sweep, {}, {"now_s": now_s()}, list)

    def _operate(self) -> None:
        workload = picked(self.chance, self.pool.latest()[-MOST_KNOWN:])
        if workload is None:
            return
        call = self.drawn({"cancel": 2, "retry": 6, "time_out": 1, "get": 2})
        if call == "get":
            self.quietly("get", workload_id=workload, fresh=True)
            return
        further = {"reason": None} if call == "retry" else {}
        arguments = {"workload_id": workload, "actor": "operator", **further, "now_s": now_s()}
        self.ask(call, {"workload": workload}, arguments, _plain)


def _admitted(answer: Any) -> list[Any]:
    return [answer.workload.workload_id, bool(answer.created)]


def _plain(answer: Any) -> Any:
    return str(answer) if isinstance(answer, str) else None
