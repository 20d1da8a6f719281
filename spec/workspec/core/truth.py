"""Truth assignments: can these conditions hold while those do not, whatever the record and the call are?

A comparison of two terms is one variable: below, at, above, or absent. A term that is compared with numbers, or asked
for named values, is one variable: those numbers and their neighbours, those values, or another one. Terms are told
apart by their names.

Known limit: variables are taken as independent. ``a < b`` and ``b < c`` do not make ``a < c``, and a term written
in two ways is two terms. So "never" is certain and "possibly" is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from workspec.core.condition import (
    ABOVE,
    ABSENT,
    AT,
    BELOW,
    Any_,
    Comparison,
    Condition,
    Every,
    Member,
    Not,
    Term,
)

Domains: TypeAlias = "Mapping[str, Sequence[Any]]"
"""By the name of a term, or of two compared terms, the values that it may have."""
Assignment: TypeAlias = "dict[str, Any]"

SIDES = (BELOW, AT, ABOVE, ABSENT)
_SWAPPED = {BELOW: ABOVE, ABOVE: BELOW, AT: AT, ABSENT: ABSENT}
_HOLDS_ON = {"<": (BELOW,), "<=": (BELOW, AT), ">": (ABOVE,), ">=": (ABOVE, AT), "=": (AT,), "!=": (BELOW, ABOVE)}


class _Another:
    """A value other than those that the conditions name."""

    def __repr__(self) -> str:
        return "another"


ANOTHER = _Another()


def satisfying(
    true: Sequence[Condition], false: Sequence[Condition], known: Domains | None = None
) -> Assignment | None:
    """An assignment under which all of ``true`` and none of ``false`` hold, or None if there is none.

    ``known`` narrows what single terms may be.
    """
    domains = {**domains_of((*true, *false)), **(known or {})}
    wanted = [(condition, True) for condition in true] + [(condition, False) for condition in false]
    return _search(wanted, domains, {})


def _search(wanted: list[tuple[Condition, bool]], domains: Domains, given: Assignment) -> Assignment | None:
    open_ones = []
    for condition, value in wanted:
        found = evaluate(condition, given)
        if found is None:
            open_ones.append((condition, value))
        elif found != value:
            return None
    if not open_ones:
        return given
    variable = next(name for leaf in open_ones[0][0].leaves() if (name := variable_of(leaf)) not in given)
    for choice in domains[variable]:
        solution = _search(open_ones, domains, {**given, variable: choice})
        if solution is not None:
            return solution
    return None


def domains_of(conditions: Iterable[Condition]) -> dict[str, tuple[Any, ...]]:
    """Every variable of these conditions with the values worth telling apart."""
    domains: dict[str, list[Any]] = {}
    for condition in conditions:
        for leaf in condition.leaves():
            values = domains.setdefault(variable_of(leaf), [])
            values.extend(value for value in _values_of(leaf) if value not in values)
    return {name: tuple(values) for name, values in domains.items()}


def variable_of(leaf: Comparison | Member) -> str:
    if isinstance(leaf, Member):
        return leaf.of.name
    numbered = _against_number(leaf)
    return " / ".join(sorted(term.name for term in leaf.terms)) if numbered is None else numbered[0]


def _values_of(leaf: Comparison | Member) -> tuple[Any, ...]:
    if isinstance(leaf, Member):
        return (True, False) if leaf.of.unit == "flag" else (*leaf.values, ANOTHER)
    numbered = _against_number(leaf)
    if numbered is None:
        return SIDES
    number = numbered[1]
    return (number - 1, number, number + 1, None)


def _against_number(leaf: Comparison) -> tuple[str, int] | None:
    """The term's name and the number, where one side is a constant that is called by its number."""
    for term, other in (leaf.terms, leaf.terms[::-1]):
        number = _number(term)
        if number is not None:
            return other.name, number
    return None


def _number(term: Term) -> int | None:
    decimal = term.source == "constant" and term.name.removeprefix("-").isdecimal()
    return int(term.name) if decimal else None


def evaluate(condition: Condition, given: Assignment) -> bool | None:
    """The value of a condition where some variables have values; None where it is still open."""
    if isinstance(condition, Not):
        part = evaluate(condition.part, given)
        return None if part is None else not part
    if isinstance(condition, Every | Any_):
        decisive = isinstance(condition, Any_)
        parts = [evaluate(part, given) for part in condition.parts]
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    assert isinstance(condition, Comparison | Member)
    variable = variable_of(condition)
    return _leaf_holds(condition, given[variable]) if variable in given else None


def _leaf_holds(leaf: Comparison | Member, value: Any) -> bool:
    if isinstance(leaf, Member):
        return value in leaf.values
    if _against_number(leaf) is not None:
        if not isinstance(value, int):
            return False
        left, right = (value if (number := _number(term)) is None else number for term in leaf.terms)
        return Comparison.RELATIONS[leaf.relation](left, right)
    forwards = leaf.left.name <= leaf.right.name
    return (value if forwards else _SWAPPED[value]) in _HOLDS_ON[leaf.relation]


def told(assignment: Assignment) -> str:
    """An assignment for people."""
    return ", ".join(f"{name}: {value}" for name, value in assignment.items()) or "always"
