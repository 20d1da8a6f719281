"""Which requirement a mismatch breaks: the rule that decided, or the one that the store seems to have applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from workcert.judge.differences import Difference
from workspec.core.choice import Choice
from workspec.core.condition import Comparison
from workspec.core.contract import Contract, steps_of
from workspec.core.interpreter import Committed, Decision
from workspec.core.record import Record
from workspec.core.rule import Batch, Check, Effect, Operation, Refuse, checks_of, walk_steps
from workspec.core.scope import Scope, Trace

Ids = tuple[str, ...]

NEAR = 1
"""A comparison whose two sides are this near may have been taken the wrong way round by a shifted bound."""


def for_refusal_expected(decision: Decision, seen_code: str | None) -> Ids:
    """The model refuses or replays by a check, and the store did something else."""
    operation = decision.operation
    if isinstance(operation, Operation) and operation.order and seen_code is not None:
        for check in _later_checks(decision):
            if seen_code in codes_of(check) and _holds(check, decision.scope):
                return (*check_order(decision), *operation.order, *decision.rule_requirements)
    return decision.rule_requirements


def check_order(decision: Decision) -> Ids:
    check = _check_of(decision)
    return () if check is None else tuple(getattr(check, "order", ()))


def for_acceptance_expected(contract: Contract, committed: Committed, seen_code: str) -> Ids:
    """The model lets the call through, and the store refused it with this code: a check with that code is too eager.

    Of several the one whose comparison is nearest to its bound is named.
    """
    decision = committed.decision
    candidates = [check for check in checks_of(decision.operation) if seen_code in codes_of(check)]
    if not candidates:
        return for_success(decision)
    near = [check for check in candidates if _distance(contract, check, _scope_before(decision)) <= NEAR]
    return (near or candidates)[0].requirements


def for_elements(contract: Contract, committed: Committed, expected: Sequence[Any], seen: Any) -> Ids:
    """A pass took other elements than the model: by a table or a check whose comparison is at its bound, else by
    the rules of the pass."""
    decision = committed.decision
    seen_keys = list(seen) if isinstance(seen, list | tuple) else []
    odd = [key for key in (*expected, *seen_keys) if (key in seen_keys) != (key in expected)]
    record = next((decision.scope.state[key] for key in odd if key in decision.scope.state), None)
    if record is not None:
        near = _nearest_table_row(contract, record, decision.scope)
        if near:
            return near
    checks = checks_of(decision.operation)
    skips = tuple(i for check in checks for i in check.requirements)
    return (*_requirements_of_batch(decision), *skips)


def for_record(contract: Contract, committed: Committed, difference: Difference, fallback: Ids) -> Ids:
    """A member of the record is wrong: the effect that writes it, the move that appended it, or, if nothing of this
    decision writes it, ``fallback``."""
    decision = committed.decision
    member = difference.member
    fired = decision.trace.fired
    if member == "state" or difference.path.endswith(".to_state") or difference.path.endswith(".decision"):
        decided = _last_table_row(contract, fired)
        if decided:
            return decided
    effects = _effects(contract)
    for name in fired:
        effect = effects.get(name)
        if effect is not None and member in {contract.shown_as.get(w, w) for w in effect.writes}:
            return effect.requirements
    if "*" in {w for name in fired if name in effects for w in effects[name].writes}:
        return next(effects[name].requirements for name in fired if name in effects)
    rows = {row.key: row.requirements for row in contract.transitions.rows}
    moved = [rows[name] for name in fired if name in rows]
    if moved and member in ("state", "execution_history", *_moved_members(contract)):
        return moved[-1]
    return fallback


def for_success(decision: Decision) -> Ids:
    """The rules of a call that succeeds: its own ids, else those of its effects."""
    if decision.operation.requirements:
        return decision.operation.requirements
    steps = walk_steps(decision.operation.steps)
    found = tuple(i for step in steps for i in getattr(step, "requirements", ()))
    return found or tuple(getattr(decision.operation, "order", ()))


def codes_of(check: Check) -> tuple[str, ...]:
    """The codes with which a check may refuse."""
    if not isinstance(check, Refuse):
        return ()
    if isinstance(check.code, Choice):
        return tuple(str(option) for option in check.code.options)
    return (str(check.code),)


# Inner workings --------------------------------------------------------------------------------------------------


def _check_of(decision: Decision) -> Check | None:
    for check, later in _checks_with_rest(decision):
        if check.requirements == decision.rule_requirements:
            del later
            return check
    return None


def _checks_with_rest(decision: Decision) -> Iterator[tuple[Check, tuple[Check, ...]]]:
    checks = checks_of(decision.operation)
    for position, check in enumerate(checks):
        yield check, checks[position + 1 :]


def _later_checks(decision: Decision) -> tuple[Check, ...]:
    for check, later in _checks_with_rest(decision):
        if check.requirements == decision.rule_requirements:
            return later
    return ()


def _scope_before(decision: Decision) -> Scope:
    scope = decision.scope
    return Scope(
        scope.now_s, scope.call, scope.state, scope.key, scope.before, scope.before, scope.choose, Trace()
    )


def _holds(check: Check, scope: Scope) -> bool:
    before = Scope(
        scope.now_s, scope.call, scope.state, scope.key, scope.before, scope.before, scope.choose, Trace()
    )
    if before.facts is None and "facts" in check.when.sources():
        return False
    return check.when.decide(before)


def _distance(contract: Contract, check: Check, scope: Scope) -> int:
    """How far the nearest comparison of a check, or of the tables that it asks, is from its bound."""
    if scope.facts is None and "facts" in check.when.sources():
        return NEAR + 1
    leaves = list(check.when.leaves())
    tables = {table.name: table for table in contract.tables}
    for leaf in check.when.leaves():
        for term in leaf.terms:
            if term.name in tables:
                leaves.extend(l for row in tables[term.name].rows for l in row.when.leaves())
    return min((_gap(leaf, scope) for leaf in leaves), default=NEAR + 1)


def _gap(leaf: Any, scope: Scope) -> int:
    if not isinstance(leaf, Comparison):
        return NEAR + 1
    left, right = leaf.left.read(scope), leaf.right.read(scope)
    if not isinstance(left, int) or not isinstance(right, int):
        return NEAR + 1
    return abs(left - right)


def _nearest_table_row(contract: Contract, record: Record, outer: Scope) -> Ids:
    scope = Scope(
        outer.now_s, outer.call, outer.state, None, record.facts, record.facts, outer.choose, Trace()
    )
    for table in contract.tables:
        for row in table.rows:
            timed = [leaf for leaf in row.when.leaves() if leaf.sources() == {"now", "facts"}]
            if any(_gap(leaf, scope) <= NEAR for leaf in timed) and row.requirements:
                return row.requirements
    return ()


def _requirements_of_batch(decision: Decision) -> Ids:
    return decision.operation.requirements if isinstance(decision.operation, Batch) else ()


@cache
def _effects(contract: Contract) -> dict[str, Effect]:
    return {
        step.name: step
        for operation in contract.operations
        for step in walk_steps(steps_of(operation))
        if isinstance(step, Effect)
    }


def _last_table_row(contract: Contract, fired: Sequence[str]) -> Ids:
    rows = {
        table.row_key(index): row.requirements
        for table in contract.tables
        if table.unit in ("decision", "outcome")
        for index, row in enumerate(table.rows)
    }
    found = [rows[name] for name in fired if name in rows]
    return found[-1] if found else ()


def _moved_members(contract: Contract) -> tuple[str, ...]:
    del contract
    return ("ready_at",)
