"""How a failure reads on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workcert.binding import bindings
from workcert.cases import Call, Frozen, Restart, Together
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.references import Ref
from workcert.report import failure_of, failure_text
from workcert.report.failure_text import KINDS
from workcert.report.model import FailureReport
from workcert.report.steps import arguments
from workcert.run.calling import Answered, Crashed
from workcert.run.case import run_case
from workcert.run.events import CaseEnded, Verdict
from workcert.run.store import StoreUnderTest

from .report_samples import (
    LATE,
    WORK,
    admit,
    backend_answering,
    case,
    claim,
    events_of,
    fenced,
    late_heartbeat,
    specification,
)

SNAPSHOT = """\
WRK-HBT-02  workload/tried
  A heartbeat answers with the claim as it is recorded.

The call answered otherwise than it must: the answer differs
Also took part: WRK-INV-11

n    id    time    handle    operation    arguments           expected            seen                what changed
1    w     10      A         admit        request=ordinary()  workload=READY      as expected         workload#1: (no
                                                              created=true                            record) → "READY"
2    c1    11      A         claim        workload_id of w,   claim_id="claim#1"  as expected         state: "READY" →
                                          worker_id="a", cap  worker_id="a"                           "CLAIMED";
                                          abilities=["email:  fencing_token=1                         attempt_count: 0 →
                                          send"],             claimed_at=11                           1; attempts[0]
                                          lease_ms=10000      expires_at=21                           added;
                                                              last_heartbeat=11                       current_claim set;
                                                                                                      and 1 more
3 ✗  h1    12      A         heartbeat    fence of c1,        claim_id="claim#1"  claim_id="claim#1"
                                          extension_ms=5000   worker_id="a"       worker_id="a"
                                                              fencing_token=1     fencing_token=1
                                                              claimed_at=11       claimed_at=11
                                                              expires_at=17       expires_at=18
                                                              last_heartbeat=12   last_heartbeat=12

ordinary(...) names what is out of the ordinary; the case file has every member.

member      expected    seen
expires_at  17          18

Reproduced 3 of 3; shrunk in 17 executions.
The case was saved as out/cases/WRK-HBT-02-1.jsonl
workcert replay out/cases/WRK-HBT-02-1.jsonl 'my adapter.py:BACKEND'"""


@pytest.fixture(scope="module")
def failure() -> FailureReport:
    """The failure as it was first seen, so that neither shrinking nor the naming of requirements shows here."""
    backend = backend_answering(late_heartbeat)
    late = case(*LATE, requirements=("WRK-HBT-02",))
    with StoreUnderTest.of(backend) as store:
        ran = run_case(store, late)
    assert ran.failure is not None
    found = evolve(ran.failure, requirements=("WRK-HBT-02", "WRK-INV-11"))
    ended = CaseEnded(
        "scenarios",
        "workload/tried",
        Verdict.FAILED,
        late,
        failure=found,
        steps=ran.steps,
        reproduced=(3, 3),
        executions=17,
    )
    text = "A heartbeat answers with the claim as it is recorded."
    return evolve(failure_of(backend.binding, ended), requirement_text=text)


def test_a_failure_reads_as_a_person_needs_it(failure: FailureReport) -> None:
    assert failure_text(failure, "my adapter.py:BACKEND", directory=Path("out"), width=120) == SNAPSHOT


@pytest.mark.parametrize("width", [100, 120, 160, 240])
def test_the_table_fits_the_terminal(failure: FailureReport, width: int) -> None:
    assert max(map(len, failure_text(failure, "sqlite", directory="out", width=width).splitlines())) <= width


def test_a_terminal_too_narrow_for_the_table_gets_it_all_the_same(failure: FailureReport) -> None:
    assert "expires_at  17          18" in failure_text(failure, "sqlite", width=20)


def test_a_flaky_failure_says_so_at_once(failure: FailureReport) -> None:
    text = failure_text(evolve(failure, flaky=True, reproduced=(1, 3)), "sqlite", directory="out")
    assert text.splitlines()[0].endswith("*flaky 1 of 3*")
    assert "Reproduced 1 of 3" in text


def test_what_no_replay_showed_was_seen_all_the_same(failure: FailureReport) -> None:
    text = failure_text(evolve(failure, flaky=True, reproduced=(0, 20)), "sqlite", directory="out")
    assert text.splitlines()[0].endswith("*flaky, seen once and in none of 20 replays*")
    assert "Seen once, as it stands here, and in none of 20 replays" in " ".join(text.split())
    assert "0 of 20" not in text


def test_without_a_directory_a_scenario_is_replayed_by_its_name(failure: FailureReport) -> None:
    assert failure_text(failure, "sqlite").splitlines()[-1] == "workcert replay workload/tried sqlite"
    found = evolve(failure, suite="stateful")
    assert "was not saved" in failure_text(found, "sqlite").splitlines()[-1]


def test_every_kind_has_its_words() -> None:
    assert set(KINDS) == set(Kind)


# Arguments -------------------------------------------------------------------------------------------------------


def written(call: Call, *before: Call) -> str:
    return arguments(bindings()["workload"], call, {each.id: each for each in (*before, call)})


def test_a_fence_is_one_word_when_it_comes_from_one_claim() -> None:
    first, second = claim("c1", 11), claim("c2", 12)
    assert written(fenced("s1", "start", 12), first) == "fence of c1"
    start = fenced("s1", "start", 12)
    assert written(evolve(start, args={**start.args, "worker_id": Ref("c1.worker_id")}), first) == "fence of c1"
    mixed = fenced("s1", "start", 12)
    mixed = evolve(mixed, args={**mixed.args, "claim_id": Ref("c2.claim_id")})
    assert written(mixed, first, second) == ('workload_id of w, claim_id of c2, worker_id="a", fencing_token of c1')
    other = evolve(mixed, args={**fenced("s1", "start", 12).args, "worker_id": "z"})
    assert "fence of" not in written(other, first)
    later = evolve(mixed, args={**mixed.args, "fencing_token": Ref("c1.fencing_token", plus=1)})
    assert "fencing_token=c1.fencing_token + 1" in written(later, first)


def test_a_request_says_what_is_particular() -> None:
    first = admit("w", priority=7, timeouts={"queue_ms": 4000, "claim_ms": None}, idempotency_key="k")
    assert written(first) == (
        'request=ordinary(idempotency_key="k", priority=7, timeouts={queue_ms: 4000, claim_ms: null})'
    )
    second = admit("v", priority=7, timeouts={"queue_ms": 4001, "claim_ms": None}, idempotency_key="two")
    assert written(second, first) == 'request=as w(idempotency_key="two", timeouts.queue_ms=4001)'
    assert written(evolve(first, id="u"), first) == "request=as w"
    without = {name: value for name, value in first.args["request"].items() if name != "priority"}
    assert written(evolve(first, id="u", args={"request": without}), first) == "request=as w(no priority)"


# Steps of other kinds --------------------------------------------------------------------------------------------


def failed(
    *steps: Any, runs: tuple[StepRun, ...], text: str = "wrong", handles: tuple[str, ...] = ("A",)
) -> FailureReport:
    failure = Failure(("WRK-CLM-01",), Kind.CRASH, text)
    ended = CaseEnded(
        "scenarios", "workload/tried", Verdict.FAILED, case(*steps, handles=handles), failure=failure, steps=runs
    )
    return failure_of(specification().binding, ended)


def run(identifier: str, call: str, **members: Any) -> StepRun:
    return StepRun(identifier, "A", 11, call, {}, members.pop("observed", None), None, **members)


def test_calls_at_once_stand_under_one_number() -> None:
    block = Together("race", (claim("c1", 11), claim("c2", 11, on="B")))
    seen = Answered(["WORKLOAD_CONFLICT", None])
    rows = failed(block, runs=(run("race", "claim | claim", observed=seen),), handles=("A", "B")).steps
    assert [(row.n, row.handle, row.operation) for row in rows] == [
        ("1", "A", "at once: claim"),
        ("1", "B", "at once: claim"),
    ]
    assert [row.seen for row in rows] == ['"WORKLOAD_CONFLICT"', "ok"]


def test_a_held_call_stands_before_those_that_commit_meanwhile() -> None:
    held = Frozen("race", claim("c1", 11), (claim("c2", 11, on="B"),))
    rows = failed(held, runs=(run("c1", "claim"),), handles=("A", "B")).steps
    assert [(row.n, row.operation) for row in rows] == [("1", "claim, held"), ("1", "meanwhile: claim")]


def test_restarts_the_end_and_steps_that_were_not_made() -> None:
    runs = (
        run("r1", "restart"),
        run("c1", "claim", applicable=False, note="step 'w' was refused"),
        run("c1", "(end)"),
    )
    rows = failed(Restart("r1"), claim("c1", 11), runs=runs).steps
    assert [row.operation for row in rows] == ["restart", "claim", "after the last step"]
    assert (rows[1].seen, rows[1].changed) == ("not applicable", "step 'w' was refused")


def test_what_a_store_raises_cannot_steer_a_terminal() -> None:
    error = RuntimeError("\x1b[2J at 0x7f00deadbeef")
    crashed = Crashed(f"RuntimeError: {error}", error)
    found = failed(claim("c1", 11), runs=(run("c1", "claim", observed=crashed),), text=f"raised {error}\ud800")
    assert found.text == "raised \\x1b[2J at 0x…\\ud800"
    assert found.steps[0].seen == "raised RuntimeError: \\x1b[2J at 0x…"


def test_what_is_no_json_is_named_by_its_type() -> None:
    answer = Answered({"at": object()})
    found = failed(claim("c1", 11), runs=(run("c1", "claim", observed=answer),))
    assert found.steps[0].seen == "(dict) {'at': <object object at 0x…>}"


def test_the_case_file_is_named_after_the_requirement() -> None:
    ended = next(e for e in events_of(backend_answering(late_heartbeat), [case(*LATE)]) if isinstance(e, CaseEnded))
    found = failure_of(specification().binding, ended, 4)
    assert found.case_file == f"cases/{found.requirement}-4.jsonl"
    with pytest.raises(ValueError, match="has no failure"):
        failure_of(specification().binding, evolve(ended, failure=None))


def test_a_reference_is_shown_as_the_case_has_it() -> None:
    call = Call("g", "A", "get", {"workload_id": WORK, "fresh": True})
    assert written(call) == "workload_id of w, fresh=true"
