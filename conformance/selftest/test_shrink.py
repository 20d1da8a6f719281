"""The shrinker, measured on planted bugs whose shortest case is known, and tried on each of its passes."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import pytest
from attrs import evolve

from workcert.cases import (
    Call,
    Case,
    Frozen,
    Header,
    Inject,
    Ok,
    Refusal,
    Repeat,
    Restart,
    Together,
    calls_of,
    parse,
    unrolled,
    write,
)
from workcert.codec import JsonBytes, Ref, RepeatText, references
from workcert.shrink import Failure, Shrunk, alike, settled, shrink, size

from .planted import BUGS, Bug, failing_case, judge

SEEDS = 2
"""Of each bug here; with 20 the shares are the same."""

BY_NAME = {bug.name: bug for bug in BUGS}


def shrunk(bug: Bug, seed: int) -> Shrunk:
    case = failing_case(bug, seed)
    first = judge(bug, case)
    assert first is not None
    return shrink(case, alike(lambda each: judge(bug, each), first))


@pytest.fixture(scope="module")
def corpus() -> dict[tuple[str, int], Shrunk]:
    return {(bug.name, seed): shrunk(bug, seed) for bug in BUGS for seed in range(SEEDS)}


def test_corpus_is_large_enough() -> None:
    assert len(BUGS) >= 20


def test_known_minimum_is_reached(corpus: dict[tuple[str, int], Shrunk]) -> None:
    over = {key: size(found.case) - BY_NAME[key[0]].least for key, found in corpus.items()}
    assert min(over.values()) == 0, "a bug has a shorter case than its author knew"
    assert max(over.values()) <= 2
    assert sum(extra == 0 for extra in over.values()) >= 0.95 * len(over)


def test_cost_in_executions(corpus: dict[tuple[str, int], Shrunk]) -> None:
    assert median(found.executions for found in corpus.values()) <= 120
    assert all(found.finished for found in corpus.values())


def test_result_fails_in_the_same_way_at_its_last_step(corpus: dict[tuple[str, int], Shrunk]) -> None:
    for (name, _), found in corpus.items():
        failure = judge(BY_NAME[name], found.case)
        assert failure is not None
        assert failure.requirement == name
        assert failure.step.partition("#")[0] == list(calls_of(found.case))[-1].id


def test_result_is_a_case_file(corpus: dict[tuple[str, int], Shrunk]) -> None:
    for found in corpus.values():
        assert parse(write(found.case)) == found.case


def test_times_do_not_run_backwards(corpus: dict[tuple[str, int], Shrunk]) -> None:
    for found in corpus.values():
        times = [call.at for call in calls_of(found.case) if call.at is not None]
        assert times == sorted(times)


def test_one_handle_is_left_unless_two_matter(corpus: dict[tuple[str, int], Shrunk]) -> None:
    two = {"complete through another handle", "renewal on two handles"}
    for (name, _), found in corpus.items():
        assert len(found.case.header.handles) == (2 if name in two else 1)


def test_same_result_every_time() -> None:
    assert shrunk(BUGS[3], 2) == shrunk(BUGS[3], 2)


# One pass at a time ------------------------------------------------------------------------------


def case_of(*steps: Any, handles: tuple[str, ...] = ("A", "B", "C"), **header: Any) -> Case:
    return Case(Header("workload", "a-case", "Made for a test", handles=handles, **header), steps)


def admit(step_id: str = "w", **changes: Any) -> Call:
    subject = {"kind": "agent", "id": "a1"}
    grant = {"subject": subject, "tenant_id": "t", "application_id": "app", "signature": "signed"}
    request = {
        "tenant_id": "t", "application_id": "app", "requested_by": subject, "idempotency_key": "key",
        "definition_id": "d", "definition_revision": "r", "environment": "e", "input": {"deep": [1, 2, {}]},
        "capability_snapshot": ["one", "two", "three"], "created_at": 100, "authorization_snapshot": grant,
    }  # fmt: skip
    return Call(step_id, "A", "admit", {"request": request | changes})


def claim(step_id: str, of: str = "w", at: int = 100, on: str = "A", lease_ms: int = 9000) -> Call:
    args = {"workload_id": Ref(f"{of}.workload.workload_id"), "worker_id": "worker", "capabilities": [],
            "lease_ms": lease_ms}  # fmt: skip
    return Call(step_id, on, "claim", args, at)


def renew(step_id: str, of: str, at: int = 100, on: str = "A", plus: int | None = None) -> Call:
    args = {"workload_id": "w", "claim_id": Ref(f"{of}.claim_id"), "worker_id": "worker",
            "fencing_token": Ref(f"{of}.fencing_token", plus), "extension_ms": 1000}  # fmt: skip
    return Call(step_id, on, "heartbeat", args, at)


def when(shows: Callable[[Case], bool]) -> Callable[[Case], str | None]:
    """Fails at its last call if the whole case is so."""
    return lambda case: list(calls_of(case))[-1].id if shows(case) else None


def names(case: Case) -> list[str]:
    return [call.call for call in calls_of(case)]


def test_case_that_does_not_fail_again_is_left_alone() -> None:
    case = case_of(admit(), claim("c"))
    assert shrink(case, lambda _: None) == Shrunk(case, 1)


def test_another_requirement_does_not_count() -> None:
    def broken(case: Case) -> Failure | None:
        return Failure("c", "WRK-A-1" if size(case) == 3 else "WRK-B-1")

    case = case_of(admit(), admit("v"), claim("c"))
    assert size(shrink(case, alike(broken, Failure("c", "WRK-A-1"))).case) == 3


def test_budget_bounds_the_executions() -> None:
    case = case_of(*(admit(f"w{n}") for n in range(40)))
    found = shrink(case, when(lambda _: True), budget=7)
    assert found.executions == 7
    assert not found.finished
    assert size(found.case) < 40


def test_what_follows_the_failing_step_goes_first() -> None:
    case = case_of(admit(), claim("c"), claim("d"), Restart("r"))
    seen: list[int] = []

    def still(case: Case) -> str | None:
        seen.append(size(case))
        return "c" if "c" in {call.id for call in calls_of(case)} else None

    shrink(case, still)
    assert seen[:2] == [4, 2]


def test_deletion_takes_along_what_depends_on_it() -> None:
    case = case_of(admit("w"), claim("c", "w"), renew("h", "c"), renew("i", "c"), admit("v"))
    found = shrink(case, when(lambda each: names(each)[-1] == "admit" and size(each) in (5, 1)))
    assert [call.id for call in calls_of(found.case)] == ["v"]


def test_deletion_turns_what_depends_on_it_to_another_call() -> None:
    case = case_of(admit("w"), admit("v"), claim("c", "w"), renew("h", "c"), claim("d", "v"))
    found = shrink(case, when(lambda each: names(each)[-1] == "claim"))
    assert [call.id for call in calls_of(found.case)] == ["w", "d"]
    assert {ref.step for ref in references(found.case)} == {"w"}


def test_references_turn_to_an_earlier_call_of_the_kind() -> None:
    case = case_of(admit(), claim("c"), claim("d"), renew("h", "d"))
    found = shrink(case, when(lambda each: names(each)[-1] == "heartbeat"))
    assert [call.id for call in calls_of(found.case)] == ["w", "c", "h"]


def test_an_answer_of_the_same_type_stands_in() -> None:
    case = case_of(admit(), claim("c"), renew("h", "c"), renew("i", "h"))
    found = shrink(case, when(lambda each: names(each)[-1] == "heartbeat"))
    assert [call.id for call in calls_of(found.case)] == ["w", "c", "i"]


def test_judgements_on_lost_steps_are_dropped() -> None:
    judged = evolve(claim("d", at=5), expect=Ok({"fencing_token": Ref("c.fencing_token", 1)}))
    kept = evolve(judged, record={"state": "CLAIMED"}, of=Ref("w.workload.workload_id"))
    case = case_of(admit(), claim("c", at=5), kept)
    shows = when(lambda each: each.steps[-1].id == "d" and each.steps[-1].record is not None)
    found = shrink(case, shows).case
    assert [call.id for call in calls_of(found)] == ["w", "d"]
    assert found.steps[-1].expect is None
    assert found.steps[-1].of is None


def test_expectations_that_matter_stay() -> None:
    judged = evolve(claim("c"), expect=Refusal("WORKLOAD_NOT_READY"), note="why", record="unchanged")
    found = shrink(case_of(admit(), judged), when(lambda each: each.steps[-1].expect is not None)).case
    assert found.steps[-1].expect == Refusal("WORKLOAD_NOT_READY")
    assert (found.steps[-1].record, found.steps[-1].note) == (None, None)


@pytest.mark.parametrize(
    "step",
    [
        Together("t", (claim("c", on="B"), claim("d", on="C")), rounds=8),
        Frozen("f", claim("d", on="B"), (claim("c", on="C"),)),
        Repeat("p", 5, (claim("c"), claim("d"))),
    ],
)
def test_steps_are_unwrapped(step: Any) -> None:
    case = case_of(admit(), step, abilities=("second_handle", "pause"))
    found = shrink(case, when(lambda each: names(each).count("claim") == 2)).case
    assert all(isinstance(each, Call) for each in found.steps)
    assert found.header.handles == ("A",)
    assert found.header.abilities == ()


@pytest.mark.parametrize(("before", "needed", "after"), [(40, 15, 15), (40, 3, 10), (4, 2, 4)])
def test_what_must_be_at_once_stays_so_with_fewer_calls_and_rounds(before: int, needed: int, after: int) -> None:
    """A race that was seen in few rounds by luck would not be seen again in so few."""
    calls = (claim("c", on="A"), claim("d", on="B"), claim("e", on="C"))
    case = case_of(admit(), Together("t", calls, rounds=before))
    found = shrink(case, when(lambda e: isinstance(e.steps[-1], Together) and e.steps[-1].rounds >= needed)).case
    (together,) = (step for step in found.steps if isinstance(step, Together))
    assert (len(together.calls), together.rounds) == (2, after)
    assert len(found.header.handles) == 2


def test_fewer_iterations_and_references_to_them() -> None:
    case = case_of(admit(), Repeat("p", 9, (claim("c"),)), renew("h", "c#7"))
    shows = when(lambda each: sum(step.id.startswith("c") for step in unrolled(each.steps)) >= 3)
    found = shrink(case, lambda each: shows(each) if "h" in [c.id for c in calls_of(each)] else None).case
    assert [step.times for step in found.steps if isinstance(step, Repeat)] == [3]
    assert {ref.step for ref in references(found.steps[-1].args)} == {"c#3"}


def test_handles_are_merged_as_far_as_they_may() -> None:
    case = case_of(admit(), claim("c", on="B"), claim("d", on="C"), abilities=("second_handle",))
    shows = when(lambda each: size(each) == 3 and len({call.on for call in calls_of(each)}) > 1)
    found = shrink(case, shows).case
    assert len(found.header.handles) == 2
    assert found.header.abilities == ("second_handle",)


def test_values_become_small() -> None:
    request = {"retry_policy": {"max_attempts": 9, "backoff": "fixed", "initial_delay_ms": 77,
                                "max_delay_ms": 5, "retry_on": ["a", "b", "c"]},
               "priority": 5, "timeouts": None, "trigger": "cron"}  # fmt: skip

    def shows(case: Case) -> bool:
        policy = case.steps[0].args["request"].get("retry_policy")
        return policy is not None and policy["max_attempts"] >= 4 and "b" in policy["retry_on"]

    found = shrink(case_of(admit(**request)), when(shows)).case.steps[0].args["request"]
    assert found["retry_policy"]["max_attempts"] == 4
    assert found["retry_policy"]["retry_on"] == ["b"]
    assert found["retry_policy"]["initial_delay_ms"] == 0
    assert found.keys() & {"priority", "timeouts", "trigger"} == set()
    assert (found["input"], found["capability_snapshot"], found["created_at"]) == (None, [], 0)
    assert found["definition_id"] == "d"


@pytest.mark.parametrize(
    ("value", "shows", "least"),
    [
        (-40, lambda v: isinstance(v, int) and v < -6, -7),
        (-40, lambda v: isinstance(v, int) and v != 0, 1),
        (2**63, lambda v: isinstance(v, int) and v >= 5000, 5000),
        (RepeatText("x", 9000), lambda v: isinstance(v, RepeatText) and v.count > 256, RepeatText("x", 257)),
        ("sk-abcdef", lambda v: isinstance(v, str) and v.startswith("sk-"), "sk-"),
        (b"\x01\x02\x03", lambda v: isinstance(v, bytes) and len(v) > 1, b"\x01\x02"),
        ({"a": {"b": [1, 7, 3]}, "c": 4}, lambda v: "7" in repr(v), {"a": {"b": [7]}}),
        (JsonBytes({"a": [5], "b": 2}), lambda v: isinstance(v, JsonBytes) and "a" in (v.value or {}), None),
        (True, lambda v: isinstance(v, bool), False),
        (2.75, lambda v: isinstance(v, float), 2.0),
    ],
)
def test_json_becomes_plain(value: Any, shows: Callable[[Any], bool], least: Any) -> None:
    case = case_of(admit(input=value))
    found = shrink(case, when(lambda each: shows(each.steps[0].args["request"]["input"]))).case
    wanted = JsonBytes({"a": None}) if least is None else least
    assert found.steps[0].args["request"]["input"] == wanted


def test_plus_is_dropped_or_brought_near() -> None:
    case = case_of(admit(), claim("c"), renew("h", "c", plus=900))
    dropped = shrink(case, when(lambda each: names(each)[-1] == "heartbeat")).case
    assert dropped.steps[-1].args["fencing_token"] == Ref("c.fencing_token")
    shows = when(lambda e: names(e)[-1] == "heartbeat" and (e.steps[-1].args["fencing_token"].plus or 0) > 2)
    assert shrink(case, shows).case.steps[-1].args["fencing_token"] == Ref("c.fencing_token", 3)


def test_waits_become_short_and_keep_their_order() -> None:
    case = case_of(admit(), claim("c", at=160), claim("d", at=500), claim("e", at=501))
    shows = when(lambda each: size(each) == 4 and each.steps[2].at - each.steps[1].at >= 30)
    found = shrink(case, shows).case
    assert [call.at for call in calls_of(found)] == [None, 0, 30, 30]
    assert found.steps[0].args["request"]["created_at"] == 0


def test_texts_are_shortened_together() -> None:
    case = case_of(admit(), claim("c"), evolve(claim("d"), args=claim("d").args | {"worker_id": "worker"}))
    shows = when(lambda e: size(e) == 3 and e.steps[1].args["worker_id"] == e.steps[2].args["worker_id"])
    assert [step.args["worker_id"] for step in shrink(case, shows).case.steps[1:]] == ["w", "w"]


def test_injected_rows_keep_their_version() -> None:
    record = {"workload_id": "w", "priority": 7}
    case = case_of(Inject("i", "A", record, 3, note="odd"), claim("c"), abilities=("inject",))
    case = evolve(case, steps=(case.steps[0], evolve(claim("c"), args=claim("c").args | {"workload_id": "w"})))
    found = shrink(case, when(lambda each: isinstance(each.steps[0], Inject))).case
    assert found.steps[0].version == 3
    assert found.steps[0].note is None
    assert found.header.abilities == ("inject",)


def test_an_unknown_contract_is_shrunk_without_types() -> None:
    steps = (Call("p", "A", "put", {"item": {"name": "long", "tags": ["a", "b"]}}), Call("q", "A", "take", {}))
    found = shrink(Case(Header("toy", "a", "b"), steps), when(lambda each: size(each) == 2)).case
    assert found.steps == (Call("p", "A", "put", {"item": None}), Call("q", "A", "take", {}))


# Ordinary values -------------------------------------------------------------------------------------------------


def test_what_does_not_matter_becomes_ordinary_and_what_matters_stays() -> None:
    asked = Call("w", "A", "admit", {"request": {"tenant_id": "x", "priority": 7, "created_at": 3}})
    usual = {"request": {"tenant_id": "t", "priority": 0, "environment": "production", "created_at": 10}}

    def fails_alike(each: Case) -> str | None:
        first = each.steps[0]
        return "w" if isinstance(first, Call) and first.args["request"]["priority"] == 7 else None

    found = settled(Case(Header("workload", "n", "t"), (asked,)), fails_alike, usual).case.steps[0]
    assert isinstance(found, Call)
    assert found.args["request"] == {
        "tenant_id": "t",
        "priority": 7,
        "environment": "production",
        "created_at": 3,
    }


def test_a_case_that_a_high_limit_keeps_long_gets_a_low_one() -> None:
    """It fails at the last of as many claims as the limit says, a dozen where the case says nothing."""
    case = parse(write(failing_case(BUGS[0], 0)))
    claim = next(step for step in calls_of(case) if step.call == "claim")
    claims = tuple(evolve(claim, id=f"n{number}") for number in range(12))
    long = evolve(case, steps=claims)

    def still(candidate: Case) -> str | None:
        needed = candidate.header.config.get("crash_limit", 12)
        return candidate.steps[-1].id if len(candidate.steps) >= needed else None

    assert size(shrink(long, still).case) == 12
    found = shrink(long, still, limits=("crash_limit",)).case
    assert (size(found), found.header.config) == (1, {"crash_limit": 1})
