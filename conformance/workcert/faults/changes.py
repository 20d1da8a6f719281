"""Small changes of a specification, each a function from one contract to another.

A fault is made of one or two of them. Nothing here knows what is right; it only finds the place by the names that the
rules themselves carry, and fails loudly when the place is not there any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from workspec.core.condition import Comparison, Condition, Member, Term
from workspec.core.contract import Contract
from workspec.core.rewrite import Leaf, Mapped, each_step, rewritten
from workspec.core.rule import (
    Check,
    DecisionTable,
    Effect,
    Move,
    Step,
    TableRow,
    Transition,
)
from workspec.core.scope import Scope

Change = Callable[[Contract], Contract]


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(contract: Contract) -> Contract:
        for one in changes:
            contract = one(contract)
        return contract

    return change


# Checks --------------------------------------------------------------------------------------------------------------


def without(requirement: str, *operations: str) -> Change:
    """No check of this requirement, in these operations or in all."""
    return _checks(requirement, operations, lambda _check: None)


def with_check(requirement: str, *operations: str, **members: Any) -> Change:
    """Every check of this requirement with other members."""
    return _checks(requirement, operations, lambda check: evolve(check, **members))


def _checks(requirement: str, operations: tuple[str, ...], change: Callable[[Check], Check | None]) -> Change:
    def apply(contract: Contract) -> Contract:
        found = 0
        changed = []
        for operation in contract.operations:
            if operations and operation.name not in operations:
                changed.append(operation)
                continue
            hits = [check for check in operation.checks if requirement in check.requirements]
            found += len(hits)
            kept = (change(check) if check in hits else check for check in operation.checks)
            changed.append(evolve(operation, checks=tuple(check for check in kept if check is not None)))
        assert found, f"no check names {requirement}"
        return evolve(contract, operations=tuple(changed))

    return apply


def with_operation(name: str, **members: Any) -> Change:
    def apply(contract: Contract) -> Contract:
        assert contract.has(name)
        operations = (evolve(o, **members) if o.name == name else o for o in contract.operations)
        return evolve(contract, operations=tuple(operations))

    return apply


# Terms, bounds, tables -----------------------------------------------------------------------------------------------


def with_term(old: Term | Member, read: Callable[[Scope], Any]) -> Change:
    """A term that reads something else, wherever rules ask it."""
    old = old.of if isinstance(old, Member) else old
    return lambda contract: Mapped(contract, terms={old: evolve(old, read=read)}).result()


def with_relation(text: str, relation: str, *operations: str) -> Change:
    """The comparison that prints like this, the other way at its bound; in these operations only, or everywhere."""

    def turned(leaf: Leaf) -> Condition:
        return Comparison(leaf.left, relation, leaf.right) if _is(leaf, text) else leaf  # type: ignore[union-attr]

    return lambda contract: Mapped(contract, leaf=turned, only=operations).result()


def with_condition(old: Leaf, new: Condition) -> Change:
    """One condition in place of another, wherever rules ask it."""
    return lambda contract: Mapped(contract, leaf=lambda leaf: new if leaf.text == old.text else leaf).result()


def with_rows(table: DecisionTable, change: Callable[[tuple[TableRow, ...]], tuple[TableRow, ...]]) -> Change:
    """A decision table with other rows, or with its rows in another order."""
    return lambda contract: Mapped(contract, rows={table.name: change}).result()


def with_transition(source: str, event: str, target: str) -> Change:
    """The pair of state and event leads elsewhere, or is legal now."""

    def apply(contract: Contract) -> Contract:
        rows = tuple(r for r in contract.transitions.rows if (r.source, r.event) != (source, event))
        return Mapped(contract, transitions=(*rows, Transition(source, event, target, ()))).result()

    return apply


def without_transition(source: str, event: str) -> Change:
    """The pair of state and event is not legal."""

    def apply(contract: Contract) -> Contract:
        rows = tuple(r for r in contract.transitions.rows if (r.source, r.event) != (source, event))
        return Mapped(contract, transitions=rows).result()

    return apply


def _is(leaf: Leaf, text: str) -> bool:
    return isinstance(leaf, Comparison) and leaf.text == text


# Effects -------------------------------------------------------------------------------------------------------------


def with_effect(effect: Effect, change: Callable[[Scope, Mapping[str, Any]], Mapping[str, Any]]) -> Change:
    """An effect whose changes are passed through ``change`` (the scope before it, and what it would write)."""
    wrong = evolve(effect, apply=lambda scope: change(scope, effect.apply(scope)))

    def swap(step: Effect | Move) -> tuple[Step, ...]:
        return (wrong,) if step is effect else (step,)

    return lambda contract: rewritten(contract, block=lambda steps: each_step(steps, swap))


def after_effect(effect: Effect, **facts: Callable[[Scope], Any]) -> Change:
    """An effect that writes these facts too, or otherwise."""
    return with_effect(effect, lambda scope, done: {**done, **{name: f(scope) for name, f in facts.items()}})


def without_effect(effect: Effect) -> Change:
    return with_effect(effect, lambda _scope, _done: {})
