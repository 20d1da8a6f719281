from typing import Any

import pytest

from workspec.core.choice import reference
from workspec.core.condition import (
    ABOVE,
    ALWAYS,
    AT,
    BELOW,
    NOW,
    Condition,
    Term,
    argument,
    constant,
    flag,
    term,
)
from workspec.core.scope import Scope, Trace


def scope(now_s: int = 0, facts: Any = None, **arguments: Any) -> Scope:
    return Scope(now_s, arguments, {}, None, facts, facts, reference, Trace(), owner="a rule")


@term("due time", unit="s")
def due(scope: Scope) -> int | None:
    return scope.facts


@flag("it rains", source="call")
def rains(scope: Scope) -> bool:
    return bool(scope.call["rain"])


size, limit = argument("size", "items"), argument("limit", "items")


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (size >= limit, "size >= limit"),
        (size < 3, "size < 3"),
        (NOW >= due, "now >= due time"),
        (rains, "it rains"),
        (~rains, "not: it rains"),
        (size.is_("a", "b"), "size in (a, b)"),
        (size.is_(None), "size is absent"),
        (~size.is_(None), "size is not absent"),
        (~size.is_("a", "b"), "size not in (a, b)"),
        (~(size >= limit), "not (size >= limit)"),
        (rains & (size > 1), "it rains and size > 1"),
        (rains | (size > 1), "it rains or size > 1"),
        ((rains | (size > 1)) & (size <= 9), "(it rains or size > 1) and size <= 9"),
        (rains & (size > 1) & (size <= 9), "it rains and size > 1 and size <= 9"),
        (~(rains & (size > 1)), "not (it rains and size > 1)"),
        (~(rains | (size > 1)), "not (it rains or size > 1)"),
    ],
)
def test_a_condition_prints_itself(condition: Condition, text: str) -> None:
    assert condition.text == text


@pytest.mark.parametrize(
    ("relation", "below", "at", "above"),
    [("<", True, False, False), ("<=", True, True, False), (">", False, False, True), (">=", False, True, True)],
)
def test_a_comparison_decides_and_says_on_which_side(relation: str, below: bool, at: bool, above: bool) -> None:
    condition = {"<": size < limit, "<=": size <= limit, ">": size > limit, ">=": size >= limit}[relation]
    for value, expected, side in ((1, below, BELOW), (2, at, AT), (3, above, ABOVE)):
        asked = scope(size=value, limit=2)
        assert condition.decide(asked) is expected
        assert asked.trace.sides == [(f"a rule | size {relation} limit", side)]


@pytest.mark.parametrize("arguments", [{"size": None, "limit": 1}, {"size": 1, "limit": None}])
def test_a_comparison_with_an_absent_side_is_false_and_has_no_side(arguments: dict[str, Any]) -> None:
    for condition in (size < limit, size <= limit, size > limit, size >= limit):
        asked = scope(**arguments)
        assert condition.decide(asked) is False
        assert asked.trace.sides == []


def test_negation_negates_absence_too() -> None:
    assert (~(size < limit)).decide(scope(size=None, limit=1)) is True
    assert ~~rains is rains


def test_combinations_ask_from_left_to_right_and_no_further_than_they_must() -> None:
    unanswerable = Term("unanswerable", "flag", "call", lambda s: s.call["missing"]).holds()
    assert (rains & unanswerable).decide(scope(rain=False)) is False
    assert (rains | unanswerable).decide(scope(rain=True)) is True
    with pytest.raises(KeyError):
        (rains & unanswerable).decide(scope(rain=True))
    assert ALWAYS.decide(scope()) is True


def test_a_condition_knows_what_an_answer_needs() -> None:
    assert (rains & (NOW >= due)).sources() == {"call", "now", "facts"}
    assert [leaf.text for leaf in (rains | ~(size > 1)).leaves()] == ["it rains", "size > 1"]
    assert ALWAYS.sources() == frozenset()


def test_a_comparison_with_now_gives_the_instant_at_which_it_turns() -> None:
    assert (NOW >= due).turning_instant(scope(facts=7)) == 7
    assert (due > NOW).turning_instant(scope(facts=7)) == 7
    assert (NOW >= due).turning_instant(scope(facts=None)) is None
    assert (size >= limit).turning_instant(scope(size=1, limit=1)) is None


def test_a_constant_is_called_by_its_value_unless_it_has_a_name() -> None:
    assert (size < 3).right.name == "3"
    assert constant(3, "items", "the most").name == "the most"
    assert constant(3, "items").read(scope()) == 3
