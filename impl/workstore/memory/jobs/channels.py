"""What a run writes beside its outcome: checkpoint, result, output, progress (8.2, section 9)."""

from __future__ import annotations

from workspec.jobs.vocabulary import Checkpoint, JobOutput, JobProgress, JobResult, LeaseRef, ProgressUpdate
from workstore.memory.carriers import changed
from workstore.memory.jobs.numbers import I32_MAX, I64_MAX
from workstore.memory.jobs.outcomes import held_row
from workstore.memory.jobs.refusals import invalid
from workstore.memory.jobs.storable import check_range, check_texts
from workstore.memory.jobs.tables import View
from workstore.memory.jobs.validation import byte_length

CONTENT_MAX = 33_554_432
TOTAL_MAX = 9_007_199_254_740_991
MESSAGE_MAX = 512


def check_content(written: JobResult) -> None:
    """JOB-RES-01, in its order.

    Raises:
        JobError: Invalid (``schema_zero``, ``schema_too_large``, ``too_large``).
    """
    if written.schema_version < 1:
        raise invalid("schema_zero", "a schema version is at least 1")
    if written.schema_version > I32_MAX:
        raise invalid("schema_too_large", f"a schema version is at most {I32_MAX}")
    if len(written.content) > CONTENT_MAX:
        raise invalid("too_large", f"{len(written.content)} bytes; at most {CONTENT_MAX} are stored")


def check_progress(progress: ProgressUpdate) -> None:
    """JOB-PRG-01, in its order; then a current that is no u64, and text that is none.

    Raises:
        JobError: Invalid.
    """
    if progress.total < 1:
        raise invalid("progress_zero_total", "there is no progress towards nothing")
    if progress.current > progress.total:
        raise invalid("progress_over_total", f"{progress.current} is above the total of {progress.total}")
    if progress.total > TOTAL_MAX:
        raise invalid("progress_total_too_large", f"a total is at most {TOTAL_MAX}")
    message = progress.message or ""
    if byte_length(message) > MESSAGE_MAX:
        raise invalid("progress_message_too_long", f"a message has at most {MESSAGE_MAX} bytes")
    if "\0" in message:
        raise invalid("progress_message_nul", "a message holds no NUL")
    check_range("current", progress.current, 0, I64_MAX)
    check_texts(progress.message)


def write_checkpoint(view: View, ref: LeaseRef, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint whole; crash counts are the writer's to carry on (JOB-CKP-01, JOB-CKP-04).

    Raises:
        JobError: LeaseRejected.
    """
    view.put(changed(held_row(view, ref), checkpoint=checkpoint))


def write_output(view: View, ref: LeaseRef, written: JobResult, now_ms: int) -> JobOutput:
    """JOB-OUT-01.

    Raises:
        JobError: LeaseRejected.
    """
    row = held_row(view, ref)
    output = JobOutput(written.schema_version, written.content, row.fence, now_ms)
    view.put(changed(row, output=output))
    return output


def write_progress(view: View, ref: LeaseRef, update: ProgressUpdate, now_ms: int) -> JobProgress:
    """Replace the progress; it may go down (JOB-PRG-02).

    Raises:
        JobError: LeaseRejected.
    """
    row = held_row(view, ref)
    progress = JobProgress(update.current, update.total, update.message, row.fence, now_ms)
    view.put(changed(row, progress=progress))
    return progress
