"""An adapter of coroutines is certified like one of plain methods."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

from workcert.backends.protocol import Place
from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases.library import load_case
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest

RIGHT = of(bindings()["workload"])


class AsyncHandle:
    """The specification's handle, every method a coroutine that gives way to others once."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        for name in (*bindings()["workload"].calls.calls, "close", "reset", "inject", "snapshot"):
            setattr(self, name, _slow(getattr(handle, name)))

    def pause(self, callback: Any) -> None:
        self._handle.pause(callback)


def _slow(method: Any) -> Any:
    async def call(**arguments: Any) -> Any:
        await asyncio.sleep(0)
        return method(**arguments)

    return call


class AsyncAdapter:
    contract = "workload"
    profiles = RIGHT.profiles
    abilities = RIGHT.abilities - {"pause"}

    async def open(self, place: Place, config: Mapping[str, Any]) -> AsyncHandle:
        await asyncio.sleep(0)
        return AsyncHandle(RIGHT.open(place, config))


def test_cases_run_on_coroutines() -> None:
    with StoreUnderTest.of(describe("coroutines", AsyncAdapter())) as store:
        for name in (
            "09a-admission-race",
            "15-stale-worker",
            "18-resume-from-checkpoint",
            "43a-deadline-after-restart",
        ):
            run = run_case(store, load_case(f"workload/{name}"))
            assert run.verdict is Verdict.PASSED, run


def test_plain_functions_that_give_coroutines_are_awaited() -> None:
    """As a decorator that logs makes them: nothing about them says coroutine."""

    class Decorated(AsyncHandle):
        def __init__(self, handle: Any) -> None:
            super().__init__(handle)
            for name, method in list(vars(self).items()):
                if callable(method):
                    setattr(self, name, lambda _method=method, **arguments: _method(**arguments))

    class Adapter(AsyncAdapter):
        async def open(self, place: Place, config: Mapping[str, Any]) -> AsyncHandle:
            return Decorated(RIGHT.open(place, config))

    with StoreUnderTest.of(describe("decorated", Adapter())) as store:
        assert run_case(store, load_case("workload/15-stale-worker")).verdict is Verdict.PASSED


def test_a_coroutine_that_breaks_a_rule_is_found() -> None:
    class Forgetful(AsyncHandle):
        async def start(self, **_arguments: Any) -> None:
            return None

    class Wrong(AsyncAdapter):
        async def open(self, place: Place, config: Mapping[str, Any]) -> AsyncHandle:
            handle = Forgetful(RIGHT.open(place, config))
            handle.start = Forgetful.start.__get__(handle)  # type: ignore[method-assign]
            assert inspect.iscoroutinefunction(handle.start)
            return handle

    with StoreUnderTest.of(describe("wrong", Wrong())) as store:
        run = run_case(store, load_case("workload/18-resume-from-checkpoint"))
    assert run.failure is not None
    assert run.failure.requirement == "WRK-STR-02"
