from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from workspec.core.choice import OTHER, Choice, Chooser, Declared, NotAsserted, reference
from workspec.core.interpreter import Accepted, Committed, Refused, RuleError, apply, commit, decide, instants
from workspec.core.record import State
from workspec.core.rule import Phase, TransitionTable
from workspec.core.scope import Scope

from . import toy
from .toy import BUCKET, CONTRACT, START, call


def run(*steps: tuple[int, Any], state: State = START, choose: Chooser = reference) -> Committed:
    """Apply calls at their instants; the last commit."""
    for now_s, one in steps:
        done = apply(CONTRACT, state, one, now_s, choose)
        state = done.state
    return done


def add(*names: str, lapses_at: int | None = None) -> Any:
    return call("add", names=names, lapses_at=lapses_at, who="me")


def take(limit: int = 1) -> Any:
    return call("take", limit=limit, who="me")


def finish(name: str = "one", receipt: str | None = "r1") -> Any:
    return call("finish", name=name, receipt=receipt, who="me")


def give_back(name: str = "one") -> Any:
    return call("give_back", name=name, who="me")


def history(state: State, name: str = "one") -> list[tuple[Any, ...]]:
    return list(state[name].log.history)


# Operation -------------------------------------------------------------------------------------------------------


def test_a_refusal_changes_nothing_and_names_its_rule() -> None:
    done = run((1, finish("nobody")))
    assert done.outcome == Refused("UNKNOWN")
    assert done.state == START
    assert done.decision.rule == "finish: refuse TOY-GEN-01"
    assert done.decision.rule_requirements == ("TOY-GEN-01",)
    assert "TOY-GEN-01" in done.decision.trace.requirements


def test_a_success_applies_every_effect_and_appends_to_the_log() -> None:
    done = run((1, add("one")), (2, take()), (3, finish()))
    assert done.outcome == Accepted("one-1")
    record = done.state["one"]
    assert (record.facts.state, record.facts.receipt, record.version) == ("DONE", "r1", 3)
    assert history(done.state) == [
        ("NEW", "WAITING", "me", 1, {}),
        ("WAITING", "TAKEN", "me", 2, {}),
        ("TAKEN", "DONE", "me", 3, {"receipt": "r1", "remark": "none"}),
    ]
    assert done.decision.rule is None
    assert done.decision.trace.fired == ["record receipt", "TAKEN -[finish]-> DONE"]
    assert done.decision.trace.passed == [
        "finish: refuse TOY-GEN-01",
        "finish: reply TOY-FIN-01",
        "finish: refuse TOY-FIN-02",
        "finish: refuse TOY-FIN-03",
    ]


def test_when_passes_its_steps_over_and_absent_evidence_leaves_no_key() -> None:
    done = run((1, add("one")), (2, take()), (3, finish(receipt=None)))
    assert done.state["one"].facts.serial is None
    assert history(done.state)[-1][-1] == {"remark": "none"}
    assert "record receipt" not in done.decision.trace.fired


def test_a_reply_answers_and_does_nothing() -> None:
    before = run((1, add("one")), (2, take()), (3, finish())).state
    done = run((99, finish()), state=before)
    assert done.outcome == Accepted("one-1")
    assert done.state == before
    assert done.decision.parts == ()
    assert done.decision.rule == "finish: reply TOY-FIN-01"


def test_a_refusal_may_commit_and_its_details_speak_of_the_record_before() -> None:
    done = run((1, add("one", lapses_at=5)), (2, take()), (5, finish()))
    assert done.outcome == Refused("LAPSED", {"lapsed_at": 5})
    assert done.state["one"].facts.state == "DROPPED"
    assert history(done.state)[-1] == ("TAKEN", "DROPPED", "nobody", 5, {})


def test_the_order_of_checks_counts_only_when_two_compete() -> None:
    taken = run((1, add("one", lapses_at=5)), (2, take())).state
    only_late = decide(CONTRACT, taken, finish(), 5)
    assert only_late.rule == "finish: refuse TOY-FIN-02"
    assert "TOY-FIN-06" not in only_late.trace.requirements
    waiting = run((1, add("one", lapses_at=5))).state
    late_and_not_taken = decide(CONTRACT, waiting, finish(), 5)
    assert late_and_not_taken.rule == "finish: refuse TOY-FIN-02"
    assert "TOY-FIN-06" in late_and_not_taken.trace.requirements


def test_looking_for_competition_leaves_no_trace() -> None:
    waiting = run((1, add("one", lapses_at=5))).state
    trace = decide(CONTRACT, waiting, finish(), 5).trace
    assert "finish: refuse TOY-FIN-03" not in [*trace.fired, *trace.passed]


def test_checks_on_facts_do_not_compete_on_an_unknown_record() -> None:
    assert "TOY-FIN-06" not in decide(CONTRACT, START, finish("nobody"), 1).trace.requirements


def test_sides_of_comparisons_are_traced() -> None:
    taken = run((1, add("one", lapses_at=5)), (2, take())).state
    key = "finish: refuse TOY-FIN-02 | now >= lapse"
    for now_s, side in ((4, "below"), (5, "at"), (6, "above")):
        assert (key, side) in decide(CONTRACT, taken, finish(), now_s).trace.sides


def test_a_read_commits_nothing() -> None:
    before = run((1, add("one"))).state
    done = run((2, call("show", name="one")), state=before)
    assert done.outcome == Accepted((("NEW", "WAITING", "me", 1, {}),))
    assert done.decision.parts == ()


# Decision tables -------------------------------------------------------------------------------------------------


def test_a_table_is_settled_once_though_effects_change_what_it_asks() -> None:
    done = run((1, add("one")), (2, take()), (3, give_back()))
    assert done.outcome == Accepted("WAITING")
    facts = done.state["one"].facts
    assert (facts.tries, facts.due_at) == (1, 13)
    assert history(done.state)[-1] == ("TAKEN", "WAITING", "me", 3, {"decision": "again"})
    twice = run((13, take()), (14, give_back()), state=done.state)
    assert twice.outcome == Accepted("DROPPED")
    assert twice.state["one"].facts.due_at == 13


def test_a_table_names_its_row_and_its_order_only_when_a_later_row_holds_too() -> None:
    taken = run((1, add("one")), (2, take())).state
    first = decide(CONTRACT, taken, give_back(), 3).trace
    assert "table what becomes of a returned ticket row 2" in first.fired
    assert "TOY-DEC-03" not in first.requirements
    tried = {**taken, "one": evolve(taken["one"], facts=evolve(taken["one"].facts, tries=1))}
    both = decide(CONTRACT, tried, give_back(), 3).trace
    assert {"TOY-DEC-01", "TOY-DEC-03"} <= set(both.requirements)
    assert "TOY-DEC-02" not in both.requirements
    often = {**taken, "one": evolve(taken["one"], facts=evolve(taken["one"].facts, tries=2))}
    assert "TOY-DEC-03" not in decide(CONTRACT, often, give_back(), 3).trace.requirements


# Batch -----------------------------------------------------------------------------------------------------------


def test_an_atomic_batch_skips_what_exists_and_what_stands_earlier_in_it() -> None:
    done = run((1, add("one")), (2, add("one", "two", "two", "three")))
    assert done.outcome == Accepted(["two", "three"])
    assert sorted(done.state) == [BUCKET, "one", "three", "two"]
    assert done.state["one"].version == 1
    assert {"TOY-ADD-02", "TOY-ADD-03", "TOY-ADD-04"} <= set(done.decision.trace.requirements)


def test_a_phase_runs_over_all_elements_before_the_next_and_a_refusal_ends_the_batch() -> None:
    done = run((1, add("one", "one", " ")))
    assert done.outcome == Refused("INVALID")
    assert done.state == START
    assert "add: skip TOY-ADD-03" not in done.decision.trace.fired


def test_an_atomic_batch_that_lost_one_guard_is_lost_whole() -> None:
    decision = decide(CONTRACT, START, add("one", "two"), 1)
    meanwhile = run((1, add("two"))).state
    done = commit(CONTRACT, meanwhile, decision)
    assert done.outcome == Refused("CONFLICT")
    assert done.lost == ("two",)
    assert done.state == meanwhile
    assert "TOY-MWR-01" in done.decision.trace.requirements


def test_a_batch_that_is_not_atomic_passes_a_lost_element_over() -> None:
    before = run((1, add("one", "two", "three", lapses_at=5))).state
    decision = decide(CONTRACT, before, call("sweep"), 5)
    meanwhile = run((4, call("touch", name="two")), state=before).state
    done = commit(CONTRACT, meanwhile, decision)
    assert done.outcome == Accepted(["one", "three"])
    assert done.lost == ("two",)
    states = {name: done.state[name].facts.state for name in ("one", "two", "three")}
    assert states == {"one": "DROPPED", "two": "WAITING", "three": "DROPPED"}


def test_a_batch_without_a_fitting_element_changes_nothing() -> None:
    before = run((1, add("one", lapses_at=5))).state
    done = run((4, call("sweep")), state=before)
    assert (done.outcome, done.state) == (Accepted([]), before)


def test_a_skip_may_commit_in_a_batch() -> None:
    before = run((1, add("one", lapses_at=5)), (1, add("two"))).state
    for atomic in (False, True):
        late = evolve(toy.SWEEP, phases=(Phase((toy.TAKE.gate[1],)),), steps=(toy.touch,), atomic=atomic)
        done = apply(evolve(CONTRACT, operations=(late,)), before, call("sweep"), 5)
        assert done.outcome == Accepted(["two"]), "an element that was passed over is not in the answer"
        assert done.state["one"].facts.state == "DROPPED"


# Draw ------------------------------------------------------------------------------------------------------------


def test_a_draw_takes_in_order_up_to_its_limit_and_charges_another_record() -> None:
    done = run((1, add("b", "a", "c")), (2, take(2)))
    assert done.outcome == Accepted(["a", "b"])
    assert done.state["c"].facts.state == "WAITING"
    assert done.state[BUCKET].facts.tokens == 1
    assert done.state[BUCKET].log.charges == (2, 2)
    assert done.state[BUCKET].version == 2
    assert done.decision.trace.fired.count("charge") == 2


def test_a_draw_ends_when_the_bucket_is_empty() -> None:
    done = run((1, add("a", "b", "c", "d")), (2, take(9)))
    assert done.outcome == Accepted(["a", "b", "c"])
    assert done.state[BUCKET].facts.tokens == 0
    assert run((3, take(9)), state=done.state).outcome == Accepted([])


def test_the_gate_of_a_draw_skips_and_a_skip_may_commit() -> None:
    before = run((1, add("a", lapses_at=5)), (1, add("b")), (1, add("c")), (2, take(1)), (3, give_back("a"))).state
    done = run((6, take(9)), state=before)
    assert done.outcome == Accepted(["b", "c"])
    assert done.state["a"].facts.state == "DROPPED"
    early = run((1, add("a")), (2, take(1)), (3, give_back("a")), (12, take(1)))
    assert early.outcome == Accepted([])
    assert "take: skip TOY-TAK-03" in early.decision.trace.fired


def test_a_draw_is_refused_before_it_begins() -> None:
    done = run((1, add("a")), (2, take(0)))
    assert done.outcome == Refused("INVALID")
    assert done.state["a"].facts.state == "WAITING"


def test_a_draw_that_lost_a_guard_is_lost_whole() -> None:
    before = run((1, add("a", "b"))).state
    decision = decide(CONTRACT, before, take(2), 2)
    meanwhile = run((2, call("touch", name="b")), state=before).state
    done = commit(CONTRACT, meanwhile, decision)
    assert (done.outcome, done.lost) == (Refused("CONFLICT"), ("b",))
    assert done.state[BUCKET].facts.tokens == 3


# Lost guards and uniqueness --------------------------------------------------------------------------------------


def test_a_lost_guard_is_a_conflict_and_changes_nothing() -> None:
    before = run((1, add("one")), (2, take())).state
    decision = decide(CONTRACT, before, finish(), 3)
    meanwhile = run((3, give_back()), state=before).state
    done = commit(CONTRACT, meanwhile, decision)
    assert (done.outcome, done.state) == (Refused("CONFLICT"), meanwhile)


def test_without_a_code_for_it_a_call_whose_guard_is_lost_is_decided_anew() -> None:
    contract = evolve(CONTRACT, conflict_code=None)
    before = run((1, add("one")), (2, take())).state
    decision = decide(contract, before, finish(), 3)
    meanwhile = run((3, give_back()), state=before).state
    done = commit(contract, meanwhile, decision)
    assert (done.outcome, done.lost) == (apply(contract, meanwhile, finish(), 3).outcome, ())


def test_a_refusal_that_commits_has_a_guard_too() -> None:
    before = run((1, add("one", lapses_at=5)), (2, take())).state
    decision = decide(CONTRACT, before, finish(), 5)
    meanwhile = run((4, call("touch", name="one")), state=before).state
    assert commit(CONTRACT, meanwhile, decision).outcome == Refused("CONFLICT")


def test_a_refusal_without_changes_has_no_guard_to_lose() -> None:
    before = run((1, add("one"))).state
    decision = decide(CONTRACT, before, finish(), 2)
    meanwhile = run((2, take()), state=before).state
    assert commit(CONTRACT, meanwhile, decision).outcome == Refused("STATE")


def test_an_operation_that_decides_again_meets_the_winner() -> None:
    before = run((1, add("one"))).state
    decision = decide(CONTRACT, before, call("touch", name="one"), 2)
    meanwhile = run((2, call("touch", name="one")), state=before).state
    done = commit(CONTRACT, meanwhile, decision)
    assert (done.outcome, done.lost) == (Accepted(2), ())
    assert done.decision is not decision
    dropped = run((1, add("one", lapses_at=1)), (2, call("sweep"))).state
    assert commit(CONTRACT, dropped, decision).outcome == Refused("STATE")


def test_a_value_that_must_be_unique_is_refused_at_commit() -> None:
    before = run((1, add("a", "b")), (2, take(2))).state
    decision = decide(CONTRACT, before, finish("b"), 3)
    meanwhile = run((3, finish("a")), state=before).state
    done = commit(CONTRACT, meanwhile, decision)
    assert (done.outcome, done.state) == (Refused("DUPLICATE"), meanwhile)
    assert run((4, finish("b", "r2")), state=meanwhile).outcome == Accepted("b-1")


# Choices ---------------------------------------------------------------------------------------------------------


def choosing(values: Mapping[str, Any]) -> Chooser:
    return lambda choice, scope: values.get(choice.id, choice.default_in(scope))


def test_a_free_choice_takes_what_the_chooser_says() -> None:
    remarks = {"receipt": "lost", "more": "x"}
    seen = choosing({"serial": "S-9", "giver": "them", "remarks": remarks, "late-code": "GONE"})
    done = run((1, add("one")), (2, take()), (3, finish()), choose=seen)
    assert done.outcome == Accepted("S-9")
    assert history(done.state)[-1][-1] == {"receipt": "r1", "more": "x"}, "named evidence wins over open evidence"
    assert run((1, add("one")), (2, take()), (3, give_back()), choose=seen).state["one"].log.history[-1][2] == "them"
    late = run((1, add("one", lapses_at=5)), (2, take()), (5, finish()), choose=seen)
    assert late.outcome == Refused("GONE", {"lapsed_at": 5})


def test_a_declared_choice_is_held_and_other_is_not_asserted() -> None:
    touch = (2, call("touch", name="one"))
    assert run((1, add("one")), touch, choose=Declared({"stride": 2})).outcome == Accepted(2)
    assert run((1, add("one")), touch, choose=Declared({"serial": "ignored"})).outcome == Accepted(1)
    with pytest.raises(NotAsserted, match=r"stride is declared as 'other'"):
        run((1, add("one")), touch, choose=Declared({"stride": OTHER}))


@pytest.mark.parametrize(
    ("choice", "value", "allowed"),
    [
        (toy.STRIDE, 2, True),
        (toy.STRIDE, 3, False),
        (toy.SERIAL, "x", True),
        (toy.SERIAL, "", False),
        (toy.GIVER, object(), True),
    ],
)
def test_a_choice_knows_what_is_legal(choice: Choice, value: Any, allowed: bool) -> None:
    scope: Scope = decide(CONTRACT, START, call("show", name="one"), 1).scope
    assert choice.allows(value, scope) is allowed


# The rest --------------------------------------------------------------------------------------------------------


def test_instants_are_those_at_which_a_condition_on_the_record_turns() -> None:
    state = run((1, add("one", lapses_at=50)), (2, take()), (3, give_back())).state
    assert instants(CONTRACT, state["one"], 3) == (13, 50)
    assert instants(CONTRACT, state[BUCKET], 3) == ()


def test_a_move_without_a_row_is_a_fault_of_the_specification() -> None:
    rows = tuple(row for row in toy.TRANSITIONS.rows if row.event != "finish")
    faulty = evolve(CONTRACT, transitions=TransitionTable(rows))
    taken = run((1, add("one")), (2, take())).state
    with pytest.raises(RuleError, match="0 transitions for TAKEN and 'finish'"):
        apply(faulty, taken, finish(), 3)


def test_a_version_counts_commits_and_a_row_without_one_counts_as_the_first() -> None:
    state = run((1, add("one"))).state
    assert state["one"].version == 1
    bare = {**state, "one": evolve(state["one"], version=None)}
    assert run((2, call("touch", name="one")), state=bare).state["one"].version == 2


def test_a_committed_state_is_never_changed_in_place() -> None:
    before = run((1, add("one"))).state
    copy = dict(before)
    run((2, take()), (3, finish()), state=before)
    assert before == copy
    assert START[BUCKET].facts.tokens == 3
