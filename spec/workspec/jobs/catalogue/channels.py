"""What a run leaves beside its outcome: result, output, progress.

Families: JOB-RES, JOB-OUT, JOB-PRG, JOB-RO.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import OUTPUT, PROGRESS, RESULT

RESULTS: Final = (
    Requirement(
        "JOB-RES-01",
        "A success with a result checks in this order: schema version 0 is `Invalid(schema_zero)`, above "
        "2,147,483,647 `Invalid(schema_too_large)`, more than 33,554,432 bytes `Invalid(too_large)`; then the "
        "holder. Empty bytes are fine.",
        Kind.RULE,
        RESULT,
    ),
    Requirement(
        "JOB-RES-02",
        "Else it does what a success does, with settlement, key, retention and logs; with a retention above 0 "
        "the result is stored in the same step, with 0 it disappears with the row.",
        Kind.RULE,
        RESULT,
    ),
    Requirement(
        "JOB-RES-03",
        "The reader of results gives none for an absent job and for one without a result; a plain success stores none.",
        Kind.RULE,
        RESULT,
    ),
    Requirement(
        "JOB-RES-04",
        "A result lives exactly as long as its row, and no other operation changes it.",
        Kind.SCENARIO,
        RESULT,
    ),
    Requirement(
        "JOB-RES-05",
        "A refused success with a result changes nothing: no result, no bucket, no state.",
        Kind.SCENARIO,
        RESULT,
    ),
)

OUTPUTS: Final = (
    Requirement(
        "JOB-OUT-01",
        "Writing output makes the same checks of the value as JOB-RES-01, in the same order, then checks the "
        "holder; then it replaces the stored output by schema version, bytes, the holder's fence and now as "
        "`updated_at_ms`, and returns exactly that.",
        Kind.RULE,
        OUTPUT,
    ),
    Requirement(
        "JOB-OUT-02",
        "Writing output is no transition, and the last accepted write wins; the output of an earlier attempt "
        "stays readable with its own fence until it is replaced or the row goes.",
        Kind.SCENARIO,
        OUTPUT,
    ),
    Requirement(
        "JOB-OUT-03",
        "The reader of output gives none for an absent job and for one that never wrote any.",
        Kind.RULE,
        OUTPUT,
    ),
)

PROGRESSES: Final = (
    Requirement(
        "JOB-PRG-01",
        "Writing progress checks in this order: total 0 is `Invalid(progress_zero_total)`, current above "
        "total `Invalid(progress_over_total)`, total above 9,007,199,254,740,991 "
        "`Invalid(progress_total_too_large)`, a message of more than 512 bytes of UTF-8 "
        "`Invalid(progress_message_too_long)`, a message with a NUL `Invalid(progress_message_nul)`; then the "
        "holder.",
        Kind.RULE,
        PROGRESS,
    ),
    Requirement(
        "JOB-PRG-02",
        "Accepted progress replaces the stored value, stamped with fence and now, and is returned; `current` "
        "may go down within an attempt.",
        Kind.RULE,
        PROGRESS,
    ),
    Requirement(
        "JOB-PRG-03",
        "Completion does not alter progress; it survives retry and crash until it is replaced.",
        Kind.SCENARIO,
        PROGRESS,
    ),
    Requirement(
        "JOB-PRG-04",
        "The reader of progress gives none for an absent job and for one that never wrote any. Whether an "
        "absent message differs from an empty one is the store's choice.",
        Kind.RULE,
        PROGRESS,
    ),
)

READERS: Final = (
    Requirement(
        "JOB-RO-01",
        "The readers of result, output and progress and that of the checkpoint work in every state, terminal "
        "ones included.",
        Kind.SCENARIO,
        OUTPUT,
    ),
)
