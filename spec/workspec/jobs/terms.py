"""The terms and conditions of the jobs contract: the questions that its rules ask."""

from __future__ import annotations

from typing import Any, Final

from workspec.core.condition import Condition, Member, Term, term
from workspec.core.scope import Scope
from workspec.jobs import rules
from workspec.jobs.choices import (
    CRASH_LIMIT,
    DUTY_BOUND,
    EDITED_PENDING,
    LEASE_BOUND,
    THROTTLE_DIES_WITH_ROW,
)
from workspec.jobs.facts import (
    UNFINISHED,
    BucketFacts,
    DutyFacts,
    HoldFacts,
    JobFacts,
    bucket_key,
    fingerprint_key,
    hold_key,
    job_key,
    queue_key,
)
from workspec.jobs.vocabulary import Envelope, LeaseRef, Replace

NOW: Final = Term("now", "ms", "now", lambda scope: scope.now)


def state_is(*states: str) -> Member:
    return Term("state", "state", "facts", lambda scope: scope.facts.state).is_(*states)


# The request of an enqueue ---------------------------------------------------------------------------------------


def requested(scope: Scope) -> Envelope:
    """The envelope that this element of the batch is."""
    envelope: Envelope = scope.call["envelopes"][scope.index]
    return envelope


wants_pending: Final = Term("the request is pending", "flag", "call", lambda s: requested(s).pending).holds()
request_due: Final = Term("requested due", "ms", "call", lambda s: rules.effective_due(requested(s), s.now))
request_is_later: Final = request_due > NOW


def effective_key_of(envelope: Envelope) -> bytes | None:
    if envelope.unique_key is None:
        return None
    return rules.effective_key(envelope.kind, envelope.unique_key, envelope.unique_exclude_kind)


def is_throttled(envelope: Envelope) -> bool:
    return envelope.unique_window_ms > 0


def holder_of(scope: Scope, envelope: Envelope) -> str | None:
    """The id of the job that holds the key of this request, in the mode of the request (JOB-UNQ-08)."""
    key = effective_key_of(envelope)
    if key is None:
        return None
    if not is_throttled(envelope):
        return lifecycle_holder(scope, key)
    hold: HoldFacts | None = scope.facts_of(hold_key(key))
    if hold is None or scope.now >= hold.until_ms or _died_with_row(scope, hold):
        return None
    return hold.holder


def _live_holder(scope: Scope, envelope: Envelope) -> str | None:
    """Who holds the key of a request in lifecycle mode."""
    key = effective_key_of(envelope)
    return None if key is None or is_throttled(envelope) else lifecycle_holder(scope, key)


def _window_end(scope: Scope, envelope: Envelope) -> int | None:
    """Until when the key of a request in throttle mode is held, be that over."""
    key = effective_key_of(envelope)
    if key is None or not is_throttled(envelope):
        return None
    hold: HoldFacts | None = scope.facts_of(hold_key(key))
    # Of a hold that is over nobody asks whether its row is there: stores may go their own way in that.
    if hold is None or (scope.now < hold.until_ms and _died_with_row(scope, hold)):
        return None
    return hold.until_ms


def _died_with_row(scope: Scope, hold: HoldFacts) -> bool:
    if scope.choose(THROTTLE_DIES_WITH_ROW, scope) == "no":
        return False
    row = scope.facts_of(job_key(hold.holder))
    return row is None or row.row != hold.row


def lifecycle_holder(scope: Scope, key: bytes) -> str | None:
    for name, record in scope.state.items():
        facts = record.facts
        if isinstance(facts, JobFacts) and facts.unique_key == key and facts.state in UNFINISHED:
            return name.removeprefix("job/")
    return None


def earlier_holder(scope: Scope, envelope: Envelope) -> str | None:
    """The earlier member of this batch with the same key in the same mode; a replay takes none (JOB-UNQ-10)."""
    key = effective_key_of(envelope)
    if key is None:
        return None
    for earlier in scope.call["envelopes"][: scope.index]:
        alike = effective_key_of(earlier) == key and is_throttled(earlier) == is_throttled(envelope)
        if alike and job_key(earlier.id) not in scope.state:
            return str(earlier.id)
    return None


def holder_facts(scope: Scope) -> JobFacts | None:
    """The row that holds the key, if it is still the one that took it (A-44)."""
    envelope = requested(scope)
    holder = holder_of(scope, envelope)
    facts = None if holder is None else scope.facts_of(job_key(holder))
    key = effective_key_of(envelope)
    if facts is None or key is None or not is_throttled(envelope):
        return facts
    hold = scope.facts_of(hold_key(key))
    return facts if hold is not None and hold.row == facts.row else None


def wants_bit(bit: Replace) -> Condition:
    name = f"bit {int(bit)} of the replacement"
    return Term(name, "flag", "call", lambda s: bool(requested(s).unique_replace & bit)).holds()


wants_debounce: Final = Term("debounce", "ms", "call", lambda s: requested(s).unique_debounce_ms) > 0


def _holder_state(scope: Scope) -> str | None:
    holder = holder_facts(scope)
    return None if holder is None else holder.state


holder_state: Final = Term("state of the holder", "state", "store", _holder_state)
is_held_by_row: Final[Condition] = Term(
    "a live row holds the key", "flag", "store", lambda s: _live_holder(s, requested(s)) is not None
).holds()
window_end: Final = Term("end of the window", "ms", "store", lambda s: _window_end(s, requested(s)))
is_held_for_window: Final[Condition] = window_end > NOW
is_held: Final[Condition] = is_held_by_row | is_held_for_window
is_held_earlier: Final = Term(
    "an earlier member of the batch takes the key",
    "flag",
    "store",
    lambda s: earlier_holder(s, requested(s)) is not None,
).holds()
edits_pending: Final = Term(
    "pending holders are edited", "flag", "constant", lambda s: s.choose(EDITED_PENDING, s) == "yes"
).holds()
is_editable: Final = holder_state.is_("scheduled", "available", "retryable") | (
    holder_state.is_("pending") & edits_pending
)
wants_edit: Final[Condition] = (
    wants_debounce
    | wants_bit(Replace.PAYLOAD)
    | wants_bit(Replace.SCHEDULED_AT)
    | wants_bit(Replace.PRIORITY)
    | wants_bit(Replace.MAX_ATTEMPTS)
)
is_applied: Final = is_editable & (
    wants_debounce
    | wants_bit(Replace.PAYLOAD)
    | wants_bit(Replace.PRIORITY)
    | wants_bit(Replace.MAX_ATTEMPTS)
    | (wants_bit(Replace.SCHEDULED_AT) & holder_state.is_("scheduled"))
)

# Leases and counts -----------------------------------------------------------------------------------------------


def lease_of(scope: Scope) -> LeaseRef:
    """The reference that this call, or this element of a renewal, is made under."""
    lease: LeaseRef = scope.element if isinstance(scope.element, LeaseRef) else scope.call["lease"]
    return lease


holds_lease: Final[Condition] = (
    state_is("running")
    & Term("lease id", "text", "facts", lambda s: s.facts.lease_id, of=JobFacts).equals(
        Term("lease id of the caller", "text", "call", lambda s: lease_of(s).lease_id)
    )
    & Term("fence", "count", "facts", lambda s: s.facts.fence, of=JobFacts).equals(
        Term("fence of the caller", "count", "call", lambda s: lease_of(s).fence)
    )
)
"""JOB-ACK-01: who holds a job. The end of the lease is no part of it (JOB-ACK-02)."""


def _after(instant_ms: int | None, bound: str) -> int | None:
    return None if instant_ms is None else instant_ms + (bound == "after")


is_unknown: Final = Term("the job is not there", "flag", "store", lambda s: s.key not in s.state).holds()
lease_end: Final = Term(
    "lease end", "ms", "facts", lambda s: _after(s.facts.expires_at_ms, s.choose(LEASE_BOUND, s)), of=JobFacts
)
due: Final = Term("due", "ms", "facts", lambda s: s.facts.scheduled_at_ms, of=JobFacts)
retained_until: Final = Term(
    "retention end",
    "ms",
    "facts",
    lambda s: (
        rules.later(s.facts.finalized_at_ms, s.facts.retention_ms)
        if s.facts.retention_ms > 0 and s.facts.finalized_at_ms is not None
        else None
    ),
    of=JobFacts,
)
is_retained: Final = Term("retention", "ms", "facts", lambda s: s.facts.retention_ms) > 0
attempts_are_left: Final = Term("attempts after this", "attempts", "facts", lambda s: s.facts.attempt + 1) < Term(
    "max attempts", "attempts", "facts", lambda s: s.facts.max_attempts
)
crashes_are_left: Final = Term("crashes with this", "crashes", "facts", lambda s: s.facts.crash_attempt + 1) < Term(
    "crash limit", "crashes", "constant", lambda s: s.choose(CRASH_LIMIT, s)
)
duty_end: Final = Term(
    "duty end", "ms", "facts", lambda s: _after(s.facts.expires_at_ms, s.choose(DUTY_BOUND, s)), of=DutyFacts
)


def argument(name: str, unit: str) -> Term:
    return Term(name, unit, "call", lambda scope: scope.call[name])


lease_ms: Final = argument("lease_ms", "ms")
limit: Final = argument("limit", "rows")
TAKEN: Final = Term("taken", "rows", "call", lambda scope: scope.index)
outcome: Final = argument("outcome", "outcome")
delay_ms: Final = argument("delay_ms", "ms")
no_time: Final = lease_ms < 1


# Policies of admission -------------------------------------------------------------------------------------------


def is_registered(scope: Scope, fingerprint: str) -> bool:
    return fingerprint != "" and scope.facts_of(fingerprint_key(fingerprint)) is not None


quarantined_fingerprint: Final = Term(
    "the fingerprint is quarantined", "flag", "store", lambda s: is_registered(s, s.facts.fingerprint)
).holds()


def is_paused(scope: Scope, queue: str) -> bool:
    facts = scope.facts_of(queue_key(queue))
    return facts is not None and bool(facts.paused)


paused_queue: Final = Term("its queue is paused", "flag", "store", lambda s: is_paused(s, s.facts.queue)).holds()


def bucket_of(scope: Scope) -> Any:
    """The bucket of the class of the addressed job, None where the class is not configured."""
    name = scope.facts.rate_class
    return scope.facts_of(bucket_key(name)) if name else None


def gained(scope: Scope, bucket: BucketFacts) -> int:
    """Tokens since the last refill (6.5); a paused class gains nothing (JOB-PRT-03)."""
    return 0 if bucket.paused else rules.gain(scope.now, bucket.limit, bucket.window_ms, bucket.refilled_at_ms)


def tokens_of(scope: Scope, bucket: BucketFacts) -> int:
    """What is in a bucket now, the gain not yet credited included."""
    return min(bucket.burst, bucket.tokens + gained(scope, bucket))


cost: Final = Term("cost", "tokens", "facts", lambda s: s.facts.weight)


@term("tokens", unit="tokens", source="store")
def tokens(scope: Scope) -> int | None:
    bucket = bucket_of(scope)
    return None if bucket is None else tokens_of(scope, bucket)


paused_class: Final = Term(
    "the rate class is paused", "flag", "store", lambda s: (b := bucket_of(s)) is not None and b.paused
).holds()
too_dear: Final[Condition] = paused_class | (cost > tokens)
