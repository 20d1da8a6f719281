"""What a soak is asked to do, and what one of its processes is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from workcert.backends.protocol import Place


@frozen
class Plan:
    """``minutes``: how long, fractions allowed. ``kills``: end after so many instead, if that comes first.
    ``place``: a directory for store and notes that is kept; None for one that goes when nothing was found."""

    minutes: float = 10.0
    processes: int = 6
    kill_every_s: float = 1.0
    seed: int = 0
    kills: int | None = None
    place: Path | None = None
    longest_pause_s: float = 0.02
    """Between two calls of one process, so that a soak leaves something of the machine."""


@frozen
class Assignment:
    """For one process. ``index``: its place among the processes; ``life``: how often that one was started before.
    ``notes``: the file that it alone writes. ``pool``: the file to which all append the names of what they submitted.
    ``unanswered``: what the one before it had submitted when it was killed; this one repeats it, as a client would."""

    place: Place
    notes: Path
    pool: Path
    index: int
    life: int
    seed: int
    longest_pause_s: float
    unanswered: Mapping[str, Any] | None = None

    @property
    def who(self) -> str:
        return f"{self.index}.{self.life}"
