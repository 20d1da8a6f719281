"""Admission: who comes first while capacity is scarce, and what buckets of tokens let through."""

from __future__ import annotations

from typing import Any, Final

from workspec.core.scope import Call
from workspec.jobs.configurations.asking import PROMOTE, RECLAIM, ack, admit, each_alone, envelope, sweep, with_result
from workspec.jobs.configurations.world import Ask, Jobs
from workspec.jobs.facts import bucket_key
from workspec.jobs.folding import Fineness
from workspec.jobs.vocabulary import JobResult

SHARES: Final = Jobs(
    "shares",
    "four rows in two partitions and another queue, one of them for one worker; less capacity than rows, limits that "
    "bind",
    ids=("a", "b", "c", "d"),
    batches=each_alone(
        envelope("a", fingerprint="", partition_key="A"),
        envelope("b", fingerprint="", partition_key="A", priority=5),
        envelope("c", fingerprint="", partition_key="B", sticky_worker="v"),
        envelope("d", fingerprint="", queue="p", scheduled_at_ms=1000),
    ),
    asks=(ack("rate_limited"), ack("success")),
    general=(
        admit("q", capacity=1),
        admit("q", "p", "q", capacity=2),
        admit("p", "q", worker="v", capacity=1),
        admit("q", capacity=0),
        admit("q", capacity=-1),
        sweep("promote_due", 1),
    ),
    fineness=Fineness(partitions=2, order=True),
    patience_ms=0,
    waits=(1000,),
)


def _class(limit: int, burst: int, paused: bool = False, window_ms: int = 2000) -> Call:
    arguments = {"name": "c", "limit": limit, "window_ms": window_ms, "burst": burst, "paused": paused}
    return Call("upsert_rate_class", arguments)


def _settled(weight: int) -> Any:
    return ack("success", actual_weight=weight)


RATES: Final = Jobs(
    "rates",
    "two rows of one rate class, of different costs, whose bucket gains a token each second; settlements, pauses",
    ids=("a", "b"),
    batches=each_alone(
        envelope("a", fingerprint="", rate_class="c"), envelope("b", fingerprint="", rate_class="c", weight=2)
    ),
    asks=(
        ack("success"),
        _settled(0),
        _settled(2),
        with_result(JobResult(1, b""), actual_weight=1),
        ack("rate_limited"),
        Ask("explain_admission"),
    ),
    general=(
        _class(2, 2),
        _class(2, 1, paused=True),
        _class(-1, 1),
        _class(0, 1, window_ms=0),
        _class(0, 1),
        _class(1, 1, window_ms=1),
        _class(1, 0),
        Call("set_rate_limit", {"name": "c", "limit": 0, "window_ms": 1000, "burst": 2}),
        Call("get_rate_class", {"name": "c"}),
        admit("q"),
        PROMOTE,
        RECLAIM,
    ),
    others=(bucket_key("c"),),
    waits=(1000,),
)
