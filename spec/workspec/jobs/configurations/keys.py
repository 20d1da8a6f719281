"""Uniqueness: keys that live as long as their rows, and keys that are held for a window of time."""

from __future__ import annotations

from typing import Any, Final

from workspec.core.scope import Call
from workspec.jobs.configurations.asking import PROMOTE, ack, admit, each_alone, envelope
from workspec.jobs.configurations.world import Ask, Jobs
from workspec.jobs.facts import hold_key
from workspec.jobs.folding import Fineness
from workspec.jobs.rules import effective_key
from workspec.jobs.vocabulary import Envelope

KEY: Final = b"k"


def _keyed(job_id: str, **members: Any) -> Envelope:
    return envelope(job_id, **{"unique_key": KEY, "max_attempts": 1, **members})


KEYS: Final = Jobs(
    "keys",
    "two rows that want one key for as long as they live: replacements bit by bit, debounce, every state of the holder",
    ids=("a", "b"),
    batches=each_alone(
        _keyed("a", retention_ms=1000),
        _keyed("a", retention_ms=1000, pending=True),
        _keyed("a", retention_ms=1000, scheduled_at_ms=1000),
        _keyed("b"),
        *(_keyed("b", unique_replace=bit, priority=5, max_attempts=2, payload=b"new") for bit in (1, 4, 8)),
        _keyed("b", unique_replace=2, scheduled_at_ms=2000),
        _keyed("b", unique_debounce_ms=1000, unique_replace=4, priority=5),
        _keyed("b", unique_exclude_kind=True),
    ),
    asks=(ack("success"), ack("retry"), Ask("operator_cancel"), Ask("operator_retry")),
    general=(admit("q"), PROMOTE),
    fineness=Fineness(attempts=2),
    waits=(1000,),
)
WINDOWS: Final = Jobs(
    "windows",
    "two rows that want one key for a window of time, which outlives them",
    ids=("a", "b"),
    batches=each_alone(
        _keyed("a", unique_window_ms=2000),
        _keyed("b", unique_window_ms=1000),
        _keyed("b", unique_window_ms=1000, unique_replace=5, priority=5),
    ),
    asks=(Ask("delete_job"), Ask("operator_cancel")),
    general=(Call("counts", {"queue": None}),),
    others=(hold_key(effective_key("w", KEY, False)),),
    fineness=Fineness(rows=True),
    most_rows=4,
    waits=(1000,),
)
