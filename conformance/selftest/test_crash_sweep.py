"""The crash sweep: stores that a kill leaves between two states are caught, and right ones are not accused."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import frozen

from workcert.adversity import run_part
from workcert.adversity.crashes import CRASHES
from workcert.adversity.crashes.sweep import kill_each
from workcert.adversity.crashes.targets import targets
from workcert.backends.registry import BackendError, LoadedBackend, find
from workcert.cases import parse, write
from workcert.cases.model import Crash
from workcert.children import cannot
from workcert.judge.verdict import Kind
from workcert.run.case import run_case
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import StoreUnderTest

STORES = Path(__file__).parent / "crashing" / "stores.py"


def backend(name: str) -> LoadedBackend:
    (found,) = find(f"{STORES}:{name}")
    return found


pytestmark = pytest.mark.skipif(bool(cannot(backend("RIGHT_JOBS"))), reason=cannot(backend("RIGHT_JOBS")) or "can")


def swept(name: str, *operations: str) -> list[Event]:
    events: list[Event] = []
    with StoreUnderTest.of(backend(name)) as store:
        kill_each(store, [each for each in targets(store.backend) if each.name in operations], events.append)
    return events


def ended(events: list[Event]) -> list[CaseEnded]:
    return [event for event in events if isinstance(event, CaseEnded)]


@frozen
class Wrong:
    """``least``: the steps of the case to which the failure is shrunk, at most."""

    store: str
    operation: str
    kind: Kind
    requirement: str
    says: str
    least: int


WRONG = (
    Wrong("SPLIT_JOBS", "renew of several", Kind.KILLED, "JOB-GEN-01", "neither", 6),
    Wrong("ONE_BY_ONE", "enqueue of several", Kind.KILLED, "JOB-GEN-01", "neither", 1),
    Wrong("COUNTS_ELSEWHERE", "enqueue", Kind.KILLED, "JOB-GEN-01", "neither", 1),
    Wrong("LATE_WORKLOAD", "start", Kind.RECORD, "WRK-GEN-01", "is not there", 3),
    Wrong("AT_THE_END", "start", Kind.RECORD, "WRK-GEN-01", "is not there", 3),
    Wrong("WITHOUT_SYNC", "start", Kind.PROMISE, "WRK-GEN-01", "PRAGMA synchronous gives 0", 3),
    Wrong("CARELESS_TRANSACTION", "transaction", Kind.PROMISE, "JOB-DUR-01", "PRAGMA synchronous gives 1", 1),
)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.store)
def test_a_store_that_a_kill_shows_wrong_is_caught_with_a_case_that_replays(wrong: Wrong) -> None:
    (found,) = ended(swept(wrong.store, wrong.operation))
    assert found.verdict is Verdict.FAILED
    assert found.failure is not None
    assert found.case is not None
    assert (found.failure.kind, found.failure.requirement) == (wrong.kind, wrong.requirement)
    assert wrong.says in found.failure.text
    assert len(found.case.steps) <= wrong.least
    assert any(isinstance(step, Crash) for step in found.case.steps)
    case = parse(write(found.case))
    assert case == found.case
    with StoreUnderTest.of(backend(wrong.store)) as store:
        again = run_case(store, case).failure
    assert again is not None
    assert again.requirement == found.failure.requirement
    right = "RIGHT_WORKLOAD" if case.header.contract == "workload" else "RIGHT_JOBS"
    with StoreUnderTest.of(backend(right)) as store:
        assert run_case(store, case).verdict is Verdict.PASSED


RIGHT = {
    "RIGHT_WORKLOAD": ("claim", "enforce_deadlines of several", "migrate of several", "open, new"),
    "RIGHT_JOBS": ("enqueue of several", "pause_queue", "transaction", "open"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_store_is_not_accused_and_its_points_are_told(name: str) -> None:
    events = swept(name, *RIGHT[name])
    assert {each.verdict for each in ended(events)} == {Verdict.PASSED}
    tallied = [each for each in events if isinstance(each, Tallied)]
    assert {each.row for each in tallied} == set(RIGHT[name])
    for row in RIGHT[name]:
        assert sum(each.count for each in tallied if each.row == row and each.column == "points") >= 5
        assert [each.count for each in tallied if each.row == row and each.column == "after its answer"] == [1]


def test_every_operation_that_changes_something_is_killed() -> None:
    for each in find("sqlite"):
        named = {target.operation for target in targets(each)}
        calls = set(each.binding.calls.calls) - each.binding.reads
        inside = {name for name, signature in each.binding.calls.calls.items() if signature.inside}
        clock = {"freeze_clock", "advance_clock", "unfreeze_clock"}
        assert calls - inside - clock - named == set()


def test_a_part_without_processes_of_its_own_says_why() -> None:
    (memory, _jobs) = find("memory")
    events: list[Event] = []
    with StoreUnderTest.of(memory) as store:
        run_part(CRASHES, store, Options(), events.append)
    (skipped,) = ended(events)
    assert skipped.verdict is Verdict.SKIPPED
    assert "kill" in skipped.reason


def test_promises_are_asked_through_a_database_module(tmp_path: Path) -> None:
    path = tmp_path / "promising.py"
    path.write_text(
        "class Adapter:\n    contract = 'jobs'\n    promises = {'SHOW x': 1}\n"
        "    def open(self, place, config): ...\nBACKEND = Adapter()\n"
    )
    with pytest.raises(BackendError, match="names no database module"):
        find(f"{path}:BACKEND")
