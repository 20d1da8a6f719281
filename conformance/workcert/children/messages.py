"""What the kit and its children say to each other. All of it is pickled: both ends run the same code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from attrs import frozen

from workcert.backends.protocol import Place
from workcert.run.calling import Observed


@frozen
class Open:
    """``kill_at``: at this point, counted from 1, the process ends itself; ``watch``: say which points were passed."""

    place: Place
    config: Mapping[str, Any]
    kill_at: int | None = None
    watch: bool = False


@frozen
class Make:
    """A call. ``inside``: with the transaction that `Begin` has begun."""

    name: str
    arguments: Mapping[str, Any]
    instant: int | None = None
    kill_at: int | None = None
    watch: bool = False
    inside: bool = False


@frozen
class Forked:
    """The call in a process that is forked for it and has the handle open; it closes it afterwards, and ends."""

    call: Make


@frozen
class Begin:
    """Begin a transaction; it is the child's own, since it cannot leave the process."""

    kill_at: int | None = None
    watch: bool = False


@frozen
class End:
    """``how``: the method of the transaction, ``commit`` or ``rollback``."""

    how: str
    kill_at: int | None = None
    watch: bool = False


@frozen
class Close:
    """Close the handle."""


@frozen
class StopClock:
    """Stop the clock of a store that has one of its own."""

    instant: int


Request: TypeAlias = "Open | Make | Forked | Begin | End | Close | StopClock"


@frozen
class Reply:
    """``points``: the labels of those that were passed, where they were watched. ``imported``: the modules that were
    imported on the way."""

    observed: Observed
    points: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    commit_order: int | None = None
    methods: tuple[str, ...] = ()
    """Of the handle, where one was opened."""
    broken: tuple[str, ...] = ()
    """The promises of the adapter that were found broken so far."""
    unasked: tuple[str, ...] = ()
    """Those that could not be asked."""
    carried: tuple[str, str] | None = None
    """Of a forked process: the first statement that it made on a connection of its parent, and that one's file."""
    in_vain: str = ""
    """Of a forked process: why it can show nothing."""


@frozen
class Reached:
    """Said at the point at which the process is to end, right before it does."""

    number: int
    label: str


@frozen
class Unsendable:
    """An answer that cannot leave its process, and why."""

    text: str


@frozen
class Died:
    """The process ended before it had answered. ``signal``: by which, 0 if it ended by itself. ``number``, ``label``:
    the point at which it was to end; 0 and empty where it ended anywhere else."""

    signal: int
    number: int = 0
    label: str = ""
