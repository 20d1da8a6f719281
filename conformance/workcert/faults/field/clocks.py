"""Deadlines, units and clocks: from when, in what unit, and by whose time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from attrs import define, evolve, field

from workcert.backends.protocol import Ability
from workcert.backends.specification import Handle
from workcert.faults.changes import both, with_checks, with_effect, with_rows, with_term
from workcert.faults.field.handles import behind
from workcert.faults.field.model import Seen, Tier, by_backend, by_rule
from workspec.core.condition import NOW, Condition, Term
from workspec.core.interpreter import Decision, decide
from workspec.core.record import State
from workspec.core.rule import Check
from workspec.core.scope import Call, Scope
from workspec.jobs import effects as job_effects
from workspec.jobs import rules as job_rules
from workspec.jobs import terms as job_terms
from workspec.jobs.facts import JobFacts
from workspec.workload import tables, terms
from workspec.workload.rules import deadline_instant

HOUR_S: Final = 3600
HOUR_MS: Final = 3_600_000

DEADLINES: Final = {
    "overall_ms": terms.overall_at,
    "queue_ms": terms.queue_at,
    "claim_ms": terms.claim_at,
    "execution_ms": terms.execution_at,
    "heartbeat_ms": terms.heartbeat_at,
}


def _since_ready(scope: Scope) -> int | None:
    facts = scope.facts
    since = facts.created_at if facts.ready_at is None else facts.ready_at
    return deadline_instant(since, facts.terms.timeouts.overall_ms)


def _execution_for_overall(scope: Scope) -> int | None:
    timeouts = scope.facts.terms.timeouts
    duration_ms = timeouts.execution_ms if timeouts.overall_ms is None else timeouts.overall_ms
    return deadline_instant(scope.facts.created_at, duration_ms)


def _rounded_down(timeout: str, right: Term) -> Callable[[Scope], int | None]:
    def read(scope: Scope) -> int | None:
        instant = right.read(scope)
        part_of_a_second = (getattr(scope.facts.terms.timeouts, timeout) or 0) % 1000 != 0
        return None if instant is None else instant - part_of_a_second

    return read


def _too_late(condition: Condition) -> Callable[[Check], Check]:
    """What is that long overdue is passed over as well."""
    return lambda check: evolve(check, when=check.when | condition)


_lapsed_long_ago: Final = NOW > Term(
    "an hour after the lease",
    "s",
    "facts",
    lambda s: None if s.facts.claim is None else s.facts.claim.expires_at + HOUR_S,
)
_due_long_ago: Final = job_terms.NOW > Term(
    "an hour after it is due", "ms", "facts", lambda s: s.facts.scheduled_at_ms + HOUR_MS, of=JobFacts
)


def _whole_seconds(scope: Scope) -> int:
    due: int = scope.facts.scheduled_at_ms
    return due // 1000 * 1000


def _window_in_seconds(scope: Scope, done: Any) -> Any:
    envelope = job_terms.requested(scope)
    until_ms = job_rules.later(scope.now, envelope.unique_window_ms // 1000 * 1000)
    return {"*": evolve(done["*"], until_ms=until_ms)}


@define(eq=False)
class _OwnClockHandle(Handle):
    """Adds to the store's time what its own clock is ahead."""

    ahead: int = field(kw_only=True)

    def _decided(self, state: State, name: str, arguments: dict[str, Any]) -> Decision:
        call = Call(name, arguments)
        now = self._contract.instant(call, self._shelf.now() + self.ahead)
        return decide(self._contract, state, call, now, self._choose)


WORKLOAD: Final = (
    Seen(
        "the overall deadline begins anew with every return to the queue",
        "WRK-DLN-09 WRK-DLN-05",
        "",
        Tier.CLOCK,
        "A total is measured from the instant at which the present attempt became possible.",
        by_rule(with_term(terms.overall_at, _since_ready)),
    ),
    Seen(
        "a passed overall or queue deadline is followed by another attempt",
        "WRK-DEC-05 WRK-EDL-06",
        "",
        Tier.CLOCK,
        "Every deadline ends in the procedure for an attempt that took too long.",
        by_rule(with_rows(tables.DEADLINE_DECISION, lambda rows: rows[1:])),
    ),
    Seen(
        "the execution time bounds all attempts together where no total is given",
        "WRK-DLN-09 WRK-DLN-08 WRK-DLN-05 WRK-DLN-03 WRK-ADM-05",
        "",
        Tier.CLOCK,
        "An absent timeout is filled in from another one on the way to whatever enforces it.",
        by_rule(with_term(terms.overall_at, _execution_for_overall)),
    ),
    Seen(
        "a deadline loses its part of a second",
        "WRK-ART-01 WRK-DLN-03 WRK-DLN-06 WRK-DLN-07 WRK-DLN-08 WRK-DLN-09 WRK-DLN-10",
        "",
        Tier.CLOCK,
        "Milliseconds are divided as integers, which rounds down, and the shortest become none.",
        by_rule(both(*(with_term(right, _rounded_down(name, right)) for name, right in DEADLINES.items()))),
    ),
    Seen(
        "recovery looks no further back than an hour",
        "WRK-REC-01",
        "recover_expired",
        Tier.CLOCK,
        "A pass asks for what has lapsed since the pass before, and relies on being called at its usual pace.",
        by_rule(with_checks("WRK-ART-06", _too_late(_lapsed_long_ago), "recover_expired")),
    ),
)
JOBS: Final = (
    Seen(
        "a due time loses its part of a second",
        "JOB-PRM-01 JOB-GEN-04",
        "promote_due",
        Tier.CLOCK,
        "Due times are kept as seconds, and the conversion rounds down.",
        by_rule(with_term(job_terms.due, _whole_seconds, "promote_due")),
    ),
    Seen(
        "a handle goes by the clock of its machine",
        "JOB-GEN-02 JOB-MWR-01 JOB-CLK-01 JOB-ADM-06 JOB-ENQ-18",
        "",
        Tier.CLOCK,
        "The instant is taken where the call is made, and machines do not agree on the time.",
        by_backend(
            lambda binding: behind(binding, lambda others: partial(_OwnClockHandle, ahead=HOUR_MS if others else 0)),
            Ability.SECOND_HANDLE,
        ),
    ),
    Seen(
        "promotion looks no further back than an hour",
        "JOB-PRM-01 JOB-PRM-03 JOB-TRN-06 JOB-TRN-07",
        "promote_due",
        Tier.CLOCK,
        "A sweep asks for what has come due since the sweep before, and relies on being called at its usual pace.",
        by_rule(with_checks("JOB-PRM-01", _too_late(_due_long_ago), "promote_due")),
    ),
    Seen(
        "a window loses its part of a second",
        "JOB-UNQ-05 JOB-UNQ-06 JOB-GEN-04",
        "enqueue",
        Tier.CLOCK,
        "Windows are handed to something that expires keys by the second, and the conversion rounds down.",
        by_rule(with_effect(job_effects.hold_key_for_window, _window_in_seconds)),
    ),
)
