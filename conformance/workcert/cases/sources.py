"""Every library of cases that comes with the kit, in one list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from workcert.cases import library
from workcert.cases.model import Case

Source = Callable[[str], tuple[Case, ...]]
"""The cases of a contract, by its name."""

_TOURS: Final = "builtin_tours"


def sources() -> Mapping[str, Source]:
    """The libraries by the name of the suite that runs them; tours are there where the kit has them."""
    found: dict[str, Source] = {"scenarios": library.builtin_cases}
    tours = getattr(library, _TOURS, None)
    return found if tours is None else {**found, "tour": tours}


def every_case(contract: str) -> tuple[Case, ...]:
    """The cases of all libraries for a contract, those of one after those of the other."""
    return tuple(case for source in sources().values() for case in source(contract))
