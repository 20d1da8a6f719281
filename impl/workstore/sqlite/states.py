"""The states of a workload and the moves between them that the contract allows (WRK-GEN-06)."""

from __future__ import annotations

from typing import Final

from workspec.workload.vocabulary import State

# Plain strings, so that a record built here and the same record read back are alike in type too.
CREATED: Final = State.CREATED.value
READY: Final = State.READY.value
CLAIMED: Final = State.CLAIMED.value
RUNNING: Final = State.RUNNING.value
CHECKPOINTED: Final = State.CHECKPOINTED.value
CANCELLATION_REQUESTED: Final = State.CANCELLATION_REQUESTED.value
RECOVERING: Final = State.RECOVERING.value
FAILED: Final = State.FAILED.value
TIMED_OUT: Final = State.TIMED_OUT.value
DEAD_LETTER: Final = State.DEAD_LETTER.value
SUCCEEDED: Final = State.SUCCEEDED.value
CANCELLED: Final = State.CANCELLED.value

STARTED: Final = frozenset({RUNNING, CHECKPOINTED})
EXECUTING: Final = STARTED | {CLAIMED}
LEASED: Final = EXECUTING | {CANCELLATION_REQUESTED}
UNDER_DEADLINES: Final = EXECUTING | {READY}

_SUCCESSORS: Final = {
    CREATED: {READY, CANCELLED},
    READY: {CLAIMED, TIMED_OUT, DEAD_LETTER, CANCELLED},
    CLAIMED: {RUNNING, FAILED, RECOVERING, TIMED_OUT, CANCELLATION_REQUESTED},
    RUNNING: {CHECKPOINTED, SUCCEEDED, FAILED, RECOVERING, TIMED_OUT, CANCELLATION_REQUESTED},
    CHECKPOINTED: {CHECKPOINTED, SUCCEEDED, FAILED, RECOVERING, TIMED_OUT, CANCELLATION_REQUESTED},
    CANCELLATION_REQUESTED: {CANCELLED},
    FAILED: {READY, DEAD_LETTER, CANCELLED},
    RECOVERING: {READY, DEAD_LETTER},
    TIMED_OUT: {READY, DEAD_LETTER},
    DEAD_LETTER: {READY, CANCELLED},
}


def may_move(origin: str, target: str) -> bool:
    """Whether the pair stands in the table of legal transitions (section 4)."""
    return target in _SUCCESSORS.get(origin, ())
