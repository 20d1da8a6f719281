"""Seeded faults, derived from the rules of a contract: each rule made wrong in each of the ways that stores are.

Nothing here knows a contract: what is a place and what may be done to it follows from the form of the rules. What
shows nothing of itself by the form of it alone is not made: two checks that answer alike, or whose order the contract
leaves open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Final

from attrs import evolve, frozen

from workcert.backends.specification import of
from workcert.binding import Binding
from workcert.faults.fault import Fault, Kind
from workcert.faults.positions import (
    Asked,
    blocks,
    each_condition,
    each_leaf,
    each_step,
    events_of,
    ids_of,
    keyed_check_lists,
    replaced_at,
    with_operation,
)
from workspec.core.choice import Choice
from workspec.core.condition import Comparison, Condition, Term
from workspec.core.contract import Contract
from workspec.core.orders import may_come_first
from workspec.core.rewrite import Mapped
from workspec.core.rule import (
    AnyOperation,
    Check,
    DecisionTable,
    Draw,
    Effect,
    Move,
    Refuse,
    Reply,
    Skip,
    Step,
    TableRow,
    Transition,
    When,
)
from workspec.core.scope import Scope

ORDERINGS: Final = ("<", "<=", ">", ">=")


@frozen(eq=False)
class _Change:
    """A fault before it has its backend."""

    kind: Kind
    place: str
    requirements: tuple[str, ...]
    touched: frozenset[str]
    specification: Contract
    fires: frozenset[str] = frozenset()
    asks: frozenset[str] = frozenset()


def derived(binding: Binding) -> tuple[Fault, ...]:
    """Every fault that the rules of a contract give, in the order of the rules."""
    contract = binding.contract
    changes = [change for operation in contract.operations for change in _in_operation(contract, operation)]
    changes += _in_transitions(contract)
    changes += _in_tables(contract)
    twins: Counter[str] = Counter()
    return tuple(_fault(binding, change, twins) for change in changes)


def _fault(binding: Binding, change: _Change, twins: Counter[str]) -> Fault:
    name = f"{change.kind}: {change.place}"
    twins[name] += 1
    numbered = name if twins[name] == 1 else f"{name} (#{twins[name]})"
    specification = change.specification
    return Fault(
        numbered,
        change.kind,
        change.requirements,
        change.touched,
        lambda: of(binding, specification),
        specification,
        fires=change.fires,
        asks=change.asks,
    )


def _in_operation(contract: Contract, operation: AnyOperation) -> Iterator[_Change]:
    for make in (_dropped_checks, _swapped_checks, _moved_bounds, _dropped_steps, _negated, _committing):
        for made in make(contract, operation):
            yield _Change(
                made.kind,
                f"{operation.name}: {made.place}",
                made.requirements,
                frozenset({operation.name}),
                with_operation(contract, made.changed),
                frozenset(made.fires),
                frozenset(made.asks),
            )


@frozen(eq=False)
class _OfOperation:
    """A changed operation; for the rest see `Fault`."""

    kind: Kind
    place: str
    requirements: tuple[str, ...]
    changed: AnyOperation
    fires: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


Made = Iterator[_OfOperation]


# Checks --------------------------------------------------------------------------------------------------------------


def _dropped_checks(_contract: Contract, operation: AnyOperation) -> Made:
    for checks, keys, put in keyed_check_lists(operation):
        for index, check in enumerate(checks):
            place = f"{' '.join(check.requirements)}, {check.when.text}"
            changed = put(replaced_at(checks, index))
            yield _OfOperation(Kind.DROPPED_CHECK, place, check.requirements, changed, fires=(keys[index],))


def _swapped_checks(_contract: Contract, operation: AnyOperation) -> Made:
    for checks, keys, put in keyed_check_lists(operation):
        for index, (first, second) in enumerate(pairwise(checks)):
            if _answer_alike(first, second):
                continue
            swapped = (*checks[:index], second, first, *checks[index + 2 :])
            place = f"{' '.join(first.requirements)} after {' '.join(second.requirements)}"
            order = () if isinstance(operation, Draw) else (*operation.order, *_order(first))
            requirements = (*order, *first.requirements, *second.requirements)
            # Where the first does not hold, either order comes to the second.
            yield _OfOperation(Kind.SWAPPED_CHECKS, place, requirements, put(swapped), fires=(keys[index],))


def _order(check: Check) -> tuple[str, ...]:
    return () if isinstance(check, Skip) else check.order


def _answer_alike(first: Check, second: Check) -> bool:
    """Whoever comes first, the caller gets the same, or the contract leaves it open."""
    if isinstance(first, Refuse) and isinstance(second, Refuse):
        silent = first.details is None and second.details is None and not first.committing and not second.committing
        return first.unordered or may_come_first(second) or (silent and first.code == second.code)
    if isinstance(first, Skip) and isinstance(second, Skip):
        # An element is passed over all the same.
        return not first.committing and not second.committing
    return may_come_first(second) or (isinstance(first, Refuse) and first.unordered)


# Bounds --------------------------------------------------------------------------------------------------------------


def _moved_bounds(_contract: Contract, operation: AnyOperation) -> Made:
    for asked in each_condition(operation):
        requirements = _ids_of_rule(asked.rule)
        for text, moved in moved_bounds(asked.condition):
            yield _OfOperation(
                Kind.MOVED_BOUND, f"{asked.by}, {text}", requirements, asked.put(moved), asks=_key_of(asked)
            )


def _key_of(asked: Asked) -> tuple[str, ...]:
    return (asked.key,) if asked.key else ()


def moved_bounds(condition: Condition) -> Iterator[tuple[str, Condition]]:
    """The condition with one bound a unit higher, and with it a unit lower."""
    for leaf, put in each_leaf(condition):
        if isinstance(leaf, Comparison) and leaf.relation in ORDERINGS:
            for by in (1, -1):
                moved = Comparison(leaf.left, leaf.relation, _shifted(leaf.right, by))
                yield f"{leaf.text} as {moved.text}", put(moved)


def _shifted(term: Term, by: int) -> Term:
    def read(scope: Scope) -> Any:
        value = term.read(scope)
        return value + by if isinstance(value, int) and not isinstance(value, bool) else value

    return evolve(term, name=f"{term.name} {'+' if by > 0 else '-'} 1", read=read)


# Steps ---------------------------------------------------------------------------------------------------------------


def _dropped_steps(_contract: Contract, operation: AnyOperation) -> Made:
    for steps, put_block in blocks(operation):
        for step, put in each_step(steps):
            if isinstance(step, Effect | Move):
                name = step.name if isinstance(step, Effect) else f"move by {step.event!r}"
                requirements = step.requirements or _ids_of_rule(operation)
                yield _OfOperation(Kind.DROPPED_STEP, name, requirements, put_block(put(())))


def _negated(_contract: Contract, operation: AnyOperation) -> Made:
    for asked in each_condition(operation):
        if isinstance(asked.rule, When):
            place = f"{asked.by} {asked.condition.text}"
            yield _OfOperation(
                Kind.NEGATED_GUARD, place, _ids_of_rule(asked.rule), asked.put(~asked.condition), asks=_key_of(asked)
            )
        elif isinstance(asked.rule, Refuse | Reply | Skip):
            yield from _negated_parts(asked)


def _negated_parts(asked: Asked) -> Made:
    """A check as a whole is negated by any of its calls; what can be got wrong is one of several parts."""
    leaves = list(each_leaf(asked.condition))
    if len(leaves) < 2:
        return
    for leaf, put_leaf in leaves:
        place = f"{asked.by}, {leaf.text}"
        changed = asked.put(put_leaf(~leaf))
        yield _OfOperation(Kind.NEGATED_GUARD, place, _ids_of_rule(asked.rule), changed, asks=_key_of(asked))


def _ids_of_rule(rule: Any) -> tuple[str, ...]:
    if isinstance(rule, When):
        return ids_of(rule.steps)
    found: tuple[str, ...] = rule.requirements
    return found


# Refusals that commit ------------------------------------------------------------------------------------------------


def _committing(contract: Contract, operation: AnyOperation) -> Made:
    """Each refusal does all the same what the call would have done, as far as it can be done there."""
    steps = tuple(_as_far_as_possible(contract, step) for step, _put in each_step(operation.steps) if _acts(step))
    if not steps:
        return
    for checks, keys, put in keyed_check_lists(operation):
        for index, check in enumerate(checks):
            if isinstance(check, Refuse):
                changed = put(replaced_at(checks, index, evolve(check, committing=(*check.committing, *steps))))
                requirements = (*check.requirements, *contract.comparisons["refusal"])
                place = f"{' '.join(check.requirements)}, {check.when.text}"
                yield _OfOperation(Kind.COMMITTING_REFUSAL, place, requirements, changed, fires=(keys[index],))


def _acts(step: Step) -> bool:
    return isinstance(step, Move) or (isinstance(step, Effect) and step.target is None)


def _as_far_as_possible(contract: Contract, step: Step) -> Step:
    """A step as an effect that does nothing where the state does not allow it."""
    apply = _moving(contract, step) if isinstance(step, Move) else step.apply  # type: ignore[union-attr]
    name = f"move by {step.event!r}" if isinstance(step, Move) else step.name  # type: ignore[union-attr]

    def attempted(scope: Scope) -> Mapping[str, Any]:
        try:
            changes = apply(scope)
        except (AttributeError, KeyError, TypeError, StopIteration, IndexError):
            # What it reads is not there: no record, no claim, no such argument.
            return {}
        return changes if scope.facts is not None or "*" in changes else {}

    return Effect(f"{name}, all the same", (), ("*",), "does what the refused call would have done", attempted)


def _moving(contract: Contract, move: Move) -> Callable[[Scope], Mapping[str, Any]]:
    def apply(scope: Scope) -> Mapping[str, Any]:
        rows = contract.transitions.of(scope.facts.state, move.event)
        if not rows:
            return {}
        actor = scope.choose(move.actor, scope) if isinstance(move.actor, Choice) else move.actor.read(scope)
        moved: Mapping[str, Any] = scope.facts.moved(rows[0].target, scope.now, actor, {})
        return moved

    return apply


# Rows ----------------------------------------------------------------------------------------------------------------


def _in_transitions(contract: Contract) -> Iterator[_Change]:
    rows = contract.transitions.rows
    for index, row in enumerate(rows):
        touched = frozenset(o.name for o in contract.operations if row.event in events_of(o))
        for text, guard in moved_bounds(row.guard):
            changed = _with_row(contract, index, evolve(row, guard=guard))
            yield _Change(Kind.MOVED_BOUND, f"{row.key}, {text}", row.requirements, touched, changed)
        other = _other_target(rows, row)
        if other is not None:
            place = f"{row.key} as {other}"
            changed = _with_row(contract, index, evolve(row, target=other))
            yield _Change(Kind.WRONG_ROW, place, row.requirements, touched, changed)


def _other_target(rows: tuple[Transition, ...], row: Transition) -> str | None:
    """Where another row leads: one of the same state and event at best, then one of the same state."""
    same_event = (each.target for each in rows if (each.source, each.event) == (row.source, row.event))
    same_state = (each.target for each in rows if each.source == row.source)
    return next((target for target in (*same_event, *same_state) if target != row.target), None)


def _with_row(contract: Contract, index: int, row: Transition) -> Contract:
    return Mapped(contract, transitions=replaced_at(contract.transitions.rows, index, row)).result()


def _in_tables(contract: Contract) -> Iterator[_Change]:
    for table in contract.tables:
        for place, requirements, kind, rows in _table_changes(table):
            changed = Mapped(contract, rows={table.name: partial(_instead, rows)}).result()
            yield _Change(kind, f"{table.name}: {place}", requirements, frozenset(), changed)


def _instead(rows: tuple[TableRow, ...], _old: tuple[TableRow, ...]) -> tuple[TableRow, ...]:
    return rows


def _table_changes(table: DecisionTable) -> Iterator[tuple[str, tuple[str, ...], Kind, tuple[TableRow, ...]]]:
    rows = table.rows
    for index, row in enumerate(rows):
        yield f"row {index + 1}", row.requirements, Kind.DROPPED_CHECK, replaced_at(rows, index)
        for text, when in moved_bounds(row.when):
            yield (
                f"row {index + 1}, {text}",
                row.requirements,
                Kind.MOVED_BOUND,
                replaced_at(rows, index, evolve(row, when=when)),
            )
    for index, (first, second) in enumerate(pairwise(rows)):
        if first.value != second.value:
            swapped = (*rows[:index], second, first, *rows[index + 2 :])
            ids = (*table.order, *first.requirements, *second.requirements)
            yield f"row {index + 1} after row {index + 2}", ids, Kind.SWAPPED_CHECKS, swapped
