"""Handles that are misused: stores that go wrong then are caught, and those that refuse clearly are not."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from workcert.adversity.handles import HANDLES
from workcert.adversity.handles.crowds import crowds
from workcert.adversity.handles.skew import run_skews
from workcert.adversity.handles.targets import Target, misused, shared, targets
from workcert.backends.registry import LoadedBackend, describe, find
from workcert.binding import bindings
from workcert.cases import parse, write
from workcert.cases.model import Case, Way
from workcert.cases.reading import CaseError
from workcert.run import beside, calling
from workcert.run.case import CaseRun, run_case
from workcert.run.engine import MOST_HUNG, Effort, Options
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import BOUND, StoreUnderTest

from .command_line import MEMORY, SQLITE
from .miniatures.sql_stores import BoundToItsThread, SqlBackend, SqlHandle, WritesWhenOpened
from .soon_told import soon_told  # noqa: F401 - a fixture

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of their own need a system with fork")
ROUNDS = 4
CONTRACTS = ("jobs", "workload")
FIRST = {"jobs": ("enqueue", "ack"), "workload": ("admit", "start", "cancel")}
"""Operations that are tried on wrong stores: to try all of them shows no more."""


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def backend(spec: str, contract: str) -> LoadedBackend:
    return next(each for each in find(spec) if each.binding.name == contract)


def miniature(name: str, contract: str) -> LoadedBackend:
    return backend(f"miniatures.misused:{name}", contract)


@cache
def known(contract: str) -> tuple[Target, ...]:
    return targets(backend(SQLITE, contract))


def runs(of: LoadedBackend, cases: Iterator[Case]) -> list[CaseRun]:
    with StoreUnderTest.of(of) as store:
        return [run_case(store, case) for case in cases]


def in_way(of: LoadedBackend, way: Way) -> list[CaseRun]:
    wanted = ("transaction",) if way is Way.LEFT_OPEN else FIRST[of.binding.name]
    return runs(of, (misused(each, way) for each in known(of.binding.name) if each.operation in wanted))


def at_once(of: LoadedBackend) -> list[CaseRun]:
    found = [shared(each, ROUNDS) for each in known(of.binding.name) if each.operation in FIRST[of.binding.name]]
    return runs(of, iter([*(case for case in found if case is not None), *crowds(of, ROUNDS)]))


def verdicts(found: list[CaseRun]) -> set[Verdict]:
    return {run.verdict for run in found}


def part(of: LoadedBackend, *only: str) -> tuple[list[CaseEnded], Counter[str]]:
    ended: list[CaseEnded] = []
    tallied: Counter[str] = Counter()

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded):
            ended.append(event)
        if isinstance(event, Tallied):
            tallied[f"{event.row}: {event.column}"] += event.count

    with StoreUnderTest.of(of) as store:
        HANDLES.run(store, Options(effort=Effort.CI, only=only), emit)
    return ended, tallied


# Right stores ---------------------------------------------------------------------------------------------------------


def is_right(found: tuple[list[CaseEnded], Counter[str]], least: int) -> None:
    ended, tallied = found
    assert {each.verdict for each in ended} <= {Verdict.PASSED, Verdict.SKIPPED}
    assert tallied["after close: refused"] > least
    assert tallied["by another thread: right"] > least
    assert tallied["at once on one handle: tried"] > least


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("spec", [MEMORY, "workcert.backends.specification:SPECIFICATION"])
def test_a_right_store_is_not_accused(spec: str, contract: str) -> None:
    is_right(part(backend(spec, contract)), 10)


@pytest.mark.parametrize(("contract", "only"), [("jobs", ("enqueue", "admit")), ("workload", ("admit", "claim"))])
def test_the_sqlite_store_is_not_accused(contract: str, only: tuple[str, ...]) -> None:
    """Of a few operations; the suite tries all of them on it."""
    is_right(part(backend(SQLITE, contract), *only), 1)


@POSIX
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("name", ["ONE_THREAD", "ONE_AT_A_TIME"])
def test_a_clear_refusal_is_no_fault(name: str, contract: str) -> None:
    found = miniature(name, contract)
    assert verdicts(in_way(found, Way.OTHER_THREAD)) == {Verdict.PASSED}
    assert verdicts(at_once(found)) == {Verdict.PASSED}


def test_a_refusal_is_counted_as_one() -> None:
    _ended, tallied = part(miniature("ONE_THREAD", "workload"), "cancel")
    assert tallied["by another thread: refused"] > 0
    assert tallied["by another thread: right"] == 0


# Wrong ones -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("name", ["MIXES_ANSWERS", "LOSES_WRITES"])
def test_what_goes_wrong_between_threads_is_caught(name: str, contract: str) -> None:
    assert Verdict.FAILED in verdicts(at_once(miniature(name, contract)))


def test_who_waits_for_ever_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "CALL_LIMIT_S", 0.25)
    found = miniature("DEADLOCKS", "workload")
    hung = [run for run in at_once(found) if run.hung]
    assert hung
    assert "has not answered within 0.25 seconds" in hung[0].reason
    ended, _tallied = part(found, "cancel")
    assert [each.verdict for each in ended].count(Verdict.UNKNOWN) == MOST_HUNG


@pytest.mark.usefixtures("soon_told")
def test_a_failure_is_shrunk_to_a_case_that_shows_it() -> None:
    found = miniature("SILENT_WHEN_CLOSED", "workload")
    ended, _tallied = part(found, "cancel")
    case = next(each.case for each in ended if each.executions and each.case is not None)
    assert parse(write(case)) == case
    assert len(case.steps) <= 3
    assert verdicts(runs(found, iter([case]))) == {Verdict.FAILED}
    assert verdicts(runs(backend(SQLITE, "workload"), iter([case]))) == {Verdict.PASSED}


@POSIX
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("UNSTEADY", Way.OTHER_THREAD),
        ("REFUSES_LATE", Way.OTHER_THREAD),
        ("SILENT_WHEN_FORKED", Way.FORKED),
        ("BROKEN_BY_FORK", Way.FORKED),
        ("SILENT_WHEN_CLOSED", Way.CLOSED),
        ("FALLS_WHEN_CLOSED", Way.CLOSED),
        ("CLOSES_ONCE", Way.CLOSED_TWICE),
    ],
)
def test_a_store_that_cannot_bear_it_is_caught(name: str, way: Way, contract: str) -> None:
    assert Verdict.FAILED in verdicts(in_way(miniature(name, contract), way))


def restarted_beside(kind: Callable[..., SqlHandle]) -> set[tuple[Verdict, str]]:
    """Of a store that cannot be asked not to wait: how each case ended, and what became of the misused call."""
    of = describe("miniature", SqlBackend(bindings()["jobs"], kind, configurable=frozenset()))
    found = in_way(of, Way.RESTARTED_MEANWHILE)
    return {(run.verdict, step.note) for run in found for step in run.steps if step.id.endswith("_way")}


def test_all_others_restart_beside_a_call_although_they_have_to_wait() -> None:
    """Where that is seen, and another thread may open them."""
    assert restarted_beside(WritesWhenOpened) == {(Verdict.PASSED, "restarted_meanwhile: right")}
    assert restarted_beside(BoundToItsThread) == {(Verdict.PASSED, BOUND)}


def test_nothing_is_opened_beside_a_call_where_nobody_sees_that_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "is_seen", lambda _module: False)
    ((verdict, note),) = restarted_beside(WritesWhenOpened)
    assert verdict is Verdict.PASSED
    assert "the kit cannot see that it does" in note


def test_an_answer_in_spite_of_a_close_must_be_true() -> None:
    found = in_way(miniature("ANSWERS_WHEN_CLOSED_MEANWHILE", "workload"), Way.CLOSED_MEANWHILE)
    assert Verdict.FAILED in verdicts(found)


@POSIX
def test_a_transaction_that_nobody_ended_is_not_committed() -> None:
    assert verdicts(in_way(miniature("COMMITS_AT_THE_END", "jobs"), Way.LEFT_OPEN)) == {Verdict.FAILED}
    assert verdicts(in_way(backend(SQLITE, "jobs"), Way.LEFT_OPEN)) == {Verdict.PASSED}


@POSIX
@pytest.mark.parametrize(
    ("spec", "contract", "expected"),
    [
        ("miniatures.misused:TRUSTS_ITS_CLOCK", "jobs", Verdict.FAILED),
        ("miniatures.misused:SWEEPS_BY_ITS_CLOCK", "workload", Verdict.FAILED),
        (SQLITE, "jobs", Verdict.PASSED),
        (SQLITE, "workload", Verdict.PASSED),
    ],
)
def test_clocks_an_hour_apart(spec: str, contract: str, expected: Verdict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKCERT_SELFTEST_STARTED", str(time.time()))
    ended: list[Event] = []
    with StoreUnderTest.of(backend(spec, contract)) as store:
        run_skews(store, Options(), ended.append)
    assert expected in {each.verdict for each in ended if isinstance(each, CaseEnded)}
    if expected is Verdict.PASSED:
        assert {each.verdict for each in ended if isinstance(each, CaseEnded)} == {Verdict.PASSED}


# Case files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_case_can_be_written_and_read(contract: str) -> None:
    for target in known(contract):
        for way in Way:
            if (target.operation == "transaction") == (way is Way.LEFT_OPEN):
                case = misused(target, way)
                assert parse(write(case)) == case
        block = shared(target, 3)
        assert block is None or parse(write(block)) == block


HEADER = '{"format":1,"contract":"workload","name":"a","title":"t","requirements":[],"profiles":[],"abilities":[%s],'
REST = '"config":{},"handles":["A"],"digest":null}\n'
GET = '{"id":"g","on":"A","call":"get","args":{"workload_id":"w","fresh":true}}'
SAME = GET[:-1] + ',"version":"same"}'


@pytest.mark.parametrize(
    ("step", "abilities", "text"),
    [
        (f'"misuse":{GET},"way":"sideways"', "", "unknown way 'sideways'"),
        (f'"misuse":{GET},"way":"left_open"', "", "left_open takes a tx"),
        (f'"misuse":{GET},"way":"forked"', "", "the steps need the ability 'kill'"),
        (f'"misuse":{SAME},"way":"closed"', '"second_handle"', "has no meaning here"),
        ('"misuse":{"id":"r","restart":true},"way":"closed"', "", "a restart step inside a misuse step"),
    ],
)
def test_a_misuse_that_makes_no_sense_is_refused(step: str, abilities: str, text: str) -> None:
    lines = f'{HEADER % abilities}{REST}{{"id":"m",{step}}}\n{{"end":1}}\n'
    with pytest.raises(CaseError, match=text):
        parse(lines)
