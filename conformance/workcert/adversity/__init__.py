"""Adversity: calls that meet at every point, callers in parallel, crashes, broken disks, handles misused.

Each part is a function of a store, options and a place for its events, as any suite is. A part that needs an ability
which the backend lacks says so and is skipped.
"""

from workcert.adversity.part import Part
from workcert.adversity.suite import PARTS, run_adversity, run_part

__all__ = ["PARTS", "Part", "run_adversity", "run_part"]
