"""Job stores that are wrong in unique keys, replacement and debounce: the in-memory one with a line that reads
otherwise."""

from __future__ import annotations

from workstore.memory.jobs import enqueue, uniqueness

from .jobs_model import Edit, edited
from .model import STATEFUL

KEYS = (
    edited(
        "a key in throttle mode is freed by the end of its job",
        "UNQ-05 UNQ-06",
        Edit(
            uniqueness.holding,
            "hold is None or",
            "hold is None or ((row := view.jobs.get(hold.job_id)) and not row.unfinished) or",
        ),
    ),
    edited(
        "a key in throttle mode dies with its row",
        "UNQ-07 UNQ-05",
        Edit(uniqueness.holding, "hold is None or", "hold is None or view.jobs.get(hold.job_id) is None or"),
    ),
    edited(
        "a window holds at its very end",
        "UNQ-05",
        Edit(uniqueness.holding, "now_ms >= hold", "now_ms > hold"),
        suite=STATEFUL,
    ),
    edited(
        "a window counts from the due time",
        "UNQ-05",
        Edit(uniqueness.take_throttle, "plus(now_ms, envelope", "plus(row.due_ms, envelope"),
    ),
    edited(
        "the two modes see each other",
        "UNQ-08",
        Edit(
            uniqueness.holding,
            "return view.lifecycle_holds.get(key)",
            "return view.lifecycle_holds.get(key) or view.throttle_holds.get(key)",
        ),
    ),
    edited(
        "keys are not told apart by kind",
        "UNQ-11",
        Edit(uniqueness.effective_key, "kind = envelope.kind.encode()", "kind = b''"),
    ),
    edited(
        "keys count in their queue only",
        "UNQ-11",
        Edit(
            uniqueness.effective_key,
            "kind = envelope.kind.encode()",
            "kind = (envelope.queue + '/' + envelope.kind).encode()",
        ),
    ),
    edited(
        "an empty key is none",
        "UNQ-13",
        Edit(uniqueness.effective_key, "envelope.unique_key is None", "not envelope.unique_key"),
    ),
    edited("two members of a batch take one key", "UNQ-10", Edit(enqueue.enqueue, "earlier != envelope.id", "False")),
    edited(
        "a running job holds no key",
        "UNQ-02 UNQ-09",
        Edit(
            uniqueness.holding,
            "return view.lifecycle_holds.get(key)",
            "return (h := view.lifecycle_holds.get(key)) and (None if view.jobs.get(h.job_id).lease else h)",
        ),
    ),
    edited(
        "a retried job frees its key",
        "UNQ-04 UNQ-02",
        Edit(
            uniqueness.holding,
            "return view.lifecycle_holds.get(key)",
            "h = view.lifecycle_holds.get(key)\n"
            "        return None if h and view.jobs.get(h.job_id).state == State.RETRYABLE else h",
        ),
    ),
)
REPLACEMENT = (
    edited(
        "the bit of the priority is ignored",
        "UNQ-20",
        Edit(uniqueness.edited_holder, "mask & Replace.PRIORITY", "False"),
    ),
    edited(
        "the bit of the attempts is ignored",
        "UNQ-20",
        Edit(uniqueness.edited_holder, "mask & Replace.MAX_ATTEMPTS", "False"),
        suite=STATEFUL,
    ),
    edited(
        "a new due time makes an available holder wait",
        "UNQ-20 UNQ-21",
        Edit(
            uniqueness.edited_holder,
            "mask & Replace.SCHEDULED_AT and holder.state == State.SCHEDULED",
            "mask & Replace.SCHEDULED_AT",
        ),
    ),
    edited(
        "a conflict always says replaced",
        "UNQ-21",
        Edit(
            uniqueness.resolve_conflict,
            "    if edited is None:\n        return duplicate(hold.job_id, replaced=False)",
            "    if edited is None:\n        return duplicate(hold.job_id, replaced=bool(envelope.unique_replace))",
        ),
    ),
    edited(
        "a running holder is replaced",
        "UNQ-22",
        Edit(
            uniqueness.resolve_conflict,
            "holder.state not in EDITABLE",
            "holder.state not in EDITABLE | {State.RUNNING}",
        ),
    ),
    edited(
        "a hold names whatever row has its id",
        "UNQ-22",
        Edit(uniqueness.resolve_conflict, " or holder.number != hold.number", ""),
    ),
    edited(
        "a replacement takes the tags over",
        "UNQ-23",
        Edit(
            uniqueness.edited_holder,
            'changes["payload"] = newcomer.payload',
            'changes["payload"] = newcomer.payload\n        changes["tags"] = tuple(sorted(newcomer.tags))',
        ),
    ),
    edited(
        "a debounce keeps the first due time",
        "UNQ-31",
        Edit(
            uniqueness.edited_holder,
            'changes["scheduled_at_ms"] = plus(now_ms, newcomer.unique_debounce_ms)',
            'changes["scheduled_at_ms"] = max(holder.due_ms, now_ms)',
        ),
    ),
    edited(
        "a debounce leaves an available holder available",
        "UNQ-31 UNQ-35 TRN-31",
        Edit(uniqueness.edited_holder, "        state = State.SCHEDULED\n", ""),
    ),
    edited(
        "bit 2 wins over a debounce",
        "UNQ-34",
        Edit(
            uniqueness.edited_holder,
            "mask = (mask | Replace.PAYLOAD) & ~Replace.SCHEDULED_AT",
            "mask |= Replace.PAYLOAD",
        ),
    ),
    edited(
        "a debounce ignores the other bits",
        "UNQ-34",
        Edit(
            uniqueness.edited_holder,
            "mask = (mask | Replace.PAYLOAD) & ~Replace.SCHEDULED_AT",
            "mask = Replace.PAYLOAD",
        ),
    ),
    edited(
        "the edit of a conflict is rolled back with it",
        "UNQ-20 GEN-05",
        Edit(enqueue._settled, 'error.details["replaced"]', "False"),
    ),
)
WRONG_KEYS = (*KEYS, *REPLACEMENT)
