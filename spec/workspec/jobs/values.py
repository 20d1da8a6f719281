"""What makes a value unsound: the rows of the validation order, and the checks of kinds, results and progress.

One function per row of JOB-VAL says whether an envelope breaks it; the order of the rows belongs to the table that
names them. Sizes are bytes of UTF-8. Limits are parameters because a store may be opened with others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from attrs import frozen

from workspec.jobs.vocabulary import Envelope, JobResult, ProgressUpdate

MAX_BATCH: Final = 1_000
MAX_IDENTIFIER_BYTES: Final = 255
MAX_PAYLOAD_BYTES: Final = 1_048_576
MAX_KEY_BYTES: Final = 1_024
MAX_HEADERS: Final = 128
MAX_HEADER_BYTES: Final = 65_536
MAX_BATCH_BYTES: Final = 16_777_216
MAX_TAGS: Final = 32
MAX_TAG_BYTES: Final = 64
MAX_STICKY_BYTES: Final = 255
REPLACE_BITS: Final = 15

MAX_SCHEMA_VERSION: Final = 2_147_483_647
MAX_CONTENT_BYTES: Final = 33_554_432
MAX_PROGRESS: Final = 9_007_199_254_740_991
MAX_MESSAGE_BYTES: Final = 512

KIND: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_\-\[\]<>/.:+]{0,127}")


def is_kind(text: str) -> bool:
    """1 to 128 bytes of ASCII from a fixed set (JOB-KND-01)."""
    return KIND.fullmatch(text) is not None


# Sizes -----------------------------------------------------------------------------------------------------------


def text_bytes(text: str) -> int:
    """Total on purpose: text that UTF-8 cannot carry has a size too."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def identifier_bytes(envelope: Envelope) -> int:
    """The longest of the six identifiers (JOB-VAL-03)."""
    return max(
        text_bytes(text)
        for text in (
            envelope.id,
            envelope.queue,
            envelope.partition_key,
            envelope.rate_class,
            envelope.fingerprint,
            envelope.periodic_schedule_id,
        )
    )


def key_bytes(envelope: Envelope) -> int:
    return len(envelope.unique_key or b"")


def header_bytes(envelope: Envelope) -> int:
    return sum(text_bytes(key) + text_bytes(value) for key, value in envelope.headers.items())


def batch_bytes(envelopes: Sequence[Envelope]) -> tuple[tuple[int, int], ...]:
    """For each envelope the running total of the batch at its two tests (JOB-VAL-08): before tags, sticky worker and
    schedule id are added, and after."""
    return _totals(_Same(envelopes)) if isinstance(envelopes, tuple) else _totals_of(envelopes)


@frozen(eq=False)
class _Same:
    """A batch as the key of a cache, equal to itself alone."""

    envelopes: tuple[Envelope, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.envelopes is other.envelopes

    def __hash__(self) -> int:
        return id(self.envelopes)


# Each envelope of a batch asks twice; without this the cost of a batch would grow with the square of its length.
@lru_cache(maxsize=1)
def _totals(batch: _Same) -> tuple[tuple[int, int], ...]:
    return _totals_of(batch.envelopes)


def _totals_of(envelopes: Sequence[Envelope]) -> tuple[tuple[int, int], ...]:
    totals = []
    total = 0
    for envelope in envelopes:
        early = total + _early_bytes(envelope)
        total = early + _late_bytes(envelope)
        totals.append((early, total))
    return tuple(totals)


def _early_bytes(envelope: Envelope) -> int:
    texts = (
        envelope.id,
        envelope.kind,
        envelope.queue,
        envelope.partition_key,
        envelope.rate_class,
        envelope.fingerprint,
    )
    return len(envelope.payload) + header_bytes(envelope) + sum(map(text_bytes, texts)) + key_bytes(envelope)


def _late_bytes(envelope: Envelope) -> int:
    return sum(map(text_bytes, (*envelope.tags, envelope.sticky_worker, envelope.periodic_schedule_id)))


# Envelopes: the rows of JOB-VAL ----------------------------------------------------------------------------------


def batch_too_large(envelopes: Sequence[Envelope], limit: int = MAX_BATCH) -> bool:
    """JOB-VAL-00."""
    return len(envelopes) > limit


def empty_id(envelope: Envelope) -> bool:
    """JOB-VAL-01."""
    return not envelope.id


def bad_kind(envelope: Envelope) -> bool:
    """JOB-VAL-02."""
    return not is_kind(envelope.kind)


def identifier_too_long(envelope: Envelope, limit: int = MAX_IDENTIFIER_BYTES) -> bool:
    """JOB-VAL-03."""
    return identifier_bytes(envelope) > limit


def payload_too_large(envelope: Envelope, limit: int = MAX_PAYLOAD_BYTES) -> bool:
    """JOB-VAL-04."""
    return len(envelope.payload) > limit


def unique_key_too_long(envelope: Envelope, limit: int = MAX_KEY_BYTES) -> bool:
    """JOB-VAL-05."""
    return key_bytes(envelope) > limit


def too_many_headers(envelope: Envelope, limit: int = MAX_HEADERS) -> bool:
    """JOB-VAL-06."""
    return len(envelope.headers) > limit


def headers_too_large(envelope: Envelope, limit: int = MAX_HEADER_BYTES) -> bool:
    """JOB-VAL-07."""
    return header_bytes(envelope) > limit


def batch_bytes_early(envelopes: Sequence[Envelope], index: int, limit: int = MAX_BATCH_BYTES) -> bool:
    """JOB-VAL-08, before row 9."""
    return batch_bytes(envelopes)[index][0] > limit


def batch_bytes_late(envelopes: Sequence[Envelope], index: int, limit: int = MAX_BATCH_BYTES) -> bool:
    """JOB-VAL-08, after row 17."""
    return batch_bytes(envelopes)[index][1] > limit


def negative_timeout(envelope: Envelope) -> bool:
    """JOB-VAL-09, the first of three."""
    return envelope.timeout_ms < 0


def negative_deadline(envelope: Envelope) -> bool:
    """JOB-VAL-09, the second of three."""
    return envelope.deadline_ms < 0


def negative_retention(envelope: Envelope) -> bool:
    """JOB-VAL-09, the third of three."""
    return envelope.retention_ms < 0


def negative_window(envelope: Envelope) -> bool:
    """JOB-VAL-10."""
    return envelope.unique_window_ms < 0


def negative_debounce(envelope: Envelope) -> bool:
    """JOB-VAL-11."""
    return envelope.unique_debounce_ms < 0


def debounce_needs_lifecycle_key(envelope: Envelope) -> bool:
    """JOB-VAL-12."""
    return envelope.unique_debounce_ms > 0 and (not envelope.unique_key or envelope.unique_window_ms > 0)


def unknown_replace_bits(envelope: Envelope) -> bool:
    """JOB-VAL-13."""
    return envelope.unique_replace & ~REPLACE_BITS != 0


def replace_needs_key(envelope: Envelope) -> bool:
    """JOB-VAL-14."""
    return envelope.unique_replace != 0 and not envelope.unique_key


def too_many_tags(envelope: Envelope) -> bool:
    """JOB-VAL-15."""
    return len(envelope.tags) > MAX_TAGS


def bad_tag(envelope: Envelope) -> bool:
    """JOB-VAL-16: the first tag at fault is no tag."""
    return tag_fault(envelope.tags) == "bad_tag"


def repeated_tag(envelope: Envelope) -> bool:
    """JOB-VAL-17: the first tag at fault has been seen before."""
    return tag_fault(envelope.tags) == "repeated_tag"


def tag_fault(tags: Iterable[str]) -> str | None:
    """The reason of the first tag at fault: rows 16 and 17 are asked of one tag before the next one's turn."""
    seen: set[str] = set()
    for tag in tags:
        if not tag or not tag.isascii() or len(tag) > MAX_TAG_BYTES:
            return "bad_tag"
        if tag in seen:
            return "repeated_tag"
        seen.add(tag)
    return None


def pending_with_schedule(envelope: Envelope) -> bool:
    """JOB-VAL-18."""
    return envelope.pending and envelope.scheduled_at_ms != 0


def bad_sticky_worker(envelope: Envelope) -> bool:
    """JOB-VAL-19."""
    worker = envelope.sticky_worker
    return not worker.isascii() or len(worker) > MAX_STICKY_BYTES


def bad_periodic_pair(envelope: Envelope) -> bool:
    """JOB-VAL-20."""
    tick_ms = envelope.periodic_tick_ms
    return tick_ms < 0 or (envelope.periodic_schedule_id != "") != (tick_ms != 0)


def repeats_id(envelopes: Sequence[Envelope], index: int) -> bool:
    """JOB-VAL-21: answered with IdConflict, not with Invalid."""
    return any(envelope.id == envelopes[index].id for envelope in envelopes[:index])


def replace_needs_single(envelopes: Sequence[Envelope]) -> bool:
    """JOB-VAL-22, asked after all envelopes."""
    return len(envelopes) != 1 and any(
        envelope.unique_replace != 0 or envelope.unique_debounce_ms > 0 for envelope in envelopes
    )


# What a run writes -----------------------------------------------------------------------------------------------


def result_fault(result: JobResult) -> str | None:
    """The reason why a result or an output is refused, the first in the order of JOB-RES-01."""
    if result.schema_version <= 0:
        return "schema_zero"
    if result.schema_version > MAX_SCHEMA_VERSION:
        return "schema_too_large"
    if len(result.content) > MAX_CONTENT_BYTES:
        return "too_large"
    return None


def progress_fault(progress: ProgressUpdate) -> str | None:
    """The reason why a progress is refused, the first in the order of JOB-PRG-01."""
    if progress.total <= 0:
        return "progress_zero_total"
    if progress.current > progress.total:
        return "progress_over_total"
    if progress.total > MAX_PROGRESS:
        return "progress_total_too_large"
    message = progress.message or ""
    if text_bytes(message) > MAX_MESSAGE_BYTES:
        return "progress_message_too_long"
    if "\x00" in message:
        return "progress_message_nul"
    return None
