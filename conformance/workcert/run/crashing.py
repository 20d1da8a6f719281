"""A step in a process of its own that is killed: what it leaves behind is the state before it or the one after it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import define, field, frozen

from workcert.backends.registry import BackendError
from workcert.cases.model import KILLED as KILLED_AT_WRITE
from workcert.cases.model import OPENING, Call, Crash, Plain, Transaction
from workcert.children import Child, ChildTrouble, Died, DiskTrouble, FailingDisk, cannot, cannot_fail
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.references import Refused
from workcert.run.calling import Answered, Observed, Refusal, Unavailable
from workcert.run.left_behind import Candidate, candidates, misfit
from workspec.core.scope import Call as ModelCall
from workspec.core.scope import Trace

if TYPE_CHECKING:
    from workcert.run.execution import Execution

UNHEARD: Final = Unavailable(False, "the process was killed before it had answered")
"""What is known of a call that nobody heard the answer of."""
UNTOUCHED: Final = "the call wrote less often"
BEFORE, AFTER, EITHER = "as before", "as after", "as before and as after, as far as it can be read"


@frozen
class Made:
    """A call of the step, with its arguments filled in."""

    step: Call
    call: ModelCall
    now: int


@define
class Killed:
    """What was heard of the process. ``answers``: of the calls that were answered, in order; ``label``: the point at
    which it was killed, empty where it had answered all; ``trouble``: it ended, or refused to work, by itself;
    ``broken``: what its connections were without, of what the adapter promises."""

    answers: list[Observed] = field(factory=list)
    label: str = ""
    trouble: str = ""
    broken: tuple[str, ...] = ()
    disk: str = ""
    unavailable: Unavailable | None = None
    """Said on a disk that failed."""
    points: tuple[str, ...] = ()
    """The labels of those that were passed by what was answered."""


def run_crash(execution: Execution, step: Crash) -> StepRun:
    """Close all handles, make the step in another process, kill that, and look at what is there.

    Raises:
        CallHung: the process did not answer.
        BackendError: no process of its own can be had, or an ability proves to be none.
    """
    why = cannot(execution.store.backend) or (cannot_fail() if step.disk else "")
    made = [] if why else _prepared(execution, step)
    if not why and not isinstance(made, StepRun):
        why = execution.not_asserted([(each.call, each.now) for each in made])
        declared = execution.judge.declared
        why = why or next(filter(None, (execution.binding.answered_only(each.call, declared) for each in made)), "")
    if why:
        return _left_out(execution, step, why, elsewhere=True)
    if isinstance(made, StepRun):
        return _left_out(execution, step, made.note, elsewhere=made.elsewhere)
    execution.store.restart()
    try:
        killed = _killed(execution, step, made)
    except DiskTrouble as trouble:
        execution.reopened()
        return _left_out(execution, step, str(trouble), elsewhere=True)
    execution.reopened()
    try:
        execution.store.reader()
    except ChildTrouble:
        raise
    except BackendError as error:
        where = "" if killed.disk else _where(killed)
        text = f"the store cannot be opened after its process was killed{where}: {error}"
        return _ended(execution, step, made, killed, Failure(execution.binding.killed, Kind.CRASH, text))
    if killed.trouble:
        failure = Failure(execution.binding.killed, Kind.CRASH, killed.trouble)
        return _ended(execution, step, made, killed, failure)
    if not execution.judged:
        return _followed(execution, step, made, killed)
    run = _judged(execution, step, made, killed)
    if run.failure is None and killed.broken:
        return attrs.evolve(run, failure=Failure(execution.binding.durable, Kind.PROMISE, killed.broken[0]))
    if run.failure is None and killed.label and not killed.disk:
        # What no read has shown may be torn all the same, and show in what comes.
        execution.wounded = f"{_name(step)}: killed{_where(killed)}"
    return run


def of_no_use(execution: Execution, step: Plain, error: BackendError) -> StepRun:
    """A step that cannot be made since the files of the store were hurt: that is a finding, and no end of the run.

    Raises:
        BackendError: nothing has happened to them, or it says nothing of the store.
    """
    if not execution.wounded or isinstance(error, ChildTrouble):
        raise error
    run = execution.left_out(step, execution.wounded)
    text = f"the store is of no use since: {error}"
    return attrs.evolve(run, applicable=True, failure=Failure(execution.binding.killed, Kind.CRASH, text))


def since_wounded(execution: Execution, failure: Failure) -> Failure:
    """What befell the files stands first. Where the store answers with no answer at all it is what is broken, too."""
    killed, own = execution.binding.killed, failure.requirements
    ids = (*killed, *own) if failure.kind is Kind.CRASH else (*own, *killed)
    text = f"{execution.wounded}; then: {failure.text}"
    return attrs.evolve(failure, requirements=tuple(dict.fromkeys(ids)), text=text)


def _prepared(execution: Execution, step: Crash) -> list[Made] | StepRun:
    """Every call of the step, none where opening is all; or why one of them cannot be made."""
    match step.step:
        case None:
            calls: tuple[Call, ...] = ()
        case Call() as call:
            calls = (call,)
        case Transaction(calls=inner, at=at):
            if not hasattr(execution.store.handle(step.step.on), "begin"):
                return execution.left_out(step.step, "the store has no method begin")
            calls = tuple(attrs.evolve(call, at=at) for call in inner)
    found: list[Made] = []
    for call in calls:
        prepared = execution.prepare(call)
        if isinstance(prepared, StepRun):
            return prepared
        found.append(Made(call, *prepared))
    return found


def _left_out(execution: Execution, step: Crash, why: str, *, elsewhere: bool) -> StepRun:
    run = execution.left_out(step, why, elsewhere=elsewhere)
    for call in _calls(step):
        execution.answers.put(call.id, Refused("not_applicable"))
    return attrs.evolve(run, on=getattr(step.step, "on", ""), call=_name(step))


# The other process -----------------------------------------------------------------------------------------------


def _killed(execution: Execution, step: Crash, made: Sequence[Made]) -> Killed:
    child = execution.store.child()
    try:
        killed = _asked(execution, step, made, child)
        killed.broken = child.broken
        # On a disk that fails no answer says anything of the question.
        if child.unasked and step.disk is None:
            raise BackendError(
                f"{execution.store.backend.name} promises {child.unasked[0]}. A promise is a statement that each "
                "connection of the store answers with a row, as in {'PRAGMA synchronous': 2}. Mend it, or take it out "
                "of promises"
            )
        return killed
    finally:
        child.kill()


def _asked(execution: Execution, step: Crash, made: Sequence[Made], child: Child) -> Killed:
    killed = Killed()
    at = step.point if step.step is None else None
    ended = child.open(execution.store.place, execution.store.config, kill_at=at)
    if not _goes_on(killed, ended, OPENING) or step.step is None:
        return killed
    if step.disk is not None:
        _on_failing_disk(execution, step, made[0], child, killed)
        return killed
    if isinstance(step.step, Call):
        call = made[0]
        keywords = execution.keywords(call.step, call.call)
        ended = child.call(call.call.name, keywords, _clock(execution, call.step), kill_at=step.point)
        if not isinstance(ended, Died):
            killed.answers.append(ended)
            killed.points = child.points
            return killed
        _goes_on(killed, ended, call.call.name)
        return killed
    _in_transaction(execution, step, made, child, killed)
    return killed


def _on_failing_disk(execution: Execution, step: Crash, made: Made, child: Child, killed: Killed) -> None:
    """The clock is stopped before, so that the writes of the call alone are counted."""
    instant = _clock(execution, made.step)
    if instant is not None and not _goes_on(killed, child.stop_clock(instant), "freeze_clock"):
        return
    assert step.disk is not None
    with FailingDisk(child.pid, execution.store.place.path, step.disk, step.point) as disk:
        ended = child.call(made.call.name, execution.keywords(made.step, made.call), instant, watch=True)
    killed.disk = step.befalls if disk.failed else UNTOUCHED
    execution.wounded = f"{made.call.name}: {killed.disk}" if disk.failed else ""
    # What is torn may lie where no read has come to.
    execution.store.use_up()
    match ended:
        case Died(number=0, signal=signal.SIGKILL) if disk.failed and step.disk == KILLED_AT_WRITE:
            killed.label = "not answered"
        case Unavailable(definite, _text) if disk.failed:
            killed.unavailable = ended
            killed.label = "unavailable, definitely" if definite else "unavailable, or not"
        case Answered() | Refusal():
            killed.answers.append(ended)
        case _:
            _goes_on(killed, ended, made.call.name)


def _in_spite_of(step: Crash, killed: Killed) -> str:
    if killed.disk in ("", UNTOUCHED):
        return "before its process was killed"
    return "before its process was killed at a write" if step.disk == KILLED_AT_WRITE else f"though {killed.disk}"


def _in_transaction(execution: Execution, step: Crash, made: Sequence[Made], child: Child, killed: Killed) -> None:
    """Its points are counted from its beginning to its end. Its commit is the last of its answers."""
    assert isinstance(step.step, Transaction)
    left = step.point
    ended = child.begin(kill_at=left)
    for call in made:
        if not _goes_on(killed, ended, "begin" if call is made[0] else call.call.name):
            return
        left -= len(child.points)
        killed.points += child.points
        keywords = execution.keywords(call.step, call.call)
        ended = child.call(call.call.name, keywords, kill_at=left, inside=True)
        if not isinstance(ended, Died):
            killed.answers.append(ended)
            ended = Answered(None)
    if not _goes_on(killed, ended, made[-1].call.name if made else "begin"):
        return
    left -= len(child.points)
    killed.points += child.points
    ended = child.end(step.step.end, kill_at=left)
    if _goes_on(killed, ended, step.step.end):
        killed.answers.append(ended)  # type: ignore[arg-type]
        killed.points += child.points


def _goes_on(killed: Killed, ended: Observed | Died, doing: str) -> bool:
    """It answered well; else what was heard of its end is noted."""
    match ended:
        case Answered():
            return True
        case Died(number=0, signal=signal):
            how = f"was ended by signal {signal}" if signal else "ended by itself"
            killed.trouble = f"{doing}: a process of its own {how} before it had answered"
        case Died(label=label, number=number):
            killed.label = f"point {number}, {label}"
        case _:
            said = getattr(ended, "text", getattr(ended, "code", ""))
            killed.trouble = f"{doing} in a process of its own, which nobody disturbs: {said}"
    return False


def _clock(execution: Execution, step: Call) -> int | None:
    """Where the other process has to find the clock of the store."""
    return step.at if execution.binding.has_clock else None


# The verdict -----------------------------------------------------------------------------------------------------


def _judged(execution: Execution, step: Crash, made: Sequence[Made], killed: Killed) -> StepRun:
    whole = len(killed.answers) == len(made) + isinstance(step.step, Transaction)
    if isinstance(step.step, Call) and whole:
        return _answered(execution, step, made[0], killed)
    commits = _commits(step) and not (killed.unavailable is not None and killed.unavailable.definite)
    found, failure = candidates(execution, made, killed.answers, commits, whole)
    # Each of the states that the store may have been in was thought of.
    execution.other_states = () if failure is not None else execution.other_states
    if failure is not None and killed.unavailable is not None:
        text = f"the store said: {killed.unavailable.text}; {failure.text}"
        failure = attrs.evolve(failure, text=text)
    if failure is not None:
        return _ended(execution, step, made, killed, failure)
    return _adopted(execution, step, made, killed, found)


def _answered(execution: Execution, step: Crash, made: Made, killed: Killed) -> StepRun:
    """The call was answered before its process was killed: it is judged as any other, and must be there."""
    before = execution.judge.state
    observed = killed.answers[0]
    run = execution.judged_run(made.step, made.call, made.now, observed)
    failure = run.failure
    after = execution.judge.state
    if failure is not None and after is before and isinstance(observed, Answered):
        lost = misfit(execution, before) is None
        if lost:
            text = f"it was answered {_in_spite_of(step, killed)}, and is not there"
            failure = attrs.evolve(failure, requirements=(*execution.binding.durable, *failure.requirements), text=text)
    if failure is None:
        durable = execution.binding.durable
        when = "after the call on a disk that fails" if step.disk else "after the kill"
        failure = execution.judge.everything(execution.read, durable, Kind.RESTART, when)
    note = step.note or f"{killed.disk or 'killed'}{_where(killed)}"
    return attrs.evolve(run, id=step.id, failure=failure, note=note, points=killed.points)


def _adopted(
    execution: Execution, step: Crash, made: Sequence[Made], killed: Killed, found: Sequence[Candidate]
) -> StepRun:
    """Take over the state that is there. Where what can be read does not tell which of several it is, later calls
    will."""
    taken, *others = found
    if taken.committed is not None:
        execution.judge.accept(taken.committed, UNHEARD, execution.read)
    execution.judge.state = taken.state
    execution.judge.take_over(execution.read)
    execution.other_states = tuple(other.state for other in others)
    execution.history.append(taken.state)
    said = AFTER if taken.is_after else BEFORE
    return _ended(execution, step, made, killed, None, EITHER if others else said)


def is_beyond(step: Crash, run: StepRun) -> bool:
    """The step was answered before the point came at which its process was to be killed, or its disk to fail."""
    return UNTOUCHED in run.note if step.disk else run.observed is not None


def _followed(execution: Execution, step: Crash, made: Sequence[Made], killed: Killed) -> StepRun:
    """For measuring what judging costs: the model takes an answer for a commit, and no answer for none."""
    whole = len(killed.answers) == len(made) + isinstance(step.step, Transaction)
    if whole and _commits(step):
        for each, observed in zip(made, killed.answers, strict=False):
            execution.judge.follow(each.call, each.now, observed)
    return _ended(execution, step, made, killed, None)


def _ended(
    execution: Execution,
    step: Crash,
    made: Sequence[Made],
    killed: Killed,
    failure: Failure | None,
    said: str = "",
) -> StepRun:
    for each, observed in zip(made, killed.answers, strict=False):
        execution.put(each.step, observed)
    for each in made[len(killed.answers) :]:
        execution.answers.put(each.step.id, Refused("killed"))
    found = f": {said}" if said else ""
    arguments: Any = made[0].call.arguments if isinstance(step.step, Call) else {}
    inner = tuple(
        StepRun(each.step.id, each.step.on, each.step.at, each.call.name, each.call.arguments, observed, None)
        for each, observed in zip(made, killed.answers, strict=False)
    )
    return StepRun(
        step.id,
        getattr(step.step, "on", ""),
        getattr(step.step, "at", None),
        _name(step),
        arguments,
        None if killed.label or killed.trouble else (killed.answers or [Answered(None)])[-1],
        None,
        (),
        failure,
        (Trace(requirements=list(execution.binding.killed)),),
        note=step.note or f"{killed.disk or 'killed'}{_where(killed)}{found}",
        during=inner if isinstance(step.step, Transaction) else (),
        points=killed.points,
    )


def _where(killed: Killed) -> str:
    if killed.disk:
        return f": {killed.label}" if killed.label else ": answered"
    return f" at {killed.label}" if killed.label else " after its answer"


def _name(step: Crash) -> str:
    match step.step:
        case Call(call=name):
            return name
        case Transaction(end=end):
            return f"transaction, {end}"
    return OPENING


def _calls(step: Crash) -> tuple[Call, ...]:
    match step.step:
        case Call() as call:
            return (call,)
        case Transaction(calls=calls):
            return calls
    return ()


def _commits(step: Crash) -> bool:
    return isinstance(step.step, Call) or (isinstance(step.step, Transaction) and step.step.end == "commit")
