"""Admission: candidates, draw, sticky routing, rate classes.

Families: JOB-ADM, JOB-FAIR, JOB-STK, JOB-RATE.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import CORE, INSPECT, RATE, WRITERS

ADMISSION: Final = (
    Requirement(
        "JOB-ADM-01",
        "A lease shorter than 1 ms is `Invalid(bad_lease)`, checked before anything else, also with capacity "
        "0 or no queues.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ADM-02",
        "At most `capacity` units are returned over all requested queues together; capacity 0 or an empty "
        "list of queues returns nothing and changes nothing, so that no cursor moves.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ADM-03",
        "A candidate is a row in a requested queue that is not paused, available, due now or earlier, with a "
        "sticky worker that is empty or byte-equal to `worker`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ADM-04",
        "Due scheduled and retryable rows are not candidates until due jobs have been promoted.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ADM-05",
        "The policies on a candidate are asked in this order: quarantine, then rate class. A non-empty "
        "fingerprint in the registry blocks, and the row is untouched.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ADM-06",
        "An admitted row gets fence + 1, the state running, the lease id of the request, an expiry of now + "
        "lease and its charge (JOB-RATE-04); nothing else changes.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ADM-07",
        "All claims of one call share the lease id and the same `expires_at_ms`.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ADM-08",
        "A claim carries the row's current counters and the checkpoint saved by earlier attempts.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ADM-09",
        "A blocked head of a partition does not block later candidates of the same partition, or others, in "
        "the same call.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ADM-10",
        "No row is returned by two calls unless it left running in between, under any concurrency.",
        Kind.SCENARIO,
        WRITERS,
    ),
    Requirement(
        "JOB-ADM-11",
        "Inside a partition the order is priority descending, then due time ascending, then id ascending by "
        "bytes. Priorities of different partitions are not compared.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-ADM-12",
        "A retried, snoozed or reclaimed job gets a new due time and so queues behind peers of the same "
        "priority that were already due; a rate-limited job keeps its due time and so its place.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ADM-13",
        "While any candidate passes its policies and capacity remains, it is admitted.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-ADM-14",
        "Queues are served in the order of the request. Repeating a queue's name has no effect beyond naming "
        "it once, at its first place.",
        Kind.RULE,
        CORE,
    ),
)

FAIRNESS: Final = (
    Requirement(
        "JOB-FAIR-01",
        "Within one call the numbers admitted from any two partitions of one queue that both still have "
        "admissible candidates differ by at most 1, for a draw takes one from each partition in each round. "
        "Partitions of different queues are not balanced: a queue is drained before the next is served. Units "
        "are returned in the order in which they were drawn.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-FAIR-02",
        "A flooding partition cannot hide others of its queue: with one requested queue, every one of P "
        "partitions that have admissible work and do not compete for one bucket gets at least one when the "
        "capacity is at least P, even beside 5,000 flooding rows.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-FAIR-03",
        "Each queue has a cursor, 0 at first. A draw begins with the partition, of those with candidates in "
        "ascending name, at the cursor modulo their number, and goes round from there; the cursor then is one "
        "further, also when policies let nothing pass, and stays where it is without candidates.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-FAIR-04",
        "The number of partitions for that modulus is counted after the filters on sticky worker and due time "
        "and before the checks of quarantine and rate.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-FAIR-05",
        "When `quantum` times the number of partitions is the capacity, with equal priorities and deep equal "
        "backlogs, each partition gets exactly `quantum`.",
        Kind.SCENARIO,
        CORE,
    ),
)

ROUTING: Final = (
    Requirement(
        "JOB-STK-01",
        "A row with a sticky worker can be claimed only by an admission whose `worker` is byte-equal; case "
        "and blanks matter. Without one, anyone can claim it.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-STK-02",
        "The route survives retry, rate limiting, snooze, reclaim, promotion, an operator's retry and "
        "release; no time passing opens it to other workers.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-STK-03",
        "Rows routed elsewhere are invisible to the draw: no number of foreign rows of higher priority hides "
        "the caller's routed or unrouted rows, not even 5,000.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-STK-04",
        "Routed and unrouted rows of one partition are ordered together, by JOB-ADM-11.",
        Kind.SCENARIO,
        CORE,
    ),
    Requirement(
        "JOB-STK-05",
        "A worker with an empty name can claim only unrouted rows.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-STK-06",
        "Operators can inspect, cancel, edit and delete routed rows whatever their worker.",
        Kind.SCENARIO,
        INSPECT,
    ),
)

RATES: Final = (
    Requirement(
        "JOB-RATE-01",
        "The cost of a job is its weight, 1 where it was omitted. A candidate passes if what this call has "
        "spent of its class plus the cost is at or below the tokens; equality admits.",
        Kind.RULE,
        RATE,
    ),
    Requirement(
        "JOB-RATE-02",
        "A class without a bucket is unlimited, and admission does not create one.",
        Kind.RULE,
        RATE,
    ),
    Requirement(
        "JOB-RATE-03",
        "The budget belongs to the class in the whole fleet: all workers, queues, partitions and kinds share it.",
        Kind.SCENARIO,
        RATE,
    ),
    Requirement(
        "JOB-RATE-04",
        "At admission the row stores as its charge the cost if the class has a bucket, else 0; a previous "
        "charge is overwritten.",
        Kind.RULE,
        RATE,
    ),
    Requirement(
        "JOB-RATE-05",
        "The gain is the time since the last refill times the limit, divided by the window and rounded down; "
        "0 if no time has passed. At admission a gain above 0 is credited and restamps the instant of refill, "
        "and a gain of 0 keeps it, and so the fraction; a settlement always restamps.",
        Kind.RULE,
        RATE,
    ),
    Requirement(
        "JOB-RATE-06",
        "Tokens never exceed the burst; a limit of 0 means that there is never a gain.",
        Kind.RULE,
        RATE,
    ),
    Requirement(
        "JOB-RATE-07",
        "A job whose cost exceeds the burst is never admitted, and that is no error.",
        Kind.SCENARIO,
        RATE,
    ),
    Requirement(
        "JOB-RATE-08",
        "A settlement happens only when an actual weight is given, where 0 is a real value and refunds all, "
        "and only if the charge is above 0 and the bucket exists. The tokens, refilled to now, get charge "
        "minus actual weight, at most up to the burst, and the charge becomes 0 so that it cannot settle "
        "twice. Without an actual weight the bucket is untouched.",
        Kind.RULE,
        RATE,
    ),
    Requirement(
        "JOB-RATE-09",
        "A settlement applies to every outcome that can be acked: success, retry, snooze, rate limited, skip, "
        "revoke and undecodable.",
        Kind.SCENARIO,
        RATE,
    ),
    Requirement(
        "JOB-RATE-10",
        "An actual weight above the charge may drive the tokens negative; nothing of that class passes until "
        "a refill or a later settlement brings them to the cost.",
        Kind.SCENARIO,
        RATE,
    ),
    Requirement(
        "JOB-RATE-11",
        "With charge 0, because the class had no bucket at admission, a settlement leaves a bucket created "
        "since alone.",
        Kind.RULE,
        RATE,
    ),
    Requirement(
        "JOB-RATE-12",
        "A refused ack, for its lease or its arguments, changes neither bucket nor charge.",
        Kind.SCENARIO,
        RATE,
    ),
    Requirement(
        "JOB-RATE-13",
        "Reclaim, an operator's cancellation and a rate-limited run without an actual weight do not refund.",
        Kind.SCENARIO,
        RATE,
    ),
    Requirement(
        "JOB-RATE-14",
        "A settlement refers to the bucket as it is configured at the ack.",
        Kind.SCENARIO,
        RATE,
    ),
    Requirement(
        "JOB-RATE-15",
        "`set_rate_limit` creates or resets the bucket: tokens = burst, refilled now.",
        Kind.RULE,
        RATE,
    ),
    Requirement(
        "JOB-RATE-16",
        "An operator's upsert of a rate class needs a window of at least 1, a limit of at least 0 and a burst "
        "of at least 1, else `Invalid(bad_rate_class)`. A new bucket starts at the burst, or at 0 if paused; "
        "an existing one keeps the lesser of its tokens and the burst, at most 0 if paused; either is "
        "refilled now. A paused class admits nothing, and unpausing resumes from the tokens left.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-RATE-17",
        "An operator's read of a rate class gives as available the tokens plus the gain, at most the burst, "
        "and writes nothing.",
        Kind.RULE,
        INSPECT,
    ),
)
