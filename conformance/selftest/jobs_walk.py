"""Random walks that hold a job store beside the rules of the jobs contract, answer by answer and row by row."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from attrs import evolve

from workcert.judge.differences import differences
from workspec.core.interpreter import Accepted, Committed, apply
from workspec.core.record import State
from workspec.core.sample import Sample, walk
from workspec.jobs.contract import CONTRACT
from workspec.jobs.facts import JobFacts, present
from workspec.jobs.samples import propose
from workspec.jobs.vocabulary import JobError, QueueStats

SHOWN_CALLS = 8
_CHANNELS = {
    "checkpoint": "get_checkpoint",
    "result": "get_job_result",
    "output": "get_job_output",
    "progress": "get_job_progress",
}
_NOT_ASSERTED = {
    "arrived_last_minute": None,
    "completed_last_minute": None,
    "time_to_drain_ms": None,
    "reason": "",
}


def disagreements(open_store: Callable[[], Any], *, seed: int, walks: int, steps: int) -> list[str]:
    """Where the store answers or keeps something else than the rules say; at most one for each walk."""
    found = []
    for number in range(walks):
        store = open_store()
        try:
            trouble = _walk(store, random.Random(seed * 1000 + number).choice, steps)
        finally:
            store.close()
        if trouble:
            found.append(f"walk {number}: {trouble}")
    return found


def _walk(store: Any, pick: Callable[..., Any], steps: int) -> str:
    made: list[str] = []
    for sample in walk(CONTRACT, propose, pick, walks=1, steps=steps):
        call, now_ms = sample.call, sample.now
        given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        made.append(f"  at {now_ms}: {call.name}({given})")
        trouble = _compare(store, sample, apply(CONTRACT, sample.state, call, now_ms))
        if trouble:
            return "\n".join([trouble, *made[-SHOWN_CALLS:]])
    return ""


def _compare(store: Any, sample: Sample, done: Committed) -> str:
    call, before = sample.call, sample.state
    store.freeze_clock(at_ms=sample.now)
    expected = done.outcome
    try:
        answer = getattr(store, call.name)(**call.arguments)
    except JobError as error:
        seen = (str(error.code), dict(error.details or {}))
        due = None if isinstance(expected, Accepted) else (str(expected.code), dict(expected.details or {}))
        return _rows(store, before, done.state) if seen == due else f"refused with {seen}, expected {expected}"
    if not isinstance(expected, Accepted):
        return f"answered {answer!r}, expected {expected}"
    apart = differences(_asserted(expected.value), _asserted(answer))
    return f"answer of {call.name}: {apart[0]}" if apart else _rows(store, before, done.state)


def _asserted(value: Any) -> Any:
    """Without what the contract does not assert."""
    if isinstance(value, list | tuple):
        return [_asserted(item) for item in value if not _may_be_absent(item)]
    hidden = {name: blank for name, blank in _NOT_ASSERTED.items() if hasattr(value, name)}
    return evolve(value, **hidden) if hidden else value


def _may_be_absent(value: Any) -> bool:
    """Statistics of a queue without rows and settings (JOB-BPR-12, JOB-PRT-13)."""
    return isinstance(value, QueueStats) and not (
        value.by_state or value.paused or value.max_unfinished_jobs is not None
    )


def _rows(store: Any, before: State, after: State) -> str:
    """Every row as operators read it; of those that the call changed, what runs have written too."""
    rows = {key: record for key, record in after.items() if isinstance(record.facts, JobFacts)}
    for key, record in rows.items():
        job_id = record.facts.id
        seen = store.get_job(job_id=job_id, include_payload=True)
        if seen is None:
            return f"the row {job_id} is gone"
        apart = differences(present(record), seen)
        if record is not before.get(key):
            for member, read in _CHANNELS.items():
                apart += differences(getattr(record.facts, member), getattr(store, read)(job_id=job_id))
        if apart:
            return f"row {job_id}: {apart[0]}"
    kept = sum(store.counts(queue=None).by_state.values())
    return "" if kept == len(rows) else f"{kept} rows are kept, expected {len(rows)}"
