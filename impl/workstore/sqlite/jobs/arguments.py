"""Arguments as they arrive: wrong Python types are TypeErrors; texts and numbers that no column can hold are Invalid.

Nothing here reads the store, so a malformed call is told so while the file is locked, too. A call asks first for the
types of all its arguments, then for what the contract gives a reason of its own, then for ranges, last for texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import cast

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

from .. import arguments
from ..arguments import (
    require_instance,
    require_integers,
    require_optional_integers,
    require_optional_texts,
    require_texts,
)
from .numbers import GREATEST_COUNT, GREATEST_INSTANT, GREATEST_PRIORITY, LEAST_INSTANT, LEAST_PRIORITY
from .refusals import invalid

_TEXTS = (
    *("id", "kind", "queue", "partition_key", "rate_class", "fingerprint", "periodic_schedule_id", "sticky_worker"),
)
_COUNTS = ("schema_version", "weight", "attempt", "crash_attempt", "max_attempts", "unique_states")
_INSTANTS = (
    *("scheduled_at_ms", "timeout_ms", "deadline_ms", "unique_window_ms", "unique_debounce_ms", "retention_ms"),
    "periodic_tick_ms",
)
_INTEGERS = (*_COUNTS, *_INSTANTS, "priority", "unique_replace")
_FLAGS = ("unique_exclude_kind", "pending")
_TEXT_ALONE = frozenset({str})
_texts_of = attrgetter(*_TEXTS)
_counts_of = attrgetter(*_COUNTS)
_instants_of = attrgetter(*_INSTANTS)
_integers_of = attrgetter(*_INTEGERS)


def _wrong(name: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"{name} must be {wanted}, not {type(value).__name__}")


def require_several(name: str, values: object, kind: type) -> None:
    """A sequence whose members are of one type."""
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, Sequence):
        raise _wrong(name, f"a sequence of {kind.__name__}", values)
    for value in values:
        if not isinstance(value, kind):
            raise _wrong(f"a member of {name}", kind.__name__, value)


def require_several_texts(name: str, values: object) -> None:
    """A sequence of str."""
    # Exact types first: to ask whether something is a Sequence costs more than to look at its members.
    if type(values) in (tuple, list) and _TEXT_ALONE.issuperset(map(type, cast("Sequence[object]", values))):
        return
    arguments.require_several_texts(name, values)


def require_bytes(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, bytes):
            raise _wrong(name, "bytes", value)


def require_envelopes(envelopes: Sequence[Envelope]) -> None:
    """Every type in a batch.

    Raises:
        TypeError: a member has the wrong type.
    """
    require_several("envelopes", envelopes, Envelope)
    for envelope in envelopes:
        # Exact types first, all at once: the loops below only find the one that is to be named.
        if set(map(type, _texts_of(envelope))) != {str}:
            require_texts(**{name: getattr(envelope, name) for name in _TEXTS})
        if set(map(type, _integers_of(envelope))) != {int}:
            require_integers(**{name: getattr(envelope, name) for name in _INTEGERS})
        for name in _FLAGS:
            if not isinstance(value := getattr(envelope, name), bool):
                raise _wrong(name, "bool", value)
        require_bytes(payload=envelope.payload)
        if envelope.unique_key is not None and not isinstance(envelope.unique_key, bytes):
            raise _wrong("unique_key", "bytes or None", envelope.unique_key)
        _require_headers(envelope.headers)
        if envelope.tags != ():
            require_several_texts("tags", envelope.tags)


def _require_headers(headers: object) -> None:
    if not isinstance(headers, Mapping):
        raise _wrong("headers", "a mapping of str to str", headers)
    for key, value in headers.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(f"headers must map str to str, not {type(key).__name__} to {type(value).__name__}")


def require_lease(lease: LeaseRef) -> None:
    # Exact types first: the calls below only find the one that is to be named.
    if type(lease) is LeaseRef and type(lease.job_id) is type(lease.lease_id) is str and type(lease.fence) is int:
        return
    require_instance("lease", lease, LeaseRef)
    require_texts(job_id=lease.job_id, lease_id=lease.lease_id)
    require_integers(fence=lease.fence)


def require_admission(
    worker: object, lease_id: object, queues: object, capacity: object, lease_ms: object, quantum: object
) -> None:
    """Every type in a request for jobs."""
    # Exact types first, as above.
    if not type(worker) is type(lease_id) is str:
        require_texts(worker=worker, lease_id=lease_id)
    require_several_texts("queues", queues)
    if not type(capacity) is type(lease_ms) is type(quantum) is int:
        require_integers(capacity=capacity, lease_ms=lease_ms, quantum=quantum)


def require_outcome(outcome: object) -> None:
    """An `Outcome`, or a text that may turn out to be none."""
    if not isinstance(outcome, str):
        raise _wrong("outcome", "Outcome", outcome)


def require_result(name: str, result: JobResult) -> None:
    require_instance(name, result, JobResult)
    require_integers(schema_version=result.schema_version)
    require_bytes(content=result.content)


def require_progress(progress: ProgressUpdate) -> None:
    require_instance("progress", progress, ProgressUpdate)
    require_integers(current=progress.current, total=progress.total)
    require_optional_texts(message=progress.message)


def require_checkpoint(checkpoint: Checkpoint) -> None:
    require_instance("checkpoint", checkpoint, Checkpoint)
    require_optional_texts(
        last_completed_step=checkpoint.last_completed_step,
        in_progress_step=checkpoint.in_progress_step,
        cursor_step=checkpoint.cursor_step,
    )
    require_several_texts("completed_steps", checkpoint.completed_steps)
    require_integers(schema_version=checkpoint.schema_version)
    require_texts(step_set_hash=checkpoint.step_set_hash)
    if checkpoint.cursor is not None:
        require_bytes(cursor=checkpoint.cursor)
    require_several("crashes_by_step", checkpoint.crashes_by_step, tuple)
    for pair in checkpoint.crashes_by_step:
        if len(pair) != 2:
            raise TypeError(f"a member of crashes_by_step must be a step and a count, not {len(pair)} values")
        require_texts(step=pair[0])
        require_integers(count=pair[1])


def require_transaction(transaction: object) -> None:
    """Anything that can be committed and rolled back is the transaction of some store."""
    if not all(callable(getattr(transaction, verb, None)) for verb in ("commit", "rollback")):
        raise _wrong("transaction", "a Transaction", transaction)


def require_filter(where: JobFilter) -> None:
    require_instance("where", where, JobFilter)
    if where.state is not None:
        require_instance("state", where.state, State)
    names = ("queue", "kind", "kind_prefix", "partition_key", "id", "fingerprint", "rate_class")
    require_optional_texts(**{name: getattr(where, name) for name in names})
    require_optional_integers(priority=where.priority)
    require_several_texts("tags_all", where.tags_all)
    require_several_texts("tags_any", where.tags_any)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_unstorable_texts(*texts: str | None) -> None:
    """Raises:
    JobError: Invalid (``bad_text``), for a lone surrogate, which UTF-8 cannot write.
    """
    for text in texts:
        if text is not None and not text.isascii() and not _is_unicode(text):
            raise invalid("bad_text")


def refuse_instants_out_of_range(*values: int | None) -> None:
    """Raises:
    JobError: Invalid (``out_of_range``), beyond signed 64 bits.
    """
    for value in values:
        if value is not None and not LEAST_INSTANT <= value <= GREATEST_INSTANT:
            raise invalid("out_of_range")


def refuse_counts_out_of_range(*values: int | None) -> None:
    """Raises:
    JobError: Invalid (``out_of_range``), negative or beyond 32 bits.
    """
    for value in values:
        if value is not None and not 0 <= value <= GREATEST_COUNT:
            raise invalid("out_of_range")


def refuse_envelope_out_of_range(envelope: Envelope) -> None:
    """What no field of its type can hold; ``unique_replace`` has a reason of its own.

    Raises:
        JobError: Invalid (``out_of_range``, ``bad_text``).
    """
    counts, instants = _counts_of(envelope), _instants_of(envelope)
    if min(counts) < 0 or max(counts) > GREATEST_COUNT:
        raise invalid("out_of_range")
    if min(instants) < LEAST_INSTANT or max(instants) > GREATEST_INSTANT:
        raise invalid("out_of_range")
    if not LEAST_PRIORITY <= envelope.priority <= GREATEST_PRIORITY:
        raise invalid("out_of_range")
    refuse_unstorable_texts("".join(_texts_of(envelope)))
    for key, value in envelope.headers.items():
        refuse_unstorable_texts(key, value)


def refuse_unstorable_lease(lease: LeaseRef) -> None:
    """Raises:
    JobError: Invalid (``bad_text``).
    """
    if not (lease.job_id.isascii() and lease.lease_id.isascii()):
        refuse_unstorable_texts(lease.job_id, lease.lease_id)


def refuse_unstorable_checkpoint(checkpoint: Checkpoint) -> None:
    """Raises:
    JobError: Invalid (``out_of_range``, ``bad_text``).
    """
    refuse_counts_out_of_range(checkpoint.schema_version, *[count for _, count in checkpoint.crashes_by_step])
    refuse_unstorable_texts(
        checkpoint.last_completed_step,
        *checkpoint.completed_steps,
        checkpoint.in_progress_step,
        checkpoint.cursor_step,
        checkpoint.step_set_hash,
        *[step for step, _ in checkpoint.crashes_by_step],
    )


def refuse_unstorable_filter(where: JobFilter, cursor: str | None) -> None:
    """Raises:
    JobError: Invalid (``out_of_range``, ``bad_text``).
    """
    if where.priority is not None and not LEAST_PRIORITY <= where.priority <= GREATEST_PRIORITY:
        raise invalid("out_of_range")
    refuse_unstorable_texts(cursor, where.queue, where.kind, where.kind_prefix)
    refuse_unstorable_texts(where.partition_key, where.id, where.fingerprint, where.rate_class)
    refuse_unstorable_texts(*where.tags_all, *where.tags_any)


def outcome_of(outcome: str) -> Outcome:
    """Raises:
    JobError: Invalid (``unknown_outcome``).
    """
    if type(outcome) is Outcome:
        return outcome
    try:
        return Outcome(outcome)
    except ValueError as error:
        raise invalid("unknown_outcome") from error


def refuse_short_lease(lease_ms: int) -> None:
    """Raises:
    JobError: Invalid (``bad_lease``, below a millisecond; ``out_of_range``) (JOB-ADM-01).
    """
    if lease_ms < 1:
        raise invalid("bad_lease")
    if lease_ms > GREATEST_INSTANT:
        raise invalid("out_of_range")
