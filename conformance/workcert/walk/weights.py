"""How likely each rule of the machine is to come next: less for one that has shown nothing new of late.

What is new is said by the traces of the model's decisions in this very walk, so that a seed repeats a walk on any
store, whatever was found before.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate
from random import Random
from typing import Any, Final

from attrs import define, field

from workcert.judge.verdict import StepRun
from workcert.machines.rules import Rule
from workcert.machines.sources import chosen

MOODS: Final = (1.0, 1.0, 1.0, 4.0, 0.2)
"""What a walk thinks of a rule from the start. Walks with a taste of their own reach what an even one hardly does: five
of a kind in a row, or a long time without any."""
SELDOM: Final = 0.08
"""Of its mood a rule has so much that takes as long as a hundred others."""
WEARY: Final = 0.6
"""What is left of a weight when the rule has shown nothing new."""
LEAST: Final = 0.15
"""Of its mood a rule keeps as much: some faults show only at the tenth repetition."""
MOST_TRIES: Final = 60
"""Rules that may not be chosen are drawn again so often; then the turn passes."""


@define(eq=False)
class Weights:
    """The weights of one walk over the rules of its machine."""

    rules: Sequence[Rule]
    random: Random
    _moods: list[float] = field(init=False)
    _weights: list[float] = field(init=False)
    _sums: list[float] = field(init=False)
    _shown: set[Any] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        moods = [chosen(MOODS, self.random) for _ in self.rules]
        self._moods = [mood * SELDOM if each.seldom else mood for mood, each in zip(moods, self.rules, strict=True)]
        self._weights = list(self._moods)
        self._sums = list(accumulate(self._weights))

    def draw(self, machine: Any) -> int | None:
        """The index of a rule that may be chosen now, None where none was met."""
        refused: set[int] = set()
        rules, sums, random = self.rules, self._sums, self.random.random
        total = sums[-1]
        for _ in range(MOST_TRIES):
            index = bisect(sums, random() * total)
            if index in refused:
                continue
            if rules[index].may(machine):
                return index
            refused.add(index)
        return None

    def learn(self, index: int, steps: Iterable[StepRun]) -> None:
        """What the steps of a rule have shown decides how soon it comes again."""
        known = len(self._shown)
        for step in steps:
            for trace in step.traces:
                self._shown.update(trace.fired)
                self._shown.update(trace.sides)
        mood, weight = self._moods[index], self._weights[index]
        changed = mood if len(self._shown) > known else max(weight * WEARY, mood * LEAST)
        if changed != weight:
            self._weights[index] = changed
            self._sums = list(accumulate(self._weights))
