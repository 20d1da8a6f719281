"""What a certificate must not hold: how long things took, and where they ran."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from workcert.report.collector import Collector, steps_of

PACKAGES: Final = ("workcert", "attrs", "hypothesis", "pytest", "sqlite-utils", "tabulate")


@frozen
class SuiteTime:
    contract: str
    suite: str
    seconds: float
    steps: int


@frozen
class Environment:
    python: str
    implementation: str
    platform: str
    machine: str
    packages: Mapping[str, str]
    """Name to version, of those that are installed."""


@frozen
class Timings:
    suites: tuple[SuiteTime, ...]
    environment: Environment


def timings(collectors: Mapping[str, Collector]) -> Timings:
    """The times of a run. ``collectors``: by contract."""
    times = tuple(
        SuiteTime(contract, suite, round(seconds, 3), steps_of(collector, suite))
        for contract, collector in collectors.items()
        for suite, seconds in collector.seconds.items()
    )
    return Timings(times, environment())


def environment() -> Environment:
    return Environment(
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        platform=platform.platform(),
        machine=platform.machine(),
        packages=_versions(),
    )


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def timings_text(taken: Timings) -> str:
    """The content of ``timings.json``."""
    where = taken.environment
    written = {
        "format": 1,
        "suites": [
            {"contract": t.contract, "suite": t.suite, "seconds": t.seconds, "steps": t.steps} for t in taken.suites
        ],
        "environment": {
            "python": where.python,
            "implementation": where.implementation,
            "platform": where.platform,
            "machine": where.machine,
            "packages": dict(where.packages),
        },
    }
    return json.dumps(written, indent=2) + "\n"
