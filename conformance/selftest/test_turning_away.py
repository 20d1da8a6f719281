"""Calls that meet on a store that never waits: some are turned away, and that is no fault."""

from __future__ import annotations

from typing import Any

import pytest

from workcert.adversity.parallel import suite
from workcert.adversity.parallel.suite import run_parallel
from workcert.backends.registry import LoadedBackend, describe
from workcert.binding import bindings
from workcert.cases import builtin_cases, parse
from workcert.cases.model import Frozen
from workcert.judge.verdict import Kind
from workcert.linear import Made
from workcert.run.calling import Answered, Observed, Unavailable
from workcert.run.case import CaseRun, run_case
from workcert.run.engine import Effort, Options
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import StoreUnderTest
from workcert.run.turning_away import NO_RACE, for_nothing, shows_no_race
from workspec.core.scope import Call

from .miniatures.racing import Racing, RacingBackend
from .miniatures.turning_away import (
    GivesWay,
    HoldsAndWrites,
    HoldsItsStore,
    PausingBackend,
    TiredWithoutCause,
    TurnsAway,
    TurnsNearlyAllAway,
    Unsure,
    WritesAllTheSame,
)

HEADER = (
    '{"format": 1, "contract": "jobs", "name": "two", "title": "two", "requirements": ["JOB-GEN-01"], "profiles": [], '
    '"abilities": ["second_handle"], "config": {}, "handles": ["A", "B", "C"], "digest": null}\n'
)
ENQUEUE = (
    '{"id": "ID", "on": "ON", "at_ms": 1000000, "call": "enqueue", "args": {"envelopes": [{"id": "ID", "kind": "k"}]}'
)
COUNTS = '{"id": "n", "on": "A", "at_ms": 1000000, "call": "counts", "args": {"queue": null}}\n'
BOTH = ', "expect_one_of": [[{"ok": null}, {"ok": null}]]'


def enqueue(identifier: str, on: str, more: str = "") -> str:
    return ENQUEUE.replace("ID", identifier).replace("ON", on) + more + "}"


def two_at_once(expected: str = "", after: str = COUNTS, calls: tuple[tuple[str, str], ...] = ()) -> Any:
    calls = calls or (("a", "A"), ("b", "B"))
    block = ", ".join(enqueue(*each) for each in calls)
    steps = f'{{"id": "t", "together": [{block}]{expected}}}\n{after}'
    return parse(f'{HEADER}{steps}{{"end": {len(steps.splitlines())}}}\n')


def backend(around: type[Racing]) -> LoadedBackend:
    return describe("busy", RacingBackend("jobs", around))


def ran(around: type[Racing], case: Any) -> CaseRun:
    with StoreUnderTest.of(backend(around)) as store:
        return run_case(store, case)


def said_of(around: type[Racing], options: Options) -> list[Event]:
    said: list[Event] = []
    with StoreUnderTest.of(backend(around)) as store:
        run_parallel(store, options, said.append)
    return said


def tallied(said: list[Event], column: str) -> int:
    return sum(each.count for each in said if isinstance(each, Tallied) and each.column == column)


# The right ones ------------------------------------------------------------------------------------------------------


def test_a_store_that_never_waits_is_not_accused_and_what_it_turned_away_is_told() -> None:
    said = said_of(TurnsAway, Options(effort=Effort.CI, seed=5))
    failed = [each.failure for each in said if isinstance(each, CaseEnded) and each.failure]
    assert failed == []
    assert 0 < tallied(said, "turned away") < tallied(said, "calls")
    assert any(isinstance(each, CaseEnded) and each.verdict is Verdict.PASSED for each in said)


def test_who_is_turned_away_is_not_asked_for_the_written_outcome() -> None:
    three = (("a", "A"), ("b", "B"), ("c", "C"))
    expected = ', "expect_one_of": [[{"ok": null}, {"ok": null}, {"ok": null}]]'
    later = enqueue("z", "A", ', "expect": {"error": "Invalid"}') + "\n"
    run = ran(TurnsNearlyAllAway, two_at_once(expected, later, three))
    assert run.failure is None
    assert run.turned_away == 2
    assert run.steps[0].note == "together, 2 of 3 turned away"


def test_a_race_of_which_one_caller_comes_through_is_skipped() -> None:
    run = ran(TurnsNearlyAllAway, two_at_once(BOTH))
    assert (run.verdict, run.reason) == (Verdict.SKIPPED, NO_RACE)
    assert run.turned_away == 2


def test_programs_that_show_no_race_are_no_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    case = two_at_once()
    monkeypatch.setattr(suite, "program", lambda *_: case_without_its_end(case))
    said = said_of(TurnsNearlyAllAway, Options(examples=2))
    ended = [each for each in said if isinstance(each, CaseEnded)]
    assert {each.verdict for each in ended} == {Verdict.SKIPPED}
    assert ended[0].reason == NO_RACE


def case_without_its_end(case: Any) -> Any:
    return type(case)(case.header, case.steps[:1])


def test_what_may_have_been_done_has_its_place_or_none() -> None:
    for _ in range(3):
        assert ran(Unsure, two_at_once()).failure is None


HELD = tuple(
    case
    for case in builtin_cases("workload")
    if any(isinstance(step, Frozen) and step.point is None for step in case.steps)
)


def held(around: type[Racing]) -> list[CaseRun]:
    """The cases in which one call is held while others are made."""
    with StoreUnderTest.of(describe("held", PausingBackend("workload", around))) as store:
        return [run_case(store, case) for case in HELD]


def test_who_is_turned_away_while_another_is_held_shows_no_interleaving() -> None:
    runs = held(HoldsItsStore)
    assert not any(run.failure for run in runs)
    assert any("was turned away while another call was held: no interleaving" in run.reason for run in runs)


def test_a_held_call_may_give_way() -> None:
    assert HELD
    assert not any(run.failure for run in held(GivesWay))


DUTY = (
    '{"id": "ID", "on": "ON", "at_ms": 1000000, "call": "claim_duty", '
    '"args": {"name": "NAME", "holder": "ID", "lease_ms": 1000}}'
)


def duty(identifier: str, on: str, name: str) -> str:
    return DUTY.replace("ID", identifier).replace("ON", on).replace("NAME", name)


def test_what_hangs_on_whether_it_was_done_is_not_known() -> None:
    """Duties stand in no row: only who asks for one after it learns whether somebody has it."""
    block = ", ".join(duty(name, name.upper(), name) for name in "ab")
    later = "\n".join(duty(f"{name}2", "A", name) for name in "ab")
    case = parse(f'{HEADER}{{"id": "t", "together": [{block}]}}\n{later}\n{{"end": 3}}\n')
    runs = [ran(Unsure, case) for _ in range(4)]
    assert not any(run.failure for run in runs)
    assert any("whether a call at once was done is not known" in run.reason for run in runs)


# The wrong ones ------------------------------------------------------------------------------------------------------


def test_what_says_that_nothing_was_written_must_have_written_nothing() -> None:
    run = ran(WritesAllTheSame, two_at_once())
    assert run.verdict is Verdict.FAILED
    assert run.failure is not None
    assert run.failure.kind is Kind.ORDER


def test_a_caller_whom_nobody_disturbs_is_answered() -> None:
    later = "".join(enqueue(name, "A") + "\n" for name in "vwxyz")
    run = ran(TiredWithoutCause, two_at_once(after=later))
    assert run.failure is not None
    assert "tired" in run.failure.text


def test_what_is_turned_away_while_another_is_held_must_have_written_nothing() -> None:
    said = [run.failure.text for run in held(HoldsAndWrites) if run.failure]
    assert any("was turned away and said that nothing was written" in text for text in said), said


def made(caller: str, seen: Observed, begin: int, end: int) -> Made:
    return Made(caller, Call("promote_due", {"limit": 1}), 0, seen, begin, end)


@pytest.mark.parametrize("definite", [True, False])
def test_a_call_beside_which_none_runs_must_answer_in_a_block_too(definite: bool) -> None:
    busy = Unavailable(definite, "busy")
    contract = bindings()["jobs"].contract
    apart = [made("A", Answered(0), 1, 2), made("B", busy, 3, 4)]
    failure = for_nothing(contract, apart)
    assert failure is not None
    assert failure.text.endswith(
        "no other call ran beside promote_due, and the store said that it is unavailable: busy"
    )
    assert for_nothing(contract, [made("A", Answered(0), 1, 3), made("B", busy, 2, 4)]) is None


def test_one_caller_alone_is_no_race_however_many_calls_it_makes() -> None:
    busy = Unavailable(True, "busy")
    alone = [made("A", Answered(0), 1, 3), made("A", Answered(0), 4, 6), made("B", busy, 2, 5)]
    assert shows_no_race(alone)
    assert not shows_no_race([*alone, made("C", Answered(0), 1, 6)])
    assert not shows_no_race(alone[:2])
