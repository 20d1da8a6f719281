"""The transition table, one requirement for each row. Guards use the values before the event.

Families: JOB-TRN.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import CORE, INSPECT

# 29 and 30 are not used; 33 to 36 are kept for edges that are not built.
TRANSITIONS: Final = (
    Requirement(
        "JOB-TRN-01",
        "An enqueue with the pending flag makes a pending job.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-02",
        "An enqueue without the pending flag makes a scheduled job if its effective due time is later than now.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-03",
        "An enqueue without the pending flag makes an available job if its effective due time is now or earlier.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-04",
        "An operator's promotion makes a pending job available.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-05",
        "Scheduling a pending job makes it scheduled, even when the given instant is now or earlier.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-06",
        "Promotion of due jobs makes a scheduled job available if it is due now or earlier.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-07",
        "Promotion of due jobs makes a retryable job available if it is due now or earlier.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-08",
        "Admission makes an available job running if it passes the gate.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-09",
        "Success makes a running job completed if its retention is above 0.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-10",
        "Success deletes a running job if its retention is 0.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-11",
        "A retry makes a running job retryable if `attempt` + 1 is below `max_attempts`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-12",
        "A retry makes a running job archived if `attempt` + 1 is at or above `max_attempts`.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-13",
        "A skip makes a running job archived.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-14",
        "A revoke deletes a running job, whatever its retention.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-15",
        "A snooze with a positive delay makes a running job scheduled.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-16",
        "The outcome `undecodable` makes a running job undecodable.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-17",
        "The outcome `rate_limited` makes a running job available.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-18",
        "Reclaiming a lost lease makes a running job retryable if `crash_attempt` + 1 is below the crash limit.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-19",
        "Reclaiming a lost lease makes a running job quarantined if `crash_attempt` + 1 is at or above the "
        "crash limit.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-20",
        "An operator's retry makes an archived job available.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-21",
        "An operator's retry makes a cancelled job available.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-22",
        "An operator's retry makes an undecodable job available.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-23",
        "An operator's release of its fingerprint makes a quarantined job available.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-24",
        "An operator's cancellation makes a pending, scheduled, available or running job cancelled.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-25",
        "An operator's cancellation makes a retryable job cancelled.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-26",
        "Eviction deletes a completed, archived, cancelled or undecodable job if its retention is above 0 and "
        "has ended now or earlier.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-27",
        "An operator's deletion removes a job in any state but running.",
        Kind.RULE,
        INSPECT,
    ),
    Requirement(
        "JOB-TRN-28",
        "A pair of state and event that no row of the table names is refused with the error of the operation "
        "and changes nothing.",
        Kind.INVARIANT,
        CORE,
    ),
    Requirement(
        "JOB-TRN-31",
        "A debounce that hits the holder of its key makes it scheduled if it was available, retryable or scheduled.",
        Kind.RULE,
        CORE,
    ),
    Requirement(
        "JOB-TRN-32",
        "The quarantine sweep makes a pending, scheduled, available or retryable job with a registered "
        "fingerprint quarantined.",
        Kind.RULE,
        INSPECT,
    ),
)
