"""Tours: case files that come to everything that search has reached, merged into few runs."""

from workcert.tour.library import Tour, tours
from workcert.tour.suite import run_tour

__all__ = ["Tour", "run_tour", "tours"]
