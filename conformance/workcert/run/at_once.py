"""Callers at once: each makes its calls one after the other, and the order in which calls begin and return is noted.

Callers are threads with handles of their own, or processes of their own.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from attrs import define, field, frozen

from workcert.backends.protocol import Ability
from workcert.backends.registry import BackendError
from workcert.cases.model import Call
from workcert.children import Child, Died
from workcert.codec import CodecError
from workcert.linear.history import Made
from workcert.references import ReferenceFault, resolve
from workcert.run.calling import Answered, Crashed, Observed, observe
from workspec.core.scope import Call as ModelCall

if TYPE_CHECKING:
    from workcert.run.execution import Execution

SWITCHES_S: Final = 5e-6
"""How long a thread runs before another one may: a race in Python shows only where they take turns often."""


@frozen(eq=False)
class Ran:
    """One call of a block as it ran; ``made`` is None where it could not be made, because it refers to one that was
    refused."""

    step: Call
    made: Made | None


Asking: TypeAlias = Callable[[Call, ModelCall], "tuple[Observed, int | None]"]
"""Makes a call; what came of it, and the place of what it committed."""


def run_at_once(execution: Execution, calls: Sequence[Call], *, apart: bool = False, shared: bool = False) -> list[Ran]:
    """The calls of a block, in the order of writing. ``apart``: by processes of their own; ``shared``: each by a thread
    of its own, all on one handle.

    Raises:
        BackendError: a process of its own cannot be had, or lies about an ability.
    """
    own: dict[str, list[Call]] = {}
    for call in calls:
        own.setdefault(call.id if shared else call.on, []).append(call)
    with contextlib.ExitStack() as stack:
        askings = {
            on: stack.enter_context(_child(execution)) if apart else _handle(execution, own[on][0].on, shared)
            for on in own
        }
        moment: Callable[[], int] = time.monotonic_ns if apart else count(1).__next__
        ready: list[str] = []
        callers = [_Caller(execution, on, own, askings[on], moment, ready) for on in own]
        threads = [threading.Thread(target=caller.run, daemon=True) for caller in callers]
        with _many_switches():
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    for caller in callers:
        if caller.trouble is not None:
            raise caller.trouble
    ran = {each.step.id: each for caller in callers for each in caller.ran}
    return [ran[call.id] for call in calls]


@define(eq=False)
class _Caller:
    execution: Execution
    on: str
    own: Mapping[str, Sequence[Call]]
    ask: Asking
    moment: Callable[[], int]
    ready: list[str]
    """The callers that have come to their first call."""
    ran: list[Ran] = field(factory=list)
    trouble: BaseException | None = None
    """What ended it, other than the store: raised again when all have come back."""

    def run(self) -> None:
        self.ready.append(self.on)
        while len(self.ready) < len(self.own):
            # Who waits for a signal wakes up when the first has made all its calls.
            time.sleep(0)
        try:
            for step in self.own[self.on]:
                self.ran.append(Ran(step, self._made(step)))
        except BaseException as error:
            self.trouble = error

    def _made(self, step: Call) -> Made | None:
        typed = typed_call(self.execution, step)
        if typed is None:
            return None
        call, now = typed
        begin = self.moment()
        seen, ticket = self.ask(step, call)
        end = self.moment()
        self.execution.put(step, seen)
        return Made(self.on, call, now, seen, begin, end, ticket)


def typed_call(execution: Execution, step: Call) -> tuple[ModelCall, int] | None:
    """The call with references filled in, and its instant; None where it cannot be made."""
    try:
        typed = execution.binding.signature(step.call).typed(resolve(step.args, execution.answers))
    except (ReferenceFault, CodecError):
        return None
    call = ModelCall(step.call, typed)
    if execution.binding.impossible(call):
        return None
    return call, execution.binding.contract.instant(call, step.at)


def _handle(execution: Execution, on: str, shared: bool) -> Asking:
    """A handle in this process. Of one that is shared nobody knows which of its calls was the last."""
    store = execution.store
    handle = store.handle(on)
    tells = store.tells_commits and not shared

    def ask(step: Call, call: ModelCall) -> tuple[Observed, int | None]:
        seen = observe(store.backend, handle, step.call, execution.keywords(step, call))
        return seen, store.commit_order(on) if tells else None

    return ask


@contextlib.contextmanager
def _child(execution: Execution) -> Iterator[Asking]:
    """A handle in a process of its own."""
    store, child = execution.store, execution.store.child()
    tells = store.backend.can(Ability.COMMIT_ORDER)
    instant = execution.binding.calls.instant
    dead: list[Died] = []

    def ask(step: Call, call: ModelCall) -> tuple[Observed, int | None]:
        keywords: Mapping[str, Any] = execution.keywords(step, call)
        stated = keywords[instant] if instant is not None and instant in keywords else None
        seen = Died(0) if dead else child.call(step.call, call.arguments, stated, watch=tells)
        if isinstance(seen, Died):
            dead.append(seen)
            how = f"was ended by signal {dead[0].signal}" if dead[0].signal else "has ended"
            return Crashed(f"its process {how}", ChildProcessError(how)), None
        return seen, child.commit_order

    try:
        _open(execution, child, tells)
        yield ask
    finally:
        child.kill()


def _open(execution: Execution, child: Child, watch: bool) -> None:
    store = execution.store
    opened = child.open(store.place, store.config, watch=watch)
    if isinstance(opened, Answered):
        return
    told = opened.text if isinstance(opened, Crashed) else repr(opened)
    raise BackendError(f"{store.backend.name}: a process of its own cannot open the store: {told}")


@contextlib.contextmanager
def _many_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCHES_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
