"""The rules of a machine for Hypothesis: sources as strategies, and the class that it drives."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from workcert.machines.rules import Rule, rules_of
from workcert.machines.sources import Asked, Each, Either, Made, Offered, OneOf, Several, Shuffled, Source

if TYPE_CHECKING:
    from workcert.run.campaign import Campaign


def strategy(source: Source) -> st.SearchStrategy[Any]:
    """The strategy of a source, made once: Hypothesis keeps what it has found out about one."""
    return _strategy(cast(Hashable, source))


@cache
def _strategy(source: Hashable) -> st.SearchStrategy[Any]:
    match source:
        case OneOf(values=values):
            return st.sampled_from(values)
        case Offered(method=method, arguments=arguments):
            return st.runner().flatmap(lambda machine: st.sampled_from(getattr(machine, method)(*arguments)))
        case Several(of=inner, least=least, most=most):
            return st.lists(strategy(inner), min_size=least, max_size=most)
        case Each(sources=sources):
            return st.tuples(*map(strategy, sources))
        case Either(sources=sources):
            return st.one_of(*map(strategy, sources))
        case Made(of=inner, make=make):
            return strategy(inner).map(make)
        case Shuffled(values=values):
            return st.permutations(values)
        case Asked(source=asked):
            return st.runner().flatmap(lambda machine: strategy(asked(machine)))
    raise AssertionError(f"unknown source {source!r}")


def machine_of(history: type[Any], campaign: Campaign) -> type[RuleBasedStateMachine]:
    """The class that Hypothesis drives, bound to a campaign."""
    return type(history.__name__, (_driven(cast(Hashable, history)),), {"campaign": campaign})


@cache
def _driven(history: Hashable) -> type[RuleBasedStateMachine]:
    machine = cast("type[Any]", history)
    members = {each.name: _for_hypothesis(each) for each in rules_of(machine)}
    return type(machine.__name__, (machine, RuleBasedStateMachine), members)


def _for_hypothesis(each: Rule) -> Any:
    # Their overloads know of no strategies by computed names.
    begins: Any = initialize
    goes_on: Any = rule
    strategies = {name: strategy(source) for name, source in each.sources.items()}
    if each.first:
        return begins(**strategies)(each.make)
    return precondition(each.may)(goes_on(**strategies)(each.make))
