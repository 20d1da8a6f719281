"""The case format of a contract whose store has a clock of its own, and transactions."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from workcert.backends.registry import describe
from workcert.cases import CaseError, parse, unrolled, write
from workcert.cases.model import Case, Transaction, calls_of
from workcert.codec import Copies, RepeatBytes, resolve
from workcert.run.case import run_case
from workcert.run.clock import RUNS_BACK, STANDS
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workstore.backends import MemoryJobsBackend

HEADER: dict[str, Any] = {
    "format": 1,
    "contract": "jobs",
    "name": "jobs/example",
    "title": "An example",
    "requirements": ["JOB-TXN-01"],
    "profiles": ["TXN"],
    "abilities": ["restart"],
    "config": {"crash_limit": 1},
    "handles": ["A"],
    "digest": None,
}
JOB = {"id": "x", "kind": "mail"}


def enqueue(step_id: str = "e", **changes: Any) -> dict[str, Any]:
    return {"id": step_id, "on": "A", "at_ms": 10, "call": "enqueue", "args": {"envelopes": [JOB]}, **changes}


def effect(step_id: str = "f", **changes: Any) -> dict[str, Any]:
    return {"id": step_id, "call": "claim_effect", "args": {"key": "k"}, **changes}


def transaction(*calls: Any, **changes: Any) -> dict[str, Any]:
    return {"id": "t", "on": "A", "at_ms": 10, "tx": list(calls), "end": "commit", **changes}


def text_of(*steps: Any) -> str:
    return "".join(json.dumps(line) + "\n" for line in (HEADER, *steps, {"end": len(steps)}))


WITHOUT_TIME = {name: value for name, value in enqueue().items() if name != "at_ms"}
WITHOUT_INSTANT = {name: value for name, value in transaction(effect()).items() if name != "at_ms"}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (WITHOUT_TIME, "enqueue needs at_ms"),
        (enqueue(at_s=3), "unknown member 'at_s' of a call step"),
        (enqueue(at_ms="soon"), "write the instant in milliseconds"),
        ({**effect(), "on": "A", "at_ms": 10}, "claim_effect belongs inside a transaction"),
        (transaction(effect(on="A")), "a handle of a call inside a transaction"),
        (transaction({k: v for k, v in enqueue().items() if k != "on"}), "belongs outside of a transaction"),
        (WITHOUT_INSTANT, "a transaction needs at_ms"),
        (transaction(effect(), at_ms=None), "write the instant in milliseconds"),
        (transaction(effect(), end="leave"), 'write "commit" or "rollback"'),
        (transaction(effect(), end=True), 'write "commit" or "rollback"'),
        (transaction(effect(record={"state": "running"})), "'record' on 'f' has no meaning here"),
        (transaction(transaction(effect("g"))), "a tx step inside a tx step"),
        (transaction(effect("f", at_ms=10)), "claim_effect takes no at_ms"),
        (enqueue(args={"envelopes": [{**JOB, "colour": 1}]}), "Envelope has no such member"),
        (enqueue(args={"envelopes": [{"id": "x"}]}), "missing, and Envelope needs it"),
        (enqueue(args={"envelopes": {"$copies": {"of": JOB, "count": -1, "member": "id"}}}), "integers from 0"),
        (enqueue(args={"envelopes": {"$copies": {"of": JOB, "count": 2, "member": "weight"}}}), "a text member of it"),
        (enqueue(args={"envelopes": {"$copies": {"of": JOB, "count": 2}}}), "$copies needs"),
        ({"id": "i", "on": "A", "inject": {}, "version": 1}, "an inject step in the contract jobs"),
    ],
)
def test_faults_are_named(step: dict[str, Any], said: str) -> None:
    with pytest.raises(CaseError) as caught:
        parse(text_of(step))
    assert said in str(caught.value)
    assert ":2:" in str(caught.value)


def test_the_other_contract_has_no_transactions() -> None:
    header = {**HEADER, "contract": "workload", "profiles": []}
    step = {**WITHOUT_INSTANT, "at_s": 10, "tx": []}
    with pytest.raises(CaseError, match="transaction"):
        parse("".join(json.dumps(line) + "\n" for line in (header, step, {"end": 1})))


def test_nothing_is_lost_on_the_way_to_text() -> None:
    copies = {"$copies": {"of": JOB, "count": 3, "member": "id", "first": 7, "digits": 2}}
    payload = {"$bytes": {"$repeat": {"text": "é", "count": 4}}}
    case = parse(
        text_of(
            enqueue(args={"envelopes": copies}),
            enqueue("p", args={"envelopes": [{**JOB, "payload": payload}]}),
            transaction(effect(expect={"ok": True}), after=[effect("g")], note="twice"),
        )
    )
    assert parse(write(case)) == case
    assert write(parse(write(case))) == write(case)
    envelopes, rich = (call.args["envelopes"] for call in list(calls_of(case))[:2])
    assert envelopes == Copies(JOB, 3, "id", 7, 2)
    assert [each["id"] for each in resolve(envelopes, {})] == ["x07", "x08", "x09"]
    assert rich[0]["payload"] == RepeatBytes("é", 4)
    assert resolve(rich[0]["payload"], {}) == "éééé".encode()
    (made,) = (step for step in case.steps if isinstance(step, Transaction))
    assert (made.at, made.end, [call.on for call in (*made.calls, *made.after)]) == (10, "commit", ["A", "A"])


def test_iterations_of_a_transaction_have_names_of_their_own() -> None:
    body = transaction(effect(), after=[effect("g", args={"key": "other"})])
    case = parse(text_of({"id": "r", "repeat": 2, "steps": [body]}))
    steps = list(unrolled(case.steps))
    assert [step.id for step in steps] == ["t#1", "t#2"]
    assert [call.id for step in steps for call in (*step.calls, *step.after)] == ["f#1", "g#1", "f#2", "g#2"]


def test_a_call_while_the_clock_runs_has_no_instant() -> None:
    text = text_of(enqueue(at_ms=None))
    case = parse(text, "jobs/example")
    assert [call.at for call in calls_of(case)] == [None]
    assert '"at_ms": null' in write(case)
    assert parse(write(case), "jobs/example") == case


def without_abilities(*steps: Any) -> Case:
    case = parse(text_of(*steps), "jobs/example")
    return evolve(case, header=evolve(case.header, abilities=(), config={}))


def test_the_clock_runs_only_where_the_case_has_let_it() -> None:
    unfreeze = {"id": "z", "on": "A", "at_ms": 10, "call": "unfreeze_clock", "args": {}}
    backend = describe("memory", MemoryJobsBackend())
    with StoreUnderTest.of(backend) as store:
        standing = run_case(store, without_abilities(enqueue(), enqueue("f", at_ms=None)))
        running = run_case(store, without_abilities(unfreeze, enqueue("f", at_ms=None), enqueue("g")))
    assert [run.applicable for run in standing.steps[:2]] == [True, False]
    assert standing.steps[1].note == STANDS
    assert [run.applicable for run in running.steps[:3]] == [True, True, False]
    assert running.steps[2].note == RUNS_BACK


@pytest.mark.parametrize("ahead_ms", [1, 2, -1, 3_600_000])
def test_a_clock_that_runs_is_the_stores_own(monkeypatch: pytest.MonkeyPatch, ahead_ms: int) -> None:
    """It is read after the kit has read its own, and may be that of another machine."""
    later = SimpleNamespace(time_ns=lambda: time.time_ns() + ahead_ms * 1_000_000)
    monkeypatch.setattr("workstore.memory.jobs.clock.time", later)
    unfreeze = {"id": "z", "on": "A", "at_ms": 10, "call": "unfreeze_clock", "args": {}}
    with StoreUnderTest.of(describe("memory", MemoryJobsBackend())) as store:
        ran = run_case(store, without_abilities(unfreeze, enqueue("f", at_ms=None)))
    assert ran.verdict is Verdict.PASSED, ran.failure
