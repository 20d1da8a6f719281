"""Stores that are wrong only when threads meet: the specification with its lock held too short, or not at all."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import define, evolve, field, frozen

from workcert.backends.protocol import Place
from workcert.backends.specification import Handle, SpecificationBackend, of
from workcert.binding import bindings
from workspec.core.interpreter import Refused, commit

GAP_S: Final = 0.0002
"""Long enough for another thread to come between."""


class Racing(ABC):
    """A handle around the right one, of which one call is made without its guard."""

    calls: frozenset[str] = frozenset()

    def __init__(self, inner: Handle) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name not in self.calls:
            return getattr(self.inner, name)
        return lambda **arguments: self.made(name, arguments)

    @abstractmethod
    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        """The call as this store makes it."""


class Blind(Racing):
    """Reads and decides, and writes what it has decided over whatever is there by then."""

    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        shelf = self.inner._shelf
        before = shelf.state
        decision = self.inner._decided(before, name, dict(arguments))
        done = commit(self.inner._contract, before, decision)
        time.sleep(GAP_S)
        with shelf.lock:
            changes = [change for part in decision.parts for change in part.changes]
            if not isinstance(done.outcome, Refused) or decision.parts:
                kept = {change.key: change.record for change in changes}
                merged = {**shelf.state, **kept}
                shelf.state = {key: record for key, record in merged.items() if record is not None}
        return self.inner._answered(done.outcome)


class UncountedAttempt(Blind):
    """Two claims of one work count as one attempt."""

    calls = frozenset({"claim"})


class WrittenOver(Blind):
    """A heartbeat or a checkpoint writes the whole row, as it was when it began."""

    calls = frozenset({"heartbeat", "checkpoint", "start"})


class TwoAdmissions(Blind):
    """The key of an admission is looked up outside of the lock."""

    calls = frozenset({"admit"})


class DoubleClaim(Blind):
    """Two admissions are given one job, under one fence."""

    calls = frozenset({"admit"})


class TwoHolders(Blind):
    """The key of a new job is looked up outside of the lock."""

    calls = frozenset({"enqueue"})


class TwoEnds(Blind):
    """Two reports of one run are both taken."""

    calls = frozenset({"ack"})


class InParts(Racing):
    """A batch is there row by row, and seen by others before it is whole."""

    calls = frozenset({"enqueue"})

    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        shelf, envelopes = self.inner._shelf, arguments["envelopes"]
        decision = self.inner._decided(shelf.state, name, {"envelopes": envelopes})
        done = commit(self.inner._contract, shelf.state, decision)
        if isinstance(done.outcome, Refused) or len(envelopes) == 1:
            return self.inner.enqueue(envelopes=envelopes)
        for envelope in envelopes:
            self.inner.enqueue(envelopes=(envelope,))
            time.sleep(GAP_S)
        return None


class Uncommitted(Racing):
    """What will be refused is seen for a moment."""

    calls = frozenset({"complete"})

    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        assert name == "complete"
        shelf = self.inner._shelf
        with shelf.lock:
            before = shelf.state
            record = before.get(arguments["workload_id"])
            if record is not None:
                facts = evolve(record.facts, retry_count=record.facts.retry_count + 1)
                shown = evolve(record, facts=facts)
                shelf.state = {**before, arguments["workload_id"]: shown}
        time.sleep(GAP_S)
        with shelf.lock:
            if record is not None and shelf.state.get(arguments["workload_id"]) is shown:
                shelf.state = {**shelf.state, arguments["workload_id"]: record}
        return self.inner.complete(**arguments)


@define(eq=False)
class RacingBackend:
    """The specification behind handles that race."""

    contract: str
    around: Callable[[Handle], Racing]
    choices: Mapping[str, Any] = field(factory=dict)
    right: SpecificationBackend = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.right = of(bindings()[self.contract])

    @property
    def profiles(self) -> frozenset[str]:
        return self.right.profiles

    @property
    def abilities(self) -> frozenset[str]:
        return self.right.abilities - {"pause", "points"}

    @property
    def configurable(self) -> frozenset[str]:
        return self.right.configurable

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return self.around(self.right.open(place, config))

    def forget(self, place: Place) -> None:
        self.right.forget(place)


@frozen
class Race:
    """``right``: ids of which one takes part in what is named."""

    contract: str
    around: type[Racing]
    right: frozenset[str]


def _ids(contract: str, text: str) -> frozenset[str]:
    prefix = "WRK" if contract == "workload" else "JOB"
    return frozenset(f"{prefix}-{name}" for name in text.split())


RACES: Final = (
    Race("workload", UncountedAttempt, _ids("workload", "CLM-05 CLM-09 CLM-10 ROW-02")),
    Race("workload", WrittenOver, _ids("workload", "MWR-05")),
    Race("workload", TwoAdmissions, _ids("workload", "MWR-05")),
    Race("workload", Uncommitted, _ids("workload", "MWR-05")),
    Race("jobs", DoubleClaim, _ids("jobs", "ADM-10 ADM-13 ADM-11 FAIR-01 ADM-02 GEN-01")),
    Race("jobs", TwoHolders, _ids("jobs", "UNQ-12 UNQ-01 GEN-01")),
    Race("jobs", TwoEnds, _ids("jobs", "ACK-01 MWR-02 GEN-01")),
    Race("jobs", InParts, _ids("jobs", "GEN-01")),
)
