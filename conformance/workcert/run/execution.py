"""Running the steps of one case on one store, each judged as it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from attrs import define, field

from workcert.backends.registry import BackendError
from workcert.binding import WISHES, Binding
from workcert.cases.model import (
    Call,
    Crash,
    Damage,
    Frozen,
    Inject,
    Misuse,
    Plain,
    Restart,
    Together,
    Transaction,
)
from workcert.codec import CodecError
from workcert.judge.comparing import Stale
from workcert.judge.judge import Judge, Judged
from workcert.judge.ledger import Row
from workcert.judge.together import Undecided
from workcert.judge.verdict import END, Failure, Kind, StepRun
from workcert.references import ReferenceFault, Refused, resolve
from workcert.run.anew import ask_anew, at_its_own_time, read_anew
from workcert.run.answers import Answers
from workcert.run.asserted import Made, not_asserted
from workcert.run.calling import Answered, Observed, Refusal, observe, time_limit
from workcert.run.clock import STANDS, StoreClock
from workcert.run.crashing import of_no_use, run_crash, since_wounded
from workcert.run.damaging import run_damage
from workcert.run.holding import Held, run_held
from workcert.run.injecting import run_inject
from workcert.run.interleaving import run_frozen, run_together
from workcert.run.legible import Legible
from workcert.run.literal import literal_failure
from workcert.run.misuse import run_misuse
from workcert.run.naming import as_the_case_says
from workcert.run.others import compare_others
from workcert.run.present import PresentState
from workcert.run.reading import Unreadable, read_row
from workcert.run.referred import check_referred
from workcert.run.store import StoreUnderTest
from workcert.run.transactions import run_transaction
from workcert.run.views import Views
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall
from workspec.core.scope import Trace


@define(eq=False)
class Execution:
    """One case as it runs. After the first failure it makes no further step.

    ``literal``: written expectations are checked too (the backend's choices are the reference's). ``judged`` False
    reads nothing back and compares nothing, for measuring what judging costs; the model still follows the calls,
    since machines draw from its state. ``tells`` False leaves out what people read of steps that were right.
    """

    store: StoreUnderTest
    literal: bool = True
    judged: bool = True
    tells: bool = True
    looks_every: int = 1
    """So often, in steps, the records that a call is not about are looked at; and always after the last step."""
    binding: Binding = field(init=False)
    judge: Judge = field(init=False)
    clock: StoreClock = field(init=False)
    answers: Answers = field(factory=Answers)
    runs: list[StepRun] = field(factory=list)
    failure: Failure | None = None
    unforced: str = ""
    """Why a frozen block showed nothing of an interleaving."""
    raceless: set[str] = field(factory=set)
    """Blocks of calls at once in which so many were turned away that they show no race."""
    held: Held | None = None
    """What became of the last call that was held at a point."""
    other_states: tuple[State, ...] = ()
    """What the store may hold instead of the judge's state, after calls whose order nothing has shown yet."""
    unsure: bool = False
    """Whether a call at once was done nobody knows: what no row shows of it the store may have, and the judge not."""
    tries_on: bool = False
    """Where those that should run meanwhile are all held up, they try again at the next point."""
    _at: int = 0
    _cursors: dict[Any, Any] = field(factory=dict)
    history: list[State] = field(factory=lambda: [{}])
    views: Views = field(init=False)
    rows: dict[str, Row | None] = field(factory=dict)
    ids_of_case: tuple[str, ...] = ()
    present: PresentState = field(init=False)
    wounded: str = ""
    """What befell the store in an earlier step: a kill in the middle of a call, or what a disk may do to its files."""
    damaged: bool = False
    """A file of the store was damaged: nothing more is asked of it."""

    def __attrs_post_init__(self) -> None:
        backend = self.store.backend
        self.binding = backend.binding
        self.views = Views(self.binding.contract, self.history)
        config = {name: value for name, value in self.store.config.items() if name not in WISHES}
        asked = {backend.binding.configured.get(name, name): value for name, value in config.items()}
        self.clock = StoreClock(self.store)
        legible = Legible(self.store).__getitem__
        self.judge = Judge(backend.binding, {**backend.choices, **asked}, legible, tells=self.tells)
        self.present = PresentState(self.judge)

    # Steps -----------------------------------------------------------------------------------------------------------

    def step(self, step: Plain) -> StepRun:
        """Make one step and judge it."""
        unsure = self.unsure
        with time_limit(f"step {step.id}"):
            try:
                run = self._dispatch(step)
            except Unreadable as trouble:
                run = self._unreadable(step, trouble)
            except RecursionError:
                run = self._unreadable(
                    step, Unreadable("an answer cannot be compared: it holds itself, or is too deep")
                )
            except BackendError as error:
                run = of_no_use(self, step, error)
        if run.failure is not None and self.other_states and not isinstance(step, Call):
            raise Undecided(f"which of several calls came first is not known, and {step.id} is right for some orders")
        if run.failure is not None and unsure:
            raise Undecided(f"whether a call at once was done is not known, and {step.id} may hang on that")
        if run.failure is not None:
            run = attrs.evolve(run, failure=self._named(run.failure))
        self.runs.append(run)
        self.failure = self.failure or run.failure
        return run

    def _named(self, failure: Failure | None) -> Failure | None:
        contract = self.binding.contract
        if failure is not None and self.wounded:
            failure = since_wounded(self, failure)
        return failure and as_the_case_says(contract, failure, self.ids_of_case, restarted=self.views.opened_at > 0)

    def _dispatch(self, step: Plain) -> StepRun:
        match step:
            case Call():
                return self.call(step)
            case Restart():
                return self._restart(step)
            case Inject():
                return run_inject(self, step)
            case Frozen() | Together() | Misuse() if self.other_states:
                return self.left_out(step, "nothing has told yet which of two states a killed process has left behind")
            case Frozen(point=None):
                return run_frozen(self, step)
            case Frozen():
                return run_held(self, step)
            case Together():
                return run_together(self, step)
            case Transaction():
                return run_transaction(self, step)
            case Crash():
                return run_crash(self, step)
            case Misuse():
                return run_misuse(self, step)
            case Damage():
                return run_damage(self, step)
        raise AssertionError(f"unknown step {step!r}")

    def call(self, step: Call) -> StepRun:
        made = self.prepare(step)
        if isinstance(made, StepRun):
            return made
        call, now_s = made
        return self.judged_run(step, call, now_s, self.observed(step, call))

    def observed(self, step: Call, call: ModelCall) -> Observed:
        """Make a call that was prepared on its handle, and judge nothing.

        Raises:
            CallHung: no answer in time.
            BackendError: the answer leaves out what later calls have to name.
        """
        seen = observe(self.store.backend, self.store.handle(step.on), step.call, self.keywords(step, call))
        check_referred(self.store.backend, step.call, seen)
        return seen

    def judged_run(self, step: Call, call: ModelCall, now_s: int, observed: Observed) -> StepRun:
        self.rows.clear()
        if not self.judged:
            self.put(step, observed)
            self.judge.follow(self.as_the_model_asks(call), now_s, observed)
            return StepRun(step.id, step.on, step.at, step.call, call.arguments, observed, None)
        self._narrow(self.as_the_model_asks(call), now_s, observed)
        before = self.judge.state
        stale = Stale(self.history[::-1]) if self.binding.may_be_stale(call) else self.views.stale(step.on)
        self.clock.follow(call)
        judged = self.judge.call(self.as_the_model_asks(call), now_s, observed, self.read, stale)
        if step.at is None and self.binding.has_clock:
            judged = at_its_own_time(self, call, now_s, observed, judged)
        if judged.failure is not None and judged.failure.kind in (Kind.RECORD, Kind.VERSION, Kind.CHOICE):
            judged = read_anew(self, step, call, now_s, observed, judged)
        elif judged.failure is not None and judged.failure.requirements == stale.requirements:
            judged = ask_anew(self, step, call, now_s, observed, judged)
        if judged.failure is not None and step.call not in self.binding.reads:
            # What a call writes shows when it was made; what a read tells of ages need not.
            asked = self.as_the_model_asks(call)
            failure = self.clock.blamed(
                judged.failure, step.on, now_s, lambda at: self.judge.explained(asked, at, observed, self.read)
            )
            judged = attrs.evolve(judged, failure=failure)
        if judged.committed is None:
            self.put(step, observed)
            return self.left_out(step, "the backend declares another choice here", elsewhere=True)
        return self.finished(step, call, observed, judged, before)

    def _narrow(self, call: ModelCall, now_s: int, observed: Observed) -> None:
        """Which of several states the store is in may show in what this call did."""
        if not self.other_states:
            return
        states = (self.judge.state, *self.other_states)
        after = [self.judge.follows(state, call, now_s, observed, self.read) for state in states]
        fitting = [(state, then) for state, then in zip(states, after, strict=True) if then is not None]
        if fitting:
            self.judge.state = fitting[0][0]
            self.other_states = tuple(then for _, then in fitting[1:] if then != fitting[0][1])

    def finished(self, step: Call, call: ModelCall, observed: Observed, judged: Judged, before: State) -> StepRun:
        key = None if judged.committed is None else judged.committed.decision.scope.key
        failure = judged.failure or literal_failure(self, step, key, observed, before)
        read_only = step.call in self.binding.reads
        if (len(self.runs) + 1) % self.looks_every == 0:
            failure = compare_others(self, failure, read_only, judged.committed)
        self.put(step, observed)
        self.history.append(self.judge.state)
        if failure is None:
            self.store.known = next(iter(self.present.legible_keys()), None)
        committed = judged.committed
        assert committed is not None
        self._note_cursor(observed, committed.outcome)
        # A read does not show on what the handle will decide.
        if not read_only:
            (self.views.lost if committed.lost else self.views.used)(step.on)
        return StepRun(
            step.id,
            step.on,
            step.at,
            step.call,
            call.arguments,
            observed,
            committed.outcome,
            judged.changed,
            failure,
            (committed.decision.trace,),
            note=step.note or "",
        )

    def prepare(self, step: Call) -> tuple[ModelCall, int] | StepRun:
        """As `understood`, with the clock of the store put where the call is made."""
        made = self.understood(step)
        why = "" if isinstance(made, StepRun) else self.clock.put(step.on, step.at)
        return self.left_out(step, why) if why else made

    def understood(self, step: Call) -> tuple[ModelCall, int] | StepRun:
        """The call with references filled in and arguments typed, and its instant; or why it cannot be made."""
        try:
            arguments = resolve(step.args, self.answers)
        except ReferenceFault as fault:
            return self.left_out(step, str(fault))
        if not hasattr(self.store.handle(step.on), step.call):
            return self.left_out(step, f"the store has no method {step.call}")
        signature = self.binding.signature(step.call)
        try:
            typed = signature.typed(arguments)
        except CodecError as error:
            return self.left_out(step, str(error))
        if step.at is not None:
            self._at = step.at
        call = ModelCall(step.call, typed)
        at = self.clock.running() if step.at is None and self.binding.has_clock else step.at
        if at is None and self.binding.has_clock:
            return self.left_out(step, STANDS)
        now_s = self.binding.contract.instant(call, at)
        why = self.binding.impossible(call)
        elsewhere = "" if why else self.not_asserted([(call, now_s)])
        if why or elsewhere:
            return self.left_out(step, why or elsewhere, elsewhere=bool(elsewhere))
        return call, now_s

    def not_asserted(self, calls: Sequence[Made]) -> str:
        """Why the model says nothing of these calls in some order, on the present state; empty where it does."""
        return not_asserted(self.binding.contract, self.store.backend.choices, self.judge.state, calls)

    def keywords(self, step: Call, call: ModelCall) -> dict[str, Any]:
        keywords = dict(call.arguments)
        if self.binding.signature(step.call).timed and self.binding.calls.instant is not None:
            keywords[self.binding.calls.instant] = step.at
        return keywords

    def left_out(self, step: Plain, why: str, *, elsewhere: bool = False) -> StepRun:
        self.answers.put(step.id, Refused("not_applicable"))
        on = getattr(step, "on", "")
        name = getattr(step, "call", type(step).__name__.lower())
        return StepRun(
            step.id,
            on,
            getattr(step, "at", None),
            name,
            getattr(step, "args", {}),
            None,
            None,
            applicable=False,
            note=why,
            elsewhere=elsewhere,
        )

    def not_forced(self, step: Plain, why: str) -> StepRun:
        """What the case is about cannot be made here, and what it expects afterwards does not hold."""
        self.unforced, self.literal = why, False
        return self.left_out(step, why)

    def put(self, step: Call, observed: Observed) -> None:
        if isinstance(observed, Answered):
            self.answers.put(step.id, observed.value)
        elif isinstance(observed, Refusal):
            self.answers.put(step.id, Refused(observed.code, observed.details))
        else:
            self.answers.put(step.id, Refused("crashed"))

    def as_the_model_asks(self, call: ModelCall) -> ModelCall:
        """The place where a page ended is the store's own text; the model has one of its own for it."""
        cursor = call.arguments.get("cursor")
        if cursor not in self._cursors:
            return call
        return ModelCall(call.name, {**call.arguments, "cursor": self._cursors[cursor]})

    def _note_cursor(self, observed: Observed, outcome: Any) -> None:
        seen = getattr(getattr(observed, "value", None), "cursor", None)
        if seen is not None:
            self._cursors[seen] = getattr(getattr(outcome, "value", None), "cursor", None)

    # Reading ----------------------------------------------------------------------------------------------------------

    def read(self, key: str) -> Row | None:
        """The row of a key through the judge's handle, once per step.

        Raises:
            Unreadable: the read raises, or answers with something that is no record.
        """
        if not self.judge.legible(key):
            return None
        if key not in self.rows:
            self.rows[key] = read_row(self.store, key)
            self.store.reads = self.store.reads or self.rows[key] is not None
        return self.rows[key]

    def _unreadable(self, step: Plain, trouble: Unreadable) -> StepRun:
        left_out = self.left_out(step, "")
        failure = Failure(self.binding.contract.comparisons["read"], Kind.CRASH, str(trouble))
        return attrs.evolve(left_out, applicable=True, failure=failure)

    # Other steps ------------------------------------------------------------------------------------------------------

    def reopened(self) -> None:
        """Every handle was closed, and is opened anew at its next use."""
        self.rows.clear()
        self.clock.at = None
        self.views.opened_anew()

    def _restart(self, step: Restart) -> StepRun:
        self.store.restart()
        self.reopened()
        if not self.judged:
            return StepRun(step.id, "", None, "restart", {}, None, None)
        ids = self.binding.contract.comparisons["restart"]
        failure = self.judge.everything(self.read, ids, Kind.RESTART, "after the restart")
        trace = Trace(requirements=list(ids))
        return StepRun(step.id, "", None, "restart", {}, None, None, (), failure, (trace,), note=step.note or "")

    # The end -------------------------------------------------------------------------------------------------------

    def finish(self) -> Failure | None:
        """After the last step: every record is the model's, and every invariant holds of it."""
        if self.failure is not None or not self.judged or self.damaged:
            return self.failure
        self.rows.clear()
        ids = self.binding.contract.comparisons["others"]
        asked: list[str] = []
        with time_limit("reading every record at the end"):
            try:
                failure = self.judge.everything(self.read, ids, Kind.OTHERS, "at the end")
                if failure is None and self.looks_every > 1:
                    failure = compare_others(self, None)
                if failure is None:
                    failure, asked = self.judge.invariants(self.read)
            except Unreadable as trouble:
                failure = Failure(self.binding.contract.comparisons["read"], Kind.CRASH, str(trouble))
        if failure is not None and self.other_states:
            raise Undecided("which of several calls came first is not known, and the end is right for some orders")
        failure = self._named(failure)
        shown = [*asked, *(ids if len(self.judge.state) > 1 else ())]
        last = self.runs[-1].id if self.runs else "end"
        self.runs.append(StepRun(last, "", None, END, {}, None, None, (), failure, (Trace(requirements=shown),)))
        self.failure = failure
        # They hold the judge, which holds them: left alone, all of an example waits for the collector of cycles.
        self.judge.unread.forget()
        return failure

    # What a driver may ask -----------------------------------------------------------------------------------------

    def instants(self) -> tuple[int, ...]:
        """Every instant at which a rule on some record of the present state turns."""
        return self.present.instants(self._at)

    def instants_of(self, key: str) -> tuple[int, ...]:
        return self.present.instants_of(key, self._at)
