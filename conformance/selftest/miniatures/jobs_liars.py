"""Adapters of job stores that misbehave: each ends in a clear sentence or in the right verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, frozen

from workcert.backends.protocol import Place
from workcert.backends.specification import of

from .handles import Around, Wrapped
from .jobs_model import JOBS
from .jobs_other_choices import Dressed, Outside


class Without(Outside):
    lacks: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name in self.lacks:
            raise AttributeError(name)
        return getattr(self.inner, name)


class NoFreeze(Without):
    lacks = ("freeze_clock",)


class NoBegin(Without):
    lacks = ("begin",)


class BrokenFreeze(Outside):
    def freeze_clock(self, **_arguments: Any) -> None:
        raise NotImplementedError("the clock is the server's")


class DeafFreeze(Outside):
    """It takes the call and goes on by the time of the system."""

    def freeze_clock(self, *, at_ms: int) -> None:
        pass


class NoReset(Outside):
    def reset(self) -> None:
        pass


class BrokenBegin(Outside):
    def begin(self) -> Any:
        raise RuntimeError("no connection is free")


class EmptyTransaction(Outside):
    def begin(self) -> Any:
        return None


class NoRestart(Around):
    def restarted(self) -> None:
        self.inner._shelf.state = {}


class BrokenRead(Outside):
    def get_job(self, **_arguments: Any) -> Any:
        raise RuntimeError("column state does not exist")


class DictRead(Outside):
    def get_job(self, **arguments: Any) -> Any:
        found = self.inner.get_job(**arguments)
        return None if found is None else {"id": found.id, "state": found.state}


class FewerCounts(Outside):
    """It counts what its cache holds."""

    def counts(self, **_arguments: Any) -> Any:
        return None


@define(eq=False)
class Apart(Dressed):
    """Every handle is on a store of its own."""

    count: int = 0

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        self.count += 1
        return self.right.open(Place(place.path, f"{place.name}-{self.count}"), config)


@define(eq=False)
class Deaf(Dressed):
    """What it is asked for at opening is not looked at."""

    def open(self, place: Place, _config: Mapping[str, Any]) -> Any:
        return self.right.open(place, {})


@frozen
class JobLiar:
    """``says``: a passage of what must be said, empty when nothing may be said; ``cases``: ids of requirements whose
    cases show it."""

    name: str
    make: Callable[[], Any]
    says: str
    cases: str = "GEN-08 RCL-03 CLK-04 DUR-01 TXN-01"


JOB_LIARS = (
    JobLiar("has no freeze_clock", lambda: Dressed(NoFreeze), "a handle has no freeze_clock(at_ms=...)"),
    JobLiar("cannot freeze", lambda: Dressed(BrokenFreeze), "raised NotImplementedError: the clock is the server's"),
    JobLiar("does not freeze", lambda: Dressed(DeafFreeze), "freeze_clock"),
    JobLiar("lies about reset", lambda: Dressed(NoReset), "claims the ability reset, but the record of"),
    JobLiar("lies about restart", lambda: Wrapped(NoRestart, contract="jobs", right=of(JOBS)), "JOB-DUR-01"),
    JobLiar("lies about a second handle", Apart, "claims the ability second_handle, but"),
    JobLiar("has no begin", lambda: Dressed(NoBegin), "", "TXN-01"),
    JobLiar("cannot begin", lambda: Dressed(BrokenBegin), "JOB-TXN-01: begin of a transaction", "TXN-01"),
    JobLiar("begins nothing", lambda: Dressed(EmptyTransaction), "JOB-TXN-01", "TXN-01"),
    JobLiar("cannot be configured", Deaf, "JOB-RCL-03"),
    JobLiar("raises at a read", lambda: Dressed(BrokenRead), "JOB-INS-01: reading job/"),
    JobLiar("reads a job as a mapping", lambda: Dressed(DictRead), "JOB-INS-01: reading job/"),
    JobLiar("counts nothing", lambda: Dressed(FewerCounts), "JOB-INS-01: counting the records raised"),
)
