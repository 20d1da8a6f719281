"""What adapters do that is odd, or wrong in ways that no store is: each is taken for what it is."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from attrs import evolve

from workcert.backends.registry import BackendError, LoadedBackend, describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases import builtin_cases, calls_of
from workcert.cases.library import load_case
from workcert.run.actors import with_actors
from workcert.run.case import CaseRun, run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workspec.jobs.vocabulary import AdmissionUnit
from workspec.workload.vocabulary import WorkloadError
from workstore.backends import MemoryBackend, MemoryJobsBackend

CLAIM = "workload/clm-06b-re-claim-at-the-instant"


class Wrapped:
    """A handle on the in-memory store with some of its methods in other hands."""

    hidden: frozenset[str] = frozenset()

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name in self.hidden:
            raise AttributeError(name)
        return getattr(self.inner, name)


def backend(handle: type[Any] = Wrapped, **claims: Any) -> LoadedBackend:
    class Adapter:
        contract = "workload"
        profiles = claims.get("profiles", MemoryBackend().profiles)
        abilities = claims.get("abilities", MemoryBackend().abilities)
        inner = MemoryBackend()
        actors: Any = claims.get("actors", {})
        codes: Any = claims.get("codes", {})

        def open(self, place: Any, config: Mapping[str, Any]) -> Any:
            return handle(self.inner.open(place, config))

    return describe("odd", Adapter())


def ran(found: LoadedBackend, name: str) -> CaseRun:
    with StoreUnderTest.of(found) as store:
        return run_case(store, load_case(name))


def cases_with(call: str) -> list[str]:
    return [c.header.name for c in builtin_cases("workload") if any(each.call == call for each in calls_of(c))]


class Reaper(Wrapped):
    """Its engine has a name of its own, in answers too."""

    def get(self, **arguments: Any) -> Any:
        return with_actors(self.inner.get(**arguments), {"authority.recovery": "reaper"})


def test_actors_are_mapped_in_answers_as_in_records() -> None:
    names = [name for name in cases_with("recover_expired") if name in cases_with("get")]
    assert names
    for name in names:
        assert ran(backend(Reaper, actors={"reaper": "authority.recovery"}), name).failure is None, name
    told = [ran(backend(Reaper), name).failure for name in names]
    assert any(failure is not None for failure in told)


class Talking(Wrapped):
    """It puts a message where details belong."""

    def claim(self, **arguments: Any) -> Any:
        try:
            return self.inner.claim(**arguments)
        except WorkloadError as error:
            raise WorkloadError(error.code, "too early, sorry") from error  # type: ignore[arg-type]


def test_details_that_are_no_mapping_are_a_finding() -> None:
    failures = [ran(backend(Talking), name).failure for name in cases_with("claim")[:40]]
    told = [failure for failure in failures if failure is not None]
    assert told
    assert all(failure.text == "the details of the refusal differ" for failure in told)
    assert all("(a str, which is no mapping)" in str(failure.differences) for failure in told)


class Cancelled(Wrapped):
    def get(self, **_arguments: Any) -> Any:
        raise GeneratorExit("cancelled")


def test_whatever_a_read_raises_is_a_finding() -> None:
    failure = ran(backend(Cancelled), CLAIM).failure
    assert failure is not None
    assert "GeneratorExit: cancelled" in failure.text


class Blind(Wrapped):
    hidden = frozenset({"get"})


def test_a_store_without_get_is_judged_by_its_answers() -> None:
    claims = {"profiles": {"CORE"}, "abilities": {"second_handle", "reset"}}
    assert ran(backend(Blind, **claims), CLAIM).verdict is Verdict.PASSED


class Coroutines:
    """Coroutines over the rules: one that is paused has decided, awaits what it is paused with, and then commits."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.callback: Any = None
        self.awaited = 0

    def pause(self, callback: Any) -> None:
        self.callback = callback

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name in ("close", "reset", "snapshot", "inject"):
            return found

        async def call(**arguments: Any) -> Any:
            callback, self.callback = self.callback, None
            if callback is None:
                return found(**arguments)
            given: list[Any] = []
            decided = threading.Event()
            go_on = threading.Event()

            def held() -> None:
                decided.set()
                go_on.wait(10)

            self.inner.pause(held)
            with ThreadPoolExecutor(1) as pool:
                making = pool.submit(lambda: found(**arguments))
                while not decided.is_set() and not making.done():
                    await asyncio.sleep(0.001)
                if decided.is_set():
                    given.append(callback())
                    if inspect.isawaitable(given[0]):
                        self.awaited += 1
                        await given[0]
                go_on.set()
                return making.result()

        return call


def test_a_coroutine_awaits_what_it_is_paused_with() -> None:
    specification = of(bindings()["workload"])
    handles: list[Coroutines] = []

    class Adapter:
        contract = "workload"
        profiles = specification.profiles
        abilities = specification.abilities
        forget = specification.forget

        def open(self, place: Any, config: Mapping[str, Any]) -> Any:
            handles.append(Coroutines(specification.open(place, config)))
            return handles[-1]

    frozen = [c.header.name for c in builtin_cases("workload") if "pause" in c.header.abilities]
    verdicts = {name: ran(describe("coroutines", Adapter()), name).verdict for name in frozen}
    assert verdicts == dict.fromkeys(frozen, Verdict.PASSED)
    assert sum(handle.awaited for handle in handles) >= len(frozen)


def test_actors_and_codes_are_texts() -> None:
    with pytest.raises(BackendError, match="actors maps 'x' to 3"):
        backend(actors={"x": 3})
    with pytest.raises(BackendError, match="is no code of the contract"):
        backend(codes={"E": ["WORKLOAD_INVALID"]})


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda units: [AdmissionUnit(None) for _ in units],  # type: ignore[arg-type]
        lambda units: [AdmissionUnit(("x",)) for _ in units],  # type: ignore[arg-type]
        lambda units: [AdmissionUnit((evolve(unit.claims[0], envelope=None),)) for unit in units],
        lambda units: [None for _ in units],
        lambda _units: None,
    ],
    ids=["no claims", "texts", "no envelope", "nothing", "None"],
)
def test_an_admission_of_another_shape_is_a_finding(spoilt: Callable[[Any], Any]) -> None:
    class Spoilt(Wrapped):
        def admit(self, **arguments: Any) -> Any:
            return spoilt(self.inner.admit(**arguments))

    class Adapter:
        contract = "jobs"
        profiles = MemoryJobsBackend().profiles
        abilities = MemoryJobsBackend().abilities
        inner = MemoryJobsBackend()

        def open(self, place: Any, config: Mapping[str, Any]) -> Any:
            return Spoilt(self.inner.open(place, config))

    failure = ran(describe("odd", Adapter()), "jobs/adm-06-what-an-admission-changes").failure
    assert failure is not None
    assert failure.requirement.startswith("JOB-ADM")
