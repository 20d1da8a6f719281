"""What a run writes beside its outcome: result, output and progress (contract, 9)."""

from __future__ import annotations

import sqlite3
from typing import Final

from workspec.jobs.vocabulary import JobOutput, JobProgress, JobResult, LeaseRef, ProgressUpdate

from . import rows

_KEEP_RESULT: Final = (
    "INSERT INTO results (row_id, schema_version, content) VALUES (?, ?, ?) "
    "ON CONFLICT (row_id) DO UPDATE SET schema_version = excluded.schema_version, content = excluded.content"
)
_WRITE_OUTPUT: Final = "INSERT OR REPLACE INTO outputs (row_id, schema_version, content, fence, updated_at_ms) " + (
    "VALUES (?, ?, ?, ?, ?)"
)
_WRITE_PROGRESS: Final = (
    "INSERT OR REPLACE INTO progress (row_id, current, total, message, fence, updated_at_ms) VALUES (?, ?, ?, ?, ?, ?)"
)
_RESULT: Final = "SELECT results.schema_version, content FROM results JOIN jobs USING (row_id) WHERE id = ?"
_OUTPUT: Final = (
    "SELECT outputs.schema_version, content, outputs.fence, updated_at_ms FROM outputs JOIN jobs USING (row_id) "
    "WHERE id = ?"
)
_PROGRESS: Final = (
    "SELECT current, total, message, progress.fence, updated_at_ms FROM progress JOIN jobs USING (row_id) WHERE id = ?"
)


def keep_result(connection: sqlite3.Connection, row_id: int, result: JobResult) -> None:
    """Store the result of a job that stays (JOB-RES-02). An operator's retry may have left an earlier one."""
    connection.execute(_KEEP_RESULT, (row_id, result.schema_version, result.content))


def result(connection: sqlite3.Connection, job_id: str) -> JobResult | None:
    """JOB-RES-03."""
    found = connection.execute(_RESULT, (job_id,)).fetchone()
    return None if found is None else JobResult(*found)


def write_output(connection: sqlite3.Connection, now: int, lease: LeaseRef, output: JobResult) -> JobOutput:
    """Replace the output (JOB-OUT-01).

    Raises:
        JobError: LeaseRejected.
    """
    run = rows.held(connection, lease)
    written = JobOutput(output.schema_version, output.content, run.fence, now)
    values = (run.row_id, written.schema_version, written.content, written.fence, written.updated_at_ms)
    connection.execute(_WRITE_OUTPUT, values)
    return written


def output(connection: sqlite3.Connection, job_id: str) -> JobOutput | None:
    """JOB-OUT-03."""
    found = connection.execute(_OUTPUT, (job_id,)).fetchone()
    return None if found is None else JobOutput(*found)


def write_progress(connection: sqlite3.Connection, now: int, lease: LeaseRef, progress: ProgressUpdate) -> JobProgress:
    """Replace the progress, which may go down (JOB-PRG-02).

    Raises:
        JobError: LeaseRejected.
    """
    run = rows.held(connection, lease)
    written = JobProgress(progress.current, progress.total, progress.message, run.fence, now)
    values = (run.row_id, written.current, written.total, written.message, written.fence, written.updated_at_ms)
    connection.execute(_WRITE_PROGRESS, values)
    return written


def progress(connection: sqlite3.Connection, job_id: str) -> JobProgress | None:
    """JOB-PRG-04."""
    found = connection.execute(_PROGRESS, (job_id,)).fetchone()
    return None if found is None else JobProgress(*found)
