"""What a fault of the field is before it is bound to a contract, and the ways to make one."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from attrs import frozen

from workcert.backends.protocol import Ability
from workcert.backends.specification import of
from workcert.binding import Binding
from workcert.faults.changes import Change
from workcert.faults.fault import Fault, Kind
from workcert.faults.field.handles import Around, around
from workcert.faults.restarts import Forget, ForgetfulBackend
from workspec.core.rule import ids


class Tier(StrEnum):
    """What shows a fault, beside calls one after the other."""

    ONE_CALLER = "one caller"
    INTERLEAVING = "interleaving"
    CLOCK = "restart or clock"
    VOLUME = "volume"
    CRASH = "crash"


@frozen(eq=False)
class Seen:
    """A fault as it is seen in the field; its members are those of `Fault`."""

    name: str
    requirements: str
    touched: str
    tier: Tier
    cause: str
    made: Made

    def bound_to(self, binding: Binding) -> Fault:
        specification = None if self.made.change is None else self.made.change(binding.contract)
        return Fault(
            f"{Kind.FIELD}: {self.name}",
            Kind.FIELD,
            ids(self.requirements),
            frozenset(each.strip() for each in self.touched.split(",") if each),
            lambda: self.made.backend(binding) if specification is None else of(binding, specification),
            specification,
            self.made.needs,
            self.tier,
            self.cause,
        )


@frozen(eq=False)
class Made:
    """How the faulty store is made: by a changed contract, or as a backend over the right one."""

    change: Change | None = None
    backend: Callable[[Binding], Any] = of
    needs: str = ""


def by_rule(change: Change) -> Made:
    """The specification with other rules."""
    return Made(change=change)


def by_handle(call: Around, needs: str = "") -> Made:
    """The specification behind handles that make each call in their own way."""
    return Made(backend=lambda binding: around(binding, call), needs=needs)


def by_restart(forget: Forget) -> Made:
    """The specification, but for what a restart makes of each record."""

    def backend(binding: Binding) -> ForgetfulBackend:
        right = of(binding)
        return ForgetfulBackend(
            right.binding, right.specification, right.profiles, right.abilities, right.configurable, forget_part=forget
        )

    return Made(backend=backend, needs=Ability.RESTART)


def by_backend(backend: Callable[[Binding], Any], needs: str) -> Made:
    return Made(backend=backend, needs=needs)
