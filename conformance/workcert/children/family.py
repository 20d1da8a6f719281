"""The kit's side: starting children, asking them, ending them."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from typing import Any, Final, TypeAlias

from attrs import define, field

from workcert.backends.protocol import Place
from workcert.backends.registry import BackendError, LoadedBackend
from workcert.children.messages import (
    Begin,
    Close,
    Died,
    End,
    Forked,
    Make,
    Open,
    Reached,
    Reply,
    Request,
    StopClock,
    Unsendable,
)
from workcert.children.recipe import recipe_of
from workcert.children.worker import live
from workcert.children.zygote import Bury, Fork, Life
from workcert.raised import told
from workcert.run import calling
from workcert.run.calling import CallHung, Observed
from workcert.run.telling import call_text

START_LIMIT_S: Final = 60.0
"""For a new Python that imports the kit and the adapter."""
_START: Final = "import sys; sys.path[:] = {path!r}; from workcert.children.zygote import main; main({descriptor})"

Ended: TypeAlias = "Observed | Died"


class ChildTrouble(BackendError):  # noqa: N818 - a finding about the backend
    """A process of its own cannot be had for this backend, or cannot pass on what it answers."""


def cannot(backend: LoadedBackend) -> str:
    """Why no process of its own can open the stores of this backend; empty if one can, as far as can be told without
    trying."""
    if not hasattr(os, "fork") or not hasattr(socket, "AF_UNIX"):
        return "processes of its own need a system with fork"
    recipe = recipe_of(backend)
    if recipe is None:
        return f"{backend.name} was made inside of this process, so that no other one can load it"
    try:
        pickle.dumps(recipe)
    except Exception as error:
        return f"{backend.name} cannot be told to another process: {told(error)}"
    return ""


@define(eq=False)
class Children:
    """All children of one backend. Use as a context manager: none of them outlives it. Several threads may use it,
    each of them children of its own."""

    backend: LoadedBackend
    _zygote: subprocess.Popen[bytes] | None = None
    _control: Connection | None = None
    _lock: threading.Lock = field(factory=threading.Lock)
    _living: set[Child] = field(factory=set)
    _imported: dict[str, bool] = field(factory=dict)
    """The modules that children have imported, and whether the process that they are forked from has been told."""

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def start(self, life: Life = live) -> Child:
        """A process of its own that waits to be asked; ``life``: what it does instead, told through `Child.say`.

        Raises:
            ChildTrouble: there can be none; the text says why.
        """
        with self._lock:
            control = self._control or self._begin()
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    control.send(Fork(self._news(), life))
                    send_handle(control, theirs.fileno(), None)
                    pid = _answered(control)
                except (EOFError, OSError) as error:
                    ours.close()
                    raise ChildTrouble(f"{self.backend.name}: the process that forks children has ended") from error
            child = Child(self, pid, Connection(ours.detach()))
            self._living.add(child)
            return child

    def note_imported(self, modules: Sequence[str]) -> None:
        """What a child had to import, and the next ones shall have."""
        for name in modules:
            self._imported.setdefault(name, False)

    def _news(self) -> tuple[str, ...]:
        news = tuple(name for name, known in tuple(self._imported.items()) if not known)
        self._imported.update(dict.fromkeys(news, True))
        return news

    def close(self) -> None:
        """End every child, and the process that they were forked from."""
        for child in tuple(self._living):
            child.kill()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._zygote is not None:
            try:
                self._zygote.wait(timeout=START_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._zygote.kill()
                self._zygote.wait()
            self._zygote = None

    def bury(self, child: Child, *, patient: bool = False) -> int:
        """When it returns the process is gone, with its locks; the signal that ended it, 0 if it ended by itself."""
        with self._lock:
            self._living.discard(child)
            if self._control is None:
                return 0
            with contextlib.suppress(EOFError, OSError):
                self._control.send(Bury(child.pid, patient))
                return int(_answered(self._control))
        return 0

    def _begin(self) -> Connection:
        why = cannot(self.backend)
        if why:
            raise ChildTrouble(why)
        ours, theirs = socket.socketpair()
        with theirs:
            start = _START.format(path=sys.path, descriptor=theirs.fileno())
            # A session of its own: what ends the kit from a terminal is told to the kit alone.
            self._zygote = subprocess.Popen(
                [sys.executable, "-c", start],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        control = Connection(ours.detach())
        try:
            control.send_bytes(pickle.dumps(recipe_of(self.backend)))
            said = control.recv() if control.poll(START_LIMIT_S) else f"nothing within {START_LIMIT_S:g} seconds"
        except (EOFError, OSError) as error:
            said = told(error)
        if said:
            control.close()
            raise ChildTrouble(f"{self.backend.name} cannot be loaded by a process of its own: {said}")
        self._control = control
        return control


def _answered(control: Connection) -> Any:
    """What the process that forks children says; one that says nothing any more has ended, as far as that matters.

    Raises:
        EOFError: it has ended.
    """
    if control.poll(START_LIMIT_S):
        return control.recv()
    control.close()
    raise EOFError


@define(eq=False)
class Child:
    """One process with one handle on a store. Every call comes back as `Observed`, as from a handle in this process;
    or as `Died`, if the process ended before it had answered."""

    _family: Children
    pid: int
    _connection: Connection
    points: tuple[str, ...] = ()
    """The labels of the points that the last call passed, if they were watched."""
    commit_order: int | None = None
    """The place of what the last call committed among all commits of the store, as far as that can be told."""
    methods: tuple[str, ...] = ()
    """Of the handle that it has opened."""
    broken: tuple[str, ...] = ()
    """What its connections were found to be without, of what the adapter promises."""
    unasked: tuple[str, ...] = ()
    """Which of these its connections did not take."""
    carried: tuple[str, str] | None = None
    """What a process forked from it last was seen to do on a connection that it had not opened: a statement, a file."""
    in_vain: str = ""
    """Why a process forked from it last could show nothing."""
    _asked: Request | None = None

    # What is asked for ---------------------------------------------------------------------------------------------

    def open(
        self, place: Place, config: Mapping[str, Any], *, kill_at: int | None = None, watch: bool = False
    ) -> Ended:
        """Open the store. ``kill_at``: the process ends itself by SIGKILL at this point, counted from 1.

        Raises:
            CallHung: no answer in time; the process was killed.
            ChildTrouble: an answer that cannot be passed on.
        """
        self.ask(Open(place, dict(config), kill_at, watch))
        return self.answer()

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        instant: int | None = None,
        *,
        kill_at: int | None = None,
        watch: bool = False,
        inside: bool = False,
    ) -> Ended:
        """Make a call; ``inside``: with the transaction of `begin`. Otherwise as `open`."""
        self.ask(Make(name, dict(arguments), instant, kill_at, watch, inside))
        return self.answer()

    def forked(self, name: str, arguments: Mapping[str, Any], instant: int | None = None) -> Ended:
        """The same in a process that is forked from the child while its handle is open, and ends then."""
        self.ask(Forked(Make(name, dict(arguments), instant)))
        return self.answer()

    def leave(self) -> None:
        """Let it end by itself, with whatever it has open; when this returns it is gone."""
        if not self._connection.closed:
            self._connection.close()
            self._family.bury(self, patient=True)

    def stop_clock(self, instant: int) -> Ended:
        """Stop the clock of a store that has one, as a call at this instant does before it."""
        self.ask(StopClock(instant))
        return self.answer()

    def begin(self, *, kill_at: int | None = None, watch: bool = False) -> Ended:
        """Begin a transaction, which stays in the process."""
        self.ask(Begin(kill_at, watch))
        return self.answer()

    def end(self, how: str, *, kill_at: int | None = None, watch: bool = False) -> Ended:
        """``commit`` or ``rollback`` it."""
        self.ask(End(how, kill_at, watch))
        return self.answer()

    def close(self) -> Ended:
        """Close the handle, and end the process."""
        self.ask(Close())
        observed = self.answer()
        self.kill()
        return observed

    def kill(self) -> int:
        """End the process by SIGKILL, whatever it does; when this returns it is gone. The signal that ended it."""
        if self._connection.closed:
            return 0
        signal = self._family.bury(self)
        self._connection.close()
        return signal

    # With a life of its own ---------------------------------------------------------------------------------------

    def say(self, message: Any) -> None:
        """Send anything that can be pickled; a child that has ended hears nothing, and `heard` says so."""
        with contextlib.suppress(OSError):
            self._connection.send(message)

    def heard(self, timeout_s: float = 0.0) -> Any:
        """What the child has said next; None if nothing within the time, `Died` if it has ended."""
        try:
            return self._connection.recv() if self._connection.poll(timeout_s) else None
        except (EOFError, OSError):
            return self._died(None)

    # In two halves, for calls of several children at once ------------------------------------------------------------

    def ask(self, request: Request) -> None:
        """Send a request; `answer` waits for what comes of it.

        Raises:
            ChildTrouble: an argument that cannot be passed on.
        """
        self._asked = request
        try:
            self._connection.send(request)
        except OSError:
            # It has ended: `answer` says so.
            return
        except Exception as error:
            raise ChildTrouble(f"{self._doing()} cannot be passed to another process: {told(error)}") from error

    def fileno(self) -> int:
        """For waiting with `multiprocessing.connection.wait` or `select` until one of several has answered."""
        return self._connection.fileno()

    def answer(self) -> Ended:
        """Wait for the answer.

        Raises:
            CallHung: none within the limit of a call; the process was killed, and what it was asked for may have
                happened or not.
            ChildTrouble: an answer that cannot be passed on.
        """
        try:
            return self._awaited()
        except BaseException:
            self.kill()
            raise

    def _awaited(self) -> Ended:
        reached: Reached | None = None
        give_up_at = time.monotonic() + calling.CALL_LIMIT_S
        while True:
            if not self._connection.poll(max(0.0, give_up_at - time.monotonic())):
                hung = CallHung("a process of its own", calling.CALL_LIMIT_S)
                hung.within(self._doing())
                raise hung
            try:
                said = self._connection.recv()
            except (EOFError, OSError):
                return self._died(reached)
            except Exception as error:
                raise ChildTrouble(f"{self._doing()}: its answer cannot be read here: {told(error)}") from error
            match said:
                case Reached():
                    reached = said
                case Reply():
                    self.points, self.commit_order = said.points, said.commit_order
                    self.broken, self.unasked = said.broken, said.unasked
                    self.carried, self.in_vain = said.carried, said.in_vain
                    self.methods = said.methods or self.methods
                    self._family.note_imported(said.imported)
                    return said.observed
                case Unsendable():
                    raise ChildTrouble(f"{self._doing()}: its answer cannot leave its process: {said.text}")

    def _doing(self) -> str:
        asked = self._asked
        return call_text(asked.name, asked.arguments) if isinstance(asked, Make) else type(asked).__name__.lower()

    def _died(self, reached: Reached | None) -> Died:
        signal = self._family.bury(self, patient=True)
        self._connection.close()
        return Died(signal) if reached is None else Died(signal, reached.number, reached.label)
