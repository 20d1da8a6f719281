"""Comparing an expected value with one that a store showed."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from workcert.judge.differences import Difference, differences
from workspec.core.choice import UNSEEN


@frozen
class Record:
    sequence: int
    output: Any


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        (True, 1),
        (1, 1.0),
        (0, False),
        ("1", 1),
        ({"a": [True]}, {"a": [1]}),
        (Record(1, {"a": 1}), Record(1, {"a": True})),
        ([1, 2], [1]),
        ({"a": 1}, {"a": 1, "b": None}),
    ],
)
def test_values_that_json_tells_apart_differ(expected: Any, seen: Any) -> None:
    assert differences(expected, seen)
    assert differences(seen, expected)


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ((1, 2), [1, 2]),
        (Record(1, "x"), Record(7, "x")),
        (Record(1, {"a": 1}), Record(1, UNSEEN)),
        ({"a": {"b": [None, 1.5]}}, {"a": {"b": [None, 1.5]}}),
    ],
)
def test_what_a_store_may_choose_or_not_show_does_not(expected: Any, seen: Any) -> None:
    assert differences(expected, seen) == ()


def test_a_difference_has_its_path() -> None:
    assert differences(Record(1, {"a": [1, 2]}), Record(1, {"a": [1, 3]})) == (Difference("output.a[1]", 2, 3),)
