"""Programs of the workload contract: few works, so that callers meet; claims, reports, passes and operators at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field, frozen

from workcert.adversity.parallel.programs import Draft, Proposal, drawn
from workcert.cases.model import Call
from workcert.machines.requests import BASE, no_timeouts
from workcert.references import Ref

KEYS: Final = ("one", "two", "three")
WORKERS: Final = ("a", "b", "c")
LEASES_MS: Final = (1000, 2000, 5000, 30000)
LIMITS: Final = (None, None, "overall_ms", "execution_ms", "heartbeat_ms", "queue_ms")
RESULTS: Final = ("r1", "r2")
WEIGHTS: Final = {
    "claim": 20,
    "report": 24,
    "fenced": 16,
    "cancel": 3,
    "time_out": 1,
    "retry": 4,
    "recover_expired": 4,
    "enforce_deadlines": 3,
    "admit_again": 4,
    "admit_new": 3,
    "get": 5,
    "list_workloads": 1,
}
FENCED: Final = ("start", "start", "heartbeat", "checkpoint", "execution_context", "acknowledge_cancel")


@frozen
class Held:
    """A claim that a caller may go on with: the step that made it, its work and its worker."""

    step: str
    work: Any
    worker: str


@define(eq=False)
class WorkloadAuthor:
    """Draws the calls of one program. ``works``: references to the ids of what was admitted first, with the
    request; ``weights``: how often each kind of call is thought of."""

    begin_at: int = 10
    works: dict[str, dict[str, Any]] = field(factory=dict)
    weights: Mapping[str, int] = field(factory=lambda: WEIGHTS)

    # The beginning ---------------------------------------------------------------------------------------------------

    def begin(self, draft: Draft) -> None:
        for key in KEYS[: draft.pick((1, 2, 2, 3))]:
            draft.do(self, "A", "admit", request=self._request(draft, key))
        for work in self.works:
            if draft.random.random() < 0.6:
                draft.at += draft.pick((0, 1))
                if draft.do(self, "A", "claim", **self._claim_of(draft, work)) and draft.random.random() < 0.7:
                    draft.do(self, "A", "start", **_fence(draft.held["A"][-1]))

    def _request(self, draft: Draft, key: str) -> dict[str, Any]:
        limit = draft.pick(LIMITS)
        policy = {**BASE["retry_policy"], "max_attempts": draft.pick((1, 2, 3)), "initial_delay_ms": 0}
        request = {
            **BASE,
            "idempotency_key": key,
            "created_at": draft.at,
            "retry_policy": policy,
            "timeouts": None if limit is None else no_timeouts() | {limit: draft.pick((1000, 2000, 4000))},
        }
        if self.works and "DEPENDENCIES" in draft.profiles and draft.random.random() < 0.15:
            first = next(iter(self.works))
            request["dependencies"] = [{"workload_id": Ref(first), "required_state": "SUCCEEDED"}]
        return request

    def made(self, draft: Draft, call: Call, answer: Any) -> None:
        if call.call == "admit" and answer.created and call.on == "A":
            self.works[f"{call.id}.workload.workload_id"] = dict(call.args["request"])
        elif call.call == "claim":
            draft.hold(call.on, Held(call.id, call.args["workload_id"], call.args["worker_id"]))

    # At once ---------------------------------------------------------------------------------------------------------

    def propose(self, draft: Draft, on: str) -> Proposal:
        name = drawn(self.weights, draft.random)
        match name:
            case "recover_expired" | "enforce_deadlines":
                return name, {}
            case "list_workloads":
                return name, {"tenant_id": BASE["tenant_id"], "application_id": BASE["application_id"]}
            case "admit_again" | "admit_new":
                return "admit", {"request": self._admitted(draft, again=name == "admit_again")}
            case "fenced" | "report":
                return self._fenced(draft, on, report=name == "report")
        return self._on_work(draft, name)

    def _on_work(self, draft: Draft, name: str) -> Proposal:
        # What another caller has admitted at once it cannot know.
        known = [path for path in self.works if path.partition(".")[0] in draft.first]
        if not known:
            return None
        work = draft.pick(known)
        match name:
            case "claim":
                return name, self._claim_of(draft, work)
            case "get":
                return name, {"workload_id": Ref(work)}
            case "retry":
                return name, {"workload_id": Ref(work), "actor": "operator", "reason": None}
        return name, {"workload_id": Ref(work), "actor": "operator"}

    def _admitted(self, draft: Draft, *, again: bool) -> dict[str, Any]:
        if again and self.works:
            request = {**draft.pick(list(self.works.values())), "created_at": draft.at}
            return request if draft.random.random() < 0.7 else {**request, "input": {"id": 2}}
        return {**BASE, "idempotency_key": draft.pick(("new", "newer")), "created_at": draft.at}

    def _claim_of(self, draft: Draft, work: str) -> dict[str, Any]:
        return {
            "workload_id": Ref(work),
            "worker_id": draft.pick(WORKERS),
            "capabilities": ["email:send"],
            "lease_ms": draft.pick(LEASES_MS),
        }

    def _fenced(self, draft: Draft, on: str, *, report: bool) -> Proposal:
        holdings = draft.holdings(on)
        if not holdings:
            return None
        fence = _fence(draft.pick(holdings))
        if draft.random.random() < 0.05:
            fence["fencing_token"] = Ref(fence["fencing_token"].path, plus=1)
        if report:
            return _report(draft, fence)
        name = draft.pick(FENCED)
        match name:
            case "heartbeat":
                fence["extension_ms"] = draft.pick((1000, 3000))
            case "checkpoint":
                fence["state"] = {"done": draft.pick((1, 2))}
            case "execution_context":
                fence["secret_references"] = []
        return name, fence


def _report(draft: Draft, fence: dict[str, Any]) -> Proposal:
    if draft.random.random() < 0.6:
        output = {"sent": draft.pick((1, 1, 2))}
        return "complete", {
            **fence,
            "result_id": draft.pick(RESULTS),
            "output": output,
            "references": [],
            "schema_version": 1,
        }
    kind = draft.pick(("timeout", "transient_connection", "validation"))
    return "fail", {**fence, "kind": kind, "error": "no route", "effect": draft.pick((None, "none", "unknown"))}


def _fence(held: Held) -> dict[str, Any]:
    return {
        "workload_id": held.work,
        "claim_id": Ref(f"{held.step}.claim_id"),
        "worker_id": held.worker,
        "fencing_token": Ref(f"{held.step}.fencing_token"),
    }
