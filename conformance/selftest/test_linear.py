"""What the checker of histories says, one thing at a time."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from attrs import evolve

from workcert.adversity.parallel.authors import author_of
from workcert.adversity.parallel.programs import Shape, program
from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.linear import FitsAnOrder, FitsNone, Made, Unknown, check
from workcert.linear.acts import Way, acts_of, by_records, keys_in
from workcert.linear.history import NEVER
from workcert.linear.lanes import drawn
from workcert.linear.parts import parts_of
from workcert.run.calling import Answered, Observed, Refusal, Unavailable
from workcert.run.literal import brief
from workspec.core.interpreter import apply
from workspec.core.scope import Call

from .simulated_histories import reader, simulated, without_tickets

JOBS = bindings()["jobs"]
LEASE_MS = 1000


def duty(caller: str, holder: str, answer: bool, begin: int, end: int = NEVER, ticket: int | None = None) -> Made:
    call = Call("claim_duty", {"name": "sweep", "holder": holder, "lease_ms": LEASE_MS})
    return Made(caller, call, 0, Answered(answer), begin, end, ticket)


def release(caller: str, holder: str, begin: int, end: int) -> Made:
    return Made(caller, Call("release_duty", {"name": "sweep", "holder": holder}), 0, Answered(None), begin, end)


def said(*history: Made, budget: int = 1000) -> Any:
    return check(Judge(JOBS, {}, JOBS.legible), history, lambda _key: None, budget)


def test_one_of_two_at_once_has_the_duty() -> None:
    found = said(duty("A", "x", True, 1, 3), duty("B", "y", False, 2, 4))
    assert isinstance(found, FitsAnOrder)
    assert found.order == (0, 1)


def test_both_cannot_have_it() -> None:
    found = said(duty("A", "x", True, 1, 3), duty("B", "y", True, 2, 4))
    assert isinstance(found, FitsNone)
    assert found.call == 1
    assert "JOB-DTY-01" in found.cause.requirements
    assert (found.cause.differences[0].expected, found.cause.differences[0].seen) == (False, True)


def test_an_order_against_real_time_is_none() -> None:
    assert isinstance(said(duty("A", "x", False, 1, 2), duty("B", "y", True, 3, 4)), FitsNone)
    assert isinstance(said(duty("A", "x", False, 1, 3), duty("B", "y", True, 2, 4)), FitsAnOrder)


def test_what_changes_nothing_here_may_change_something_later() -> None:
    """A release that is silent before anybody holds the duty explains the second claim only where it comes between."""
    history = (duty("A", "x", True, 2, 4), release("B", "x", 1, 6), duty("C", "y", True, 3, 8))
    assert isinstance(said(*history), FitsAnOrder)


def test_a_call_that_was_not_answered_may_have_happened_or_not() -> None:
    lost = evolve(duty("A", "x", True, 1), seen=None)
    assert isinstance(said(lost, duty("B", "y", True, 2, 3)), FitsAnOrder)
    assert isinstance(said(lost, duty("B", "y", False, 2, 3)), FitsAnOrder)
    assert isinstance(said(lost, duty("B", "y", False, 2, 3), duty("C", "z", True, 4, 5)), FitsNone)


@pytest.mark.parametrize(("definite", "fits"), [(False, True), (True, False)])
def test_what_was_definitely_unavailable_has_not_happened(definite: bool, fits: bool) -> None:
    gone = evolve(duty("A", "x", True, 1, 2), seen=Unavailable(definite, "busy"))
    assert isinstance(said(gone, duty("B", "y", False, 3, 4)), FitsAnOrder) is fits


def test_a_told_order_that_does_not_hold_refutes_itself_only() -> None:
    found = said(duty("A", "x", True, 1, 3, ticket=2), duty("B", "y", False, 2, 4, ticket=1))
    assert isinstance(found, FitsAnOrder)


def test_a_budget_that_is_used_up_is_no_verdict() -> None:
    found = said(*(duty(str(n), str(n), False, n, 100 + n) for n in range(20)), budget=10)
    assert isinstance(found, Unknown)
    assert "10 decisions" in found.reason


def test_what_was_read_afterwards_has_to_fit_too() -> None:
    case = program(describe("right", of(JOBS)), frozenset(JOBS.calls.calls), author_of("jobs"), Random(5), Shape(2, 4))
    judge, history, read = simulated(JOBS, case, Random(5))
    assert isinstance(check(judge, history, read), FitsAnOrder)
    before = reader(JOBS, judge.state)
    if any(before(key) != read(key) for key in judge.state if JOBS.legible(key)):
        found = check(judge, history, before)
        assert isinstance(found, FitsNone)


# A guard that was lost -----------------------------------------------------------------------------------------------

WORKLOAD = bindings()["workload"]


def raced(seen: Observed, begin: int, end: int) -> Any:
    """Two cancels of one work at once; the second is answered so."""
    case = program(
        describe("right", of(WORKLOAD)),
        frozenset(WORKLOAD.calls.calls),
        author_of("workload"),
        Random(1),
        Shape(2, 2),
    )
    judge, _history, _read = simulated(WORKLOAD, case, Random(1))
    key = next(iter(judge.state))
    call = Call("cancel", {"workload_id": key, "actor": "operator"})
    done = apply(WORKLOAD.contract, judge.state, call, 11)
    first = Made("A", call, 11, Answered(done.outcome.value), 1, 3)  # type: ignore[union-attr]
    second = Made("B", call, 11, seen, begin, end)
    return check(judge, [first, second], reader(WORKLOAD, done.state))


CONFLICT = Refusal("WORKLOAD_CONFLICT", None, "WORKLOAD_CONFLICT")


def test_a_guard_may_be_lost_to_a_commit_inside_the_call() -> None:
    assert isinstance(raced(CONFLICT, 2, 4), FitsAnOrder)


def test_a_guard_is_not_lost_to_a_commit_before_the_call() -> None:
    found = raced(CONFLICT, 4, 5)
    assert isinstance(found, FitsNone)
    assert found.cause.requirement == "WRK-MWR-05"


# Parts ---------------------------------------------------------------------------------------------------------------


def histories(contract: str, count: int) -> Sequence[tuple[Judge, list[Made], Read]]:
    binding = bindings()[contract]
    backend, methods = describe("right", of(binding)), frozenset(binding.calls.calls)
    made = (program(backend, methods, author_of(contract), Random(seed), Shape(4, 6)) for seed in range(count))
    return [simulated(binding, case, Random(seed), 1.0) for seed, case in enumerate(made)]


def test_what_shares_nothing_is_judged_apart() -> None:
    sizes = []
    for judge, history, _read in histories("workload", 20):
        acts = acts_of(WORKLOAD, history, sorted({*judge.state, *keys_in(WORKLOAD, history)}))
        parts = parts_of(WORKLOAD, acts, judge.state)
        assert sorted(id(act) for part in parts for act in part.acts) == sorted(map(id, acts))
        assert {key for part in parts for key in part.begun} == set(judge.state)
        sizes.append(sum(bool(part.acts) for part in parts))
    assert max(sizes) > 1


def test_no_part_reads_what_is_in_another() -> None:
    """Every call has the same outcome on the records of its part alone as on all."""
    asked = 0
    for judge, history, read in histories("workload", 30):
        whole = check(judge, history, read)
        assert isinstance(whole, FitsAnOrder)
        acts = acts_of(WORKLOAD, history, sorted({*judge.state, *keys_in(WORKLOAD, history)}))
        parts = parts_of(WORKLOAD, acts, judge.state)
        state = judge.state
        for index in whole.order:
            made = history[index]
            part = next(part for part in parts if any(act.index == index for act in part.acts))
            own = {*part.begun, *keys_in(WORKLOAD, [act.made for act in part.acts if act.way is Way.CALL])}
            alone = {key: record for key, record in state.items() if key in own}
            done = apply(WORKLOAD.contract, state, made.call, made.now)
            if not by_records(WORKLOAD, made):
                assert apply(WORKLOAD.contract, alone, made.call, made.now).outcome == done.outcome
                asked += len(alone) < len(state)
            state = done.state
    assert asked > 50


def test_a_contract_whose_calls_may_touch_anything_is_not_taken_apart() -> None:
    for judge, history, _read in histories("jobs", 5):
        assert len(parts_of(JOBS, acts_of(JOBS, history, []), judge.state)) == 1


def test_commits_that_are_told_save_the_search() -> None:
    for judge, history, read in histories("jobs", 10):
        told, silent = check(judge, history, read), check(judge, without_tickets(history), read)
        assert isinstance(told, FitsAnOrder)
        assert isinstance(silent, FitsAnOrder)
        assert told.visits < 3 * len(history)


def test_lanes_show_calls_from_beginning_to_return() -> None:
    history = [duty("A", "x", True, 1, 3), duty("B", "y", True, 2, 4)]
    found = said(*history)
    text = drawn(history, found, lambda index: f"c{index} claim_duty", brief)
    assert text.splitlines() == [
        "A                                   B",
        "┌ c0 claim_duty",
        "│                                   ┌ c1 claim_duty",
        "└ True                              │",
        "                                    ✗ True",
        "An order that comes furthest: c0; then nothing fits.",
    ]
