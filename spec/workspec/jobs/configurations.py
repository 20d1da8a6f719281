"""Small configurations of the jobs contract: a few rows, short durations, every kind of call.

Each is data. A name stands in every report of a search, so that what was found unreachable was found so within
what the name says.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from workspec.core.scope import Call
from workspec.jobs.samples import PLAIN
from workspec.jobs.vocabulary import Envelope
from workspec.jobs.worlds import Ask, Jobs, Lease


def _envelope(job_id: str, **members: Any) -> Envelope:
    return evolve(PLAIN, id=job_id, fingerprint=f"of {job_id}", **members)


def _ack(outcome: str, lease: Lease = Lease.PRESENT, **given: Any) -> Ask:
    arguments = {"outcome": outcome, "error": None, "logs": (), "delay_ms": None, "actual_weight": None}
    return Ask("ack", arguments | given, lease)


def _admit(*queues: str, worker: str = "w", capacity: int = 10, lease_ms: int = 1000) -> Call:
    arguments = {"worker": worker, "lease_id": "lease", "queues": queues, "capacity": capacity}
    return Call("admit", {**arguments, "lease_ms": lease_ms, "quantum": 1})


def _sweep(name: str, limit: int = 10) -> Call:
    return Call(name, {"limit": limit})


_WIDE_IDS: Final = ("a", "b")
WIDE: Final = Jobs(
    "wide",
    "three rows in queues of their own, two of them alike: leases, retries, crashes, snoozes, operators, retention",
    ids=("a", "b", "c"),
    batches=(
        (_envelope("a", queue="a", max_attempts=2, retention_ms=1000),),
        (_envelope("b", queue="b", max_attempts=2, retention_ms=1000),),
        (_envelope("c", queue="c", max_attempts=1, scheduled_at_ms=1000),),
    ),
    asks=(
        _ack("success"),
        _ack("retry"),
        _ack("snooze", delay_ms=1000),
        Ask("operator_cancel"),
        Ask("operator_retry"),
    ),
    general=(
        _admit("a"), _admit("b"), _admit("c"),
        _sweep("promote_due"), _sweep("reclaim_expired"), _sweep("evict_retained"),
    ),
    others=("fingerprint/of a", "fingerprint/of b", "fingerprint/of c"),
    waits=(1000,),
    renamings=({"a": "b", "b": "a", "of a": "of b", "of b": "of a"},),
)
CONFIGURATIONS: Final = (WIDE,)
