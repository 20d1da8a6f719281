"""What adapters do that is odd, or wrong in ways that no store is: each is taken for what it is."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from workcert.backends.registry import BackendError, LoadedBackend, describe
from workcert.cases.library import load_case
from workcert.run.case import CaseRun, run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workspec.workload.vocabulary import WorkloadError
from workstore.backends import MemoryBackend

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
    from workcert.cases import builtin_cases, calls_of

    return [c.header.name for c in builtin_cases("workload") if any(each.call == call for each in calls_of(c))]


class Reaper(Wrapped):
    """Its engine has a name of its own, in answers too."""

    def get(self, **arguments: Any) -> Any:
        return renamed(self.inner.get(**arguments), {"authority.recovery": "reaper"})


def renamed(value: Any, actors: Mapping[str, str]) -> Any:
    from workcert.run.actors import with_actors

    return with_actors(value, actors)


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
    run = ran(backend(Talking), CLAIM)
    assert run.verdict in (Verdict.FAILED, Verdict.PASSED)
    failures = [ran(backend(Talking), name).failure for name in cases_with("claim")[:40]]
    assert any(failure is not None and "details" in failure.text for failure in failures)


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


class Coroutines(Wrapped):
    """Every method is a coroutine; what it is paused with it awaits."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.callback: Any = None

    def pause(self, callback: Any) -> None:
        self.callback = callback

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name.startswith("_") or not callable(found) or name in ("close", "reset", "snapshot", "inject"):
            return found

        async def call(**arguments: Any) -> Any:
            callback, self.callback = self.callback, None
            if callback is not None and name != "get":
                waiting: list[Any] = []
                self.inner.pause(lambda: waiting.append(True))
                # Between read and write the in-memory store cannot be awaited in: the others commit before it reads.
                given = callback()
                if inspect.isawaitable(given):
                    await given
                self.inner.pause(None)
            return found(**arguments)

        return call


def test_a_coroutine_awaits_what_it_is_paused_with() -> None:
    frozen = [name for name in cases_with("claim") if "pause" in load_case(name).header.abilities]
    run = ran(backend(Coroutines), frozen[0])
    assert run.verdict is not Verdict.UNKNOWN


def test_actors_and_codes_are_texts() -> None:
    with pytest.raises(BackendError, match="actors maps 'x' to 3"):
        backend(actors={"x": 3})
    with pytest.raises(BackendError, match="is no code of the contract"):
        backend(codes={"E": ["WORKLOAD_INVALID"]})
