"""Where the jobs contract lets stores differ, as a closed list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from workspec.core.choice import UNSEEN, Choice, ChoiceKind, Seen
from workspec.core.rule import ids
from workspec.core.scope import Scope
from workspec.jobs import rules
from workspec.jobs.facts import WAITING, JobFacts
from workspec.jobs.vocabulary import Envelope, Reclaimed

DECLARED, FREE = ChoiceKind.DECLARED, ChoiceKind.FREE


def _positive(value: Any, _scope: Scope) -> bool:
    return isinstance(value, int) and value >= 1


# Configuration: what a store was opened with ---------------------------------------------------------------------

CRASH_LIMIT: Final = Choice(
    "A-08.crash-limit",
    DECLARED,
    "How many lost leases quarantine a job.",
    ids("JOB-RCL-03"),
    rules.DEFAULT_CRASH_LIMIT,
    legal=_positive,
    legal_text="an integer from 1 up",
)
RETRY_BASE_MS: Final = Choice(
    "A-08.retry-base-ms",
    DECLARED,
    "The back-off of the first retry.",
    ids("JOB-ACK-08"),
    rules.DEFAULT_RETRY_BASE_MS,
    legal=_positive,
    legal_text="an integer from 1 up, in milliseconds",
)
RETRY_CAP_MS: Final = Choice(
    "A-08.retry-cap-ms",
    DECLARED,
    "The longest back-off.",
    ids("JOB-ACK-08"),
    rules.DEFAULT_RETRY_CAP_MS,
    legal=_positive,
    legal_text="an integer from 1 up, in milliseconds",
)

# Ways that stores have gone --------------------------------------------------------------------------------------

THROTTLE_DIES_WITH_ROW: Final = Choice(
    "A-13.throttle-dies-with-row",
    DECLARED,
    "Whether a key in throttle mode is free again when the row that took it is gone.",
    ids("JOB-UNQ-07"),
    "no",
    options=("no", "yes"),
)
LEASE_BOUND: Final = Choice(
    "A-01.lease-bound",
    DECLARED,
    "Whether a lease has ended at the instant of its expiry, or only after it.",
    ids("JOB-RCL-01"),
    "at",
    options=("at", "after"),
)
DUTY_BOUND: Final = Choice(
    "A-02.duty-bound",
    DECLARED,
    "Whether another holder may take a duty at the instant of its expiry, or only after it.",
    ids("JOB-DTY-01"),
    "at",
    options=("at", "after"),
)
EDITED_PENDING: Final = Choice(
    "A-11.edited-pending",
    DECLARED,
    "Whether a replacement or a debounce edits a pending holder, which stays pending (JOB-GEN-10).",
    ids("JOB-UNQ-22 JOB-UNQ-33"),
    "no",
    options=("no", "yes"),
)


def _jitter_seen(seen: Seen, scope: Scope) -> Any:
    due = getattr(seen.record, "scheduled_at_ms", None)
    return due - scope.now - scope.settled.get("backoff", 0) if isinstance(due, int) else UNSEEN


JITTER: Final = Choice(
    "A-07.jitter",
    DECLARED,
    "Whether a store adds something to the default back-off, up to its base.",
    ids("JOB-ACK-08"),
    "none",
    options=("none", "base"),
)
JITTER_MS: Final = Choice(
    "A-07.jitter-ms",
    FREE,
    "What a store adds to the default back-off: nothing, or up to the base. Where rows cannot be read back, nothing is "
    "presumed.",
    ids("JOB-ACK-08"),
    0,
    legal=lambda value, scope: isinstance(value, int) and 0 <= value <= scope.choose(RETRY_BASE_MS, scope),
    legal_text="from 0 to the base of the back-off",
    observe=_jitter_seen,
)

DRAW: Final = Choice(
    "A-18.draw",
    DECLARED,
    "In which order an admission visits partitions: by plain rotation, or in an order of the store's own. Either way "
    "the order inside a partition holds, and nothing admissible is left out while capacity remains.",
    ids("JOB-FAIR-01 JOB-FAIR-03"),
    "rotation",
    options=("rotation", "own"),
)


def _drawn(seen: Seen, _scope: Scope) -> Any:
    units = seen.answer if isinstance(seen.answer, (list, tuple, Sequence)) else ()
    claims = [claim for unit in units for claim in (getattr(unit, "claims", None) or ())]
    # Whatever else a store answers is no order of rows.
    return tuple(claim.envelope.id for claim in claims if isinstance(getattr(claim, "envelope", None), Envelope))


DRAWN: Final = Choice(
    "A-18.drawn",
    FREE,
    "Which partition each unit of an admission comes from, where the store visits them in an order of its own.",
    ids("JOB-ADM-11 JOB-ADM-13"),
    (),
    legal_text="the first admissible row of some partition",
    observe=_drawn,
)


def _swept(seen: Seen, scope: Scope) -> Any:
    answer = seen.answer if isinstance(seen.answer, (list, tuple, Sequence)) else ()
    if answer and all(isinstance(reclaimed, Reclaimed) for reclaimed in answer):
        return tuple(f"job/{reclaimed.job_id}" for reclaimed in answer)
    keys = scope.settled["candidates"]
    if scope.call.get("limit", len(keys)) >= len(keys):
        return UNSEEN
    rows = {key: seen.rows(key) for key in keys}
    if any(row is UNSEEN for row in rows.values()):
        return UNSEEN
    state = {key: scope.state[key].facts.state for key in keys}
    return tuple(key for key, row in rows.items() if getattr(row, "state", None) != state[key])


SWEPT: Final = Choice(
    "A-25.swept",
    FREE,
    "Which rows a promotion, a reclaim or an eviction takes first when its limit binds. The reference goes by the "
    "instant that makes them due, then by id.",
    ids("JOB-PRM-03 JOB-RCL-06 JOB-EVT-01"),
    (),
    legal_text="any rows that are due",
    observe=_swept,
)


def _waiting_kinds(scope: Scope) -> list[str]:
    rows = (record.facts for record in scope.state.values() if isinstance(record.facts, JobFacts))
    return sorted({row.kind for row in rows if row.state in WAITING})


def _most_kinds(scope: Scope) -> int:
    return max(int(scope.call["limit"]), 0)


def _is_sample(value: Any, scope: Scope) -> bool:
    distinct = len(set(value)) == len(value)
    return distinct and len(value) <= _most_kinds(scope) and set(value) <= set(_waiting_kinds(scope))


SAMPLED_KINDS: Final = Choice(
    "INS-08.sample",
    FREE,
    "Which kinds of waiting rows are found in the sample that `distinct_kinds` looks at.",
    ids("JOB-INS-08"),
    lambda scope: _waiting_kinds(scope)[: _most_kinds(scope)],
    legal=_is_sample,
    legal_text="at most limit kinds, each once and each of a waiting row",
    observe=lambda seen, _scope: [*seen.answer] if _is_texts(seen.answer) else UNSEEN,
)


def _is_texts(answer: Any) -> bool:
    return isinstance(answer, list | tuple) and all(isinstance(each, str) for each in answer)


CHOICES: Final = (
    DRAW,
    DRAWN,
    SWEPT,
    SAMPLED_KINDS,
    CRASH_LIMIT,
    RETRY_BASE_MS,
    RETRY_CAP_MS,
    LEASE_BOUND,
    DUTY_BOUND,
    JITTER,
    JITTER_MS,
    EDITED_PENDING,
    THROTTLE_DIES_WITH_ROW,
)
