"""Adapters that misbehave: each ends in a clear sentence or in the right verdict, never in a traceback or a hang."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from attrs import define, evolve, frozen

from workcert.backends.protocol import Place
from workspec.workload.vocabulary import ErrorCode, WorkloadError

from .handles import Around, Wrapped
from .other_choices import declaring


class Odd(Around):
    def claim(self, **_arguments: Any) -> Any:
        raise ZeroDivisionError("no worker is no divisor")


class Exits(Around):
    def claim(self, **_arguments: Any) -> Any:
        raise SystemExit(3)


class Hangs(Around):
    def start(self, **_arguments: Any) -> Any:
        time.sleep(60)


class HangingRead(Around):
    def get(self, **_arguments: Any) -> Any:
        time.sleep(60)


class WrongAnswer(Around):
    def claim(self, **arguments: Any) -> Any:
        self.inner.claim(**arguments)
        return ("claimed", 1)


class NoAnswer(Around):
    def claim(self, **arguments: Any) -> Any:
        self.inner.claim(**arguments)


class Fickle(Around):
    """It answers by what it has answered since the process began, so that no example can be made again."""

    claims = count()

    def claim(self, **arguments: Any) -> Any:
        if next(Fickle.claims) % 7 == 3:
            raise WorkloadError(ErrorCode.NOT_READY)
        return self.inner.claim(**arguments)


class WrongRecord(Around):
    def get(self, **arguments: Any) -> Any:
        found = self.inner.get(**arguments)
        return None if found is None else {"workload": found.workload, "version": found.version}


class BareRecord(Around):
    def get(self, **arguments: Any) -> Any:
        found = self.inner.get(**arguments)
        return None if found is None else found.workload


class WrongList(Around):
    def enforce_deadlines(self, **arguments: Any) -> Any:
        return len(self.inner.enforce_deadlines(**arguments))


class NoReset(Around):
    def reset(self) -> None:
        pass


@define(eq=False)
class Unseen(Wrapped):
    """Without snapshot, so that what a reset leaves shows by a read alone."""

    @property
    def abilities(self) -> frozenset[str]:
        return self.right.abilities - {"snapshot"}


class BrokenClose(Around):
    def close(self) -> None:
        super().close()
        raise OSError("the lock file is gone")


class BrokenReset(Around):
    def reset(self) -> None:
        raise OSError("read-only")


class NoRestart(Around):
    def restarted(self) -> None:
        self.inner._shelf.state = {}


class NoPause(Around):
    def pause(self, callback: Callable[[], None] | None) -> None:
        pass


class LatePause(Around):
    armed: Callable[[], None] | None = None

    def pause(self, callback: Callable[[], None] | None) -> None:
        self.armed = callback

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        return (lambda **arguments: self.then(call(**arguments))) if self.inner._contract.has(name) else call

    def then(self, answer: Any) -> Any:
        armed, self.armed = self.armed, None
        if armed is not None:
            armed()
        return answer


class EmptySnapshot(Around):
    def snapshot(self) -> Mapping[str, int | None]:
        return {}


class ConstantSnapshot(Around):
    def snapshot(self) -> Mapping[str, int | None]:
        return {"some": 1}


class BrokenSnapshot(Around):
    def snapshot(self) -> Any:
        return None


class BrokenInject(Around):
    def inject(self, **_arguments: Any) -> None:
        raise NotImplementedError


class SilentInject(Around):
    def inject(self, **_arguments: Any) -> None:
        pass


@define(eq=False)
class Apart(Wrapped):
    """Every handle is on a store of its own."""

    count: int = 0

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        self.count += 1
        return self.right.open(Place(place.path, f"{place.name}-{self.count}"), config)


@frozen
class Liar:
    """``says``: what the sentence holds that ends the run; or the requirement that fails; or why it is unknown; empty
    when nothing may be said. ``hangs``: a call never answers. Only then may a test wait for a short time: with any
    other, a call that takes long on a busy machine would be taken for one that hangs."""

    name: str
    make: Callable[[], Any]
    says: str
    hangs: bool = False


def liar(name: str, around: type[Around], says: str, *, hangs: bool = False) -> Liar:
    return Liar(name, lambda: Wrapped(around), says, hangs)


LIARS = (
    liar("raises something odd", Odd, "WRK-CLM- ZeroDivisionError"),
    liar("ends the process", Exits, "WRK-CLM- SystemExit"),
    liar("hangs", Hangs, "has not answered within", hangs=True),
    liar("hangs at a read", HangingRead, "has not answered within", hangs=True),
    liar(
        "answers with a wrong type",
        WrongAnswer,
        "WRK-CLM-09 answered with a value of type tuple where a value of type Claim is due",
    ),
    liar("answers with nothing", NoAnswer, "WRK-CLM-09 answered with None where a value of type Claim is due"),
    liar("answers as it likes", Fickle, "WRK-CLM-"),
    Liar(
        "takes a way that it does not declare",
        lambda: evolve(declaring("G-11.lease-rounding", "down").make(), choices={}),
        "WRK-CLM- if the adapter declared choices = {'G-11.lease-rounding': 'down'}",
    ),
    liar("reads a record as a mapping", WrongRecord, "WRK-PRT-12 answered with dict"),
    liar("reads a record without its version", BareRecord, "WRK-PRT-12 answered with Workload"),
    liar(
        "answers a pass with a number",
        WrongList,
        "WRK-EDL-01 answered with a value of type int",
    ),
    liar("lies about reset", NoReset, "claims the ability reset, but rows are left"),
    Liar("lies about reset unseen", lambda: Unseen(NoReset), "claims the ability reset, but the record of"),
    liar("cannot close", BrokenClose, "claims the ability restart, but handle.close raised OSError: the lock file is"),
    liar("cannot reset", BrokenReset, "claims the ability reset, but handle.reset raised OSError: read-only"),
    liar("lies about restart", NoRestart, "WRK-INV-14 is gone"),
    liar("never pauses", NoPause, ""),
    liar("pauses after the write", LatePause, "claims the ability pause, but its callback runs after the write"),
    liar("shows an empty snapshot", EmptySnapshot, "claims the ability snapshot, but snapshot shows no row"),
    liar("shows a constant snapshot", ConstantSnapshot, "claims the ability snapshot, but"),
    liar("shows no snapshot", BrokenSnapshot, "claims the ability snapshot, but handle.snapshot raised TypeError"),
    liar("cannot inject", BrokenInject, "claims the ability inject, but handle.inject raised NotImplementedError"),
    liar("injects nothing", SilentInject, "claims the ability inject, but a read finds no record of"),
    Liar("lies about a second handle", lambda: Apart(Around), "claims the ability second_handle, but what one handle"),
)
