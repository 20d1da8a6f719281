"""The machine of the workload contract.

One rule for each operation; every argument is drawn in the signature, so that the printed step is complete.
"""

from __future__ import annotations

from typing import Any, Final

from workcert.cases.model import Call, Frozen, Inject, Restart
from workcert.machines import legacy_rows
from workcert.machines.history import HANDLES, Held, WorkloadHistory
from workcert.machines.requests import BASE, CHANGES, SECRETS, requests
from workcert.machines.rules import initialize, precondition, rule
from workcert.machines.sources import Asked, of, one_of
from workspec.core.choice import OTHER
from workspec.workload.choices import COMPLETION_REFERENCES

WORKERS: Final = ("a", "b")
CAPABILITIES: Final[tuple[list[str], ...]] = (["email:send"], ["more", "email:send"], ["email:send"], [])
LEASES_MS: Final = (2000, 1000, 5000, 10000, 2500, 0)
EXTENSIONS_MS: Final = (3000, 1000, 6000, 0)
TWISTS: Final = ("exact", "exact", "exact", "exact", "worker", "claim", "token - 1", "token + 1")
KINDS: Final = ("timeout", "transient_connection", "validation")
EFFECTS: Final = (None, "none", "unknown", "maybe")
REASONS: Final = (None, "looked into it", "  ", "\u00e9" * 257)
RESULTS: Final = ("r1", "r2", " ")
BESIDE: Final[dict[str, tuple[list[str], int]]] = {"r2": (["doc:1", "doc:2"], 3)}
"""References and schema version that are passed with a result; none and 1 with any other."""
MOST_WORK: Final = 5
MOST_FILES: Final = 2
"""Legacy files in one example: one and its repetition, or a second one. Most rules do not bind such work."""


WORK, CLAIM, AT, HANDLE, TWIST = of("work"), of("claims"), of("times"), of("handles"), one_of(TWISTS)
OUTPUTS: Final = ({"sent": 1}, {"sent": 2}, SECRETS[1])
ERRORS: Final = ("no route", "other", "sk-live")
ENDS: Final = ("complete", "fail", "complete", "fail", "checkpoint", "cancel")
MOMENTS: Final = (
    "now",
    "now",
    "now",
    "next second",
    "before a turn",
    "a turn",
    "before the turn after",
    "the turn after",
)
WAITS_S: Final = (0, 0, 1, 3)
"""From a claim to its start: what runs from one of the two is told from what runs from the other."""
REPEATS: Final = ("nothing", "effect", "text", "worker", "output", "references")


class WorkloadMachine(WorkloadHistory):
    """What may be done next, and with which arguments; a driver chooses."""

    @initialize(
        request=requests(secrets=False),
        wait=one_of((0, 1)),
        file=one_of([None, None, None, None, None, None, None, None, "one", "two"]),
    )
    def first_work(self, request: dict[str, Any], wait: int, file: str | None) -> None:
        """There is something to work on from the start: an admission, now and then a legacy file."""
        if file is not None and self.migrates:
            self.take_over(HANDLES[0], file)
            return
        self.admit_request(HANDLES[0], {**request, "created_at": 10, "not_before": 11 if wait else None})

    @precondition(lambda self: self.over or self.partial)
    @rule()
    def pass_turn(self) -> None:
        """Hypothesis needs some rule for every step: when the example is over, or when it is the turn of operations
        that the store does not have."""
        self.turn += 1

    # Rules: one for each operation ---------------------------------------------------------------------------------

    @precondition(lambda self: self.can("admit", 0) and len(self.admitted) < MOST_WORK)
    @rule(on=HANDLE, request=Asked(lambda machine: requests(secrets=machine.secrets)), at=AT, wait=one_of((0, 1, 2, 3)))
    def admit(self, on: str, request: dict[str, Any], at: int, wait: int) -> None:
        self.now_s = at
        self.admit_request(on, {**request, "created_at": at, "not_before": at + wait if wait else None})

    @precondition(lambda self: self.can("admit", 1) and self.admitted)
    @rule(on=HANDLE, work=WORK, change=one_of(sorted(CHANGES)))
    def admit_again(self, on: str, work: str, change: str) -> None:
        request = next((request for step, request in self.admitted if step == work), BASE)
        self.admit_request(on, {**request, **CHANGES[change], "created_at": self.now_s})

    @precondition(lambda self: self.can("admit", 2) and "DEPENDENCIES" in self.campaign.store.backend.profiles)
    @rule(on=HANDLE, work=WORK, state=one_of(["SUCCEEDED", "DEAD_LETTER", "READY"]), at=AT)
    def admit_dependent(self, on: str, work: str, state: str, at: int) -> None:
        self.now_s = at
        dependency = {"workload_id": self.id_of(work), "required_state": state}
        self.admit_request(on, {**BASE, "idempotency_key": "dependent", "dependencies": [dependency], "created_at": at})

    @precondition(lambda self: self.can("claim", None if self.ready() else 0) and self.admitted)
    @rule(
        on=HANDLE,
        work=WORK,
        worker=one_of(WORKERS),
        offers=one_of(CAPABILITIES),
        lease_ms=one_of(LEASES_MS),
        at=AT,
    )
    def claim(self, on: str, work: str, worker: str, offers: list[str], lease_ms: int, at: int) -> None:
        self._claim(on, work, worker, offers, lease_ms, at)

    def _claim(self, on: str, work: str, worker: str, offers: list[str], lease_ms: int, at: int) -> None:
        step = self.call(
            on,
            "claim",
            at,
            workload_id=self.id_of(work),
            worker_id=worker,
            capabilities=offers,
            lease_ms=lease_ms,
        )
        self.make(step)
        self.claimed(step, work, worker)

    @precondition(lambda self: self.holding("start"))
    @rule(on=HANDLE, claim=CLAIM, twist=TWIST, at=AT)
    def start(self, on: str, claim: Held, twist: str, at: int) -> None:
        self.make(self.call(on, "start", at, **self.fence(claim, twist)))

    @precondition(lambda self: self.holding("heartbeat"))
    @rule(on=HANDLE, claim=CLAIM, twist=TWIST, extension_ms=one_of(EXTENSIONS_MS), at=AT)
    def heartbeat(self, on: str, claim: Held, twist: str, extension_ms: int, at: int) -> None:
        self.make(self.call(on, "heartbeat", at, **self.fence(claim, twist), extension_ms=extension_ms))

    @precondition(lambda self: self.holding("execution_context"))
    @rule(on=HANDLE, claim=CLAIM, twist=TWIST, secret=one_of(["db", "", "sk-x"]), at=AT)
    def execution_context(self, on: str, claim: Held, twist: str, secret: str, at: int) -> None:
        names = [secret] if self.secrets else []
        self.make(self.call(on, "execution_context", at, **self.fence(claim, twist), secret_references=names))

    @precondition(lambda self: self.holding("checkpoint"))
    @rule(on=HANDLE, claim=CLAIM, twist=TWIST, state=one_of(OUTPUTS), at=AT)
    def checkpoint(self, on: str, claim: Held, twist: str, state: Any, at: int) -> None:
        self.make(self.call(on, "checkpoint", at, **self.fence(claim, twist), state=self.allowed(state)))

    @precondition(lambda self: self.holding("complete"))
    @rule(
        on=HANDLE,
        claim=CLAIM,
        twist=TWIST,
        result=one_of(RESULTS),
        output=one_of(OUTPUTS),
        at=AT,
    )
    def complete(self, on: str, claim: Held, twist: str, result: str, output: Any, at: int) -> None:
        step = self.call(
            on,
            "complete",
            at,
            **self.fence(claim, twist),
            result_id=result,
            output=self.allowed(output),
            **self.beside(result),
        )
        self.report(step)

    @precondition(lambda self: self.holding("fail"))
    @rule(
        on=HANDLE,
        claim=CLAIM,
        twist=TWIST,
        kind=one_of(KINDS),
        error=one_of(ERRORS),
        effect=one_of(EFFECTS),
        at=AT,
    )
    def fail(self, on: str, claim: Held, twist: str, kind: str, error: str, effect: str | None, at: int) -> None:
        said = error if self.secrets or error != ERRORS[2] else ERRORS[0]
        self.report(self.call(on, "fail", at, **self.fence(claim, twist), kind=kind, error=said, effect=effect))

    @precondition(lambda self: bool(self.reports) and self.can("fail", 1))
    @rule(on=HANDLE, report=of("recorded"), change=one_of(REPEATS), at=AT)
    def report_again(self, on: str, report: Call, change: str, at: int) -> None:
        """An accepted completion or failure report once more, as it was or with one thing changed."""
        args = dict(report.args)
        if change == "effect" and "effect" in args:
            args["effect"] = None if args["effect"] is not None else "none"
        elif change == "text" and "error" in args:
            args["error"] = "another text"
        elif change == "worker":
            args["worker_id"] = "z"
        elif change == "output" and "output" in args:
            args["output"] = {"sent": 3}
        elif change == "references" and "references" in args:
            args |= self.beside("r1" if args["references"] else "r2")
        self.make(self.call(on, report.call, at, **args))

    @precondition(lambda self: self.can("time_out", 0) and self.admitted)
    @rule(on=HANDLE, work=WORK, at=AT)
    def time_out(self, on: str, work: str, at: int) -> None:
        self.make(self.call(on, "time_out", at, workload_id=self.id_of(work), actor="clock"))

    @precondition(lambda self: self.can("cancel", 1) and self.admitted)
    @rule(on=HANDLE, work=WORK, at=AT)
    def cancel(self, on: str, work: str, at: int) -> None:
        self.make(self.call(on, "cancel", at, workload_id=self.id_of(work), actor="owner"))

    @precondition(lambda self: self.holding("acknowledge_cancel"))
    @rule(on=HANDLE, claim=CLAIM, twist=TWIST, at=AT)
    def acknowledge_cancel(self, on: str, claim: Held, twist: str, at: int) -> None:
        self.make(self.call(on, "acknowledge_cancel", at, **self.fence(claim, twist)))

    @precondition(lambda self: self.can("retry", None if self.resting() else 2) and self.admitted)
    @rule(on=HANDLE, work=WORK, reason=one_of(REASONS), at=AT)
    def retry(self, on: str, work: str, reason: str | None, at: int) -> None:
        self.make(self.call(on, "retry", at, workload_id=self.id_of(work), actor="operator", reason=reason))

    @precondition(lambda self: self.can("enforce_deadlines", 3))
    @rule(on=HANDLE, at=AT)
    def enforce_deadlines(self, on: str, at: int) -> None:
        self.make(self.call(on, "enforce_deadlines", at))

    @precondition(lambda self: self.can("recover_expired", 1))
    @rule(on=HANDLE, at=AT)
    def recover_expired(self, on: str, at: int) -> None:
        self.make(self.call(on, "recover_expired", at))

    @precondition(lambda self: self.can("get", 2) and self.admitted and not self.has_just_read())
    @rule(on=HANDLE, work=WORK, fresh=one_of([True, True, False]))
    def get(self, on: str, work: str, fresh: bool) -> None:
        self.make(self.call(on, "get", None, workload_id=self.id_of(work), fresh=fresh))

    @precondition(lambda self: self.can("list_workloads", 3) and self.admitted and not self.has_just_read())
    @rule(on=HANDLE, application=one_of(["app", "other"]))
    def list_workloads(self, on: str, application: str) -> None:
        self.make(self.call(on, "list_workloads", None, tenant_id="t", application_id=application, fresh=True))

    # Rules: the way of a job. Without these hardly a random history finishes one. ----------------------------------

    @precondition(lambda self: self.can("claim") and bool(self.ready()))
    @rule(
        on=HANDLE,
        work=of("ready"),
        worker=one_of(WORKERS),
        lease_ms=one_of(LEASES_MS[:5]),
        early=one_of([0, 0, 1]),
    )
    def take(self, on: str, work: str, worker: str, lease_ms: int, early: int) -> None:
        """A capable claim of ready work when it is due, or a second before."""
        self._claim(on, work, worker, CAPABILITIES[0], lease_ms, max(self.now_s, self.due(work) - early))

    @precondition(lambda self: self.can("claim") and self.can("start") and bool(self.ready()))
    @rule(
        on=HANDLE,
        work=of("ready"),
        worker=one_of(WORKERS),
        lease_ms=one_of(LEASES_MS[:5]),
        wait=one_of((0, 1)),
    )
    def take_up(self, on: str, work: str, worker: str, lease_ms: int, wait: int) -> None:
        """Claimed and started in one go."""
        self._claim(on, work, worker, CAPABILITIES[0], lease_ms, self.due(work))
        if not self.over and self.current() and self.current()[0].work == work:
            self.make(self.call(on, "start", self.now_s + wait, **self.fence(self.current()[0], "exact")))

    @precondition(lambda self: self.can("start") and self.methods.issuperset(ENDS) and bool(self.ready()))
    @rule(
        on=HANDLE,
        work=of("ready"),
        worker=one_of(WORKERS),
        end=one_of(ENDS),
        kind=one_of(KINDS),
        effect=one_of(EFFECTS[:3]),
        result=one_of(RESULTS[:2]),
        wait=one_of(WAITS_S),
        moment=one_of(MOMENTS),
    )
    def carry_through(
        self,
        on: str,
        work: str,
        worker: str,
        end: str,
        kind: str,
        effect: str | None,
        result: str,
        wait: int,
        moment: str,
    ) -> None:
        """Claimed, started and brought to an end, or near one, in one go."""
        self.take_up(on, work, worker, LEASES_MS[2], wait)
        if self.over or not self.current():
            return
        at = self.at(work, moment)
        if end == "cancel":
            self.make(self.call(on, "cancel", at, workload_id=self.id_of(work), actor="owner"))
        elif (self.current()[0], end) in self.deeds():
            self._proceed(on, (self.current()[0], end), kind, effect, result, at)

    @precondition(lambda self: not self.over and bool(self.deeds()))
    @rule(
        on=HANDLE,
        deed=of("deeds"),
        kind=one_of(KINDS),
        effect=one_of(EFFECTS[:3]),
        result=one_of(RESULTS[:2]),
        moment=one_of(MOMENTS),
    )
    def proceed(self, on: str, deed: tuple[Held, str], kind: str, effect: str | None, result: str, moment: str) -> None:
        """A holder does what it may."""
        self._proceed(on, deed, kind, effect, result, self.at(deed[0].work, moment))

    @precondition(lambda self: not self.over and bool(self.finishing()))
    @rule(
        on=HANDLE,
        deed=of("finishing"),
        kind=one_of(KINDS),
        effect=one_of(EFFECTS[:3]),
        result=one_of(RESULTS[:2]),
    )
    def finish(self, on: str, deed: tuple[Held, str], kind: str, effect: str | None, result: str) -> None:
        """A holder completes or fails, now."""
        self._proceed(on, deed, kind, effect, result, self.now_s)

    def _proceed(self, on: str, deed: tuple[Held, str], kind: str, effect: str | None, result: str, at: int) -> None:
        held, name = deed
        further: dict[str, dict[str, Any]] = {
            "heartbeat": {"extension_ms": 3000},
            "execution_context": {"secret_references": []},
            "checkpoint": {"state": {"sent": 1}},
            "complete": {"result_id": result, "output": {"sent": 1}, **self.beside(result)},
            "fail": {"kind": kind, "error": ERRORS[0], "effect": effect},
        }
        args = self.fence(held, "exact") | further.get(name, {})
        self.report(self.call(on, name, at, **args))

    # Rules: what else happens to a store ---------------------------------------------------------------------------

    @precondition(lambda self: not self.over and self.durable and self.steps_since_restart() > 4)
    @rule()
    def restart(self) -> None:
        self.make(Restart(f"s{len(self.made) + 1}"))

    @precondition(lambda self: self.migrates and self.can("migrate", 2) and self.taken_over < MOST_FILES)
    @rule(on=HANDLE, file=one_of(sorted(legacy_rows.FILES)))
    def migrate(self, on: str, file: str) -> None:
        """A legacy file: into a store that holds other work it does not go."""
        self.take_over(on, file)

    @precondition(lambda self: self.legacy and self.can("get", 0) and len(self.admitted) < 3)
    @rule(row=one_of(sorted(legacy_rows.ROWS)), version=one_of([1, None]))
    def inject(self, row: str, version: int | None) -> None:
        """A row that an older version left behind, once for each kind."""
        if f"legacy_{row}_read" in self.keys:
            return
        step = Inject(f"legacy_{row}", HANDLES[0], legacy_rows.ROWS[row], version)
        self.make(step)
        self.read_row(row)

    @precondition(lambda self: self.holding("start") and self.writers and self.campaign.store.backend.can("pause"))
    @rule(
        claim=CLAIM,
        held=one_of(["start", "heartbeat", "complete", "fail", "claim", "recover_expired", "time_out"]),
        during=one_of(["start", "cancel", "fail", "claim", "recover_expired", "enforce_deadlines"]),
        at=AT,
    )
    def frozen(self, claim: Held, held: str, during: str, at: int) -> None:
        """Handle A reads and decides, handle B commits, A goes on."""
        if {held, during} - self.methods:
            return
        first = self._call_by_name(held, HANDLES[0], claim, at, "a")
        second = self._call_by_name(during, HANDLES[1], claim, at, "b")
        self.make(Frozen(f"s{len(self.made) + 1}", first, (second,)))

    def _call_by_name(self, name: str, on: str, claim: Held, at: int, suffix: str) -> Call:
        fence, work = self.fence(claim, "exact"), {"workload_id": self.id_of(claim.work)}
        self.now_s = at
        arguments: dict[str, dict[str, Any]] = {
            "start": fence,
            "heartbeat": fence | {"extension_ms": 3000},
            "complete": fence | {"result_id": "r1", "output": {"sent": 1}, "references": [], "schema_version": 1},
            "fail": fence | {"kind": "timeout", "error": "no route", "effect": None},
            "claim": work | {"worker_id": f"w{suffix}", "capabilities": ["email:send"], "lease_ms": 2000},
            "cancel": work | {"actor": "owner"},
            "time_out": work | {"actor": "clock"},
            "recover_expired": {},
            "enforce_deadlines": {},
        }
        return Call(f"s{len(self.made) + 1}{suffix}", on, name, arguments[name], at)

    def report(self, step: Call) -> None:
        self.make(step)
        if step.call in ("complete", "fail") and self.answered(step) is not None:
            self.reports.append(step)

    def allowed(self, value: Any) -> Any:
        """Secret material only where the profile is claimed."""
        return value if self.secrets or value not in SECRETS else {"sent": 1}

    def beside(self, result: str) -> dict[str, Any]:
        """What a completion passes beside its output: references only where the store says what becomes of them."""
        declared = self.campaign.store.backend.choices.get(COMPLETION_REFERENCES.id)
        references, version = ([], 1) if declared == OTHER else BESIDE.get(result, ([], 1))
        return {"references": references, "schema_version": version}

    def teardown(self) -> None:
        self.campaign.end(self.execution, self.made)
