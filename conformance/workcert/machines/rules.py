"""Rules of a machine as data: what it may do next, when, and with which arguments. A driver chooses among them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from attrs import frozen

from workcert.machines.sources import Source

Function = TypeVar("Function", bound=Callable[..., None])
_RULE, _CONDITION, _SELDOM = "_workcert_rule", "_workcert_condition", "_workcert_seldom"


@frozen(eq=False)
class Rule:
    """``make`` is the method, with the machine for its first argument; ``first``: it begins every example; ``seldom``:
    it takes as long as a hundred others."""

    name: str
    make: Callable[..., None]
    sources: Mapping[str, Source]
    may: Callable[[Any], bool]
    first: bool
    seldom: bool

    def run(self, machine: Any, random: Any) -> None:
        """Make it once with arguments drawn by a plain random number generator."""
        self.make(machine, **{name: source.pick(machine, random) for name, source in self.sources.items()})


def rule(**sources: Source) -> Callable[[Function], Function]:
    """Marks a method that a driver may call with a value of each source."""
    return _marked(_RULE, (sources, False))


def initialize(**sources: Source) -> Callable[[Function], Function]:
    """Marks the method that begins every example."""
    return _marked(_RULE, (sources, True))


def precondition(may: Callable[[Any], bool]) -> Callable[[Function], Function]:
    """Says when a rule may be chosen."""
    return _marked(_CONDITION, may)


def seldom(function: Function) -> Function:
    """Marks a rule that takes as long as a hundred others, and shows the same thing each time."""
    return _marked(_SELDOM, True)(function)


def _marked(mark: str, value: Any) -> Callable[[Function], Function]:
    def marked(function: Function) -> Function:
        setattr(function, mark, value)
        return function

    return marked


def rules_of(machine: type[Any]) -> tuple[Rule, ...]:
    """Every rule of a class of machines and of those that it derives from, in the order of their names."""
    return _rules_of(cast(Hashable, machine))


@cache
def _rules_of(machine: Hashable) -> tuple[Rule, ...]:
    found = (
        (name, function, getattr(function, _RULE))
        for name, function in inspect.getmembers(machine, inspect.isfunction)
        if hasattr(function, _RULE)
    )
    return tuple(
        Rule(name, function, sources, getattr(function, _CONDITION, _always), first, hasattr(function, _SELDOM))
        for name, function, (sources, first) in found
    )


def _always(_machine: Any) -> bool:
    return True
