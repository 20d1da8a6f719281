"""Runs small enough to count by hand, and stores that fail in a known way, for the tests of reports."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from attrs import define

from workcert.backends.registry import LoadedBackend, describe
from workcert.backends.specification import SpecificationBackend, of
from workcert.binding import bindings
from workcert.cases import Call, Case, Header, Step, load_case
from workcert.references import Ref
from workcert.report import Collector
from workcert.report.build import build
from workcert.report.model import ContractReport
from workcert.run.engine import Options, run_scenarios
from workcert.run.events import Event
from workcert.run.store import StoreUnderTest

SCENARIOS = Options(suites=("scenarios",))
WORK = Ref("w.workload.workload_id")


def specification(**changes: Any) -> LoadedBackend:
    """The specification as a backend; ``changes`` to what it claims."""
    return describe("specification", attrs.evolve(of(bindings()["workload"]), **changes))


@cache
def _request() -> Mapping[str, Any]:
    first = load_case("workload/15-stale-worker").steps[0]
    assert isinstance(first, Call)
    request: Mapping[str, Any] = first.args["request"]
    return request


def admit(identifier: str = "w", **members: Any) -> Call:
    return Call(identifier, "A", "admit", {"request": {**_request(), **members}})


def claim(identifier: str, at: int, lease_ms: int = 10000, on: str = "A") -> Call:
    args = {"workload_id": WORK, "worker_id": "a", "capabilities": ["email:send"], "lease_ms": lease_ms}
    return Call(identifier, on, "claim", args, at)


def fenced(identifier: str, call: str, at: int, of_claim: str = "c1", **args: Any) -> Call:
    fence = {
        "workload_id": WORK,
        "claim_id": Ref(f"{of_claim}.claim_id"),
        "worker_id": "a",
        "fencing_token": Ref(f"{of_claim}.fencing_token"),
    }
    return Call(identifier, "A", call, {**fence, **args}, at)


def case(*steps: Step, requirements: Sequence[str] = ("WRK-CLM-01",), **header: Any) -> Case:
    return Case(Header("workload", "workload/tried", "Tried", tuple(requirements), **header), tuple(steps))


def events_of(backend: LoadedBackend, cases: Sequence[Case]) -> list[Event]:
    events: list[Event] = []
    with StoreUnderTest.of(backend) as store:
        run_scenarios(store, cases, events.append)
    return events


def collected(events: Sequence[Event]) -> Collector:
    collector = Collector()
    for event in events:
        collector(event)
    return collector


def report_of(backend: LoadedBackend, cases: Sequence[Case], options: Options = SCENARIOS) -> ContractReport:
    return build(backend, options, collected(events_of(backend, cases)))


# Stores that are wrong -------------------------------------------------------------------------------------------

Wrong = Callable[[str, Any], Any]
"""From the name of a call and its right answer to what the store says instead."""


@define(eq=False)
class Wrapped:
    """A handle that changes answers."""

    inner: Any
    wrong: Wrong

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name in ("close", "reset", "inject", "snapshot", "pause"):
            return method
        return lambda **arguments: self.wrong(name, method(**arguments))


@define(eq=False)
class WrongBackend:
    """A right store behind handles that answer wrongly."""

    right: Any
    wrong: Wrong
    contract: str = "workload"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.right, name)

    def open(self, place: Any, config: Any) -> Any:
        return Wrapped(self.right.open(place, config), self.wrong)


def backend_answering(wrong: Wrong, right: Any = None) -> LoadedBackend:
    return describe("wrong", WrongBackend(of(bindings()["workload"]) if right is None else right, wrong))


def late_heartbeat(name: str, answer: Any) -> Any:
    """A lease that ends a second after the one that is recorded."""
    return attrs.evolve(answer, expires_at=answer.expires_at + 1) if name == "heartbeat" else answer


LATE = (admit(), claim("c1", 11), fenced("h1", "heartbeat", 12, extension_ms=5000))
"""Steps that show `late_heartbeat`."""


@define(eq=False)
class Spelled:
    """A right store with ids of its own: every id of the specification is exchanged for a spelling on the way out,
    and back on the way in."""

    right: SpecificationBackend
    spell: Callable[[str], str]
    contract: str = "workload"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.right, name)

    @property
    def choices(self) -> Mapping[str, Any]:
        return {"G-11.shorter-lease": "allowed"}

    def open(self, place: Any, config: Any) -> Any:
        return SpelledHandle(self.right.open(place, config), self.spell)


@define(eq=False)
class SpelledHandle:
    inner: Any
    spell: Callable[[str], str]

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name in ("close", "reset", "inject", "pause"):
            return method
        if name == "snapshot":
            return lambda: {self.spell(key): version for key, version in method().items()}
        return lambda **arguments: _out(method(**_in(arguments, self.spell)), self.spell)


IDS = ("workload_id", "claim_id", "attempt_id", "provenance")


def _out(value: Any, spell: Callable[[str], str], member: str = "") -> Any:
    if isinstance(value, str) and type(value) is str:
        return spell(value) if member in IDS else value
    if isinstance(value, tuple | list):
        inner = "workload_id" if member == "" else member
        return type(value)(_out(each, spell, inner) for each in value)
    if attrs.has(type(value)):
        changes = {f.name: _out(getattr(value, f.name), spell, f.name) for f in attrs.fields(type(value))}
        return attrs.evolve(value, **changes)
    return value


def _in(arguments: dict[str, Any], spell: Callable[[str], str]) -> dict[str, Any]:
    """``spell`` of a spelling gives back the id."""
    return {name: spell(value) if name in IDS else value for name, value in arguments.items()}


GENERATED = re.compile("workload_[0-9a-f]{24}")
"""An id that the specification made; others were written by somebody."""


def random_spelling(seed: int) -> Callable[[str], str]:
    """Ids that look random, different with each seed; the inverse for what it gave out."""
    given: dict[str, str] = {}
    numbers = itertools.count(seed * 7_919)

    def spell(value: str) -> str:
        if value not in given:
            if GENERATED.match(value) is None:
                return value
            spelling = f"{next(numbers) * 2_654_435_761 % 2**64:016x}"
            given[value], given[spelling] = spelling, value
        return given[value]

    return spell


def with_random_ids(seed: int) -> Any:
    return Spelled(of(bindings()["workload"]), random_spelling(seed))


def texts(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a directory with its content."""
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(directory)), path.read_bytes()
