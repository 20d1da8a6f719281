"""Small configurations of the workload contract: a few workloads, a few workers, short durations.

Each is data. A name stands in every report of a search, so that what was found unreachable was found so within
what the name says.
"""

from __future__ import annotations

from typing import Final

from workspec.workload.configurations.lives import CI, WAITING, WIDE
from workspec.workload.configurations.misuse import FENCES, LEGACY, VALUES

CONFIGURATIONS: Final = (CI, WAITING, FENCES, VALUES, LEGACY, WIDE)

__all__ = ["CI", "CONFIGURATIONS", "FENCES", "LEGACY", "VALUES", "WAITING", "WIDE"]
