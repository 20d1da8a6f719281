"""The process that children are forked from: it has imported the backend, and has neither threads nor open stores.

The kit itself is never forked, since it may have both. When the kit ends, in whatever way, its end of the connection is
closed: then all children are killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from typing import Final, TypeAlias

from attrs import frozen

from workcert.backends.registry import LoadedBackend
from workcert.children.worker import live
from workcert.raised import told

ENDING_S: Final = 2.0
"""How long a process may take to end after it has closed its connection."""
Life: TypeAlias = Callable[[LoadedBackend, Connection], None]
"""What a child does until it ends; a function of a module, since it is pickled."""


@frozen
class Fork:
    """Make a child; its end of a connection follows. ``modules``: what earlier children have imported, so that the
    next ones need not: an adapter may import its store when it opens one."""

    modules: tuple[str, ...] = ()
    life: Life = live


@frozen
class Bury:
    """Kill this child if it lives, and answer with the signal that ended it, 0 where it ended by itself.
    ``patient``: it is ending, and is killed only if that takes too long."""

    pid: int
    patient: bool = False


def main(descriptor: int) -> None:
    """Serve one kit: it sends a pickled recipe, then asks for children."""
    control = Connection(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Who tells a whole group of processes to end tells the kit too, which ends these: a store must not be accused of
    # it. Not ignored, for that a program which a store starts would inherit.
    signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    try:
        backend: LoadedBackend = pickle.loads(control.recv_bytes())()
    except BaseException as error:
        _say(control, told(error))
        return
    if not _say(control, ""):
        return
    gc.collect()
    # What is here now is never freed, so that a child copies no page for counting.
    gc.freeze()
    living: set[int] = set()
    try:
        while True:
            match control.recv():
                case Fork(modules, life):
                    _import(modules)
                    control.send(_forked(backend, control, living, life))
                case Bury(pid, patient):
                    control.send(_buried(pid, patient, living))
    except (EOFError, OSError):
        pass
    finally:
        for pid in tuple(living):
            _buried(pid, False, living)


def _say(control: Connection, text: str) -> bool:
    """Whether the kit is still there to hear it; it may have been ended while the adapter was imported."""
    try:
        control.send(text)
    except OSError:
        return False
    return True


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        with contextlib.suppress(Exception, SystemExit):
            importlib.import_module(name)
    if modules:
        gc.freeze()


def _forked(backend: LoadedBackend, control: Connection, living: set[int], life: Life) -> int:
    descriptor = recv_handle(control)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(descriptor)
        living.add(pid)
        return pid
    try:
        control.close()
        life(backend, Connection(descriptor))
    finally:
        # Nothing of the zygote may be ended twice.
        os._exit(0)


def _buried(pid: int, patient: bool, living: set[int]) -> int:
    if pid not in living:
        return 0
    give_up_at = time.monotonic() + ENDING_S
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended and patient and time.monotonic() < give_up_at:
        time.sleep(0.0005)
        ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    living.discard(pid)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
