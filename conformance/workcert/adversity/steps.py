"""What the parts that take a step of a case for themselves have in common."""

from __future__ import annotations

import attrs

from workcert.binding import Binding
from workcert.cases.model import Call, Transaction
from workspec.core.rule import checks_of


def requirements_of(binding: Binding, operation: str) -> frozenset[str]:
    """What calls of this operation come to; one with several outcomes is an operation for each. Nothing for what is no
    call: opening a store, or a transaction."""
    own = [each for each in binding.contract.operations if each.name.split()[0] == operation]
    parts = [part for each in own for part in (each, *checks_of(each), *each.steps)]
    return frozenset(each for part in parts for each in getattr(part, "requirements", ()))


def renamed(step: Call | Transaction, suffix: str) -> Call | Transaction:
    """The step under other ids: what comes after it refers to the answer of the call that is made as it should be."""
    name = f"{step.id}_{suffix}"
    if isinstance(step, Call):
        return attrs.evolve(step, id=name)
    calls = tuple(attrs.evolve(call, id=f"{call.id}_{suffix}") for call in step.calls)
    return attrs.evolve(step, id=name, calls=calls, after=())


def slug(name: str) -> str:
    """The name as a part of the name of a case."""
    return name.replace(", ", "-").replace(" ", "-").replace("_", "-").lower()
