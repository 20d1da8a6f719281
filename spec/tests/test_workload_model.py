"""Scenarios of the contract, run on the model itself with literal expectations."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from workspec.core.interpreter import Accepted, Committed, Refused, apply, commit, decide, instants
from workspec.core.record import State
from workspec.core.scope import Call
from workspec.workload.contract import CONTRACT
from workspec.workload.facts import absorb, present
from workspec.workload.rules import NO_TIMEOUTS
from workspec.workload.samples import REQUEST, legacy_file
from workspec.workload.vocabulary import RetryPolicy, Subject, Workload

ID = "workload_a905c442ee731da96617b295"
P = RetryPolicy(3, "fixed", 1000, 60_000, frozenset({"worker_failure", "timeout", "transient_connection"}))
F = evolve(REQUEST, retry_policy=P)


class Model:
    """A state of the model, and the calls of the port on it."""

    def __init__(self, request: Any = F) -> None:
        self.state: State = {}
        self.admit(request)

    def call(self, name: str, now_s: int | None = None, **arguments: Any) -> Any:
        """The answer, or the code and the details of the refusal."""
        call = Call(name, arguments)
        done = apply(CONTRACT, self.state, call, CONTRACT.instant(call, now_s))
        self.state = done.state
        if isinstance(done.outcome, Refused):
            code, details = done.outcome.code, done.outcome.details
            return (str(code), dict(details)) if details is not None else str(code)
        return done.outcome.value

    def admit(self, request: Any) -> Any:
        return self.call("admit", request=request)

    def claim(self, now_s: int, worker: str = "a", lease_ms: int = 10_000) -> Any:
        capabilities = ("email:send",)
        return self.call("claim", now_s, workload_id=ID, worker_id=worker, capabilities=capabilities, lease_ms=lease_ms)

    def work(self, name: str, now_s: int, claim: Any, **arguments: Any) -> Any:
        fence = {"claim_id": claim.claim_id, "worker_id": claim.worker_id, "fencing_token": claim.fencing_token}
        return self.call(name, now_s, workload_id=ID, **fence, **arguments)

    def start(self, now_s: int, claim: Any) -> Any:
        return self.work("start", now_s, claim)

    def heartbeat(self, now_s: int, claim: Any, extension_ms: int = 10_000) -> Any:
        return self.work("heartbeat", now_s, claim, extension_ms=extension_ms)

    def complete(self, now_s: int, claim: Any, result_id: str = "r1", output: Any = None) -> Any:
        return self.work("complete", now_s, claim, result_id=result_id, output=output, references=(), schema_version=1)

    def fail(self, now_s: int, claim: Any, kind: str = "timeout", error: str = "x", effect: str | None = None) -> Any:
        return self.work("fail", now_s, claim, kind=kind, error=error, effect=effect)

    def retry(self, now_s: int, reason: str | None = "again") -> Any:
        return self.call("retry", now_s, workload_id=ID, actor="operator", reason=reason)

    def enforce(self, now_s: int) -> Any:
        return self.call("enforce_deadlines", now_s)

    def recover(self, now_s: int) -> Any:
        return self.call("recover_expired", now_s)

    @property
    def record(self) -> Workload:
        return present(self.state[ID])

    @property
    def version(self) -> int | None:
        return self.state[ID].version


def with_policy(**changes: Any) -> Any:
    return evolve(F, retry_policy=evolve(P, **changes))


def with_timeouts(**timeouts: int) -> Any:
    return evolve(F, timeouts=evolve(NO_TIMEOUTS, **timeouts))


def trail(record: Workload, count: int) -> list[tuple[str, str, int, dict[str, str]]]:
    """The last events: state, actor, instant, evidence."""
    return [(str(e.to_state), e.actor, e.at, dict(e.evidence)) for e in record.execution_history[-count:]]


def test_03_layered_errors_of_an_admission() -> None:
    model = Model()
    bad = evolve(
        F,
        input={"a": "sk-x"},
        idempotency_key=" ",
        timeouts=evolve(NO_TIMEOUTS, queue_ms=0),
        authorization_snapshot=evolve(F.authorization_snapshot, subject=Subject("agent", "a2")),
        priority=3,
    )
    answers = []
    for name in ("input", "idempotency_key", "timeouts", "authorization_snapshot", "priority"):
        answers.append(model.admit(bad))
        bad = evolve(bad, **{name: getattr(F, name)})
    assert answers == [
        "WORKLOAD_SECRET_MATERIAL",
        "WORKLOAD_INVALID",
        "WORKLOAD_INVALID",
        "WORKLOAD_UNAUTHORIZED",
        ("IDEMPOTENCY_KEY_REUSED", {"fields": ["priority"]}),
    ]
    replay = model.admit(bad)
    assert (replay.created, replay.workload, model.version) == (False, model.record, 1)


def test_05_not_before_and_replay() -> None:
    model = Model(evolve(F, not_before=50))
    assert model.claim(49) == "WORKLOAD_NOT_READY"
    claim = model.claim(50)
    assert model.fail(51, claim) == "READY"
    assert model.record.next_attempt_at == 52
    assert model.admit(evolve(F, not_before=50)).created is False
    reused = ("IDEMPOTENCY_KEY_REUSED", {"fields": ["not_before"]})
    assert model.admit(evolve(F, not_before=52)) == reused
    assert model.admit(F) == reused


def test_11_an_exhausted_claim_is_buried_and_committed() -> None:
    model = Model(evolve(F, not_before=500))
    record = model.state[ID]
    model.state = {ID: evolve(record, facts=evolve(record.facts, attempt_count=3))}
    answer = model.call("claim", 20, workload_id=ID, worker_id="a", capabilities=(), lease_ms=1)
    assert answer == "WORKLOAD_ATTEMPTS_EXHAUSTED"
    evidence = {"reason": "attempt_budget_exhausted", "attempts_used": "3", "attempt_budget": "3"}
    assert trail(model.record, 1) == [("DEAD_LETTER", "authority.claim", 20, evidence)]
    assert model.claim(21) == "WORKLOAD_NOT_READY"


def test_13_no_attempts_at_all() -> None:
    model = Model(with_policy(max_attempts=0))
    assert model.claim(11) == "WORKLOAD_ATTEMPTS_EXHAUSTED"
    assert model.record.attempts == ()
    assert model.retry(12) == "WORKLOAD_RETRY_EXHAUSTED"


def test_15_a_stale_worker() -> None:
    model = Model()
    a = model.claim(11, "a", 1000)
    assert (model.recover(11), model.recover(12)) == ([], [ID])
    assert model.heartbeat(12, a) == "WORKLOAD_CLAIM_INVALID"
    b = model.claim(13, "b")
    assert b.fencing_token > a.fencing_token
    assert model.heartbeat(13, a) == "WORKLOAD_STALE_FENCE"
    assert model.work("execution_context", 13, a, secret_references=()) == "WORKLOAD_STALE_FENCE"
    assert model.heartbeat(13, evolve(b, worker_id="z")) == "WORKLOAD_CLAIM_INVALID"


def test_16_the_last_second_of_a_lease() -> None:
    model = Model()
    a = model.claim(11, "a", 1000)
    version = model.version
    calls = (model.start, model.heartbeat, model.complete, model.fail)
    assert {call(12, a) for call in calls} == {"WORKLOAD_CLAIM_INVALID"}
    assert (model.record.state, model.version, model.claim(12, "b")) == ("CLAIMED", version, "WORKLOAD_NOT_READY")
    assert model.start(11, a) is None


def test_18_a_resumed_attempt_sees_earlier_checkpoints() -> None:
    model = Model()
    a = model.claim(11, "a", 1000)
    model.start(11, a)
    model.work("checkpoint", 11, a, state={"step": "reserve"})
    model.recover(13)
    b = model.claim(13, "b")
    version = model.version
    context = model.work("execution_context", 13, b, secret_references=("db",))
    first, second = model.record.attempts
    assert [(c.attempt_id, c.state) for c in context.checkpoints] == [(first.attempt_id, {"step": "reserve"})]
    assert (context.attempt_id, context.input, context.expires_at) == (second.attempt_id, {"id": 1}, 23)
    assert model.version == version


def test_19_replays_and_conflicts_of_a_result() -> None:
    model = Model()
    a = model.claim(11, "a", 1000)
    model.start(11, a)
    model.recover(13)
    b = model.claim(13, "b")
    model.start(13, b)
    result = model.complete(14, b, "r1", {"sent": 1})
    version = model.version
    assert model.complete(15, b, "r1", {"sent": 1}) == result
    assert model.complete(500, b, "r1", {"sent": 1}) == result
    assert model.complete(15, b, "r1", {"sent": 2}) == "WORKLOAD_RESULT_CONFLICT"
    assert model.complete(15, a, "r1", {"sent": 1}) == "WORKLOAD_RESULT_CONFLICT"
    assert model.complete(15, b, "r2", {"sent": 1}) == "WORKLOAD_CLAIM_INVALID"
    assert (model.version, model.record.state) == (version, "SUCCEEDED")
    assert result.provenance == {"claim_id": b.claim_id, "fencing_token": str(b.fencing_token)}


def test_21_a_completion_at_the_deadline() -> None:
    model = Model(with_timeouts(execution_ms=5000))
    claim = model.claim(11)
    model.start(12, claim)
    model.heartbeat(16, claim)
    assert instants(CONTRACT, model.state[ID], 16) == (17, 26)
    assert model.enforce(16) == []
    assert model.complete(17, claim) == ("WORKLOAD_TIMED_OUT", {"deadline": "execution", "deadline_at": 17})
    record = model.record
    assert (record.state, record.next_attempt_at, record.retry_count, record.result) == ("READY", 18, 1, None)
    assert (record.attempts[0].status, record.attempts[0].ended_at) == ("TIMED_OUT", 17)
    lost = {"claim_id": claim.claim_id, "worker_id": "a"}
    assert trail(record, 2) == [
        ("TIMED_OUT", "authority.deadline", 17, {"deadline": "execution", "deadline_at": "17", **lost}),
        ("READY", "authority.deadline", 17, {"decision": "retry"}),
    ]
    assert model.enforce(30) == []


def test_23_repeated_failure_reports() -> None:
    model = Model()
    a = model.claim(11)
    report = ("transient_connection", "no route")
    assert model.fail(12, a, *report) == "READY"
    assert trail(model.record, 2) == [
        (
            "FAILED",
            "a",
            12,
            {"failure_kind": report[0], "attempt_id": model.record.attempts[0].attempt_id, "effect": "none"},
        ),
        ("READY", "authority.retry", 12, {"decision": "retry"}),
    ]
    version = model.version
    assert model.fail(13, a, *report) == "READY"
    assert model.fail(13, a, *report, "none") == "READY"
    assert model.version == version
    assert model.fail(13, a, *report, "unknown") == "WORKLOAD_CLAIM_INVALID"
    assert model.fail(13, a, "timeout", "other") == "WORKLOAD_CLAIM_INVALID"
    assert model.complete(13, a) == "WORKLOAD_CLAIM_INVALID"
    model.claim(14, "b")
    assert model.fail(15, a, "timeout", "late") == "WORKLOAD_STALE_FENCE"
    assert model.fail(15, a, *report) == "CLAIMED"


@pytest.mark.parametrize(
    ("kind", "effect", "state", "decision"),
    [
        ("validation", "none", "DEAD_LETTER", "failure_kind_not_retryable"),
        ("validation", None, "DEAD_LETTER", "failure_kind_not_retryable"),
        ("validation", "unknown", "READY", "retry"),
        ("timeout", None, "READY", "retry"),
    ],
)
def test_26_what_a_failure_decides(kind: str, effect: str | None, state: str, decision: str) -> None:
    model = Model()
    claim = model.claim(11)
    model.start(12, claim)
    assert model.fail(13, claim, kind, "x", effect) == state
    assert trail(model.record, 1)[0][3] == {"decision": decision}
    assert model.fail(13, evolve(claim, claim_id="nonsense"), kind, "x", "maybe") == "WORKLOAD_INVALID"


def test_28_policy_before_budget() -> None:
    for effect, decision in ((None, "failure_kind_not_retryable"), ("unknown", "attempt_budget_exhausted")):
        model = Model(with_policy(max_attempts=1))
        claim = model.claim(11)
        model.start(12, claim)
        assert model.fail(13, claim, "validation", "x", effect) == "DEAD_LETTER"
        assert trail(model.record, 1)[0][3] == {"decision": decision}


@pytest.mark.parametrize(
    ("backoff", "initial_ms", "cap_ms", "seconds"),
    [("exponential", 1500, 5000, [1, 3, 5, 5]), ("fixed", 1999, 60_000, [1, 1, 1, 1])],
)
def test_32_back_off(backoff: str, initial_ms: int, cap_ms: int, seconds: list[int]) -> None:
    model = Model(with_policy(max_attempts=9, backoff=backoff, initial_delay_ms=initial_ms, max_delay_ms=cap_ms))
    now_s, waits = 11, []
    for _ in range(4):
        model.fail(now_s, model.claim(now_s))
        waits.append((model.record.next_attempt_at or 0) - now_s)
        now_s = model.record.next_attempt_at or 0
    assert waits == seconds


def test_38_queue_deadlines() -> None:
    model = Model(with_timeouts(queue_ms=4000))
    assert model.claim(14) == ("WORKLOAD_TIMED_OUT", {"deadline": "queue", "deadline_at": 14})
    assert model.record.attempts == ()
    later = Model(evolve(with_timeouts(queue_ms=4000), not_before=100))
    assert (later.enforce(103), later.enforce(104)) == ([], [ID])
    both = Model(with_timeouts(queue_ms=4000, overall_ms=4000))
    assert both.claim(14) == ("WORKLOAD_TIMED_OUT", {"deadline": "overall", "deadline_at": 14})
    retried = Model(evolve(with_timeouts(queue_ms=4000), retry_policy=evolve(P, initial_delay_ms=3000)))
    retried.fail(12, retried.claim(11))
    assert instants(CONTRACT, retried.state[ID], 12) == (15, 19)
    assert retried.claim(19) == ("WORKLOAD_TIMED_OUT", {"deadline": "queue", "deadline_at": 19})
    assert retried.record.attempts[0].status == "FAILED"


def test_40_lease_against_deadline() -> None:
    for recover_first in (False, True):
        model = Model(with_timeouts(execution_ms=4000))
        claim = model.claim(11, "a", 5000)
        model.start(12, claim)
        if recover_first:
            assert (model.recover(16), model.enforce(16)) == ([ID], [])
            assert model.heartbeat(16, claim) == "WORKLOAD_CLAIM_INVALID"
        else:
            assert model.heartbeat(16, claim) == ("WORKLOAD_TIMED_OUT", {"deadline": "execution", "deadline_at": 16})
            assert model.recover(16) == []
        assert model.record.attempts[0].status == ("WORKER_LOST" if recover_first else "TIMED_OUT")


def test_43_an_older_record_has_no_deadlines_but_a_lease() -> None:
    model = Model(with_timeouts(queue_ms=1000))
    model.state = {ID: absorb(evolve(model.record, contract_version=1), None)}
    assert model.enforce(1_000_000) == []
    model.claim(1_000_000, "a", 1000)
    assert (model.version, model.recover(1_000_001)) == (2, [ID])


def test_44_recovery_is_bounded() -> None:
    model = Model()
    for n in (1, 2, 3):
        claim = model.claim(100 * n)
        end = 100 * n + 10
        assert (model.recover(end - 1), model.recover(end)) == ([], [ID])
        evidence = {
            "recovery_reason": "lease_expired",
            "attempts_used": str(n),
            "attempt_budget": "3",
            "claim_id": claim.claim_id,
            "worker_id": "a",
            "lease_expired_at": str(end),
            "attempt_id": model.record.attempts[-1].attempt_id,
        }
        outcome = ("READY", "retry") if n < 3 else ("DEAD_LETTER", "attempt_budget_exhausted")
        assert trail(model.record, 2) == [
            ("RECOVERING", "authority.recovery", end, evidence),
            (outcome[0], "authority.recovery", end, {"decision": outcome[1]}),
        ]
    assert model.claim(1000) == "WORKLOAD_NOT_READY"


def test_46_cancellation_while_running() -> None:
    model = Model(with_timeouts(execution_ms=5000, overall_ms=6000))
    claim = model.claim(11)
    model.start(12, claim)
    assert model.call("cancel", 13, workload_id=ID, actor="u") == "CANCELLATION_REQUESTED"
    assert model.heartbeat(18, claim, 3000).expires_at == 21
    assert model.complete(18, claim) == "WORKLOAD_STATE_INVALID"
    assert (model.enforce(20), model.recover(20), model.recover(21)) == ([], [], [ID])
    record = model.record
    assert (record.state, record.attempts[0].status) == ("CANCELLED", "WORKER_LOST")
    assert record.execution_history[-1].evidence["lease_expired_at"] == "21"
    assert model.call("cancel", 30, workload_id=ID, actor="u") == "CANCELLED"


def test_47_operator_rearms() -> None:
    model = Model()
    now_s = 100
    for _ in range(3):
        model.claim(now_s)
        model.recover(now_s + 10)
        now_s += 100
    for n in (1, 2, 3):
        assert model.retry(now_s) is None
        evidence = {"retry": "operator", "operator_retry": str(n), "attempt_budget": str(3 + n), "reason": "again"}
        assert trail(model.record, 1) == [("READY", "operator", now_s, evidence)]
        model.claim(now_s)
        model.recover(now_s + 10)
        assert (model.record.state, model.record.attempt_count) == ("DEAD_LETTER", 3 + n)
        now_s += 100
    assert model.retry(now_s) == "WORKLOAD_RETRY_EXHAUSTED"


def test_50_state_before_limit_and_a_blank_reason() -> None:
    model = Model(with_policy(max_attempts=1))
    model.claim(11)
    model.recover(21)
    assert model.retry(22, "   ") is None
    assert "reason" not in model.record.execution_history[-1].evidence
    assert model.retry(23) == "WORKLOAD_STATE_INVALID"
    model.claim(24)
    model.recover(34)
    assert model.retry(35) == "WORKLOAD_RETRY_EXHAUSTED"


def test_51_an_actors_timeout() -> None:
    model = Model(with_policy(initial_delay_ms=2500))
    assert model.call("time_out", 12, workload_id=ID, actor="u") == "READY"
    record = model.record
    assert (record.next_attempt_at, record.retry_count, record.attempts) == (14, 1, ())
    assert trail(record, 2) == [("TIMED_OUT", "u", 12, {}), ("READY", "u", 12, {})]
    last = Model(with_policy(max_attempts=1))
    last.claim(11)
    assert last.call("time_out", 12, workload_id=ID, actor="u") == "DEAD_LETTER"
    assert (last.record.attempts[0].status, last.record.attempts[0].error) == ("TIMED_OUT", None)


def frozen_call(model: Model, name: str, now_s: int, during: Any, **arguments: Any) -> Committed:
    """A call whose decision is made before ``during`` and committed after it."""
    decision = decide(CONTRACT, model.state, Call(name, {"workload_id": ID, **arguments}), now_s)
    during()
    done = commit(CONTRACT, model.state, decision)
    model.state = done.state
    return done


def test_52_a_frozen_second_claimer() -> None:
    model = Model()
    arguments = {"worker_id": "b", "capabilities": ("email:send",), "lease_ms": 10_000}
    done = frozen_call(model, "claim", 11, lambda: model.claim(11), **arguments)
    assert done.outcome == Refused("WORKLOAD_CONFLICT")
    assert model.record.current_claim is not None
    assert (model.record.current_claim.worker_id, model.version) == ("a", 2)
    assert {"WRK-MWR-05", "WRK-PRT-09"} <= set(done.decision.trace.requirements)


def test_09_a_lost_admission_replays_against_the_winner() -> None:
    for request, created in ((F, False), (evolve(F, input={"id": 2}), None)):
        decision = decide(CONTRACT, {}, Call("admit", {"request": request}), 10)
        winner = Model()
        done = commit(CONTRACT, winner.state, decision)
        if created is None:
            assert done.outcome == Refused("IDEMPOTENCY_KEY_REUSED", {"fields": ["input"]})
        else:
            assert isinstance(done.outcome, Accepted)
            assert done.outcome.value.created is created
        assert done.state == winner.state


def test_53_a_losing_recovery_passes_over() -> None:
    model = Model()
    model.claim(11, "a", 1000)
    decision = decide(CONTRACT, model.state, Call("recover_expired", {}), 12)
    assert model.recover(12) == [ID]
    done = commit(CONTRACT, model.state, decision)
    assert (done.outcome, done.lost, done.state) == (Accepted([]), (ID,), model.state)


def test_55_a_frozen_completion() -> None:
    model = Model(with_timeouts(execution_ms=5000))
    claim = model.claim(11)
    model.start(12, claim)
    fence = {"claim_id": claim.claim_id, "worker_id": "a", "fencing_token": claim.fencing_token}
    arguments = {**fence, "result_id": "r1", "output": 1, "references": (), "schema_version": 1}
    done = frozen_call(model, "complete", 17, lambda: model.complete(16, claim, "r1", 1), **arguments)
    assert done.outcome == Refused("WORKLOAD_CONFLICT")
    assert model.complete(17, claim, "r1", 1) == model.record.result


def test_56_migration_twice_and_with_a_difference() -> None:
    source = legacy_file(Model().state)
    empty = Model()
    empty.state = {}
    assert empty.call("migrate", source=source) == 1
    assert empty.call("migrate", source=source) == 0
    edited = source.replace(b'"priority": 0', b'"priority": 1')
    before = empty.state
    assert empty.call("migrate", source=edited) == "WORKLOAD_MIGRATION_CONFLICT"
    assert empty.call("migrate", source=b"{}") == "WORKLOAD_INVALID"
    assert empty.state == before
