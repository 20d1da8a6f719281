"""What one process of a soak does of the jobs contract."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field, frozen

from workcert.ordinary import ENVELOPE
from workcert.run.calling import Answered
from workcert.soak.actor import Actor, picked
from workcert.soak.notes import Deed
from workspec.jobs.vocabulary import Checkpoint, Envelope, JobResult, LeaseRef, Outcome, ProgressUpdate

QUEUES: Final = ("first", "second")
KEYS: Final = 6
DAY_MS: Final = 86_400_000
MOST_HELD: Final = 6
DOINGS: Final[Mapping[str, Mapping[str, float]]] = {
    "worker": {"submit": 2, "work": 14, "sweep": 1, "operate": 1},
    "sweeper": {"submit": 2, "work": 6, "sweep": 8, "operate": 1},
    "operator": {"submit": 2, "work": 6, "sweep": 2, "operate": 6},
}
ENDS: Final[Mapping[str, float]] = {
    "success": 70,
    "retry": 12,
    "snooze": 5,
    "rate_limited": 3,
    "skip": 3,
    "undecodable": 2,
    "give_up": 5,
}
"""``give_up``: it is left to the reclaimer."""
SWEEPS: Final = {"promote_due": 50, "reclaim_expired": 20, "evict_retained": 50, "sweep_quarantined": 20}
"""With the limit of each."""


@frozen
class Held:
    """A claim, and until when its lease runs by the system's monotonic clock. ``late``: it is to be reported only
    after that."""

    job: str
    lease: str
    fence: int
    ends_s: float
    late: bool

    @property
    def reference(self) -> LeaseRef:
        return LeaseRef(self.job, self.lease, self.fence)

    @property
    def about(self) -> dict[str, Any]:
        return {"job": self.job, "lease": self.lease, "fence": self.fence}


def envelope(job: Mapping[str, Any]) -> Envelope:
    """The envelope of what is noted of a job."""
    key = job.get("key")
    return Envelope(
        **{
            **ENVELOPE,
            "id": job["id"],
            "queue": job["queue"],
            "payload": job["id"].encode(),
            "retention_ms": job["keep"],
            "max_attempts": job["most"],
            "scheduled_at_ms": job["due"],
            "unique_key": None if key is None else key.encode(),
            "tags": (),
        }
    )


def repeatable(deed: Deed) -> bool:
    """To submit it again is to submit it once. A job that nobody keeps may have ended and gone, so that its id is free
    again (JOB-GEN-12)."""
    return all(job["keep"] for job in deed.about["envelopes"])


@define(eq=False)
class JobsActor(Actor):
    DOINGS = DOINGS
    held: list[Held] = field(factory=list)

    def repeat(self, unanswered: Mapping[str, Any]) -> None:
        self._enqueue(unanswered["envelopes"])

    # Submitting ------------------------------------------------------------------------------------------------------

    def _submit(self) -> None:
        self._enqueue([self._job() for _ in range(self.chance.randint(1, 2))])

    def _job(self) -> dict[str, Any]:
        chance = self.chance
        due_ms = int(time.time() * 1000) + chance.randint(1, 800) if chance.random() < 0.2 else 0
        job: dict[str, Any] = {
            "id": self.name(),
            "queue": chance.choice(QUEUES),
            "keep": 0 if chance.random() < 0.15 else DAY_MS,
            "most": chance.choice((0, 1, 2, 3)),
            "due": due_ms,
        }
        return {**job, "key": f"key-{chance.randrange(KEYS)}"} if chance.random() < 0.1 else job

    def _enqueue(self, jobs: list[dict[str, Any]]) -> None:
        seen = self.ask("enqueue", {"envelopes": jobs}, {"envelopes": [envelope(job) for job in jobs]})
        if isinstance(seen, Answered):
            self.pool.put([job["id"] for job in jobs])

    # Working ---------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        now_s = time.monotonic()
        ready = [held for held in self.held if not held.late or held.ends_s < now_s]
        if ready and (len(self.held) >= MOST_HELD or self.chance.random() < 0.6):
            self._go_on(self.chance.choice(ready))
        elif len(self.held) < MOST_HELD:
            self._admit()

    def _admit(self) -> None:
        chance, lease = self.chance, self.name()
        lease_ms = chance.randint(1000, 2000)
        arguments = {
            "worker": f"w{self.task.index}",
            "lease_id": lease,
            "queues": QUEUES if chance.random() < 0.8 else (chance.choice(QUEUES),),
            "capacity": chance.randint(1, 3),
            "lease_ms": lease_ms,
            "quantum": 1,
        }
        seen = self.ask("admit", {"lease": lease}, arguments, _claims)
        if isinstance(seen, Answered):
            ends_s = time.monotonic() + lease_ms / 1000
            for job, fence in _claims(seen.value):
                self.held.append(Held(job, lease, fence, ends_s, chance.random() < 0.06))

    def _go_on(self, held: Held) -> None:
        draw = self.chance.random()
        if draw < 0.1:
            self._renew()
        elif draw < 0.2:
            self._write(held)
        elif draw < 0.25:
            self._end_under_another_fence(held)
        else:
            self._end(held)

    def _renew(self) -> None:
        leases = [held.reference for held in self.held]
        about = {"refs": [[held.job, held.fence] for held in self.held]}
        self.ask("renew", about, {"leases": leases, "lease_ms": self.chance.randint(1000, 2000)}, list)

    def _write(self, held: Held) -> None:
        contents: dict[str, tuple[str, Any]] = {
            "checkpoint": ("checkpoint", Checkpoint("a", ("a",), None, None, None, 1, "", ())),
            "write_job_output": ("output", JobResult(1, self.name().encode())),
            "write_job_progress": ("progress", ProgressUpdate(1, 2, None)),
        }
        what = self.chance.choice(tuple(contents))
        if self.has(what):
            argument, content = contents[what]
            self.ask(what, held.about, {"lease": held.reference, argument: content})

    def _end_under_another_fence(self, held: Held) -> None:
        """A report that must be refused: nobody was ever given this fence under this lease."""
        about = {**held.about, "fence": held.fence + 1, "outcome": "success", "result": None, "forged": True}
        self._ack(about, LeaseRef(held.job, held.lease, held.fence + 1), "success")

    def _end(self, held: Held) -> None:
        self.held.remove(held)
        outcome = self.drawn(ENDS)
        if outcome == "give_up":
            return
        with_result = outcome == "success" and self.chance.random() < 0.5 and self.has("ack_success_with_result")
        result = self.name() if with_result else None
        about = {**held.about, "outcome": outcome, "result": result}
        self._ack(about, held.reference, outcome)
        if self.chance.random() < 0.05:
            self._ack(about, held.reference, outcome)

    def _ack(self, about: Mapping[str, Any], lease: LeaseRef, outcome: str) -> None:
        if about["result"] is not None:
            result = JobResult(1, about["result"].encode())
            arguments = {"lease": lease, "result": result, "logs": (), "actual_weight": None}
            self.ask("ack_success_with_result", about, arguments)
            return
        waits = outcome in ("retry", "snooze")
        arguments = {
            "lease": lease,
            "outcome": Outcome(outcome),
            "error": None if outcome == "success" else "on purpose",
            "delay_ms": self.chance.randint(1, 400) if waits else None,
            "logs": (),
            "actual_weight": None,
        }
        self.ask("ack", about, arguments)

    # Sweeps and operators --------------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        sweep = picked(self.chance, [name for name in SWEEPS if self.has(name)])
        limit = SWEEPS[sweep]
        if sweep == "reclaim_expired":
            self.ask(sweep, {}, {"limit": limit}, _reclaimed)
        else:
            self.quietly(sweep, limit=limit)

    def _operate(self) -> None:
        draw = self.chance.random()
        if draw < 0.5:
            # More often on than off: a queue that nobody serves shows nothing.
            name = "pause_queue" if draw < 0.15 else "unpause_queue"
            if self.has(name):
                self.quietly(name, queue=self.chance.choice(QUEUES))
            return
        job = picked(self.chance, self.pool.latest())
        name = "operator_cancel" if draw < 0.65 else "operator_retry" if draw < 0.95 else "counts"
        if not self.has(name):
            return
        if name == "counts":
            self.quietly(name, queue=None)
        elif job is not None:
            self.ask(name, {"job": job}, {"job_id": job})


def _claims(units: Any) -> list[list[Any]]:
    return [[claim.envelope.id, claim.fence] for unit in units for claim in unit.claims]


def _reclaimed(found: Any) -> list[list[Any]]:
    return [[each.job_id, each.crash_attempt] for each in found]
