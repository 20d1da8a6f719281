"""Bounds of queues, and what is left of rows that are over."""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from workcert.faults.changes import Change, seeing, with_answer, with_checks, with_operation
from workcert.faults.field.model import Seen, Tier, by_rule
from workspec.core.condition import Term
from workspec.core.contract import Contract
from workspec.core.record import Record, State, replaced
from workspec.core.rule import Refuse, ids
from workspec.core.scope import Scope
from workspec.jobs.draw import rows_in
from workspec.jobs.facts import HISTORY_LIMIT, JobFacts, QueueFacts, queue_key
from workspec.jobs.operations.enqueue import unfinished
from workspec.jobs.vocabulary import ErrorCode

LEAKING: Final = ("archived", "cancelled", "undecodable", "quarantined")
"""The ends of a job that are no success."""


def _with_room_for_one_more(scope: Scope) -> State:
    def wider(record: Record) -> Record:
        facts = record.facts
        if not isinstance(facts, QueueFacts) or facts.limit is None:
            return record
        return evolve(record, facts=replaced(facts, {"limit": facts.limit + 1}))

    return {key: wider(record) for key, record in scope.state.items()}


def _with_slots_that_leak(scope: Scope) -> State:
    def kept(record: Record) -> Record:
        facts = record.facts
        if not isinstance(facts, JobFacts) or facts.state not in LEAKING:
            return record
        return evolve(record, facts=replaced(facts, {"state": "pending"}))

    return {key: kept(record) for key, record in scope.state.items()}


def _is_full(scope: Scope) -> bool:
    settings = scope.facts_of(queue_key(scope.facts.queue))
    return (
        settings is not None and settings.limit is not None and unfinished(scope, scope.facts.queue) >= settings.limit
    )


def _told(scope: Scope) -> dict[str, Any]:
    queue = scope.facts.queue
    limit = scope.facts_of(queue_key(queue)).limit
    return {"queue": queue, "limit": limit, "current": unfinished(scope, queue), "incoming": 1}


def _refusing_where_full(operation: str) -> Change:
    refuse = Refuse(
        ids("JOB-BPR-09"),
        ErrorCode.BACKPRESSURE,
        Term("the queue is full", "flag", "store", _is_full).holds(),
        details=_told,
    )

    def apply(contract: Contract) -> Contract:
        checks = (*contract.operation(operation).checks, refuse)
        return with_operation(operation, checks=checks)(contract)

    return apply


def _one_entry_more(job: Any, scope: Scope, after: Any) -> Any:
    record = after.get(scope.key)
    return job if record is None else evolve(job, history=record.log.history[-HISTORY_LIMIT - 1 :])


JOBS: Final = (
    Seen(
        "every end but success keeps its slot in the backlog",
        "JOB-BPR-08 JOB-BPR-02",
        "enqueue",
        Tier.ONE_CALLER,
        "A counter of its own goes down where a job completes, and no other end of a job touches it.",
        by_rule(
            with_checks(
                "JOB-BPR-02",
                lambda check: evolve(check, when=seeing(check.when, _with_slots_that_leak, "no slot is left")),
                "enqueue",
            )
        ),
    ),
    Seen(
        "a queue takes one job more than its limit",
        "JOB-BPR-02 JOB-BPR-01",
        "enqueue",
        Tier.ONE_CALLER,
        "The count is compared without what the call itself would add.",
        by_rule(
            with_checks(
                "JOB-BPR-02",
                lambda check: evolve(check, when=seeing(check.when, _with_room_for_one_more, "the queue is over")),
                "enqueue",
            )
        ),
    ),
    Seen(
        "an operator's retry into a full queue is refused",
        "JOB-BPR-09 JOB-OPR-04",
        "operator_retry",
        Tier.ONE_CALLER,
        "A retry is stored by the insert of new work, and with it comes the check that belongs to producers.",
        by_rule(_refusing_where_full("operator_retry")),
    ),
    Seen(
        "completed rows alone are evicted",
        "JOB-EVT-01 JOB-EVT-02",
        "evict_retained",
        Tier.CLOCK,
        "The clean-up names the state of success, and the other ends came later.",
        by_rule(
            with_operation(
                "evict_retained", order=rows_in("completed", by=lambda facts: facts.finalized_at_ms or 0, free=True)
            )
        ),
    ),
    Seen(
        "the history keeps one entry more",
        "JOB-ACK-17",
        "get_job",
        Tier.ONE_CALLER,
        "The list is cut before the new entry is added to it.",
        by_rule(with_answer("get_job", _one_entry_more)),
    ),
)
