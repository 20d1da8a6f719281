"""Which calls a contract has, read from its ports; the seam by which another contract joins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from attrs import field, frozen

from workcert.structuring import builder, hints_of, structured
from workspec.jobs import ports as job_ports
from workspec.jobs import profiles as job_profiles
from workspec.jobs import vocabulary as jobs
from workspec.workload import ports, profiles, vocabulary


@frozen
class Signature:
    """One call. ``arguments`` are the types by name, without the instant and the transaction; ``timed``: a step that
    makes it says when; ``inside``: it is made inside a transaction."""

    name: str
    arguments: Mapping[str, Any]
    optional: frozenset[str]
    timed: bool
    answer: Any
    inside: bool = False
    _builders: Mapping[str, Callable[[Any], Any]] = field(init=False, repr=False, eq=False)

    @_builders.default
    def _builders_of_arguments(self) -> Mapping[str, Callable[[Any], Any]]:
        return {name: builder(wanted) for name, wanted in self.arguments.items()}

    def typed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Plain arguments as the call takes them.

        Raises:
            CodecError: one does not fit; the place begins with ``args``.
        """
        return structured(self._builders, arguments, "args")


@frozen
class Contract:
    """What the parser knows of a contract.

    ``record``: the carrier that an ``inject`` step stores, None where rows cannot be put in from outside. ``time``: the
    member of a step that is its instant. ``instant``: the keyword of a call that takes it; None where the store has a
    clock of its own, which the kit then sets before the call.
    """

    name: str
    calls: Mapping[str, Signature]
    profiles: frozenset[str]
    codes: frozenset[str]
    record: Any
    time: str
    instant: str | None
    moving_clock: frozenset[str] = frozenset()
    """The calls that move the clock of the store, which the kit itself stops for every call."""


TRANSACTION: Final = "transaction"
"""The keyword of a call that is made inside a transaction; a `Transaction` step fills it."""

_JOBS: Final[tuple[type[Any], ...]] = (
    job_ports.JobStore,
    job_ports.PauseStore,
    job_ports.RateStore,
    job_ports.ResultStore,
    job_ports.OutputStore,
    job_ports.ProgressStore,
    job_ports.ClockStore,
    job_ports.BackpressureStore,
    job_ports.InspectStore,
    job_ports.TransactionalStore,
)


@cache
def contracts() -> Mapping[str, Contract]:
    """Every known contract, by name."""
    known = (
        Contract(
            name="workload",
            calls=signatures((ports.WorkloadStore, ports.MigratingStore), instant="now_s"),
            profiles=frozenset(profile.name for profile in profiles.PROFILES),
            codes=frozenset(code.value for code in vocabulary.ErrorCode),
            record=vocabulary.Workload,
            time="at_s",
            instant="now_s",
        ),
        Contract(
            name="jobs",
            calls={name: each for name, each in signatures(_JOBS, instant=None).items() if name != "begin"},
            profiles=frozenset(profile.name for profile in job_profiles.PROFILES),
            codes=frozenset(code.value for code in jobs.ErrorCode),
            record=None,
            time="at_ms",
            instant=None,
            moving_clock=frozenset({"freeze_clock", "advance_clock", "unfreeze_clock"}),
        ),
    )
    return {contract.name: contract for contract in known}


def signatures(protocols: tuple[type[Any], ...], instant: str | None) -> Mapping[str, Signature]:
    """The public methods of Protocols. ``instant`` is the keyword that a step's own time fills."""
    found: dict[str, Signature] = {}
    for protocol in protocols:
        for name, method in vars(protocol).items():
            if not name.startswith("_") and inspect.isfunction(method):
                found[name] = _signature(name, method, instant)
    return found


def _signature(name: str, method: Any, instant: str | None) -> Signature:
    hints = hints_of(method)
    parameters = [each for each in inspect.signature(method).parameters.values() if each.name != "self"]
    own = [each for each in parameters if each.name not in (instant, TRANSACTION)]
    return Signature(
        name=name,
        arguments={each.name: hints[each.name] for each in own},
        optional=frozenset(each.name for each in parameters if each.default is not inspect.Parameter.empty),
        timed=instant is None or any(each.name == instant for each in parameters),
        answer=hints["return"],
        inside=any(each.name == TRANSACTION for each in parameters),
    )
