"""Asking the model's questions again: as they were, and with a single one answered the other way."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from workspec.core.choice import Choice, NotAsserted
from workspec.core.condition import Any_, Comparison, Condition, Every, Member, Not
from workspec.core.rule import TableRow
from workspec.core.scope import Scope, Trace

Leaf = Comparison | Member

NEAR = 1
"""A comparison whose two sides are this near may have been taken the wrong way round by a shifted bound."""

IDENTITIES = frozenset({"token", "version"})
"""Units of numbers that name something: being one apart does not make them near."""


def asked_of(scope: Scope, facts: Any) -> Scope:
    """A scope for asking again, of a record as it was."""

    choose = scope.choose

    def choose_anyway(choice: Choice, scope: Scope) -> Any:
        try:
            return choose(choice, scope)
        except NotAsserted:
            # A question that is taken the other way may lead to where the backend goes its own way.
            return choice.default_in(scope)

    return evolve(
        scope, facts=facts, before=facts, choose=choose_anyway, trace=Trace(), settled={}, drafted={}, owner=""
    )


def reads(condition: Condition, scope: Scope) -> bool:
    """The scope has what the condition asks about."""
    return scope.facts is not None or "facts" not in condition.sources()


def holds(condition: Condition, scope: Scope) -> bool:
    """False too where the question cannot be asked: it was guarded by one that is taken the other way here."""
    try:
        return reads(condition, scope) and condition.decide(scope)
    except (AttributeError, LookupError, TypeError):
        return False


def turned(condition: Condition, leaf: Leaf, scope: Scope) -> bool:
    """What the condition says when this one question is answered the other way."""
    match condition:
        case Not(part=part):
            return not turned(part, leaf, scope)
        case Every(parts=parts):
            return all(turned(part, leaf, scope) for part in parts)
        case Any_(parts=parts):
            return any(turned(part, leaf, scope) for part in parts)
    return holds(condition, scope) != (condition is leaf)


def doubt(leaf: Leaf, scope: Scope) -> int:
    """0 for a comparison at its bound, 1 for a flag or an identity, 2 for a comparison far from its bound."""
    if not isinstance(leaf, Comparison):
        return 1
    left, right = leaf.left.read(scope), leaf.right.read(scope)
    if not isinstance(left, int) or not isinstance(right, int) or leaf.left.unit in IDENTITIES:
        return 1
    return 0 if abs(left - right) <= NEAR else 2


def is_at_bound(row: TableRow, scope: Scope) -> bool:
    """A single comparison at its bound makes the row hold."""
    return any(not turned(row.when, leaf, scope) and doubt(leaf, scope) == 0 for leaf in row.when.leaves())
