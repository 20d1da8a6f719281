"""Contracts with one place changed: every check, step and leaf of a condition in turn, each as a new contract.

Rules are shared between operations (the checks of a fence, the procedures of a failure). A fault lies in one of them
only, as it would in a store, so places are counted by operation and not by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from attrs import evolve

from workspec.core.condition import Any_, Comparison, Condition, Every, Member, Not
from workspec.core.contract import Contract
from workspec.core.rule import (
    AnyOperation,
    Batch,
    Check,
    Draw,
    Effect,
    Move,
    On,
    Procedure,
    Reply,
    Step,
    When,
)

Checks: TypeAlias = "tuple[Check, ...]"
Steps: TypeAlias = "tuple[Step, ...]"


def with_operation(contract: Contract, changed: AnyOperation) -> Contract:
    """The contract with the operation of this name replaced."""
    operations = tuple(changed if each.name == changed.name else each for each in contract.operations)
    return evolve(contract, operations=operations)


def check_lists(operation: AnyOperation) -> Iterator[tuple[Checks, Callable[[Any], AnyOperation]]]:
    """Each run of checks that are asked one after the other, and how to put another in its place."""
    yield operation.checks, lambda checks: evolve(operation, checks=checks)
    if isinstance(operation, Batch):
        for index, phase in enumerate(operation.phases):
            yield phase.checks, lambda checks, index=index: _with_phase(operation, index, checks)
    if isinstance(operation, Draw):
        yield operation.gate, lambda checks: evolve(operation, gate=checks)


def _with_phase(operation: Batch, index: int, checks: Any) -> Batch:
    phases = list(operation.phases)
    phases[index] = evolve(phases[index], checks=checks)
    return evolve(operation, phases=tuple(phases))


def blocks(operation: AnyOperation) -> Iterator[tuple[Steps, Callable[[Steps], AnyOperation]]]:
    """Each block of steps, those that a check commits included, and how to put another in its place."""
    yield operation.steps, lambda steps: evolve(operation, steps=steps)
    if isinstance(operation, Draw) and operation.closing:
        yield operation.closing, lambda steps: evolve(operation, closing=steps)
    for checks, put in check_lists(operation):
        for index, check in enumerate(checks):
            if not isinstance(check, Reply) and check.committing:
                yield (
                    check.committing,
                    lambda steps, put=put, checks=checks, index=index, check=check: put(
                        replaced_at(checks, index, evolve(check, committing=steps))
                    ),
                )


def replaced_at(items: Sequence[Any], index: int, *instead: Any) -> tuple[Any, ...]:
    return (*items[:index], *instead, *items[index + 1 :])


def each_step(steps: Steps) -> Iterator[tuple[Step, Callable[..., Steps]]]:
    """Every step, nested ones too, with what puts others in its place."""
    for index, step in enumerate(steps):
        yield step, lambda *instead, index=index: replaced_at(steps, index, *instead)
        if isinstance(step, When | Procedure | On):
            for inner, put in each_step(step.steps):
                yield (
                    inner,
                    lambda *instead, index=index, step=step, put=put: replaced_at(
                        steps, index, evolve(step, steps=put(*instead))
                    ),
                )


def each_leaf(condition: Condition) -> Iterator[tuple[Comparison | Member, Callable[[Condition], Condition]]]:
    """Every comparison and membership of a condition, with what puts another in its place."""
    match condition:
        case Comparison() | Member():
            yield condition, lambda instead: instead
        case Not(part=part):
            for leaf, put in each_leaf(part):
                yield leaf, lambda instead, put=put: Not(put(instead))
        case Every(parts=parts) | Any_(parts=parts):
            for index, part in enumerate(parts):
                for leaf, put in each_leaf(part):
                    yield (
                        leaf,
                        lambda instead, index=index, put=put: type(condition)(replaced_at(parts, index, put(instead))),
                    )


def each_condition(operation: AnyOperation) -> Iterator[tuple[str, Any, Condition, Callable[[Any], AnyOperation]]]:
    """Every condition that an operation asks: what asks it in words, the rule, the condition, how to put another."""
    for checks, put in check_lists(operation):
        for index, check in enumerate(checks):
            yield (
                " ".join(check.requirements),
                check,
                check.when,
                lambda when, put=put, checks=checks, index=index, check=check: put(
                    replaced_at(checks, index, evolve(check, when=when))
                ),
            )
    for steps, put_block in blocks(operation):
        for step, put_step in each_step(steps):
            if isinstance(step, When):
                yield (
                    "when",
                    step,
                    step.condition,
                    lambda when, put_block=put_block, put_step=put_step, step=step: put_block(
                        put_step(evolve(step, condition=when))
                    ),
                )
    if isinstance(operation, Draw):
        yield "until", operation, operation.until, lambda when: evolve(operation, until=when)


def events_of(operation: AnyOperation) -> frozenset[str]:
    """The events that an operation can move by."""
    return frozenset(
        step.event for steps, _ in blocks(operation) for step, _put in each_step(steps) if isinstance(step, Move)
    )


def ids_of(steps: Steps) -> tuple[str, ...]:
    """The requirements of the effects and moves among steps, nested ones too."""
    found = (step for step, _put in each_step(steps) if isinstance(step, Effect | Move))
    return tuple(dict.fromkeys(identifier for step in found for identifier in step.requirements))
