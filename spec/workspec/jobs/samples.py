"""Calls worth trying on a state of a job store: few ids, queues, keys and times, so that rules meet.

Every name is a method of the port; arguments are those that a caller could send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from workspec.core.record import State as Store
from workspec.core.scope import Call
from workspec.jobs.facts import JobFacts
from workspec.jobs.vocabulary import (
    Checkpoint,
    Envelope,
    JobFilter,
    JobResult,
    LeaseRef,
    Outcome,
    ProgressUpdate,
)

Pick = Callable[[Sequence[Any]], Any]

IDS: Final = ("a", "b", "c", "d", "e", "f")
QUEUES: Final = ("q", "q", "p", "")
PARTITIONS: Final = ("", "A", "B")
FINGERPRINTS: Final = ("f1", "f2", "f3", "")
KEYS: Final = (None, None, b"k", b"l")
WORKERS: Final = ("w", "v", "")
CLASSES: Final = ("", "", "c")
NO_FILTER: Final = JobFilter(None, None, None, None, None, None, None, None, None, (), ())
PLAIN: Final = Envelope(
    id="a",
    kind="w",
    schema_version=0,
    payload=b"",
    queue="q",
    partition_key="",
    rate_class="",
    weight=0,
    fingerprint="f1",
    priority=0,
    attempt=0,
    crash_attempt=0,
    max_attempts=0,
    scheduled_at_ms=0,
    timeout_ms=0,
    deadline_ms=0,
    unique_key=None,
    unique_states=0,
    unique_window_ms=0,
    unique_replace=0,
    unique_debounce_ms=0,
    unique_exclude_kind=False,
    retention_ms=0,
    periodic_schedule_id="",
    periodic_tick_ms=0,
    headers={},
    tags=(),
    pending=False,
    sticky_worker="",
)


def envelope(now_ms: int, pick: Pick) -> Envelope:
    """A request that is right in most of its members."""
    key = pick(KEYS)
    mode = pick(("plain", "plain", "window", "replace", "debounce")) if key is not None else "plain"
    pending = pick((False, False, False, False, True))
    return Envelope(
        id=pick(IDS),
        kind=pick(("w", "w", "v", "-")) if pick(range(20)) == 0 else pick(("w", "v")),
        schema_version=pick((0, 1, 3)),
        payload=pick((b"", b"x")),
        queue=pick(QUEUES),
        partition_key=pick(PARTITIONS),
        rate_class=pick(CLASSES),
        weight=pick((0, 1, 2, 6)),
        fingerprint=pick(FINGERPRINTS),
        priority=pick((0, 0, 5, -5)),
        attempt=0,
        crash_attempt=0,
        max_attempts=pick((0, 1, 2)),
        scheduled_at_ms=0 if pending else pick((0, 0, now_ms + 500, now_ms + 1000, now_ms - 1)),
        timeout_ms=0,
        deadline_ms=0,
        unique_key=key,
        unique_states=0,
        unique_window_ms=pick((1000, 2500)) if mode == "window" else 0,
        unique_replace=pick((1, 2, 4, 8, 15)) if mode == "replace" or (mode == "debounce" and pick((0, 1))) else 0,
        unique_debounce_ms=pick((500, 1000)) if mode == "debounce" else 0,
        unique_exclude_kind=pick((False, False, True)),
        retention_ms=pick((0, 1000, 60_000)),
        periodic_schedule_id="",
        periodic_tick_ms=0,
        headers=pick(({}, {"traceparent": "odd"})),
        tags=pick(((), ("x",), ("y", "x"))),
        pending=pending,
        sticky_worker=pick(("", "", "", "w", "v")),
    )


def _batch(now_ms: int, pick: Pick) -> list[Envelope]:
    return [envelope(now_ms, pick) for _ in range(pick((1, 1, 1, 2, 3, 0)))]


def _lease(rows: Sequence[JobFacts], pick: Pick) -> LeaseRef:
    """Most often one that holds; else a late or a forged one."""
    held = [row for row in rows if row.state == "running"]
    if held and pick(range(6)):
        row = pick(held)
        return LeaseRef(row.id, row.lease_id or "", row.fence + pick((0, 0, 0, 0, 0, 1, -1)))
    return LeaseRef(pick(IDS), pick(("l1", "l2")), pick((1, 2)))


def _ack(rows: Sequence[JobFacts], pick: Pick) -> dict[str, Any]:
    return {
        "lease": _lease(rows, pick),
        "outcome": pick(list(Outcome)),
        "error": pick((None, "broken", "")),
        "delay_ms": pick((None, 500, 1500, 0, -1)),
        "logs": pick(((), ("line",))),
        "actual_weight": pick((None, None, 0, 1, 4)),
    }


def _checkpoint(pick: Pick) -> Checkpoint:
    # What a writer sends is stored as it is, a step that it names twice too.
    crashes = pick(((("two", 1),), (("one", 4), ("two", 1), ("one", 5))))
    return Checkpoint("one", ("one",), pick((None, "two")), None, pick((None, b"7")), 1, "h", crashes)


def propose(state: Store, now_ms: int, pick: Pick) -> Call:
    """A call of the port, weighted so that jobs come, run and end."""
    rows = [record.facts for record in state.values() if isinstance(record.facts, JobFacts)]
    name = pick(_WEIGHTED)
    return Call(name, _ARGUMENTS[name](rows, now_ms, pick))


def _of_job(_rows: Sequence[JobFacts], _now_ms: int, pick: Pick) -> dict[str, Any]:
    return {"job_id": pick(IDS)}


def _at(rows: Sequence[JobFacts], now_ms: int, pick: Pick) -> dict[str, Any]:
    return {**_of_job(rows, now_ms, pick), "at_ms": now_ms + pick((-1, 0, 700))}


def _limited(_rows: Sequence[JobFacts], _now_ms: int, pick: Pick) -> dict[str, Any]:
    return {"limit": pick((10, 10, 1, 2, 0, -1))}


def _nothing(_rows: Sequence[JobFacts], _now_ms: int, _pick: Pick) -> dict[str, Any]:
    return {}


_ARGUMENTS: Final[dict[str, Callable[[Sequence[JobFacts], int, Pick], dict[str, Any]]]] = {
    "enqueue": lambda _rows, now, pick: {"envelopes": _batch(now, pick)},
    "enqueue_without_uniqueness": lambda _rows, now, pick: {"envelopes": _batch(now, pick)},
    "admit": lambda _rows, _now, pick: {
        "worker": pick(WORKERS),
        "lease_id": pick(("l1", "l2", "l3")),
        "queues": pick((["q"], ["q", "p"], ["p", "q", "p"], ["default", "q"], [])),
        "capacity": pick((3, 1, 2, 10, 0)),
        "lease_ms": pick((1000, 2000, 30_000, 1000, 0)),
        "quantum": 1,
    },
    "ack": lambda rows, _now, pick: _ack(rows, pick),
    "ack_success_with_result": lambda rows, _now, pick: {
        "lease": _lease(rows, pick),
        "result": JobResult(pick((1, 1, 0, 2**31)), pick((b"", b"r"))),
        "logs": pick(((), ("line",))),
        "actual_weight": pick((None, 1)),
    },
    "renew": lambda rows, _now, pick: {
        "leases": [_lease(rows, pick) for _ in range(pick((1, 2, 0)))],
        "lease_ms": pick((1000, 2000, 0)),
    },
    "checkpoint": lambda rows, _now, pick: {"lease": _lease(rows, pick), "checkpoint": _checkpoint(pick)},
    "write_job_output": lambda rows, _now, pick: {
        "lease": _lease(rows, pick),
        "output": JobResult(pick((2, 1, 0)), b"o"),
    },
    "write_job_progress": lambda rows, _now, pick: {
        "lease": _lease(rows, pick),
        "progress": ProgressUpdate(pick((2, 3, 6)), pick((5, 5, 0, 2**53)), pick((None, "half", "\0", "x" * 513))),
    },
    "promote_due": _limited,
    "reclaim_expired": _limited,
    "evict_retained": _limited,
    "sweep_quarantined": _limited,
    "claim_duty": lambda _rows, _now, pick: {
        "name": pick(("d", "e")),
        "holder": pick(("A", "B")),
        "lease_ms": pick((1000, 500, 0)),
    },
    "release_duty": lambda _rows, _now, pick: {"name": pick(("d", "e")), "holder": pick(("A", "B"))},
    "pause_queue": lambda _rows, _now, pick: {"queue": pick(("q", "p"))},
    "unpause_queue": lambda _rows, _now, pick: {"queue": pick(("q", "p"))},
    "set_rate_limit": lambda _rows, _now, pick: {
        "name": "c",
        "limit": pick((0, 1, 3)),
        "window_ms": pick((1000, 60_000)),
        "burst": pick((1, 3, 5)),
    },
    "upsert_rate_class": lambda _rows, _now, pick: {
        "name": "c",
        "limit": pick((0, 1, 3, -1)),
        "window_ms": pick((1000, 0)),
        "burst": pick((1, 3, 0)),
        "paused": pick((False, False, True)),
    },
    "set_enqueue_limit": lambda _rows, _now, pick: {
        "queue": pick(("q", "p")),
        "limit": pick((None, None, 5, 3, 0, -1, 2**63)),
    },
    "operator_cancel": _of_job,
    "operator_retry": _of_job,
    "promote_job": _of_job,
    "schedule_pending_job": _at,
    "reschedule_job": _at,
    "edit_payload": lambda _rows, _now, pick: {
        "job_id": pick(IDS),
        "payload": b"edited",
        "schema_version": pick((1, 2, 0)),
        "fingerprint": pick(FINGERPRINTS),
    },
    "delete_job": _of_job,
    "release_fingerprint": lambda _rows, _now, pick: {"fingerprint": pick(FINGERPRINTS[:3])},
    "list_quarantined": _nothing,
    "get_job": lambda _rows, _now, pick: {"job_id": pick(IDS), "include_payload": pick((True, False))},
    "list_jobs": lambda _rows, _now, pick: {"where": NO_FILTER, "cursor": None, "limit": pick((200, 200, 0, 201))},
    "counts": lambda _rows, _now, pick: {"queue": pick((None, "q"))},
    "queue_stats": _nothing,
    "explain_admission": _of_job,
    "get_rate_class": lambda _rows, _now, _pick: {"name": "c"},
    "get_job_result": _of_job,
    "get_job_output": _of_job,
    "get_job_progress": _of_job,
    "get_checkpoint": _of_job,
}
_OFTEN: Final = {
    "enqueue": 12,
    "admit": 12,
    "ack": 14,
    "promote_due": 5,
    "reclaim_expired": 4,
    "renew": 2,
    "checkpoint": 4,
}
_WEIGHTED: Final = tuple(name for name in _ARGUMENTS for _ in range(_OFTEN.get(name, 1)))
