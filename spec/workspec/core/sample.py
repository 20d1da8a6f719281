"""Samples of what a contract decides: bounded random walks over the model.

They feed the checks of a specification that only show when its rules run (`workspec.core.lint`). Where randomness
comes from is the caller's business: ``pick`` chooses one of a sequence, so that a seed repeats a walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from workspec.core.choice import Chooser, reference
from workspec.core.contract import Contract
from workspec.core.interpreter import apply, instants
from workspec.core.record import Record, State
from workspec.core.scope import Call

Pick: TypeAlias = "Callable[[Sequence[Any]], Any]"
Propose: TypeAlias = "Callable[[State, int, Pick], Call]"
"""From a committed state and an instant to a call worth trying on it."""


@frozen(eq=False)
class Sample:
    """A call on a committed state at an instant."""

    state: State
    call: Call
    now: int


def walk(
    contract: Contract,
    propose: Propose,
    pick: Pick,
    *,
    walks: int,
    steps: int,
    start: Mapping[str, Record] | None = None,
    choose: Chooser = reference,
) -> Iterator[Sample]:
    """``walks`` walks of ``steps`` calls each, every one from ``start``; time never goes back within a walk."""
    for _ in range(walks):
        state: State = dict(start or {})
        now = 0
        for _ in range(steps):
            now = pick(_next_instants(contract, state, now, pick))
            call = propose(state, now, pick)
            sample = Sample(state, call, contract.instant(call, now))
            yield sample
            state = apply(contract, state, call, sample.now, choose).state


def _next_instants(contract: Contract, state: State, now: int, pick: Pick) -> tuple[int, ...]:
    """Now more often than not; else a second later, or an instant at which a rule turns and the one before it."""
    bounds: tuple[int, ...] = ()
    if state:
        record = state[pick(sorted(state))]
        bounds = tuple(i - back for i in instants(contract, record, now) for back in (1, 0) if i - back > now)
    return (now,) * (4 * len(bounds) + 4) + (now + 1,) + bounds
