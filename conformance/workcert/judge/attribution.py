"""Which requirement a mismatch breaks: what a person would look up who has to mend the store.

The model's decision says which rule was right. From what the store showed instead, the rule that it seems to have taken
otherwise is inferred: a question (a comparison at its bound, a flag) that, answered the other way, gives what was seen.
The first id is the one that a failure names, the others took part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from attrs import frozen

from workcert.judge.differences import Difference
from workcert.judge.questions import Leaf, asked_of, doubt, holds, is_at_bound, reads, turned
from workspec.core.choice import Choice
from workspec.core.condition import Condition, Member
from workspec.core.contract import Contract, steps_of
from workspec.core.interpreter import Committed, Decision
from workspec.core.requirement import Kind
from workspec.core.rule import (
    Check,
    DecisionTable,
    Effect,
    Move,
    Operation,
    Refuse,
    Reply,
    TableRow,
    Transition,
    check_keys,
    checks_of,
    walk_steps,
)
from workspec.core.scope import Scope

Ids = tuple[str, ...]


@frozen(eq=False)
class Shown:
    """What the store showed of a call. ``code`` and ``details`` of a refusal; ``acted``: the record is not as before;
    ``expired``: what the deciding check commits was committed."""

    code: str | None = None
    details: Any = None
    acted: bool = True
    expired: bool = False


# Answers -------------------------------------------------------------------------------------------------------------


def for_missed_check(contract: Contract, decision: Decision, shown: Shown) -> Ids:
    """The model refuses or replays by a check, and the store did something else."""
    earlier, check, later = _around(decision)
    own = decision.rule_requirements
    if check is None:
        return own
    scope = asked_of(decision.scope, decision.scope.before)
    if shown.code is None:
        replies = () if shown.acted else _of_replies(earlier)
        plainest = _plainest(check, later, scope)
        return unique(replies, () if shown.expired else _rows_that_hold(contract, check, scope), plainest, own)
    fallen_through = any(_refuses(each, shown.code) and holds(each.when, scope) for each in later)
    eager = () if fallen_through else _taken_eagerly(contract, earlier, scope, shown)
    order = _order_of(decision, check) if fallen_through else ()
    rows = _rows_named_instead(contract, check, scope, shown.details)
    if not rows and not shown.expired:
        rows = _rows_at_bound(contract, check, scope)
    if _refuses(check, shown.code) and not rows:
        # It refuses as it should, and says something else of it: that is this check's to say.
        return unique(own, eager, order)
    return unique(rows, eager, own, order)


def _plainest(check: Check, later: Iterable[Check], scope: Scope) -> Ids:
    """Of several checks that refuse alike because of one question, the last: the store did not ask that question, and
    those before it only tell apart why the answer has the details that it has."""
    alike = [each for each in later if _refuse_alike(check, each) and holds(each.when, scope)]
    shared = [
        leaf for leaf in check.when.leaves() if not any(turned(each.when, leaf, scope) for each in (check, *alike))
    ]
    return alike[-1].requirements if alike and shared else ()


def _refuse_alike(one: Check, other: Check) -> bool:
    return isinstance(one, Refuse) and isinstance(other, Refuse) and one.code == other.code


def for_eager_check(contract: Contract, committed: Committed, shown: Shown) -> Ids:
    """The model lets the call through, and the store refused it."""
    decision = committed.decision
    scope = asked_of(decision.scope, decision.scope.before)
    checks = checks_of(decision.operation)
    rows = _transitions_of(contract, decision, shown.code)
    if scope.facts is None and any(_refuses(check, shown.code) and not reads(check.when, scope) for check in checks):
        # The check asks about a record and there is none: the store found another's in its place.
        return for_success(decision)
    eager = _taken_eagerly(contract, checks, scope, shown)
    return unique(rows, eager) or for_success(decision)


def for_answer(contract: Contract, decision: Decision) -> Ids:
    """An answer is wrong in what no effect writes: the last move or effect says what the call does."""
    fired = decision.trace.fired
    event = next((row.event for name in reversed(fired) for row in contract.transitions.rows if row.key == name), None)
    steps = tuple(walk_steps(decision.operation.steps))
    moves = [step.requirements for step in steps if isinstance(step, Move) and step.event == event]
    acts = [step.requirements for step in steps if isinstance(step, Effect) and step.name in fired]
    return next(iter((*moves, *acts[::-1])), ()) or for_success(decision)


def for_success(decision: Decision) -> Ids:
    """The rules of a call that succeeds: its own ids, else those of its effects."""
    if decision.operation.requirements:
        return decision.operation.requirements
    steps = walk_steps(decision.operation.steps)
    found = tuple(i for step in steps for i in getattr(step, "requirements", ()))
    return found or tuple(getattr(decision.operation, "order", ()))


def for_crash(contract: Contract, decision: Decision) -> Ids:
    """The call raised, so that nothing tells which of its rules was taken otherwise: what the operation itself is for
    comes before what holds of calls in general. Where the model refuses, the check that does took part too."""
    operation = decision.operation
    acts = tuple(i for step in walk_steps(operation.steps) for i in getattr(step, "requirements", ()))
    # A call on one record is for what it does to it; a pass may find nothing to do.
    purpose = unique(acts, operation.requirements) if isinstance(operation, Operation) else operation.requirements
    order = operation.order if isinstance(operation, Operation) and decision.rule is not None else ()
    # What it does beside that, settling a charge for one, takes fewer steps than what it is for; what always holds is
    # no purpose.
    steps = [getattr(step, "requirements", ()) for step in walk_steps(operation.steps)]
    groups = (operation.requirements, *steps) if isinstance(operation, Operation) else (operation.requirements,)
    said = Counter(family for group in groups for family in _families(contract, group))
    families = [each for each, _count in said.most_common(1)]
    named = unique(decision.rule_requirements, order, purpose)
    own = (identifier for identifier in named if contract.catalogue[identifier].prefix in families)
    return unique(own, decision.rule_requirements) or for_success(decision)


def _families(contract: Contract, identifiers: Ids) -> Iterable[str]:
    rules = (contract.catalogue[i] for i in identifiers)
    return dict.fromkeys(rule.prefix for rule in rules if rule.kind is not Kind.INVARIANT)


# Records -------------------------------------------------------------------------------------------------------------


def for_record(
    contract: Contract,
    committed: Committed,
    found: Sequence[Difference],
    fallback: Ids,
    broken: Ids = (),
    *,
    new: bool = False,
) -> Ids:
    """A member of the record is wrong: the table that decided, the step that writes it, or, if nothing of this
    decision does, what says that it stays. ``broken``: the invariants on this member that the record breaks; ``new``:
    this call has made the record, so that no rule is meant that edits one."""
    decision, first = committed.decision, found[0]
    decided = _decided_otherwise(contract, decision, found)
    if decided:
        return decided
    fired = decision.trace.fired
    if first.member == "state":
        return unique(_of_last_transition(contract, fired)) or fallback
    if ".evidence" in first.path or first.path.endswith((".actor", ".at")):
        return unique(_of_event(contract, decision, first)) or fallback
    writers = [effect for effect in _effects_of(contract) if _writes(contract, effect, first.member)]
    acted = [effect.requirements for effect in writers if effect.name in fired]
    if acted:
        return acted[-1]
    if first.member == "execution_history":
        return unique(_of_last_transition(contract, fired)) or fallback
    if not writers and broken:
        # No rule ever writes it: it is shown by what other members say.
        return unique(broken, fallback)
    spoken = [i for i in decision.trace.requirements if f"`{first.member}`" in _text(contract, i)]
    # It did not act, so what it says last, of when it acts at all, comes first.
    sole = writers[0].requirements[::-1] if len(writers) == 1 and fired and not new else ()
    return unique(spoken, sole) or fallback


def of_effect_on(contract: Contract, decision: Decision, fact: str) -> Ids:
    """The last effect of a decision that names this fact among those that it writes."""
    fired = decision.trace.fired
    acted = [each.requirements for each in _effects_of(contract) if each.name in fired and fact in each.writes]
    return acted[-1] if acted else ()


def _decided_otherwise(contract: Contract, decision: Decision, found: Sequence[Difference]) -> Ids:
    """A decision table took one row and the store another: the order of rows if both hold, else the right row."""
    fired = decision.trace.fired
    for table in contract.tables:
        right = next((row for index, row in enumerate(table.rows) if table.row_key(index) in fired), None)
        if right is None:
            continue
        told = [d.seen for d in found if d.expected == str(right.value)]
        taken = next((row for row in table.rows if str(row.value) in told), None)
        if taken is not None:
            both = table.order and _holds_later(table, right, taken, decision)
            return unique(table.order if both else (), right.requirements, taken.requirements)
    moved = any(d.path == "state" or d.path.endswith(".to_state") for d in found)
    return _of_last_row(contract, fired) if moved else ()


def _holds_later(table: DecisionTable, right: TableRow, taken: TableRow, decision: Decision) -> bool:
    key = decision.scope.key
    record = None if key is None else decision.scope.state.get(key)
    scope = asked_of(decision.scope, None if record is None else record.facts)
    # The row for all the rest holds always: taking it says nothing of an order.
    asks = any(True for _leaf in taken.when.leaves())
    return asks and table.rows.index(taken) > table.rows.index(right) and holds(taken.when, scope)


def _of_event(contract: Contract, decision: Decision, difference: Difference) -> Ids:
    """The move that appended the event, then its row of the table."""
    rows = [row for row in contract.transitions.rows if row.key in decision.trace.fired]
    row = next((row for row in rows if row.target == _target_of(difference, decision)), rows[-1] if rows else None)
    if row is None:
        return ()
    steps = walk_steps(steps_of(decision.operation))
    moves = [step.requirements for step in steps if isinstance(step, Move) and step.event == row.event]
    return unique(*moves, row.requirements)


def _target_of(difference: Difference, decision: Decision) -> str | None:
    """The state that the event of a difference leads to, by its place among the events of this decision."""
    before = getattr(decision.scope.before, "event_count", 0)
    place = int(difference.path.partition("[")[2].partition("]")[0] or before) - before
    arrows = [name.rpartition("]-> ")[2] for name in decision.trace.fired if "]-> " in name]
    return arrows[place] if 0 <= place < len(arrows) else None


# Questions taken the other way ---------------------------------------------------------------------------------------


def _taken_eagerly(contract: Contract, checks: Iterable[Check], scope: Scope, shown: Shown) -> Ids:
    """Of the checks that refuse with this code, the one that holds if a single question is answered the other way; of
    several, the one whose question is nearest to its bound."""
    named = [check for check in checks if _refuses(check, shown.code)]
    found: list[tuple[int, Ids]] = []
    for check in named:
        if reads(check.when, scope):
            found += [(0, ids) for ids in _named_rows(contract, check, shown.details)]
            found += turns(contract, check.when, check.requirements, scope)
    # Which of several it was that refuse with this code, nothing tells.
    return nearest(found) or (named[0].requirements if len(named) == 1 else ())


def turns(contract: Contract, condition: Condition, ids: Ids, scope: Scope) -> Iterator[tuple[int, Ids]]:
    """Every single question that turns this condition over, with how doubtful it is; for one that asks a table, the
    questions of its rows."""
    for leaf in condition.leaves():
        if turned(condition, leaf, scope) == holds(condition, scope):
            continue
        table = _table_of(contract, leaf)
        if table is None:
            yield doubt(leaf, scope), ids
            continue
        for row in table.rows:
            turning = [each for each in row.when.leaves() if turned(row.when, each, scope)]
            if turning:
                asked = {each.text for each in turning}
                alike = (other.requirements for other in table.rows if asked & {e.text for e in other.when.leaves()})
                yield min(doubt(each, scope) for each in turning), unique(row.requirements, *alike, ids)


def nearest(found: Sequence[tuple[int, Ids]]) -> Ids:
    """The least doubtful ones."""
    least = min((doubt for doubt, _ids in found), default=0)
    return unique(*(ids for doubt, ids in found if doubt == least))


# Tables and transitions ----------------------------------------------------------------------------------------------


def _table_of(contract: Contract, leaf: Leaf) -> DecisionTable | None:
    return next((table for table in contract.tables if table.term in leaf.terms), None)


def _tables_in(contract: Contract, condition: Condition) -> Iterator[DecisionTable]:
    found = (_table_of(contract, leaf) for leaf in condition.leaves())
    yield from (table for table in found if table is not None)


def holding_rows(contract: Contract, condition: Condition, scope: Scope) -> Iterator[TableRow]:
    for table in _tables_in(contract, condition):
        yield from [row for row in table.rows if holds(row.when, scope)][:1]


def _rows_that_hold(contract: Contract, check: Check, scope: Scope) -> Ids:
    return tuple(i for row in holding_rows(contract, check.when, scope) for i in row.requirements)


def _named_rows(contract: Contract, check: Check, details: Any) -> Iterator[Ids]:
    """Rows whose value the store names in the details of its refusal."""
    said = [value for value in _values(details) if isinstance(value, str)]
    for table in _tables_in(contract, check.when):
        yield from (unique(row.requirements, check.requirements) for row in table.rows if row.value in said)


def _rows_named_instead(contract: Contract, check: Check, scope: Scope, details: Any) -> Ids:
    """The store names another row than the one that decides: it may not hold; or it holds too, and then either the
    deciding row was missed at its bound, or rows were asked in another order."""
    said = [value for value in _values(details) if isinstance(value, str)]
    for table in _tables_in(contract, check.when):
        holding = [row for row in table.rows if holds(row.when, scope)]
        named = [row for row in table.rows if row.value in said and row not in holding[:1]]
        if not named or not holding:
            continue
        if named[0] not in holding:
            return unique(named[0].requirements, holding[0].requirements)
        groups = (holding[0].requirements, table.order)
        return unique(*groups if is_at_bound(holding[0], scope) else groups[::-1])
    return ()


def _rows_at_bound(contract: Contract, check: Check, scope: Scope) -> Ids:
    rows = [row for row in holding_rows(contract, check.when, scope) if is_at_bound(row, scope)]
    return unique(*(row.requirements for row in rows))


def _transitions_of(contract: Contract, decision: Decision, code: str | None) -> Ids:
    """The rows that the model took, where a check with this code asks whether there is one."""
    taken = [row for row in contract.transitions.rows if row.key in decision.trace.fired]
    asked = {
        leaf.of.name
        for check in checks_of(decision.operation)
        if _refuses(check, code)
        for leaf in check.when.leaves()
        if isinstance(leaf, Member)
    }
    return unique(*(row.requirements for row in taken if _question(contract, row) in asked))


def _question(contract: Contract, row: Transition) -> str:
    return contract.transitions.illegal(row.event).of.name


def _of_last_transition(contract: Contract, fired: Sequence[str]) -> Ids:
    rows = {row.key: row.requirements for row in contract.transitions.rows}
    return next((rows[name] for name in reversed(fired) if name in rows), ())


def _of_last_row(contract: Contract, fired: Sequence[str]) -> Ids:
    """The last row taken of a table that decides what becomes of the record."""
    rows = {
        table.row_key(index): row.requirements
        for table in contract.tables
        if table.unit in ("decision", "outcome")
        for index, row in enumerate(table.rows)
    }
    return next((rows[name] for name in reversed(fired) if name in rows), ())


# Checks and effects --------------------------------------------------------------------------------------------------


def _around(decision: Decision) -> tuple[tuple[Check, ...], Check | None, tuple[Check, ...]]:
    """The deciding check, with those before and those after it."""
    checks, keys = checks_of(decision.operation), check_keys(decision.operation)
    if decision.rule not in keys:
        return checks, None, ()
    place = keys.index(decision.rule)
    return checks[:place], checks[place], checks[place + 1 :]


def _refuses(check: Check, code: str | None) -> bool:
    if not isinstance(check, Refuse):
        return False
    codes = check.code.options if isinstance(check.code, Choice) else (check.code,)
    return code in {str(each) for each in codes}


def _order_of(decision: Decision, check: Check) -> Ids:
    order = decision.operation.order if isinstance(decision.operation, Operation) else ()
    return (*getattr(check, "order", ()), *order)


def _of_replies(checks: Iterable[Check]) -> Ids:
    return tuple(i for check in checks if isinstance(check, Reply) for i in check.requirements)


@cache
def _effects_of(contract: Contract) -> tuple[Effect, ...]:
    steps = (step for operation in contract.operations for step in walk_steps(steps_of(operation)))
    return tuple(dict.fromkeys(step for step in steps if isinstance(step, Effect)))


def _writes(contract: Contract, effect: Effect, member: str) -> bool:
    return member in {contract.shown_as.get(name, name) for name in effect.writes}


def _values(details: Any) -> list[Any]:
    return list(details.values()) if isinstance(details, Mapping) else []


def _text(contract: Contract, identifier: str) -> str:
    return contract.catalogue[identifier].text if identifier in contract.catalogue else ""


def unique(*groups: Iterable[str]) -> Ids:
    return tuple(dict.fromkeys(i for group in groups for i in group))
