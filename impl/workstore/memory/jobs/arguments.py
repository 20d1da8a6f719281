"""Types of arguments: a wrong one is a TypeError before anything is read. Values are looked at elsewhere, after the
types of all arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

from workspec.jobs.vocabulary import (
    Checkpoint,
    Envelope,
    JobFilter,
    JobResult,
    LeaseRef,
    Outcome,
    ProgressUpdate,
    State,
)
from workstore.memory.carriers import changed
from workstore.memory.jobs.refusals import invalid

Record = TypeVar("Record")

_TEXTS = (
    "id",
    "kind",
    "queue",
    "partition_key",
    "rate_class",
    "fingerprint",
    "periodic_schedule_id",
    "sticky_worker",
)
_INTEGERS = (
    "schema_version",
    "weight",
    "priority",
    "attempt",
    "crash_attempt",
    "max_attempts",
    "scheduled_at_ms",
    "timeout_ms",
    "deadline_ms",
    "unique_states",
    "unique_window_ms",
    "unique_replace",
    "unique_debounce_ms",
    "retention_ms",
    "periodic_tick_ms",
)

_texts_of = attrgetter(*_TEXTS)
_integers_of = attrgetter(*_INTEGERS)


def wrong_type(name: str, expected: str, value: object) -> TypeError:
    """The TypeError for an argument. `bool` is no integer here, though it is one for Python."""
    return TypeError(f"{name} must be {expected}, not {type(value).__name__}")


def check_texts(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, str):
            raise wrong_type(name, "a str", value)


def check_optional_texts(**values: object) -> None:
    check_texts(**{name: value for name, value in values.items() if value is not None})


def check_bytes(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, bytes):
            raise wrong_type(name, "bytes", value)


def check_flags(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, bool):
            raise wrong_type(name, "a bool", value)


def check_integers(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong_type(name, "an int", value)


def check_optional_integers(**values: object) -> None:
    check_integers(**{name: value for name, value in values.items() if value is not None})


def sequence(name: str, value: object, of: type[Record]) -> tuple[Record, ...]:
    """A copy of any sequence, but not of a text: that would be taken letter by letter."""
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, (list, tuple, Sequence)):
        raise wrong_type(name, f"a sequence of {of.__name__}", value)
    items = tuple(value)
    for item in items:
        if not isinstance(item, of):
            raise wrong_type(f"each of {name}", f"a {of.__name__}", item)
    return items


def envelopes(value: object) -> tuple[Envelope, ...]:
    """The batch, detached from what the caller may edit."""
    return tuple(_detached(envelope) for envelope in sequence("envelopes", value, Envelope))


def _detached(envelope: Envelope) -> Envelope:
    # Exact types first, all at once: only what is of another one is looked at by itself.
    if set(map(type, _texts_of(envelope))) != {str}:
        check_texts(**{name: getattr(envelope, name) for name in _TEXTS})
    if set(map(type, _integers_of(envelope))) != {int}:
        check_integers(**{name: getattr(envelope, name) for name in _INTEGERS})
    check_bytes(payload=envelope.payload)
    if envelope.unique_key is not None:
        check_bytes(unique_key=envelope.unique_key)
    check_flags(unique_exclude_kind=envelope.unique_exclude_kind, pending=envelope.pending)
    return changed(envelope, tags=sequence("tags", envelope.tags, str), headers=_headers(envelope.headers))


def _headers(headers: object) -> dict[str, str]:
    if not isinstance(headers, (dict, Mapping)):
        raise wrong_type("headers", "a mapping of str to str", headers)
    copied = dict(headers)
    for name, value in copied.items():
        check_texts(**{"each name of headers": name, "each value of headers": value})
    return copied


def check_lease(lease: object) -> None:
    if not isinstance(lease, LeaseRef):
        raise wrong_type("lease", "a LeaseRef", lease)
    check_texts(job_id=lease.job_id, lease_id=lease.lease_id)
    check_integers(fence=lease.fence)


def leases(value: object) -> tuple[LeaseRef, ...]:
    refs = sequence("leases", value, LeaseRef)
    for ref in refs:
        check_lease(ref)
    return refs


def checkpoint(value: object) -> Checkpoint:
    """The checkpoint, detached from what the caller may edit."""
    if not isinstance(value, Checkpoint):
        raise wrong_type("checkpoint", "a Checkpoint", value)
    check_optional_texts(
        last_completed_step=value.last_completed_step,
        in_progress_step=value.in_progress_step,
        cursor_step=value.cursor_step,
    )
    check_texts(step_set_hash=value.step_set_hash)
    check_integers(schema_version=value.schema_version)
    if value.cursor is not None:
        check_bytes(cursor=value.cursor)
    crashes = []
    for crash in sequence("crashes_by_step", value.crashes_by_step, tuple):
        if len(crash) != 2:
            raise wrong_type("each of crashes_by_step", "a pair of a str and an int", crash)
        step, number = crash
        check_texts(step=step)
        check_integers(crashes=number)
        crashes.append((step, number))
    completed = sequence("completed_steps", value.completed_steps, str)
    return changed(value, completed_steps=completed, crashes_by_step=tuple(crashes))


def check_versioned(**values: object) -> None:
    """Bytes with a version: a result, an output."""
    for name, value in values.items():
        if not isinstance(value, JobResult):
            raise wrong_type(name, "a JobResult", value)
        check_integers(schema_version=value.schema_version)
        check_bytes(content=value.content)


def check_progress(progress: object) -> None:
    if not isinstance(progress, ProgressUpdate):
        raise wrong_type("progress", "a ProgressUpdate", progress)
    check_integers(current=progress.current, total=progress.total)
    check_optional_texts(message=progress.message)


def outcome(value: object) -> Outcome:
    """
    Raises:
        JobError: Invalid (``unknown_outcome``).
    """
    if not isinstance(value, str):
        raise wrong_type("outcome", "an Outcome", value)
    try:
        return Outcome(value)
    except ValueError:
        raise invalid("unknown_outcome", f"there is no outcome {value!r}") from None


def job_filter(value: object) -> JobFilter:
    if not isinstance(value, JobFilter):
        raise wrong_type("where", "a JobFilter", value)
    if value.state is not None and not isinstance(value.state, State):
        raise wrong_type("state", "a State", value.state)
    check_optional_texts(
        queue=value.queue,
        kind=value.kind,
        kind_prefix=value.kind_prefix,
        partition_key=value.partition_key,
        id=value.id,
        fingerprint=value.fingerprint,
        rate_class=value.rate_class,
    )
    if value.priority is not None:
        check_integers(priority=value.priority)
    all_of, any_of = sequence("tags_all", value.tags_all, str), sequence("tags_any", value.tags_any, str)
    return changed(value, tags_all=all_of, tags_any=any_of)
