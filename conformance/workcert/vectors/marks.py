"""Marks: values that stand in the model for whatever a store may choose, so that each is recognised where it shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from attrs import define, field, frozen

Json: TypeAlias = Any
Translate: TypeAlias = Callable[[Any], Json]
Rule: TypeAlias = Callable[[Translate], Json]
"""The matcher that a store's own value must fit, from the translation of the values that the rule names."""

MORE: Final = "…"
"""As a key of an object: it may have further members."""
MARK: Final = re.compile(r"~[a-z][a-z ]*-\d+~")
"""Every text mark, alone or within a longer text."""
SHOWN: Final = re.compile(rf"{MARK.pattern}|\d{{7,18}}")
"""Every text mark, and every number that may be one, within a text."""


@frozen(eq=False)
class Mark:
    """``kind``: what people call such a value. ``rule`` None: nothing is asserted of it. ``kept``: wherever it shows
    again it is the same; otherwise each sight of it stands alone."""

    kind: str
    rule: Rule | None
    kept: bool = True


class Likely(int):
    """A number that rules reckon with as it is, and that a store may show otherwise."""

    mark: Mark

    @classmethod
    def made(cls, value: int, mark: Mark) -> Likely:
        number = cls(value)
        number.mark = mark
        return number


@define
class Marks:
    """The marks of one play of a case.

    ``offset`` and ``falling`` give other values, in the opposite order: what differs between two plays that differ in
    these alone hangs on what the store chooses.
    """

    offset: int
    falling: bool
    _marks: dict[Any, Mark] = field(factory=dict)

    def text(self, mark: Mark) -> str:
        """A new text."""
        serial = self._next()
        value = f"~{mark.kind}-{self.offset * 1_000_000 + (500_000 - serial if self.falling else serial)}~"
        self._marks[value] = mark
        return value

    def number(self, mark: Mark) -> int:
        """A new number, greater than every number given out before."""
        value = self.offset * 1_000_003 + self._next() * 7
        self._marks[value] = mark
        return value

    def of(self, value: Any) -> Mark | None:
        """What a value stands for; None for one that stands for itself."""
        if isinstance(value, Likely):
            return value.mark
        return self._marks.get(value) if type(value) in (str, int) else None

    def _next(self) -> int:
        return len(self._marks) + 1


def in_order(matcher: Json) -> str:
    """A key to sort matchers by, where the order of what they stand for says nothing."""
    return json.dumps(matcher, sort_keys=True)
