"""The short ways on which the kept cases lead somewhere: what else is tried there is tried behind few steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from workcert.binding import Binding
from workcert.cases.cost import weight
from workcert.cases.model import Case
from workcert.cases.playing import NoSingleCourse, Played, play
from workcert.tour.library import every_case
from workspec.core.choice import reference

HEAVIEST: Final = 60
"""The weight of a case that is looked through; what takes more does not lead anywhere on a short way."""


def short_ways(binding: Binding) -> Iterator[tuple[Case, tuple[Played, ...]]]:
    """Each case that is not too heavy, and what its steps do; none of which nobody can say beforehand what it does."""
    for case in every_case(binding.name):
        if weight(case) > HEAVIEST:
            continue
        try:
            played = play(binding, case, reference)
        except NoSingleCourse:
            continue
        yield case, played
