"""Refusals that are as right as the one that the rules come to first, because the contract leaves the order open."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Final

from workspec.core.outcome import Decision, keys_of_checks
from workspec.core.rule import Check, Refuse

ARGUMENTS: Final = frozenset({"call"})


def other_orders(first: Decision, decide_without: Callable[[Container[str]], Decision]) -> Iterator[Decision]:
    """Every other refusal that is right where this decision is.

    A check whose place is not asserted may stand behind those that follow it; and where it asks for nothing but the
    arguments, before all others too: many a store looks at them before it reads anything.

    Args:
        first: the decision of the rules as they stand.
        decide_without: decides the same call with the checks of these keys left out.
    """
    yield from _later(first, decide_without)
    checks = first.operation.checks
    keys = keys_of_checks(first.operation)[: len(checks)]
    for position, (check, key) in enumerate(zip(checks, keys, strict=True)):
        if may_come_first(check) and key != first.rule:
            earlier = decide_without(frozenset(keys[:position]))
            if earlier.rule == key:
                yield earlier


def _later(decision: Decision, decide_without: Callable[[Container[str]], Decision]) -> Iterator[Decision]:
    without: set[str] = set()
    while decision.rule is not None and decision.unordered:
        without.add(decision.rule)
        decision = decide_without(frozenset(without))
        if decision.rule is not None:
            yield decision


def may_come_first(check: Check) -> bool:
    """Its place is not asserted, and it asks for nothing but the arguments."""
    return isinstance(check, Refuse) and check.unordered and check.when.sources() <= ARGUMENTS
