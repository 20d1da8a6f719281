"""What a killed call may leave behind: the states that are allowed, and which of them the store shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from workcert.judge.differences import differences
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import Answered, Observed, Unavailable
from workcert.run.reading import counted
from workspec.core.choice import NotAsserted
from workspec.core.interpreter import Accepted, Committed, Decision, commit
from workspec.core.record import State
from workspec.core.rule import Batch

if TYPE_CHECKING:
    from workcert.run.crashing import Made
    from workcert.run.execution import Execution

_UNHEARD: Final = Unavailable(False, "the process was killed before it had answered")


@frozen
class Candidate:
    """A state that is allowed. ``committed``: what led to it in one call, where it did."""

    state: State
    committed: Committed | None = None
    is_after: bool = False


def candidates(
    execution: Execution, made: Sequence[Made], answers: Sequence[Observed], commits: bool, whole: bool
) -> tuple[list[Candidate], Failure | None]:
    """The allowed states that the store may be in, the one after the step first; or why it can be in none of them.

    ``whole``: all was answered, so that only the state after it is allowed; ``commits``: there is one.
    """
    allowed: list[Candidate] = []
    for before in (execution.judge.state, *execution.other_states):
        after = list(_after(execution, made, answers, before)) if commits and made else []
        allowed += after if whole and after else [*after, Candidate(before)]
    found: list[Candidate] = []
    reasons: list[str] = []
    keys = tuple(dict.fromkeys(key for each in allowed for key in each.state))
    for each in allowed:
        why = misfit(execution, each.state, keys)
        if why is not None:
            reasons.append(f"as {'after' if each.is_after else 'before'} the step, but {why}")
        elif all(each.state != other.state for other in found):
            found.append(each)
    if found:
        return found, None
    text = "what was found afterwards is neither: " + "; ".join(dict.fromkeys(reasons))
    if whole:
        text = f"what was answered before the process was killed is not there: {reasons[0]}"
        return [], Failure(execution.binding.durable, Kind.RESTART, text)
    return [], Failure(execution.binding.killed, Kind.KILLED, text)


def _after(
    execution: Execution, made: Sequence[Made], answers: Sequence[Observed], before: State
) -> Iterator[Candidate]:
    """The state after the step; of a pass that commits row by row, also the one with those rows that show it."""
    contract, judge, state = execution.binding.contract, execution.judge, before
    committed: Committed | None = None
    for position, each in enumerate(made):
        observed = answers[position] if position < len(answers) else _unheard(execution, each)
        try:
            judge.state, kept = state, judge.state
            decision, _chooser = judge.first_half(each.call, each.now, observed, execution.read, state)
        except NotAsserted:
            return
        finally:
            judge.state = kept
        committed = commit(contract, state, decision)
        if len(made) == 1 and _is_piecemeal(decision):
            part = _as_shown(execution, decision, state)
            if part.state != state:
                yield Candidate(part.state, part, is_after=True)
        state = committed.state
    yield Candidate(state, committed if len(made) == 1 else None, is_after=True)


def _unheard(execution: Execution, made: Made) -> Observed:
    """What its answer must have been, as far as rows tell: a row that nobody knew is what the call has made."""
    creating = execution.binding.creating
    if creating is None or not execution.store.backend.can("snapshot"):
        return _UNHEARD
    new = [key for key in execution.store.snapshot() if key not in execution.judge.state]
    row = execution.read(new[0]) if len(new) == 1 else None
    is_made = made.call.name in execution.binding.referred and row is not None
    answer = creating(made.call.name, row.record) if is_made and row is not None else None
    return _UNHEARD if answer is None else Answered(answer)


def _is_piecemeal(decision: Decision) -> bool:
    operation = decision.operation
    return isinstance(operation, Batch) and not operation.atomic and decision.outcome is None


def _as_shown(execution: Execution, decision: Decision, before: State) -> Committed:
    """The parts of the decision whose rows are as they leave them."""
    state = dict(before)
    for part in decision.parts:
        rows: Mapping[str, Any] = {change.key: change.record for change in part.changes}
        if all(_shows(execution, key, record) for key, record in rows.items()):
            for key, record in rows.items():
                if record is None:
                    state.pop(key, None)
                else:
                    state[key] = record
    return Committed(state, Accepted(None), decision)


def _shows(execution: Execution, key: str, record: Any) -> bool:
    row = execution.read(key)
    if record is None or row is None:
        return record is None and row is None
    return not differences(execution.binding.present(record), row.record)


def misfit(execution: Execution, state: State, keys: Sequence[str] = ()) -> str | None:
    """Why the store cannot be in this state; None where all that can be read of it is as it should be. ``keys``: of
    records that it might have instead.

    Raises:
        Unreadable: a read raises, or answers with something that is no record.
    """
    judge = execution.judge
    for key in dict.fromkeys((*state, *judge.state, *keys)):
        if not judge.legible(key):
            continue
        row = execution.read(key)
        if key not in state:
            if row is not None:
                return f"{key} is there"
            continue
        if row is None:
            return f"{key} is not there"
        found = differences(judge.presented(key, state[key]), row.record)
        if found:
            first = found[0]
            return f"the record of {key} differs in {first.path}: {first.seen!r} instead of {first.expected!r}"
        known = judge.versions.get(key)
        changed = state[key] is not judge.state.get(key)
        if execution.binding.versioned and key in judge.versions and (row.version != known) != changed:
            return f"the row version of {key} {'moved' if row.version != known else 'stayed'}"
    return _number(execution, state)


def _number(execution: Execution, state: State) -> str | None:
    """Rows that belong to no record."""
    if execution.binding.versioned:
        if not execution.store.backend.can("snapshot"):
            return None
        stray = [key for key in execution.store.snapshot() if key not in state]
        return f"there is a row {stray[0]} too" if stray else None
    kept = counted(execution.store)
    expected = sum(map(execution.binding.legible, state))
    return None if kept in (None, expected) else f"the store holds {kept} rows instead of {expected}"
