"""The rules of the jobs contract: clean by every lint, and right on the scenarios whose numbers the contract gives."""

from __future__ import annotations

import random
from typing import Any

import pytest
from attrs import evolve

from workspec.core.interpreter import Accepted, apply
from workspec.core.lint import lint, named_ids
from workspec.core.record import State as Store
from workspec.core.sample import Sample, walk
from workspec.core.scope import Call
from workspec.jobs.contract import CONTRACT
from workspec.jobs.samples import PLAIN, propose
from workspec.jobs.vocabulary import Checkpoint, Envelope, ErrorCode, LeaseRef, Outcome

T0 = 1_000_000


class Model:
    """The model as a store, its clock moved by hand."""

    def __init__(self) -> None:
        self.state: Store = {}
        self.now_ms = T0

    def call(self, name: str, /, **arguments: Any) -> Any:
        """The answer, or the code and the details of the refusal."""
        done = apply(CONTRACT, self.state, Call(name, arguments), self.now_ms)
        self.state = done.state
        outcome = done.outcome
        return outcome.value if isinstance(outcome, Accepted) else (outcome.code, dict(outcome.details or {}))

    def enqueue(self, *envelopes: Envelope) -> Any:
        return self.call("enqueue", envelopes=envelopes)

    def admit(self, lease_id: str = "l", worker: str = "w", capacity: int = 100, **more: Any) -> list[str]:
        given = {"queues": ["q"], "lease_ms": 30_000, "quantum": 1, **more}
        units = self.call("admit", worker=worker, lease_id=lease_id, capacity=capacity, **given)
        return [unit.claims[0].envelope.id for unit in units]

    def ack(self, lease: LeaseRef, outcome: Outcome, delay_ms: int | None = None, weight: int | None = None) -> Any:
        return self.call(
            "ack", lease=lease, outcome=outcome, error=None, delay_ms=delay_ms, logs=(), actual_weight=weight
        )

    def lease(self, job_id: str) -> LeaseRef:
        facts = self.state[f"job/{job_id}"].facts
        return LeaseRef(job_id, facts.lease_id or "", facts.fence)

    def of(self, job_id: str) -> Any:
        record = self.state.get(f"job/{job_id}")
        return None if record is None else record.facts


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return list(walk(CONTRACT, propose, random.Random(2).choice, walks=60, steps=120))


def job(identifier: str, **members: Any) -> Envelope:
    return evolve(PLAIN, id=identifier, fingerprint=f"fp-{identifier}", retention_ms=86_400_000, **members)


def test_the_rules_are_clean(samples: list[Sample]) -> None:
    every = {requirement.id for requirement in CONTRACT.catalogue}
    assert lint(CONTRACT, every, samples) == []


def test_every_id_that_a_rule_names_is_in_the_catalogue() -> None:
    assert {identifier for _, identifier in named_ids(CONTRACT) if identifier not in CONTRACT.catalogue} == set()


def test_s01_sticky_routing(model: Model) -> None:
    for first in range(0, 5000, 500):
        rows = [
            job(f"b-{n:04}", partition_key="tenant", priority=10_000, sticky_worker="worker-b")
            for n in range(first, first + 500)
        ]
        assert model.enqueue(*rows) is None
    model.enqueue(job("a", partition_key="tenant", priority=50, sticky_worker="worker-a"))
    model.enqueue(job("general", partition_key="tenant", priority=1))
    assert set(model.admit("la", "worker-a", 2)) == {"a", "general"}
    model.ack(model.lease("a"), Outcome.RATE_LIMITED)
    model.ack(model.lease("general"), Outcome.SUCCESS)
    assert model.admit("lc", "worker-c", 2) == []
    assert model.admit("la2", "worker-a", 1) == ["a"]
    assert (model.of("a").fence, model.of("a").attempt) == (2, 0)
    assert model.admit("lb", "worker-b", 1) == ["b-0000"]


def test_s02_backpressure(model: Model) -> None:
    model.call("set_enqueue_limit", queue="q", limit=25)
    answers = [model.enqueue(job(f"j{n}")) for n in range(64)]
    refused = (ErrorCode.BACKPRESSURE, {"queue": "q", "limit": 25, "current": 25, "incoming": 1})
    assert answers == [None] * 25 + [refused] * 39
    assert model.enqueue(job("j3")) is None
    two = model.enqueue(job("n1"), job("n2"))
    assert two == (ErrorCode.BACKPRESSURE, {"queue": "q", "limit": 25, "current": 25, "incoming": 2})
    assert model.of("n1") is None
    model.call("operator_cancel", job_id="j0")
    assert model.enqueue(job("replacement")) is None
    model.call("set_enqueue_limit", queue="q", limit=None)
    assert model.enqueue(job("more")) is None
    (stats,) = model.call("queue_stats")
    assert (stats.unfinished_jobs, stats.max_unfinished_jobs) == (26, None)


def test_s03_ids(model: Model) -> None:
    x = job("x")
    assert [model.enqueue(x), model.enqueue(x)] == [None, None]
    conflict = (ErrorCode.ID_CONFLICT, {"job_id": "x"})
    for other in (evolve(x, fingerprint="G"), evolve(x, queue="p"), evolve(x, kind="v")):
        assert model.enqueue(other) == conflict
    assert model.enqueue(job("z"), evolve(x, fingerprint="G")) == conflict
    assert model.of("z") is None
    assert model.enqueue(job("n"), job("n")) == (ErrorCode.ID_CONFLICT, {"job_id": "n"})
    assert model.enqueue(x, x) == conflict
    model.enqueue(job("y", queue=""))
    assert model.enqueue(job("y", queue="default")) is None


def test_s12_what_a_replacement_changes(model: Model) -> None:
    holder = job("h", unique_key=b"K", scheduled_at_ms=T0 + 9000)
    model.enqueue(holder)
    new = job(
        "i", unique_key=b"K", unique_replace=15, payload=b"new", scheduled_at_ms=T0 + 4000, priority=9, max_attempts=3
    )
    assert model.enqueue(new) == (ErrorCode.DUPLICATE, {"existing_id": "h", "replaced": True})
    facts = model.of("h")
    assert (facts.state, facts.payload, facts.scheduled_at_ms) == ("scheduled", b"new", T0 + 4000)
    assert (facts.priority, facts.max_attempts) == (9, 3)
    model.now_ms += 4000
    assert model.call("promote_due", limit=10) == 1
    only_due = evolve(new, unique_replace=2)
    assert model.enqueue(only_due) == (ErrorCode.DUPLICATE, {"existing_id": "h", "replaced": False})


def test_s14_a_debounce_moves_the_trailing_edge(model: Model) -> None:
    model.now_ms = 1000
    first = job("d1", unique_key=b"e", unique_debounce_ms=500, tags=("blue", "billing"))
    assert model.enqueue(first) is None
    assert (model.of("d1").scheduled_at_ms, model.of("d1").tags) == (1500, ("billing", "blue"))
    model.now_ms = 1200
    second = job("d2", unique_key=b"e", unique_debounce_ms=500, tags=("urgent",), payload=b"2")
    assert model.enqueue(second) == (ErrorCode.DUPLICATE, {"existing_id": "d1", "replaced": True})
    assert (model.of("d1").scheduled_at_ms, model.of("d1").tags) == (1700, ("urgent",))
    model.now_ms = 1699
    assert model.call("promote_due", limit=9) == 0
    model.now_ms = 1700
    assert model.call("promote_due", limit=9) == 1
    model.enqueue(evolve(second, id="d3"))
    assert (model.of("d1").state, model.of("d1").scheduled_at_ms) == ("scheduled", 2200)


def test_s17_a_fraction_of_a_token_is_kept(model: Model) -> None:
    model.now_ms = 9000
    model.call("set_rate_limit", name="c", limit=1, window_ms=1000, burst=1)
    model.now_ms = 10_000
    model.enqueue(*(job(f"j{n}", rate_class="c") for n in range(3)))
    admitted = []
    for now_ms in (10_000, 10_500, 10_999, 11_000, 11_999, 12_000):
        model.now_ms = now_ms
        admitted.append(model.admit(f"l{now_ms}"))
    assert admitted == [["j0"], [], [], ["j1"], [], ["j2"]]


def test_s19_what_a_run_really_cost_is_settled(model: Model) -> None:
    model.call("set_rate_limit", name="c", limit=0, window_ms=60_000, burst=5)
    model.enqueue(*(job(name, rate_class="c", weight=weight) for name, weight in (("a", 3), ("b", 2), ("c", 1))))
    assert model.admit() == ["a", "b"]
    model.ack(model.lease("a"), Outcome.SUCCESS, weight=1)
    assert model.call("get_rate_class", name="c").available_tokens == 2
    assert model.admit("l2") == ["c"]
    model.ack(model.lease("b"), Outcome.SUCCESS, weight=4)
    assert model.call("get_rate_class", name="c").available_tokens == -1


def test_s23_one_class_over_partitions(model: Model) -> None:
    model.call("set_rate_limit", name="c", limit=0, window_ms=60_000, burst=3)
    model.enqueue(
        job("a1", partition_key="A", rate_class="c", weight=2),
        job("a2", partition_key="A", rate_class="c", weight=1),
        job("b1", partition_key="B", rate_class="c", weight=2),
        job("b2", partition_key="B"),
    )
    assert model.admit() == ["a1", "b2", "a2"]


def test_s24_partitions_rotate(model: Model) -> None:
    model.enqueue(*(job(f"{name}{n}", partition_key=name) for name in "ABC" for n in (1, 2)))
    drawn = [model.admit(f"l{n}", capacity=2) for n in range(4)]
    assert drawn == [["A1", "B1"], ["B2", "C1"], ["A2", "C2"], []]


def test_s26_order_in_a_partition(model: Model) -> None:
    rows = (("b", 5, 10), ("a", 5, 20), ("c", 5, 10), ("z", 6, 999))
    model.enqueue(*(job(name, priority=priority, scheduled_at_ms=due) for name, priority, due in rows))
    assert model.admit() == ["z", "b", "c", "a"]


def test_s27_a_lease_ends_at_its_instant(model: Model) -> None:
    model.enqueue(job("x"))
    model.admit()
    late = model.lease("x")
    model.now_ms = T0 + 29_999
    assert model.call("reclaim_expired", limit=9) == []
    model.now_ms = T0 + 30_000
    (reclaimed,) = model.call("reclaim_expired", limit=9)
    assert (reclaimed.crash_attempt, reclaimed.quarantined) == (1, False)
    assert (model.of("x").state, model.of("x").scheduled_at_ms) == ("retryable", T0 + 31_000)
    assert model.call("renew", leases=[late], lease_ms=1000) == ["x"]
    assert model.ack(late, Outcome.SUCCESS) == (ErrorCode.LEASE_REJECTED, {"job_id": "x"})


def test_s29_and_s30_crashes_quarantine_and_a_release_frees(model: Model) -> None:
    model.enqueue(evolve(job("x"), fingerprint="F"), evolve(job("sib", queue="p"), fingerprint="F"))
    for crash, outcome in ((1, "retry"), (2, "retry"), (3, None)):
        model.call("promote_due", limit=9)
        assert model.admit(f"c{crash}", lease_ms=1000) == ["x"]
        model.now_ms += 10_000
        (reclaimed,) = model.call("reclaim_expired", limit=9)
        assert reclaimed.quarantined == (crash == 3)
        model.now_ms += 10_000
        if outcome:
            model.call("promote_due", limit=9)
            model.admit(f"r{crash}")
            model.ack(model.lease("x"), Outcome.RETRY)
            model.now_ms += 10_000
    assert (model.of("x").state, model.of("x").attempt, model.of("x").crash_attempt) == ("quarantined", 2, 3)
    assert model.of("x").fence == 5
    assert model.admit("p", queues=["p"]) == []
    assert model.enqueue(evolve(job("n"), fingerprint="F")) == (ErrorCode.QUARANTINED, {"fingerprint": "F"})
    assert model.call("sweep_quarantined", limit=10) == 1
    assert model.call("release_fingerprint", fingerprint="F") == 2
    assert [model.of(name).crash_attempt for name in ("x", "sib")] == [3, 0]
    assert model.call("release_fingerprint", fingerprint="none")[0] == ErrorCode.NOT_FOUND


def test_s36_a_checkpoint_outlives_a_lost_lease(model: Model) -> None:
    model.enqueue(job("x"))
    model.admit()
    saved = Checkpoint("download", ("download",), "transcode", None, b"42", 1, "h", ())
    model.call("checkpoint", lease=model.lease("x"), checkpoint=saved)
    model.now_ms += 30_000
    model.call("reclaim_expired", limit=9)
    assert model.of("x").checkpoint == evolve(saved, crashes_by_step=(("transcode", 1),))


def test_an_outcome_that_nobody_may_say(model: Model) -> None:
    model.enqueue(job("x"))
    model.admit()
    said = model.ack(model.lease("x"), Outcome.LEASE_LOST)
    assert said == (ErrorCode.INVALID, {"reason": "lease_lost_not_ackable"})
    assert model.ack(model.lease("x"), Outcome.SNOOZE, 0) == (ErrorCode.INVALID, {"reason": "snooze_needs_delay"})
    assert model.of("x").state == "running"
