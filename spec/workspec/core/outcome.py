"""What the two halves of a call give: a decision, its parts, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any, TypeAlias

from attrs import frozen

from workspec.core.record import Record, State
from workspec.core.rule import AnyOperation, Batch, Check, Draw, check_keys, checks_of
from workspec.core.scope import Scope, Trace

keys_of_checks = cache(check_keys)


@frozen(eq=False)
class Asked:
    """The checks of an operation with their keys: the ``first`` ones, and those of each element, phase by phase."""

    first: tuple[tuple[str, Check], ...]
    of_elements: tuple[tuple[tuple[str, Check], ...], ...]


@cache
def asked_by(operation: AnyOperation) -> Asked:
    """The checks of an operation as a decision asks them."""
    keyed = zip(keys_of_checks(operation), checks_of(operation), strict=True)
    first = tuple(islice(keyed, len(operation.checks)))
    phases = operation.phases if isinstance(operation, Batch) else ()
    of_elements = tuple(tuple(islice(keyed, len(phase.checks))) for phase in phases)
    return Asked(first, (tuple(keyed),) if isinstance(operation, Draw) else of_elements)


@frozen
class Accepted:
    """The call succeeded with this answer."""

    value: Any


@frozen
class Refused:
    """The call was refused; ``details`` is None where the code has none."""

    code: str
    details: Mapping[str, Any] | None = None


Outcome: TypeAlias = "Accepted | Refused"


@frozen(eq=False)
class Change:
    """One record of one commit. ``base`` is what the decision was made on; None on either side means no record."""

    key: str
    base: Record | None
    record: Record | None


@frozen(eq=False)
class Part:
    """What is committed together, and for which element of a batch or draw. ``counts`` is False for what elements
    that were passed over commit all the same: the answer does not name them."""

    element: Any
    changes: tuple[Change, ...]
    counts: bool = True


@frozen(eq=False)
class Decision:
    """What a call does if its guard holds, and why.

    ``outcome`` is None when the answer depends on the commit. ``rule`` is the key of the check that decided, None if
    every check let the call through.
    """

    operation: AnyOperation
    scope: Scope
    outcome: Outcome | None
    parts: tuple[Part, ...]
    rule: str | None = None
    rule_requirements: tuple[str, ...] = ()

    @property
    def unordered(self) -> bool:
        """The place of the check that decided is not asserted."""
        checks = zip(keys_of_checks(self.operation), checks_of(self.operation), strict=True)
        return any(key == self.rule and getattr(check, "unordered", False) for key, check in checks)

    @property
    def trace(self) -> Trace:
        return self.scope.trace


@frozen(eq=False)
class Committed:
    """The state after a commit, what the caller gets, and the keys whose guard was lost."""

    state: State
    outcome: Outcome
    decision: Decision
    lost: tuple[str, ...] = ()
