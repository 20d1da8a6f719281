"""The effects of the jobs contract: small named changes; each says what it writes (2.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from workspec.core.rule import Effect, effect, ids
from workspec.core.scope import Scope
from workspec.jobs import rules, terms
from workspec.jobs.choices import JITTER, JITTER_MS, RETRY_BASE_MS, RETRY_CAP_MS
from workspec.jobs.draw import visited_queues
from workspec.jobs.facts import (
    NEW_STORE,
    STORE_KEY,
    DutyFacts,
    EffectFacts,
    FingerprintFacts,
    HoldFacts,
    JobFacts,
    QueueFacts,
    StoreFacts,
    fingerprint_key,
    hold_key,
    queue_key,
)
from workspec.jobs.terms import requested
from workspec.jobs.vocabulary import HistoryEntry, JobOutput, JobProgress, Outcome

Changes = Mapping[str, Any]


def effect_on(
    target: Callable[[Scope], str], requirements: str, *, writes: str, text: str
) -> Callable[[Callable[[Scope], Changes]], Effect]:
    """Decorate a function that changes another record than the addressed one."""
    return lambda apply: Effect(
        apply.__name__.replace("_", " "), ids(requirements), tuple(writes.split()), text, apply, target
    )


def store_of(scope: Scope) -> StoreFacts:
    facts: StoreFacts | None = scope.facts_of(STORE_KEY)
    return NEW_STORE if facts is None else facts


# Enqueue ---------------------------------------------------------------------------------------------------------


def row_of(scope: Scope) -> int:
    """The number of the row that this element of the batch becomes."""
    record = scope.state.get(STORE_KEY)
    return (0 if record is None else int(record.facts.rows)) + scope.index + 1


@effect("JOB-ENQ-10 JOB-ENQ-11 JOB-ENQ-12 JOB-ENQ-18", writes="*", text="a new row, defaults filled in")
def make_row(scope: Scope) -> Changes:
    envelope = requested(scope)
    key = None if terms.is_throttled(envelope) else terms.effective_key_of(envelope)
    facts = JobFacts(
        id=envelope.id,
        kind=envelope.kind,
        schema_version=rules.stored_schema_version(envelope.schema_version),
        payload=envelope.payload,
        queue=rules.effective_queue(envelope.queue),
        partition_key=envelope.partition_key,
        rate_class=envelope.rate_class,
        weight=rules.effective_weight(envelope.weight),
        fingerprint=envelope.fingerprint,
        priority=envelope.priority,
        max_attempts=rules.stored_max_attempts(envelope.max_attempts),
        scheduled_at_ms=rules.effective_due(envelope, scope.now),
        timeout_ms=envelope.timeout_ms,
        deadline_ms=envelope.deadline_ms,
        retention_ms=envelope.retention_ms,
        periodic_schedule_id=envelope.periodic_schedule_id,
        periodic_tick_ms=envelope.periodic_tick_ms,
        headers=dict(envelope.headers),
        tags=rules.canonical_tags(envelope.tags),
        sticky_worker=envelope.sticky_worker,
        unique_key=key,
        row=row_of(scope),
        enqueued_at_ms=scope.now,
        checkpoint=rules.EMPTY_CHECKPOINT,
    )
    return {"*": facts}


@effect_on(
    lambda scope: hold_key(terms.effective_key_of(requested(scope)) or b""),
    "JOB-UNQ-05",
    writes="*",
    text="the key is held until its window ends",
)
def hold_key_for_window(scope: Scope) -> Changes:
    envelope = requested(scope)
    until_ms = rules.later(scope.now, envelope.unique_window_ms)
    return {"*": HoldFacts(envelope.id, row_of(scope), until_ms)}


@effect_on(lambda _scope: STORE_KEY, "JOB-GEN-12", writes="*", text="the rows are counted")
def count_rows(scope: Scope) -> Changes:
    record = scope.state.get(STORE_KEY)
    before = NEW_STORE if record is None else record.facts
    return {"*": StoreFacts(before.cursors, before.rows + len(scope.call["envelopes"]))}


def _content(scope: Scope) -> dict[str, Any]:
    envelope = requested(scope)
    return {
        "schema_version": rules.stored_schema_version(envelope.schema_version),
        "payload": envelope.payload,
        "fingerprint": envelope.fingerprint,
    }


@effect("JOB-UNQ-20 JOB-UNQ-24", writes="schema_version payload fingerprint", text="bit 1")
def replace_payload(scope: Scope) -> Changes:
    return _content(scope)


@effect("JOB-UNQ-20", writes="scheduled_at_ms", text="bit 2, of a scheduled holder")
def replace_due(scope: Scope) -> Changes:
    return {"scheduled_at_ms": rules.scheduled_instant(requested(scope).scheduled_at_ms, scope.now)}


@effect("JOB-UNQ-20 JOB-UNQ-34", writes="priority", text="bit 4")
def replace_priority(scope: Scope) -> Changes:
    return {"priority": requested(scope).priority}


@effect("JOB-UNQ-20 JOB-UNQ-34", writes="max_attempts", text="bit 8")
def replace_max_attempts(scope: Scope) -> Changes:
    return {"max_attempts": rules.stored_max_attempts(requested(scope).max_attempts)}


@effect(
    "JOB-UNQ-31 JOB-UNQ-35",
    writes="schema_version payload fingerprint tags scheduled_at_ms",
    text="the holder takes content and tags over and is due anew",
)
def debounce(scope: Scope) -> Changes:
    envelope = requested(scope)
    tags = rules.canonical_tags(envelope.tags)
    return {**_content(scope), "tags": tags, "scheduled_at_ms": rules.effective_due(envelope, scope.now)}


# Admission -------------------------------------------------------------------------------------------------------


@effect(
    "JOB-ADM-06 JOB-ADM-07 JOB-GEN-07",
    writes="fence lease_id expires_at_ms claimed_at_ms",
    text="a lease under the next fence",
)
def lease_row(scope: Scope) -> Changes:
    return {
        "fence": scope.facts.fence + 1,
        "lease_id": scope.call["lease_id"],
        "expires_at_ms": rules.later(scope.now, scope.call["lease_ms"]),
        "claimed_at_ms": scope.now,
    }


@effect_on(lambda _scope: STORE_KEY, "JOB-FAIR-03 JOB-PAU-01", writes="*", text="each queue that was visited rotates")
def rotate(scope: Scope) -> Changes:
    before = store_of(scope)
    turned = {queue: before.cursors.get(queue, 0) + 1 for queue in visited_queues(scope)}
    return {"*": StoreFacts({**before.cursors, **turned}, before.rows)} if turned else {}


# The end of a run ------------------------------------------------------------------------------------------------


@effect("JOB-GEN-06 JOB-ACK-14", writes="lease_id expires_at_ms claimed_at_ms", text="the lease is over")
def clear_lease(_scope: Scope) -> Changes:
    return {"lease_id": None, "expires_at_ms": None, "claimed_at_ms": None}


@effect("JOB-INV-08", writes="finalized_at_ms", text="finished now")
def finalize(scope: Scope) -> Changes:
    return {"finalized_at_ms": scope.now}


@effect("JOB-ACK-06 JOB-GEN-08", writes="attempt", text="one attempt more")
def count_attempt(scope: Scope) -> Changes:
    return {"attempt": scope.facts.attempt + 1}


@effect("JOB-ACK-07 JOB-ACK-08", writes="scheduled_at_ms", text="due after the delay, or after the back-off")
def back_off(scope: Scope) -> Changes:
    delay_ms = scope.call["delay_ms"]
    if delay_ms is not None and delay_ms > 0:
        return {"scheduled_at_ms": rules.later(scope.now, delay_ms)}
    return {"scheduled_at_ms": rules.later(scope.now, _default_backoff(scope, scope.facts.attempt))}


def _default_backoff(scope: Scope, count: int) -> int:
    base_ms, cap_ms = scope.choose(RETRY_BASE_MS, scope), scope.choose(RETRY_CAP_MS, scope)
    delay_ms = rules.backoff_ms(count, base_ms, cap_ms)
    scope.settled["backoff"] = delay_ms
    return delay_ms + (int(scope.choose(JITTER_MS, scope)) if scope.choose(JITTER, scope) == "base" else 0)


@effect("JOB-ACK-12", writes="scheduled_at_ms", text="due after the delay")
def snooze(scope: Scope) -> Changes:
    return {"scheduled_at_ms": rules.later(scope.now, scope.call["delay_ms"])}


@effect("JOB-ACK-13", writes="scheduled_at_ms", text="due no later than now")
def keep_place(scope: Scope) -> Changes:
    return {"scheduled_at_ms": min(scope.facts.scheduled_at_ms, scope.now)}


def _entry(scope: Scope, outcome: Outcome, error: str | None) -> Changes:
    return {"log.history": HistoryEntry(scope.now, outcome, scope.facts.attempt, error, tuple(scope.call["logs"]))}


@effect("JOB-ACK-05 JOB-ACK-17", writes="log.history", text="an entry with the logs")
def note_success(scope: Scope) -> Changes:
    return _entry(scope, Outcome.SUCCESS, None)


@effect("JOB-ACK-06 JOB-ACK-17", writes="log.history", text="an entry with the new attempt, the error and the logs")
def note_retry(scope: Scope) -> Changes:
    return _entry(scope, Outcome.RETRY, scope.call["error"] or "")


@effect("JOB-ACK-09 JOB-ACK-10 JOB-ACK-17", writes="log.history", text="an entry with the error and the logs")
def note_end(scope: Scope) -> Changes:
    return _entry(scope, scope.call["outcome"], scope.call["error"])


@effect("JOB-RES-02", writes="result", text="the result is stored")
def store_result(scope: Scope) -> Changes:
    return {"result": scope.call["result"]}


@effect("JOB-OUT-01", writes="output", text="the output, stamped with fence and instant")
def store_output(scope: Scope) -> Changes:
    written = scope.call["output"]
    return {"output": JobOutput(written.schema_version, written.content, scope.facts.fence, scope.now)}


@effect("JOB-PRG-02", writes="progress", text="the progress, stamped with fence and instant")
def store_progress(scope: Scope) -> Changes:
    told = scope.call["progress"]
    return {"progress": JobProgress(told.current, told.total, told.message, scope.facts.fence, scope.now)}


@effect("JOB-CKP-01 JOB-CKP-04", writes="checkpoint", text="the checkpoint is replaced whole")
def store_checkpoint(scope: Scope) -> Changes:
    return {"checkpoint": scope.call["checkpoint"]}


# Sweeps ----------------------------------------------------------------------------------------------------------


@effect("JOB-RCL-02 JOB-RCL-04 JOB-GEN-08", writes="crash_attempt checkpoint", text="one crash more, of the step too")
def count_crash(scope: Scope) -> Changes:
    facts = scope.facts
    return {"crash_attempt": facts.crash_attempt + 1, "checkpoint": rules.with_crash(facts.checkpoint)}


@effect("JOB-RCL-03", writes="scheduled_at_ms", text="due after the back-off of the crashes")
def back_off_crash(scope: Scope) -> Changes:
    return {"scheduled_at_ms": rules.later(scope.now, _default_backoff(scope, scope.facts.crash_attempt))}


@effect("JOB-RCL-02 JOB-ACK-17", writes="log.history", text="an entry with the new crash count")
def note_crash(scope: Scope) -> Changes:
    return {"log.history": HistoryEntry(scope.now, Outcome.LEASE_LOST, scope.facts.crash_attempt, None, ())}


def register(scope: Scope) -> Changes:
    job: JobFacts = scope.facts_of(scope.element)
    known: FingerprintFacts | None = scope.facts
    if known is not None:
        most = max(known.crash_attempt, job.crash_attempt)
        return {"*": FingerprintFacts(known.fingerprint, known.kind, most, known.since_ms)}
    return {"*": FingerprintFacts(job.fingerprint, job.kind, job.crash_attempt, scope.now)}


register_fingerprint: Final = Effect(
    "register fingerprint",
    ids("JOB-RCL-03 JOB-QUA-01"),
    ("*",),
    "the fingerprint is registered",
    register,
    lambda scope: fingerprint_key(scope.facts.fingerprint),
)


# Operators -------------------------------------------------------------------------------------------------------


@effect("JOB-OPR-04 JOB-OPR-07 JOB-QUA-05", writes="scheduled_at_ms finalized_at_ms", text="due now, not finished")
def due_now(scope: Scope) -> Changes:
    return {"scheduled_at_ms": scope.now, "finalized_at_ms": None}


@effect("JOB-OPR-08 JOB-OPR-09", writes="scheduled_at_ms", text="due as given")
def due_as_given(scope: Scope) -> Changes:
    return {"scheduled_at_ms": scope.call["at_ms"]}


@effect("JOB-OPR-10", writes="payload schema_version fingerprint", text="other content")
def edit_content(scope: Scope) -> Changes:
    return {name: scope.call[name] for name in ("payload", "schema_version", "fingerprint")}


@effect("JOB-RNW-02 JOB-RNW-04", writes="expires_at_ms", text="the lease ends later, or sooner")
def move_lease_end(scope: Scope) -> Changes:
    return {"expires_at_ms": rules.later(scope.now, scope.call["lease_ms"])}


@effect("JOB-DTY-01 JOB-DTY-02", writes="*", text="the duty is held")
def hold_duty(scope: Scope) -> Changes:
    return {"*": DutyFacts(scope.call["name"], scope.call["holder"], rules.later(scope.now, scope.call["lease_ms"]))}


@effect("JOB-DTY-03 JOB-DTY-04", writes="*", text="the duty is free")
def free_duty(_scope: Scope) -> Changes:
    return {"*": None}


def _queue(scope: Scope) -> QueueFacts:
    found: QueueFacts | None = scope.facts_of(queue_key(scope.call["queue"]))
    return QueueFacts(scope.call["queue"]) if found is None else found


@effect("JOB-PAU-01 JOB-PAU-03", writes="*", text="the queue is paused")
def pause(scope: Scope) -> Changes:
    before = _queue(scope)
    return {"*": QueueFacts(before.queue, True, before.limit)}


@effect("JOB-PAU-03", writes="*", text="the queue is served again")
def unpause(scope: Scope) -> Changes:
    before = _queue(scope)
    return {"*": QueueFacts(before.queue, False, before.limit)}


@effect("JOB-BPR-01 JOB-BPR-07", writes="*", text="the bound of unfinished jobs")
def set_limit(scope: Scope) -> Changes:
    before = _queue(scope)
    return {"*": QueueFacts(before.queue, before.paused, scope.call["limit"])}


@effect_on(
    lambda scope: fingerprint_key(scope.call["fingerprint"]),
    "JOB-QUA-05 JOB-QUA-01",
    writes="*",
    text="the fingerprint is off the register",
)
def unregister_released(scope: Scope) -> Changes:
    return {} if scope.facts is None else {"*": None}


@effect("JOB-TXN-04", writes="*", text="the effect key is claimed")
def claim_key(scope: Scope) -> Changes:
    return {"*": EffectFacts(scope.call["key"])}
