"""Random walks that hold a job store beside the rules of the jobs contract, answer by answer and row by row."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from attrs import evolve

from workcert.judge.differences import differences
from workspec.core.interpreter import Accepted, Committed, apply
from workspec.core.record import State
from workspec.core.sample import walk
from workspec.core.scope import Call
from workspec.jobs.contract import CONTRACT
from workspec.jobs.facts import JobFacts, present
from workspec.jobs.samples import propose
from workspec.jobs.vocabulary import JobError, QueueStats

SHOWN_CALLS = 8
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
        trouble = _compare(store, call, now_ms, apply(CONTRACT, sample.state, call, now_ms))
        if trouble:
            return "\n".join([trouble, *made[-SHOWN_CALLS:]])
    return ""


def _compare(store: Any, call: Call, now_ms: int, done: Committed) -> str:
    store.freeze_clock(at_ms=now_ms)
    expected = done.outcome
    try:
        answer = getattr(store, call.name)(**call.arguments)
    except JobError as error:
        seen = (str(error.code), dict(error.details or {}))
        due = None if isinstance(expected, Accepted) else (str(expected.code), dict(expected.details or {}))
        return _rows(store, done.state) if seen == due else f"refused with {seen}, expected {expected}"
    if not isinstance(expected, Accepted):
        return f"answered {answer!r}, expected {expected}"
    apart = differences(_asserted(expected.value), _asserted(answer))
    return f"answer of {call.name}: {apart[0]}" if apart else _rows(store, done.state)


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


def _rows(store: Any, state: State) -> str:
    rows = [record for record in state.values() if isinstance(record.facts, JobFacts)]
    for record in rows:
        seen = store.get_job(job_id=record.facts.id, include_payload=True)
        if seen is None:
            return f"the row {record.facts.id} is gone"
        apart = differences(present(record), seen)
        if apart:
            return f"row {record.facts.id}: {apart[0]}"
    kept = sum(store.counts(queue=None).by_state.values())
    return "" if kept == len(rows) else f"{kept} rows are kept, expected {len(rows)}"
