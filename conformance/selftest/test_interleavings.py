"""Forced interleavings: wrong stores are caught by short cases that replay, right ones are not accused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from attrs import define, frozen

from workcert.adversity.interleavings.library import cases_from, kept
from workcert.adversity.interleavings.meetings import chosen, meetings, searched
from workcert.adversity.interleavings.suite import asked, asked_later, beside_reopening, turned
from workcert.backends.registry import describe, find
from workcert.binding import bindings
from workcert.cases import builtin_cases
from workcert.cases.model import Case, Frozen, Reopen
from workcert.faults.fault import Fault
from workcert.faults.field import field_faults
from workcert.faults.field.model import Tier
from workcert.run.abilities import AbilityLie
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import BOUND, StoreUnderTest
from workcert.search.command import CONFIGURATIONS
from workspec.core.contract import digest

from .interleaved import CI, QUICK, SHORT, ends, first_failure, held, holding, replays
from .miniatures import sql_stores
from .miniatures.sql_stores import SqlBackend, SqlHandle
from .soon_told import soon_told  # noqa: F401 - a fixture

WORKLOAD, JOBS = bindings()["workload"], bindings()["jobs"]


@frozen
class Wrong:
    """``name`` says what is wrong; ``make`` the store; ``held``: the operations one of which the case must hold or let
    come between."""

    name: str
    make: Callable[[], Any]
    operation: str


def sql(binding: Any, kind: Callable[..., SqlHandle]) -> Callable[[], SqlBackend]:
    return partial(SqlBackend, binding, kind)


unguarded = partial(partial, sql_stores.Unguarded)
in_two = partial(partial, sql_stores.TwoTransactions, half=sql_stores.without_lease)
WRONG = (
    Wrong("claim: SELECT, then UPDATE", sql(WORKLOAD, unguarded(operation="claim")), "claim"),
    Wrong("admission: SELECT, then UPDATE", sql(JOBS, unguarded(operation="admit")), "admit"),
    Wrong("recovery by ids", sql(WORKLOAD, unguarded(operation="recover_expired")), "recover_expired"),
    Wrong("sweep by ids", sql(JOBS, unguarded(operation="reclaim_expired")), "reclaim_expired"),
    Wrong("uniqueness outside", sql(JOBS, unguarded(operation="enqueue")), "enqueue"),
    Wrong("tokens counted before", sql(JOBS, partial(sql_stores.CountedBefore, counted="bucket/")), "admit"),
    Wrong("claim in two transactions", sql(WORKLOAD, in_two(operation="claim")), "claim"),
    Wrong("admission in two transactions", sql(JOBS, in_two(operation="admit")), "admit"),
)


@pytest.mark.parametrize("wrong", WRONG, ids=[wrong.name for wrong in WRONG])
def test_a_wrong_store_is_caught_each_time(wrong: Wrong) -> None:
    ended = first_failure(wrong.make(), holding(wrong.operation))
    assert ended is not None
    assert ended.verdict is Verdict.FAILED
    assert ended.reproduced == (3, 3)
    assert ended.case is not None
    assert wrong.operation.replace("_", "-") in ended.name
    assert len(ended.case.steps) <= SHORT
    assert any(isinstance(step, Frozen) and step.point is not None for step in ended.case.steps)
    assert replays(wrong.make(), ended.case) == [Verdict.FAILED] * 3
    right = SqlBackend(bindings()[ended.case.header.contract])
    assert set(replays(right, ended.case)) <= {Verdict.PASSED, Verdict.SKIPPED}


def test_a_store_that_sweeps_when_it_is_opened() -> None:
    """Another handle opens the place while a call is held."""
    right, wrong = SqlBackend(WORKLOAD), SqlBackend(WORKLOAD, sql_stores.SweptWhenOpened)
    every = beside_reopening(asked(describe("miniature", right), CI))
    case = next(case for case in every if case.header.name == "workload/start-against-reopening")
    assert [type(step) for step in _held(case).during] == [Reopen]
    assert replays(wrong, case) == [Verdict.FAILED] * 3
    assert replays(right, case) == [Verdict.PASSED] * 3


def _held(case: Case) -> Frozen:
    return next(step for step in case.steps if isinstance(step, Frozen))


RACES = [
    (name, fault) for name in bindings() for fault in field_faults(bindings()[name]) if fault.tier == Tier.INTERLEAVING
]


@pytest.mark.usefixtures("soon_told")
@pytest.mark.parametrize(("contract", "fault"), RACES, ids=[f"{c}: {f.name}" for c, f in RACES])
def test_a_race_of_the_field_is_caught_each_time(contract: str, fault: Fault) -> None:
    assert contract
    ended = first_failure(fault.make())
    assert ended is not None
    assert ended.failure is not None
    assert ended.reproduced == (3, 3)
    assert set(ended.failure.requirements) & set(fault.requirements)
    assert ended.case is not None
    assert len(ended.case.steps) <= SHORT


STRIDE = 4

# Right stores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_the_sqlite_store_is_right(contract: str) -> None:
    """And it is held where others wait, where others come first, and where they come last. Every so manieth meeting
    shows that: all of them are tried by the suite."""
    backend = next(each for each in find("sqlite") if each.binding.name == contract)
    meetings, later = asked(backend, CI)[::STRIDE], asked_later(backend, CI)[::STRIDE]
    found, tally = held(backend, meetings, later)
    assert {ended.verdict for ended in found} == {Verdict.PASSED}
    assert len(found) >= len(meetings) + len(later) > 40
    for column in ("points", "turned away", "before the other", "after the other", "points beside reopening"):
        assert tally[column] > 50
    assert tally["clock gone on"] == len(later)
    assert bool(later) == (contract == "jobs")


def test_the_same_is_tried_each_time() -> None:
    backend = next(each for each in find("sqlite") if each.binding.name == "workload")
    assert ends(backend, QUICK)[1] == ends(backend, QUICK)[1]


def test_the_memory_store_is_right_at_its_one_point() -> None:
    workload, jobs = find("memory")
    found, tally = ends(workload, CI)
    assert {ended.verdict for ended in found} == {Verdict.PASSED}
    assert tally["points"] > 200
    assert [(ended.verdict, ended.name) for ended in ends(jobs, CI)[0]] == [(Verdict.SKIPPED, "interleavings")]


@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_a_small_right_store_is_right(contract: str) -> None:
    found, _ = ends(describe("miniature", SqlBackend(bindings()[contract])), QUICK)
    assert {ended.verdict for ended in found} == {Verdict.PASSED}


def test_a_store_that_waits_for_locks_is_right() -> None:
    """It cannot be asked not to wait: what is held up gets its turn when the held call goes on."""
    patient = SqlBackend(JOBS, configurable=frozenset())
    case = next(case for case in kept("jobs") if case.header.name == "jobs/admit-against-admit")
    with StoreUnderTest.of(describe("miniature", patient)) as store:
        for point in (1, 2, 3):
            held = Case(case.header, tuple(_at(step, point) for step in case.steps))
            assert run_case(store, held).verdict is Verdict.PASSED


@pytest.mark.parametrize("kind", [SqlHandle, sql_stores.RollbackJournal], ids=["WAL", "rollback journal"])
@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_a_store_that_waits_for_locks_is_seen_to_wait(contract: str, kind: Callable[..., SqlHandle]) -> None:
    """At once, so that nothing hangs on time: not who comes first, nor how long all takes."""
    patient = describe("miniature", SqlBackend(bindings()[contract], kind, configurable=frozenset()))
    found, tally = ends(patient, QUICK)
    assert {ended.verdict for ended in found} == {Verdict.PASSED}
    for column in ("kept waiting", "before the other", "after the other", "points beside reopening"):
        assert tally[column] > 0
    orders = sum(tally[order] for order in ("before the other", "after the other", "one of both alone"))
    assert orders == tally["points"]
    if (contract, kind) == ("workload", SqlHandle):
        assert ends(patient, QUICK) == (found, tally)


PATIENT_AND_WRONG = (
    ("claim", WORKLOAD, partial(sql_stores.Unguarded, operation="claim"), holding("claim")),
    ("admit", JOBS, partial(sql_stores.Unguarded, operation="admit"), holding("admit")),
    # Only where the tokens are set anew meanwhile; a store that does not wait is tried with every meeting before it.
    ("admit", JOBS, partial(sql_stores.CountedBefore, counted="bucket/"), holding("set_rate_limit")),
)


@pytest.mark.usefixtures("soon_told")
@pytest.mark.parametrize(("operation", "binding", "kind", "among"), PATIENT_AND_WRONG)
def test_a_wrong_store_that_waits_for_locks_is_caught_each_time(
    operation: str, binding: Any, kind: Callable[..., SqlHandle], among: Callable[[Case], bool]
) -> None:
    """It reads before it begins, and loses what was written meanwhile."""
    wrong = SqlBackend(binding, kind, configurable=frozenset())
    ended = first_failure(wrong, among)
    assert ended is not None
    assert ended.verdict is Verdict.FAILED
    assert ended.reproduced == (3, 3)
    assert ended.case is not None
    assert operation in ended.name
    assert replays(wrong, ended.case) == [Verdict.FAILED] * 3
    right = SqlBackend(binding, configurable=frozenset())
    assert set(replays(right, ended.case)) <= {Verdict.PASSED, Verdict.SKIPPED}


def test_opening_that_waits_is_tried_beside_each_point() -> None:
    """Who opens the place writes there, and has to wait from where the held call has begun."""
    right = SqlBackend(WORKLOAD, sql_stores.WritesWhenOpened, configurable=frozenset())
    found, tally = ends(describe("miniature", right), QUICK)
    reopening = [ended for ended in found if "against-reopening" in ended.name]
    assert reopening
    assert {ended.verdict for ended in reopening} == {Verdict.PASSED}
    at_once = ends(describe("miniature", SqlBackend(WORKLOAD, configurable=frozenset())), QUICK)[1]
    assert tally["points beside reopening"] == at_once["points beside reopening"] > 0


def test_opening_that_waits_and_sweeps_is_caught() -> None:
    wrong = SqlBackend(WORKLOAD, sql_stores.SweptWhenOpened, configurable=frozenset())
    every = beside_reopening(asked(describe("miniature", wrong), CI))
    case = next(case for case in every if case.header.name == "workload/start-against-reopening")
    assert replays(wrong, case) == [Verdict.FAILED] * 3


def _at(step: Any, point: int) -> Any:
    return Frozen(step.id, step.frozen, step.during, point=point) if isinstance(step, Frozen) else step


# Adapters ------------------------------------------------------------------------------------------------------------


def test_a_store_whose_statements_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("no_database_of_this_store")
    module.connect = lambda: None
    monkeypatch.setitem(sys.modules, module.__name__, module)
    unseen = SqlBackend(WORKLOAD, dbapi=module.__name__)
    with pytest.raises(AbilityLie, match="no call has made a statement on a connection"):
        ends(describe("miniature", unseen), QUICK)


@define(eq=False)
class Deaf:
    """Claims points and never runs the callback."""

    handle: Any

    def points(self, callback: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return getattr(self.handle, name)


class DeafBackend(SqlBackend):
    def open(self, place: Any, config: Any) -> Any:
        return Deaf(SqlBackend.open(self, place, config))


def test_a_store_whose_handles_are_bound_to_their_threads_is_not_accused() -> None:
    """Nothing can be held, nor made at once, and both are said."""
    backend = describe("miniature", SqlBackend(WORKLOAD, sql_stores.BoundToItsThread))
    (ended,), _tally = ends(backend, QUICK)
    assert (ended.verdict, ended.reason) == (Verdict.SKIPPED, BOUND)
    race = next(case for case in builtin_cases("workload") if case.header.name == "workload/53c-three-recovery-races")
    with StoreUnderTest.of(backend) as store:
        held, at_once = run_case(store, kept("workload")[0]), run_case(store, race)
    assert [run.verdict for run in (held, at_once)] == [Verdict.SKIPPED] * 2
    assert held.reason == at_once.reason == BOUND


def test_a_store_that_never_runs_the_callback() -> None:
    deaf = DeafBackend(WORKLOAD, abilities=frozenset({"reset", "second_handle", "points"}), dbapi=None)
    with pytest.raises(AbilityLie, match="none of its calls ran the callback"):
        ends(describe("miniature", deaf), QUICK)


# The meetings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_those_that_ship_are_of_these_rules(contract: str) -> None:
    cases = kept(contract)
    assert len(cases) > 100
    assert {case.header.digest for case in cases} == {digest(bindings()[contract].contract)}
    assert len({(case.header.name, case.header.profiles) for case in cases}) == len(cases)


@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_every_operation_that_writes_is_held(contract: str) -> None:
    """Where it and the other both write; but for those that only transactions make, and for those of the clock, which
    no other call can meet."""
    binding = bindings()[contract]
    both_write = [_held(case) for case in kept(contract) if "-against-idle-" not in case.header.name]
    met = {call.call for step in both_write if step.frozen.call not in binding.reads for call in _calls(step)}
    writing = {name for name, each in binding.calls.calls.items() if name not in binding.reads and not each.inside}
    apart = {name for name in writing if name.endswith("_clock")}
    assert writing - apart <= met


def _calls(step: Frozen) -> list[Any]:
    return [step.frozen, *step.during]


def test_a_search_finds_them_anew() -> None:
    """A short one, those that a longer one finds first."""
    found = meetings(WORKLOAD, searched(WORKLOAD, CONFIGURATIONS["workload"][:1], limit=60))
    names = {case.header.name for case in cases_from(WORKLOAD, chosen(found))}
    assert {"workload/claim-against-claim", "workload/claim-against-idle-recover-expired"} <= names
    assert "workload/recover-expired-against-recover-expired" in names


def test_a_turned_case_holds_the_other() -> None:
    case = next(case for case in kept("workload") if case.header.name == "workload/cancel-against-claim")
    other = turned(case)
    assert other is not None
    step = _held(other)
    assert (step.frozen.call, step.frozen.on, step.during[0].on) == ("claim", "A", "B")
    same = next(case for case in kept("workload") if case.header.name == "workload/claim-against-claim")
    assert turned(same) is None


def test_a_store_is_asked_for_what_it_claims() -> None:
    core = SqlBackend(JOBS)
    core.profiles = frozenset({"CORE", "WRITERS"})
    backend = describe("miniature", core)
    few, many = asked(backend, CI), asked(describe("miniature", SqlBackend(JOBS)), CI)
    assert all(set(case.header.profiles) <= backend.profiles for case in few)
    assert 20 < len(few) < len(many)
    assert len({case.header.name for case in many}) == len(many)
    assert 6 * len(asked(backend, QUICK)) - 6 < len(few) <= 6 * len(asked(backend, QUICK))
