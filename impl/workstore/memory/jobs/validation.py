"""What a batch of envelopes must look like: the boundary table of the contract (5.2), in its order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workspec.jobs.vocabulary import Envelope
from workstore.memory.jobs.refusals import id_conflict, invalid
from workstore.memory.jobs.storable import check_envelope

BATCH_MAX = 1_000
BATCH_BYTES_MAX = 16_777_216
IDENTIFIER_MAX = 255
PAYLOAD_MAX = 1_048_576
UNIQUE_KEY_MAX = 1_024
HEADERS_MAX = 128
HEADER_BYTES_MAX = 65_536
TAGS_MAX = 32
TAG_MAX = 64
REPLACE_BITS = 15

KIND = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_\-\[\]<>/.:+]{0,127}")
"""Section 3.2."""


def check_batch(batch: Sequence[Envelope]) -> None:
    """Refuse a malformed batch (JOB-ENQ-01, first phase).

    Raises:
        JobError: Invalid; IdConflict for an id that stands twice (JOB-ENQ-04).
    """
    if len(batch) > BATCH_MAX:
        raise invalid("batch_too_large", f"{len(batch)} envelopes; a batch has at most {BATCH_MAX}")
    seen: set[str] = set()
    batch_bytes = 0
    for envelope in batch:
        batch_bytes += _check_sizes(envelope, batch_bytes)
        _check_durations(envelope)
        _check_uniqueness(envelope)
        batch_bytes += _check_tags(envelope, batch_bytes)
        _check_origin(envelope)
        # After the table, so that a reason of the contract is given where there is one.
        check_envelope(envelope)
        if envelope.id in seen:
            raise id_conflict(envelope.id)
        seen.add(envelope.id)
    if len(batch) > 1 and any(envelope.unique_replace or envelope.unique_debounce_ms for envelope in batch):
        raise invalid("replace_needs_single", "replacement and debounce need a batch of one envelope")


def byte_length(*texts: str) -> int:
    """The length in UTF-8. A lone surrogate is counted, and refused later."""
    return sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in texts)


def check_payload_size(payload: bytes) -> None:
    if len(payload) > PAYLOAD_MAX:
        raise invalid("payload_too_large", f"the payload has {len(payload)} bytes; at most {PAYLOAD_MAX} are stored")


def _check_sizes(envelope: Envelope, batch_bytes: int) -> int:
    """Rows 1 to 8; how many bytes they count."""
    if not envelope.id:
        raise invalid("empty_id", "a job needs an id")
    if KIND.fullmatch(envelope.kind) is None:
        raise invalid("bad_kind", f"{envelope.kind[:40]!r} is no kind of job")
    identifiers = (
        envelope.id,
        envelope.queue,
        envelope.partition_key,
        envelope.rate_class,
        envelope.fingerprint,
        envelope.periodic_schedule_id,
    )
    if any(byte_length(identifier) > IDENTIFIER_MAX for identifier in identifiers):
        raise invalid("identifier_too_long", f"an identifier has more than {IDENTIFIER_MAX} bytes")
    check_payload_size(envelope.payload)
    unique_key = envelope.unique_key or b""
    if len(unique_key) > UNIQUE_KEY_MAX:
        raise invalid("unique_key_too_long", f"the unique key has more than {UNIQUE_KEY_MAX} bytes")
    if len(envelope.headers) > HEADERS_MAX:
        raise invalid("too_many_headers", f"{len(envelope.headers)} headers; at most {HEADERS_MAX}")
    header_bytes = byte_length(*envelope.headers, *envelope.headers.values())
    if header_bytes > HEADER_BYTES_MAX:
        raise invalid("headers_too_large", f"the headers have {header_bytes} bytes; at most {HEADER_BYTES_MAX}")
    # The schedule id counts later, with the tags (row 8).
    counted = len(envelope.payload) + header_bytes + len(unique_key) + byte_length(envelope.kind, *identifiers[:-1])
    _check_batch_bytes(batch_bytes + counted)
    return counted


def _check_batch_bytes(batch_bytes: int) -> None:
    if batch_bytes > BATCH_BYTES_MAX:
        raise invalid("batch_bytes", f"the batch has more than {BATCH_BYTES_MAX} bytes; split it")


def _check_durations(envelope: Envelope) -> None:
    """Rows 9 to 11."""
    durations = {
        "negative_timeout": envelope.timeout_ms,
        "negative_deadline": envelope.deadline_ms,
        "negative_retention": envelope.retention_ms,
        "negative_window": envelope.unique_window_ms,
        "negative_debounce": envelope.unique_debounce_ms,
    }
    for reason, duration in durations.items():
        if duration < 0:
            raise invalid(reason, f"it is {duration}")


def _check_uniqueness(envelope: Envelope) -> None:
    """Rows 12 to 14."""
    has_lifecycle_key = bool(envelope.unique_key) and envelope.unique_window_ms == 0
    if envelope.unique_debounce_ms > 0 and not has_lifecycle_key:
        raise invalid("debounce_needs_lifecycle_key", "debounce needs a unique key without a window")
    if envelope.unique_replace & ~REPLACE_BITS:
        raise invalid("unknown_replace_bits", f"unique_replace is {envelope.unique_replace}; its bits are 1, 2, 4, 8")
    if envelope.unique_replace and not envelope.unique_key:
        raise invalid("replace_needs_key", "replacement needs a unique key")


def _check_tags(envelope: Envelope, batch_bytes: int) -> int:
    """Rows 15 to 17, and row 8 again (P-04); how many bytes they count."""
    if len(envelope.tags) > TAGS_MAX:
        raise invalid("too_many_tags", f"{len(envelope.tags)} tags; at most {TAGS_MAX}")
    seen: set[str] = set()
    for tag in envelope.tags:
        if not 0 < len(tag) <= TAG_MAX or not tag.isascii():
            raise invalid("bad_tag", f"{tag[:40]!r} is no tag: 1 to {TAG_MAX} ASCII characters")
        if tag in seen:
            raise invalid("repeated_tag", f"{tag!r} stands twice")
        seen.add(tag)
    counted = byte_length(*envelope.tags, envelope.sticky_worker, envelope.periodic_schedule_id)
    _check_batch_bytes(batch_bytes + counted)
    return counted


def _check_origin(envelope: Envelope) -> None:
    """Rows 18 to 20."""
    if envelope.pending and envelope.scheduled_at_ms != 0:
        raise invalid("pending_with_schedule", "a pending job has no due time yet")
    if len(envelope.sticky_worker) > IDENTIFIER_MAX or not envelope.sticky_worker.isascii():
        raise invalid("bad_sticky_worker", f"a route has at most {IDENTIFIER_MAX} ASCII characters")
    has_schedule, has_tick = envelope.periodic_schedule_id != "", envelope.periodic_tick_ms != 0
    if has_schedule != has_tick or envelope.periodic_tick_ms < 0:
        raise invalid("bad_periodic_pair", "a schedule id and a positive tick go together")
