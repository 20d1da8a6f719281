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
from workspec.core.record import State
from workspec.core.rewrite import Leaf, Mapped, each_step, rewritten
from workspec.core.rule import (
    AnyOperation,
    Batch,
    Check,
    DecisionTable,
    Draw,
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


def unless(requirement: str, condition: Condition, *operations: str) -> Change:
    """Every check of this requirement lets these calls through too."""
    return _checks(requirement, operations, lambda check: evolve(check, when=check.when & ~condition))


def with_checks(requirement: str, change: Callable[[Check], Check | None], *operations: str) -> Change:
    """Every check of this requirement as another, or none where there is nothing in its place."""
    return _checks(requirement, operations, change)


def _checks(requirement: str, operations: tuple[str, ...], change: Callable[[Check], Check | None]) -> Change:
    """Among the checks of a whole call, of the phases of a batch and of the gate of a draw."""

    def apply(contract: Contract) -> Contract:
        found = 0

        def passed(checks: tuple[Check, ...]) -> Any:
            nonlocal found
            hits = [check for check in checks if requirement in check.requirements]
            found += len(hits)
            kept = (change(check) if check in hits else check for check in checks)
            return tuple(check for check in kept if check is not None)

        asked = (o if operations and o.name not in operations else _asking(o, passed) for o in contract.operations)
        changed = evolve(contract, operations=tuple(asked))
        assert found, f"no check names {requirement}"
        return changed

    return apply


def _asking(operation: AnyOperation, passed: Callable[[tuple[Check, ...]], Any]) -> AnyOperation:
    checks = passed(operation.checks)
    if isinstance(operation, Batch):
        phases = tuple(evolve(phase, checks=passed(phase.checks)) for phase in operation.phases)
        return evolve(operation, checks=checks, phases=phases)
    if isinstance(operation, Draw):
        return evolve(operation, checks=checks, gate=passed(operation.gate))
    return evolve(operation, checks=checks)


def with_steps(operation: str, change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> Change:
    """An operation that does more, or less."""
    return lambda contract: with_operation(operation, steps=change(contract.operation(operation).steps))(contract)


def with_answer(operation: str, change: Callable[..., Any]) -> Change:
    """An operation whose answer is made by ``change``, from the right one and from all that this is made of."""

    def apply(contract: Contract) -> Contract:
        right: Callable[..., Any] = contract.operation(operation).answer
        return with_operation(operation, answer=lambda *given: change(right(*given), *given))(contract)

    return apply


def with_operation(name: str, **members: Any) -> Change:
    def apply(contract: Contract) -> Contract:
        assert contract.has(name)
        operations = (evolve(o, **members) if o.name == name else o for o in contract.operations)
        return evolve(contract, operations=tuple(operations))

    return apply


# Terms, bounds, tables -----------------------------------------------------------------------------------------------


def with_term(old: Term | Condition, read: Callable[[Scope], Any], *operations: str) -> Change:
    """A term that reads something else, wherever rules ask it; in these operations only, or everywhere."""
    asked = old.of if isinstance(old, Member) else old
    assert isinstance(asked, Term), "only a term, or the condition that one holds, can be read otherwise"
    return lambda contract: Mapped(contract, terms={asked: evolve(asked, read=read)}, only=operations).result()


def with_relation(text: str, relation: str, *operations: str) -> Change:
    """The comparison that prints like this, the other way at its bound; in these operations only, or everywhere."""

    def turned(leaf: Leaf) -> Condition:
        return Comparison(leaf.left, relation, leaf.right) if _is(leaf, text) else leaf  # type: ignore[union-attr]

    return lambda contract: Mapped(contract, leaf=turned, only=operations).result()


def with_condition(old: Leaf | str, new: Condition) -> Change:
    """One condition in place of another, or of the one that prints like this, wherever rules ask it."""
    text = old if isinstance(old, str) else old.text
    return lambda contract: Mapped(contract, leaf=lambda leaf: new if leaf.text == text else leaf).result()


def seeing(condition: Condition, view: Callable[[Scope], State], name: str) -> Condition:
    """The condition, asked of another state than the committed one."""

    def read(scope: Scope) -> bool:
        return condition.decide(evolve(scope, state=view(scope)))

    return Term(name, "flag", "store", read).holds()


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


def with_effect(
    effect: Effect, change: Callable[[Scope, Mapping[str, Any]], Mapping[str, Any]], *operations: str
) -> Change:
    """An effect whose changes are passed through ``change`` (the scope before it, and what it would write); in these
    operations only, or everywhere."""
    wrong = evolve(effect, apply=lambda scope: change(scope, effect.apply(scope)))

    def swap(step: Effect | Move) -> tuple[Step, ...]:
        return (wrong,) if step is effect else (step,)

    def apply(contract: Contract) -> Contract:
        swapped = rewritten(contract, block=lambda steps: each_step(steps, swap))
        both_ways = zip(contract.operations, swapped.operations, strict=True)
        chosen = (new if not operations or new.name in operations else old for old, new in both_ways)
        return evolve(contract, operations=tuple(chosen))

    return apply


def after_effect(effect: Effect, *operations: str, **facts: Callable[[Scope], Any]) -> Change:
    """An effect that writes these facts too, or otherwise."""

    def written(scope: Scope, done: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**done, **{name: f(scope) for name, f in facts.items()}}

    return with_effect(effect, written, *operations)


def without_effect(effect: Effect, *operations: str) -> Change:
    return with_effect(effect, lambda _scope, _done: {}, *operations)
