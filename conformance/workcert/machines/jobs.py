"""The machine of the jobs contract: the rules of producers, workers and operators, and what carries a job along.

One rule for each operation; every argument is drawn in the signature, so that the printed step is complete.
"""

from __future__ import annotations

from typing import Any, Final

from workcert.cases.model import Restart
from workcert.machines.envelopes import (
    CHECKPOINTS,
    CLASSES,
    IDS,
    LEASE_IDS,
    NEWS,
    QUEUES,
    WORKERS,
    dated,
    envelopes,
)
from workcert.machines.jobs_history import HANDLES, Held
from workcert.machines.jobs_operators import Operators
from workcert.machines.jobs_state import REFILL
from workcert.machines.jobs_workers import (
    ACTUAL_WEIGHTS,
    AT,
    FORGERIES,
    HANDLE,
    HELD,
    ID,
    LOGS,
    OUTCOMES,
    TEXTS,
    TWIST,
    Workers,
)
from workcert.machines.rules import initialize, precondition, rule
from workcert.machines.sources import Several, Shuffled, each, either, flag, just, of, one_of, perhaps
from workspec.jobs.facts import JobFacts

CONFIGS: Final[tuple[dict[str, int], ...]] = (
    {},
    {},
    {},
    {"crash_limit": 1},
    {"crash_limit": 2, "retry_base_ms": 400, "retry_cap_ms": 700},
)
"""What a store is opened with, as far as it can be asked for it."""
RATES: Final = (None, None, (1, 1000, 1), (1, 1000, 3), (3, 1000, 2), (0, 1000, 3))
"""Limit, window and burst of a class, set from the start."""
LEASES_MS: Final = (1000, 2000, 5000)
MOMENTS: Final = ("now", "now", "now", "before", "at", "after")
"""Of the end of a lease."""
SIDES: Final = {"before": -1, "at": 0, "after": 1}
EVERY_ROW: Final = 100
KEYS_OF_EFFECTS: Final = ("e", "a/one", "\u00e9", "")


class JobsMachine(Workers, Operators):
    """What may be done next, and with which arguments; a driver chooses."""

    @initialize(
        config=one_of(CONFIGS),
        rate=one_of(RATES),
        limit=one_of((None, None, None, None, 2, 3, 4)),
        jobs=Several(envelopes(just("")), 1, 4),
    )
    def first_jobs(
        self, config: dict[str, int], rate: tuple[int, int, int] | None, limit: int | None, jobs: list[dict[str, Any]]
    ) -> None:
        """There is something to work on from the start, and often something that bounds it."""
        self.begin(config)
        if rate is not None and self.can("set_rate_limit"):
            self.do(HANDLES[0], "set_rate_limit", name=CLASSES[0], limit=rate[0], window_ms=rate[1], burst=rate[2])
        if limit is not None and self.can("set_enqueue_limit"):
            self.do(HANDLES[0], "set_enqueue_limit", queue=QUEUES[0], limit=limit)
        for name, parts in zip(IDS, jobs, strict=False):
            self.enqueue(HANDLES[0], [{**parts, "id": name}], None)

    @precondition(lambda self: self.over or self.partial)
    @rule()
    def pass_turn(self) -> None:
        """Hypothesis needs some rule for every step: when the example is over, or when it is the turn of operations
        that the store does not have."""
        self.turn += 1

    # The way of a job. Without these hardly a random history finishes one. -----------------------------------------

    @precondition(lambda self: self.can("admit") and bool(self.available()))
    @rule(
        on=HANDLE,
        row=of("available"),
        worker=one_of(WORKERS),
        lease_id=one_of(LEASE_IDS),
        capacity=one_of((1, 1, 1, 2)),
        lease_ms=one_of(LEASES_MS),
    )
    def take(self, on: str, row: JobFacts, worker: str, lease_id: str, capacity: int, lease_ms: int) -> None:
        """An admission by a worker for whom there is something."""
        self.admit(on, row.sticky_worker or worker, lease_id, [row.queue], capacity, lease_ms, self.now_ms)

    @precondition(lambda self: self.can("admit") and self.can("ack") and bool(self.admissible()))
    @rule(
        on=HANDLE,
        row=of("admissible"),
        worker=one_of(WORKERS),
        lease_id=one_of(LEASE_IDS),
        lease_ms=one_of(LEASES_MS),
        checkpoint=one_of((None, *CHECKPOINTS)),
        outcome=one_of(OUTCOMES),
        error=one_of(TEXTS),
        delay_ms=of("delays"),
        logs=one_of(LOGS),
        actual_weight=one_of(ACTUAL_WEIGHTS),
        moment=one_of(MOMENTS),
        look=flag(),
        first=one_of((None, None, "lease_lost", "snooze")),
        forged=FORGERIES,
        rival=perhaps(ID),
    )
    def carry_through(
        self,
        on: str,
        row: JobFacts,
        worker: str,
        lease_id: str,
        lease_ms: int,
        checkpoint: Any,
        outcome: str,
        error: str | None,
        delay_ms: int | None,
        logs: list[str],
        actual_weight: int | None,
        moment: str,
        look: bool,
        first: str | None,
        forged: tuple[str, ...],
        rival: str | None,
    ) -> None:
        """Admitted and acked in one go, now or about the end of the lease, to which an ack is indifferent; then the key
        of the job may be wanted."""
        made = self.admit(on, row.sticky_worker or worker, lease_id, [row.queue], 1, lease_ms, self.now_ms)
        for held in made:
            if checkpoint is not None and self.can("checkpoint"):
                self.fenced(on, "checkpoint", None, held, (), checkpoint=checkpoint)
            at = self.now_ms + (lease_ms + SIDES[moment] if moment in SIDES else 0)
            if first is not None:
                # Refused for what it says, so that nothing may be settled.
                self.fenced(
                    on, "ack", None, held, (),
                    outcome=first, error=error, delay_ms=None, logs=logs, actual_weight=actual_weight,
                )  # fmt: skip
            if first is not None and look:
                self.look_at_tokens(row.rate_class)
            delay_ms = max(delay_ms or 0, 1) if outcome == "snooze" else delay_ms
            self.fenced(
                on, "ack", at, held, forged,
                outcome=outcome, error=error, delay_ms=delay_ms, logs=logs, actual_weight=actual_weight,
            )  # fmt: skip
            if look and actual_weight is not None:
                self.look_at_tokens(row.rate_class)
            request = self.requests.get(held.job, {})
            if rival is not None and "unique_key" in request:
                self.enqueue_rival(on, request, rival, {})

    @precondition(lambda self: self.can("admit") and self.can("reclaim_expired") and bool(self.crashable()))
    @rule(
        on=HANDLE,
        row=of("crashable"),
        worker=one_of(WORKERS),
        times=one_of((1, 2, 3, 3)),
        side=one_of(("at", "at", "after", "before")),
        checkpoint=one_of((None, None, *CHECKPOINTS)),
        then=one_of(("", "", "park", "release", "park and release", "restart")),
        watching=perhaps(HANDLE),
        sibling=perhaps(envelopes(ID)),
    )
    def lapse(
        self,
        on: str,
        row: JobFacts,
        worker: str,
        times: int,
        side: str,
        checkpoint: Any,
        then: str,
        watching: str | None,
        sibling: dict[str, Any] | None,
    ) -> None:
        """Admitted, lost, taken back and made available again, several times over: how a job comes to quarantine.
        Then something of its fingerprint may be enqueued."""
        self._look_at_register(watching)
        for _ in range(times):
            self._lose(on, row.id, worker, side, checkpoint)
        self._look_at_register(watching)
        if "park" in then and self.can("sweep_quarantined"):
            self.do(on, "sweep_quarantined", limit=EVERY_ROW)
        if "release" in then and self.can("release_fingerprint"):
            self.do(on, "release_fingerprint", fingerprint=row.fingerprint)
        if then == "restart" and "DURABLE" in self.profiles:
            self.make(Restart(self.next_id()))
        if sibling is not None:
            self.enqueue(on, [{**sibling, "kind": row.kind, "fingerprint": row.fingerprint}], None)
        self._look_at_register(watching)

    def _look_at_register(self, on: str | None) -> None:
        if on is not None and self.can("list_quarantined"):
            self.do(on, "list_quarantined")

    def _lose(self, on: str, job: str, worker: str, side: str, checkpoint: Any) -> None:
        row = self.present.rows.get(job)
        if self.over or row is None:
            return
        if row.state in ("scheduled", "retryable"):
            self.do(on, "promote_due", max(row.scheduled_at_ms, self.now_ms), limit=EVERY_ROW)
        made = self.admit(on, row.sticky_worker or worker, LEASE_IDS[0], [row.queue], 1, LEASES_MS[0], self.now_ms)
        if checkpoint is not None and made:
            self.do(on, "checkpoint", lease=self.lease(made[0]), checkpoint=checkpoint)
        self.do(on, "reclaim_expired", self.now_ms + LEASES_MS[0] + SIDES[side], limit=EVERY_ROW)

    def crashable(self) -> list[JobFacts]:
        """Rows that can be admitted, or promoted and then admitted, those nearest to quarantine first."""
        waiting = self.present.in_states("scheduled", "retryable")
        near = [row for row in waiting if row.crash_attempt > 0]
        return near * 2 + self.admissible() + waiting

    @precondition(lambda self: self.can("admit") and bool(self.starved()))
    @rule(
        on=HANDLE,
        other=HANDLE,
        row=of("starved"),
        worker=one_of(WORKERS),
        sides=one_of((("before", "at"), ("before", "at"), ("at",), ("before", "after"))),
    )
    def wait_for_tokens(self, on: str, other: str, row: JobFacts, worker: str, sides: tuple[str, ...]) -> None:
        """Asked for too early, which costs nothing, and then when there is a token more."""
        instants = [at for at in self.present.turning(REFILL, self.now_ms) if at > self.now_ms]
        for handle, side in zip((on, other), sides, strict=False):
            at = max(self.now_ms, instants[0] + SIDES[side]) if instants else self.now_ms
            self.admit(handle, row.sticky_worker or worker, LEASE_IDS[0], [row.queue], 2, LEASES_MS[2], at)

    def starved(self) -> list[JobFacts]:
        """Available rows that wait for tokens of their class."""
        poor = {bucket.name: bucket.tokens for bucket in self.present.buckets if bucket.limit > 0 and not bucket.paused}
        return [row for row in self.admissible() if row.weight > poor.get(row.rate_class, row.weight)]

    @precondition(lambda self: self.can("ack") and bool(self.current()))
    @rule(on=HANDLE, held=of("current"), outcomes=Shuffled(("rate_limited", "retry", "success")), other=HANDLE)
    def ack_twice(self, on: str, held: Held, outcomes: list[str], other: str) -> None:
        """Two acks with one reference, through two handles: only the first one counts."""
        for handle, outcome in zip((on, other), outcomes, strict=False):
            self.fenced(
                handle, "ack", None, held, (),
                outcome=outcome, error=None, delay_ms=500, logs=[], actual_weight=0,
            )  # fmt: skip

    @precondition(lambda self: self.can("enqueue") and bool(self.displaced()))
    @rule(on=HANDLE, row=of("displaced"), name=ID, news=one_of(NEWS), other=HANDLE)
    def displace(self, on: str, row: JobFacts, name: str, news: dict[str, Any], other: str) -> None:
        """A newcomer takes the key of a job that is over; then that one is to run again."""
        self.enqueue_rival(on, self.requests[row.id], name, news)
        if row.state == "quarantined" and self.can("release_fingerprint"):
            self.do(other, "release_fingerprint", fingerprint=row.fingerprint)
        elif self.can("operator_retry"):
            self.do(other, "operator_retry", job_id=row.id)

    @precondition(lambda self: self.can("enqueue") and bool(self.throttling()))
    @rule(
        on=HANDLE,
        request=of("throttling"),
        parts=envelopes(just("")),
        asks=one_of(({}, {"unique_replace": 15}, {"unique_replace": 4})),
        name=ID,
        other=HANDLE,
    )
    def outlive(
        self, on: str, request: dict[str, Any], parts: dict[str, Any], asks: dict[str, Any], name: str, other: str
    ) -> None:
        """A key in throttle mode outlives the row that took it; another row of that id is not its holder."""
        job = request["id"]
        for held in (held for held in self.current() if held.job == job):
            self.fenced(
                on, "ack", None, held, (),
                outcome="revoke", error=None, delay_ms=None, logs=[], actual_weight=None,
            )  # fmt: skip
        if job in self.present.rows and self.can("delete_job"):
            self.do(other, "delete_job", job_id=job)
        self.enqueue(on, [{**parts, "id": job, "unique_key": None, "unique_window_ms": 0}], None)
        self.enqueue_rival(other, request, name, asks)

    @precondition(lambda self: self.can("operator_retry") and self.can("ack") and self.may("operator_retry"))
    @rule(
        on=HANDLE,
        job=of("jobs_for", "operator_retry"),
        worker=one_of(WORKERS),
        outcome=one_of(("retry", "retry", "success", "skip")),
    )
    def redrive(self, on: str, job: str, worker: str, outcome: str) -> None:
        """A job that is over runs once more; it has no fresh budget."""
        self.do(on, "operator_retry", job_id=job)
        row = self.present.rows.get(job)
        if row is None or row.state != "available":
            return
        for held in self.admit(on, row.sticky_worker or worker, "l1", [row.queue], 3, LEASES_MS[0], self.now_ms):
            self.fenced(
                on, "ack", None, held, (),
                outcome=outcome, error=None, delay_ms=1500, logs=[], actual_weight=None,
            )  # fmt: skip

    # What else happens to a store ------------------------------------------------------------------------------------

    @precondition(lambda self: not self.over and "DURABLE" in self.profiles and self.steps_since_restart() > 4)
    @rule()
    def restart(self) -> None:
        self.make(Restart(self.next_id()))

    @precondition(lambda self: self.can("freeze_clock", 1))
    @rule(on=HANDLE, to=AT)
    def freeze_clock(self, on: str, to: int) -> None:
        self.do(on, "freeze_clock", at_ms=to)
        self.now_ms = to

    @precondition(lambda self: self.can("advance_clock", 0))
    @rule(on=HANDLE, to=AT)
    def advance_clock(self, on: str, to: int) -> None:
        self.do(on, "advance_clock", delta_ms=to - self.now_ms)
        self.now_ms = to

    @precondition(lambda self: self.can("unfreeze_clock", 5) and self.turn > 20)
    @rule(on=HANDLE)
    def unfreeze_clock(self, on: str) -> None:
        """The next step stops it where it stood."""
        self.do(on, "unfreeze_clock")

    @precondition(lambda self: not self.over and self.transacts and self.turn % 2 == 0)
    @rule(
        on=HANDLE,
        calls=Several(
            either(
                each(just("enqueue_tx"), Several(envelopes(ID, alone=True), 1, 2)),
                each(just("complete_tx"), each(HELD, TWIST, one_of(ACTUAL_WEIGHTS))),
                each(just("checkpoint_tx"), each(HELD, TWIST, one_of(CHECKPOINTS))),
                each(just("claim_effect"), one_of(KEYS_OF_EFFECTS)),
            ),
            0,
            4,
        ),
        end=one_of(("commit", "commit", "rollback")),
        after=one_of((0, 0, 0, 1)),
        at=AT,
    )
    def transact(self, on: str, calls: list[tuple[str, Any]], end: str, after: int, at: int) -> None:
        self.now_ms = at
        made = [(name, self._inside(name, asked)) for name, asked in calls if name in self.methods]
        self.transaction(on, made, end, after, at)

    def _inside(self, name: str, asked: Any) -> dict[str, Any]:
        """The arguments of a call inside a transaction."""
        if name == "enqueue_tx":
            return {"envelopes": [dated(parts, self.now_ms) for parts in asked]}
        if name == "claim_effect":
            return {"key": asked}
        held, twist, value = asked
        member = "actual_weight" if name == "complete_tx" else "checkpoint"
        return {"lease": self.lease(held, twist), member: value}
