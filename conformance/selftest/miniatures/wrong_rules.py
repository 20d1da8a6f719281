"""Stores whose rules are wrong: the specification with one rule changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from workcert.faults.changes import (
    Change,
    after_effect,
    both,
    with_check,
    with_condition,
    with_effect,
    with_operation,
    with_relation,
    with_rows,
    with_term,
    with_transition,
    without,
    without_effect,
    without_transition,
)
from workspec.core.condition import ALWAYS, Term
from workspec.core.rule import TableRow
from workspec.core.scope import Scope
from workspec.workload import effects, tables, terms
from workspec.workload.facts import versioned
from workspec.workload.operations.reads import LIST
from workspec.workload.rules import (
    conflicting_fields,
    deadline_instant,
    delayed_instant,
    failure_delay_ms,
    is_secret,
    scope_of,
    scope_of_terms,
)
from workspec.workload.tables import CLAIMED, READY, REQUESTED, SUCCEEDED
from workspec.workload.terms import state_is
from workspec.workload.vocabulary import State

from .model import FENCED, STATEFUL, WORKLOAD, Miniature, ruled

NEVER = ~ALWAYS
KINDS = ("overall", "queue", "claim", "execution", "heartbeat")
Rows = tuple[TableRow, ...]


def shifted(term: Term, seconds: int) -> Change:
    def read(scope: Scope) -> int | None:
        instant = term.read(scope)
        return None if instant is None else instant + seconds

    return with_term(term, read)


def running_since(base: Callable[[Any], int | None], timeout: str) -> Callable[[Scope], int | None]:
    return lambda scope: deadline_instant(base(scope.facts), getattr(scope.facts.terms.timeouts, timeout))


def of_started(name: str) -> Callable[[Any], int | None]:
    """A member of the claim, once the attempt has started."""
    return lambda facts: getattr(facts.claim, name) if facts.attempt and facts.attempt.started_at is not None else None


def when_ready(facts: Any) -> int | None:
    return facts.ready_at if facts.state == State.READY else None


def delay(change: Callable[[Any, int], tuple[Any, int]]) -> Callable[[Scope, Any], Mapping[str, Any]]:
    """Back-off by another policy or count."""

    def apply(scope: Scope, done: Mapping[str, Any]) -> Mapping[str, Any]:
        count = done.get("retry_count", scope.facts.retry_count)
        policy, count = change(scope.facts.terms.retry_policy, count)
        return {**done, "next_attempt_at": delayed_instant(scope.now, failure_delay_ms(policy, count, 0))}

    return apply


def secret_at_top(scope: Scope) -> bool:
    request = scope.call.get("request")
    value = request.input if request else scope.call.get("state", scope.call.get("output", scope.call.get("error")))
    members = value.values() if isinstance(value, dict) else [value]
    return any(is_secret(member) for member in members if isinstance(member, str))


def locating(part: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Change:
    """Admission that compares only this of two scopes."""

    def locate(scope: Scope) -> str:
        wanted = part(scope_of(scope.call["request"]))
        same = (key for key, record in scope.state.items() if part(scope_of_terms(record.facts.terms)) == wanted)
        return next(same, None) or WORKLOAD.contract.operation("admit").locate(scope)  # type: ignore[union-attr]

    return with_operation("admit", locate=locate)


def comparing_all_but(field: str) -> Callable[[Scope], bool]:
    return lambda scope: bool({*conflicting_fields(scope.call["request"], scope.facts.terms)} - {field})


def report_of_the_claim(scope: Scope) -> bool:
    return any(report.claim_id == scope.call["claim_id"] for report in scope.facts.reports)


def elsewhere(part: Callable[[Any], Any]) -> Callable[[Scope], bool]:
    """Dependencies are looked up wherever they are at home, as long as this part of the homes is alike."""

    def pending(scope: Scope) -> bool:
        def met(dependency: Any) -> bool:
            record = scope.state.get(dependency.workload_id)
            return (
                record is not None
                and record.facts.state == dependency.required_state
                and bool(part(record.facts.terms) == part(scope.facts.terms))
            )

        return not all(met(dependency) for dependency in scope.facts.terms.dependencies)

    return pending


def lacks_folded(scope: Scope) -> bool:
    offered = {capability.casefold() for capability in scope.call["capabilities"]}
    return not {capability.casefold() for capability in scope.facts.terms.capability_snapshot} <= offered


def first_ten(scope: Scope, after: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = LIST.answer(scope, after)
    return found[:10]


def wrapped_round(scope: Scope, done: Mapping[str, Any]) -> Mapping[str, Any]:
    """Back-off whose product is cut to the low 64 bits."""
    policy = scope.facts.terms.retry_policy
    doubled = policy.initial_delay_ms * 2 ** (scope.facts.retry_count - 1) % 2**64
    exact = policy.backoff == "fixed" or doubled >= policy.initial_delay_ms
    return done if exact else {**done, "next_attempt_at": delayed_instant(scope.now, min(doubled, policy.max_delay_ms))}


def every_record(_scope: Scope, after: Mapping[str, Any]) -> list[Any]:
    return [versioned(record) for _key, record in sorted(after.items())]


def by_the_worker(operation: str) -> Miniature:
    """This operation alone takes whatever claim the holder once had."""
    change = both(without("WRK-FNC-02", operation), with_check("WRK-FNC-03", operation, when=~terms.same_worker))
    return ruled(f"{operation} compares the worker alone", change, "FNC-02 FNC-03")


def alike(scope: Scope) -> bool:
    """The worker is the present claim's, whatever blanks stand around either."""
    claim = scope.facts.claim
    return claim is not None and claim.worker_id.strip() == scope.call["worker_id"].strip()


FENCES = (
    *(by_the_worker(name) for name in FENCED),
    ruled("the fencing token is not compared", without("WRK-FNC-02"), "FNC-02", STATEFUL),
    ruled("the worker id is not compared", with_term(terms.same_worker, lambda _s: True), "FNC-03", STATEFUL),
    ruled("worker ids are compared without the blanks around them", with_term(terms.same_worker, alike), "FNC-03"),
    ruled("the claim id is not compared", with_term(terms.same_claim_id, lambda _s: True), "FNC-03"),
    ruled("a lapsed lease passes the fence", without("WRK-FNC-04"), "FNC-04"),
    ruled(
        "the fence takes a lease to hold at its end",
        with_relation("now >= lease end", ">", "start", "heartbeat", "checkpoint", "complete", "fail"),
        "FNC-04",
        STATEFUL,
    ),
    ruled("recovery spares a lease at its end", with_relation("now >= lease end", ">", "recover_expired"), "REC-01"),
    ruled("a lease lapses a second early", shifted(terms.lease_end_at, -1), "FNC-04 REC-01", STATEFUL),
    ruled("an operator's retry resets the tokens", after_effect(effects.rearm, last_token=lambda _s: 0), "CLM-10"),
)
BUDGETS = (
    ruled(
        "one attempt more than the budget",
        with_relation("attempt_count >= attempt_budget", ">"),
        "CLM-03 DEC-03 DEC-07 DEC-10 TMO-04",
        STATEFUL,
    ),
    ruled(
        "one attempt less than the budget",
        with_condition(
            tables.exhausted,
            Term("next attempt", "attempts", "facts", lambda s: s.facts.attempt_count + 1) >= terms.attempt_budget,
        ),
        "CLM-03 DEC-04 DEC-08 DEC-11 TMO-04",
    ),
    ruled("a claim costs no attempt", without_effect(effects.spend_attempt), "CLM-09", STATEFUL),
    ruled(
        "recovery gives the attempt back",
        after_effect(effects.end_lost, attempt_count=lambda scope: scope.facts.attempt_count - 1),
        "CLM-09 REC-02",
    ),
    ruled(
        "recovery forgets the lost attempt",
        with_effect(effects.end_lost, lambda _s, done: {k: v for k, v in done.items() if k != "log.attempts"}),
        "REC-02",
        STATEFUL,
    ),
    ruled(
        "recovery counts as a retry",
        after_effect(effects.end_lost, retry_count=lambda scope: scope.facts.retry_count + 1),
        "REC-04 ART-04",
    ),
    ruled("an operator retries without limit", without("WRK-RTY-02"), "RTY-02"),
    ruled(
        "an operator's retry raises the budget by two",
        with_term(
            terms.attempt_budget,
            lambda scope: scope.facts.terms.retry_policy.max_attempts + 2 * scope.facts.operator_retries,
        ),
        "RTY-03 RTY-05",
    ),
)
DEADLINES = (
    ruled(
        "no deadline has passed at its instant",
        both(*(with_relation(f"now >= {kind} deadline", ">") for kind in KINDS)),
        "DLN-03 DLN-06 DLN-07 DLN-08 DLN-09 DLN-10",
        STATEFUL,
    ),
    ruled("the overall deadline passes a second late", shifted(terms.overall_at, +1), "DLN-03 DLN-09", STATEFUL),
    ruled("the queue deadline passes a second early", shifted(terms.queue_at, -1), "DLN-03 DLN-06", STATEFUL),
    ruled(
        "the overall deadline restarts with every retry",
        with_term(terms.overall_at, running_since(lambda facts: facts.ready_at, "overall_ms")),
        "DLN-09",
    ),
    ruled(
        "the execution deadline runs from the claim",
        with_term(terms.execution_at, running_since(of_started("claimed_at"), "execution_ms")),
        "DLN-08",
        STATEFUL,
    ),
    ruled(
        "a heartbeat moves the execution deadline",
        with_term(terms.execution_at, running_since(of_started("last_heartbeat"), "execution_ms")),
        "HBT-03 DLN-08",
    ),
    ruled(
        "back-off eats the queue deadline",
        with_term(terms.queue_at, running_since(when_ready, "queue_ms")),
        "DLN-06",
        STATEFUL,
    ),
    ruled("deadlines in the wrong order", with_rows(tables.PASSED_DEADLINE, lambda rows: rows[::-1]), "DLN-04"),
    ruled("records of version 1 have deadlines", with_term(terms.contract_version, lambda _s: 2), "DLN-01 LEG-01"),
    ruled("start looks at no deadline", without("WRK-EDL-03", "start"), "EDL-03 GEN-11 STR-01 STR-04 DLN-10"),
    ruled(
        "a passed overall deadline is retried",
        with_rows(tables.DEADLINE_DECISION, lambda rows: rows[1:]),
        "DEC-05",
        STATEFUL,
    ),
    ruled(
        "the delay after a deadline is the back-off's",
        with_effect(effects.delay_after_deadline, delay(lambda policy, count: (policy, count))),
        "EDL-07 ART-03",
    ),
)
REPEATS = (
    ruled(
        "a stale fence costs a retry", with_check("WRK-FNC-02", committing=(effects.count_retry,)), "GEN-02", STATEFUL
    ),
    ruled("a refused claim is counted", with_check("WRK-CLM-07", committing=(effects.spend_attempt,)), "GEN-02"),
    ruled("a repeated report is a new one", without("WRK-FAL-11"), "FAL-11", STATEFUL),
    ruled("any report of a claim is a repeat", with_term(terms.same_report, report_of_the_claim), "FAL-11 FAL-13"),
    ruled("a result id is unique in its workload only", without("WRK-CMP-04"), "CMP-04"),
    ruled("another output is a replay", with_term(terms.same_completion, lambda _s: True), "CMP-02 CMP-03"),
)
FAILURES = (
    ruled("a retry is not counted", without_effect(effects.count_retry), "FAL-10", STATEFUL),
    ruled("back-off doubles once too often", with_effect(effects.back_off, delay(lambda p, n: (p, n + 1))), "ART-02"),
    ruled(
        "back-off has no cap",
        with_effect(effects.back_off, delay(lambda policy, count: (evolve(policy, max_delay_ms=2**40), count))),
        "ART-02",
    ),
    ruled("back-off wraps around", with_effect(effects.back_off, wrapped_round), "ART-02"),
    ruled("budget before policy", with_rows(tables.FAILURE_DECISION, lambda r: (r[2], r[0], r[1], r[3])), "FAL-09"),
    ruled("an unknown effect is taken for none", with_condition(tables.effect_unknown, NEVER), "DEC-01 FAL-08"),
    ruled("a failure needs a start", without_transition(CLAIMED, "fail"), "FAL-04"),
)
CLAIMS = (
    ruled("a claim ignores capabilities", without("WRK-CLM-07"), "CLM-07"),
    ruled("a claim ignores the due time", without("WRK-CLM-06"), "CLM-06", STATEFUL),
    ruled("a claim ignores dependencies", without("WRK-CLM-08"), "CLM-08"),
    ruled(
        "work of another tenant meets a dependency",
        with_term(terms.dependency_pending, elsewhere(lambda terms: terms.application_id)),
        "CLM-08",
    ),
    ruled(
        "work of another application meets a dependency",
        with_term(terms.dependency_pending, elsewhere(lambda terms: terms.tenant_id)),
        "CLM-08",
    ),
    ruled("capabilities are compared without case", with_term(terms.lacks_capability, lacks_folded), "CLM-07"),
    ruled(
        "a claim takes lapsed work",
        both(
            with_check("WRK-CLM-05", when=~(state_is(READY) | (state_is(CLAIMED) & terms.lease_lapsed))),
            with_transition(CLAIMED, "claim", CLAIMED),
        ),
        "CLM-05",
    ),
)
CANCELLATION = (
    ruled("recovery revives cancelled work", with_transition(REQUESTED, "lease lapse", READY), "CAN-03"),
    ruled(
        "completion forgets a requested cancellation",
        both(without("WRK-CAN-06", "complete"), with_transition(REQUESTED, "complete", SUCCEEDED)),
        "CAN-05 CAN-06",
    ),
)
ADMISSION = (
    ruled(
        "secrets are sought at the top only",
        with_check("WRK-GEN-09", when=Term("a secret at the top", "flag", "call", secret_at_top).holds()),
        "GEN-09 ADM-03",
    ),
    ruled("the requester is no part of the scope", locating(lambda s: (*s[:2], s[4])), "ADM-07 ADM-09"),
    ruled("keys are trimmed", locating(lambda scope: (*scope[:4], scope[4].strip())), "ADM-04 ADM-07"),
    ruled(
        "a replay does not compare not_before",
        with_term(terms.request_differs, comparing_all_but("not_before")),
        "REP-01 REP-03",
    ),
    ruled("a pass takes any number for an instant", without("WRK-PRT-02", "enforce_deadlines"), "PRT-02"),
    ruled("a list ends at ten", with_operation("list_workloads", answer=first_ten), "PRT-12"),
    ruled("a list shows other tenants", with_operation("list_workloads", answer=every_record), "PRT-12 PRT-06"),
)

WRONG_RULES = (
    *FENCES,
    *BUDGETS,
    *DEADLINES,
    *REPEATS,
    *FAILURES,
    *CLAIMS,
    *CANCELLATION,
    *ADMISSION,
)
