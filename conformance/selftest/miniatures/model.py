"""What a miniature store is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import frozen

from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.faults.changes import Change

WORKLOAD = bindings()["workload"]

SCENARIOS, STATEFUL = "scenarios", "stateful"

FENCED = ("start", "heartbeat", "execution_context", "checkpoint", "complete", "fail", "acknowledge_cancel")
"""The operations that the holder of a claim alone may call."""


@frozen
class Miniature:
    """A store that is wrong in one thing.

    ``make`` gives a fresh backend; ``right``: the requirements of which one must be named; ``suite``: the one that
    has to find it, alone.
    """

    name: str
    make: Callable[[], Any]
    right: frozenset[str]
    suite: str = SCENARIOS


def ruled(name: str, change: Change, right: str, suite: str = SCENARIOS) -> Miniature:
    """The specification with a change of its rules."""
    return Miniature(name, lambda: of(WORKLOAD, change(WORKLOAD.contract)), _ids(right), suite)


def _ids(text: str) -> frozenset[str]:
    return frozenset(f"WRK-{name}" for name in text.split())
