"""The suite ``tour``: every tour once, in order. Deterministic, and done in seconds."""

from __future__ import annotations

from collections.abc import Collection

from workcert.cases.model import Case
from workcert.run.engine import run_cases
from workcert.run.events import Emit
from workcert.run.store import StoreUnderTest
from workcert.tour.library import tours

SUITE = "tour"


def run_tour(store: StoreUnderTest, wanted: Collection[str], emit: Emit) -> None:
    """Run the tours of the backend's contract, those that come to one of the wanted requirements where some are wanted.

    Raises:
        BackendError: the backend cannot be used, or lies about an ability.
    """
    run_cases(store, SUITE, selected(store.backend.binding.name, wanted), emit)


def selected(contract: str, wanted: Collection[str]) -> tuple[Case, ...]:
    """The cases of the tours that come to one of these requirements; of all tours where none is named."""
    return tuple(tour.case for tour in tours(contract) if not wanted or set(wanted) & set(tour.requirements))
