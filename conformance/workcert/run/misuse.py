"""A handle in a way in which it was not opened to be used: the call is right, or it is refused and leaves no trace."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import define

from workcert.backends import coroutines
from workcert.backends.registry import BackendError
from workcert.binding import BUSY_TIMEOUT_MS, Binding
from workcert.cases.model import Call, Misuse, Transaction, Way
from workcert.children import Child, Died
from workcert.judge.together import Undecided
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.run.beside import Companion, tells_waiting
from workcert.run.calling import Answered, Crashed, Observed, Refusal, Unavailable, observe
from workcert.run.reading import counted
from workcert.run.referred import check_referred
from workcert.run.store import BOUND
from workspec.core.scope import Call as ModelCall

if TYPE_CHECKING:
    from workcert.run.execution import Execution

ACCIDENTS: Final = frozenset(
    ("ArithmeticError", "AssertionError", "AttributeError", "IndexError", "KeyError", "LookupError", "MemoryError")
) | frozenset(("NameError", "RecursionError", "SystemError", "TypeError", "UnboundLocalError", "ZeroDivisionError"))
"""What Python raises where nobody meant to refuse anything."""
HELD_AT: Final = 2
"""The point at which a call of a store that cannot pause is held: at the first one it has often not begun anything."""
CLOSING_S: Final = 0.05
"""How long a call that is held waits for its handle to be closed: that may wait for the call. The verdict does not hang
on it, for either is right."""
REFUSED: Final = "refused"
RIGHT: Final = "right"
WRONG: Final = "wrong"


def kind_of(observed: Observed) -> str:
    """The name of the exception by which a call was refused outside of the contract; empty for an answer."""
    match observed:
        case Unavailable():
            return "StoreUnavailable"
        case Crashed(text):
            return text.partition(":")[0]
    return ""


def run_misuse(execution: Execution, step: Misuse) -> StepRun:
    """Make the step in its way, and judge it.

    Raises:
        CallHung: no answer in time.
        BackendError: no process of its own can be had, or an ability proves to be none.
    """
    if isinstance(step.step, Transaction):
        return _left_open(execution, step, step.step)
    made = execution.prepare(step.step)
    if isinstance(made, StepRun):
        return attrs.evolve(made, id=step.id)
    call, now = made
    why = _unusable(execution, step)
    if why:
        return attrs.evolve(execution.left_out(step.step, why), id=step.id)
    # A store that lives as long as its handles must not end with this one.
    execution.store.reader()
    use = _Use(execution, step, step.step, call)
    try:
        observed = use.made()
        answered = isinstance(observed, Answered | Refusal)
        again = None if answered or use.in_vain else use.again()
        if use.in_vain:
            use.done()
            return _in_vain(execution, step, use.in_vain)
        check_referred(execution.store.backend, call.name, observed)
        if again is None:
            use.done()
            run = execution.judged_run(step.step, call, now, observed)
            run = attrs.evolve(run, failure=run.failure or _carried(execution, use))
            return _named(run, step, RIGHT if run.failure is None else WRONG)
        use.done()
        run = _refused(execution, step, step.step, call, observed, again)
        return attrs.evolve(run, failure=run.failure or _carried(execution, use))
    finally:
        use.done()


def _unusable(execution: Execution, step: Misuse) -> str:
    closes = step.way in (Way.CLOSED, Way.CLOSED_TWICE, Way.CLOSED_MEANWHILE)
    handle = execution.store.handle(step.step.on)
    if closes and not hasattr(handle, "close"):
        return "the handles of this store are not closed"
    if step.way is Way.FORKED and isinstance(step.step, Call) and handle.is_coroutine(step.step.call):
        return "its calls are coroutines, and no event loop outlives a fork"
    if step.way is Way.RESTARTED_MEANWHILE and _may_wait(execution):
        return _cannot_wait(execution)
    return ""


def _may_wait(execution: Execution) -> bool:
    """To open the store may take as long as a call is held."""
    backend = execution.store.backend
    return backend.can("points") and BUSY_TIMEOUT_MS not in backend.configurable


def _cannot_wait(execution: Execution) -> str:
    """Why nothing can be opened beside a held call where that may have to wait."""
    if tells_waiting(execution.store):
        return BOUND if execution.store.bound_to_threads() else ""
    return (
        "to open the store may wait for what the held call has locked, and the kit cannot see that it does; one that "
        f"can be opened with {BUSY_TIMEOUT_MS} says so at once"
    )


def _in_vain(execution: Execution, step: Misuse, why: str) -> StepRun:
    """It shows nothing. Whether it has done anything is known only if it has done nothing.

    Raises:
        Undecided: it may have.
    """
    if _traces(execution, execution.binding.contract.comparisons["refusal"]) is not None:
        raise Undecided(f"{why}, and what it has done by then is not known")
    return attrs.evolve(execution.left_out(step.step, why), id=step.id)


def _carried(execution: Execution, use: _Use) -> Failure | None:
    """A connection that was used on both sides of a fork: that no harm shows this time is luck."""
    if use.carried is None:
        return None
    statement, file = use.carried
    text = (
        f"a connection was carried over a fork: the forked process made {statement!r} on one to {file} that its parent "
        "had opened. SQLite forbids that: locks on a file belong to one process and are not inherited, so that both "
        "may write at once and damage it. In the child, open the store anew or refuse the call"
    )
    return Failure(execution.binding.killed, Kind.CRASH, text)


def _named(run: StepRun, step: Misuse, how: str) -> StepRun:
    return attrs.evolve(run, id=step.id, note=f"{step.way.value}: {how}")


def _refused(
    execution: Execution, step: Misuse, made: Call, call: ModelCall, observed: Observed, again: Observed
) -> StepRun:
    """Nothing may have changed, and it must have been meant."""
    execution.put(made, observed)
    kind = kind_of(observed)
    ids = execution.binding.contract.comparisons["refusal"]
    text = getattr(observed, "text", "")
    failure: Failure | None = None
    if kind in ACCIDENTS:
        failure = Failure(ids, Kind.CRASH, f"the store raised {text}, which refuses nothing: it is an accident")
    elif isinstance(observed, Unavailable) and not observed.definite:
        failure = Failure(ids, Kind.CRASH, f"the store refused without saying that nothing was written: {text}")
    elif kind_of(again) != kind:
        other = kind_of(again) or "an answer"
        failure = Failure(ids, Kind.CRASH, f"the store raised {text}; made once more, the call came to {other}")
    failure = failure or _traces(execution, ids)
    run = StepRun(made.id, made.on, made.at, made.call, call.arguments, observed, None, (), failure)
    return _named(run, step, f"{REFUSED} by {kind}")


def _traces(execution: Execution, ids: tuple[str, ...]) -> Failure | None:
    """What a refused call has left behind."""
    if not execution.judged:
        return None
    execution.rows.clear()
    failure = execution.judge.everything(execution.read, ids, Kind.OTHERS, "after a call that was refused")
    if failure is None and execution.store.backend.can("snapshot"):
        failure = execution.judge.others(execution.store.snapshot())
    number = None if failure is not None else counted(execution.store)
    expected = sum(map(execution.judge.legible, execution.judge.state))
    if number is not None and number != expected:
        text = f"after a call that was refused the store counts {number} records instead of {expected}"
        return Failure(ids, Kind.OTHERS, text)
    return failure


@define(eq=False)
class _Use:
    """One call made in a way, and once more where it was refused."""

    execution: Execution
    step: Misuse
    call: Call
    made_of: ModelCall
    carried: tuple[str, str] | None = None
    """The first statement that a forked process made on a connection of its parent, and the name of its file."""
    in_vain: str = ""
    """Why nothing can be said of the forked process."""
    _closed: bool = False

    @property
    def handle(self) -> Any:
        return self.execution.store.handle(self.call.on)

    def made(self) -> Observed:
        match self.step.way:
            case Way.OTHER_THREAD:
                return in_thread(self._plainly)
            case Way.FORKED:
                return self._forked()
            case Way.CLOSED_MEANWHILE:
                return self._held(self._close_meanwhile)
            case Way.RESTARTED_MEANWHILE:
                return self._restarted_meanwhile()
        self._closed = True
        trouble = self._close()
        if trouble is None and self.step.way is Way.CLOSED_TWICE:
            trouble = self._close()
            if trouble is not None and kind_of(trouble) in ACCIDENTS:
                return trouble
            trouble = None
        return trouble or self._plainly()

    def again(self) -> Observed:
        match self.step.way:
            case Way.OTHER_THREAD:
                return in_thread(self._plainly)
            case Way.FORKED:
                return self._forked()
        return self._plainly()

    def done(self) -> None:
        """A handle that was closed is opened again at its next use."""
        if self._closed:
            self._closed = False
            self.execution.store.close_handle(self.call.on)

    def _plainly(self) -> Observed:
        keywords = self.execution.keywords(self.call, self.made_of)
        return observe(self.execution.store.backend, self.handle, self.call.call, keywords)

    def _close(self) -> Observed | None:
        closed = observe(self.execution.store.backend, self.handle, "close", {})
        return None if isinstance(closed, Answered) else closed

    def _forked(self) -> Observed:
        handle = elsewhere(self.execution, self.call.on, self.call.at)
        keywords = self.execution.keywords(self.call, self.made_of)
        found = handle.child.forked(self.call.call, keywords)
        self.carried, self.in_vain = self.carried or handle.child.carried, handle.child.in_vain
        return _lived(found, "the forked process")

    def _held(self, meanwhile: Callable[[], None], afterwards: Callable[[], None] | None = None) -> Observed:
        """The call is held before its guarded write, or at one of its points, and this is done; ``afterwards``: at each
        point that it still comes to."""
        store, handle = self.execution.store, self.handle
        passed: list[str] = []

        def at(label: str) -> Any:
            passed.append(label)
            if len(passed) == HELD_AT:
                return coroutines.meanwhile(meanwhile)
            return coroutines.meanwhile(afterwards) if afterwards is not None and len(passed) > HELD_AT else None

        pauses = store.backend.can("pause")
        name = "pause" if pauses else "points"
        with store.ability(name):
            getattr(handle, name)((lambda: coroutines.meanwhile(meanwhile)) if pauses else at)
        observed = self._plainly()
        if not self._closed:
            with store.ability(name):
                getattr(handle, name)(None)
        return observed

    def _restarted_meanwhile(self) -> Observed:
        """Who may have to wait for the held call is closed and opened by another thread."""
        store, on = self.execution.store, self.call.on
        if not _may_wait(self.execution):
            return self._held(lambda: store.reopen_others(on))
        trouble: list[BaseException] = []

        def reopened() -> None:
            try:
                store.reopen_others(on)
            except BaseException as error:  # raised again where somebody can hear it
                trouble.append(error)

        companion = Companion(store, reopened)
        observed = self._held(companion.start, companion.go_on)
        companion.finish(f"opening the store beside {self.call.call}")
        for error in trouble:
            # Opened while it was held up, it may say so.
            if not isinstance(error.__cause__, self.execution.binding.unavailable):
                raise error
        return observed

    def _close_meanwhile(self) -> None:
        self._closed = True
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(CLOSING_S)


def in_thread(work: Callable[[], Observed]) -> Observed:
    """Done by a thread of its own, which has ended when this returns."""
    found: list[Observed] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join()
    return found[0]


# In processes of their own -------------------------------------------------------------------------------------------


@define(eq=False)
class Elsewhere:
    """A handle that another process holds. Whatever that process answers comes back as from a handle in this one."""

    child: Child
    binding: Binding

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self.binding.calls.calls:
            raise AttributeError(name)
        return lambda **arguments: self._answered(_lived(self.child.call(name, arguments), "a process of its own"))

    def is_coroutine(self, _name: str) -> bool:
        """Its own process says so when it comes to it."""
        return False

    def close(self) -> None:
        self.child.kill()

    def _answered(self, observed: Observed) -> Any:
        match observed:
            case Answered(value):
                return value
            case Refusal():
                raise self.binding.error(observed.raw, observed.details)
            case Unavailable(definite, text):
                raise self.binding.unavailable(text, definite)
            case Crashed(error=error):
                raise error


class EndedError(Exception):
    """A process ended before it had answered."""


def elsewhere(execution: Execution, name: str, at: int | None) -> Elsewhere:
    """The handle of this name, held by another process from now on.

    Raises:
        BackendError: it cannot open the store.
    """
    store = execution.store
    handle = store.held(name)
    if isinstance(handle, Elsewhere):
        return handle
    child = store.child()
    opened = child.open(store.place, store.config)
    if not isinstance(opened, Answered):
        child.kill()
        said = getattr(opened, "text", opened)
        raise BackendError(f"{store.backend.name} claims kill, and a process of its own cannot open the store: {said}")
    found = Elsewhere(child, store.backend.binding)
    store.replace(name, found)
    if execution.binding.has_clock and at is not None:
        found.freeze_clock(at_ms=at)
    # So that it has been at work before anybody is forked from it.
    with contextlib.suppress(Exception):
        execution.binding.read(found, execution.binding.key_of_id("nobody"))
    return found


def _lived(found: Observed | Died, who: str) -> Observed:
    if not isinstance(found, Died):
        return found
    how = f"was ended by signal {found.signal}" if found.signal else "ended by itself"
    error = EndedError(f"{who} {how} before it had answered")
    return Crashed(f"SystemError: {error}", error)


def _left_open(execution: Execution, step: Misuse, made: Transaction) -> StepRun:
    """A transaction whose process ends: nothing of it is left, and nobody waits for it."""
    store = execution.store
    if not hasattr(store.handle(made.on), "begin"):
        return execution.left_out(step, "the store has no method begin")
    # Before it is begun: it may keep everybody out.
    calls = [(inner, execution.prepare(attrs.evolve(inner, at=made.at))) for inner in made.calls]
    child = store.child()
    seen: list[StepRun] = []
    try:
        found = child.open(store.place, store.config)
        found = child.begin() if isinstance(found, Answered) else found
        for inner, call in calls if isinstance(found, Answered) else ():
            if not isinstance(call, StepRun):
                answer = _lived(child.call(inner.call, call[0].arguments, inside=True), "a process of its own")
                seen.append(StepRun(inner.id, made.on, made.at, inner.call, call[0].arguments, answer, None))
                execution.put(inner, answer)
        child.leave()
    finally:
        child.kill()
    ids = execution.binding.contract.comparisons.get("transaction", ())
    failure = None
    if not isinstance(found, Answered):
        said = getattr(found, "text", getattr(found, "code", "its process ended"))
        failure = Failure(ids, Kind.CRASH, f"no transaction could be begun in a process of its own: {said}")
    failure = failure or _traces(execution, ids)
    run = StepRun(step.id, made.on, made.at, "transaction", {}, None, None, (), failure, during=tuple(seen))
    return _named(run, step, "nothing of it is left")
