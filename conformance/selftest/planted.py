"""A toy store with planted bugs, and seeded walks over it: the corpus on which the shrinker is measured.

The store knows only as much of the workload contract as the bugs need. A bug is a predicate over what happened;
the step at which it first holds is the one that fails. ``least`` is the number of steps of the shortest case that
shows it, found by hand and checked by the corpus itself: nothing shorter may ever be found.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import define, evolve, field, frozen

from workcert.cases import Call, Case, Frozen, Header, Repeat, Restart, Step, Together, unrolled
from workcert.codec import Ref, ReferenceFault, Refused, resolve
from workcert.shrink import Failure


@frozen
class Happened:
    """One executed call. ``job`` and ``token`` are those that it addressed; ``n`` its attempt, from 1."""

    call: str
    ok: bool
    on: str
    job: str
    worker: str
    token: int
    at: int
    args: Mapping[str, Any]
    state: str


@define
class _Job:
    request: Mapping[str, Any]
    state: str = "READY"
    token: int = 0
    worker: str = ""
    end: int = 0
    rearms: int = 0


@define
class Store:
    jobs: dict[str, _Job] = field(factory=dict)

    def call(self, step: Call, args: Mapping[str, Any]) -> Any:
        now = step.at or 0
        if step.call == "admit":
            return self._admit(args["request"])
        if step.call == "recover_expired":
            lost = [k for k, j in sorted(self.jobs.items()) if j.state in ACTIVE and now >= j.end]
            for key in lost:
                self._ended(self.jobs[key])
            return lost
        job = self.jobs.get(args["workload_id"])
        if job is None:
            return None if step.call == "get" else Refused("WORKLOAD_NOT_FOUND")
        if step.call == "claim":
            return self._claim(args, job, now)
        if "fencing_token" in args:
            return self._fenced(step.call, args, job, now)
        return self._unfenced(step.call, args, job)

    def _admit(self, request: Mapping[str, Any]) -> Any:
        key = f"job-{request['idempotency_key']}"
        created = key not in self.jobs
        job = self.jobs.setdefault(key, _Job(request))
        return {"created": created, "workload": {"workload_id": key, "state": job.state}}

    def _claim(self, args: Mapping[str, Any], job: _Job, now: int) -> Any:
        if job.state != "READY" or args["lease_ms"] < 1:
            return Refused("WORKLOAD_NOT_READY")
        job.state, job.token, job.worker = "CLAIMED", job.token + 1, args["worker_id"]
        job.end = now - (-args["lease_ms"] // 1000)
        return self._held(args["workload_id"], job)

    def _held(self, key: str, job: _Job) -> Any:
        return {"claim_id": f"{key}/{job.token}", "worker_id": job.worker, "fencing_token": job.token}

    def _fenced(self, call: str, args: Mapping[str, Any], job: _Job, now: int) -> Any:
        held = (f"{args['workload_id']}/{job.token}", job.worker, job.token)
        given = (args["claim_id"], args["worker_id"], args["fencing_token"])
        if job.state not in ACTIVE or given != held or now >= job.end:
            return Refused("WORKLOAD_STALE_FENCE")
        if call == "heartbeat":
            job.end = now - (-args["extension_ms"] // 1000)
            return self._held(args["workload_id"], job)
        if call == "fail":
            self._ended(job)
            return job.state
        if (job.state == "CLAIMED") != (call == "start"):
            return Refused("WORKLOAD_STATE_INVALID")
        job.state = "SUCCEEDED" if call == "complete" else "RUNNING"
        return {"attempt_id": str(job.token)}

    def _unfenced(self, call: str, args: Mapping[str, Any], job: _Job) -> Any:
        if call == "get":
            return {"version": 1, "workload": {"workload_id": args["workload_id"], "state": job.state}}
        if call == "cancel" and job.state not in ("SUCCEEDED", "CANCELLED"):
            job.state = "CANCELLED"
            return job.state
        if call == "retry" and job.state == "DEAD_LETTER":
            job.state, job.rearms = "READY", job.rearms + 1
            return None
        return Refused("WORKLOAD_STATE_INVALID")

    def _ended(self, job: _Job) -> None:
        policy = job.request.get("retry_policy") or {"max_attempts": 3}
        job.state = "READY" if job.token < policy["max_attempts"] + job.rearms else "DEAD_LETTER"


ACTIVE = ("CLAIMED", "RUNNING")

Log = list[Happened]


@frozen
class Bug:
    name: str
    least: int
    shows: Callable[[Log], bool]


def judge(bug: Bug, case: Case) -> Failure | None:
    """Run a case on a fresh store."""
    store, answers, log = Store(), {}, []
    for step in _in_order(case.steps):
        if isinstance(step, Restart):
            log.append(Happened("restart", True, "", "", "", 0, 0, {}, ""))
            continue
        try:
            args = resolve(step.args, answers)
        except ReferenceFault:
            answers[step.id] = Refused("not_applicable")
            continue
        answer = answers[step.id] = store.call(step, args)
        log.append(_happened(step, args, answer, store))
        if bug.shows(log):
            return Failure(step.id, bug.name)
    return None


def _in_order(steps: tuple[Step, ...]) -> Iterator[Any]:
    for step in unrolled(steps):
        match step:
            case Together(calls=calls):
                yield from calls
            case Frozen(frozen=held, during=during):
                yield from (*during, held)
            case _:
                yield step


def _happened(step: Call, args: Mapping[str, Any], answer: Any, store: Store) -> Happened:
    ok = not isinstance(answer, Refused)
    job = args.get("workload_id", "")
    if step.call == "admit":
        job = answer["workload"]["workload_id"]
    token = args.get("fencing_token", store.jobs[job].token if ok and step.call == "claim" else 0)
    state = store.jobs[job].state if job in store.jobs else ""
    now = args["request"]["created_at"] if step.call == "admit" else step.at or 0
    return Happened(step.call, ok, step.on, job, args.get("worker_id", ""), token, now, args, state)


# The bugs ----------------------------------------------------------------------------------------


def row(*wanted: str, same: str = "job") -> Callable[[Log], bool]:
    """Calls that succeeded in this order, the last one now, equal in the members named in ``same``."""

    def shows(log: Log) -> bool:
        last = log[-1]
        if not last.ok or last.call != wanted[-1]:
            return False
        members = same.split()
        alike = [h for h in log if h.ok and all(getattr(h, m) == getattr(last, m) for m in members)]
        rest = iter(alike)
        return all(any(h.call == name for h in rest) for name in wanted)

    return shows


def _refused_after(call: str, *wanted: str) -> Callable[[Log], bool]:
    def shows(log: Log) -> bool:
        last = log[-1]
        if last.ok or last.call != call:
            return False
        rest = (h for h in log if h.ok and h.job in (last.job, ""))
        return all(any(h.call == name for h in rest) for name in wanted)

    return shows


def _last(log: Log, call: str) -> Happened | None:
    return log[-1] if log[-1].call == call and log[-1].ok else None


def _jobs(log: Log, call: str) -> int:
    return len({h.job for h in log if h.ok and h.call == call})


def _other_handle(log: Log) -> bool:
    last = _last(log, "complete")
    claimed = [h for h in log if last and h.call == "claim" and h.ok and h.job == last.job]
    return last is not None and claimed[-1].on != last.on


def _other_worker(log: Log) -> bool:
    last = _last(log, "claim")
    return last is not None and any(
        h.call == "claim" and h.ok and h.job == last.job and h.worker != last.worker for h in log
    )


def _restart_between(log: Log) -> bool:
    last = _last(log, "start")
    names = [h.call for h in log if last and ((h.job == last.job and h.ok) or h.call == "restart")]
    return names[-2:] == ["restart", "start"]


def _dead(log: Log) -> int:
    return len({h.job for h in log if h.call == "fail" and h.state == "DEAD_LETTER"})


def _waited(log: Log) -> bool:
    last = _last(log, "claim")
    first = [h.at for h in log if last and h.call == "admit" and h.job == last.job]
    return last is not None and last.at - first[0] >= 17


def _stale_after_loss(log: Log) -> bool:
    last = log[-1]
    tokens = [h.token for h in log if h.call == "claim" and h.ok and h.job == last.job]
    return last.call == "complete" and not last.ok and bool(tokens) and last.token < tokens[-1]


BUGS = (
    Bug("start after heartbeat", 4, row("claim", "heartbeat", "start", same="job worker")),
    Bug("two checkpoints of one claim", 5, row("checkpoint", "checkpoint", same="job token")),
    Bug("claim after failure", 4, row("fail", "claim")),
    Bug("complete under a lost claim", 5, _stale_after_loss),
    Bug("another worker claims", 4, _other_worker),
    Bug("replay of claimed work", 3, lambda log: bool(_last(log, "admit")) and log[-1].state == "CLAIMED"),
    Bug("cancel of running work", 4, row("start", "cancel")),
    Bug("claim after a re-arm", 5, row("retry", "claim")),
    Bug("read after restart", 6, lambda log: row("complete", "restart", "get", same="ok")(log)
        and log[-1].state == "SUCCEEDED"),
    Bug("two jobs of one worker", 4, lambda log: bool(_last(log, "claim"))
        and len({h.job for h in log if h.call == "claim" and h.ok and h.worker == log[-1].worker}) == 2),
    Bug("pass over three jobs", 4, lambda log: bool(_last(log, "recover_expired")) and _jobs(log, "admit") > 2),
    Bug("long extension", 3, lambda log: bool(_last(log, "heartbeat")) and log[-1].args["extension_ms"] > 5000),
    Bug("late claim", 2, _waited),
    Bug("same failure twice", 5, lambda log: bool(_last(log, "fail"))
        and sum(h.ok and h.job == log[-1].job and h.args.get("kind") == "timeout" for h in log) == 2),
    Bug("complete through another handle", 4, _other_handle),
    Bug("third replay", 3, lambda log: bool(_last(log, "admit"))
        and sum(h.call == "admit" and h.job == log[-1].job for h in log) == 3),
    Bug("renewal on two handles", 4, lambda log: bool(_last(log, "heartbeat"))
        and len({h.on for h in log if h.call == "heartbeat" and h.ok and h.job == log[-1].job}) == 2),
    Bug("restart before start", 4, _restart_between),
    Bug("two results", 8, lambda log: _jobs(log, "complete") == 2),
    Bug("replay of cancelled work", 3, lambda log: bool(_last(log, "admit")) and log[-1].state == "CANCELLED"),
    Bug("two dead letters", 6, lambda log: bool(_last(log, "fail")) and _dead(log) == 2),
    Bug("long state", 4, lambda log: bool(_last(log, "checkpoint")) and len(log[-1].args["state"] or ()) > 2),
    Bug("third attempt", 6, lambda log: bool(_last(log, "claim")) and log[-1].token == 3),
    Bug("complete of cancelled work", 5, _refused_after("complete", "start", "cancel")),
    Bug("start of recovered work", 4, _refused_after("start", "claim", "recover_expired")),
)  # fmt: skip


# Walks -------------------------------------------------------------------------------------------

WEIGHTS = {
    "admit": 4, "claim": 6, "start": 5, "heartbeat": 3, "checkpoint": 3, "complete": 3, "fail": 4,
    "cancel": 1, "retry": 2, "recover_expired": 2, "get": 1, "restart": 1, "repeat": 1, "together": 1,
    "frozen": 1,
}  # fmt: skip


@define
class Walk:
    """Steps drawn by a seed. Nothing is run meanwhile, so many of them will be refused."""

    draw: random.Random
    now: int = 1000
    count: int = 0
    admits: list[Call] = field(factory=list)
    claims: list[Call] = field(factory=list)

    def step(self) -> Step:
        name = self.draw.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))[0]
        self.now += self.draw.choice((0, 0, 1, 2, 5))
        name = name if self.admits else "admit"
        if name == "restart":
            return Restart(self.id())
        if name == "repeat":
            return Repeat(self.id(), self.draw.randrange(1, 4), (self.call("heartbeat"), self.call("get")))
        if name in ("together", "frozen"):
            first, second = self.call("heartbeat", "A"), self.call("claim", "B")
            if name == "together":
                return Together(self.id(), (first, second), self.draw.randrange(1, 4))
            return Frozen(self.id(), second, (first,))
        return self.call(name)

    def id(self) -> str:
        self.count += 1
        return f"s{self.count}"

    def call(self, name: str, on: str = "") -> Call:
        name = name if self.claims or name in ("admit", "get", "recover_expired") else "claim"
        step = Call(self.id(), on or self.draw.choice("AB"), name, self.args(name), self.now, note="drawn")
        if name in ("admit", "get"):
            step = evolve(step, at=None)
        if name == "admit":
            self.admits.append(step)
        if name == "claim":
            self.claims.append(step)
        return step

    def args(self, name: str) -> dict[str, Any]:
        draw = self.draw
        if name == "admit":
            return {"request": self.request()}
        if name == "recover_expired":
            return {}
        work = Ref(f"{draw.choice(self.admits[-4:]).id}.workload.workload_id")
        if name == "claim":
            lease = draw.choice((1000, 4000, 30000))
            return {"workload_id": work, "worker_id": draw.choice(("worker-a", "worker-b")),
                    "capabilities": ["email:send"], "lease_ms": lease}  # fmt: skip
        if name in ("get", "cancel", "retry"):
            actor = {} if name == "get" else {"actor": "operator"}
            return {"workload_id": work, **actor} | ({"reason": "again"} if name == "retry" else {})
        claim = draw.choice(self.claims[-3:])
        fence = {"workload_id": claim.args["workload_id"], "claim_id": Ref(f"{claim.id}.claim_id"),
                 "worker_id": Ref(f"{claim.id}.worker_id"),
                 "fencing_token": Ref(f"{claim.id}.fencing_token")}  # fmt: skip
        more: dict[str, dict[str, Any]] = {
            "heartbeat": {"extension_ms": draw.choice((2000, 6000, 31000))},
            "checkpoint": {"state": draw.choice((None, {"at": 12}, [1, 2, 3, 4, 5]))},
            "complete": {"result_id": "result-1", "output": {"sent": True}, "references": ["r"],
                         "schema_version": 2},
            "fail": {"kind": draw.choice(("timeout", "worker_failure")), "error": "lost it", "effect": None},
        }  # fmt: skip
        return fence | more.get(name, {})

    def request(self) -> dict[str, Any]:
        subject = {"kind": "agent", "id": "agent-7"}
        policy = {"max_attempts": self.draw.randrange(1, 5), "backoff": "fixed", "initial_delay_ms": 1000,
                  "max_delay_ms": 60000, "retry_on": ["timeout", "worker_failure"]}  # fmt: skip
        return {
            "tenant_id": "tenant", "application_id": "app", "requested_by": subject,
            "idempotency_key": f"key-{self.draw.randrange(6)}", "definition_id": "send-mail",
            "definition_revision": "r1", "environment": "production", "input": {"to": ["x", "y"]},
            "capability_snapshot": ["email:send"], "priority": self.draw.randrange(100),
            "retry_policy": policy, "trigger": "cron",
            "created_at": self.now,
            "authorization_snapshot": {"subject": subject, "tenant_id": "tenant", "application_id": "app",
                                       "signature": "signed"},
        }  # fmt: skip


def failing_case(bug: Bug, seed: int) -> Case:
    """The first walk of this seed that shows the bug."""
    draw = random.Random(f"{bug.name}/{seed}")
    while True:
        walk = Walk(draw)
        steps = tuple(walk.step() for _ in range(60))
        header = Header("workload", "planted", bug.name, handles=("A", "B"),
                        abilities=("second_handle", "restart", "pause"))  # fmt: skip
        case = Case(header, steps)
        if judge(bug, case) is not None:
            return case
