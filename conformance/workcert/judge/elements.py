"""Which requirement is broken when a pass or a draw took other elements than the model, or in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workcert.judge.attribution import Ids, for_success, holding_rows, nearest, turns, unique
from workcert.judge.questions import asked_of, holds
from workspec.core.condition import Comparison
from workspec.core.contract import Contract
from workspec.core.interpreter import Committed, Decision
from workspec.core.rule import Draw, Promises, Skip, checks_of
from workspec.core.scope import Scope


def for_pass(contract: Contract, committed: Committed, expected: Sequence[Any], seen: Any) -> Ids:
    """A pass took other elements than the model: by a table row or a check that was answered otherwise for one."""
    decision = committed.decision
    own = for_success(decision)
    seen_keys = list(seen) if isinstance(seen, list | tuple) else []
    odd = [key for key in (*expected, *seen_keys) if (key in seen_keys) != (key in expected)]
    record = next((decision.scope.state[key] for key in odd if key in decision.scope.state), None)
    if record is None:
        return own
    scope = asked_of(decision.scope, record.facts)
    return unique(nearest([*_questions(contract, decision, scope)]), own)


def _questions(contract: Contract, decision: Decision, scope: Scope) -> Iterator[tuple[int, Ids]]:
    for check in checks_of(decision.operation):
        if isinstance(check, Skip):
            yield from ((0, row.requirements) for row in holding_rows(contract, check.when, scope))
            yield from turns(contract, check.when, check.requirements, scope)


def for_draw(decision: Decision, expected: Sequence[str], seen: Sequence[str]) -> Ids:
    """A draw took other records than the model, or took them in another order; empty where it did not."""
    operation = decision.operation
    if not isinstance(operation, Draw) or operation.promises is None or list(expected) == list(seen):
        return ()
    promises = operation.promises
    extra = [key for key in seen if key not in expected]
    barred = next((ids for ids in (_barring(decision, operation, key) for key in extra) if ids), ())
    if barred:
        return barred
    if len(set(seen)) < len(seen) or any(key not in decision.scope.state for key in seen):
        return for_success(decision)
    missing = [key for key in expected if key not in seen]
    if extra and not missing:
        return promises.most
    if missing and not extra:
        return (*_at_bound(decision, operation, missing[0]), *promises.complete)
    return _out_of_order(decision, promises, expected, seen)


def _barring(decision: Decision, operation: Draw, key: str) -> Ids:
    """Why this record may not be taken: it is none of those that the draw looks at, or the gate passes it over."""
    record = decision.scope.state.get(key)
    if record is None or operation.promises is None:
        return ()
    scope = asked_of(decision.scope, record.facts)
    scope.key = key
    checks = (*operation.promises.barriers, *operation.gate)
    return next((check.requirements for check in checks if holds(check.when, scope)), ())


def _out_of_order(decision: Decision, promises: Promises, expected: Sequence[str], seen: Sequence[str]) -> Ids:
    """The first place where the two part: the same group asks for its own order, two groups for the order of groups."""
    state = decision.scope.state
    pairs = zip(expected, seen, strict=False)
    first = next(((right, wrong) for right, wrong in pairs if right != wrong), None)
    if first is None:
        return promises.across
    right, wrong = (promises.group(state[key].facts) for key in first)
    return promises.within if right == wrong else promises.across


def _at_bound(decision: Decision, operation: Draw, key: str) -> Ids:
    """The gate that a record passes at the very bound, where a store left it out."""
    scope = asked_of(decision.scope, decision.scope.state[key].facts)
    scope.key = key
    for check in operation.gate:
        for leaf in check.when.leaves():
            if isinstance(leaf, Comparison):
                left, right = leaf.left.read(scope), leaf.right.read(scope)
                if isinstance(left, int) and left == right:
                    return check.requirements
    return ()
