"""The transition table of the jobs contract (2.3), with the edges that are easily forgotten."""

from __future__ import annotations

from typing import Final

from workspec.core.condition import ALWAYS, Condition
from workspec.core.contract import StateNote
from workspec.core.rule import Transition, TransitionTable, ids
from workspec.jobs import terms
from workspec.jobs.facts import EVICTABLE, WAITING
from workspec.jobs.vocabulary import State

NEW, DELETED = "new", "deleted"
"""Before the row and after it: no stored states."""
PENDING, SCHEDULED, AVAILABLE, RUNNING = State.PENDING, State.SCHEDULED, State.AVAILABLE, State.RUNNING
RETRYABLE, COMPLETED, ARCHIVED = State.RETRYABLE, State.COMPLETED, State.ARCHIVED
CANCELLED, UNDECODABLE, QUARANTINED = State.CANCELLED, State.UNDECODABLE, State.QUARANTINED


def _row(source: str, event: str, target: str, identifier: str, guard: Condition = ALWAYS) -> Transition:
    return Transition(source, event, target, ids(identifier), guard)


def _each(sources: tuple[str, ...], event: str, target: str, identifier: str) -> tuple[Transition, ...]:
    return tuple(_row(source, event, target, identifier) for source in sources)


TRANSITIONS: Final = TransitionTable(
    (
        _row(NEW, "enqueue", PENDING, "JOB-TRN-01 JOB-ENQ-13", terms.wants_pending),
        _row(NEW, "enqueue", SCHEDULED, "JOB-TRN-02 JOB-ENQ-13", ~terms.wants_pending & terms.request_is_later),
        _row(NEW, "enqueue", AVAILABLE, "JOB-TRN-03 JOB-ENQ-13", ~terms.wants_pending & ~terms.request_is_later),
        _row(PENDING, "operator promote", AVAILABLE, "JOB-TRN-04"),
        _row(PENDING, "schedule pending", SCHEDULED, "JOB-TRN-05"),
        _row(SCHEDULED, "promote due", AVAILABLE, "JOB-TRN-06"),
        _row(RETRYABLE, "promote due", AVAILABLE, "JOB-TRN-07"),
        _row(AVAILABLE, "admit", RUNNING, "JOB-TRN-08"),
        _row(RUNNING, "success", COMPLETED, "JOB-TRN-09 JOB-ACK-05", terms.is_retained),
        _row(RUNNING, "success", DELETED, "JOB-TRN-10 JOB-ACK-05", ~terms.is_retained),
        _row(RUNNING, "retry", RETRYABLE, "JOB-TRN-11 JOB-ACK-06", terms.attempts_are_left),
        _row(RUNNING, "retry", ARCHIVED, "JOB-TRN-12 JOB-ACK-06", ~terms.attempts_are_left),
        _row(RUNNING, "skip", ARCHIVED, "JOB-TRN-13 JOB-ACK-09"),
        _row(RUNNING, "revoke", DELETED, "JOB-TRN-14 JOB-ACK-11"),
        _row(RUNNING, "snooze", SCHEDULED, "JOB-TRN-15 JOB-ACK-12"),
        _row(RUNNING, "undecodable", UNDECODABLE, "JOB-TRN-16 JOB-ACK-10"),
        _row(RUNNING, "rate limited", AVAILABLE, "JOB-TRN-17 JOB-ACK-13"),
        _row(RUNNING, "reclaim", RETRYABLE, "JOB-TRN-18 JOB-RCL-03", terms.crashes_are_left),
        _row(RUNNING, "reclaim", QUARANTINED, "JOB-TRN-19 JOB-RCL-03", ~terms.crashes_are_left),
        _row(ARCHIVED, "operator retry", AVAILABLE, "JOB-TRN-20"),
        _row(CANCELLED, "operator retry", AVAILABLE, "JOB-TRN-21"),
        _row(UNDECODABLE, "operator retry", AVAILABLE, "JOB-TRN-22"),
        _row(QUARANTINED, "release", AVAILABLE, "JOB-TRN-23"),
        *_each((PENDING, SCHEDULED, AVAILABLE, RUNNING), "operator cancel", CANCELLED, "JOB-TRN-24"),
        _row(RETRYABLE, "operator cancel", CANCELLED, "JOB-TRN-25"),
        *_each(EVICTABLE, "evict", DELETED, "JOB-TRN-26"),
        *_each((*WAITING, *EVICTABLE, QUARANTINED), "delete", DELETED, "JOB-TRN-27"),
        *_each((AVAILABLE, RETRYABLE, SCHEDULED), "debounce", SCHEDULED, "JOB-TRN-31"),
        *_each(WAITING, "park", QUARANTINED, "JOB-TRN-32"),
    )
)

STATES: Final = (
    StateNote(NEW, "no row", (-0.15, 1), "before the row is stored"),
    StateNote(DELETED, "no row", (6.1, 3), "the row is gone; never a stored value"),
    StateNote(PENDING, "held back", (1, 1), "durable, moved by an operator alone"),
    StateNote(SCHEDULED, "waiting", (2, 0), "due later, or due and not yet promoted"),
    StateNote(AVAILABLE, "waiting", (2, 2), "a candidate for admission"),
    StateNote(RUNNING, "leased", (4.6, 1)),
    StateNote(RETRYABLE, "waiting", (3, 1), "waits for its back-off"),
    StateNote(COMPLETED, "finished", (6.1, 2.1)),
    StateNote(ARCHIVED, "finished", (6.1, 0.4), "dead letter"),
    StateNote(CANCELLED, "finished", (6.1, -0.3), "stopped by an operator"),
    StateNote(UNDECODABLE, "finished", (6.1, 1), "the payload or the set of steps cannot be used"),
    StateNote(QUARANTINED, "finished", (3.5, 3), "left by an operator's release or deletion alone"),
)
