"""What matches, and where what does not match differs."""

from __future__ import annotations

from typing import Any

import pytest

from workcert.cases.matcher import (
    Absent,
    AllOf,
    Anything,
    Exactly,
    Items,
    Last,
    Length,
    OneOf,
    StartsWith,
    match,
)


@pytest.mark.parametrize(
    ("matcher", "seen"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({}, {"a": 1}),
        ([1, Anything()], [1, 2]),
        (Absent(), None),
        ({"a": Absent()}, {}),
        ({"a": None}, {"a": None}),
        (OneOf((1, 2)), 2),
        (StartsWith("timeout: "), "timeout: late"),
        (Exactly({"a": Anything()}), {"a": 1}),
        (Last({"a": 1}), [0, {"a": 1, "b": 2}]),
        (Length(2), "é!"),
        (Length(0), []),
        (AllOf((Length(1), Items({"a": 1}))), [{"a": 1, "b": 1}]),
        (Items(1), []),
        (b"x", b"x"),
    ],
)
def test_what_matches(matcher: Any, seen: Any) -> None:
    assert match(matcher, seen) == []


@pytest.mark.parametrize(
    ("matcher", "seen", "path"),
    [
        (1, 1.0, "$"),
        (1, True, "$"),
        (None, 0, "$"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "$.a.b"),
        ({"a": None}, {}, "$.a"),
        ({"a": Anything()}, {"a": None}, "$.a"),
        ({"a": 1}, None, "$"),
        ([1], [1, 2], "$"),
        ([1, 2], [1, 3], "$[1]"),
        (Absent(), 0, "$"),
        (OneOf((1, 2)), 3, "$"),
        (StartsWith("x"), 7, "$"),
        (Exactly({"a": 1}), {"a": 1, "b": 2}, "$.b"),
        (Exactly({"a": 1}), {"a": 2}, "$.a"),
        (Last(1), [], "$"),
        (Last(1), [1, 2], "$[1]"),
        (Length(2), [1], "$"),
        (Length(2), None, "$"),
        (Items(1), [1, 2], "$[1]"),
        (AllOf((1, 2)), 1, "$"),
    ],
)
def test_what_differs_is_named_by_its_path(matcher: Any, seen: Any, path: str) -> None:
    found = match(matcher, seen)
    assert [difference.path for difference in found] == [path]
    assert str(found[0]).startswith(f"{path}: expected ")
