"""Damaged files and failing disks: stores that say nothing of them are caught, right ones are not accused."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

from workcert.adversity.crashes.damages import damages, filling, run_damages
from workcert.adversity.crashes.sweep import MOST_WRITES, fail_each, run_disks
from workcert.adversity.crashes.targets import Target, at_point, targets
from workcert.backends.registry import LoadedBackend, find
from workcert.cases import parse, write
from workcert.cases.model import KILLED, Case, Crash, Damage, Restart
from workcert.children import cannot, cannot_fail
from workcert.judge.verdict import Failure, Kind
from workcert.run.case import CaseRun, run_case
from workcert.run.damaging import EARLIER, RIGHT, damaged
from workcert.run.engine import Effort, Options
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import StoreUnderTest

from .soon_told import soon_told  # noqa: F401 - a fixture

STORES = Path(__file__).parent / "crashing" / "stores.py"
FILE = "jobs.db"


@cache
def backend(name: str) -> LoadedBackend:
    (found,) = find(f"{STORES}:{name}")
    return found


pytestmark = pytest.mark.skipif(bool(cannot(backend("RIGHT_JOBS"))), reason=cannot(backend("RIGHT_JOBS")) or "can")
failing = pytest.mark.skipif(bool(cannot_fail()), reason=cannot_fail() or "can")


@cache
def filled(name: str) -> Case:
    found = filling(targets(backend(name)))
    assert found is not None
    return found


def damage_run(name: str, damage: Damage, *, at_rest: bool = True) -> CaseRun:
    case = filled(name)
    rest = (Restart("closed"),) if at_rest else ()
    with StoreUnderTest.of(backend(name)) as store:
        return run_case(store, Case(case.header, (*case.steps, *rest, damage)))


def failure_of(name: str, damage: Damage) -> Failure:
    run = damage_run(name, damage)
    assert run.verdict is Verdict.FAILED
    assert run.failure is not None
    return run.failure


ZEROED = Damage("d", FILE, "zeroed", 0, 100)


def test_a_store_that_begins_anew_over_a_damaged_file_is_caught() -> None:
    failure = failure_of("ANEW", ZEROED)
    assert failure.kind is Kind.RESTART
    assert "as if nothing had been" in failure.text


def test_a_store_that_raises_what_it_likes_is_caught() -> None:
    failure = failure_of("PLAIN", ZEROED)
    assert failure.kind is Kind.CRASH
    assert "ValueError: malformed" in failure.text


def test_a_right_store_refuses_restores_or_shows_an_earlier_state() -> None:
    notes = {}
    for damage in (ZEROED, Damage("d", FILE, "cut", 5000), Damage("d", FILE, "removed")):
        run = damage_run("RIGHT_JOBS", damage)
        assert run.verdict is Verdict.PASSED
        notes[damage.how] = run.steps[-1].note
    assert notes["zeroed"].startswith("refused: ")
    assert notes["cut"].startswith("refused: ")
    assert notes["removed"] == EARLIER
    log = damage_run("RIGHT_JOBS", Damage("d", f"{FILE}-wal", "cut", 0), at_rest=False)
    assert (log.verdict, log.steps[-1].note) == (Verdict.PASSED, EARLIER)
    index = damage_run("RIGHT_JOBS", Damage("d", f"{FILE}-shm", "zeroed", 0, 4096), at_rest=False)
    assert (index.verdict, index.steps[-1].note) == (Verdict.PASSED, RIGHT)


def test_a_file_that_the_store_has_not_leaves_the_step_out() -> None:
    run = damage_run("RIGHT_JOBS", Damage("d", "queue.log", "removed"))
    assert run.verdict is Verdict.PASSED
    left_out = next(each for each in run.steps if each.id == "d" and not each.applicable)
    assert "it has jobs.db" in left_out.note


def test_what_is_done_to_a_file() -> None:
    kinds = list(damages("f", 3 * 4096, 2))
    assert [each.how for each in kinds] == ["removed", *["cut"] * 4, "zeroed", *["overwritten"] * 2]
    content = bytes(range(1, 11))
    assert damaged(content, Damage("d", "f", "removed")) is None
    assert damaged(content, Damage("d", "f", "cut", 3)) == content[:3]
    assert damaged(content, Damage("d", "f", "zeroed", 8, 5)) == content[:8] + b"\0\0"
    assert damaged(content, Damage("d", "f", "overwritten", 1, 2)) == b"\1\xa5\xa5" + content[3:]


def target_of(name: str, operation: str) -> Target:
    """The nearest of its calls, or of those that write several records the one that writes most."""
    call, _, several = operation.partition(" of ")
    found = targets(backend(name), only=lambda each: each.operation == call)
    return max(found, key=lambda each: each.rows) if several else found[0]


def swept(name: str, operation: str) -> list[Event]:
    events: list[Event] = []
    with StoreUnderTest.of(backend(name)) as store:
        fail_each(store, [target_of(name, operation)], [], events.append)
    return events


def killed_at_its_writes(name: str, *operations: str) -> list[Event]:
    events: list[Event] = []
    with StoreUnderTest.of(backend(name)) as store:
        fail_each(store, [], [(target_of(name, each), KILLED, MOST_WRITES) for each in operations], events.append)
    return events


@pytest.mark.usefixtures("soon_told")
@failing
def test_a_store_that_answers_well_on_a_full_disk_is_caught_with_a_case_that_replays() -> None:
    failed = [each for each in swept("OPTIMIST", "enqueue") if isinstance(each, CaseEnded) and each.failure]
    assert {each.verdict for each in failed} == {Verdict.FAILED}
    first = failed[0]
    assert first.failure is not None
    assert first.case is not None
    assert first.failure.requirement == "JOB-DUR-01"
    assert "is not there" in first.failure.text
    assert len(first.case.steps) == 1
    case = parse(write(first.case))
    with StoreUnderTest.of(backend("OPTIMIST")) as store:
        assert run_case(store, case).verdict is Verdict.FAILED
    with StoreUnderTest.of(backend("RIGHT_JOBS")) as store:
        assert run_case(store, case).verdict is Verdict.PASSED


@failing
def test_a_right_store_says_that_it_is_unavailable_at_each_write() -> None:
    events = swept("RIGHT_WORKLOAD", "admit")
    assert {each.verdict for each in events if isinstance(each, CaseEnded)} == {Verdict.PASSED}
    tallied = [(each.row, each.column) for each in events if isinstance(each, Tallied)]
    for disk in ("full", "write_error", "sync_error", "killed"):
        assert tallied.count(("admit", disk)) >= 1


@failing
@pytest.mark.parametrize(
    ("name", "operation", "requirement"),
    [
        ("TORN_JOBS", "admit of several", "JOB-GEN-01"),
        ("TORN_WORKLOAD", "migrate of several", "WRK-GEN-01"),
    ],
)
def test_a_store_that_nothing_brings_back_is_caught_when_it_is_killed_in_the_midst_of_its_writes(
    name: str, operation: str, requirement: str
) -> None:
    target = target_of(name, operation)
    with StoreUnderTest.of(backend(name)) as store:
        runs = [(case, run_case(store, case)) for case in (at_point(target, point, KILLED) for point in range(1, 9))]
    case, run = next((case, run) for case, run in runs if run.verdict is Verdict.FAILED)
    assert run.failure is not None
    # Where a read tells first what was torn, what that breaks comes first.
    assert requirement in run.failure.requirements
    assert "killed" in run.failure.text
    call = operation.split()[0]
    assert re.match(rf"{call}: killed in the midst of its writes, at write \d+; then: ", run.failure.text)
    with StoreUnderTest.of(backend(name.replace("TORN", "JOURNAL"))) as store:
        assert run_case(store, parse(write(case))).verdict is Verdict.PASSED


@pytest.mark.usefixtures("soon_told")
@failing
def test_it_is_caught_with_a_case_that_replays() -> None:
    (failed,) = [each for each in killed_at_its_writes("TORN_JOBS", "ack") if isinstance(each, CaseEnded)]
    assert failed.case is not None
    assert [step.disk for step in failed.case.steps if isinstance(step, Crash)] == [KILLED]
    assert failed.reproduced == (3, 3)


@failing
@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("JOURNAL_JOBS", ("ack", "admit of several")),
        ("RIGHT_JOBS", ("ack", "release_fingerprint of several")),
        ("JOURNAL_WORKLOAD", ("migrate of several",)),
    ],
)
def test_a_store_that_comes_back_is_right_at_each_of_its_writes(name: str, operations: tuple[str, ...]) -> None:
    events = killed_at_its_writes(name, *operations)
    assert [each.verdict for each in events if isinstance(each, CaseEnded)] == [Verdict.PASSED] * len(operations)
    tallied = [each.row for each in events if isinstance(each, Tallied)]
    for operation in operations:
        assert tallied.count(operation.split()[0]) >= 2, "a transaction of one page shows nothing"


@failing
def test_a_call_of_several_rows_is_among_those_that_are_killed_at_their_writes() -> None:
    events: list[Event] = []
    with StoreUnderTest.of(backend("RIGHT_WORKLOAD")) as store:
        run_disks(store, Options(effort=Effort.CI), events.append)
    killed = {each.row for each in events if isinstance(each, Tallied) and each.column == KILLED}
    wholly = {each.row for each in events if isinstance(each, Tallied) and each.column == "write_error"}
    assert wholly < killed
    found = targets(backend("RIGHT_WORKLOAD"), only=lambda each: each.operation not in ("open", "transaction"))
    assert {each.operation for each in found if each.rows > 1} & (killed - wholly)
    full = {each.row for each in events if isinstance(each, Tallied) and each.column == "full"}
    assert full == {each.operation for each in found}


@failing
def test_a_store_that_is_of_no_use_after_its_writes_is_a_finding_and_no_end_of_the_run() -> None:
    target = target_of("TORN_JOBS", "enqueue")
    with StoreUnderTest.of(backend("TORN_JOBS")) as store:
        runs = [run_case(store, at_point(target, point, KILLED)) for point in range(1, 5)]
        assert Verdict.FAILED in {run.verdict for run in runs}
        # Each has a place of its own, whatever an earlier one has left behind.
        for number in (1, 2):
            assert run_case(store, Case(target.case.header, ())).verdict is Verdict.PASSED, number


def test_where_no_disk_can_be_made_to_fail_the_step_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    target = target_of("RIGHT_JOBS", "enqueue")
    with StoreUnderTest.of(backend("RIGHT_JOBS")) as store:
        run = run_case(store, at_point(target, 1, "full"))
    (left_out,) = [each for each in run.steps if each.id == target.killed]
    assert isinstance(next(step for step in target.case.steps if step.id == target.killed), Crash)
    assert not left_out.applicable
    assert "Linux" in left_out.note


@failing
def test_a_pass_that_has_kept_some_records_does_not_say_that_it_wrote_nothing() -> None:
    events: list[Event] = []
    target = target_of("RIGHT_WORKLOAD", "enforce_deadlines of several")
    with StoreUnderTest.of(backend("RIGHT_WORKLOAD")) as store:
        fail_each(store, [], [(target, "full", MOST_WRITES)], events.append)
    assert [each.verdict for each in events if isinstance(each, CaseEnded)] == [Verdict.PASSED]
    assert sum(isinstance(each, Tallied) for each in events) > 5


def test_where_nothing_of_what_is_asked_for_fills_a_store_that_is_the_reason() -> None:
    events: list[Event] = []
    with StoreUnderTest.of(backend("RIGHT_JOBS")) as store:
        run_damages(store, Options(effort=Effort.CI, only=("JOB-CLK-01",)), events.append)
    (skipped,) = [each for each in events if isinstance(each, CaseEnded)]
    assert (skipped.verdict, skipped.reason) == (Verdict.SKIPPED, "nothing of what was asked for fills a store")
