"""The boundary of enqueue: what a batch may be, in the normative order (contract, 5.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from workspec.jobs.vocabulary import Envelope, JobResult, ProgressUpdate

from .arguments import refuse_envelope_out_of_range, refuse_instants_out_of_range, refuse_unstorable_texts
from .refusals import id_conflict, invalid

GREATEST_BATCH: Final = 1_000
GREATEST_BATCH_BYTES: Final = 16_777_216
GREATEST_IDENTIFIER: Final = 255
GREATEST_PAYLOAD: Final = 1_048_576
GREATEST_UNIQUE_KEY: Final = 1_024
GREATEST_HEADERS: Final = 128
GREATEST_HEADER_BYTES: Final = 65_536
GREATEST_TAGS: Final = 32
GREATEST_TAG: Final = 64
GREATEST_CONTENT: Final = 33_554_432
GREATEST_SCHEMA_VERSION: Final = 2_147_483_647
GREATEST_TOTAL: Final = 9_007_199_254_740_991
GREATEST_MESSAGE: Final = 512
REPLACE_BITS: Final = 15

_KIND: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_\-\[\]<>/.:+]{0,127}")


def _size(text: str) -> int:
    """In UTF-8. A lone surrogate is counted here and refused after the table."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def refuse_faulty_batch(envelopes: Sequence[Envelope]) -> None:
    """Raises:
    JobError: Invalid, IdConflict (an id twice in the batch, JOB-ENQ-04).
    """
    if len(envelopes) > GREATEST_BATCH:
        raise invalid("batch_too_large")
    seen: set[str] = set()
    total = 0
    for envelope in envelopes:
        total = _refuse_faulty(envelope, total)
        if envelope.id in seen:
            raise id_conflict(envelope.id)
        seen.add(envelope.id)
    if len(envelopes) != 1 and any(one.unique_replace or one.unique_debounce_ms for one in envelopes):
        raise invalid("replace_needs_single")


def _refuse_faulty(envelope: Envelope, total: int) -> int:
    """Rows 1 to 20; the bytes of the batch with this envelope."""
    if not envelope.id:
        raise invalid("empty_id")
    if not _KIND.fullmatch(envelope.kind):
        raise invalid("bad_kind")
    total += _refuse_oversized(envelope)
    if total > GREATEST_BATCH_BYTES:
        raise invalid("batch_bytes")
    _refuse_negative(envelope)
    _refuse_uniqueness(envelope)
    _refuse_tags(envelope.tags)
    total += sum(map(len, envelope.tags)) + _size(envelope.sticky_worker) + _size(envelope.periodic_schedule_id)
    # P-04: the same bound once more, now with what has been found sound since.
    if total > GREATEST_BATCH_BYTES:
        raise invalid("batch_bytes")
    if envelope.pending and envelope.scheduled_at_ms != 0:
        raise invalid("pending_with_schedule")
    sticky = envelope.sticky_worker
    if not sticky.isascii() or len(sticky) > GREATEST_IDENTIFIER:
        raise invalid("bad_sticky_worker")
    tick = envelope.periodic_tick_ms
    if tick < 0 or (tick != 0) != (envelope.periodic_schedule_id != ""):
        raise invalid("bad_periodic_pair")
    # After the table, so that a reason of the contract is given where there is one.
    refuse_envelope_out_of_range(envelope)
    return total


def _refuse_oversized(envelope: Envelope) -> int:
    """Rows 3 to 7; the bytes that row 8 adds up."""
    identifiers = [
        _size(envelope.id),
        _size(envelope.queue),
        _size(envelope.partition_key),
        _size(envelope.rate_class),
        _size(envelope.fingerprint),
    ]
    if max(*identifiers, _size(envelope.periodic_schedule_id)) > GREATEST_IDENTIFIER:
        raise invalid("identifier_too_long")
    if len(envelope.payload) > GREATEST_PAYLOAD:
        raise invalid("payload_too_large")
    key_size = len(envelope.unique_key or b"")
    if key_size > GREATEST_UNIQUE_KEY:
        raise invalid("unique_key_too_long")
    headers = envelope.headers
    if len(headers) > GREATEST_HEADERS:
        raise invalid("too_many_headers")
    header_size = sum(_size(name) + _size(value) for name, value in headers.items())
    if header_size > GREATEST_HEADER_BYTES:
        raise invalid("headers_too_large")
    return sum(identifiers) + len(envelope.kind) + len(envelope.payload) + key_size + header_size


def _refuse_negative(envelope: Envelope) -> None:
    if envelope.timeout_ms < 0:
        raise invalid("negative_timeout")
    if envelope.deadline_ms < 0:
        raise invalid("negative_deadline")
    if envelope.retention_ms < 0:
        raise invalid("negative_retention")
    if envelope.unique_window_ms < 0:
        raise invalid("negative_window")
    if envelope.unique_debounce_ms < 0:
        raise invalid("negative_debounce")


def _refuse_uniqueness(envelope: Envelope) -> None:
    if envelope.unique_debounce_ms > 0 and (not envelope.unique_key or envelope.unique_window_ms > 0):
        raise invalid("debounce_needs_lifecycle_key")
    if envelope.unique_replace & ~REPLACE_BITS:
        raise invalid("unknown_replace_bits")
    if envelope.unique_replace and not envelope.unique_key:
        raise invalid("replace_needs_key")


def _refuse_tags(tags: Sequence[str]) -> None:
    if len(tags) > GREATEST_TAGS:
        raise invalid("too_many_tags")
    seen: set[str] = set()
    for tag in tags:
        if not 1 <= len(tag) <= GREATEST_TAG or not tag.isascii():
            raise invalid("bad_tag")
        if tag in seen:
            raise invalid("repeated_tag")
        seen.add(tag)


def refuse_faulty_result(result: JobResult) -> None:
    """What a result and an output may be (JOB-RES-01, JOB-OUT-01).

    Raises:
        JobError: Invalid (``schema_zero``, ``schema_too_large``, ``too_large``).
    """
    # Below zero there is no version either, and the contract has this one reason for that.
    if result.schema_version < 1:
        raise invalid("schema_zero")
    if result.schema_version > GREATEST_SCHEMA_VERSION:
        raise invalid("schema_too_large")
    if len(result.content) > GREATEST_CONTENT:
        raise invalid("too_large")


def refuse_faulty_progress(progress: ProgressUpdate) -> None:
    """Raises:
    JobError: Invalid, in the order of JOB-PRG-01.
    """
    if progress.total < 1:
        raise invalid("progress_zero_total")
    if progress.current > progress.total:
        raise invalid("progress_over_total")
    if progress.total > GREATEST_TOTAL:
        raise invalid("progress_total_too_large")
    message = progress.message or ""
    if _size(message) > GREATEST_MESSAGE:
        raise invalid("progress_message_too_long")
    if "\0" in message:
        raise invalid("progress_message_nul")
    if progress.current < 0:
        raise invalid("out_of_range")
    refuse_instants_out_of_range(progress.current, progress.total)
    refuse_unstorable_texts(message)
