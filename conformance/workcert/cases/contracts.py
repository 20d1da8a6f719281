"""Which calls a contract has, read from its ports; the seam by which another contract joins."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from attrs import frozen

from workcert.structuring import hints_of
from workspec.workload import ports, profiles, vocabulary


@frozen
class Signature:
    """One call. ``arguments`` are the types by name, without the instant."""

    name: str
    arguments: Mapping[str, Any]
    optional: frozenset[str]
    timed: bool
    answer: Any


@frozen
class Contract:
    """What the parser knows of a contract. ``record`` is the carrier that an ``inject`` step stores."""

    name: str
    calls: Mapping[str, Signature]
    profiles: frozenset[str]
    codes: frozenset[str]
    record: Any
    instant: str


@cache
def contracts() -> Mapping[str, Contract]:
    """Every known contract, by name."""
    workload = Contract(
        name="workload",
        calls=signatures((ports.WorkloadStore, ports.MigratingStore), instant="now_s"),
        profiles=frozenset(profile.name for profile in profiles.PROFILES),
        codes=frozenset(code.value for code in vocabulary.ErrorCode),
        record=vocabulary.Workload,
        instant="now_s",
    )
    return {workload.name: workload}


def signatures(protocols: tuple[type[Any], ...], instant: str) -> Mapping[str, Signature]:
    """The public methods of Protocols. ``instant`` is the keyword that a step's own time fills."""
    found: dict[str, Signature] = {}
    for protocol in protocols:
        for name, method in vars(protocol).items():
            if not name.startswith("_") and inspect.isfunction(method):
                found[name] = _signature(name, method, instant)
    return found


def _signature(name: str, method: Any, instant: str) -> Signature:
    hints = hints_of(method)
    parameters = [each for each in inspect.signature(method).parameters.values() if each.name != "self"]
    return Signature(
        name=name,
        arguments={each.name: hints[each.name] for each in parameters if each.name != instant},
        optional=frozenset(each.name for each in parameters if each.default is not inspect.Parameter.empty),
        timed=any(each.name == instant for each in parameters),
        answer=hints["return"],
    )
