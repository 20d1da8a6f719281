"""Running the steps of one case on one store, each judged as it is made."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

import attrs
from attrs import define, field

from workcert.backends.registry import BackendError
from workcert.binding import Binding
from workcert.cases.matcher import match
from workcert.cases.model import (
    UNCHANGED,
    Call,
    Frozen,
    Inject,
    Plain,
    Restart,
    Together,
    addressed,
)
from workcert.cases.model import Ok as ExpectOk
from workcert.codec import CodecError, structure, to_json
from workcert.judge.judge import Judge, Judged, Row, Stale
from workcert.judge.together import judge_together
from workcert.judge.verdict import END, TOGETHER, Failure, Kind, StepRun
from workcert.references import ReferenceFault, Refused, resolve
from workcert.run.calling import Answered, CallHung, Observed, Refusal, observe, time_limit
from workcert.run.store import StoreUnderTest
from workspec.core.choice import UNSEEN
from workspec.core.interpreter import decide, instants
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall
from workspec.core.scope import Trace


class Unreadable(Exception):  # noqa: N818 - a finding about the backend
    """The judge cannot read a record back: the read raised, or answered with something else."""


@define(eq=False)
class Answers(Mapping[str, Any]):
    """Answers by step id as plain JSON, made only when a reference asks for one."""

    _raw: dict[str, Any] = field(factory=dict)
    _plain: dict[str, Any] = field(factory=dict)

    def put(self, step: str, value: Any) -> None:
        self._raw[step] = value

    def __getitem__(self, step: str) -> Any:
        if step not in self._plain:
            raw = self._raw[step]
            self._plain[step] = raw if isinstance(raw, Refused) else to_json(raw)
        return self._plain[step]

    def __contains__(self, step: object) -> bool:
        return step in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


@define(eq=False)
class Execution:
    """One case as it runs. After the first failure it makes no further step.

    ``literal``: written expectations are checked too (the backend's choices are the reference's). ``judged`` False
    reads nothing back and compares nothing, for measuring what judging costs; the model still follows the calls,
    since machines draw from its state.
    """

    store: StoreUnderTest
    literal: bool = True
    judged: bool = True
    judge: Judge = field(init=False)
    answers: Answers = field(factory=Answers)
    runs: list[StepRun] = field(factory=list)
    failure: Failure | None = None
    unforced: str = ""
    """Why a frozen block showed nothing of an interleaving."""
    _at_s: int = 0
    _history: list[State] = field(factory=lambda: [{}])
    _seen_up_to: dict[str, int] = field(factory=dict)
    _lost: set[str] = field(factory=set)
    _rows: dict[str, Row | None] = field(factory=dict)
    _ids_of_case: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        backend = self.store.backend
        self.judge = Judge(backend.binding, backend.choices)

    @property
    def binding(self) -> Binding:
        return self.store.backend.binding

    # Steps -----------------------------------------------------------------------------------------------------------

    def step(self, step: Plain) -> StepRun:
        """Make one step and judge it."""
        with time_limit(f"step {step.id}"):
            try:
                run = self._dispatch(step)
            except Unreadable as trouble:
                run = self._unreadable(step, trouble)
        run = attrs.evolve(run, failure=self._as_the_case_says(run.failure))
        self.runs.append(run)
        self.failure = self.failure or run.failure
        return run

    def _as_the_case_says(self, failure: Failure | None) -> Failure | None:
        """Of several requirements that took part, one that the case was written for is named first."""
        ids = () if failure is None else failure.requirements
        meant = [i for i in ids if i in self._ids_of_case][:1]
        if failure is None or not meant:
            return failure
        return attrs.evolve(failure, requirements=tuple(dict.fromkeys((*meant, *ids))))

    def _dispatch(self, step: Plain) -> StepRun:
        match step:
            case Call():
                return self._call(step)
            case Restart():
                return self._restart(step)
            case Inject():
                return self._inject(step)
            case Frozen():
                return self._frozen(step)
            case Together():
                return self._together(step)
        raise AssertionError(f"unknown step {step!r}")

    def _call(self, step: Call) -> StepRun:
        made = self.prepare(step)
        if isinstance(made, StepRun):
            return made
        call, now_s = made
        observed = observe(self.store.backend, self.store.handle(step.on), step.call, self._keywords(step, call))
        return self._judged(step, call, now_s, observed)

    def _judged(self, step: Call, call: ModelCall, now_s: int, observed: Observed) -> StepRun:
        self._rows.clear()
        if not self.judged:
            self._put(step, observed)
            self.judge.follow(call, now_s, observed)
            return StepRun(step.id, step.on, step.at_s, step.call, call.arguments, observed, None)
        before = self.judge.state
        stale = Stale(self._history[::-1]) if self.binding.may_be_stale(call) else self._stale(step.on)
        judged = self.judge.call(call, now_s, observed, self.read, stale)
        if judged.failure is not None and judged.failure.kind in (Kind.RECORD, Kind.VERSION, Kind.CHOICE):
            judged = self._read_anew(step, call, now_s, observed, judged)
        elif judged.failure is not None and judged.failure.requirements == stale.requirements:
            judged = self._ask_anew(step, call, now_s, observed, judged)
        if judged.committed is None:
            self._put(step, observed)
            return self._left_out(step, "the backend declares another choice here")
        return self._finish(step, call, observed, judged, before)

    def _account(self, step: Call, lost: bool) -> None:
        """What this handle must know from now on. A read does not show on what it will decide; one that lost a guard
        may go on with its old view, which is a fault of its own (MWR-05)."""
        if step.call in self.binding.reads:
            return
        if lost:
            self._lost.add(step.on)
            return
        self._lost.discard(step.on)
        self._seen_up_to[step.on] = len(self._history)

    def _read_anew(
        self, step: Call, call: ModelCall, now_s: int, observed: Observed, judged: Judged
    ) -> Judged:
        """A record that is not as it should be may be an old view of the handle that the judge reads through.

        Raises:
            AbilityLie: a second handle shows another store.
        """
        if not self.store.backend.can("second_handle") or judged.committed is None or judged.failure is None:
            return judged
        self._rows.clear()
        self.store.reopen_reader()
        again = self.judge.call(call, now_s, observed, self.read)
        if again.failure is None:
            ids = (*self.binding.contract.comparisons["stale view"], *judged.failure.requirements)
            text = f"{judged.failure.text}, but a handle opened only now shows it right"
            return attrs.evolve(judged, failure=attrs.evolve(judged.failure, requirements=ids, text=text))
        key = judged.committed.decision.scope.key
        if key is not None and self.read(key) is None:
            self.store.check_second_handle(step.on, key)
        return judged

    def _ask_anew(self, step: Call, call: ModelCall, now_s: int, observed: Observed, judged: Judged) -> Judged:
        """A refusal that an old view would explain is no such thing when a handle opened only now refuses too."""
        if not isinstance(observed, Refusal) or not self.store.backend.can("second_handle"):
            return judged
        self.store.reopen_reader()
        again = observe(self.store.backend, self.store.reader(), step.call, self._keywords(step, call))
        if not isinstance(again, Refusal) or again.code != observed.code:
            return judged
        return self.judge.call(call, now_s, observed, self.read)

    def _finish(
        self, step: Call, call: ModelCall, observed: Observed, judged: Judged, before: State
    ) -> StepRun:
        failure = judged.failure or self._check_literally(step, call, observed, before)
        read_only = step.call in self.binding.reads
        if (failure is None or read_only) and self.store.backend.can("snapshot"):
            failure = self._compare_snapshot(read_only) or failure
        self._put(step, observed)
        self._history.append(self.judge.state)
        committed = judged.committed
        assert committed is not None
        self._account(step, lost=bool(committed.lost))
        return StepRun(
            step.id,
            step.on,
            step.at_s,
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
        """The call with references filled in and arguments typed, and its instant; or why it cannot be made."""
        try:
            arguments = resolve(step.args, self.answers)
        except ReferenceFault as fault:
            return self._left_out(step, str(fault))
        if not hasattr(self.store.handle(step.on), step.call):
            return self._left_out(step, f"the store has no method {step.call}")
        signature = self.binding.signature(step.call)
        try:
            typed = {
                name: structure(signature.arguments[name], value, f"args.{name}")
                for name, value in arguments.items()
            }
        except CodecError as error:
            return self._left_out(step, str(error))
        if step.at_s is not None:
            self._at_s = step.at_s
        call = ModelCall(step.call, typed)
        return call, self.binding.contract.instant(call, step.at_s)

    def _keywords(self, step: Call, call: ModelCall) -> dict[str, Any]:
        keywords = dict(call.arguments)
        if self.binding.signature(step.call).timed:
            keywords[self.binding.calls.instant] = step.at_s
        return keywords

    def _left_out(self, step: Plain, why: str) -> StepRun:
        self.answers.put(step.id, Refused("not_applicable"))
        on = getattr(step, "on", "")
        name = getattr(step, "call", type(step).__name__.lower())
        return StepRun(
            step.id,
            on,
            getattr(step, "at_s", None),
            name,
            getattr(step, "args", {}),
            None,
            None,
            applicable=False,
            note=why,
        )

    def _put(self, step: Call, observed: Observed) -> None:
        match observed:
            case Answered(value):
                self.answers.put(step.id, value)
            case Refusal(code, details, _raw):
                self.answers.put(step.id, Refused(code, details))
            case _:
                self.answers.put(step.id, Refused("crashed"))

    def _stale(self, handle: str) -> Stale:
        """The states that were committed since this handle was last used, newest first, without the present one."""
        since = self._seen_up_to.get(handle, 0)
        older = self._history[max(since - 1, 0) : -1]
        contract = self.binding.contract
        ids = contract.conflict_requirements if handle in self._lost else contract.comparisons["stale view"]
        return Stale(older[::-1], ids)

    # Reading ----------------------------------------------------------------------------------------------------------

    def read(self, key: str) -> Row | None:
        """The row of a key through the judge's handle, once per step.

        Raises:
            Unreadable: the read raises, or answers with something that is no record.
        """
        if key not in self._rows:
            self._rows[key] = self._read(key)
        return self._rows[key]

    def _read(self, key: str) -> Row | None:
        try:
            found = self.binding.read(self.store.reader(), key)
        except (CallHung, BackendError):
            raise
        except Exception as error:  # whatever an adapter raises is a finding, not a fault of the kit
            raise Unreadable(f"reading {key} back raised {type(error).__name__}: {error}") from error
        if found is None:
            return None
        record, actors = getattr(found, "workload", None), self.store.backend.actors
        if not isinstance(record, self.binding.record):
            raise Unreadable(f"reading {key} back answered with {type(found).__name__}, which holds no record")
        record = _with_tuples(record)
        return Row(found.version, record if not actors else _with_actors(record, actors))

    def _unreadable(self, step: Plain, trouble: Unreadable) -> StepRun:
        left_out = self._left_out(step, "")
        failure = Failure(self.binding.contract.comparisons["read"], Kind.CRASH, str(trouble))
        return attrs.evolve(left_out, applicable=True, failure=failure)

    def _compare_snapshot(self, read_only: bool) -> Failure | None:
        """What else moved.

        Raises:
            AbilityLie: snapshot and reads contradict each other.
        """
        snapshot = self.store.snapshot()
        failure = self.judge.others(snapshot, read_only)
        if failure is not None:
            self._rows.clear()
            for key in {*snapshot, *self.judge.state}:
                row = self.read(key)
                version = None if row is None else row.version
                shown = (snapshot[key] or 1) if key in snapshot else None
                if version != shown:
                    self.store.accuse_snapshot(key, shown, version)
        return failure

    # Literal expectations ------------------------------------------------------------------------------------------

    def _check_literally(
        self, step: Call, call: ModelCall, observed: Observed, before: State
    ) -> Failure | None:
        if not self.literal or (step.expect is None and step.record is None and step.version is None):
            return None
        found = [*self._answer_differences(step, observed), *self._record_differences(step, call, observed, before)]
        if not found:
            return None
        text = "; ".join(str(difference) for difference in found[:3])
        ids = self._ids_of_case or self.binding.contract.comparisons["refusal"]
        return Failure(ids, Kind.EXPECTATION, text)

    def for_case(self, requirements: tuple[str, ...]) -> None:
        """What a literal expectation that fails breaks."""
        self._ids_of_case = requirements

    def _answer_differences(self, step: Call, observed: Observed) -> list[Any]:
        if step.expect is None or (isinstance(observed, Answered) and not _is_whole(observed.value)):
            return []
        return expectation_differences(step.expect, observed, self.answers)

    def _record_differences(
        self, step: Call, call: ModelCall, observed: Observed, before: State
    ) -> list[Any]:
        if step.record is None and step.version is None:
            return []
        plain = to_json(observed.value) if isinstance(observed, Answered) else None
        of = None if step.of is None else resolve(step.of, self.answers)
        arguments = {name: value for name, value in call.arguments.items() if isinstance(value, str)}
        key = of if of is not None else addressed(step, arguments, plain)
        if key is None:
            return ["the step names no record"]
        now, then = self.judge.state.get(key), before.get(key)
        if step.record == UNCHANGED or step.version == "same":
            return [] if now is then else [f"the record of {key} moved; it must stay as it is"]
        if step.version == "moved" and now is then:
            return [f"the record of {key} stayed as it is; it must move"]
        if step.record is None:
            return []
        row = self.read(key)
        if row is not None and not _is_whole(row.record):
            return []
        matcher = resolve(step.record, self.answers)
        return list(match(matcher, None if row is None else to_json(row.record), "record"))

    # Other steps ------------------------------------------------------------------------------------------------------

    def _restart(self, step: Restart) -> StepRun:
        self.store.restart()
        self._rows.clear()
        if not self.judged:
            return StepRun(step.id, "", None, "restart", {}, None, None)
        ids = self.binding.contract.comparisons["restart"]
        failure = self.judge.everything(self.read, ids, Kind.RESTART, "after the restart")
        self._seen_up_to.clear()
        trace = Trace(requirements=list(ids))
        return StepRun(step.id, "", None, "restart", {}, None, None, (), failure, (trace,), note=step.note or "")

    def _inject(self, step: Inject) -> StepRun:
        try:
            record = structure(self.binding.record, resolve(step.record, self.answers), "record")
        except (ReferenceFault, CodecError) as fault:
            return self._left_out(step, str(fault))
        why = self.binding.injectable(record)
        if why:
            return self._left_out(step, why)
        with self.store.ability("inject"):
            self.store.handle(step.on).inject(record=record, version=step.version)
        key = self.binding.key_of(record)
        self._rows.clear()
        row = None if step.version is None else self.read(key)
        self.judge.inject(self.binding.contract.absorb(record, step.version), step.version)
        if row is not None:
            # The numbers of versions are the store's own.
            self.judge.versions[key] = row.version
        self._history.append(self.judge.state)
        self.answers.put(step.id, record)
        return StepRun(step.id, step.on, None, "inject", {"record": record}, None, None, note=step.note or "")

    def _frozen(self, step: Frozen) -> StepRun:
        """The held call reads and decides, the others commit, then it goes on."""
        held = step.frozen
        made = self.prepare(held)
        if isinstance(made, StepRun):
            return made
        call, now_s = made
        before, stale = self.judge.state, self._stale(held.on)
        ran: list[StepRun] = []
        trouble: list[Exception] = []

        def meanwhile() -> None:
            try:
                self._check_pause()
                ran.extend(self._call(inner) for inner in step.during)
            except (Unreadable, BackendError) as error:
                # The store may swallow it: it is raised again when the held call has come back.
                trouble.append(error)

        handle = self.store.handle(held.on)
        with self.store.ability("pause"):
            handle.pause(meanwhile)
        observed = observe(self.store.backend, handle, held.call, self._keywords(held, call))
        with self.store.ability("pause"):
            handle.pause(None)
        if trouble:
            raise trouble[0]
        if not ran:
            # The call did not come to its guarded write: it stands before the others. If it should have, then nothing
            # was forced, and what is written of the outcome holds of another order.
            if decide(self.binding.contract, before, call, now_s).parts:
                self.unforced = f"{held.call} wrote without running the callback of pause: no interleaving was forced"
                self.literal = False
            first = self._judged(held, call, now_s, observed)
            meanwhile()
            return self._combined(step, first, ran)
        self._rows.clear()
        failed = next((run for run in ran if run.failure is not None), None)
        if failed is not None:
            return self._combined(step, failed, ran)
        decision, chooser = self.judge.first_half(call, now_s, observed, self.read, before)
        between = self.judge.state
        judged = self.judge.half(decision, observed, self.read, chooser, stale)
        return self._combined(step, self._finish(held, call, observed, judged, between), ran)

    def _check_pause(self) -> None:
        """The callback runs before the guarded write, so nothing has changed yet.

        Raises:
            AbilityLie: something has.
        """
        if self.judged and self.store.backend.can("snapshot") and self.judge.others(self.store.snapshot()) is not None:
            self.store.accuse("pause", "its callback runs after the write; it must run before")

    def _combined(self, step: Frozen, held: StepRun, during: Sequence[StepRun]) -> StepRun:
        failure = held.failure or next((run.failure for run in during if run.failure is not None), None)
        traces = tuple(trace for run in (*during, held) for trace in run.traces)
        return attrs.evolve(held, failure=failure, traces=traces, note=step.note or "frozen", during=tuple(during))

    def _together(self, step: Together) -> StepRun:
        prepared = [self.prepare(call) for call in step.calls]
        for made in prepared:
            if isinstance(made, StepRun):
                return attrs.evolve(made, id=step.id)
        calls = [made for made in prepared if not isinstance(made, StepRun)]
        observed = self._at_once(step.calls, [call for call, _ in calls])
        self._rows.clear()
        for call, seen in zip(step.calls, observed, strict=True):
            self._put(call, seen)
        # Which calls met a conflict differs from run to run, so their decisions are no evidence: what a race shows is
        # written in the header of its case.
        failure = judge_together(self.judge, calls, observed, self.read)
        if failure is None and self.literal and step.expect_one_of is not None:
            failure = self._check_combinations(step, observed)
        self._history.append(self.judge.state)
        arguments = {call.id: made.arguments for call, (made, _) in zip(step.calls, calls, strict=True)}
        names = " | ".join(call.call for call in step.calls)
        shown = Answered([_brief(seen) for seen in observed])
        return StepRun(
            step.id, "", step.calls[0].at_s, names, arguments, shown, None, (), failure, note=TOGETHER
        )

    def _at_once(self, steps: Sequence[Call], calls: Sequence[ModelCall]) -> list[Observed]:
        barrier = threading.Barrier(len(steps))
        seen: list[Observed | None] = [None] * len(steps)
        handles = [self.store.handle(step.on) for step in steps]

        def run(index: int) -> None:
            keywords = self._keywords(steps[index], calls[index])
            barrier.wait()
            seen[index] = observe(self.store.backend, handles[index], steps[index].call, keywords)

        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(steps))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found for found in seen if found is not None]

    def _check_combinations(self, step: Together, observed: Sequence[Observed]) -> Failure | None:
        assert step.expect_one_of is not None
        for combination in step.expect_one_of:
            if all(
                not expectation_differences(expectation, seen, self.answers)
                for expectation, seen in zip(combination, observed, strict=True)
            ):
                return None
        text = f"the answers fit none of the {len(step.expect_one_of)} allowed combinations"
        return Failure(self._ids_of_case or ("WRK-GEN-01",), Kind.EXPECTATION, text)

    # The end -------------------------------------------------------------------------------------------------------

    def finish(self) -> Failure | None:
        """After the last step: every record is the model's, and every invariant holds of it."""
        if self.failure is not None or not self.judged:
            return self.failure
        self._rows.clear()
        ids = self.binding.contract.comparisons["others"]
        asked: list[str] = []
        with time_limit("reading every record at the end"):
            try:
                failure = self.judge.everything(self.read, ids, Kind.OTHERS, "at the end")
                if failure is None:
                    failure, asked = self.judge.invariants(self.read)
            except Unreadable as trouble:
                failure = Failure(self.binding.contract.comparisons["read"], Kind.CRASH, str(trouble))
        failure = self._as_the_case_says(failure)
        shown = [*asked, *(ids if len(self.judge.state) > 1 else ())]
        last = self.runs[-1].id if self.runs else "end"
        self.runs.append(
            StepRun(last, "", None, END, {}, None, None, (), failure, (Trace(requirements=shown),))
        )
        self.failure = failure
        return failure

    # What a driver may ask -----------------------------------------------------------------------------------------

    def instants(self) -> tuple[int, ...]:
        """Every instant at which a rule on some record of the present state turns."""
        found = {
            instant
            for record in self.judge.state.values()
            for instant in instants(self.binding.contract, record, self._at_s)
        }
        return tuple(sorted(found))


def expectation_differences(expectation: Any, observed: Observed, answers: Mapping[str, Any]) -> list[Any]:
    """What a written expectation and an observation differ in."""
    if isinstance(expectation, ExpectOk):
        if not isinstance(observed, Answered):
            return [f"expected success, seen {_brief(observed)}"]
        return list(match(resolve(expectation.answer, answers), to_json(observed.value), "answer"))
    if not isinstance(observed, Refusal):
        return [f"expected a refusal with {expectation.code}, seen success"]
    found = list(match(expectation.code, observed.code, "code"))
    if expectation.details is not None:
        found.extend(match(resolve(expectation.details, answers), to_json(observed.details), "details"))
    return found


def _with_tuples(record: Any) -> Any:
    """A store may answer with lists where the vocabulary has tuples."""
    members = {name: getattr(record, name) for name in _tuples_of(cast(Hashable, type(record)))}
    lists = {name: tuple(value) for name, value in members.items() if isinstance(value, list)}
    return attrs.evolve(record, **lists) if lists else record


@cache
def _tuples_of(record: Hashable) -> tuple[str, ...]:
    members = attrs.fields(cast("type[Any]", record))
    return tuple(member.name for member in members if str(member.type).startswith("tuple"))


def _is_whole(value: Any) -> bool:
    """Nothing of it is hidden, at any depth of its carriers."""
    if isinstance(value, list | tuple):
        return all(_is_whole(item) for item in value)
    if attrs.has(type(value)):
        return all(_is_whole(getattr(value, f.name)) for f in attrs.fields(type(value)))
    return value is not UNSEEN


def _brief(observed: Observed) -> Any:
    match observed:
        case Answered(value):
            return value
        case Refusal(code, _, _):
            return code
    return getattr(observed, "text", "")


def _with_actors(record: Any, actors: Mapping[str, str]) -> Any:
    history = getattr(record, "execution_history", ())
    renamed = tuple(attrs.evolve(event, actor=actors.get(event.actor, event.actor)) for event in history)
    return attrs.evolve(record, execution_history=renamed)


