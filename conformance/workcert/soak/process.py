"""The life of one process of a soak."""

from __future__ import annotations

import contextlib
import signal
import time
from multiprocessing.connection import Connection
from typing import Final

from workcert.backends.registry import LoadedBackend
from workcert.raised import told
from workcert.soak.contracts import contract_of
from workcert.soak.notes import Notebook, Pool
from workcert.soak.opening import opened_patiently
from workcert.soak.plan import Assignment

OPENED: Final = "opened"
"""What a process says when it has opened the store."""


def live(backend: LoadedBackend, connection: Connection) -> None:
    """Be one process of a soak until the kit is gone or kills it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task: Assignment = connection.recv()
    notes = Notebook.at(task.notes)
    try:
        handle = opened_patiently(backend, task.place)
        with contextlib.suppress(OSError):
            connection.send(OPENED)
        actor = contract_of(backend.binding.name).actor(backend, handle, notes, Pool.at(task.pool), task)
        if task.unanswered is not None:
            actor.repeat(task.unanswered)
        longest_s = task.longest_pause_s
        while True:
            if connection.poll(0):
                # Anything that is said means that it will be killed soon: then it shall be in a call, and not asleep.
                connection.recv()
                longest_s = 0.0
            actor.step()
            if longest_s:
                # Never for nothing: that gives the processor away, and every kill would come just then.
                time.sleep(actor.chance.uniform(0, longest_s))
    except EOFError:
        # The kit is gone.
        return
    except BaseException as error:
        notes.broken(told(error))
        raise
