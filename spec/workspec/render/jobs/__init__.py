"""How the jobs contract is shown: the pages that it alone has, and the layout of its diagram."""

from workspec.render.jobs.presentation import PRESENTATION

__all__ = ["PRESENTATION"]
