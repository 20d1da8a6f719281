"""Arithmetic, defaults, and the decisions on what becomes of ended attempts.

Families: WRK-ART, WRK-DEC.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import CORE

ARITHMETIC: Final = (
    Requirement(
        "WRK-ART-01",
        "A deadline of some milliseconds lasts the next whole number of seconds, rounded up: 1, 999 and "
        "1000 give one second, 1001 gives two. It falls due at its base plus these seconds.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ART-02",
        "After a failure report that is retried, `retry_count` is raised first; the delay is "
        "`initial_delay_ms`, for exponential back-off times two to the power of `retry_count` minus one "
        "(saturating at unsigned 64 bits), and at most `max_delay_ms`. `next_attempt_at` is now plus the "
        "delay in whole seconds, rounded down, so that a delay below one second is none. A store may "
        "declare that its exponential back-off starts at twice the initial delay; it doubles with each "
        "retry up to the cap all the same.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ART-03",
        "After a deadline or an actor timeout that is retried, `next_attempt_at` is now plus "
        "`initial_delay_ms` in whole seconds, rounded down, without multiplier and without cap. "
        "`retry_count` is raised by one, so that it raises the back-off of later failures.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ART-04",
        "Recovery adds no delay and an operator retry sets `next_attempt_at` to now; neither changes `retry_count`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ART-05",
        "The attempt budget is `max_attempts` plus the number of operator retries, which are the events "
        "whose evidence has `retry` = `operator`. It saturates at 4294967295.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ART-06",
        "A lease ends at now plus its milliseconds in whole seconds, and has lapsed when `expires_at` <= "
        "now. How a part of a second is rounded is the store's choice: the reference rounds up, so that a "
        "lease is never shorter than asked for.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ART-07",
        "Of an operator's reason the first 256 Unicode scalar values are recorded.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ART-08",
        "Any signed 64-bit instant is accepted, negative ones included. A sum that exceeds its type saturates.",
        Kind.RULE,
        CORE,
        not_asserted="The kit keeps instants below 2^40 seconds, where no sum can exceed its type.",
    ),
    Requirement(
        "WRK-ART-09",
        "What an admission leaves out takes a default: priority 0, all five timeouts absent, no "
        "dependencies and no connection scopes.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-ART-10",
        "An absent retry policy stands for 3 attempts, exponential back-off from 1000 ms to at most 60000 "
        "ms, and retry on `worker_failure`, `timeout` and `transient_connection`.",
        Kind.RULE,
        CORE,
        not_asserted="The default policy is the store's choice; the kit always passes an explicit one.",
    ),
)

DECISION: Final = (
    Requirement(
        "WRK-DEC-01",
        "A failure report with effective effect `unknown` under a policy without `worker_failure` is "
        "decided `effect_unknown_not_retryable`: DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-02",
        "A failure report with effective effect `none` or absent whose kind is not in `retry_on` is decided "
        "`failure_kind_not_retryable`: DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-03",
        "A failure report that the policy would retry, with `attempt_count` >= the attempt budget, is "
        "decided `attempt_budget_exhausted`: DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-04",
        "A failure report that the policy would retry, with budget left, is decided `retry`: READY after "
        "the back-off of WRK-ART-02.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-05",
        "A passed overall or queue deadline is decided `deadline_not_retryable`: DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-06",
        "A passed claim, execution or heartbeat deadline under a policy without `timeout` is decided "
        "`timeout_not_retryable`: DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-07",
        "A passed claim, execution or heartbeat deadline under a policy with `timeout`, with "
        "`attempt_count` >= the attempt budget, is decided `attempt_budget_exhausted`: DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-08",
        "A passed claim, execution or heartbeat deadline under a policy with `timeout`, with budget left, "
        "is decided `retry`: READY after the initial delay (WRK-ART-03).",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-09",
        "A lost lease under a policy without `worker_failure` is decided `worker_failure_not_retryable`: DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-10",
        "A lost lease under a policy with `worker_failure`, with `attempt_count` >= the attempt budget, is "
        "decided `attempt_budget_exhausted`: DEAD_LETTER.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "WRK-DEC-11",
        "A lost lease under a policy with `worker_failure`, with budget left, is decided `retry`: READY at once.",
        Kind.RULE,
        CORE,
    ),
)
