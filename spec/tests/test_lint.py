import random
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from workspec.core.condition import ALWAYS, Term, flag
from workspec.core.contract import Contract
from workspec.core.lint import Finding, lint, never_fired, never_written
from workspec.core.rule import DecisionTable, Move, Refuse, TableRow, Transition, TransitionTable, effect, ids
from workspec.core.sample import Sample, walk
from workspec.core.scope import Scope
from workspec.core.truth import satisfying

from . import toy
from .toy import CONTRACT

SAMPLES: list[Sample] = list(walk(CONTRACT, toy.propose, random.Random(1).choice, walks=80, steps=40, start=toy.START))


def found(contract: Contract, shown: tuple[str, ...] = ()) -> list[Finding]:
    return lint(contract, shown, SAMPLES)


def with_operation(operation: Any) -> Contract:
    return evolve(CONTRACT, operations=tuple(operation if o.name == operation.name else o for o in CONTRACT.operations))


def with_rows(change: Callable[[Transition], Transition | None], *more: Transition) -> Contract:
    """Only the table changes; checks by `illegal` keep asking the sound one."""
    rows = [changed for row in toy.TRANSITIONS.rows if (changed := change(row)) is not None]
    return evolve(CONTRACT, transitions=TransitionTable((*rows, *more)))


def same(row: Transition) -> Transition:
    return row


def test_a_sound_contract_is_not_accused() -> None:
    assert found(CONTRACT) == []


def test_the_samples_reach_every_rule() -> None:
    assert never_fired(CONTRACT, SAMPLES) == []
    assert never_written(CONTRACT, SAMPLES) == []


def test_what_no_sample_reaches_is_told() -> None:
    few = SAMPLES[:1]
    assert "finish: refuse TOY-FIN-02" in never_fired(CONTRACT, few)
    assert ("charge", "tokens") in never_written(CONTRACT, few)


# Ids and names


def test_an_orphan_id_is_found_unless_a_case_shows_it() -> None:
    plain = evolve(toy.TOUCH, requirements=())
    silent = evolve(plain, steps=(evolve(toy.touch, requirements=()),))
    faulty = evolve(with_operation(silent), choices=(toy.SERIAL, toy.GIVER, toy.REMARKS, toy.LATE_CODE))
    assert found(faulty) == [Finding("orphan id", "TOY-TCH-01", "no rule names it and no case shows it")]
    assert found(faulty, ("TOY-TCH-01",)) == []


@pytest.mark.parametrize(
    "faulty",
    [
        with_operation(evolve(toy.TOUCH, requirements=ids("TOY-XXX-01"))),
        with_operation(evolve(toy.FINISH, order=ids("TOY-FIN-06 TOY-XXX-01"))),
        with_operation(evolve(toy.TOUCH, steps=(evolve(toy.touch, requirements=ids("TOY-XXX-01")),))),
        with_rows(lambda row: evolve(row, requirements=(*row.requirements, "TOY-XXX-01"))),
        evolve(CONTRACT, conflict_requirements=ids("TOY-MWR-01 TOY-XXX-01")),
        evolve(CONTRACT, comparisons={"refusal": ids("TOY-GEN-03 TOY-XXX-01")}),
        evolve(CONTRACT, choices=(*CONTRACT.choices, evolve(toy.STRIDE, requirements=ids("TOY-XXX-01")))),
        evolve(CONTRACT, invariants=(*CONTRACT.invariants, evolve(CONTRACT.invariants[0], requirement="TOY-XXX-01"))),
        evolve(CONTRACT, uniques=(evolve(CONTRACT.uniques[0], requirements=ids("TOY-FIN-07 TOY-XXX-01")),)),
        evolve(CONTRACT, tables=(evolve(toy.GIVING, order=ids("TOY-DEC-03 TOY-XXX-01")),)),
    ],
)
def test_an_id_that_the_catalogue_lacks_is_found(faulty: Contract) -> None:
    assert [(f.rule, "TOY-XXX-01" in f.text) for f in found(faulty)] == [("unknown id", True)]


def test_a_case_that_shows_an_unknown_id_is_found() -> None:
    assert [f.where for f in found(CONTRACT, ("TOY-XXX-01",))] == ["a case file"]


def test_two_terms_of_one_name_are_found() -> None:
    other = Term("tries", "hours", "facts", lambda _scope: 0)
    faulty = with_operation(evolve(toy.TOUCH, checks=(*toy.TOUCH.checks, Refuse(ids("TOY-GEN-01"), "X", other > 3))))
    assert "ambiguous name" in {f.rule for f in found(faulty)}


# Reachability


@flag("it is Monday", source="call")
def monday(_scope: Scope) -> bool:
    return False


@pytest.mark.parametrize(
    ("first", "second", "shadowed"),
    [
        (monday, monday, True),
        (monday, monday & (toy.tries > 3), True),
        (monday | (toy.tries > 3), toy.tries > 3, True),
        (toy.tries >= toy.limit, toy.limit < toy.tries, True),
        (toy.tries > 3, toy.tries >= 5, True),
        (toy.state.is_("DONE", "TAKEN"), toy.state.is_("DONE"), True),
        (~monday, monday & ~monday, True),
        (monday, ~monday, False),
        (toy.tries > toy.limit, toy.tries >= toy.limit, False),
        (toy.tries >= 5, toy.tries > 3, False),
        (toy.state.is_("DONE"), toy.state.is_("DONE", "TAKEN"), False),
        (monday & (toy.tries > 3), monday, False),
        (toy.tries > 3, ~(toy.tries > 3), False),
    ],
)
def test_a_check_that_an_earlier_one_shadows_is_found(first: Any, second: Any, shadowed: bool) -> None:
    checks = (Refuse(ids("TOY-GEN-01"), "X", first), Refuse(ids("TOY-GEN-01"), "Y", second))
    show = evolve(toy.SHOW, checks=checks)
    rules = [(f.rule, f.where) for f in lint(with_operation(show), (), ())]
    assert rules == ([("unreachable check", "show: refuse TOY-GEN-01 #2")] if shadowed else [])


def test_a_row_of_a_decision_table_behind_one_that_always_holds_is_found() -> None:
    rows = (
        toy.GIVING.rows[0],
        TableRow(ids("TOY-DEC-02"), ALWAYS, "again"),
        TableRow(ids("TOY-DEC-02"), toy.tries > 7, "drop"),
    )
    table = DecisionTable(toy.GIVING.name, "decision", rows, "drop", ids("TOY-DEC-03"))
    assert [f.rule for f in found(evolve(CONTRACT, tables=(table,)))] == ["unreachable row"]


def test_a_known_domain_narrows_the_search() -> None:
    assert satisfying([toy.state.is_("DONE")], [], {"state": ("TAKEN",)}) is None
    assert satisfying([toy.state.is_("DONE")], [], {"state": ("DONE",)}) == {"state": "DONE"}
    assert satisfying([], [ALWAYS]) is None


# Transitions


def guarded(target: str, guard: Any) -> Contract:
    return with_rows(lambda row: evolve(row, guard=guard) if (row.event, row.target) == ("give back", target) else row)


@pytest.mark.parametrize(
    ("faulty", "rule"),
    [
        (guarded("WAITING", toy.again & toy.same_receipt), "gap between rows"),
        (guarded("DROPPED", ~toy.again | toy.same_receipt), "overlapping rows"),
        (guarded("DROPPED", ALWAYS), "overlapping rows"),
        (guarded("DROPPED", toy.tries > toy.limit), "overlapping rows"),
        (
            with_rows(lambda row: None if row.target == "DROPPED" and row.event == "give back" else row),
            "gap between rows",
        ),
        (with_rows(same, toy.TRANSITIONS.rows[2]), "overlapping rows"),
        (with_rows(same, Transition("DONE", "take", "TAKEN", ids("TOY-TAK-04"))), "way out of a final state"),
        (with_rows(lambda row: evolve(row, target="NOWHERE") if row.event == "finish" else row), "undeclared state"),
        (with_rows(same, Transition("WAITING", "explode", "DROPPED", ids("TOY-TAK-04"))), "idle row"),
        (with_rows(lambda row: None if row.event == "finish" else row), "illegal move"),
        (with_rows(lambda row: None if row.key == "TAKEN -[lapse]-> DROPPED" else row), "illegal move"),
        (evolve(CONTRACT, start_state="NOWHERE"), "undeclared state"),
    ],
)
def test_a_faulty_transition_is_found(faulty: Contract, rule: str) -> None:
    assert rule in {f.rule for f in lint(faulty, (), ())}


def test_a_move_that_no_state_is_left_for_is_found() -> None:
    never = Refuse(ids("TOY-FIN-03"), "STATE", when=toy.state.is_("TAKEN"))
    checks = (*toy.GIVE_BACK.checks, never)
    findings = lint(with_operation(evolve(toy.GIVE_BACK, checks=checks)), (), ())
    assert Finding("illegal move", "give_back: move give back", "no state remains in which it can be made") in findings


def test_a_move_that_its_checks_let_through_in_a_wrong_state_is_found() -> None:
    unchecked = evolve(toy.GIVE_BACK, checks=(toy.UNKNOWN,))
    texts = [f.text for f in lint(with_operation(unchecked), (), ()) if f.rule == "illegal move"]
    assert "can be made in DONE, which has no row for it" in texts
    assert not any("TAKEN" in text for text in texts)


def test_a_second_move_is_followed_from_where_the_first_one_leads() -> None:
    twice = evolve(toy.FINISH, steps=(*toy.FINISH.steps, Move("give back", toy.caller, ids("TOY-GIV-01"))))
    texts = [f.text for f in lint(with_operation(twice), (), ()) if f.rule == "illegal move"]
    assert texts == ["can be made in DONE, which has no row for it"]


# Effects and logs


def test_an_effect_that_writes_what_it_does_not_declare_is_found() -> None:
    faulty = with_operation(evolve(toy.TOUCH, steps=(evolve(toy.touch, writes=("due_at",)),)))
    assert found(faulty) == [Finding("undeclared write", "touch", "writes touched")]
    assert ("touch", "due_at") in never_written(faulty, SAMPLES)


def test_an_effect_inside_a_condition_or_on_another_record_is_watched_too() -> None:
    draw = evolve(toy.TAKE, steps=(evolve(toy.charge, writes=("tokens",)), *toy.TAKE.steps[1:]))
    assert found(with_operation(draw)) == [Finding("undeclared write", "charge", "writes log.charges")]
    when = evolve(toy.FINISH.steps[0], steps=(evolve(toy.record_receipt, writes=("receipt",)),))
    finish = evolve(toy.FINISH, steps=(when, *toy.FINISH.steps[1:]))
    assert found(with_operation(finish)) == [Finding("undeclared write", "record receipt", "writes serial")]


@flag("it has a long history", source="store")
def long_history(scope: Scope) -> bool:
    return scope.key in scope.state and len(scope.state[scope.key].log.history) > 1_000


@effect("TOY-TCH-01", writes="touched", text="as often as the log says")
def touch_by_the_log(scope: Scope) -> Any:
    return {"touched": len(scope.state[scope.key or ""].log.history)}


def test_a_check_that_reads_a_log_is_found() -> None:
    checks = (*toy.TOUCH.checks, Refuse(ids("TOY-FIN-03"), "OLD", when=long_history))
    faulty = with_operation(evolve(toy.TOUCH, checks=checks))
    finding = Finding("rule that reads the log", "touch", "long_history reads 'history' of a log")
    assert found(faulty) == [finding]
    assert lint(faulty, (), SAMPLES, log_readers=("touch",)) == []


def test_an_effect_that_reads_a_log_is_found() -> None:
    faulty = with_operation(evolve(toy.TOUCH, steps=(touch_by_the_log,)))
    assert [f.text for f in found(faulty)] == ["touch_by_the_log reads 'history' of a log"]


def test_a_row_of_a_table_that_reads_a_log_is_found() -> None:
    when = evolve(toy.GIVE_BACK.steps[0], condition=toy.GIVING.term.is_("again") & ~long_history)
    faulty = with_operation(evolve(toy.GIVE_BACK, steps=(when, *toy.GIVE_BACK.steps[1:])))
    assert [f.text for f in found(faulty)] == ["long_history reads 'history' of a log"]


def test_an_answer_may_read_a_log() -> None:
    reply = evolve(toy.FINISH.checks[1], answer=lambda scope: scope.state[scope.key or ""].log.history)
    faulty = with_operation(evolve(toy.FINISH, checks=(toy.FINISH.checks[0], reply, *toy.FINISH.checks[2:])))
    assert found(faulty) == []
