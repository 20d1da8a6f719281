"""Steps in which a store fares ill: a process that is killed, a file that is damaged, a handle that is misused."""

from __future__ import annotations

from typing import Any

from attrs import define

from workcert.cases.model import DAMAGES, DISKS, OPENING, Call, Crash, Damage, Misuse, Transaction, Way
from workcert.cases.reading import listed
from workcert.cases.single_steps import SingleSteps


@define
class AdverseSteps(SingleSteps):
    """Each holds the step that is made, or none."""

    def crash(self, raw: dict[str, Any], step_id: str, note: str | None) -> Crash:
        point = self.need(raw, "point", int, "a crash step")
        if point < 1:
            raise self.fault(f"point {point}", "points are counted from 1")
        disk = self.need(raw, "disk", str, "a crash step") if "disk" in raw else None
        if disk not in (None, *DISKS):
            raise self.fault(f"disk {disk!r}", f"known are {listed(DISKS)}")
        if raw["crash"] == OPENING:
            if disk is not None:
                raise self.fault("opening a store on a disk that fails", "make a call there")
            return Crash(step_id, None, point, None, note)
        step = self.step(self.object(raw["crash"], "the step of a crash"), inside="crash")
        if isinstance(step, Call):
            self.bare(step, ("expect", "record", "of", "version"))
        elif step.after:
            raise self.fault("'after' of a transaction that is killed", "nothing can be called with it any more")
        elif disk is not None:
            raise self.fault("a transaction on a disk that fails", "make a call there")
        return Crash(step_id, step, point, disk, note)

    def damage(self, raw: dict[str, Any], step_id: str, note: str | None) -> Damage:
        file = self.need(raw, "damage", str, "a damage step")
        if not file or "\0" in file or file.startswith("/") or ".." in file.split("/"):
            raise self.fault(f"file {file!r}", "name a file in the place of the store")
        how = self.need(raw, "how", str, "a damage step")
        if how not in DAMAGES:
            raise self.fault(f"damage {how!r}", f"known are {listed(DAMAGES)}")
        at, length = raw.get("at", 0), raw.get("length", 0)
        if type(at) is not int or type(length) is not int or min(at, length) < 0:
            raise self.fault("'at' or 'length' of a damage step", "write integers from 0, in bytes")
        return Damage(step_id, file, how, at, length, note)

    def misuse(self, raw: dict[str, Any], step_id: str, note: str | None) -> Misuse:
        name = self.need(raw, "way", str, "a misuse step")
        if name not in frozenset(Way):
            raise self.fault(f"unknown way {name!r}", f"known are {listed(way.value for way in Way)}")
        way = Way(name)
        step = self.step(self.object(raw["misuse"], "the step of a misuse"), inside="misuse")
        if isinstance(step, Transaction) != (way is Way.LEFT_OPEN):
            raise self.fault(f"a step that cannot be misused by {way.value}", "left_open takes a tx, the others a call")
        if isinstance(step, Call):
            self.bare(step, ("expect", "record", "of", "version"))
        elif step.after:
            raise self.fault("'after' of a transaction that is left open", "it has no end")
        return Misuse(step_id, step, way, note)
