"""The clock of a store goes on beside a held call: who has read it too early is found out, nobody else is accused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from workcert.adversity.interleavings import suite
from workcert.adversity.interleavings.later import later
from workcert.adversity.interleavings.library import kept
from workcert.adversity.interleavings.suite import MOST_LATER, asked_later
from workcert.backends.registry import describe
from workcert.binding import bindings
from workcert.cases.model import Call, Case, Frozen
from workcert.cases.parse import parse
from workcert.cases.write import write
from workcert.judge.judge import Judge
from workcert.judge.ledger import Row
from workcert.judge.overlapping import Overlap, judge_overlapping
from workcert.run.calling import Answered
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.execution import Execution
from workcert.run.store import StoreUnderTest
from workspec.core.interpreter import apply
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall

from .interleaved import CI, QUICK, SHORT, first_failure, replays
from .interleaved import ends as tried
from .miniatures import clocks
from .miniatures.sql_stores import SqlBackend, SqlHandle

WORKLOAD, JOBS = bindings()["workload"], bindings()["jobs"]
TOO_EARLY = "it read the clock before it had its place in the order"
MOST_POINTS = 6
"""Of a small store: the one behind its clock and before its lock is among them."""
NO_WAIT, PATIENT = frozenset({"busy_timeout_ms"}), frozenset[str]()
"""What a store can be asked for: who cannot be asked not to wait waits."""


def backend_of(kind: Callable[..., SqlHandle], configurable: frozenset[str] = NO_WAIT) -> SqlBackend:
    return SqlBackend(JOBS, kind, configurable=configurable)


def every_case() -> Sequence[Case]:
    return asked_later(describe("miniature", SqlBackend(JOBS)), CI)


def held_in(case: Case) -> Frozen:
    return next(step for step in case.steps if isinstance(step, Frozen))


def other_in(case: Case) -> Call:
    (other,) = held_in(case).during
    assert isinstance(other, Call)
    return other


def at_point(case: Case, point: int) -> Case:
    steps = (evolve(step, point=point) if isinstance(step, Frozen) else step for step in case.steps)
    return evolve(case, steps=tuple(steps))


def ends(backend: Any, cases: Iterable[Case]) -> dict[str, set[Verdict]]:
    """By the name of a case what it comes to at the points of its call."""
    found: dict[str, set[Verdict]] = {}
    with StoreUnderTest.of(describe("miniature", backend)) as store:
        for case in cases:
            runs = [run_case(store, at_point(case, point)) for point in range(1, MOST_POINTS + 1)]
            found[case.header.name] = {run.verdict for run in runs}
    return found


# Who is wrong --------------------------------------------------------------------------------------------------------

EARLY: dict[str, Callable[[], Any]] = {
    "a small store": partial(backend_of, clocks.ReadBefore),
    "a small store that waits": partial(backend_of, clocks.ReadBefore, PATIENT),
    "the shipped store": clocks.EarlySqlite,
}


@pytest.mark.parametrize("make", EARLY.values(), ids=EARLY.keys())
def test_a_clock_that_is_read_too_early_is_caught_each_time(make: Callable[[], Any]) -> None:
    """And no other meeting is needed for it."""
    ended = first_failure(make(), lambda case: case.header.name.endswith("-later"))
    assert ended is not None
    assert ended.verdict is Verdict.FAILED
    assert ended.reproduced == (3, 3)
    assert ended.failure is not None
    assert ended.failure.requirement == JOBS.contract.conflict_requirements[0] == "JOB-GEN-01"
    assert TOO_EARLY in ended.failure.text
    assert ended.case is not None
    assert len(ended.case.steps) <= SHORT
    assert replays(make(), ended.case) == [Verdict.FAILED] * 3
    assert set(replays(SqlBackend(JOBS), ended.case)) <= {Verdict.PASSED, Verdict.SKIPPED}


@pytest.mark.parametrize("operation", sorted({held_in(case).frozen.call for case in every_case()}))
def test_each_case_catches_its_operation(operation: str) -> None:
    """Where that one alone reads the clock too early."""
    own = [case for case in every_case() if held_in(case).frozen.call == operation]
    found = ends(backend_of(partial(clocks.ReadBefore, operation=operation)), own)
    assert [name for name, verdicts in found.items() if Verdict.FAILED not in verdicts] == []


# Who is right --------------------------------------------------------------------------------------------------------

RIGHT: dict[str, Any] = {
    "in the transaction": SqlBackend(JOBS),
    "in the transaction, waiting": backend_of(SqlHandle, PATIENT),
    "before the lock, which is then refused": backend_of(clocks.OnItsSnapshot),
    "beside the file": backend_of(clocks.BesideTheFile),
    "beside the file, waiting": backend_of(clocks.BesideTheFile, PATIENT),
}


@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT.keys())
def test_a_clock_that_is_read_in_the_order_is_right(right: Any) -> None:
    found = ends(right, every_case())
    assert {name for name, each in found.items() if Verdict.PASSED not in each} == set()
    assert set().union(*found.values()) <= {Verdict.PASSED, Verdict.SKIPPED}


@pytest.mark.parametrize("right", [SqlHandle, clocks.BesideTheFile], ids=["in the file", "beside the file"])
def test_who_is_turned_away_tries_again_where_the_clock_has_gone(
    right: Callable[..., SqlHandle], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The held call may have read it then, whoever comes between afterwards."""
    monkeypatch.setattr(suite, "asked", lambda *_: ())
    ended, tally = tried(describe("miniature", backend_of(right)), CI)
    assert {each.verdict for each in ended} == {Verdict.PASSED}
    assert tally["clock gone on"] == len(ended) == len(every_case())
    assert tally["turned away"] > tally["points"]


class _Unsure(clocks.BesideTheFile):
    """Moves its clock, and says that it may have, as long as the file is locked."""

    def made(self, call: ModelCall, stated: int | None) -> Any:
        answer = clocks.BesideTheFile.made(self, call, stated)
        if call.name == "freeze_clock":
            self.connection.execute("PRAGMA busy_timeout = 0")
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                self.connection.execute("ROLLBACK")
            except Exception as error:
                raise JOBS.unavailable("busy", False) from error
        return answer


# Where the clock stands ----------------------------------------------------------------------------------------------


def case_of(name: str) -> Case:
    return next(case for case in every_case() if case.header.name == name)


def clock_after(backend: Any, point: int) -> tuple[int | None, Verdict]:
    """Where the kit knows the clock to be, from the instant of the held call on."""
    case = case_of("jobs/ack-against-renew-later")
    seen: list[int | None] = []
    with StoreUnderTest.of(describe("miniature", backend)) as store:
        run = run_case(
            store, at_point(case, point), watch=lambda execution, _step, _run: seen.append(execution.clock.at)
        )
    stands = seen[len(case.steps) - 1]
    return None if stands is None else stands - (held_in(case).frozen.at or 0), run.verdict


BEFORE, INSIDE, NOWHERE = 1, 3, 50


def test_where_the_clock_stands_afterwards_is_known() -> None:
    assert clock_after(SqlBackend(JOBS), BEFORE) == (1, Verdict.PASSED)
    assert clock_after(SqlBackend(JOBS), INSIDE) == (0, Verdict.PASSED)
    assert clock_after(SqlBackend(JOBS), NOWHERE) == (1, Verdict.SKIPPED)
    assert clock_after(backend_of(SqlHandle, PATIENT), INSIDE) == (1, Verdict.PASSED)
    assert clock_after(backend_of(clocks.BesideTheFile), INSIDE) == (1, Verdict.PASSED)


def test_a_clock_that_may_have_been_moved_is_no_fault_of_the_adapter() -> None:
    assert clock_after(backend_of(_Unsure), INSIDE) == (None, Verdict.PASSED)


# Judging -------------------------------------------------------------------------------------------------------------

AT = 10_000
HELD, FIRST, SECOND = 0, 1, 2
INSTANTS = (AT, AT + 1, AT + 2)
"""At which each is made; when the held one was, is asked."""
LEASES_MS = (2000, 1000, 500)


def renewals() -> tuple[State, list[ModelCall]]:
    """A job that is leased, and calls that renew it; the last one shows in its record, and when it was made."""
    case = case_of("jobs/renew-against-renew-later")
    with StoreUnderTest.of(describe("miniature", SqlBackend(JOBS))) as store:
        store.begin()
        execution = Execution(store)
        for step in case.steps[: case.steps.index(held_in(case))]:
            execution.step(step)
    leases = held_in(case).frozen.args["leases"]
    typed = JOBS.signature("renew").typed
    return execution.judge.state, [
        ModelCall("renew", typed({"leases": leases, "lease_ms": lease_ms})) for lease_ms in LEASES_MS
    ]


def judged(*made: tuple[int, int], gone_on: tuple[int, ...] = INSTANTS[1:]) -> tuple[str, tuple[int, ...]]:
    """What is said of a store that has made these calls, in this order and at these instants."""
    state, calls = renewals()
    after = state
    for which, at in made:
        after = apply(JOBS.contract, after, calls[which], at).state
    rows = {key: Row(each.version, JOBS.present(each)) for key, each in after.items() if JOBS.legible(key)}
    which_made = sorted(which for which, _at in made)
    group = [
        Overlap(calls[which], INSTANTS[which], Answered([]), frozenset(range(1, which)), later=() if which else gone_on)
        for which in which_made
    ]
    explained = judge_overlapping(Judge(JOBS, {}, JOBS.legible, state), group, rows.get, lambda: None)
    return "" if explained.failure is None else explained.failure.text, explained.order


def test_the_held_call_before_a_later_one() -> None:
    assert judged((HELD, AT), (FIRST, AT + 1)) == ("", (HELD, FIRST))


def test_the_held_call_behind_a_later_one_and_as_late() -> None:
    assert judged((FIRST, AT + 1), (HELD, AT + 1)) == ("", (FIRST, HELD))


def test_the_held_call_behind_a_later_one_and_earlier() -> None:
    text, _order = judged((FIRST, AT + 1), (HELD, AT))
    assert f"renew took effect at {AT}, behind renew, which was made later, at {AT + 1}: {TOO_EARLY}" in text


def test_the_held_call_reads_no_instant_to_which_the_clock_has_not_gone() -> None:
    text, _order = judged((FIRST, AT + 1), (HELD, AT + 1), gone_on=())
    assert text.startswith("no serial order")
    assert TOO_EARLY not in text
    text, _order = judged((FIRST, AT + 1), (HELD, AT + 3))
    assert text.startswith("no serial order")
    assert TOO_EARLY not in text


def test_the_held_call_between_two_that_are_later() -> None:
    between = judged((FIRST, AT + 1), (HELD, AT + 1), (SECOND, AT + 2))
    assert between[0] == ""
    assert judged((FIRST, AT + 1), (SECOND, AT + 2), (HELD, AT + 2)) == ("", (FIRST, SECOND, HELD))
    for early in (AT, AT + 1):
        text, _order = judged((FIRST, AT + 1), (SECOND, AT + 2), (HELD, early))
        assert f"took effect at {early}, behind renew, which was made later, at" in text


# The cases -----------------------------------------------------------------------------------------------------------


def test_they_are_written_and_read() -> None:
    cases = every_case()
    assert len({case.header.name for case in cases}) == len(cases)
    for case in cases:
        assert parse(write(case)) == case
        assert other_in(case).at == (held_in(case).frozen.at or 0) + 1
        assert not {held_in(case).frozen.call, other_in(case).call} & JOBS.reads


def test_of_each_operation_there_are_few() -> None:
    held = Counter(held_in(case).frozen.call for case in every_case())
    assert {"admit", "ack", "enqueue", "operator_cancel", "reclaim_expired", "renew", "write_job_output"} <= held.keys()
    assert set(held.values()) <= set(range(1, MOST_LATER + 1))


def test_a_store_is_asked_for_what_it_claims() -> None:
    core = SqlBackend(JOBS)
    core.profiles = frozenset({"CORE", "WRITERS"})
    few = asked_later(describe("miniature", core), CI)
    assert {case.header.profiles for case in few} == {()}
    assert {"admit", "ack", "enqueue", "reclaim_expired", "renew"} <= {held_in(case).frozen.call for case in few}
    assert set().union(*ends(core, few).values()) <= {Verdict.PASSED, Verdict.SKIPPED}


def test_they_are_the_same_each_time() -> None:
    profiles = describe("miniature", SqlBackend(JOBS)).profiles
    meetings = [case for case in kept("jobs") if case.header.name.startswith(("jobs/renew", "jobs/enqueue"))]
    assert later(JOBS, meetings, profiles, None) == later(JOBS, meetings, profiles, None) != ()


def test_nobody_is_asked_whose_clock_is_the_callers_or_who_is_in_a_hurry() -> None:
    assert asked_later(describe("miniature", SqlBackend(WORKLOAD)), CI) == ()
    assert asked_later(describe("miniature", SqlBackend(JOBS)), QUICK) == ()
