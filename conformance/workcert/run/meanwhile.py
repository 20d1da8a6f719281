"""What is made while a call is held: in a thread of its own, since it may have to wait for that call.

Where a store has a clock, a call may be made later than the held one. The clock is moved by the handle that makes it,
and that may have to wait for the held call too: then it is as if the call itself had to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field, frozen

from workcert.backends.registry import BackendError
from workcert.cases.model import Call, Frozen, Reopen
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.raised import told
from workcert.run.beside import Companion
from workcert.run.calling import Answered, Observed, Unavailable
from workspec.core.scope import Call as ModelCall

if TYPE_CHECKING:
    from workcert.run.execution import Execution


@frozen(eq=False)
class Made:
    """A call as it was made. ``later``: the instants to which the clock has gone on before it ended, in order."""

    step: Call
    call: ModelCall
    now: int
    observed: Observed
    later: tuple[int, ...] = ()


@define(eq=False)
class Meanwhile:
    """The steps of ``during``. ``gone_on``: where the clock has been put while the call was held, at any of its
    points."""

    execution: Execution
    step: Frozen
    made: list[Made] = field(factory=list)
    left_out: list[StepRun] = field(factory=list)
    reopened: list[StepRun] = field(factory=list)
    trouble: list[BaseException] = field(factory=list)
    gone_on: set[int] = field(factory=set)
    companion: Companion | None = None
    is_timed: bool = False

    @property
    def came_back(self) -> bool:
        """They had ended when the held call went on."""
        return self.companion is not None and self.companion.came_back

    def start(self) -> None:
        self.forget()
        self.companion = Companion(self.execution.store, self._run)
        self.companion.start()
        self.is_timed |= self.companion.is_timed

    def go_on(self) -> None:
        """The held call has come to a further point."""
        if self.companion is not None:
            self.companion.go_on()
            self.is_timed |= self.companion.is_timed

    def forget(self) -> None:
        """What was made. The clock stays where it has gone meanwhile."""
        self.companion = None
        for kept in (self.made, self.left_out, self.reopened):
            kept.clear()

    def finish(self) -> None:
        """Wait for them, or make them now.

        Raises:
            CallHung: they do not come back though nothing holds them up any more.
        """
        if self.companion is None:
            self._run()
        else:
            self.companion.finish(f"a call beside {self.step.frozen.call}")
        for error in self.trouble:
            raise error

    def _run(self) -> None:
        try:
            for each in self.step.during:
                self._next_call()
                self._make(each)
        except BaseException as error:  # raised again where somebody can hear it
            self.trouble.append(error)
        finally:
            # A handle that was opened in this thread may be of no use in another.
            for each in self.step.during:
                if isinstance(each, Reopen):
                    self.execution.store.close_handle(each.on)

    def _next_call(self) -> None:
        if self.companion is not None:
            self.companion.next_call()

    def _make(self, each: Call | Reopen) -> None:
        execution = self.execution
        if isinstance(each, Reopen):
            self.reopened.append(_reopened(execution, each))
            return
        made = execution.understood(each)
        if isinstance(made, StepRun):
            self.left_out.append(made)
            return
        call, now = made
        moved = self._clock_put(each)
        if isinstance(moved, str):
            self.left_out.append(execution.left_out(each, moved))
            return
        observed = execution.observed(each, call) if moved is None else moved
        execution.put(each, observed)
        self.made.append(Made(each, call, now, observed))

    def _clock_put(self, each: Call) -> Unavailable | str | None:
        """Put the clock where the call is made. None where that is done, else why it cannot be; or what the store says
        where the held call is in the way."""
        clock = self.execution.clock
        before = clock.at
        try:
            why = clock.put(each.on, each.at)
        except BackendError as error:
            cause = error.__cause__
            if self.companion is None or not isinstance(cause, self.execution.binding.unavailable):
                raise
            if not cause.definite:
                clock.at = None
                self._note(each.at)
            # The call itself was not made: it has done nothing for certain, whatever the clock has.
            return Unavailable(True, told(cause))
        if clock.at != before:
            self._note(clock.at)
            self._next_call()
        return why or None

    def _note(self, at: int | None) -> None:
        """Of a clock that is moved when the held call has ended it knows nothing."""
        if self.companion is not None and at is not None:
            self.gone_on.add(at)

    @property
    def did_nothing(self) -> bool:
        """All of them said at once, and definitely, that they did nothing; to open a handle is to do nothing, and what
        refers to the answer of one that did nothing cannot be made."""
        seen = [each.observed for each in self.made]
        failed = any(each.failure is not None for each in self.reopened)
        turned_away = all(isinstance(one, Unavailable) and one.definite for one in seen)
        nothing_made = bool(self.left_out) and not seen
        return self.came_back and turned_away and not failed and not self.trouble and not nothing_made


def _reopened(execution: Execution, step: Reopen) -> StepRun:
    """Closed and opened anew. What the store says of being held up is no failure; anything else that it raises is."""
    execution.store.close_handle(step.on)
    seen: Observed = Answered(None)
    failure = None
    try:
        execution.store.handle(step.on)
    except BackendError as error:
        cause = error.__cause__
        if isinstance(cause, execution.binding.unavailable):
            seen = Unavailable(cause.definite, told(cause))
        else:
            ids = execution.binding.contract.comparisons["read"]
            failure = Failure(ids, Kind.CRASH, f"opening the place while another handle is in a call: {error}")
    return StepRun(step.id, step.on, None, "reopen", {}, seen, None, (), failure)
