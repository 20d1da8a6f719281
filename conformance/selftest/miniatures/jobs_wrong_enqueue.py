"""Job stores that are wrong in what they take in, and in limits: the in-memory one with a line that reads
otherwise."""

from __future__ import annotations

from workstore.memory.jobs import enqueue, operators, storable, sweeps, validation
from workstore.memory.jobs.workers import Workers

from .jobs_model import Edit, JobMiniature, edited
from .model import STATEFUL


def stored(name: str, right: str, old: str, new: str, suite: str = "scenarios") -> JobMiniature:
    """A member of the envelope is kept otherwise than it was given."""
    return edited(name, right, Edit(enqueue._stored, old, new), suite=suite)


BATCHES = (
    edited(
        "a batch is enqueued one by one",
        "ENQ-02 GEN-05",
        Edit(
            Workers._enqueue,
            "    refusal = self._change(lambda view, now_ms: enqueue.enqueue(view, batch, now_ms))",
            "    refusal = None\n"
            "    for each in batch:\n"
            "        refusal = refusal or self._change(lambda view, now_ms: enqueue.enqueue(view, (each,), now_ms))",
        ),
    ),
    edited(
        "a replay rewrites the payload",
        "ENQ-05 INV-13",
        Edit(
            enqueue._is_replay,
            "    return True",
            "    view.put(evolve(row, envelope=evolve(row.envelope, payload=envelope.payload)))\n    return True",
        ),
    ),
    edited(
        "a replay makes a job due again",
        "ENQ-05 INV-13",
        Edit(
            enqueue._is_replay,
            "    return True",
            "    if row.state == State.SCHEDULED:\n"
            "        view.put(evolve(row, envelope=evolve(row.envelope, scheduled_at_ms=_due_ms(envelope, 0))))\n"
            "    return True",
        ),
    ),
    edited(
        "a replay compares the payload",
        "ENQ-05",
        Edit(
            enqueue._is_replay,
            "    return True",
            "    if stored.payload != envelope.payload:\n        raise id_conflict(envelope.id)\n    return True",
        ),
    ),
    edited(
        "a replay does not compare the queue",
        "ENQ-06",
        Edit(enqueue._is_replay, "effective_queue(envelope.queue))", "stored.queue)"),
    ),
    edited(
        "a replay does not compare the fingerprint",
        "ENQ-06 UNQ-24",
        Edit(enqueue._is_replay, "(envelope.kind, envelope.fingerprint,", "(envelope.kind, stored.fingerprint,"),
        suite=STATEFUL,
    ),
    edited(
        "an omitted queue is none",
        "ENQ-07 ENQ-06",
        Edit(enqueue._is_replay, "effective_queue(envelope.queue))", "envelope.queue)"),
    ),
    edited(
        "uniqueness comes before quarantine",
        "ENQ-01 ENQ-09 UNQ-26",
        Edit(
            enqueue.enqueue,
            "    _check_quarantine(view, envelope)\n",
            "    pass\n",
        ),
        Edit(
            enqueue._check_limits,
            "    incoming = ",
            "    for envelope in fresh:\n        _check_quarantine(view, envelope)\n    incoming = ",
        ),
    ),
    edited(
        "a due time of now is scheduled",
        "ENQ-13",
        Edit(enqueue._initial_state, "due_ms > now_ms", "due_ms >= now_ms"),
    ),
    edited(
        "a due time in the past becomes now",
        "ENQ-12",
        Edit(enqueue._due_ms, "envelope.scheduled_at_ms or now_ms", "max(envelope.scheduled_at_ms, now_ms)"),
    ),
)
ENVELOPES = (
    stored("tags are kept as given", "ENQ-10", "tuple(sorted(envelope.tags))", "tuple(envelope.tags)"),
    stored(
        "header names are lower-cased",
        "TYP-02 TYP-01",
        "    return changed(\n        envelope,",
        "    return changed(\n"
        "        envelope, headers={name.lower(): value for name, value in envelope.headers.items()},",
    ),
    stored(
        "blanks around a payload are lost",
        "TYP-01",
        "    return changed(\n        envelope,",
        "    return changed(\n        envelope, payload=envelope.payload.strip(),",
    ),
    stored("the caller's attempts are kept", "ENQ-10 ENQ-11 GEN-08", "        attempt=0,\n", ""),
    stored("a weight is cut to a byte", "TYP-01", "weight=envelope.weight or 1", "weight=envelope.weight & 255 or 1"),
    stored(
        "a partition is lower-cased",
        "TYP-01",
        "    return changed(\n        envelope,",
        "    return changed(\n        envelope, partition_key=envelope.partition_key.lower(),",
    ),
    edited(
        "a kind may begin with a dash",
        "VAL-02 KND-01",
        Edit(validation._check_sizes, "KIND.fullmatch(envelope.kind)", "KIND.fullmatch(envelope.kind.lstrip('-'))"),
    ),
    edited(
        "a kind may end with a newline",
        "VAL-02 KND-01",
        Edit(validation._check_sizes, "KIND.fullmatch(envelope.kind)", "re.match(KIND.pattern + '$', envelope.kind)"),
    ),
    edited("a tag may have one byte more", "VAL-16", Edit(validation._check_tags, "<= TAG_MAX", "<= TAG_MAX + 1")),
    edited(
        "a negative retention is accepted",
        "VAL-09",
        Edit(validation._check_durations, '        "negative_retention": envelope.retention_ms,\n', ""),
        Edit(
            storable.check_envelope,
            "for name, (least, most) in _RANGES.items():",
            "for name, (least, most) in {**_RANGES, 'retention_ms': (I64_MIN, I64_MAX)}.items():",
        ),
    ),
    edited(
        "the window is asked before the retention",
        "ENQ-01 VAL-09 VAL-10",
        Edit(
            validation._check_durations,
            "durations.items()",
            "sorted(durations.items(), key=lambda each: each[0] != 'negative_window')",
        ),
    ),
    edited(
        "tags are counted after they were looked at",
        "ENQ-01 VAL-15 VAL-16",
        Edit(
            validation._check_tags,
            "len(envelope.tags) > TAGS_MAX:",
            "len(envelope.tags) > TAGS_MAX and all(tag.isascii() and 0 < len(tag) < 65 for tag in envelope.tags):",
        ),
    ),
    edited(
        "an id that stands twice is a replay of itself",
        "VAL-21 ENQ-04",
        Edit(validation.check_batch, "if envelope.id in seen:", "if False:"),
    ),
    edited(
        "a replacement in a batch is accepted",
        "VAL-22",
        Edit(validation.check_batch, "len(batch) > 1 and any", "False and any"),
    ),
)
LIMITS = (
    edited(
        "one job more than the limit",
        "BPR-02",
        Edit(enqueue._check_limits, "current + incoming[queue] > limit", "current > limit"),
        suite=STATEFUL,
    ),
    edited(
        "the limit itself is refused",
        "BPR-02",
        Edit(enqueue._check_limits, "current + incoming[queue] > limit", "current + incoming[queue] >= limit"),
    ),
    edited(
        "finished rows count for the limit",
        "BPR-02 BPR-08",
        Edit(
            enqueue._check_limits,
            "view.unfinished.get(queue) or 0",
            "sum(n for (q, _), n in view.index.by_queue_and_state.items() if q == queue)",
        ),
    ),
    edited(
        "replays count as incoming",
        "BPR-03 BPR-02 ENQ-08",
        Edit(enqueue.enqueue, "_check_limits(view, fresh)", "_check_limits(view, batch)"),
    ),
    edited(
        "queues are examined from the last",
        "BPR-04",
        Edit(enqueue._check_limits, "sorted(incoming)", "sorted(incoming)[::-1]"),
    ),
    edited(
        "a limit of 0 is none", "BPR-01 BPR-02", Edit(operators.set_enqueue_limit, "if limit is None", "if not limit")
    ),
    edited(
        "a slot is freed by success only",
        "BPR-08",
        Edit(
            operators.cancel,
            "    view.put(",
            "    view.unfinished.put(row.queue, (view.unfinished.get(row.queue) or 0) + 1)\n    view.put(",
        ),
    ),
    edited(
        "a lost lease frees a slot",
        "BPR-08",
        Edit(
            sweeps._reclaim,
            "        view.put(due_at(",
            "        view.unfinished.put(row.queue, (view.unfinished.get(row.queue) or 0) - 1)\n"
            "        view.put(due_at(",
        ),
    ),
    edited(
        "the limit is asked of an operator's retry",
        "BPR-09 BPR-10 OPR-04",
        Edit(
            operators.retry,
            "    view.put(",
            "    limit = view.limits.get(row.queue)\n"
            "    if limit is not None and (view.unfinished.get(row.queue) or 0) >= limit:\n"
            "        from workstore.memory.jobs.refusals import backpressure\n"
            "        raise backpressure(row.queue, limit, limit, 1)\n"
            "    view.put(",
        ),
    ),
)

WRONG_ENQUEUE = (*BATCHES, *ENVELOPES, *LIMITS)
