"""What a store must claim before a call can be made of it, and be judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final

from attrs import define, field, frozen

from workcert.binding import Binding
from workcert.search.watched import whole
from workspec.core.contract import Contract, steps_of
from workspec.core.interpreter import Committed
from workspec.core.requirement import Kind
from workspec.core.rule import Effect, check_keys, checks_of, walk_steps
from workspec.core.scope import Call

CORE: Final = "CORE"
MADE: Final = "*"
"""Among what an effect writes: it makes the record."""


@frozen
class _Rule:
    """``writes``: of an effect, else None."""

    profile: str
    writes: tuple[str, ...] | None


def profiles_needed(
    binding: Binding, call: Call, before: Any, done: Committed, changed: Collection[str]
) -> frozenset[str]:
    """What a store must claim for a call to be made of it: the profile of its method, those of what its arguments ask
    for, and those of every rule that acted. An effect that left all as it was asks for nothing: no store shows it.

    Args:
        binding: the contract and what the kit knows of it.
        call: the call.
        before: the state that it was made on.
        done: what became of it.
        changed: keys of the records that are no longer the same.
    """
    rules = _rules(binding.contract)
    acted = (rules[key] for key in done.decision.trace.fired if key in rules)
    found = {rule.profile for rule in acted if rule.writes is None or _wrote(rule.writes, before, done, changed)}
    return frozenset(found | {_methods(binding).get(call.name, CORE)} | binding.asked_by(call)) - {CORE}


def _wrote(writes: tuple[str, ...], before: Any, done: Committed, changed: Collection[str]) -> bool:
    if MADE in writes or any(name.startswith("log") for name in writes):
        return True
    # In a fixed order, as a search notes what is read here.
    return any(
        getattr(old, name, None) != getattr(new, name, None)
        for old, new in (_facts(before, done, key) for key in sorted(changed))
        for name in writes
    )


def _facts(before: Any, done: Committed, key: str) -> tuple[Any, Any]:
    old, new = whole(before.get(key)), done.state.get(key)
    return None if old is None else old.facts, None if new is None else new.facts


@cache
def _methods(binding: Binding) -> Mapping[str, str]:
    """By the name of a method the profile that brings it."""
    return {name: profile for profile, names in binding.profile_methods.items() for name in names}


@cache
def _rules(contract: Contract) -> Mapping[str, _Rule]:
    """Every check, row and effect that belongs to a profile beside CORE, by its key. A rule belongs to the profile of
    the requirement that it names first: that is what it is there for, the others tell what it has to agree with.

    Invariants do not count: their profile says who can see that they hold, and every store keeps them."""
    return {key: rule for key, rule in _all_rules(contract) if rule.profile != CORE}


def _all_rules(contract: Contract) -> Iterator[tuple[str, _Rule]]:
    for row in contract.transitions.rows:
        yield row.key, _Rule(_profile(contract, row.requirements), None)
    for operation in contract.operations:
        for key, check in zip(check_keys(operation), checks_of(operation), strict=True):
            yield key, _Rule(_profile(contract, check.requirements), None)
        for step in walk_steps(steps_of(operation)):
            if isinstance(step, Effect):
                yield step.name, _Rule(_profile(contract, step.requirements), step.writes)


def _profile(contract: Contract, requirements: tuple[str, ...]) -> str:
    known = (contract.catalogue[each] for each in requirements if each in contract.catalogue)
    return next((each.profile for each in known if each.kind is not Kind.INVARIANT), CORE)


@define(eq=False)
class Needs:
    """Sets of profiles as numbers with a bit for each, so that a search can join and compare them. Without a binding
    nothing needs anything."""

    binding: Binding | None = None
    bits: dict[str, int] = field(factory=dict)

    def of(self, call: Call, before: Any, done: Committed, changed: Collection[str]) -> int:
        if self.binding is None:
            return 0
        found = 0
        for profile in sorted(profiles_needed(self.binding, call, before, done, changed)):
            found |= self.bits.setdefault(profile, 1 << len(self.bits))
        return found

    def names(self, needs: int) -> frozenset[str]:
        return frozenset(name for name, bit in self.bits.items() if needs & bit)


def covers(needs: int, other: int) -> bool:
    """Whoever has the first has the second."""
    return needs | other == needs
