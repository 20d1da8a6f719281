"""A contract with some of its steps or checks replaced: for lints that watch rules run, and for faults on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from attrs import evolve

from workspec.core.contract import Contract
from workspec.core.rule import (
    AnyOperation,
    Batch,
    Check,
    Draw,
    Effect,
    Move,
    On,
    Operation,
    Procedure,
    Reply,
    Step,
    When,
)

AnyCheck = TypeVar("AnyCheck", bound=Check)
Block: TypeAlias = "Callable[[tuple[Step, ...]], tuple[Step, ...]]"
"""Rewrites the steps of an operation, or those that one check commits."""
Asked: TypeAlias = "Callable[[Check], Check]"


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
