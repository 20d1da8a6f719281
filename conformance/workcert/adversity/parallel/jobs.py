"""Programs of the jobs contract: one queue, few places and few keys; admissions, acks, sweeps and operators at once.

Sweeps are made without a limit that binds: which rows they took would not be seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field, frozen

from workcert.adversity.parallel.programs import Draft, Proposal, drawn
from workcert.cases.model import Call
from workcert.ordinary import ENVELOPE
from workcert.references import Ref

KEYS: Final = (None, None, b"K", b"K", b"L")
LEASES_MS: Final = (1, 1000, 30_000)
ALL: Final = 1000
OUTCOMES: Final = ("success", "success", "retry", "skip", "revoke", "snooze", "undecodable", "rate_limited")
WEIGHTS: Final = {
    "enqueue": 14,
    "admit": 16,
    "ack": 14,
    "result": 3,
    "renew": 4,
    "checkpoint": 2,
    "promote_due": 4,
    "reclaim_expired": 5,
    "evict_retained": 2,
    "claim_duty": 4,
    "release_duty": 2,
    "operator": 8,
    "pause_queue": 1,
    "unpause_queue": 1,
    "get_job": 4,
    "counts": 5,
    "queue_stats": 1,
}
OPERATORS: Final = ("operator_cancel", "operator_retry", "delete_job", "promote_job", "reschedule_job")


@frozen
class Held:
    """A lease that a caller may go on with: where an answer shows the claim, and the lease id."""

    claim: str
    lease_id: str


@define(eq=False)
class JobsAuthor:
    """Draws the calls of one program. ``weights``: how often each kind of call is thought of."""

    begin_at: int = 1_000_000
    weights: Mapping[str, int] = field(factory=lambda: WEIGHTS)
    _jobs: int = 0
    _leases: int = 0

    # The beginning ---------------------------------------------------------------------------------------------------

    def begin(self, draft: Draft) -> None:
        if draft.random.random() < 0.4:
            draft.do(self, "A", "set_enqueue_limit", queue="q", limit=draft.pick((3, 5, 8)))
        if draft.random.random() < 0.3:
            draft.do(self, "A", "set_rate_limit", name="r", limit=draft.pick((1, 2, 4)), window_ms=1000, burst=2)
        for _ in range(draft.pick((1, 2, 3))):
            draft.do(self, "A", "enqueue", envelopes=self._envelopes(draft, draft.pick((1, 2, 3))))
        for _ in range(draft.pick((0, 1, 2))):
            draft.do(self, "A", "admit", **self._admission(draft))
            draft.at += draft.pick((0, 0, 1))

    def made(self, draft: Draft, call: Call, answer: Any) -> None:
        if call.call == "admit":
            for place, unit in enumerate(answer):
                for number, _claim in enumerate(unit.claims):
                    draft.hold(call.on, Held(f"{call.id}[{place}].claims[{number}]", call.args["lease_id"]))

    # At once ---------------------------------------------------------------------------------------------------------

    def propose(self, draft: Draft, on: str) -> Proposal:
        name = drawn(self.weights, draft.random)
        match name:
            case "enqueue":
                return name, {"envelopes": self._envelopes(draft, draft.pick((1, 1, 2, 3)))}
            case "admit":
                return name, self._admission(draft)
            case "promote_due" | "reclaim_expired" | "evict_retained":
                return name, {"limit": ALL}
            case "claim_duty":
                return name, {"name": "sweep", "holder": draft.pick(("x", "y")), "lease_ms": draft.pick((1000, 2000))}
            case "release_duty":
                return name, {"name": "sweep", "holder": draft.pick(("x", "y"))}
            case "pause_queue" | "unpause_queue":
                return name, {"queue": "q"}
            case "counts":
                return name, {"queue": draft.pick((None, "q"))}
            case "queue_stats":
                return name, {}
            case "operator" | "get_job":
                return self._on_job(draft, name)
        return self._leased(draft, on, name)

    def _on_job(self, draft: Draft, name: str) -> Proposal:
        if not self._jobs:
            return None
        job_id = f"j{draft.random.randrange(self._jobs) + 1}"
        if name == "get_job":
            return name, {"job_id": job_id, "include_payload": True}
        verb = draft.pick(OPERATORS)
        later = {"at_ms": draft.at + draft.pick((0, 1000))} if verb == "reschedule_job" else {}
        return verb, {"job_id": job_id, **later}

    def _leased(self, draft: Draft, on: str, name: str) -> Proposal:
        holdings = draft.holdings(on)
        if not holdings:
            return None
        lease = _lease(draft.pick(holdings))
        match name:
            case "renew":
                leases = [_lease(held) for held in draft.random.sample(holdings, min(2, len(holdings)))]
                return name, {"leases": leases, "lease_ms": draft.pick(LEASES_MS)}
            case "checkpoint":
                return name, {"lease": lease, "checkpoint": _checkpoint(draft.pick(("one", "two")))}
            case "result":
                result = {"schema_version": 1, "content": b"done"}
                return "ack_success_with_result", {
                    "lease": lease,
                    "result": result,
                    "logs": [],
                    "actual_weight": None,
                }
        outcome = draft.pick(OUTCOMES)
        return "ack", {
            "lease": lease,
            "outcome": outcome,
            "error": "no" if outcome in ("retry", "skip") else None,
            "delay_ms": draft.pick((0, 1000)) if outcome == "snooze" else None,
            "logs": [],
            "actual_weight": None,
        }

    def _admission(self, draft: Draft) -> dict[str, Any]:
        self._leases += 1
        return {
            "worker": draft.pick(("wA", "wB")),
            "lease_id": f"l{self._leases}",
            "queues": ["q"],
            "capacity": draft.pick((1, 1, 2, 3)),
            "lease_ms": draft.pick(LEASES_MS),
            "quantum": 1,
        }

    def _envelopes(self, draft: Draft, count: int) -> list[dict[str, Any]]:
        return [self._envelope(draft) for _ in range(count)]

    def _envelope(self, draft: Draft) -> dict[str, Any]:
        self._jobs += 1
        key = draft.pick(KEYS)
        rated = "RATE" in draft.profiles and draft.random.random() < 0.2
        return {
            **ENVELOPE,
            "id": f"j{self._jobs}",
            "partition_key": draft.pick(("", "A")),
            "rate_class": "r" if rated else "",
            "max_attempts": draft.pick((1, 2, 3)),
            "scheduled_at_ms": draft.at + 1000 if draft.random.random() < 0.2 else 0,
            "unique_key": key,
            "retention_ms": draft.pick((0, 1000, 86_400_000)),
            "fingerprint": draft.pick(("f", "f", f"f{self._jobs}")),
        }


def _lease(held: Held) -> dict[str, Any]:
    return {
        "job_id": Ref(f"{held.claim}.envelope.id"),
        "lease_id": held.lease_id,
        "fence": Ref(f"{held.claim}.fence"),
    }


def _checkpoint(step: str) -> dict[str, Any]:
    return {
        "last_completed_step": step,
        "completed_steps": [step],
        "in_progress_step": None,
        "cursor_step": None,
        "cursor": None,
        "schema_version": 1,
        "step_set_hash": "",
        "crashes_by_step": [],
    }
