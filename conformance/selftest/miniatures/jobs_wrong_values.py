"""Job stores that take a name for a pattern, compare a part of it, or keep a number in too few bits: the in-memory one
with a line that reads otherwise."""

from __future__ import annotations

from workstore.memory.jobs import (
    admission,
    buckets,
    channels,
    enqueue,
    inspection,
    outcomes,
    sweeps,
    transactions,
    uniqueness,
)
from workstore.memory.jobs.clock import Clock
from workstore.memory.jobs.operator_verbs import Operators
from workstore.memory.jobs.workers import Workers

from .jobs_model import Edit, JobMiniature, edited

DAY = "86_400_000"


def kept(name: str, right: str, member: str) -> JobMiniature:
    """A member of a new row is kept otherwise than it was given."""
    return edited(name, right, Edit(enqueue._stored, "        envelope,\n", f"        envelope,\n        {member},\n"))


def checkpointed(name: str, change: str) -> JobMiniature:
    """A member of a checkpoint is."""
    new = f"checkpoint=changed(checkpoint, {change})"
    return edited(name, "CKP-01 TYP-04 CKP-04", Edit(channels.write_checkpoint, "checkpoint=checkpoint", new))


NAMES = (
    edited(
        "a pause holds for every queue whose name begins so",
        "PAU-01 ADM-03 ADM-13",
        Edit(
            admission.admit,
            "if view.pauses.get(queue)",
            "if any(view.pauses.get(queue[:end]) for end in range(1, len(queue) + 1))",
        ),
    ),
    edited(
        "a limit holds for its queue in whatever case",
        "BPR-02 BPR-04",
        Edit(enqueue._check_limits, "view.limits.get(queue)", "view.limits.get(queue.lower())"),
    ),
    edited(
        "a low line in the beginning of a kind is a wild card",
        "INS-04",
        Edit(
            inspection._matches,
            "not envelope.kind.startswith(where.kind_prefix)",
            "any(a not in ('_', b) for a, b in zip(where.kind_prefix, envelope.kind.ljust(128), strict=False))",
        ),
    ),
    edited(
        "a list compares queues without case",
        "INS-04",
        Edit(
            inspection._matches,
            "(where.queue, envelope.queue)",
            "(where.queue and where.queue.lower(), envelope.queue.lower())",
        ),
    ),
    edited(
        "a list compares tags without case",
        "INS-04",
        Edit(inspection._matches, "set(envelope.tags)", "{tag.lower() for tag in envelope.tags}"),
    ),
    edited(
        "the counts of a queue take in those whose names begin so",
        "INS-05",
        Edit(inspection.counts, "its_queue == queue", "its_queue.startswith(queue)"),
    ),
    edited(
        "duties are told apart without case",
        "DTY-02 DTY-01",
        Edit(sweeps.claim_duty, "    duty = view", "    name = name.lower()\n    duty = view"),
    ),
    edited(
        "holders of a duty are told apart without case",
        "DTY-01 DTY-02",
        Edit(sweeps.claim_duty, "duty.holder != holder", "duty.holder.lower() != holder.lower()"),
    ),
    kept(
        "blanks around a partition are lost",
        "TYP-01 FAIR-01 FAIR-03",
        "partition_key=envelope.partition_key.strip()",
    ),
    edited(
        "keys are compared by 32 bytes",
        "UNQ-11 UNQ-02",
        Edit(uniqueness.effective_key, "+ kind + envelope.unique_key", "+ kind + envelope.unique_key[:32]"),
    ),
    edited(
        "keys are compared without case",
        "UNQ-11 UNQ-02",
        Edit(uniqueness.effective_key, "+ kind + envelope.unique_key", "+ kind + envelope.unique_key.lower()"),
    ),
    edited(
        "zeros at the end of a key in throttle mode are lost",
        "UNQ-11 UNQ-05",
        Edit(
            uniqueness.effective_key,
            "+ kind + envelope.unique_key",
            "+ kind + (envelope.unique_key.rstrip(b'\\0') if envelope.unique_window_ms else envelope.unique_key)",
        ),
    ),
    edited(
        "kinds of keys are told apart without case",
        "UNQ-11 UNQ-02",
        Edit(uniqueness.effective_key, "envelope.kind.encode()", "envelope.kind.lower().encode()"),
    ),
    edited(
        "an enqueue looks a fingerprint up without case",
        "QUA-03 ENQ-09",
        Edit(
            enqueue._check_quarantine,
            "view.registry.get(envelope.fingerprint)",
            "view.registry.get(envelope.fingerprint.lower())",
        ),
    ),
    edited(
        "a fingerprint is registered by 64 bytes",
        "QUA-03 ENQ-09 RCL-03",
        Edit(sweeps._register, "= row.envelope.fingerprint, ", "= row.envelope.fingerprint[:64], "),
    ),
    edited(
        "classes are configured without case",
        "RATE-03 RATE-01 RATE-15",
        Edit(Operators.set_rate_limit, "view.buckets.put(name,", "view.buckets.put(name.lower(),"),
    ),
    edited(
        "effect keys are compared by 64 characters",
        "TXN-04",
        Edit(transactions._claim_effect, "    if view", "    key = key[:64]\n    if view"),
    ),
)
NUMBERS = (
    kept("a deadline is kept as a double", "TYP-01", "deadline_ms=int(float(envelope.deadline_ms))"),
    edited(
        "a due time is rounded up to the second",
        "ENQ-12",
        Edit(enqueue._due_ms, "envelope.scheduled_at_ms or", "-(-envelope.scheduled_at_ms // 1000) * 1000 or"),
    ),
    kept("a priority is kept in 16 bits", "TYP-01 ADM-11", "priority=max(-32768, min(32767, envelope.priority))"),
    edited(
        "a weight is 100 at most",
        "TYP-01 RATE-01",
        Edit(enqueue._stored, "weight=envelope.weight or 1", "weight=min(envelope.weight, 100) or 1"),
    ),
    kept("a payload is cut at 64 KiB", "TYP-01", "payload=envelope.payload[:65535]"),
    kept("a retention is kept in 32 bits", "EVT-04 TYP-01", "retention_ms=min(envelope.retention_ms, 2**31 - 1)"),
    edited(
        "an eviction keeps no row for more than a month",
        "EVT-04 EVT-01",
        Edit(sweeps.evict_retained, "row.envelope.retention_ms", f"min(row.envelope.retention_ms, 31 * {DAY})"),
    ),
    edited(
        "a lease lasts half a day at most",
        "ADM-07",
        Edit(admission._claim, "request.lease_ms)", f"min(request.lease_ms, {DAY} // 2))"),
    ),
    edited(
        "a renewal lasts a day at most",
        "RNW-02 RNW-04 RCL-01",
        Edit(outcomes.renew, "plus(now_ms, lease_ms)", f"plus(now_ms, min(lease_ms, {DAY}))"),
    ),
    edited(
        "a duty lasts a day at most",
        "DTY-01",
        Edit(sweeps.claim_duty, "plus(now_ms, lease_ms)", f"plus(now_ms, min(lease_ms, {DAY}))"),
    ),
    edited(
        "a window lasts a day at most",
        "UNQ-05",
        Edit(uniqueness.take_throttle, "envelope.unique_window_ms", f"min(envelope.unique_window_ms, {DAY})"),
    ),
    edited(
        "a debounce puts off by a day at most",
        "ENQ-12 UNQ-30",
        Edit(
            enqueue._due_ms,
            "plus(now_ms, envelope.unique_debounce_ms)",
            f"now_ms + min(envelope.unique_debounce_ms, {DAY})",
        ),
    ),
    edited(
        "a later debounce puts off by a day at most",
        "UNQ-31",
        Edit(uniqueness.edited_holder, "newcomer.unique_debounce_ms)", f"min(newcomer.unique_debounce_ms, {DAY}))"),
    ),
    edited(
        "a delay of a retry is kept in 32 bits",
        "ACK-07",
        Edit(outcomes._retried, "plus(now_ms, delay_ms)", "plus(now_ms, min(delay_ms, 2**31 - 1))"),
    ),
    edited(
        "a gain is time times a quotient",
        "RATE-05",
        Edit(
            buckets.gain,
            "(now_ms - bucket.refilled_at_ms) * bucket.limit // bucket.window_ms",
            "int((now_ms - bucket.refilled_at_ms) * (bucket.limit / bucket.window_ms))",
        ),
    ),
    edited(
        "tokens are counted as a double",
        "RATE-17 RATE-05",
        Edit(
            buckets.available_tokens,
            "min(bucket.burst, bucket.tokens + gain(bucket, now_ms))",
            "int(float(min(bucket.burst, bucket.tokens + gain(bucket, now_ms))))",
        ),
    ),
)
LENGTHS = (
    edited(
        "a run costs a thousand at most",
        "RATE-08 RATE-10",
        Edit(buckets.settled, "charge - actual_weight", "charge - min(actual_weight, 1000)"),
    ),
    edited(
        "an admission looks at five queues",
        "ADM-14 ADM-03 ADM-13",
        Edit(admission.admit, "dict.fromkeys(request.queues)", "dict.fromkeys(request.queues[:5])"),
    ),
    edited(
        "an admission takes a hundred",
        "ADM-13 ADM-02",
        Edit(admission.admit, "request.capacity - len", "min(request.capacity, 100) - len"),
    ),
    checkpointed("a checkpoint has eight steps", "completed_steps=checkpoint.completed_steps[:8]"),
    checkpointed("a checkpoint names a step once", "completed_steps=tuple(dict.fromkeys(checkpoint.completed_steps))"),
    checkpointed("crashes of steps are sorted", "crashes_by_step=tuple(sorted(checkpoint.crashes_by_step))"),
    edited(
        "a success with a result keeps its last five logs",
        "RES-02 ACK-05 ACK-17",
        Edit(Workers.ack_success_with_result, "logs=lines", "logs=lines[-5:]"),
    ),
    edited(
        "a promotion takes a hundred",
        "PRM-01 PRM-03 TRN-06",
        Edit(sweeps.promote_due, "now_ms, limit)", "now_ms, min(limit, 100))"),
    ),
    edited(
        "a reclaim takes five",
        "RCL-01 RCL-06",
        Edit(sweeps.reclaim_expired, "now_ms, limit)", "now_ms, min(limit, 5))"),
    ),
    edited(
        "an eviction takes five",
        "EVT-01",
        Edit(sweeps.evict_retained, ">= limit", ">= min(limit, 5)"),
    ),
)
CLOCKS = (
    edited(
        "a clock that is let run stays where it is",
        "CLK-01",
        Edit(Clock.unfreeze, "self._frozen_at_ms = None", "pass"),
    ),
    edited("a step of the clock is none", "CLK-03 CLK-01", Edit(Clock.advance, "(), delta_ms", "(), 0")),
    edited("a step of the clock is two", "CLK-03 CLK-01", Edit(Clock.advance, "(), delta_ms", "(), 2 * delta_ms")),
)
WRONG_VALUES = (*NAMES, *NUMBERS, *LENGTHS, *CLOCKS)
