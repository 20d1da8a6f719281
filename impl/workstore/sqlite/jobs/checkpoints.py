"""Checkpoints: what a run leaves for the next, stored whole and replaced whole (contract, 8.2)."""

from __future__ import annotations

import json
import sqlite3
from typing import Final

from attrs import evolve

from workspec.jobs.vocabulary import Checkpoint

from .numbers import counted

EMPTY: Final = Checkpoint(
    last_completed_step=None,
    completed_steps=(),
    in_progress_step=None,
    cursor_step=None,
    cursor=None,
    schema_version=0,
    step_set_hash="",
    crashes_by_step=(),
)
_FIND: Final = "SELECT document, cursor FROM checkpoints WHERE row_id = ?"
_OF_JOB: Final = "SELECT document, cursor FROM jobs LEFT JOIN checkpoints USING (row_id) WHERE id = ?"
_WRITE: Final = (
    "INSERT INTO checkpoints (row_id, document, cursor) VALUES (?, ?, ?) "
    "ON CONFLICT (row_id) DO UPDATE SET document = excluded.document, cursor = excluded.cursor"
)


def decode(document: str | None, cursor: bytes | None) -> Checkpoint:
    """A stored checkpoint; an empty one where none was written (JOB-ADM-08)."""
    if document is None:
        return EMPTY
    last, completed, in_progress, cursor_step, schema_version, step_set_hash, crashes = json.loads(document)
    return Checkpoint(
        last_completed_step=last,
        completed_steps=tuple(completed),
        in_progress_step=in_progress,
        cursor_step=cursor_step,
        cursor=cursor,
        schema_version=schema_version,
        step_set_hash=step_set_hash,
        crashes_by_step=tuple((step, count) for step, count in crashes),
    )


def find(connection: sqlite3.Connection, row_id: int) -> Checkpoint:
    found = connection.execute(_FIND, (row_id,)).fetchone()
    return EMPTY if found is None else decode(*found)


def of_job(connection: sqlite3.Connection, job_id: str) -> Checkpoint | None:
    """That of the job with this id, None where there is no such job."""
    found = connection.execute(_OF_JOB, (job_id,)).fetchone()
    return None if found is None else decode(*found)


def write(connection: sqlite3.Connection, row_id: int, checkpoint: Checkpoint) -> None:
    """Replace the whole of it: counts of crashes are the writer's to carry on (JOB-CKP-04)."""
    document = [
        checkpoint.last_completed_step,
        list(checkpoint.completed_steps),
        checkpoint.in_progress_step,
        checkpoint.cursor_step,
        checkpoint.schema_version,
        checkpoint.step_set_hash,
        checkpoint.crashes_by_step,
    ]
    connection.execute(_WRITE, (row_id, json.dumps(document, ensure_ascii=False), checkpoint.cursor))


def count_crash(connection: sqlite3.Connection, row_id: int) -> None:
    """One crash more on the step that was in progress, if any was (JOB-RCL-04)."""
    checkpoint = find(connection, row_id)
    step = checkpoint.in_progress_step
    if step is None:
        return
    crashes = list(checkpoint.crashes_by_step)
    for position, (name, count) in enumerate(crashes):
        if name == step:
            crashes[position] = (name, counted(count + 1))
            break
    else:
        crashes.append((step, 1))
    write(connection, row_id, evolve(checkpoint, crashes_by_step=tuple(crashes)))
