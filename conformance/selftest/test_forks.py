"""Processes made by fork: a connection that is carried over is seen, a thread that is missing is not waited for."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workcert.adversity.handles.part import HANDLES
from workcert.adversity.handles.targets import misused, targets
from workcert.backends.coroutines import settled
from workcert.backends.registry import LoadedBackend, find
from workcert.cases.model import Way
from workcert.children import WAITED, worker
from workcert.children.messages import Reply
from workcert.children.worker import forked
from workcert.run.calling import Answered, Crashed, Observed
from workcert.run.case import CaseRun, run_case
from workcert.run.engine import MOST_HUNG, Options
from workcert.run.events import CaseEnded, Event, Verdict
from workcert.run.store import StoreUnderTest
from workcert.watched import installed

from .command_line import SQLITE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of their own need a system with fork")
CONTRACTS = ("jobs", "workload")
TRIED = {"jobs": ("ack", "get_job"), "workload": ("cancel", "get")}
"""A call that writes, and one that reads."""
PATIENCE_S = 0.7


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def backend(spec: str, contract: str) -> LoadedBackend:
    return next(each for each in find(spec) if each.binding.name == contract)


def misuses(name: str, contract: str) -> Iterator[CaseRun]:
    of = backend(name if name == SQLITE else f"miniatures.misused:{name}", contract)
    for target in targets(of):
        if target.operation in TRIED[contract]:
            with StoreUnderTest.of(of) as store:
                yield run_case(store, misused(target, Way.FORKED))


# Connections ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_store_that_goes_on_with_a_connection_of_its_parent_is_caught(contract: str) -> None:
    for run in misuses("CARRIES_ON", contract):
        assert run.failure is not None
        assert run.failure.requirement == {"jobs": "JOB-GEN-01", "workload": "WRK-GEN-01"}[contract]
        assert run.failure.text.startswith("a connection was carried over a fork: ")
        assert f"to {contract}.db that its parent had opened" in run.failure.text


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("name", ["OPENS_ANEW", SQLITE])
def test_one_that_opens_anew_or_refuses_is_right(name: str, contract: str) -> None:
    assert {run.verdict for run in misuses(name, contract)} == {Verdict.PASSED}


def in_a_fork(make: Callable[[], Any]) -> Reply:
    return forked(lambda: Answered(make()), lambda: Answered(None))


def test_only_a_statement_that_comes_to_a_file_of_the_parent_is_seen(tmp_path: Path) -> None:
    with installed("sqlite3"):
        ours = sqlite3.connect(tmp_path / "a.db")
        ours.row_factory = sqlite3.Row
        closed, memory = sqlite3.connect(tmp_path / "b.db"), sqlite3.connect(":memory:")
        closed.close()

        def anew() -> int:
            with sqlite3.connect(tmp_path / "a.db") as connection:
                return len(connection.execute("PRAGMA user_version").fetchall())

        def on_closed() -> str:
            with pytest.raises(sqlite3.ProgrammingError) as raised:
                closed.execute("SELECT 1")
            return str(raised.value)

        assert in_a_fork(lambda: ours.execute("SELECT 1").fetchone()[0]).carried == ("SELECT 1", "a.db")
        assert in_a_fork(lambda: ours.cursor().execute("  PRAGMA\nuser_version").fetchone()[0]).carried is not None
        for right in (anew, on_closed, lambda: memory.execute("SELECT 1").fetchone()[0], lambda: ours.in_transaction):
            assert in_a_fork(right).carried is None
        # In the process that has opened it nothing is noted, then and later.
        assert ours.execute("SELECT 1").fetchone()[0] == 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told to the processes in which a store is opened, too: they import it anew."""
    monkeypatch.setattr(worker, "WITHOUT_THREADS_S", PATIENCE_S)
    monkeypatch.setenv("WORKCERT_SELFTEST_PATIENCE_S", str(PATIENCE_S))


# Threads --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(("name", "said"), [("BLOCKS_ON_A_POOL", WAITED), ("AWAITS_A_POOL", "no event loop outlives")])
def test_who_waits_for_a_thread_of_its_parent_is_left_out_soon(name: str, said: str, contract: str) -> None:
    began_at = time.monotonic()
    found = list(misuses(name, contract))
    assert {run.verdict for run in found} == {Verdict.PASSED}
    for run in found:
        (left_out,) = [step for step in run.steps if not step.applicable]
        assert said in left_out.note
    assert time.monotonic() - began_at < len(found) * (PATIENCE_S + 10)


@pytest.mark.usefixtures("impatient")
def test_what_a_call_has_done_before_it_waits_is_neither_right_nor_wrong() -> None:
    writes, reads = sorted(misuses("WRITES_THEN_WAITS", "jobs"), key=lambda run: run.verdict.value, reverse=True)
    assert (writes.verdict, reads.verdict) == (Verdict.UNKNOWN, Verdict.PASSED)
    assert writes.failure is None
    assert "what it has done by then is not known" in writes.reason


@pytest.mark.usefixtures("impatient")
def test_after_some_that_waited_in_vain_the_others_are_left_out() -> None:
    events: list[Event] = []
    began_at = time.monotonic()
    with StoreUnderTest.of(backend("miniatures.misused:BLOCKS_ON_A_POOL", "workload")) as store:
        HANDLES.run(store, Options(only=("WRK-CLM", "WRK-HBT", "WRK-STR", "WRK-FNC")), events.append)
    left_out = [each for each in events if isinstance(each, CaseEnded) and each.reason == WAITED]
    assert {each.verdict for each in left_out} == {Verdict.SKIPPED}
    assert len(left_out) > MOST_HUNG
    assert [bool(each.steps) for each in left_out].count(True) == MOST_HUNG
    assert time.monotonic() - began_at < 60


def test_what_is_awaited_in_a_fork_is_said_to_be_lost() -> None:
    async def answer() -> int:
        return 1

    assert settled(answer()) == 1
    reply = forked(lambda: observed(lambda: settled(answer())), lambda: Answered(None))
    assert "no event loop outlives a fork" in reply.in_vain


def observed(make: Callable[[], Any]) -> Observed:
    try:
        return Answered(make())
    except Exception as error:
        return Crashed(str(error), error)
