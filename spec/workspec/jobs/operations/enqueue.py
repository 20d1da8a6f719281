"""Enqueue: five phases over a batch, all of it or nothing (5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from workspec.core.condition import Condition
from workspec.core.rule import Batch, On, Phase, Refuse, Skip, When, ids
from workspec.core.scope import Call, Scope
from workspec.jobs import effects, rules, terms, values
from workspec.jobs.facts import UNFINISHED, JobFacts, job_key, queue_key
from workspec.jobs.operations.shared import flag, invalid, move, nothing
from workspec.jobs.terms import requested
from workspec.jobs.vocabulary import Envelope, ErrorCode, Replace


def _envelopes(scope: Scope) -> Sequence[Envelope]:
    batch: Sequence[Envelope] = scope.call["envelopes"]
    return batch


# These two look the envelope up themselves and not by `requested`: twenty checks of each envelope ask it.


def _of(test: Callable[[Envelope], bool]) -> Condition:
    return flag(test.__name__.replace("_", " "), "call", lambda scope: test(scope.call["envelopes"][scope.index]))


def _at(name: str, test: Callable[[Sequence[Envelope], int], bool]) -> Condition:
    return flag(name, "call", lambda scope: test(scope.call["envelopes"], scope.index))


# Phase 1: each envelope by itself, in the order of 5.2 -------------------------------------------------------------

_BY_ENVELOPE: Final = (
    (1, "empty_id", _of(values.empty_id)),
    (2, "bad_kind", _of(values.bad_kind)),
    (3, "identifier_too_long", _of(values.identifier_too_long)),
    (4, "payload_too_large", _of(values.payload_too_large)),
    (5, "unique_key_too_long", _of(values.unique_key_too_long)),
    (6, "too_many_headers", _of(values.too_many_headers)),
    (7, "headers_too_large", _of(values.headers_too_large)),
    (8, "batch_bytes", _at("the batch is too large so far", values.batch_bytes_early)),
    (9, "negative_timeout", _of(values.negative_timeout)),
    (9, "negative_deadline", _of(values.negative_deadline)),
    (9, "negative_retention", _of(values.negative_retention)),
    (10, "negative_window", _of(values.negative_window)),
    (11, "negative_debounce", _of(values.negative_debounce)),
    (12, "debounce_needs_lifecycle_key", _of(values.debounce_needs_lifecycle_key)),
    (13, "unknown_replace_bits", _of(values.unknown_replace_bits)),
    (14, "replace_needs_key", _of(values.replace_needs_key)),
    (15, "too_many_tags", _of(values.too_many_tags)),
    (16, "bad_tag", _of(values.bad_tag)),
    (17, "repeated_tag", _of(values.repeated_tag)),
    (8, "batch_bytes", _at("the batch is too large with its tags", values.batch_bytes_late)),
    (18, "pending_with_schedule", _of(values.pending_with_schedule)),
    (19, "bad_sticky_worker", _of(values.bad_sticky_worker)),
    (20, "bad_periodic_pair", _of(values.bad_periodic_pair)),
)
BOUNDARY: Final = Phase(
    (
        *(invalid(f"JOB-VAL-{row:02} JOB-ENQ-01", reason, when) for row, reason, when in _BY_ENVELOPE),
        Refuse(
            ids("JOB-VAL-21 JOB-ENQ-04"),
            ErrorCode.ID_CONFLICT,
            _at("the id came earlier in the batch", values.repeats_id),
            details=lambda scope: {"job_id": requested(scope).id},
        ),
    )
)
SINGLE: Final = Phase(
    (
        invalid(
            "JOB-VAL-22",
            "replace_needs_single",
            flag("a replacement in a batch of several", "call", lambda s: values.replace_needs_single(_envelopes(s))),
        ),
    )
)

# Phase 2: ids ------------------------------------------------------------------------------------------------------


def _is_replay(scope: Scope) -> bool:
    facts: JobFacts = scope.facts
    return rules.same_content(requested(scope), facts.kind, facts.fingerprint, facts.queue)


ID_PASS: Final = Phase(
    (
        Skip(
            ids("JOB-ENQ-05 JOB-ENQ-07 JOB-ENQ-08 JOB-UNQ-25 JOB-INV-13"),
            ~terms.is_unknown & flag("a replay of the row", "facts", _is_replay),
        ),
        Refuse(
            ids("JOB-ENQ-06 JOB-UNQ-24"),
            ErrorCode.ID_CONFLICT,
            ~terms.is_unknown,
            details=lambda scope: {"job_id": requested(scope).id},
        ),
    )
)

# Phase 3: quarantine, then uniqueness ------------------------------------------------------------------------------


def _holder_key(scope: Scope) -> str:
    return job_key(terms.holder_of(scope, requested(scope)) or "")


_EDIT: Final = (
    On(
        "the holder of the key",
        _holder_key,
        (
            When(terms.wants_debounce, (effects.debounce,)),
            # A pending holder may be edited where a store declares it; it stays pending all the same.
            When(terms.wants_debounce & ~terms.state_is("pending"), (move("debounce", "JOB-UNQ-31"),)),
            When(~terms.wants_debounce & terms.wants_bit(Replace.PAYLOAD), (effects.replace_payload,)),
            When(
                ~terms.wants_debounce & terms.wants_bit(Replace.SCHEDULED_AT) & terms.state_is("scheduled"),
                (effects.replace_due,),
            ),
            When(terms.wants_bit(Replace.PRIORITY), (effects.replace_priority,)),
            When(terms.wants_bit(Replace.MAX_ATTEMPTS), (effects.replace_max_attempts,)),
        ),
    ),
)


def _duplicate(replaced: bool, holder: Callable[[Scope, Envelope], str | None]) -> Callable[[Scope], Mapping[str, Any]]:
    return lambda scope: {"existing_id": holder(scope, requested(scope)), "replaced": replaced}


def _conflict(requirements: str, when: Condition) -> Refuse:
    """A conflict that edits nothing. Why it does not is asked apart, so that each answer has ids of its own."""
    return Refuse(ids(requirements), ErrorCode.DUPLICATE, when, details=_duplicate(False, terms.holder_of))


POLICY: Final = Phase(
    (
        Refuse(
            ids("JOB-ENQ-09 JOB-UNQ-26 JOB-QUA-03"),
            ErrorCode.QUARANTINED,
            flag(
                "the fingerprint is quarantined",
                "store",
                lambda scope: terms.is_registered(scope, requested(scope).fingerprint),
            ),
            details=lambda scope: {"fingerprint": requested(scope).fingerprint},
        ),
        Refuse(
            ids("JOB-UNQ-20 JOB-UNQ-21 JOB-UNQ-31 JOB-UNQ-34 JOB-GEN-05"),
            ErrorCode.DUPLICATE,
            terms.is_held & terms.is_applied,
            committing=_EDIT,
            details=_duplicate(True, terms.holder_of),
        ),
        _conflict("JOB-UNQ-22 JOB-UNQ-33", terms.is_held & terms.wants_edit & ~terms.is_editable),
        _conflict("JOB-UNQ-21", terms.is_held & terms.wants_edit),
        _conflict("JOB-UNQ-09 JOB-UNQ-02", terms.is_held_by_row),
        _conflict("JOB-UNQ-05 JOB-UNQ-09", terms.is_held_for_window),
        Refuse(
            ids("JOB-UNQ-10"),
            ErrorCode.DUPLICATE,
            terms.is_held_earlier,
            details=_duplicate(False, terms.earlier_holder),
        ),
    )
)

# Phase 4: backpressure ---------------------------------------------------------------------------------------------


def _over_limit(scope: Scope) -> Mapping[str, Any] | None:
    """The first queue by name that this batch would take over its limit (JOB-BPR-02 to 04)."""
    incoming: dict[str, int] = {}
    for envelope in _envelopes(scope):
        if job_key(envelope.id) not in scope.state:
            queue = rules.effective_queue(envelope.queue)
            incoming[queue] = incoming.get(queue, 0) + 1
    for queue in sorted(incoming, key=str.encode):
        settings = scope.facts_of(queue_key(queue))
        if settings is None or settings.limit is None:
            continue
        current = unfinished(scope, queue)
        if current + incoming[queue] > settings.limit:
            return {"queue": queue, "limit": settings.limit, "current": current, "incoming": incoming[queue]}
    return None


def unfinished(scope: Scope, queue: str) -> int:
    rows = (record.facts for record in scope.state.values())
    return sum(1 for row in rows if isinstance(row, JobFacts) and row.queue == queue and row.state in UNFINISHED)


BACKPRESSURE: Final = Phase(
    (
        Refuse(
            ids("JOB-BPR-02 JOB-BPR-03 JOB-BPR-04 JOB-BPR-05"),
            ErrorCode.BACKPRESSURE,
            flag("a queue would pass its limit", "store", lambda scope: _over_limit(scope) is not None),
            details=lambda scope: _over_limit(scope) or {},
        ),
    )
)

ENQUEUE: Final = Batch(
    "enqueue",
    elements=lambda scope: range(len(_envelopes(scope))),
    locate=lambda scope: job_key(requested(scope).id),
    checks=(
        invalid(
            "JOB-VAL-00",
            "batch_too_large",
            flag("more envelopes than a batch may hold", "call", lambda s: values.batch_too_large(_envelopes(s))),
        ),
    ),
    phases=(BOUNDARY, SINGLE, ID_PASS, POLICY, BACKPRESSURE),
    steps=(
        effects.make_row,
        move("enqueue", "JOB-ENQ-13 JOB-ENQ-14 JOB-ENQ-15"),
        effects.count_rows,
        When(
            flag(
                "a key in throttle mode",
                "call",
                lambda s: terms.is_throttled(requested(s)) and requested(s).unique_key is not None,
            ),
            (effects.hold_key_for_window,),
        ),
    ),
    answer=nothing,
    atomic=True,
    requirements=ids("JOB-ENQ-02 JOB-ENQ-11"),
)


# The same without uniqueness ---------------------------------------------------------------------------------------

_BLANK: Final = {
    "unique_key": None,
    "unique_window_ms": 0,
    "unique_replace": 0,
    "unique_debounce_ms": 0,
}


def blanked(call: Call) -> Call:
    """The call with the uniqueness of every request blanked, as JOB-ENQ-16 has it."""
    envelopes = [evolve(envelope, **_BLANK) for envelope in call.arguments["envelopes"]]
    return Call("enqueue", {**call.arguments, "envelopes": envelopes})
