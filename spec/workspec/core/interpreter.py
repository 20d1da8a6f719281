"""The interpreter: `decide` what a call does on a committed state, then `commit` it under a guard.

Between the two halves another call may commit; `commit` sees it because records are compared by identity.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from attrs import evolve

from workspec.core.choice import Choice, Chooser, reference
from workspec.core.condition import Comparison
from workspec.core.contract import Contract, conditions_of
from workspec.core.draft import Draft, RuleError
from workspec.core.outcome import (
    Accepted,
    Change,
    Committed,
    Decision,
    Outcome,
    Part,
    Refused,
    asked_by,
    keys_of_checks,
)
from workspec.core.record import Record, State, copied
from workspec.core.rule import AnyOperation, Batch, Check, Draw, Operation, Reply, Skip
from workspec.core.scope import Call, Scope, Trace

__all__ = [
    "Accepted",
    "Change",
    "Committed",
    "Decision",
    "Outcome",
    "Part",
    "Refused",
    "RuleError",
    "apply",
    "commit",
    "decide",
    "instants",
    "keys_of_checks",
    "turning",
]


def decide(
    contract: Contract,
    state: State,
    call: Call,
    now: int,
    choose: Chooser = reference,
    without: Container[str] = (),
) -> Decision:
    """The first half: every check asked, every effect applied to a private copy, nothing committed.

    ``without``: keys of checks that are not asked, as if they stood elsewhere (see `Refuse.unordered`).
    """
    call = contract.resolved(call)
    operation = contract.operation(call.name)
    scope = Scope(now, call.arguments, state, None, None, None, choose, Trace())
    if isinstance(operation, Operation):
        return _decide_operation(contract, operation, scope, without)
    if isinstance(operation, Batch):
        return _decide_batch(contract, operation, scope, without)
    return _decide_draw(contract, operation, scope, without)


def commit(contract: Contract, state: State, decision: Decision, late: Collection[str] = ()) -> Committed:
    """The second half, on the state as it is now.

    A lost guard gives the contract's conflict code, a new decision (``again``, or a contract that has no such code),
    or passes the element over. A batch that commits element by element may decide each at any moment of its call:
    ``late`` holds the keys of the records that it came to when this state was already there.
    """
    operation = decision.operation
    if isinstance(operation, Batch) and not operation.atomic:
        return _commit_each(contract, state, decision, operation, late)
    changes = [change for part in decision.parts for change in part.changes]
    lost = tuple(change.key for change in changes if state.get(change.key) is not change.base)
    if isinstance(operation, Operation) and operation.again and (lost or _stands_elsewhere(operation, state, decision)):
        return _commit_anew(contract, state, decision)
    if lost:
        if contract.conflict_code is None:
            return _commit_anew(contract, state, decision)
        decision.trace.requirements.extend(contract.conflict_requirements)
        return Committed(state, Refused(contract.conflict_code), decision, lost)
    broken = _broken_unique(contract, state, changes)
    if broken is not None:
        return Committed(state, broken, decision)
    # What changes nothing leaves the state itself: who has found something out about it knows it again.
    after = _with_changes(state, changes) if changes else state
    if decision.outcome is not None:
        return Committed(after, decision.outcome, decision)
    if isinstance(operation, Operation):
        # A call that commits nothing answers from what it read, whatever has been committed since.
        shown = after if decision.parts else decision.scope.state
        return Committed(after, Accepted(operation.answer(decision.scope, shown)), decision)
    elements = tuple(part.element for part in decision.parts if part.counts)
    return Committed(after, Accepted(operation.answer(decision.scope, elements, after)), decision)


def _commit_anew(contract: Contract, state: State, decision: Decision) -> Committed:
    """Decide the same call on the state as it is now, where nothing can come between."""
    scope = decision.scope
    again = decide(contract, state, Call(decision.operation.name, scope.call), scope.now, scope.choose)
    return commit(contract, state, again)


def _stands_elsewhere(operation: Operation, state: State, decision: Decision) -> bool:
    """What the call would create has been committed in between, under another key."""
    scope = decision.scope
    if not decision.parts or state is scope.state:
        return False
    key = operation.locate(evolve(scope, state=state))
    return key != scope.key and key in state


def apply(contract: Contract, state: State, call: Call, now: int, choose: Chooser = reference) -> Committed:
    """Both halves with nothing in between."""
    return commit(contract, state, decide(contract, state, call, now, choose))


# The three kinds of operation ------------------------------------------------------------------------------------


def _decide_operation(contract: Contract, operation: Operation, scope: Scope, without: Container[str]) -> Decision:
    scope.key = operation.locate(scope)
    record = scope.state.get(scope.key)
    if record is not None:
        scope.facts = scope.before = record.facts
    draft = Draft(contract, scope, operation.name)
    asked = asked_by(operation).first
    position = _first_that_holds(asked, scope, without)
    if position is not None:
        key, check = asked[position]
        order = (*operation.order, *getattr(check, "order", ()))
        if order and _others_compete(operation.checks[position + 1 :], scope):
            scope.trace.requirements.extend(order)
        return _end_with(check, key, operation, scope, draft)
    scope.trace.met.append((scope.key, ""))
    scope.trace.requirements.extend(operation.requirements)
    for term in operation.tells:
        term.read(scope)
    draft.take(operation.steps)
    return Decision(operation, scope, None, draft.parts(scope.key))


def _end_with(check: Check, key: str, operation: AnyOperation, scope: Scope, draft: Draft) -> Decision:
    if isinstance(check, Reply):
        outcome: Outcome = Accepted(check.answer(scope))
        return Decision(operation, scope, outcome, (), key, check.requirements)
    if isinstance(check, Skip):
        raise RuleError(f"{key}: a skip outside the elements of a batch or a draw")
    code = scope.choose(check.code, scope) if isinstance(check.code, Choice) else check.code
    outcome = Refused(code, None if check.details is None else check.details(scope))
    draft.take(check.committing)
    return Decision(operation, scope, outcome, draft.parts(scope.key), key, check.requirements)


def _decide_batch(contract: Contract, operation: Batch, scope: Scope, without: Container[str] = ()) -> Decision:
    asked = asked_by(operation)
    position = _first_that_holds(asked.first, scope, without)
    if position is not None:
        key, first = asked.first[position]
        return _end_with(first, key, operation, scope, Draft(contract, scope, operation.name))
    elements = list(operation.elements(scope))
    scopes = [_element_scope(scope, operation, element, index) for index, element in enumerate(elements)]
    drafts = [Draft(contract, inner, operation.name) for inner in scopes]
    alive = [True] * len(elements)
    acts = [False] * len(elements)
    for phase in asked.of_elements:
        for index, inner in enumerate(scopes):
            position = _first_that_holds(phase, inner, without) if alive[index] else None
            if position is None:
                continue
            key, check = phase[position]
            if not isinstance(check, Skip):
                return _end_with(check, key, operation, inner, drafts[index])
            alive[index] = False
            drafts[index].take(check.committing)
            acts[index] = bool(check.committing)
    for index, inner in enumerate(scopes):
        if alive[index]:
            scope.trace.met.append((inner.key, ""))
            drafts[index].take(operation.steps)
            inner.trace.requirements.extend(operation.requirements)
    parts = tuple(
        Part(element, draft.changes(), lives)
        for element, draft, lives, acted in zip(elements, drafts, alive, acts, strict=True)
        if lives or acted
    )
    return Decision(operation, scope, None, parts)


def _element_scope(outer: Scope, operation: Batch, element: Any, index: int) -> Scope:
    inner = Scope(
        outer.now, outer.call, outer.state, None, None, None, outer.choose, outer.trace,
        element=element, index=index,
    )  # fmt: skip
    inner.key = operation.locate(inner)
    record = outer.state.get(inner.key)
    if record is not None:
        inner.facts = inner.before = record.facts
    return inner


def _decide_draw(contract: Contract, operation: Draw, scope: Scope, without: Container[str]) -> Decision:
    asked = asked_by(operation)
    position = _first_that_holds(asked.first, scope, without)
    if position is not None:
        key, first = asked.first[position]
        return _end_with(first, key, operation, scope, Draft(contract, scope, operation.name))
    (gate,) = asked.of_elements
    draft = Draft(contract, scope, operation.name)
    taken: list[str] = []
    for candidate in operation.order(scope):
        scope.index = len(taken)
        scope.owner = f"{operation.name}: until"
        if operation.until.decide(scope):
            break
        draft.turn_to(candidate)
        scope.element = candidate
        scope.settled.clear()
        position = _first_that_holds(gate, scope, without)
        if position is not None:
            draft.take(operation.gate[position].committing)
            continue
        scope.trace.met.append((candidate, ""))
        draft.take(operation.steps)
        taken.append(candidate)
        scope.index = len(taken)
        scope.trace.requirements.extend(operation.requirements)
    scope.element = tuple(taken)
    draft.take(operation.closing)
    changes = draft.changes()
    parts = tuple(Part(key, tuple(c for c in changes if c.key == key)) for key in taken)
    rest = tuple(change for change in changes if change.key not in taken)
    return Decision(operation, scope, None, (*parts, Part(None, rest, counts=False)) if rest else parts)


def _first_that_holds(asked: Sequence[tuple[str, Check]], scope: Scope, without: Container[str]) -> int | None:
    """The position of the first check that holds; the trace says which were asked on the way."""
    trace = scope.trace
    for position, (key, check) in enumerate(asked):
        if key in without:
            continue
        scope.owner = key
        if check.when.decide(scope):
            trace.fired.append(key)
            trace.met.append((scope.key, key))
            trace.requirements.extend(check.requirements)
            return position
        trace.passed.append(key)
    return None


def _others_compete(checks: Iterable[Check], scope: Scope) -> bool:
    """True when a later check would have answered too: only then did the order of checks show itself."""
    trace, settled = scope.trace, dict(scope.settled)
    scope.trace = Trace()
    known = scope.facts is not None
    competes = any(check.when.decide(scope) for check in checks if known or "facts" not in check.when.sources())
    scope.trace, scope.settled = trace, settled
    return competes


# Commit ----------------------------------------------------------------------------------------------------------


def _commit_each(
    contract: Contract, state: State, decision: Decision, operation: Batch, late: Collection[str]
) -> Committed:
    if decision.outcome is not None:
        return Committed(state, decision.outcome, decision)
    held: list[Any] = []
    lost: list[str] = []
    for part in _each_in_its_moment(contract, state, decision, operation, late):
        moved = [change.key for change in part.changes if state.get(change.key) is not change.base]
        lost.extend(moved)
        if not moved and _broken_unique(contract, state, part.changes) is None:
            state = _with_changes(state, part.changes)
            if part.counts:
                held.append(part.element)
    outcome = Accepted(operation.answer(decision.scope, tuple(held), state))
    return Committed(state, outcome, decision, tuple(lost))


def _each_in_its_moment(
    contract: Contract, state: State, decision: Decision, operation: Batch, late: Collection[str]
) -> Sequence[Part]:
    """The parts of a decision, those of late records decided anew, in the order of the elements."""
    if not late:
        return decision.parts

    def is_late(part: Part) -> bool:
        return any(change.key in late for change in part.changes)

    scope = evolve(decision.scope, state=state)
    elements = list(operation.elements(scope))
    parts = [part for part in decision.parts if not is_late(part)]
    parts += [part for part in _decide_batch(contract, operation, scope).parts if is_late(part)]
    return sorted(parts, key=lambda part: elements.index(part.element))


def _with_changes(state: State, changes: Iterable[Change]) -> State:
    after = copied(state)
    for change in changes:
        if change.record is None:
            after.pop(change.key, None)
        else:
            after[change.key] = change.record
    return after


def _broken_unique(contract: Contract, state: State, changes: Iterable[Change]) -> Refused | None:
    for change in changes:
        for unique in contract.uniques:
            value = None if change.record is None else unique.value(change.record.facts)
            if value is None or (change.base is not None and unique.value(change.base.facts) == value):
                continue
            if any(key != change.key and unique.value(r.facts) == value for key, r in state.items()):
                return Refused(unique.code)
    return None


def instants(contract: Contract, record: Record, now: int) -> tuple[int, ...]:
    """Every instant at which a condition on this record turns, in order: deadlines, lease end, due time.

    Only comparisons of ``now`` with a term of the record's own facts count.
    """
    return tuple(sorted({instant for _named, instant in turning(contract, record, now)}))


def turning(contract: Contract, record: Record, now: int) -> Iterator[tuple[str, int]]:
    """By the name of each term of a record with which ``now`` is compared, the instant at which that turns; without
    those that do not apply."""
    scope = Scope(now, {}, {}, None, record.facts, record.facts, reference, Trace())
    for comparison in _timed(contract):
        instant = comparison.turning_instant(scope)
        if instant is not None:
            (named,) = (term.name for term in comparison.terms if term.source != "now")
            yield named, instant


@cache
def _timed(contract: Contract) -> tuple[Comparison, ...]:
    """One comparison of ``now`` for each term of facts: several with the same term turn at the same instant."""
    leaves = [leaf for _owner, condition in conditions_of(contract) for leaf in condition.leaves()]
    timed = [leaf for leaf in leaves if isinstance(leaf, Comparison) and leaf.sources() == {"now", "facts"}]
    return tuple({frozenset(map(id, leaf.terms)): leaf for leaf in timed}.values())
