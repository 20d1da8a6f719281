"""The lives of rows: runs and their ends, crashes and quarantine, what operators do, what stands beside the rows."""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from workspec.core.scope import Call
from workspec.jobs import values
from workspec.jobs.configurations.asking import (
    EDIT,
    EVICT,
    OUTCOMES,
    PARK,
    PROMOTE,
    READS,
    READS_OF_ROWS,
    RECLAIM,
    UNKNOWN_JOB,
    UNKNOWN_LEASE,
    VERBS,
    ack,
    ack_of_unknown,
    admit,
    checkpoint,
    each_alone,
    envelope,
    of,
    output,
    progress,
    renew,
    sweep,
    under_every_lease,
    with_result,
)
from workspec.jobs.configurations.world import Ask, Jobs
from workspec.jobs.facts import bucket_key, duty_key, effect_key, fingerprint_key, queue_key
from workspec.jobs.vocabulary import JobResult, ProgressUpdate

_DUE: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"pending": True},
    {"scheduled_at_ms": 1000},
    {"scheduled_at_ms": -1},
)
_RESULT: Final = JobResult(1, b"done")
_FAULTY_RESULTS: Final = (
    JobResult(0, b""),
    JobResult(values.MAX_SCHEMA_VERSION + 1, b""),
    JobResult(1, bytes(values.MAX_CONTENT_BYTES + 1)),
)
_HALF: Final = ProgressUpdate(1, 2, "half")
_FAULTY_PROGRESS: Final = (
    ProgressUpdate(0, 0, None),
    ProgressUpdate(2, 1, None),
    ProgressUpdate(1, values.MAX_PROGRESS + 1, None),
    ProgressUpdate(1, 2, "x" * (values.MAX_MESSAGE_BYTES + 1)),
    ProgressUpdate(1, 2, "\0"),
)


def _of_unknown(ask: Ask) -> Call:
    """The same call of a job that is never there."""
    named = {"lease": UNKNOWN_LEASE} if ask.lease is not None else {"job_id": UNKNOWN_JOB}
    return Call(ask.call, {**named, **ask.arguments})


def _delayed(outcome: str) -> dict[str, Any]:
    return {"delay_ms": 1000} if outcome == "snooze" else {}


_ACKS: Final = tuple(ack(outcome, **_delayed(outcome)) for outcome in OUTCOMES)
_WRITES: Final = (with_result(_RESULT), checkpoint(), output(_RESULT), progress(_HALF))
RUNS: Final = Jobs(
    "runs",
    "two rows, one of them kept when it has ended: every outcome, write and renewal under every kind of lease",
    ids=("a", "b"),
    batches=each_alone(envelope("a", retention_ms=1000, max_attempts=2), envelope("b", max_attempts=1)),
    asks=(
        *of("a", *under_every_lease(*_ACKS, *_WRITES, renew())),
        *of("a", *(ack(outcome, error="broken", logs=("line",)) for outcome in ("retry", "skip", "undecodable"))),
        *of("a", ack("success", logs=("line",)), ack("retry", delay_ms=1000), ack("unheard of")),
        *of("a", ack("snooze", delay_ms=0), ack("snooze", delay_ms=-1), ack("snooze")),
        *of("a", *(with_result(result) for result in _FAULTY_RESULTS)),
        *of("a", *(output(result) for result in _FAULTY_RESULTS)),
        *of("a", *(progress(told) for told in _FAULTY_PROGRESS)),
        *of("a", renew(0), renew(1), renew(-1), Ask("delete_job")),
        *of("b", ack("success"), ack("retry"), with_result(_RESULT)),
    ),
    general=(
        *(ack_of_unknown(outcome, **_delayed(outcome)) for outcome in OUTCOMES),
        *map(_of_unknown, _WRITES),
        Call("renew", {"leases": (UNKNOWN_LEASE,), "lease_ms": 1000}),
        admit("q"),
        *(admit("q", lease_ms=lease_ms) for lease_ms in (0, 1, -1)),
        PROMOTE,
        EVICT,
        *(sweep(name, limit) for name in ("promote_due", "evict_retained") for limit in (0, -1)),
    ),
    waits=(1000,),
)
OPERATORS: Final = Jobs(
    "operators",
    "one row in every state that it can have: every verb and every read of operators",
    ids=("a",),
    batches=each_alone(
        *(envelope("a", max_attempts=1, retention_ms=1000, **due) for due in _DUE), envelope("a", max_attempts=2)
    ),
    asks=(
        *VERBS,
        *READS_OF_ROWS,
        ack("success"),
        ack("skip"),
        ack("retry"),
        ack("undecodable"),
        *(
            evolve(EDIT, arguments={**EDIT.arguments, "schema_version": version})
            for version in (0, 1, 2**31 - 1, 2**31)
        ),
        evolve(EDIT, arguments={**EDIT.arguments, "payload": bytes(values.MAX_PAYLOAD_BYTES)}),
        evolve(EDIT, arguments={**EDIT.arguments, "payload": bytes(values.MAX_PAYLOAD_BYTES + 1)}),
    ),
    general=(*map(_of_unknown, VERBS), *map(_of_unknown, READS_OF_ROWS), *READS, admit("q"), PROMOTE, RECLAIM, EVICT),
    others=(fingerprint_key("of a"), fingerprint_key("new")),
    waits=(1000,),
)
CRASHES: Final = Jobs(
    "crashes",
    "two rows of one fingerprint and kind: lost leases until quarantine, release, rows parked in every waiting state",
    ids=("a", "b"),
    batches=(
        *each_alone(envelope("a", fingerprint="f", max_attempts=1, unique_key=b"k"), envelope("a", fingerprint="")),
        *each_alone(*(envelope("b", fingerprint="f", max_attempts=2, **due) for due in _DUE[:3])),
        *each_alone(envelope("b", fingerprint="", max_attempts=1, unique_key=b"k")),
    ),
    asks=(
        *of("a", checkpoint("one")),
        *of("b", ack("retry"), Ask("delete_job")),
    ),
    general=(
        Call("release_fingerprint", {"fingerprint": "f"}),
        Call("list_quarantined", {}),
        admit("q"),
        PROMOTE,
        RECLAIM,
        sweep("reclaim_expired", 0),
        sweep("reclaim_expired", -1),
        PARK,
        *(sweep("sweep_quarantined", limit) for limit in (-1, 0, 1)),
    ),
    others=(fingerprint_key("f"),),
    waits=(1000,),
)
_DUTIES: Final = tuple(
    Call("claim_duty", {"name": "d", "holder": holder, "lease_ms": lease_ms})
    for holder, lease_ms in (("A", 2), ("B", 3), ("A", 0), ("A", 1), ("A", -1))
)
SETTINGS: Final = Jobs(
    "settings",
    "no row at all: duties of two holders, a paused queue, a rate class, an effect key",
    ids=(),
    general=(
        *_DUTIES,
        *(Call("release_duty", {"name": "d", "holder": holder}) for holder in ("A", "B")),
        Call("pause_queue", {"queue": "q"}),
        Call("unpause_queue", {"queue": "q"}),
        *(Call("claim_effect", {"key": key}) for key in ("", "k", "key")),
        *READS,
    ),
    others=(duty_key("d"), queue_key("q"), effect_key("k"), effect_key("key"), bucket_key("c")),
    waits=(1,),
)
WIDE: Final = Jobs(
    "wide",
    "three rows in queues of their own, two of them alike: leases, retries, crashes, snoozes, operators, retention",
    ids=("a", "b", "c"),
    batches=each_alone(
        envelope("a", queue="a", max_attempts=2, retention_ms=1000),
        envelope("b", queue="b", max_attempts=2, retention_ms=1000),
        envelope("c", queue="c", max_attempts=1, scheduled_at_ms=1000),
    ),
    asks=(
        *(ask for job_id in ("a", "b") for ask in of(job_id, ack("success"), ack("retry"), Ask("operator_cancel"))),
        *(ask for job_id in ("a", "b") for ask in of(job_id, Ask("operator_retry"))),
        *of("c", ack("success"), ack("snooze", delay_ms=1000)),
    ),
    general=(admit("a"), admit("b"), admit("c"), PROMOTE, RECLAIM, EVICT),
    others=tuple(fingerprint_key(f"of {job_id}") for job_id in ("a", "b", "c")),
    waits=(1000,),
    renamings=({"a": "b", "b": "a", "of a": "of b", "of b": "of a"},),
)
