"""Contracts with one place changed: every check, step and leaf of a condition in turn, each as a new contract.

Rules are shared between operations (the checks of a fence, the procedures of a failure). A fault lies in one of them
only, as it would in a store, so places are counted by operation and not by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from attrs import evolve, frozen

from workspec.core.condition import Any_, Comparison, Condition, Every, Member, Not
from workspec.core.contract import Contract
from workspec.core.outcome import keys_of_checks
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
Put: TypeAlias = "Callable[[Any], Any]"
"""From what is to stand in a place to the whole with it there."""


def with_operation(contract: Contract, changed: AnyOperation) -> Contract:
    """The contract with the operation of this name replaced."""
    operations = tuple(changed if each.name == changed.name else each for each in contract.operations)
    return evolve(contract, operations=operations)


def check_lists(operation: AnyOperation) -> Iterator[tuple[Checks, Put]]:
    """Each run of checks that are asked one after the other, and how to put another in its place."""
    yield operation.checks, _member(operation, "checks")
    if isinstance(operation, Batch):
        for index, phase in enumerate(operation.phases):
            yield phase.checks, partial(_with_phase, operation, index)
    if isinstance(operation, Draw):
        yield operation.gate, _member(operation, "gate")


def keyed_check_lists(operation: AnyOperation) -> Iterator[tuple[Checks, tuple[str, ...], Put]]:
    """The same, with the key of each check."""
    keys = iter(keys_of_checks(operation))
    for checks, put in check_lists(operation):
        yield checks, tuple(islice(keys, len(checks))), put


def _member(rule: Any, name: str) -> Put:
    return lambda value: evolve(rule, **{name: value})


def _with_phase(operation: Batch, index: int, checks: Any) -> Batch:
    phases = list(operation.phases)
    phases[index] = evolve(phases[index], checks=checks)
    return evolve(operation, phases=tuple(phases))


def blocks(operation: AnyOperation) -> Iterator[tuple[Steps, Put]]:
    """Each block of steps, those that a check commits included, and how to put another in its place."""
    yield operation.steps, _member(operation, "steps")
    if isinstance(operation, Draw) and operation.closing:
        yield operation.closing, _member(operation, "closing")
    for checks, put in check_lists(operation):
        for index, check in enumerate(checks):
            if not isinstance(check, Reply) and check.committing:
                yield check.committing, after(_member(check, "committing"), _at(checks, index), put)


def after(*puts: Put) -> Put:
    """One after the other: from the innermost place to the whole."""

    def put(value: Any) -> Any:
        for each in puts:
            value = each(value)
        return value

    return put


def _at(items: Sequence[Any], index: int) -> Put:
    return lambda instead: replaced_at(items, index, instead)


def replaced_at(items: Sequence[Any], index: int, *instead: Any) -> tuple[Any, ...]:
    return (*items[:index], *instead, *items[index + 1 :])


def each_step(steps: Steps) -> Iterator[tuple[Step, Put]]:
    """Every step, nested ones too, with what puts a block of others (none, for one) in its place."""
    for index, step in enumerate(steps):
        yield step, partial(_spliced, steps, index)
        if isinstance(step, When | Procedure | On):
            for inner, put in each_step(step.steps):
                yield inner, after(put, _member(step, "steps"), _at(steps, index))


def _spliced(steps: Steps, index: int, instead: Steps) -> Steps:
    return replaced_at(steps, index, *instead)


def each_leaf(condition: Condition) -> Iterator[tuple[Comparison | Member, Put]]:
    """Every comparison and membership of a condition, with what puts another in its place."""
    match condition:
        case Comparison() | Member():
            yield condition, lambda instead: instead
        case Not(part=part):
            for leaf, put in each_leaf(part):
                yield leaf, after(put, Not)
        case Every(parts=parts) | Any_(parts=parts):
            for index, part in enumerate(parts):
                for leaf, put in each_leaf(part):
                    yield leaf, after(put, _at(parts, index), type(condition))


@frozen(eq=False)
class Asked:
    """A condition that an operation asks: by what in words, by which rule, under which key where that is a check, and
    how to put another in its place."""

    by: str
    rule: Any
    condition: Condition
    put: Put
    key: str = ""


def each_condition(operation: AnyOperation) -> Iterator[Asked]:
    """Every condition that an operation asks."""
    for checks, keys, put in keyed_check_lists(operation):
        for index, (check, key) in enumerate(zip(checks, keys, strict=True)):
            whole = after(_member(check, "when"), _at(checks, index), put)
            yield Asked(" ".join(check.requirements), check, check.when, whole, key)
    for steps, put_block in blocks(operation):
        for step, put_step in each_step(steps):
            if isinstance(step, When):
                whole = after(_member(step, "condition"), _alone, put_step, put_block)
                yield Asked("when", step, step.condition, whole)
    if isinstance(operation, Draw):
        yield Asked("until", operation, operation.until, _member(operation, "until"))


def _alone(step: Step) -> Steps:
    return (step,)


def events_of(operation: AnyOperation) -> frozenset[str]:
    """The events that an operation can move by."""
    return frozenset(
        step.event for steps, _ in blocks(operation) for step, _put in each_step(steps) if isinstance(step, Move)
    )


def ids_of(steps: Steps) -> tuple[str, ...]:
    """The requirements of the effects and moves among steps, nested ones too."""
    found = (step for step, _put in each_step(steps) if isinstance(step, Effect | Move))
    return tuple(dict.fromkeys(identifier for step in found for identifier in step.requirements))
