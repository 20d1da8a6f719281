"""A call that is held at a point: the case format, what is judged of it, and the ways in which a store can be held."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from attrs import define, evolve

import workcert.__main__
from workcert.adversity.interleavings.library import kept
from workcert.backends.registry import describe
from workcert.binding import bindings
from workcert.cases import CaseError, Frozen, Reopen, parse, required_abilities, write
from workcert.cases.model import Case
from workcert.judge.judge import Judge
from workcert.judge.ledger import Row
from workcert.judge.overlapping import Overlap, judge_overlapping
from workcert.run import beside
from workcert.run.calling import Answered, Observed, Refusal, Unavailable
from workcert.run.case import CaseRun, run_case
from workcert.run.events import Verdict
from workcert.run.execution import Execution
from workcert.run.holding import Held
from workcert.run.store import StoreUnderTest
from workcert.shrink.edits import changed, tidied
from workcert.vectors.vector import LeftOut, vector_of
from workspec.core.interpreter import apply
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall

from .miniatures.sql_stores import SqlBackend, SqlHandle, TwoTransactions, without_lease

WORKLOAD, JOBS = bindings()["workload"], bindings()["jobs"]


def case_of(name: str, point: int = 1) -> Case:
    case = next(case for case in kept(name.partition("/")[0]) if case.header.name == name)
    steps = tuple(evolve(step, point=point) if isinstance(step, Frozen) else step for step in case.steps)
    return evolve(case, steps=steps)


def held_in(backend: Any, case: Case) -> tuple[CaseRun, Held | None]:
    with StoreUnderTest.of(describe("miniature", backend)) as store:
        return held_on(store, case)


def held_on(store: StoreUnderTest, case: Case) -> tuple[CaseRun, Held | None]:
    seen: list[Held | None] = []

    def watch(execution: Execution, _step: Any, _run: Any) -> None:
        seen.append(execution.held)

    return run_case(store, case, watch=watch), seen[-1]


# The format ----------------------------------------------------------------------------------------------------------


def test_a_case_with_a_point_is_written_and_read() -> None:
    case = case_of("workload/cancel-against-claim", point=3)
    step = case.steps[-1]
    assert isinstance(step, Frozen)
    reopening = evolve(step, during=(*step.during, Reopen("o1", "B")))
    for each in (case, evolve(case, steps=(*case.steps[:-1], reopening))):
        assert parse(write(each)) == each
        assert required_abilities(each) == {"points", "second_handle"}


def changed_text(old: str, new: str) -> str:
    text = write(case_of("workload/cancel-against-claim"))
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"point": 1', '"point": 0', "point 0"),
        ('"point": 1', '"point": true', "point True"),
        ('"points", ', "", "the steps need the ability 'points'"),
        ('"during": [', '"during": [{"id": "o1", "on": "A", "reopen": true}, ', "on the frozen handle 'A'"),
        ('"during": [', '"during": [{"id": "o1", "on": "B", "reopen": 1}, ', "'reopen' is not true"),
        ('"lease_ms": 1000}}', '"lease_ms": 1000}, "expect": {"error": "WORKLOAD_CONFLICT"}}', "'expect' on"),
    ],
)
def test_faults_of_a_held_step(old: str, new: str, fault: str) -> None:
    with pytest.raises(CaseError, match=fault):
        parse(changed_text(old, new))


def test_a_handle_is_opened_anew_only_beside_a_held_call() -> None:
    reopen = '{"id": "o1", "on": "B", "reopen": true}\n{"end"'
    text = write(case_of("workload/cancel-against-claim")).replace('{"end"', reopen)
    with pytest.raises(CaseError, match="a reopen step outside of 'during'"):
        parse(text)
    unheld = changed_text('"during": [', '"during": [{"id": "o1", "on": "B", "reopen": true}, ')
    with pytest.raises(CaseError, match="a reopen step without a point"):
        parse(unheld.replace(', "point": 1', ""))


def later_by(ms: int) -> str:
    """A case with a call beside a held one that is made so much later."""
    case = case_of("jobs/ack-against-ack")
    *before, step = case.steps
    assert isinstance(step, Frozen)
    (other,) = step.during
    return write(evolve(case, steps=(*before, evolve(step, during=(evolve(other, at=step.frozen.at + ms),)))))


def test_a_call_at_a_point_may_be_made_later_where_the_store_has_a_clock() -> None:
    assert write(parse(later_by(1))) == later_by(1)


def test_no_call_at_a_point_is_made_earlier_where_the_store_has_a_clock() -> None:
    with pytest.raises(
        CaseError, match=r"at an earlier time than it.*; a store has one clock, which does not run back"
    ):
        parse(later_by(-1))


def test_no_call_at_a_point_is_made_earlier_than_one_before_it() -> None:
    case = case_of("jobs/ack-against-ack")
    *before, step = case.steps
    assert isinstance(step, Frozen)
    (other,) = step.during
    back = tuple(evolve(other, id=f"b{ms}", at=step.frozen.at + ms) for ms in (2, 1))
    with pytest.raises(CaseError, match=r"or than one before.*the instant of the one before"):
        parse(write(evolve(case, steps=(*before, evolve(step, during=back)))))


def test_an_earlier_call_at_a_point_is_left_out() -> None:
    case = case_of("jobs/ack-against-ack")
    *before, step = case.steps
    assert isinstance(step, Frozen)
    (other,) = step.during
    run, held = held_in(SqlBackend(JOBS), evolve(case, steps=(*before, evolve(step, during=(evolve(other, at=1),)))))
    assert held is None
    assert not run.steps[-2].applicable
    assert "does not run back" in run.steps[-2].note


def test_what_is_left_of_a_held_step() -> None:
    """Without the held call nothing is left that a handle could be opened beside."""
    case = case_of("workload/cancel-against-claim")
    step = case.steps[-1]
    assert isinstance(step, Frozen)
    both = evolve(case, steps=(*case.steps[:-1], evolve(step, during=(*step.during, Reopen("o1", "B")))))
    left = tidied(changed(both, lambda leaf: None if leaf.id == step.frozen.id else leaf))
    assert [each.id for each in left.steps] == [*(each.id for each in case.steps[:-1]), step.during[0].id]
    assert "points" not in left.header.abilities


def test_no_vector_is_made_of_it() -> None:
    left = vector_of(WORKLOAD, case_of("workload/cancel-against-claim"))
    assert isinstance(left, LeftOut)
    assert "held at a point" in left.reason


def test_replaying_prints_where_it_was_held(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "case.jsonl"
    file.write_text(write(case_of("workload/cancel-against-claim", point=2)), encoding="utf-8")
    assert workcert.__main__.main(["replay", str(file), "sqlite"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cancel, held" in said
    assert "meanwhile: claim" in said
    assert "held at: BEGIN" in said


# Being held ----------------------------------------------------------------------------------------------------------


def test_a_point_that_is_not_reached_forces_nothing() -> None:
    run, held = held_in(SqlBackend(WORKLOAD), case_of("workload/cancel-against-claim", point=50))
    assert run.verdict is Verdict.SKIPPED
    assert "was not held at its point 50: the call came to" in run.reason
    assert held is not None
    assert held.label is None
    assert held.first is True


def test_who_is_turned_away_has_done_nothing() -> None:
    run, held = held_in(SqlBackend(JOBS), case_of("jobs/ack-against-ack", point=2))
    assert run.verdict is Verdict.PASSED
    assert held is not None
    assert (held.label, held.first, held.waited) == ("SELECT key, record FROM rows ORDER BY rowid", None, False)


def test_who_waits_gets_its_turn() -> None:
    run, held = held_in(SqlBackend(JOBS, configurable=frozenset()), case_of("jobs/ack-against-ack", point=2))
    assert run.verdict is Verdict.PASSED
    assert held is not None
    assert (held.waited, held.timed, held.first) == (True, False, True)


def test_who_waits_comes_between_two_transactions_each_time() -> None:
    """The held call stands still at its further points too, until who waits for it has tried again."""
    halves = partial(TwoTransactions, half=without_lease, operation="admit")
    wrong = SqlBackend(JOBS, halves, configurable=frozenset())
    for point in (2, 3, 4, 5, 6):
        run, held = held_in(wrong, case_of("jobs/admit-against-idle-reclaim-expired", point))
        assert run.verdict is Verdict.FAILED
        assert held is not None
        assert (held.waited, held.timed) == (True, False)


class LockedByPython(SqlHandle):
    """Who writes waits for a lock of the process, of which no database knows."""

    lock = threading.Lock()

    def serial(self, call: ModelCall) -> Any:
        with self.lock:
            return SqlHandle.serial(self, call)


def test_who_waits_unseen_gets_its_turn_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first time nobody stands still for long, and nothing is said of who came first."""
    monkeypatch.setattr(beside, "LONG_PATIENCE_S", 1.0)
    monkeypatch.setattr(beside, "PATIENCE_S", 0.05)
    hiding = SqlBackend(JOBS, LockedByPython, configurable=frozenset())
    took_s: list[float] = []
    with StoreUnderTest.of(describe("miniature", hiding)) as store:
        for _ in range(2):
            begun_s = time.monotonic()
            run, held = held_on(store, case_of("jobs/ack-against-ack", point=2))
            took_s.append(time.monotonic() - begun_s)
            assert run.verdict is Verdict.PASSED
            assert held is not None
            assert (held.waited, held.timed) == (True, True)
        assert store.hides_waiting
    assert took_s[0] > 1.0 > took_s[1]


@define(eq=False)
class Coroutines(SqlHandle):
    """Every call is a coroutine; ``elsewhere``: its statements are made in a thread, as they should be."""

    elsewhere = True

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        async def made() -> Any:
            call: Callable[..., Any] = SqlHandle._call
            if self.elsewhere:
                return await asyncio.to_thread(call, self, name, arguments)
            return call(self, name, arguments)

        return made()


class Blocking(Coroutines):
    elsewhere = False


def test_coroutines_are_held_in_their_threads() -> None:
    for point in (1, 2, 3):
        run, held = held_in(SqlBackend(WORKLOAD, Coroutines), case_of("workload/cancel-against-claim", point))
        assert run.verdict is Verdict.PASSED
        assert held is not None
        assert held.label is not None


def test_coroutines_are_seen_to_wait() -> None:
    patient = SqlBackend(JOBS, Coroutines, configurable=frozenset())
    run, held = held_in(patient, case_of("jobs/ack-against-ack", point=2))
    assert run.verdict is Verdict.PASSED
    assert held is not None
    assert (held.waited, held.timed, held.first) == (True, False, True)


def test_what_blocks_the_event_loop_is_not_held() -> None:
    run, _held = held_in(SqlBackend(WORKLOAD, Blocking), case_of("workload/cancel-against-claim"))
    assert run.verdict is Verdict.SKIPPED
    assert "blocks the event loop" in run.reason


@define(eq=False)
class OwnPoints:
    """A coroutine store with points of its own, told to a callback that it awaits."""

    handle: SqlHandle
    callback: Any = None

    def points(self, callback: Any) -> None:
        self.callback = callback

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.handle, name)
        if name not in self.handle.binding.calls.calls:
            return found

        async def made(**arguments: Any) -> Any:
            for label in ("one", "two") if self.callback is not None else ():
                awaited = self.callback(label)
                if awaited is not None:
                    await awaited
            return found(**arguments)

        return made


class OwnBackend(SqlBackend):
    def open(self, place: Any, config: Any) -> Any:
        return OwnPoints(SqlBackend.open(self, place, config))


def test_points_of_its_own() -> None:
    own = OwnBackend(WORKLOAD, abilities=frozenset({"reset", "second_handle", "points"}), dbapi=None)
    run, held = held_in(own, case_of("workload/cancel-against-claim", point=2))
    assert run.verdict is Verdict.PASSED
    assert held == Held("two", 2, first=False)


class _Proxied:
    """A connection of another module."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self.real = sqlite3.connect(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class OtherModule(SqlHandle):
    def __attrs_post_init__(self) -> None:
        SqlHandle.__attrs_post_init__(self)
        self.connection.close()
        other = sys.modules["another_database"]
        self.connection = other.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)


def test_another_database_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("another_database")
    module.connect = _Proxied
    monkeypatch.setitem(sys.modules, "another_database", module)
    backend = SqlBackend(JOBS, OtherModule, dbapi="another_database")
    run, held = held_in(backend, case_of("jobs/ack-against-ack", point=2))
    assert run.verdict is Verdict.PASSED
    assert held is not None
    assert (held.label, held.first) == ("SELECT key, record FROM rows ORDER BY rowid", None)


# Judging -------------------------------------------------------------------------------------------------------------


def claimed_twice() -> tuple[State, ModelCall]:
    """A workload that waits, and a claim of it."""
    case = case_of("workload/claim-against-claim")
    backend = SqlBackend(WORKLOAD)
    with StoreUnderTest.of(describe("miniature", backend)) as store:
        store.begin()
        execution = Execution(store)
        for step in case.steps[:-1]:
            execution.step(step)
        frozen = case.steps[-1]
        assert isinstance(frozen, Frozen)
        made = execution.prepare(frozen.frozen)
        assert isinstance(made, tuple)
        return execution.judge.state, made[0]


def judged(
    state: State, after: State, claims: list[tuple[ModelCall, Observed, frozenset[int]]]
) -> tuple[str, tuple[int, ...]]:
    """What is said of calls that overlap, each with those that may have committed inside of it."""
    judge = Judge(WORKLOAD, {}, lambda _key: True, state)
    group = [Overlap(call, 0, observed, met=met) for call, observed, met in claims]
    rows = {key: Row(record.version, WORKLOAD.present(record)) for key, record in after.items()}
    explained = judge_overlapping(judge, group, rows.get, lambda: None)
    return "" if explained.failure is None else explained.failure.text, explained.order


def test_one_of_two_claims() -> None:
    state, claim = claimed_twice()
    done = apply(WORKLOAD.contract, state, claim, 0)
    won = Answered(done.outcome.value)  # type: ignore[union-attr]
    conflict = Refusal(WORKLOAD.contract.conflict_code or "", None, "")
    both, none = frozenset({0, 1}), frozenset[int]()
    assert judged(state, done.state, [(claim, won, both), (claim, conflict, both)]) == ("", (0,))
    said, _ = judged(state, done.state, [(claim, won, both), (claim, conflict, none)])
    assert "nobody changed" in said
    said, _ = judged(state, done.state, [(claim, won, both), (claim, won, both)])
    assert said.startswith("no serial order")


def test_who_was_unavailable_did_nothing_or_may_have() -> None:
    state, claim = claimed_twice()
    done = apply(WORKLOAD.contract, state, claim, 0)
    none = frozenset[int]()
    sure, unsure = Unavailable(True, "busy"), Unavailable(False, "lost")
    assert judged(state, state, [(claim, sure, none)]) == ("", ())
    assert judged(state, done.state, [(claim, sure, none)])[0].startswith("no serial order")
    assert judged(state, state, [(claim, unsure, none)]) == ("", ())
    assert judged(state, done.state, [(claim, unsure, none)]) == ("", (0,))
