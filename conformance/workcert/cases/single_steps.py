"""Steps of one call, and what all kinds of steps have: an id, a handle, an instant."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from attrs import define

from workcert.cases.model import Call, Inject
from workcert.cases.reading import Reader, listed

BESIDE_OTHERS: Final = ("together", "frozen", "during")
"""The steps around a call in which it meets others."""
_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@define
class SingleSteps(Reader, ABC):
    """What stands alone, or inside another step."""

    @abstractmethod
    def step(self, raw: dict[str, Any], inside: str) -> Any:
        """One step of any kind. ``inside`` names the step around it, or is empty."""

    def new_id(self, raw: Mapping[str, Any]) -> str:
        step_id: str = self.need(raw, "id", str, "a step")
        if not _ID.fullmatch(step_id):
            raise self.fault(f"step id {step_id!r}", "use letters, digits, _ and -, a letter first")
        if step_id in self.ids:
            raise self.fault(f"step id {step_id!r} is used twice", "give each step an id of its own")
        self.ids.add(step_id)
        return step_id

    def handle(self, raw: Mapping[str, Any]) -> str:
        on: str = self.need(raw, "on", str, "a step")
        if on not in self.handles:
            raise self.fault(f"unknown handle {on!r}", f"the header names {listed(self.handles)}")
        return on

    def call(self, raw: dict[str, Any], step_id: str, note: str | None, inside: str = "") -> Call:
        name = self.need(raw, "call", str, "a call")
        signature = self.contract.calls.get(name)
        if signature is None:
            raise self.fault(f"unknown call {name!r}", f"known are {listed(self.contract.calls)}")
        if signature.inside != (inside == "tx"):
            place = "inside" if signature.inside else "outside of"
            raise self.fault(f"{name} belongs {place} a transaction", 'a transaction is a step with "tx": [call, ...]')
        if name in self.contract.moving_clock and inside in BESIDE_OTHERS:
            cause = f"{name} beside another call"
            raise self.fault(
                cause, "a store has one clock, which stands at the one instant of them all; move it before"
            )
        time, timed = self.contract.time, signature.timed and not signature.inside
        if timed != (time in raw):
            need = "needs" if timed else "takes no"
            raise self.fault(f"{name} {need} {time}", "the time of a call is a member of its step")
        version = raw.get("version")
        if version not in (None, "same", "moved"):
            raise self.fault(f"version {version!r} of a call", 'write "same" or "moved"')
        step = Call(
            id=step_id,
            on=self.handle(raw),
            call=name,
            args=self.arguments(name, self.need(raw, "args", dict, "a call")),
            at=self.instant(raw[time]) if timed and not self.runs(raw, inside) else None,
            expect=self.expectation(raw["expect"]) if "expect" in raw else None,
            record=self.matcher(raw["record"], "record") if "record" in raw else None,
            of=self.value(raw["of"], "of") if "of" in raw else None,
            version=version,
            note=note,
        )
        self.answered.add(step_id)
        return step

    def runs(self, raw: Mapping[str, Any], inside: str) -> bool:
        """The call is made while the clock of the store runs."""
        return raw[self.contract.time] is None and self.contract.instant is None and inside in ("", "repeat")

    def instant(self, raw: Any) -> int:
        at = self.value(raw, self.contract.time)
        if type(at) is not int:
            unit = "milliseconds" if self.contract.time.endswith("_ms") else "seconds"
            raise self.fault(f"{self.contract.time!r} is no integer", f"write the instant in {unit}")
        return at

    def arguments(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        signature = self.contract.calls[name]
        for argument in raw:
            if argument == self.contract.instant:
                raise self.fault(f"{argument!r} among the arguments of {name}", f"write it as {self.contract.time}")
            if argument not in signature.arguments:
                known = listed(signature.arguments) or "none"
                raise self.fault(f"unknown argument {argument!r} of {name}", f"it takes {known}")
        for argument in signature.arguments.keys() - signature.optional:
            if argument not in raw:
                raise self.fault(f"{name} misses the argument {argument!r}", "write every argument out")
        args = {argument: self.value(value, argument) for argument, value in raw.items()}
        for argument, value in args.items():
            self.fits(signature.arguments[argument], value, argument)
        return args

    def inject(self, raw: dict[str, Any], step_id: str, note: str | None) -> Inject:
        if self.contract.record is None:
            raise self.fault(f"an inject step in the contract {self.contract.name}", "make the record by calls")
        version = raw.get("version", ...)
        if version is not None and (type(version) is not int or version < 1):
            raise self.fault("'version' of an inject step", "write an integer from 1, or null")
        record = self.value(self.object(raw["inject"], "the record"), "inject")
        self.fits(self.contract.record, record, "inject")
        return Inject(step_id, self.handle(raw), record, version, note)

    def bare(self, call: Call, members: tuple[str, ...]) -> Call:
        for member in members:
            if getattr(call, member) is not None:
                cause = f"{member!r} on {call.id!r} has no meaning here"
                raise self.fault(cause, "see FORMAT.md, together and frozen")
        return call
