"""The search of a serial order for calls that ran at once."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases import parse
from workcert.cases.model import Together
from workcert.judge import together
from workcert.judge.judge import Judge
from workcert.judge.together import Undecided, judge_together
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import Answered, Refusal
from workcert.run.case import variants
from workspec.core.interpreter import apply
from workspec.core.scope import Call
from workspec.jobs.contract import CONTRACT
from workspec.jobs.samples import PLAIN

LIMIT = 25
PRODUCERS = 64


def limited(limit: int) -> Judge:
    """A judge of a queue that takes so many jobs; of the rows it reads nothing."""
    judge = Judge(bindings()["jobs"], {}, lambda _key: False)
    call = Call("set_enqueue_limit", {"queue": "q", "limit": limit})
    judge.state = apply(CONTRACT, {}, call, 0).state
    return judge


def producers(count: int) -> list[tuple[Call, int]]:
    jobs = [evolve(PLAIN, id=f"j{number}", queue="q", fingerprint="") for number in range(count)]
    return [(Call("enqueue", {"envelopes": (job,)}), 0) for job in jobs]


def full(current: int) -> Refusal:
    details = {"queue": "q", "limit": LIMIT, "current": current, "incoming": 1}
    return Refusal("Backpressure", details, "Backpressure")


def judged(accepted: int, current: int = LIMIT) -> Any:
    """Refusals first, so that no order of writing is the right one."""
    seen = [*(full(current) for _ in range(PRODUCERS - accepted)), *(Answered(None) for _ in range(accepted))]
    return judge_together(limited(LIMIT), producers(PRODUCERS), seen, lambda _key: None)


def test_64_producers_for_25_places() -> None:
    assert judged(LIMIT) is None


def test_one_too_many_fits_no_order() -> None:
    failure = judged(LIMIT + 1)
    assert failure.kind is Kind.ORDER
    assert failure.requirement == "JOB-GEN-01"
    assert "JOB-BPR-02" in failure.requirements


def test_the_state_is_that_after_the_order_that_was_found() -> None:
    judge = limited(LIMIT)
    seen = [full(LIMIT), *(Answered(None) for _ in range(LIMIT))]
    assert judge_together(judge, producers(LIMIT + 1), seen, lambda _key: None) is None
    assert {key for key in judge.state if key.startswith("job/")} == {f"job/j{n}" for n in range(1, LIMIT + 1)}


def test_a_search_that_grows_too_large_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MOST_DECISIONS", 50)
    with pytest.raises(Undecided, match="no order was found among 50 decisions"):
        judged(LIMIT + 1)


def test_a_replay_that_succeeds_may_have_been_none() -> None:
    """Where the job was deleted before, the same answer tells that it is there anew."""
    judge = Judge(bindings()["jobs"], {}, lambda _key: False)
    ((enqueue, now),) = producers(1)
    judge.state = apply(CONTRACT, {}, enqueue, now).state
    calls = [(enqueue, now), (Call("delete_job", {"job_id": "j0"}), now)]
    lost = Failure(("JOB-GEN-01",), Kind.OTHERS, "the store holds 1 rows; it should hold 0")

    def rest() -> Failure | None:
        return None if "job/j0" in judge.state else lost

    assert judge_together(judge, calls, [Answered(None)] * 2, lambda _key: None, rest) is None
    assert "job/j0" in judge.state


TWO_AT_ONCE = """{"format": 1, "contract": "jobs", "name": "two", "title": "two", "requirements": ["JOB-GEN-01"], \
"profiles": [], "abilities": ["second_handle"], "config": {}, "handles": ["A", "B"], "digest": null}
{"id": "t", "together": [\
{"id": "a", "on": "A", "at_ms": 1000000, "call": "enqueue", "args": {"envelopes": [{"id": "a", "kind": "mail"}]}}, \
{"id": "b", "on": "B", "at_ms": 1000000, "call": "enqueue", "args": {"envelopes": [{"id": "b", "kind": "mail"}]}}]}
{"end": 1}
"""


def test_two_calls_at_once_are_begun_in_either_order() -> None:
    """On a store that is fast, whoever is begun first is done first."""
    backend = describe("fast", of(bindings()["jobs"]))
    blocks = [step for each in variants(parse(TWO_AT_ONCE), backend) for step in each.steps]
    orders = [[call.id for call in block.calls] for block in blocks if isinstance(block, Together)]
    assert orders == [["a", "b"], ["b", "a"]]
