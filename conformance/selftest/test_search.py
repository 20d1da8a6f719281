"""The search: exact counts of small configurations, soundness of the fold, seeded faults by shortest paths."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from workcert.cases import Call as CallStep
from workcert.cases import Case, calls_of, contracts, parse, write
from workcert.codec import references, resolve, structure, to_json
from workcert.search import RULES, Progress, SearchResult, command, run, search
from workcert.search.targets import kinds_of_keys
from workspec.core.configuration import Taken, calls_in
from workspec.core.contract import Contract
from workspec.core.interpreter import Accepted, apply
from workspec.core.record import State
from workspec.core.rule import Effect, Operation, Phase, Skip, When, ids
from workspec.core.scope import Call
from workspec.workload import effects, operations, terms
from workspec.workload.configurations import CI, CONFIGURATIONS, FENCES, WAITING, WIDE
from workspec.workload.configurations.world import Fence
from workspec.workload.contract import CONTRACT
from workspec.workload.facts import present
from workspec.workload.laws import LAWS
from workspec.workload.tables import READY, TRANSITIONS, deadline_passed

SMALL = (CI, WAITING)


@pytest.fixture(scope="module")
def results() -> dict[str, SearchResult]:
    return {each.name: search(CONTRACT, each) for each in SMALL}


@pytest.mark.parametrize(("name", "states"), [("ci", 1708), ("waiting", 1044)])
def test_small_configurations_close_with_a_known_count(
    results: dict[str, SearchResult], name: str, states: int
) -> None:
    assert results[name].states == states
    assert results[name].frontier_empty
    assert results[name].violations == ()


def test_only_what_needs_other_values_never_fires(results: dict[str, SearchResult]) -> None:
    """Rows out of states that older versions left behind, bad arguments, unknown ids, files, secrets in reports."""
    never = set.intersection(*(set(result.never_fired) for result in results.values()))
    expected = ("WRK-PRT-", "WRK-GEN-07", "WRK-GEN-09", "WRK-MIG-", "WRK-CTX-05", "CREATED -[cancel", "FAILED -[")
    expected += ("TIMED_OUT -[operator", "take over", "WRK-FNC-", "WRK-FAL-02", "WRK-FAL-03", "after a deadline row 3")
    assert [key for key in never if not any(part in key for part in expected)] == []


def test_steps_to_the_instants_of_rules_reach_the_same_rules(results: dict[str, SearchResult]) -> None:
    found = search(CONTRACT, evolve(CI, waits=(), to_instants=True))
    assert found.frontier_empty
    assert found.never_fired == results["ci"].never_fired


def test_keys_are_all_that_can_fire() -> None:
    assert len(kinds_of_keys(CONTRACT)) > 150


def test_wide_is_cut_where_asked() -> None:
    seen: list[Progress] = []
    found = search(CONTRACT, WIDE, 2500, seen.append)
    assert found.states == 2500
    assert not found.frontier_empty
    assert [each.states for each in seen] == sorted(each.states for each in seen)
    assert seen[-1] == Progress("wide", 2500, found.transitions, found.frontier, found.depth)
    assert found == search(CONTRACT, WIDE, 2500)


# Seeded faults -----------------------------------------------------------------------------------


def with_operation(changed: Any) -> Contract:
    kept = tuple(changed if each.name == changed.name else each for each in CONTRACT.operations)
    return evolve(CONTRACT, operations=kept)


def without_step(operation: Operation, gone: Any) -> Contract:
    def kept(steps: tuple[Any, ...]) -> tuple[Any, ...]:
        inner = (evolve(s, steps=kept(s.steps)) if isinstance(s, When) else s for s in steps if s is not gone)
        return tuple(inner)

    return with_operation(evolve(operation, steps=kept(operation.steps)))


def without_check(operation: Operation, requirement: str) -> Contract:
    checks = tuple(check for check in operation.checks if requirement not in check.requirements)
    assert len(checks) < len(operation.checks)
    return with_operation(evolve(operation, checks=checks))


def lazy_pass() -> Contract:
    skips = Skip(ids("WRK-EDL-01"), when=~deadline_passed | terms.state_is(READY))
    return with_operation(evolve(operations.ENFORCE_DEADLINES, phases=(Phase((skips,)),)))


def meddling_cancel() -> Contract:
    meddle = Effect(
        "meddle", (), ("last_failure",), "", lambda _: {"last_failure": "no"}, target=lambda scope: max(scope.state)
    )
    return with_operation(evolve(operations.CANCEL, steps=(meddle, *operations.CANCEL.steps)))


def missing_row() -> Contract:
    rows = tuple(row for row in TRANSITIONS.rows if row.key != "CLAIMED -[fail]-> FAILED")
    return evolve(CONTRACT, transitions=evolve(TRANSITIONS, rows=rows))


FAULTS = {
    "fail keeps the claim": (without_step(operations.FAIL, effects.end_failed), CI, "WRK-INV-02", "admit claim fail"),
    "claim spends nothing": (
        without_step(operations.CLAIM, effects.spend_attempt), CI, "WRK-INV-05", "admit claim",
    ),
    "claims without budget": (without_check(operations.CLAIM, "WRK-CLM-03"), WAITING, "WRK-INV-05", "admit claim"),
    "retries are not counted": (
        without_step(operations.FAIL, effects.count_retry), CI, "WRK-INV-12", "admit claim fail",
    ),
    "heartbeat does nothing": (
        without_step(operations.HEARTBEAT, effects.renew_lease), CI, "WRK-INV-11", "admit claim heartbeat",
    ),
    "the pass spares waiting work": (lazy_pass(), CI, "WRK-INV-13", "admit enforce_deadlines"),
    "cancel writes elsewhere": (meddling_cancel(), WAITING, "WRK-INV-15", "admit admit cancel"),
    "a row is missing": (missing_row(), CI, RULES, "admit claim fail"),
    "re-arms have no end": (without_check(operations.RETRY, "WRK-RTY-02"), WAITING, "WRK-INV-05",
                            "admit claim retry"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_a_shortest_path(name: str) -> None:
    contract, configuration, requirement, path = FAULTS[name]
    found = search(contract, configuration, 400)
    violation = next(each for each in found.violations if each.requirement == requirement)
    assert " ".join(call.call for call in calls_of(violation.case)) == path
    assert parse(write(violation.case)) == violation.case


def replay(contract: Contract, case: Case) -> Taken:
    """Make the calls of a case on a contract, and give the last of them."""
    state: State = {}
    answers: dict[str, Any] = {}
    for step in calls_of(case):
        assert isinstance(step, CallStep)
        wanted = contracts()["workload"].calls[step.call].arguments
        given = resolve(step.args, answers)
        call = Call(step.call, {name: structure(wanted[name], value) for name, value in given.items()})
        now_s = contract.instant(call, step.at)
        taken = Taken(contract, state, call, now_s, apply(contract, state, call, now_s))
        state, outcome = taken.done.state, taken.done.outcome
        answers[step.id] = to_json(outcome.value) if isinstance(outcome, Accepted) else None
    return taken


def test_the_path_is_a_case_that_shows_the_fault_and_leaves_ids_open() -> None:
    contract = without_step(operations.FAIL, effects.end_failed)
    (case, *_) = (each.case for each in search(contract, CI, 400).violations if each.requirement == "WRK-INV-02")
    claim = present(next(iter(replay(contract, case).done.state.values()))).current_claim
    assert claim is not None
    assert present(next(iter(replay(CONTRACT, case).done.state.values()))).current_claim is None
    refs = [ref.path for ref in references(case.steps)]
    assert refs == ["s1.workload.workload_id", "s1.workload.workload_id", "s2.claim_id", "s2.fencing_token"]
    assert case.header.requirements == ("WRK-INV-02",)


def test_the_sound_contract_passes_every_law(results: dict[str, SearchResult]) -> None:
    assert {law.requirement for law in LAWS} == {"WRK-INV-11", "WRK-INV-13", "WRK-INV-15"}
    assert all(law.requirement in CONTRACT.catalogue for law in LAWS)
    assert not any(result.violations for result in results.values())


def test_fences_that_do_not_exist_are_not_tried() -> None:
    state = apply(CONTRACT, {}, next(call for call in calls_in(CI, {}, 0) if call.name == "admit"), 0).state
    tried = {call.name for call in calls_in(CI, state, 0)}
    assert "heartbeat" not in tried
    assert {ask.fence for ask in FENCES.asks} == {None, *Fence}


# The command -------------------------------------------------------------------------------------


def test_command_prints_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("workload", None, 300, False) == command.HOLDS
    printed = capsys.readouterr()
    assert "states                   300" in printed.out
    assert "not looked at" in printed.out
    assert printed.err == ""


def test_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("workload", "waiting", None, True) == command.HOLDS
    told = json.loads(capsys.readouterr().out)
    assert (told["states"], told["frontier_empty"], told["violations"]) == (1044, True, [])
    assert told["sides"]["claim: refuse WRK-CLM-06 | now < next_attempt_at"] == ["below", "at", "above"]


@pytest.mark.parametrize(("contract", "name"), [("workload", "nothing"), ("nothing", None)])
def test_command_names_what_there_is(capsys: pytest.CaptureFixture[str], contract: str, name: str | None) -> None:
    assert run(contract, name, None, False) == command.CANNOT_RUN
    assert "there are:" in capsys.readouterr().err


def test_a_violation_is_printed_as_a_case_and_counts() -> None:
    found = search(without_step(operations.CLAIM, effects.spend_attempt), CI, 50)
    text = command.as_text(found, CI.text)
    assert "WRK-INV-05: attempt_count counts the attempts" in text
    assert '"call": "claim"' in text
    assert parse(command.as_plain(found)["violations"][0]["case"]).header.contract == "workload"


def test_first_configuration_is_the_quick_one() -> None:
    assert [each.name for each in CONFIGURATIONS] == ["ci", "waiting", "fences", "values", "legacy", "wide"]
    assert command.CONFIGURATIONS["workload"] == CONFIGURATIONS
