"""Small configurations of the jobs contract: a few rows, short durations, every kind of call.

Each is data. A name stands in every report of a search, so that what was found unreachable was found so within
what the name says.
"""

from __future__ import annotations

from typing import Final

from workspec.jobs.configurations.admission import RATES, SHARES
from workspec.jobs.configurations.boundary import PRESSURE, VALIDATION
from workspec.jobs.configurations.keys import KEYS, WINDOWS
from workspec.jobs.configurations.lives import CRASHES, OPERATORS, RUNS, SETTINGS, WIDE

CONFIGURATIONS: Final = (RUNS, OPERATORS, CRASHES, SETTINGS, VALIDATION, PRESSURE, KEYS, WINDOWS, SHARES, RATES, WIDE)

__all__ = [
    "CONFIGURATIONS",
    "CRASHES",
    "KEYS",
    "OPERATORS",
    "PRESSURE",
    "RATES",
    "RUNS",
    "SETTINGS",
    "SHARES",
    "VALIDATION",
    "WIDE",
    "WINDOWS",
]
