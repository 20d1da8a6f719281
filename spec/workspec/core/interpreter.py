"""The interpreter: `decide` what a call does on a committed state, then `commit` it under a guard.

Between the two halves another call may commit; `commit` sees it because records are compared by identity.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

from attrs import define, field, frozen

from workspec.core.choice import Choice, Chooser, reference
from workspec.core.condition import Comparison
from workspec.core.contract import Contract, conditions_of
from workspec.core.record import Record, State, replaced
from workspec.core.rule import (
    AnyOperation,
    Batch,
    Check,
    Draw,
    Effect,
    Move,
    Operation,
    Procedure,
    Reply,
    Skip,
    Step,
    Transition,
    When,
    check_keys,
    checks_of,
)
from workspec.core.scope import Call, Scope, Trace


@frozen
class Accepted:
    """The call succeeded with this answer."""

    value: Any


@frozen
class Refused:
    """The call was refused; ``details`` is None where the code has none."""

    code: str
    details: Mapping[str, Any] | None = None


Outcome: TypeAlias = "Accepted | Refused"


@frozen(eq=False)
class Change:
    """One record of one commit. ``base`` is what the decision was made on; None on either side means no record."""

    key: str
    base: Record | None
    record: Record | None


@frozen(eq=False)
class Part:
    """What is committed together, and for which element of a batch or draw. ``counts`` is False for what elements
    that were passed over commit all the same: the answer does not name them."""

    element: Any
    changes: tuple[Change, ...]
    counts: bool = True


@frozen(eq=False)
class Decision:
    """What a call does if its guard holds, and why.

    ``outcome`` is None when the answer depends on the commit. ``rule`` is the key of the check that decided, None if
    every check let the call through.
    """

    operation: AnyOperation
    scope: Scope
    outcome: Outcome | None
    parts: tuple[Part, ...]
    rule: str | None = None
    rule_requirements: tuple[str, ...] = ()

    @property
    def unordered(self) -> bool:
        """The place of the check that decided is not asserted."""
        checks = zip(keys_of_checks(self.operation), checks_of(self.operation), strict=True)
        return any(key == self.rule and getattr(check, "unordered", False) for key, check in checks)

    @property
    def trace(self) -> Trace:
        return self.scope.trace


@frozen(eq=False)
class Committed:
    """The state after a commit, what the caller gets, and the keys whose guard was lost."""

    state: State
    outcome: Outcome
    decision: Decision
    lost: tuple[str, ...] = ()


class RuleError(Exception):
    """The specification contradicts itself: a move without a row, or with two. A lint should have found it."""


keys_of_checks = cache(check_keys)


def decide(
    contract: Contract,
    state: State,
    call: Call,
    now_s: int,
    choose: Chooser = reference,
    without: Container[str] = (),
) -> Decision:
    """The first half: every check asked, every effect applied to a private copy, nothing committed.

    ``without``: keys of checks that are not asked, as if they stood elsewhere (see `Refuse.unordered`).
    """
    operation = contract.operation(call.name)
    scope = Scope(now_s, call.arguments, state, None, None, None, choose, Trace())
    if isinstance(operation, Operation):
        return _decide_operation(contract, operation, scope, without)
    if isinstance(operation, Batch):
        return _decide_batch(contract, operation, scope)
    return _decide_draw(contract, operation, scope)


def commit(contract: Contract, state: State, decision: Decision) -> Committed:
    """The second half, on the state as it is now.

    A lost guard gives the contract's conflict code, a new decision (``again``), or passes the element over.
    """
    operation = decision.operation
    if isinstance(operation, Batch) and not operation.atomic:
        return _commit_each(contract, state, decision, operation)
    changes = [change for part in decision.parts for change in part.changes]
    lost = tuple(change.key for change in changes if state.get(change.key) is not change.base)
    if lost and isinstance(operation, Operation) and operation.again:
        scope = decision.scope
        again = decide(contract, state, Call(operation.name, scope.call), scope.now_s, scope.choose)
        return commit(contract, state, again)
    if lost:
        decision.trace.requirements.extend(contract.conflict_requirements)
        return Committed(state, Refused(contract.conflict_code), decision, lost)
    broken = _broken_unique(contract, state, changes)
    if broken is not None:
        return Committed(state, broken, decision)
    after = _with_changes(state, changes)
    if decision.outcome is not None:
        return Committed(after, decision.outcome, decision)
    if isinstance(operation, Operation):
        # A call that commits nothing answers from what it read, whatever has been committed since.
        shown = after if decision.parts else decision.scope.state
        return Committed(after, Accepted(operation.answer(decision.scope, shown)), decision)
    elements = tuple(part.element for part in decision.parts if part.counts)
    return Committed(after, Accepted(operation.answer(decision.scope, elements, after)), decision)


def apply(contract: Contract, state: State, call: Call, now_s: int, choose: Chooser = reference) -> Committed:
    """Both halves with nothing in between."""
    return commit(contract, state, decide(contract, state, call, now_s, choose))


# The three kinds of operation ------------------------------------------------------------------------------------


def _decide_operation(contract: Contract, operation: Operation, scope: Scope, without: Container[str]) -> Decision:
    scope.key = operation.locate(scope)
    record = scope.state.get(scope.key)
    if record is not None:
        scope.facts = scope.before = record.facts
    draft = _Draft(contract, scope, operation.name)
    keys = keys_of_checks(operation)
    for position, check in enumerate(operation.checks):
        if keys[position] in without or not _holds(check, keys[position], scope):
            continue
        order = (*operation.order, *check.order)
        if order and _others_compete(operation.checks[position + 1 :], scope):
            scope.trace.requirements.extend(order)
        return _end_with(check, keys[position], operation, scope, draft)
    scope.trace.requirements.extend(operation.requirements)
    draft.take(operation.steps)
    return Decision(operation, scope, None, draft.parts(scope.key))


def _end_with(check: Check, key: str, operation: AnyOperation, scope: Scope, draft: _Draft) -> Decision:
    if isinstance(check, Reply):
        outcome: Outcome = Accepted(check.answer(scope))
        return Decision(operation, scope, outcome, (), key, check.requirements)
    if isinstance(check, Skip):
        raise RuleError(f"{key}: a skip outside the elements of a batch or a draw")
    code = scope.choose(check.code, scope) if isinstance(check.code, Choice) else check.code
    outcome = Refused(code, None if check.details is None else check.details(scope))
    draft.take(check.committing)
    return Decision(operation, scope, outcome, draft.parts(scope.key), key, check.requirements)


def _decide_batch(contract: Contract, operation: Batch, scope: Scope) -> Decision:
    keys = iter(keys_of_checks(operation))
    for first in operation.checks:
        key = next(keys)
        if _holds(first, key, scope):
            return _end_with(first, key, operation, scope, _Draft(contract, scope, operation.name))
    elements = list(operation.elements(scope))
    scopes = [_element_scope(scope, operation, element, index) for index, element in enumerate(elements)]
    drafts = [_Draft(contract, inner, operation.name) for inner in scopes]
    alive = [True] * len(elements)
    acts = [False] * len(elements)
    for phase in operation.phases:
        phase_keys = [next(keys) for _ in phase.checks]
        for index, inner in enumerate(scopes):
            for check, key in zip(phase.checks, phase_keys, strict=True):
                if not alive[index] or not _holds(check, key, inner):
                    continue
                if not isinstance(check, Skip):
                    return _end_with(check, key, operation, inner, drafts[index])
                alive[index] = False
                drafts[index].take(check.committing)
                acts[index] = bool(check.committing)
    for index, inner in enumerate(scopes):
        if alive[index]:
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
        outer.now_s, outer.call, outer.state, None, None, None, outer.choose, outer.trace,
        element=element, index=index,
    )  # fmt: skip
    inner.key = operation.locate(inner)
    record = outer.state.get(inner.key)
    if record is not None:
        inner.facts = inner.before = record.facts
    return inner


def _decide_draw(contract: Contract, operation: Draw, scope: Scope) -> Decision:
    keys = keys_of_checks(operation)
    first_gate = len(operation.checks)
    for first, key in zip(operation.checks, keys, strict=False):
        if _holds(first, key, scope):
            return _end_with(first, key, operation, scope, _Draft(contract, scope, operation.name))
    draft = _Draft(contract, scope, operation.name)
    taken: list[str] = []
    for candidate in operation.order(scope):
        scope.index = len(taken)
        scope.owner = f"{operation.name}: until"
        if operation.until.decide(scope):
            break
        draft.turn_to(candidate)
        scope.element = candidate
        scope.settled.clear()
        for check, key in zip(operation.gate, keys[first_gate:], strict=True):
            if _holds(check, key, scope):
                draft.take(check.committing)
                break
        else:
            draft.take(operation.steps)
            taken.append(candidate)
            scope.trace.requirements.extend(operation.requirements)
    changes = draft.changes()
    parts = tuple(Part(key, tuple(c for c in changes if c.key == key)) for key in taken)
    rest = tuple(change for change in changes if change.key not in taken)
    return Decision(operation, scope, None, (*parts, Part(None, rest, counts=False)) if rest else parts)


def _holds(check: Check, key: str, scope: Scope) -> bool:
    scope.owner = key
    if not check.when.decide(scope):
        scope.trace.passed.append(key)
        return False
    scope.trace.fired.append(key)
    scope.trace.requirements.extend(check.requirements)
    return True


def _others_compete(checks: Iterable[Check], scope: Scope) -> bool:
    """True when a later check would have answered too: only then did the order of checks show itself."""
    trace, settled = scope.trace, dict(scope.settled)
    scope.trace = Trace()
    known = scope.facts is not None
    competes = any(check.when.decide(scope) for check in checks if known or "facts" not in check.when.sources())
    scope.trace, scope.settled = trace, settled
    return competes


# Effects on a private copy ---------------------------------------------------------------------------------------


@define(eq=False)
class _Draft:
    """Private copies of the records that one decision changes; ``scope.facts`` follows the addressed one."""

    contract: Contract
    scope: Scope
    operation: str
    facts: dict[str, Any] = field(factory=dict)
    logs: dict[str, Any] = field(factory=dict)

    def turn_to(self, key: str) -> None:
        """Make another record the addressed one."""
        record = self.scope.state.get(key)
        self.scope.key = key
        before = None if record is None else record.facts
        self.scope.before = before
        self.scope.facts = self.facts.get(key, before)

    def take(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, Effect):
                self._apply(step)
            elif isinstance(step, Move):
                self._move(step)
            elif isinstance(step, Procedure):
                self.take(step.steps)
            else:
                self._apply_when(step)

    def _apply_when(self, step: When) -> None:
        self.scope.owner = f"{self.operation}: when"
        if step.condition.decide(self.scope):
            self.take(step.steps)

    def _apply(self, effect: Effect) -> None:
        scope = self.scope
        if effect.target is not None:
            home = scope.key
            self.turn_to(effect.target(scope))
            self._write(effect.apply(scope))
            if home is not None:
                self.turn_to(home)
        else:
            self._write(effect.apply(scope))
        scope.trace.fired.append(effect.name)
        scope.trace.requirements.extend(effect.requirements)

    def _write(self, changes: Mapping[str, Any]) -> None:
        scope = self.scope
        key = scope.key
        if key is None:
            raise RuleError("an effect without an addressed record")
        facts = changes.get("*", scope.facts)
        plain = {name: value for name, value in changes.items() if name != "*" and name[:3] != "log"}
        if plain:
            facts = replaced(facts, plain)
        scope.facts = self.facts[key] = facts
        if "log" in changes:
            self.logs[key] = changes["log"]
        for name, value in changes.items():
            if name[:4] == "log.":
                self._append(key, name[4:], value)

    def _append(self, key: str, part: str, value: Any) -> None:
        log = self.logs.get(key)
        if log is None:
            record = self.scope.state.get(key)
            log = self.contract.empty_log if record is None else record.log
        self.logs[key] = replaced(log, {part: (*getattr(log, part), value)})

    def _move(self, move: Move) -> None:
        scope = self.scope
        state = scope.facts.state
        rows = [row for row in self.contract.transitions.of(state, move.event) if self._guard_holds(row)]
        if len(rows) != 1:
            raise RuleError(f"{len(rows)} transitions for {state} and {move.event!r}")
        row = rows[0]
        actor = scope.choose(move.actor, scope) if isinstance(move.actor, Choice) else move.actor.read(scope)
        evidence = {}
        for item in move.evidence:
            value = item.value.read(scope)
            if value is not None:
                evidence[item.key] = str(value)
        if move.open_evidence is not None:
            evidence = {**scope.choose(move.open_evidence, scope), **evidence}
        self._write(scope.facts.moved(row.target, scope.now_s, actor, evidence))
        scope.trace.fired.append(row.key)
        scope.trace.requirements.extend((*row.requirements, *move.requirements))

    def _guard_holds(self, row: Transition) -> bool:
        self.scope.owner = row.key
        return row.guard.decide(self.scope)

    def changes(self) -> tuple[Change, ...]:
        state = self.scope.state
        changes = []
        for key, facts in self.facts.items():
            base = state.get(key)
            log = self.logs.get(key, self.contract.empty_log if base is None else base.log)
            version = 1 if base is None else (base.version or 1) + 1
            changes.append(Change(key, base, None if facts is None else Record(version, facts, log)))
        return tuple(changes)

    def parts(self, element: Any) -> tuple[Part, ...]:
        changes = self.changes()
        return (Part(element, changes),) if changes else ()


# Commit ----------------------------------------------------------------------------------------------------------


def _commit_each(contract: Contract, state: State, decision: Decision, operation: Batch) -> Committed:
    if decision.outcome is not None:
        return Committed(state, decision.outcome, decision)
    held: list[Any] = []
    lost: list[str] = []
    for part in decision.parts:
        moved = [change.key for change in part.changes if state.get(change.key) is not change.base]
        lost.extend(moved)
        if not moved and _broken_unique(contract, state, part.changes) is None:
            state = _with_changes(state, part.changes)
            if part.counts:
                held.append(part.element)
    outcome = Accepted(operation.answer(decision.scope, tuple(held), state))
    return Committed(state, outcome, decision, tuple(lost))


def _with_changes(state: State, changes: Iterable[Change]) -> State:
    after = dict(state)
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


def instants(contract: Contract, record: Record, now_s: int) -> tuple[int, ...]:
    """Every instant at which a condition on this record turns, in order: deadlines, lease end, due time.

    Only comparisons of ``now`` with a term of the record's own facts count.
    """
    scope = Scope(now_s, {}, {}, None, record.facts, record.facts, reference, Trace())
    found = {comparison.turning_instant(scope) for comparison in _timed(contract)}
    return tuple(sorted(instant for instant in found if instant is not None))


@cache
def _timed(contract: Contract) -> tuple[Comparison, ...]:
    return tuple(
        leaf
        for _owner, condition in conditions_of(contract)
        for leaf in condition.leaves()
        if isinstance(leaf, Comparison) and leaf.sources() == {"now", "facts"}
    )
