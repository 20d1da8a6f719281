"""Callers at once: stores that race are caught, shown in lanes, and kept as cases; right ones are never accused."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import pytest

from workcert.adversity.parallel import shrinking
from workcert.adversity.parallel.authors import author_of
from workcert.adversity.parallel.programs import Shape, program
from workcert.adversity.parallel.suite import NAME, run_parallel
from workcert.backends.registry import LoadedBackend, describe, find
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases import CaseError, parse, write
from workcert.cases.model import Case, Together, required_abilities
from workcert.judge import together
from workcert.judge.verdict import Failure, Kind
from workcert.report.failure_text import failure_text
from workcert.report.failures import failure_of
from workcert.run.case import CaseRun, run_case
from workcert.run.engine import Effort, Options
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import BOUND, StoreUnderTest

from .miniatures.racing import RACES, Race, RacingBackend
from .miniatures.sql_stores import BoundToItsThread, SqlBackend

MOST_SEEDS = 3
"""Which threads meet is luck: so often a store that races may come off unseen."""


def ended(backend: LoadedBackend, options: Options) -> list[CaseEnded]:
    said: list[Event] = []
    with StoreUnderTest.of(backend) as store:
        run_parallel(store, options, said.append)
    return [event for event in said if isinstance(event, CaseEnded)]


def racing(race: Race) -> LoadedBackend:
    return describe("racing", RacingBackend(race.contract, race.around))


class _Found(Exception):  # noqa: N818 - ends a run at its first finding
    pass


@cache
def caught(race: Race) -> CaseEnded:
    """The first that is found: of the next ones nothing is asked."""
    found: list[CaseEnded] = []

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded) and event.failure is not None:
            found.append(event)
            raise _Found

    for seed in range(MOST_SEEDS):
        with StoreUnderTest.of(racing(race)) as store, suppress(_Found):
            run_parallel(store, Options(seed=seed), emit)
        if found:
            return found[0]
    raise AssertionError(f"{race.around.__name__} was not caught")


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.around.__name__)
def test_a_store_that_races_is_caught(race: Race) -> None:
    found = caught(race)
    assert found.verdict in (Verdict.FAILED, Verdict.FLAKY)
    assert found.failure is not None
    assert race.right & set(found.failure.requirements)
    assert found.reproduced is not None
    assert found.reproduced[1] > 1
    kept = found.case
    assert kept is not None
    block = kept.steps[-1]
    assert isinstance(block, Together)
    assert len(block.calls) <= 12
    assert parse(write(kept)) == kept


def test_what_failed_is_drawn_and_replays() -> None:
    race = next(each for each in RACES if each.around.__name__ == "UncountedAttempt")
    found = caught(race)
    text = failure_text(failure_of(bindings()["workload"], found), "racing")
    assert "no serial order of the calls explains what was seen" in " ".join(text.split())
    lanes = [line for line in text.splitlines() if "┌" in line]
    assert any("claim" in line for line in lanes)
    assert "An order that comes furthest" in text
    assert found.case is not None
    with StoreUnderTest.of(racing(race)) as store:
        assert run_case(store, found.case).verdict is Verdict.FAILED


@pytest.mark.parametrize("name", ["memory", "sqlite"])
@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_a_right_store_is_not_accused(name: str, contract: str) -> None:
    (backend,) = (each for each in find(name) if each.binding.name == contract)
    for each in ended(backend, Options(effort=Effort.QUICK, seed=7)):
        assert each.verdict in (Verdict.PASSED, Verdict.SKIPPED), each.failure
        assert each.name.startswith(NAME)


@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_the_specification_is_not_accused(contract: str) -> None:
    backend = describe("specification", of(bindings()[contract]))
    assert [each.verdict for each in ended(backend, Options(seed=3))] == [Verdict.PASSED, Verdict.SKIPPED]


def test_programs_are_those_of_their_seed() -> None:
    backend = describe("specification", of(bindings()["jobs"]))
    methods = frozenset(backend.binding.calls.calls)

    def text(seed: int) -> str:
        return write(program(backend, methods, author_of("jobs"), Random(seed), Shape(3, 3)))

    assert text(1) == text(1)
    assert text(1) != text(2)


def test_what_nobody_knows_is_told_and_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MOST_DECISIONS", 12)
    said = ended(find("memory")[0], Options(seed=1))
    (unknown,) = (each for each in said if each.name.endswith("unknown"))
    assert unknown.verdict is Verdict.SKIPPED
    assert "nobody knows whether an order fits: no order was found among 12 decisions" in unknown.reason
    assert not any(each.failure for each in said)


def test_what_is_tallied_is_what_was_asked_for() -> None:
    said: list[Event] = []
    with StoreUnderTest.of(find("memory")[0]) as store:
        run_parallel(store, Options(examples=4), said.append)
    tallied = {(each.row, each.column): each for each in said if isinstance(each, Tallied)}
    assert ("threads", "histories") in tallied
    assert sum(each.count for each in said if isinstance(each, Tallied) and each.column == "histories") == 4


def test_where_the_least_case_never_shows_again_the_whole_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Luck, made: what is smaller fails the first time that it is run, and never after it."""
    whole = parse(case_of(("a1", "A", '"w"'), ("a2", "A", '"w"'), ("b1", "B", '"w"')))
    failure = Failure(("WRK-MWR-05",), Kind.ORDER, "no order")
    seen: set[str] = set()

    def luck(_store: object, case: Case) -> CaseRun:
        first = write(case) not in seen
        seen.add(write(case))
        fails = case is whole or first
        return CaseRun(Verdict.FAILED, failure=failure) if fails else CaseRun(Verdict.PASSED)

    monkeypatch.setattr(shrinking, "run_case", luck)
    with StoreUnderTest.of(find("memory")[0]) as store:
        least, _spent = shrinking.fewest(store, shrinking.Shown(whole, failure, (), (1, 1)))
    assert least.reproduced == (shrinking.CONFIRMING, shrinking.CONFIRMING)
    block = least.case.steps[-1]
    assert isinstance(block, Together)
    assert len(block.calls) == 3


# Cases ---------------------------------------------------------------------------------------------------------------

HEADER = (
    '{"format": 1, "contract": "workload", "name": "callers", "title": "callers", "requirements": ["WRK-MWR-05"], '
    '"profiles": [], "abilities": ABILITIES, "config": {}, "handles": ["A", "B"], "digest": null}\n'
)
CALL = '{"id": "ID", "on": "ON", "call": "get", "args": {"workload_id": WORK}}'


def case_of(*calls: tuple[str, str, str], more: str = "", abilities: str = '["second_handle"]') -> str:
    written = (CALL.replace("ID", i).replace("ON", on).replace("WORK", work) for i, on, work in calls)
    block = f'{{"id": "t", "together": [{", ".join(written)}]{more}}}\n'
    return HEADER.replace("ABILITIES", abilities) + block + '{"end": 1}\n'


def test_a_caller_may_refer_to_its_own_calls() -> None:
    case = parse(case_of(("a1", "A", '"w"'), ("a2", "A", '{"$ref": "a1.workload.workload_id"}'), ("b1", "B", '"w"')))
    assert parse(write(case)) == case


def test_a_caller_may_not_wait_for_another() -> None:
    with pytest.raises(CaseError, match="b1"):
        parse(case_of(("b1", "B", '"w"'), ("a1", "A", '{"$ref": "b1.workload.workload_id"}')))


def test_processes_of_their_own_need_the_ability() -> None:
    text = case_of(
        ("a1", "A", '"w"'), ("b1", "B", '"w"'), more=', "apart": true', abilities='["kill", "second_handle"]'
    )
    case = parse(text)
    assert "kill" in required_abilities(case)
    assert parse(write(case)) == case


def test_a_call_that_refers_to_a_refused_one_is_not_made() -> None:
    text = case_of(("a1", "A", '"w"'), ("a2", "A", '{"$ref": "a1.workload.workload_id"}'), ("b1", "B", '"w"'))
    with StoreUnderTest.of(find("memory")[0]) as store:
        run = run_case(store, parse(text))
    assert run.verdict is Verdict.PASSED
    shown: Any = run.steps[0].observed
    assert shown.value[1] == "not made"


def test_callers_take_turns_as_often_as_they_did_before() -> None:
    """Other threads of the process are not left with the switches of a race."""
    before, threads = sys.getswitchinterval(), threading.active_count()
    ended(find("memory")[0], Options(examples=2))
    assert sys.getswitchinterval() == before
    assert threading.active_count() == threads


def test_programs_that_cannot_be_made_at_once_are_no_passes() -> None:
    bound = describe("bound", SqlBackend(bindings()["workload"], BoundToItsThread))
    found = ended(bound, Options(effort=Effort.QUICK))
    assert {each.verdict for each in found} == {Verdict.SKIPPED}
    assert found[0].reason == BOUND
