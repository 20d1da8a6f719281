"""What holds of every call of the workload contract across the whole store (10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from workspec.core.choice import reference
from workspec.core.configuration import Law, Taken
from workspec.core.interpreter import Accepted
from workspec.core.rule import Batch
from workspec.core.scope import Scope, Trace
from workspec.workload.tables import deadline_passed


def _nothing_passed_is_left(taken: Taken, keys: Iterable[str]) -> bool:
    after = taken.done.state
    scopes = (
        Scope(taken.now, {}, after, key, after[key].facts, after[key].facts, reference, Trace())
        for key in keys
        if key in after
    )
    return not any(deadline_passed.decide(scope) for scope in scopes)


def _others_stay(taken: Taken, _keys: Iterable[str]) -> bool:
    if not taken.changed or isinstance(taken.contract.operation(taken.call.name), Batch):
        return True
    return taken.changed <= {taken.done.decision.scope.key}


def _versions_move_with_writes(taken: Taken, _keys: Iterable[str]) -> bool:
    """A renewed lease moves the version and adds no event; a replay moves nothing."""
    before, after = taken.before, taken.done.state
    if not isinstance(taken.done.outcome, Accepted):
        return True
    if taken.done.decision.rule is not None:
        return not taken.changed
    if taken.call.name == "heartbeat":
        key = taken.call.arguments["workload_id"]
        return after[key].version != before[key].version and after[key].log == before[key].log
    return True


LAWS: Final = (
    Law("WRK-INV-11", "a heartbeat moves the version alone; a replay moves nothing", _versions_move_with_writes),
    Law("WRK-INV-13", "after a deadline pass no deadline is passed", _nothing_passed_is_left, ("enforce_deadlines",)),
    Law("WRK-INV-15", "a call on one workload changes no other", _others_stay),
)
