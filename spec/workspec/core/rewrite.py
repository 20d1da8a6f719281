"""A contract with some of its steps or checks replaced: for lints that watch rules run, and for faults on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from attrs import evolve

from workspec.core.condition import Any_, Comparison, Condition, Every, Member, Not, Term
from workspec.core.contract import Contract
from workspec.core.rule import (
    AnyOperation,
    Batch,
    Check,
    DecisionTable,
    Draw,
    Effect,
    Evidence,
    Move,
    On,
    Operation,
    Procedure,
    Reply,
    Step,
    TableRow,
    Transition,
    TransitionTable,
    When,
)

AnyCheck = TypeVar("AnyCheck", bound=Check)
Block: TypeAlias = "Callable[[tuple[Step, ...]], tuple[Step, ...]]"
"""Rewrites the steps of an operation, or those that one check commits."""
Asked: TypeAlias = "Callable[[Check], Check]"
Leaf: TypeAlias = "Comparison | Member"


def rewritten(contract: Contract, *, block: Block = lambda steps: steps, check: Asked = lambda c: c) -> Contract:
    """The contract with every block of steps and every check passed through these."""
    operations = tuple(_operation(operation, block, check) for operation in contract.operations)
    return evolve(contract, operations=operations)


def each_step(steps: tuple[Step, ...], change: Callable[[Effect | Move], tuple[Step, ...]]) -> tuple[Step, ...]:
    """Steps with each effect and each move replaced, those inside conditions and procedures included."""
    result: list[Step] = []
    for step in steps:
        if isinstance(step, When | Procedure | On):
            result.append(evolve(step, steps=each_step(step.steps, change)))
        else:
            result.extend(change(step))
    return tuple(result)


def _operation(operation: AnyOperation, block: Block, check: Asked) -> AnyOperation:
    checks = _checks(operation.checks, block, check)
    steps = block(operation.steps)
    if isinstance(operation, Operation):
        return evolve(operation, checks=checks, steps=steps)
    if isinstance(operation, Batch):
        phases = tuple(evolve(phase, checks=_checks(phase.checks, block, check)) for phase in operation.phases)
        return evolve(operation, checks=checks, phases=phases, steps=steps)
    assert isinstance(operation, Draw)
    gate, closing = _checks(operation.gate, block, check), block(operation.closing)
    return evolve(operation, checks=checks, gate=gate, steps=steps, closing=closing)


def _checks(checks: tuple[AnyCheck, ...], block: Block, check: Asked) -> tuple[AnyCheck, ...]:
    return tuple(
        check(one) if isinstance(one, Reply) else check(evolve(one, committing=block(one.committing)))  # type: ignore[misc]
        for one in checks
    )


class Mapped:
    """A contract whose conditions, tables and transitions are made anew with some of their parts replaced."""

    def __init__(
        self,
        contract: Contract,
        *,
        terms: Mapping[Term, Term] | None = None,
        leaf: Callable[[Leaf], Condition] = lambda leaf: leaf,
        only: tuple[str, ...] = (),
        rows: Mapping[str, Callable[[tuple[TableRow, ...]], tuple[TableRow, ...]]] | None = None,
        transitions: tuple[Transition, ...] | None = None,
    ) -> None:
        self.contract, self.terms, self.leaf, self.only = contract, dict(terms or {}), leaf, only
        self.asked = frozenset(self.terms)
        self.hits = 0
        self.tables = tuple(self._table(table, (rows or {}).get(table.name)) for table in contract.tables)
        self.transitions = TransitionTable(
            tuple(evolve(row, guard=self.condition(row.guard)) for row in transitions or contract.transitions.rows)
        )
        old, new = contract.transitions, self.transitions
        self.illegal = {old.illegal(event).of.name: new.illegal(event) for event in old.events()}
        self.hits += bool(rows) + bool(transitions)

    def result(self) -> Contract:
        mapped = rewritten(self.contract, block=self.steps, check=lambda c: evolve(c, when=self.condition(c.when)))
        operations = tuple(
            self._beside(new) if not self.only or new.name in self.only else old
            for old, new in zip(self.contract.operations, mapped.operations, strict=True)
        )
        assert self.hits, "nothing was replaced"
        tables, transitions = self.tables, self.transitions
        return evolve(self.contract, operations=operations, tables=tables, transitions=transitions)

    def _beside(self, operation: AnyOperation) -> AnyOperation:
        """What an operation asks beside its checks and steps."""
        if isinstance(operation, Draw):
            return evolve(operation, until=self.condition(operation.until))
        if isinstance(operation, Operation) and operation.tells:
            return evolve(operation, tells=tuple(map(self.term, operation.tells)))
        return operation

    def term(self, term: Term) -> Term:
        self.hits += term in self.asked
        return self.terms.get(term, term)

    def condition(self, condition: Condition) -> Condition:
        match condition:
            case Comparison(left=left, relation=relation, right=right):
                return self._leaf(Comparison(self.term(left), relation, self.term(right)))
            case Member(of=of, values=values):
                illegal = getattr(self, "illegal", {}).get(of.name)
                return self._leaf(Member(self.term(of), values)) if illegal is None else illegal
            case Not(part=part):
                return Not(self.condition(part))
            case Every(parts=parts):
                return Every(tuple(self.condition(part) for part in parts))
            case Any_(parts=parts):
                return Any_(tuple(self.condition(part) for part in parts))
        raise AssertionError(condition)

    def _leaf(self, leaf: Leaf) -> Condition:
        found = self.leaf(leaf)
        self.hits += found is not leaf
        return found

    def _table(
        self, table: DecisionTable, change: Callable[[tuple[TableRow, ...]], tuple[TableRow, ...]] | None
    ) -> DecisionTable:
        rows = tuple(evolve(row, when=self.condition(row.when)) for row in table.rows)
        found = evolve(table, rows=rows if change is None else change(rows))
        self.terms[table.term] = found.term
        return found

    def steps(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(self._step(step) for step in steps)

    def _step(self, step: Step) -> Step:
        match step:
            case When(condition=condition, steps=inner):
                return When(self.condition(condition), self.steps(inner))
            case Procedure(steps=inner) | On(steps=inner):
                return evolve(step, steps=self.steps(inner))
            case Move(actor=actor, evidence=evidence):
                told = tuple(Evidence(item.key, self.term(item.value)) for item in evidence)
                return evolve(step, actor=self.term(actor) if isinstance(actor, Term) else actor, evidence=told)
        return step
