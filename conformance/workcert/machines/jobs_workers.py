"""Rules of the jobs machine for producers, workers and sweeps: one for each operation, each argument drawn."""

from __future__ import annotations

from typing import Any, Final

from workcert.machines.envelopes import (
    ASKS,
    BAD_PROGRESSES,
    BAD_RESULTS,
    CHANGES,
    CHECKPOINTS,
    CROWD,
    FITTING,
    FLAWS,
    LEASE_IDS,
    NEWS,
    PROGRESSES,
    RESULTS,
    SIZES,
    WORKERS,
    envelopes,
)
from workcert.machines.jobs_history import FORGED, Held, JobsHistory
from workcert.machines.jobs_state import DUE, DUTY, LEASE, REFILL, RETENTION, WINDOW
from workcert.machines.rules import precondition, rule, seldom
from workcert.machines.sources import Several, Shuffled, each, either, flag, just, of, one_of, perhaps

HANDLE, AT, ID = of("handles"), of("any_time"), of("ids")
HELD: Final = of("leases")
FORGERIES: Final = one_of(((), (), (), *((twist,) for twist in FORGED), FORGED))
TWIST: Final = one_of(("",) * 7 + FORGED)
OUTCOMES: Final = ("success", "retry", "skip", "revoke", "snooze", "undecodable", "rate_limited")
TEXTS: Final = (None, None, "broken", "", "\u00e9")
LOGS: Final[tuple[list[str], ...]] = ([], [], ["line"], ["\u4e2d", ""])
ACTUAL_WEIGHTS: Final = (None, None, 0, 1, 4)
LEASES_MS: Final = (1000, 2000, 1000, 5000, 1)
NO_LEASES_MS: Final = (0, -1)
QUEUE_LISTS: Final[tuple[list[str], ...]] = (
    ["q"],
    ["q"],
    ["q", "p"],
    ["p", "q", "p"],
    ["default", "q"],
    ["p", "default", "nowhere"],
    [],
)
DUTIES, HOLDERS = ("d", "e"), ("A", "B")
CAPACITIES: Final = (1, 1, 1, 2, 3, 10, 0)


class Workers(JobsHistory):
    """What producers, workers and the sweeps of a runtime do."""

    crowded = False

    # Producers ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.can("enqueue"))
    @rule(on=HANDLE, parts=envelopes(ID, alone=True), at=AT)
    def enqueue_one(self, on: str, parts: dict[str, Any], at: int) -> None:
        self.enqueue(on, [parts], at)

    @precondition(lambda self: self.can("enqueue", 0, 3))
    @rule(on=HANDLE, batch=Several(envelopes(ID), 0, 4), at=AT)
    def enqueue_batch(self, on: str, batch: list[dict[str, Any]], at: int) -> None:
        self.enqueue(on, batch, at)

    @precondition(lambda self: self.can("enqueue", 1, 4) and bool(self.requests))
    @rule(
        on=HANDLE,
        request=of("requested"),
        change=one_of(sorted(CHANGES)),
        beside=either(just(None), just(None), envelopes(ID)),
        at=of("times", WINDOW),
    )
    def enqueue_again(
        self, on: str, request: dict[str, Any], change: str, beside: dict[str, Any] | None, at: int
    ) -> None:
        """An envelope once more with at most one member changed, alone or beside a new one."""
        self.enqueue(on, [request | CHANGES[change], *([beside] if beside else [])], at)

    @precondition(lambda self: self.can("enqueue", 0, 2, 3, 5) and bool(self.keyed()))
    @rule(
        on=HANDLE,
        name=ID,
        request=of("keyed"),
        asks=one_of(ASKS),
        news=one_of(NEWS),
        at=of("times", WINDOW),
    )
    def enqueue_on_key(
        self, on: str, name: str, request: dict[str, Any], asks: dict[str, Any], news: dict[str, Any], at: int
    ) -> None:
        """A newcomer with a key that is held."""
        kept = {member: request[member] for member in request if not member.startswith("unique_re")}
        kept = {**kept, "unique_debounce_ms": 0, "pending": False, "scheduled_at_ms": 0}
        self.enqueue(on, [{**kept, **news, "id": name, **asks}], at)

    @precondition(lambda self: self.can("enqueue_without_uniqueness", 3))
    @rule(on=HANDLE, batch=Several(envelopes(ID, alone=True), 1, 2), at=AT)
    def enqueue_without_uniqueness(self, on: str, batch: list[dict[str, Any]], at: int) -> None:
        self.enqueue(on, batch, at, "enqueue_without_uniqueness")

    @precondition(lambda self: self.can("enqueue", 5))
    @rule(
        on=HANDLE,
        parts=envelopes(ID),
        flaws=Several(one_of(sorted(FLAWS)), 1, 3),
        sound=perhaps(envelopes(ID)),
    )
    def enqueue_unsound(self, on: str, parts: dict[str, Any], flaws: list[str], sound: dict[str, Any] | None) -> None:
        """One flaw after the other, alone or behind a sound envelope that must not be stored either."""
        for flaw in flaws:
            self.enqueue(on, [*([sound] if sound else []), parts | FLAWS[flaw]], None)

    @precondition(lambda self: self.can("enqueue", 2))
    @rule(on=HANDLE, parts=envelopes(ID), size=one_of(sorted(FITTING) + sorted(SIZES)))
    def enqueue_large(self, on: str, parts: dict[str, Any], size: str) -> None:
        """As large as may be; larger where the store claims to refuse it."""
        if size in FITTING or "LIMITS" in self.profiles:
            self.enqueue(on, [parts | (FITTING | SIZES)[size]], None)

    @precondition(lambda self: self.can("enqueue", 4) and "LIMITS" in self.profiles and not self.crowded)
    @rule(on=HANDLE)
    @seldom
    def enqueue_crowd(self, on: str) -> None:
        """One envelope too many, once: a thousand of them take time."""
        self.crowded = True
        self.do(on, "enqueue", envelopes=CROWD)

    # Workers -----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.can("admit", *(() if self.admissible() else (0,))))
    @rule(
        on=HANDLE,
        worker=one_of(WORKERS),
        lease_id=one_of(LEASE_IDS),
        queues=one_of(QUEUE_LISTS),
        capacity=one_of(CAPACITIES),
        lease_ms=one_of(LEASES_MS * 4 + NO_LEASES_MS),
        at=of("times", REFILL),
    )
    def admit_some(
        self, on: str, worker: str, lease_id: str, queues: list[str], capacity: int, lease_ms: int, at: int
    ) -> None:
        self.admit(on, worker, lease_id, queues, capacity, lease_ms, at)

    @precondition(lambda self: self.can("ack", *(() if self.current() else (3,))))
    @rule(
        on=HANDLE,
        held=HELD,
        forged=FORGERIES,
        outcome=one_of(OUTCOMES * 3 + ("lease_lost", "sideways")),
        error=one_of(TEXTS),
        delay_ms=of("delays"),
        logs=one_of(LOGS),
        actual_weight=one_of(ACTUAL_WEIGHTS),
        at=AT,
        look=flag(),
    )
    def ack(
        self,
        on: str,
        held: Held,
        forged: tuple[str, ...],
        outcome: str,
        error: str | None,
        delay_ms: int | None,
        logs: list[str],
        actual_weight: int | None,
        at: int,
        look: bool,
    ) -> None:
        row = self.present.rows.get(held.job)
        self.fenced(
            on, "ack", at, held, forged,
            outcome=outcome, error=error, delay_ms=delay_ms, logs=logs, actual_weight=actual_weight,
        )  # fmt: skip
        if look and row is not None and row.charge:
            self.look_at_tokens(row.rate_class)

    @precondition(lambda self: self.can("ack_success_with_result", *((1, 4) if self.current() else (2,))))
    @rule(
        on=HANDLE,
        held=HELD,
        forged=FORGERIES,
        result=one_of(RESULTS * 3 + BAD_RESULTS),
        logs=one_of(LOGS),
        actual_weight=one_of(ACTUAL_WEIGHTS),
        at=AT,
    )
    def ack_success_with_result(
        self,
        on: str,
        held: Held,
        forged: tuple[str, ...],
        result: Any,
        logs: list[str],
        actual_weight: int | None,
        at: int,
    ) -> None:
        self.fenced(
            on, "ack_success_with_result", at, held, forged, result=result, logs=logs, actual_weight=actual_weight
        )

    @precondition(lambda self: self.can("renew", *((0, 2) if self.current() else (1,))))
    @rule(
        on=HANDLE,
        held=Several(each(HELD, TWIST), 0, 3),
        lease_ms=one_of(LEASES_MS * 2 + NO_LEASES_MS),
        at=of("times", LEASE),
    )
    def renew(self, on: str, held: list[tuple[Held, str]], lease_ms: int, at: int) -> None:
        self.do(on, "renew", at, leases=[self.lease(*each) for each in held], lease_ms=lease_ms)

    @precondition(lambda self: self.can("checkpoint", *((1, 5) if self.current() else (5,))))
    @rule(on=HANDLE, held=HELD, forged=FORGERIES, checkpoint=one_of(CHECKPOINTS), at=AT)
    def checkpoint(self, on: str, held: Held, forged: tuple[str, ...], checkpoint: Any, at: int) -> None:
        self.fenced(on, "checkpoint", at, held, forged, checkpoint=checkpoint)

    @precondition(lambda self: self.can("write_job_output", *((0, 3) if self.current() else (4,))))
    @rule(on=HANDLE, held=HELD, forged=FORGERIES, output=one_of(RESULTS * 3 + BAD_RESULTS), at=AT)
    def write_job_output(self, on: str, held: Held, forged: tuple[str, ...], output: Any, at: int) -> None:
        self.fenced(on, "write_job_output", at, held, forged, output=output)

    @precondition(lambda self: self.can("write_job_progress", *((2, 5) if self.current() else (0,))))
    @rule(on=HANDLE, held=HELD, forged=FORGERIES, progress=one_of(PROGRESSES * 4 + BAD_PROGRESSES), at=AT)
    def write_job_progress(self, on: str, held: Held, forged: tuple[str, ...], progress: Any, at: int) -> None:
        self.fenced(on, "write_job_progress", at, held, forged, progress=progress)

    # Sweeps and duties -------------------------------------------------------------------------------------------

    @precondition(
        lambda self: self.can("promote_due", *(() if self.present.in_states("scheduled", "retryable") else (1,)))
    )
    @rule(on=HANDLE, limit=of("limits"), at=of("times", DUE))
    def promote_due(self, on: str, limit: int, at: int) -> None:
        self.do(on, "promote_due", at, limit=limit)

    @precondition(lambda self: self.can("reclaim_expired", *((0, 2, 4) if self.present.in_states("running") else (2,))))
    @rule(on=HANDLE, limit=of("limits"), at=of("times", LEASE))
    def reclaim_expired(self, on: str, limit: int, at: int) -> None:
        self.do(on, "reclaim_expired", at, limit=limit)

    @precondition(lambda self: self.can("evict_retained", *((1, 4) if self.present.around(RETENTION, 0) else (4,))))
    @rule(on=HANDLE, limit=of("limits"), at=of("times", RETENTION))
    def evict_retained(self, on: str, limit: int, at: int) -> None:
        self.do(on, "evict_retained", at, limit=limit)

    @precondition(lambda self: self.can("claim_duty", 3))
    @rule(
        on=HANDLE,
        name=one_of(DUTIES),
        holder=one_of(HOLDERS),
        lease_ms=one_of((1000, 500, 1000, 500, 1, 0, -1)),
        at=of("times", DUTY),
    )
    def claim_duty(self, on: str, name: str, holder: str, lease_ms: int, at: int) -> None:
        self.do(on, "claim_duty", at, name=name, holder=holder, lease_ms=lease_ms)

    @precondition(lambda self: self.can("release_duty", 1, 4) and bool(self.present.duties))
    @rule(on=HANDLE, name=one_of(DUTIES), holder=one_of(HOLDERS))
    def release_duty(self, on: str, name: str, holder: str) -> None:
        self.do(on, "release_duty", name=name, holder=holder)

    @precondition(lambda self: self.can("claim_duty", 0))
    @rule(
        on=HANDLE,
        other=HANDLE,
        name=one_of(DUTIES),
        holders=Shuffled(HOLDERS),
        after_ms=one_of((499, 500, 501, 0)),
        released=one_of((*HOLDERS, None)),
    )
    def contest_duty(
        self, on: str, other: str, name: str, holders: list[str], after_ms: int, released: str | None
    ) -> None:
        """One takes a duty, perhaps somebody gives it up, and another one wants it."""
        self.do(on, "claim_duty", name=name, holder=holders[0], lease_ms=500)
        if released is not None and self.can("release_duty"):
            self.do(other, "release_duty", name=name, holder=released)
        self.do(other, "claim_duty", self.now_ms + after_ms, name=name, holder=holders[1], lease_ms=500)
