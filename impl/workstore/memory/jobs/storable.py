"""Values of the right type that no field can hold: integers outside of their range (3.1), and text that is none.

A call asks this last of its arguments, the integers before the texts, so that a reason of the contract is given where
there is one. A dictionary or a `str` would take all of it; a store on a disk does not, and a handler that was tested
with this one must not learn that in production.
"""

from __future__ import annotations

from workspec.jobs.vocabulary import Checkpoint, Envelope, JobFilter, LeaseRef
from workstore.memory.jobs.numbers import I32_MAX, I32_MIN, I64_MAX, I64_MIN, U32_MAX
from workstore.memory.jobs.refusals import invalid

_RANGES = {
    "schema_version": (0, U32_MAX),
    "weight": (0, U32_MAX),
    "priority": (I32_MIN, I32_MAX),
    "attempt": (0, U32_MAX),
    "crash_attempt": (0, U32_MAX),
    "max_attempts": (0, U32_MAX),
    "scheduled_at_ms": (I64_MIN, I64_MAX),
    "timeout_ms": (0, I64_MAX),
    "deadline_ms": (0, I64_MAX),
    "unique_states": (0, U32_MAX),
    "unique_window_ms": (0, I64_MAX),
    "unique_debounce_ms": (0, I64_MAX),
    "retention_ms": (0, I64_MAX),
    "periodic_tick_ms": (0, I64_MAX),
}
"""The ranges of section 3.1."""


def check_range(name: str, value: int, least: int, most: int) -> None:
    """
    Raises:
        JobError: Invalid (``out_of_range``).
    """
    if not least <= value <= most:
        raise invalid("out_of_range", f"{name} must be from {least} to {most}")


def check_integers(**values: int | None) -> None:
    """Integers of 64 bits, by name; what is absent is None.

    Raises:
        JobError: Invalid (``out_of_range``).
    """
    for name, value in values.items():
        if value is not None:
            check_range(name, value, I64_MIN, I64_MAX)


def check_texts(*texts: str | None) -> None:
    """
    Raises:
        JobError: Invalid (``bad_text``), for half of a surrogate pair, which UTF-8 cannot write.
    """
    for text in texts:
        if text is None or text.isascii():
            continue
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise invalid("bad_text", "a text holds half of a surrogate pair, which no other store can keep")


def check_lease(ref: LeaseRef) -> None:
    """
    Raises:
        JobError: Invalid (``bad_text``). A fence of any size is a fence: too large a one holds nothing.
    """
    check_texts(ref.job_id, ref.lease_id)


def check_checkpoint(checkpoint: Checkpoint) -> None:
    """Versions and crashes are counted as in an envelope.

    Raises:
        JobError: Invalid (``out_of_range``, ``bad_text``).
    """
    check_range("schema_version", checkpoint.schema_version, 0, U32_MAX)
    for step, crashes in checkpoint.crashes_by_step:
        check_range(f"the crashes of step {step!r}", crashes, 0, U32_MAX)
    check_texts(
        checkpoint.last_completed_step,
        *checkpoint.completed_steps,
        checkpoint.in_progress_step,
        checkpoint.cursor_step,
        checkpoint.step_set_hash,
        *(step for step, _ in checkpoint.crashes_by_step),
    )


def check_filter(where: JobFilter, cursor: str | None) -> None:
    """
    Raises:
        JobError: Invalid (``out_of_range``, ``bad_text``).
    """
    if where.priority is not None:
        check_range("priority", where.priority, I32_MIN, I32_MAX)
    check_texts(
        cursor,
        where.queue,
        where.kind,
        where.kind_prefix,
        where.partition_key,
        where.id,
        where.fingerprint,
        where.rate_class,
        *where.tags_all,
        *where.tags_any,
    )


def check_envelope(envelope: Envelope) -> None:
    """What the table of 5.2 leaves open. Kind, tags and sticky worker are ASCII by then, and ``unique_replace`` has a
    reason of its own.

    Raises:
        JobError: Invalid (``out_of_range``, ``bad_text``).
    """
    for name, (least, most) in _RANGES.items():
        check_range(name, getattr(envelope, name), least, most)
    check_texts(
        envelope.id,
        envelope.queue,
        envelope.partition_key,
        envelope.rate_class,
        envelope.fingerprint,
        envelope.periodic_schedule_id,
        *envelope.headers,
        *envelope.headers.values(),
    )
