"""What one call leaves to the next: full disks that are swallowed, locks of the killed, resets that do not reset."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from workcert.adversity.crashes.sweep import fail_each, kill_each, on_disks
from workcert.adversity.crashes.targets import Target, at_point, targets
from workcert.adversity.handles.skew import run_skews
from workcert.adversity.interleavings.suite import run_interleavings
from workcert.backends.registry import BackendError, LoadedBackend, find
from workcert.cases import parse, write
from workcert.cases.model import Call, Case, Crash
from workcert.children import Children, cannot, cannot_fail
from workcert.judge.verdict import Failure
from workcert.run.calling import Answered
from workcert.run.case import run_case
from workcert.run.engine import Effort, Options, examined
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import OWN_THREADS, StoreUnderTest

from .soon_told import soon_told  # noqa: F401 - a fixture

STORES = Path(__file__).parent / "crashing" / "left_over.py"


@cache
def backend(name: str) -> LoadedBackend:
    (found,) = find(f"{STORES}:{name}")
    return found


pytestmark = pytest.mark.skipif(bool(cannot(backend("RIGHT"))), reason=cannot(backend("RIGHT")) or "can")
failing = pytest.mark.skipif(bool(cannot_fail()), reason=cannot_fail() or "can")


def target_of(name: str, operation: str) -> Target:
    """The nearest of its calls, or of those that write several records the one that writes most."""
    call, _, several = operation.partition(" of ")
    found = targets(backend(name), only=lambda each: each.operation == call)
    return max(found, key=lambda each: each.rows) if several else found[0]


def swept(name: str, *operations: str) -> list[Event]:
    events: list[Event] = []
    with StoreUnderTest.of(backend(name)) as store:
        kill_each(store, [target_of(name, each) for each in operations], events.append)
    return events


def ended(events: list[Event]) -> list[CaseEnded]:
    return [event for event in events if isinstance(event, CaseEnded)]


# Full disks ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("soon_told")
@failing
def test_a_full_disk_that_one_operation_swallows_is_caught_and_named() -> None:
    events: list[Event] = []
    with StoreUnderTest.of(backend("SWALLOWS_A_FULL_DISK")) as store:
        _every_way, others = on_disks(targets(store.backend), Effort.CI)
        for each in others:
            if each[0].operation == "enqueue" and not any(case.failure for case in ended(events)):
                fail_each(store, [], [each], events.append)
    found = next(each for each in ended(events) if each.failure is not None)
    assert found.failure is not None
    assert found.case is not None
    assert re.fullmatch(r"enqueue(, \d+)?, the disk is full from write 1 on", found.case.header.title)
    assert "though the disk is full from write 1 on" in found.failure.text
    assert "killed" not in found.failure.text
    with StoreUnderTest.of(backend("RIGHT")) as store:
        assert run_case(store, parse(write(found.case))).verdict is Verdict.PASSED


def test_a_title_says_what_befell_the_process() -> None:
    target = target_of("RIGHT", "enqueue")
    titles = [at_point(target, 2, disk).header.title for disk in (None, "full", "write_error", "sync_error", "killed")]
    assert titles == [
        "enqueue, in a process that is killed",
        "enqueue, the disk is full from write 2 on",
        "enqueue, the disk fails at write 2",
        "enqueue, the disk fails when write 2 is waited for",
        "enqueue, killed in the midst of its writes, at write 2",
    ]


# Fresh places --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("soon_told")
def test_a_lock_that_a_kill_leaves_is_shown_by_a_case_that_fails_where_nothing_was_before() -> None:
    (found,) = ended(swept("LEAVES_A_LOCK", "promote_due"))
    assert found.verdict is Verdict.FAILED
    assert found.case is not None
    assert any(isinstance(step, Crash) for step in found.case.steps)
    with StoreUnderTest.of(backend("LEAVES_A_LOCK")) as store:
        assert run_case(store, found.case).verdict is Verdict.FAILED
        # Nor does it soil the place of the next one.
        assert run_case(store, Case(found.case.header, _calls("promote_due"))).verdict is Verdict.PASSED
    with StoreUnderTest.of(backend("RIGHT")) as store:
        assert run_case(store, found.case).verdict is Verdict.PASSED


def _calls(operation: str, *named: str) -> tuple[Call, ...]:
    steps = target_of("RIGHT", operation).case.steps
    return tuple(step for step in steps if isinstance(step, Call) and (not named or step.call in named))


def _worn(*steps: Call) -> tuple[CaseEnded, Case]:
    """What is said of a case that fails on a worn place, where everything fails that enqueues."""
    header = evolve(target_of("RIGHT", "enqueue").case.header, abilities=())
    case = Case(header, steps)
    with StoreUnderTest.of(backend("WORN")) as store:
        assert run_case(store, Case(header, ())).verdict is Verdict.PASSED
        failure = run_case(store, case).failure
        assert isinstance(failure, Failure)
        return examined(store, "scenarios", case, failure), case


def test_what_fails_only_where_a_place_was_reset_is_a_finding_about_the_reset() -> None:
    found, case = _worn(*_calls("enqueue", "enqueue")[:1])
    assert found.verdict is Verdict.FAILED
    assert found.failure is not None
    assert "survives reset" in found.failure.text
    assert found.case == case


def test_a_case_that_was_shrunk_on_a_soiled_place_is_not_the_one_that_is_printed() -> None:
    pause, enqueue = _calls("pause_queue", "pause_queue")[0], _calls("enqueue", "enqueue")[0]
    idle = _calls("enqueue", "reclaim_expired", "promote_due")
    found, _case = _worn(evolve(pause, id="p"), enqueue, *idle)
    assert found.failure is not None
    assert found.case is not None
    assert "survives reset" not in found.failure.text
    assert [step.call for step in found.case.steps if isinstance(step, Call)] == ["pause_queue", "enqueue"]
    with StoreUnderTest.of(backend("WORN")) as store:
        assert run_case(store, found.case).verdict is Verdict.FAILED


# Statements in threads of the store's own ----------------------------------------------------------------------------


def test_statements_in_threads_of_the_stores_own_are_no_lie_and_nothing_is_held_at_them() -> None:
    events: list[Event] = []
    with StoreUnderTest.of(backend("ACTOR")) as store:
        run_interleavings(store, Options(effort=Effort.QUICK), events.append)
    assert [(each.verdict, each.reason) for each in ended(events)] == [(Verdict.SKIPPED, OWN_THREADS)]


def test_where_one_call_is_alone_in_its_process_they_are_its_points() -> None:
    events = swept("ACTOR", "enqueue", "admit")
    assert {each.verdict for each in ended(events)} == {Verdict.PASSED}
    for operation in ("enqueue", "admit"):
        tallied = [each.column for each in events if isinstance(each, Tallied) and each.row == operation]
        assert tallied.count("points") >= 5
        assert tallied.count("after its answer") == 1


@pytest.mark.usefixtures("soon_told")
def test_a_wrong_store_of_that_kind_is_caught_between_its_statements() -> None:
    (found,) = ended(swept("ACTOR_IN_TWO", "enqueue of several"))
    assert found.failure is not None
    assert found.failure.requirement == "JOB-GEN-01"
    assert "neither" in found.failure.text


# Claims of an adapter ------------------------------------------------------------------------------------------------


def test_a_promise_that_is_no_statement_is_a_mistake_of_the_adapter() -> None:
    with pytest.raises(BackendError, match=r"promises 'is it durable', and a connection .* Mend it, or take it out"):
        swept("NO_STATEMENT", "enqueue")


def test_who_claims_kill_and_has_its_store_in_one_process_is_told_of_that_claim() -> None:
    with (
        StoreUnderTest.of(backend("NOWHERE_ELSE")) as store,
        pytest.raises(BackendError, match="claims the ability kill, but what a handle in another process has stored"),
    ):
        run_skews(store, Options(), lambda _event: None)


LATE = """
from workstore.backends import SqliteJobsBackend

class Late(SqliteJobsBackend):
    def open(self, place, config):
        import beside_a_late_adapter
        return beside_a_late_adapter.JobStore.open(place.path / "jobs.db", **config)

BACKEND = Late()
"""


def test_what_lies_beside_an_adapter_may_be_imported_late_and_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late.py").write_text(LATE)
    (tmp_path / "beside_a_late_adapter.py").write_text("from workstore.sqlite.jobs import JobStore\n")
    (tmp_path / "colorsys.py").write_text("raise ImportError('this is not what the kit meant')\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (late,) = find(f"{tmp_path / 'late.py'}:BACKEND")
    sys.modules.pop("colorsys", None)
    assert importlib.import_module("colorsys").__file__ != str(tmp_path / "colorsys.py")
    with StoreUnderTest.of(late) as store, Children(late) as children:
        store.begin()
        store.handle("A")
        assert isinstance(children.start().open(store.place, {}), Answered)
