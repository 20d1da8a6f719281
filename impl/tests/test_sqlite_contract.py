"""The contract, called directly on a file: one test per group of scenarios of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Claim,
    Dependency,
    Grant,
    RetryPolicy,
    Subject,
    Timeouts,
    Workload,
    WorkloadError,
)
from workstore.sqlite import WorkloadStore

REQUESTER = Subject("agent", "a1")
POLICY = RetryPolicy(3, "fixed", 1000, 60000, frozenset({"worker_failure", "timeout", "transient_connection"}))
NO_TIMEOUTS = Timeouts(None, None, None, None, None)
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=REQUESTER,
    idempotency_key="one",
    definition_id="definition",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=("email:send",),
    connection_scopes=None,
    priority=None,
    retry_policy=POLICY,
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(REQUESTER, "t", "app", "signed"),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkloadStore]:
    with WorkloadStore.open(tmp_path / "work.db", synchronous="NORMAL") as opened:
        yield opened


def admit(store: WorkloadStore, **changes: Any) -> str:
    return store.admit(request=evolve(REQUEST, **changes)).workload.workload_id


def claim(store: WorkloadStore, workload_id: str, now_s: int, **changes: Any) -> Claim:
    arguments = {"worker_id": "a", "capabilities": ["email:send"], "lease_ms": 10000, **changes}
    return store.claim(workload_id=workload_id, now_s=now_s, **arguments)


def fence(workload_id: str, held: Claim) -> dict[str, Any]:
    return {
        "workload_id": workload_id,
        "claim_id": held.claim_id,
        "worker_id": held.worker_id,
        "fencing_token": held.fencing_token,
    }


def complete(store: WorkloadStore, shown: dict[str, Any], result_id: str, output: Any, now_s: int) -> Any:
    return store.complete(**shown, result_id=result_id, output=output, references=[], schema_version=1, now_s=now_s)


def fail(store: WorkloadStore, shown: dict[str, Any], kind: str, error: str, effect: Any, now_s: int) -> str:
    return store.fail(**shown, kind=kind, error=error, effect=effect, now_s=now_s)


@contextmanager
def refused(code: str) -> Iterator[None]:
    with pytest.raises(WorkloadError) as caught:
        yield
    assert caught.value.code == code


def record(store: WorkloadStore, workload_id: str) -> Workload:
    versioned = store.get(workload_id=workload_id)
    assert versioned is not None
    return versioned.workload


def version(store: WorkloadStore, workload_id: str) -> int | None:
    return store.snapshot()[workload_id]


def states(workload: Workload) -> list[str]:
    return [event.to_state for event in workload.execution_history]


def test_admission_derives_the_documented_id_and_creates_one_event(store: WorkloadStore) -> None:
    admitted = store.admit(request=evolve(REQUEST, not_before=50))
    assert admitted.created
    workload = admitted.workload
    assert workload.workload_id == "workload_a905c442ee731da96617b295"
    assert workload.contract_version == 2
    assert workload.next_attempt_at == 50
    (event,) = workload.execution_history
    assert (event.sequence, event.from_state, event.to_state, event.actor, event.at) == (
        1,
        "CREATED",
        "READY",
        "a1",
        10,
    )
    assert event.evidence == {"not_before": "50"}
    assert record(store, workload.workload_id) == workload
    assert version(store, workload.workload_id) == 1


def test_admission_answer_does_not_share_the_callers_input(store: WorkloadStore) -> None:
    document: dict[str, Any] = {"ids": [1]}
    admitted = store.admit(request=evolve(REQUEST, input=document))
    document["ids"].append(2)
    assert admitted.workload.input == {"ids": [1]}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"definition_id": "other"}, ["definition_id"]),
        ({"definition_revision": "r2"}, ["definition_revision"]),
        ({"priority": 1, "environment": "staging"}, ["environment", "priority"]),
        ({"input": {"a": 1, "b": 3}}, ["input"]),
        ({"input": {"a": 1, "b": 2.0}}, ["input"]),
        ({"capability_snapshot": ("email:send", "more")}, ["capability_snapshot"]),
        ({"connection_scopes": ("one",)}, ["connection_scopes"]),
        ({"retry_policy": evolve(POLICY, max_attempts=9)}, ["retry_policy"]),
        ({"timeouts": evolve(NO_TIMEOUTS, execution_ms=60000)}, ["timeouts"]),
        ({"dependencies": (Dependency("w1", "SUCCEEDED"),)}, ["dependencies"]),
        ({"dependencies": (Dependency("w1", "SUCCEEDED"),) * 2}, ["dependencies"]),
        ({"not_before": 5000}, ["not_before"]),
    ],
)
def test_replay_names_every_difference(store: WorkloadStore, changes: dict[str, Any], fields: list[str]) -> None:
    first = {
        "input": {"a": 1, "b": 2},
        "dependencies": (Dependency("w1", "SUCCEEDED"), Dependency("w2", "SUCCEEDED")),
    }
    workload_id = admit(store, **first)
    with pytest.raises(WorkloadError) as caught:
        admit(store, **{**first, **changes})
    assert caught.value.code == "IDEMPOTENCY_KEY_REUSED"
    assert caught.value.details == {"fields": fields}
    assert store.snapshot() == {workload_id: 1}


def test_replay_ignores_order_defaults_and_uncompared_members(store: WorkloadStore) -> None:
    wanted = (Dependency("w1", "SUCCEEDED"), Dependency("w2", "SUCCEEDED"))
    first = evolve(REQUEST, input={"a": 1, "b": {"c": 1, "d": 2}}, dependencies=wanted)
    created = store.admit(request=first)
    again = store.admit(
        request=evolve(
            first,
            input={"b": {"d": 2, "c": 1}, "a": 1},
            dependencies=wanted[::-1],
            timeouts=NO_TIMEOUTS,
            priority=0,
            connection_scopes=(),
            capability_snapshot=("email:send", "email:send"),
            created_at=99,
            trigger="other",
            session_id="other",
        )
    )
    assert not again.created
    assert again.workload == created.workload


def test_replay_compares_the_admitted_not_before_after_retries_moved_it(store: WorkloadStore) -> None:
    workload_id = admit(store, not_before=50)
    with refused("WORKLOAD_NOT_READY"):
        claim(store, workload_id, 49)
    held = claim(store, workload_id, 50)
    assert fail(store, fence(workload_id, held), "timeout", "x", None, 51) == "READY"
    assert record(store, workload_id).next_attempt_at == 52
    assert not store.admit(request=evolve(REQUEST, not_before=50)).created
    with refused("IDEMPOTENCY_KEY_REUSED"):
        admit(store, not_before=52)


def test_scope_tells_requesters_and_spaces_apart(store: WorkloadStore) -> None:
    def requester(name: str) -> dict[str, Any]:
        subject = Subject("agent", name)
        return {"requested_by": subject, "authorization_snapshot": Grant(subject, "t", "app", "signed")}

    ids = {
        admit(store, **requester("x:k1"), idempotency_key="k2"),
        admit(store, **requester("x"), idempotency_key="k1:k2"),
        admit(store),
        admit(store, **requester("a2")),
        admit(store, idempotency_key=" one "),
    }
    assert len(ids) == 5


def test_admission_refuses_in_the_order_of_the_contract(store: WorkloadStore) -> None:
    admit(store)
    faulty = evolve(
        REQUEST,
        input={"a": "sk-x"},
        idempotency_key=" ",
        timeouts=evolve(NO_TIMEOUTS, queue_ms=0),
        authorization_snapshot=Grant(Subject("agent", "a2"), "t", "app", "signed"),
        priority=4,
    )
    repairs: list[tuple[str, dict[str, Any]]] = [
        ("WORKLOAD_SECRET_MATERIAL", {"input": {"id": 1}}),
        ("WORKLOAD_INVALID", {"idempotency_key": "one"}),
        ("WORKLOAD_INVALID", {"timeouts": None}),
        ("WORKLOAD_UNAUTHORIZED", {"authorization_snapshot": REQUEST.authorization_snapshot}),
        ("IDEMPOTENCY_KEY_REUSED", {"priority": 0}),
    ]
    for code, repair in repairs:
        with refused(code):
            store.admit(request=faulty)
        faulty = evolve(faulty, **repair)
    assert not store.admit(request=faulty).created


def test_claim_needs_capabilities_and_dependencies_of_the_same_owner(store: WorkloadStore) -> None:
    first = admit(store, idempotency_key="first")
    workload_id = admit(store, dependencies=(Dependency(first, "CANCELLED"),))
    with refused("WORKLOAD_CAPABILITY_MISSING"):
        claim(store, workload_id, 11, capabilities=["other"])
    with refused("WORKLOAD_DEPENDENCY_PENDING"):
        claim(store, workload_id, 11)
    store.cancel(workload_id=first, actor="operator", now_s=11)
    stranger = admit(
        store,
        tenant_id="u",
        authorization_snapshot=Grant(REQUESTER, "u", "app", "signed"),
        dependencies=(Dependency(first, "CANCELLED"),),
    )
    with refused("WORKLOAD_DEPENDENCY_PENDING"):
        claim(store, stranger, 12)
    assert claim(store, workload_id, 12).expires_at == 22


def test_exhausted_work_is_buried_by_any_claimer(store: WorkloadStore) -> None:
    workload_id = admit(store, retry_policy=evolve(POLICY, max_attempts=0))
    with refused("WORKLOAD_ATTEMPTS_EXHAUSTED"):
        claim(store, workload_id, 11, capabilities=[])
    event = record(store, workload_id).execution_history[-1]
    assert (event.to_state, event.actor) == ("DEAD_LETTER", "authority.claim")
    assert event.evidence == {
        "reason": "attempt_budget_exhausted",
        "attempts_used": "0",
        "attempt_budget": "0",
    }
    with refused("WORKLOAD_NOT_READY"):
        claim(store, workload_id, 12)
    with refused("WORKLOAD_RETRY_EXHAUSTED"):
        store.retry(workload_id=workload_id, actor="operator", reason=None, now_s=12)


def test_fence_tells_lost_claims_from_superseded_ones(store: WorkloadStore) -> None:
    workload_id = admit(store)
    lost = fence(workload_id, claim(store, workload_id, 11, lease_ms=1000))
    assert store.recover_expired(now_s=11) == []
    with refused("WORKLOAD_CLAIM_INVALID"):  # lapsed, not yet recovered
        store.start(**lost, now_s=12)
    assert version(store, workload_id) == 2
    assert store.recover_expired(now_s=12) == [workload_id]
    with refused("WORKLOAD_CLAIM_INVALID"):
        store.heartbeat(**lost, extension_ms=1000, now_s=12)
    held = fence(workload_id, claim(store, workload_id, 13, worker_id="b"))
    with refused("WORKLOAD_STALE_FENCE"):
        store.execution_context(**lost, secret_references=[], now_s=13)
    with refused("WORKLOAD_CLAIM_INVALID"):
        store.start(**{**held, "worker_id": "z"}, now_s=13)
    assert held["fencing_token"] > lost["fencing_token"]


def test_heartbeat_commits_without_an_event_and_may_shorten_the_lease(store: WorkloadStore) -> None:
    workload_id = admit(store)
    held = claim(store, workload_id, 11, lease_ms=10001)
    assert held.expires_at == 22
    renewed = store.heartbeat(**fence(workload_id, held), extension_ms=1, now_s=13)
    assert (renewed.expires_at, renewed.last_heartbeat, renewed.claimed_at) == (14, 13, 11)
    assert version(store, workload_id) == 3
    assert states(record(store, workload_id)) == ["READY", "CLAIMED"]


def test_resumed_attempt_sees_the_checkpoints_of_the_lost_one(store: WorkloadStore) -> None:
    workload_id = admit(store)
    lost = claim(store, workload_id, 11, lease_ms=1000)
    store.start(**fence(workload_id, lost), now_s=11)
    kept = store.checkpoint(**fence(workload_id, lost), state={"step": "reserve"}, now_s=11)
    store.recover_expired(now_s=13)
    held = claim(store, workload_id, 13, worker_id="b")
    before = version(store, workload_id)
    context = store.execution_context(**fence(workload_id, held), secret_references=["mail"], now_s=13)
    assert context.checkpoints == (kept,)
    assert (context.input, context.secret_references) == ({"id": 1}, ("mail",))
    assert context.attempt_id != kept.attempt_id
    assert version(store, workload_id) == before
    with refused("WORKLOAD_SECRET_MATERIAL"):
        store.execution_context(**fence(workload_id, held), secret_references=["sk-1"], now_s=13)
    with refused("WORKLOAD_INVALID"):
        store.execution_context(**fence(workload_id, held), secret_references=[""], now_s=13)


def test_completion_replays_and_conflicts(store: WorkloadStore) -> None:
    workload_id = admit(store)
    lost = fence(workload_id, claim(store, workload_id, 11, lease_ms=1000))
    store.recover_expired(now_s=13)
    held = fence(workload_id, claim(store, workload_id, 13, worker_id="b"))
    with refused("WORKLOAD_STATE_INVALID"):
        complete(store, held, "r1", {"sent": 1}, 13)
    store.start(**held, now_s=13)
    result = complete(store, held, "r1", {"sent": 1}, 14)
    committed = store.get(workload_id=workload_id)
    assert complete(store, held, "r1", {"sent": 1}, 500) == result
    with refused("WORKLOAD_RESULT_CONFLICT"):
        complete(store, held, "r1", {"sent": 1.0}, 15)
    with refused("WORKLOAD_RESULT_CONFLICT"):
        complete(store, lost, "r1", {"sent": 1}, 15)
    with refused("WORKLOAD_CLAIM_INVALID"):
        complete(store, held, "r2", {"sent": 1}, 15)
    assert store.get(workload_id=workload_id) == committed
    assert result.provenance == {"claim_id": held["claim_id"], "fencing_token": "2"}


def test_result_id_of_another_workload_is_refused_ahead_of_everything(store: WorkloadStore) -> None:
    first = admit(store, idempotency_key="first")
    held = fence(first, claim(store, first, 11))
    store.start(**held, now_s=11)
    complete(store, held, "r", 1, 12)
    workload_id = admit(store, timeouts=evolve(NO_TIMEOUTS, overall_ms=1000))
    with refused("WORKLOAD_RESULT_DUPLICATE"):
        complete(store, {**held, "workload_id": workload_id}, "r", 1, 50)
    with refused("WORKLOAD_RESULT_DUPLICATE"):
        complete(store, {**held, "workload_id": "nobody"}, "r", 1, 50)
    assert version(store, workload_id) == 1


def test_failure_report_replays_with_the_present_state(store: WorkloadStore) -> None:
    workload_id = admit(store)
    held = fence(workload_id, claim(store, workload_id, 11))
    assert fail(store, held, "transient_connection", "no route", None, 12) == "READY"
    committed = store.get(workload_id=workload_id)
    assert committed is not None
    failed, decision = committed.workload.execution_history[-2:]
    assert failed.evidence["effect"] == "none"
    assert (failed.evidence["failure_kind"], failed.actor) == ("transient_connection", "a")
    assert (decision.actor, decision.evidence) == ("authority.retry", {"decision": "retry"})
    assert fail(store, held, "transient_connection", "no route", None, 13) == "READY"
    assert fail(store, held, "transient_connection", "no route", "none", 13) == "READY"
    for kind, error, effect in [
        ("transient_connection", "no route", "unknown"),
        ("timeout", "no route", None),
        ("transient_connection", "other", None),
    ]:
        with refused("WORKLOAD_CLAIM_INVALID"):
            fail(store, held, kind, error, effect, 13)
    assert store.get(workload_id=workload_id) == committed
    claim(store, workload_id, 14, worker_id="b")
    assert fail(store, held, "transient_connection", "no route", None, 15) == "CLAIMED"
    with refused("WORKLOAD_STALE_FENCE"):
        fail(store, held, "timeout", "late", None, 15)


@pytest.mark.parametrize(
    ("retry_on", "max_attempts", "kind", "effect", "decision"),
    [
        ({"timeout"}, 3, "timeout", "unknown", "effect_unknown_not_retryable"),
        ({"worker_failure"}, 3, "validation", None, "failure_kind_not_retryable"),
        ({"worker_failure"}, 1, "validation", None, "failure_kind_not_retryable"),
        ({"worker_failure"}, 1, "validation", "unknown", "attempt_budget_exhausted"),
        ({"worker_failure"}, 3, "validation", "unknown", "retry"),
    ],
)
def test_failure_decisions(
    store: WorkloadStore, retry_on: set[str], max_attempts: int, kind: str, effect: str | None, decision: str
) -> None:
    policy = evolve(POLICY, retry_on=frozenset(retry_on), max_attempts=max_attempts)
    workload_id = admit(store, retry_policy=policy)
    held = fence(workload_id, claim(store, workload_id, 11))
    store.start(**held, now_s=12)
    state = fail(store, held, kind, "x", effect, 13)
    assert state == ("READY" if decision == "retry" else "DEAD_LETTER")
    assert record(store, workload_id).execution_history[-1].evidence == {"decision": decision}


@pytest.mark.parametrize(
    ("backoff", "initial_ms", "greatest_ms", "delays_s"),
    [
        ("exponential", 1500, 5000, [1, 3, 5, 5]),
        ("fixed", 1500, 5000, [1, 1, 1, 1]),
        ("fixed", 999, 5000, [0, 0, 0, 0]),
        ("exponential", 999, 60000, [0, 1, 3, 7]),
    ],
)
def test_back_off(store: WorkloadStore, backoff: str, initial_ms: int, greatest_ms: int, delays_s: list[int]) -> None:
    policy = RetryPolicy(9, backoff, initial_ms, greatest_ms, frozenset({"timeout"}))
    workload_id, now_s = admit(store, retry_policy=policy), 11
    for delay_s in delays_s:
        held = claim(store, workload_id, now_s)
        fail(store, fence(workload_id, held), "timeout", "x", None, now_s)
        assert record(store, workload_id).next_attempt_at == now_s + delay_s
        now_s += delay_s


def test_deadline_is_enforced_once_by_the_call_that_meets_it(store: WorkloadStore) -> None:
    workload_id = admit(store, timeouts=evolve(NO_TIMEOUTS, execution_ms=4001))
    held = fence(workload_id, claim(store, workload_id, 11))
    store.start(**held, now_s=12)
    assert store.enforce_deadlines(now_s=16) == []
    with pytest.raises(WorkloadError) as caught:
        complete(store, held, "r", 1, 17)
    assert caught.value.code == "WORKLOAD_TIMED_OUT"
    assert caught.value.details == {"deadline": "execution", "deadline_at": 17}
    workload = record(store, workload_id)
    assert (workload.state, workload.retry_count, workload.next_attempt_at) == ("READY", 1, 18)
    assert workload.result is None
    assert (workload.attempts[0].status, workload.attempts[0].ended_at) == ("TIMED_OUT", 17)
    assert str(workload.attempts[0].error).startswith("timeout: ")
    assert workload.execution_history[-2].evidence == {
        "deadline": "execution",
        "deadline_at": "17",
        "claim_id": held["claim_id"],
        "worker_id": "a",
    }
    assert store.enforce_deadlines(now_s=30) == []


def test_queue_deadline_counts_from_the_later_of_ready_and_next_attempt(store: WorkloadStore) -> None:
    later = admit(store, idempotency_key="later", timeouts=evolve(NO_TIMEOUTS, queue_ms=4000), not_before=100)
    both = admit(store, timeouts=evolve(NO_TIMEOUTS, queue_ms=4000, overall_ms=4000))
    with pytest.raises(WorkloadError) as caught:
        claim(store, both, 14)
    assert caught.value.details == {"deadline": "overall", "deadline_at": 14}
    assert record(store, both).attempts == ()
    assert store.enforce_deadlines(now_s=103) == []
    assert store.enforce_deadlines(now_s=104) == [later]
    assert record(store, later).execution_history[-1].evidence == {"decision": "deadline_not_retryable"}


def test_pass_finds_work_by_its_earliest_deadline(store: WorkloadStore) -> None:
    workload_id = admit(store, timeouts=evolve(NO_TIMEOUTS, claim_ms=3000, overall_ms=9000))
    claim(store, workload_id, 11)
    assert store.enforce_deadlines(now_s=13) == []
    assert store.enforce_deadlines(now_s=14) == [workload_id]
    assert record(store, workload_id).execution_history[-2].evidence["deadline"] == "claim"


def test_passes_change_what_is_due_in_id_order(store: WorkloadStore) -> None:
    ids = [
        admit(store, idempotency_key=str(number), timeouts=evolve(NO_TIMEOUTS, overall_ms=seconds * 1000))
        for number, seconds in enumerate([3, 1, 2, 9])
    ]
    assert store.enforce_deadlines(now_s=13) == sorted(ids[:3])
    leased = [admit(store, idempotency_key=f"leased {number}") for number in range(4)]
    for number, workload_id in enumerate(leased):
        claim(store, workload_id, 20 - number, lease_ms=1000)
    assert store.recover_expired(now_s=20) == sorted(leased[1:])


def test_recovery_is_bounded_by_the_budget(store: WorkloadStore) -> None:
    workload_id = admit(store)
    for number in (1, 2, 3):
        held = claim(store, workload_id, 100 * number, lease_ms=5000)
        assert store.recover_expired(now_s=held.expires_at - 1) == []
        assert store.recover_expired(now_s=held.expires_at) == [workload_id]
        workload = record(store, workload_id)
        lost, decision = workload.execution_history[-2:]
        assert lost.evidence == {
            "recovery_reason": "lease_expired",
            "attempts_used": str(number),
            "attempt_budget": "3",
            "claim_id": held.claim_id,
            "worker_id": "a",
            "lease_expired_at": str(held.expires_at),
            "attempt_id": workload.attempts[-1].attempt_id,
        }
        assert str(workload.attempts[-1].error).startswith("worker_lost: ")
    assert decision.evidence == {"decision": "attempt_budget_exhausted"}
    assert record(store, workload_id).state == "DEAD_LETTER"


def test_cancelled_running_work_knows_no_deadline_but_its_lease(store: WorkloadStore) -> None:
    workload_id = admit(store, timeouts=evolve(NO_TIMEOUTS, execution_ms=5000, overall_ms=6000))
    held = fence(workload_id, claim(store, workload_id, 11))
    store.start(**held, now_s=12)
    assert store.cancel(workload_id=workload_id, actor="operator", now_s=13) == "CANCELLATION_REQUESTED"
    assert store.cancel(workload_id=workload_id, actor="operator", now_s=13) == "CANCELLATION_REQUESTED"
    with refused("WORKLOAD_STATE_INVALID"):
        complete(store, held, "r", 1, 13)
    store.heartbeat(**held, extension_ms=3000, now_s=18)
    assert store.enforce_deadlines(now_s=20) == []
    assert store.recover_expired(now_s=20) == []
    assert store.recover_expired(now_s=21) == [workload_id]
    workload = record(store, workload_id)
    assert (workload.state, workload.attempts[-1].status) == ("CANCELLED", "WORKER_LOST")
    assert workload.execution_history[-1].evidence["lease_expired_at"] == "21"


def test_acknowledged_cancellation(store: WorkloadStore) -> None:
    workload_id = admit(store)
    held = fence(workload_id, claim(store, workload_id, 11))
    with refused("WORKLOAD_STATE_INVALID"):
        store.acknowledge_cancel(**held, now_s=12)
    store.cancel(workload_id=workload_id, actor="operator", now_s=12)
    assert store.acknowledge_cancel(**held, now_s=13) == "CANCELLED"
    workload = record(store, workload_id)
    assert workload.current_claim is None
    assert (workload.attempts[-1].status, workload.attempts[-1].ended_at) == ("CANCELLED", 13)
    assert workload.execution_history[-1].actor == "a"


def test_operator_rearms_as_often_as_the_policy_has_attempts(store: WorkloadStore) -> None:
    workload_id = admit(store, timeouts=evolve(NO_TIMEOUTS, overall_ms=10000))
    assert store.enforce_deadlines(now_s=20) == [workload_id]
    reason = "  " + "é" * 300
    for ordinal in (1, 2, 3):
        store.retry(workload_id=workload_id, actor="operator", reason=reason, now_s=25)
        assert record(store, workload_id).execution_history[-1].evidence == {
            "retry": "operator",
            "operator_retry": str(ordinal),
            "attempt_budget": str(3 + ordinal),
            "reason": reason[:256],
        }
        with refused("WORKLOAD_STATE_INVALID"):
            store.retry(workload_id=workload_id, actor="operator", reason=None, now_s=25)
        with refused("WORKLOAD_TIMED_OUT"):
            claim(store, workload_id, 25)
    with refused("WORKLOAD_RETRY_EXHAUSTED"):
        store.retry(workload_id=workload_id, actor="operator", reason=None, now_s=26)


def test_actor_timeout_of_queued_and_of_claimed_work(store: WorkloadStore) -> None:
    policy = evolve(POLICY, initial_delay_ms=2500, max_attempts=1)
    workload_id = admit(store, retry_policy=policy)
    assert store.time_out(workload_id=workload_id, actor="operator", now_s=12) == "READY"
    workload = record(store, workload_id)
    assert (workload.next_attempt_at, workload.retry_count, workload.attempts) == (14, 1, ())
    assert [(event.actor, event.evidence) for event in workload.execution_history[-2:]] == [
        ("operator", {}),
        ("operator", {}),
    ]
    claim(store, workload_id, 14)
    assert store.time_out(workload_id=workload_id, actor="operator", now_s=15) == "DEAD_LETTER"
    (attempt,) = record(store, workload_id).attempts
    assert (attempt.status, attempt.ended_at, attempt.error) == ("TIMED_OUT", 15, None)


def test_unknown_id(store: WorkloadStore) -> None:
    shown = {"workload_id": "nobody", "claim_id": "c", "worker_id": "a", "fencing_token": 1}
    assert store.get(workload_id="nobody") is None
    with refused("WORKLOAD_NOT_FOUND"):
        store.start(**shown, now_s=1)
    with refused("WORKLOAD_NOT_FOUND"):
        store.time_out(workload_id="nobody", actor="operator", now_s=1)


def test_instants_saturate_at_64_bits(store: WorkloadStore) -> None:
    greatest = 2**63 - 1
    workload_id = admit(store, timeouts=evolve(NO_TIMEOUTS, overall_ms=greatest), created_at=greatest - 5)
    held = claim(store, workload_id, greatest - 5, lease_ms=greatest)
    assert held.expires_at == greatest
    assert store.recover_expired(now_s=greatest) == [workload_id]


def test_list_holds_one_owner_by_id(store: WorkloadStore) -> None:
    ids = sorted(admit(store, idempotency_key=str(number)) for number in range(5))
    admit(store, tenant_id="u", authorization_snapshot=Grant(REQUESTER, "u", "app", "signed"))
    listed = store.list_workloads(tenant_id="t", application_id="app")
    assert [versioned.workload.workload_id for versioned in listed] == ids
