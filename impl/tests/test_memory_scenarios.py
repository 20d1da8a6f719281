"""The scenarios of the workload contract, as direct calls on the in-memory store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve, frozen

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Attempt,
    Claim,
    Dependency,
    Event,
    Grant,
    Json,
    RetryPolicy,
    Subject,
    Timeouts,
    Workload,
    WorkloadError,
)
from workstore.memory import WorkloadStore

AGENT = Subject(kind="agent", id="a1")
POLICY = RetryPolicy(
    max_attempts=3,
    backoff="fixed",
    initial_delay_ms=1000,
    max_delay_ms=60_000,
    retry_on=frozenset({"worker_failure", "timeout", "transient_connection"}),
)
NO_TIMEOUTS = Timeouts(queue_ms=None, claim_ms=None, execution_ms=None, heartbeat_ms=None, overall_ms=None)
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=AGENT,
    idempotency_key="one",
    definition_id="d",
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
    authorization_snapshot=Grant(subject=AGENT, tenant_id="t", application_id="app", signature="s"),
)


def by(agent: str, request: AdmissionRequest = REQUEST, **changes: Any) -> AdmissionRequest:
    """The request of another agent, with a grant to match."""
    subject = Subject(kind="agent", id=agent)
    grant = evolve(request.authorization_snapshot, subject=subject)
    return evolve(request, requested_by=subject, authorization_snapshot=grant, **changes)


def refused(call: Callable[[], object]) -> WorkloadError:
    with pytest.raises(WorkloadError) as caught:
        call()
    return caught.value


def code_of(call: Callable[[], object]) -> str:
    return str(refused(call).code)


@frozen
class Driven:
    """One admitted workload and short names for the calls on it; instants come last."""

    store: WorkloadStore
    workload_id: str

    @property
    def record(self) -> Workload:
        found = self.store.get(workload_id=self.workload_id)
        assert found is not None
        return found.workload

    @property
    def version(self) -> int | None:
        return self.store.snapshot()[self.workload_id]

    def event(self, state: str) -> Event:
        """The last event to this state."""
        return next(event for event in reversed(self.record.execution_history) if event.to_state == state)

    def attempt(self) -> Attempt:
        return self.record.attempts[-1]

    def claim(self, worker: str, at: int, lease_ms: int = 10_000) -> Claim:
        return self.store.claim(
            workload_id=self.workload_id,
            worker_id=worker,
            capabilities=("email:send",),
            lease_ms=lease_ms,
            now_s=at,
        )

    def fence(self, claim: Claim) -> dict[str, Any]:
        return {
            "workload_id": self.workload_id,
            "claim_id": claim.claim_id,
            "worker_id": claim.worker_id,
            "fencing_token": claim.fencing_token,
        }

    def start(self, claim: Claim, at: int) -> None:
        self.store.start(**self.fence(claim), now_s=at)

    def claim_and_start(self, worker: str, claim_at: int, start_at: int, lease_ms: int = 10_000) -> Claim:
        claim = self.claim(worker, claim_at, lease_ms)
        self.start(claim, start_at)
        return claim

    def heartbeat(self, claim: Claim, at: int, extension_ms: int = 10_000) -> Claim:
        return self.store.heartbeat(**self.fence(claim), extension_ms=extension_ms, now_s=at)

    def context(self, claim: Claim, at: int, *references: str) -> Any:
        return self.store.execution_context(**self.fence(claim), secret_references=references, now_s=at)

    def checkpoint(self, claim: Claim, state: Json, at: int) -> Any:
        return self.store.checkpoint(**self.fence(claim), state=state, now_s=at)

    def complete(self, claim: Claim, at: int, result_id: str = "r", output: Json = None) -> Any:
        return self.store.complete(
            **self.fence(claim), result_id=result_id, output=output, references=(), schema_version=1, now_s=at
        )

    def fail(self, claim: Claim, at: int, kind: str, error: str = "x", effect: str | None = None) -> str:
        return self.store.fail(**self.fence(claim), kind=kind, error=error, effect=effect, now_s=at)

    def retry(self, at: int, reason: str | None = None) -> None:
        self.store.retry(workload_id=self.workload_id, actor="operator", reason=reason, now_s=at)

    def time_out(self, at: int) -> str:
        return self.store.time_out(workload_id=self.workload_id, actor="actor", now_s=at)

    def cancel(self, at: int) -> str:
        return self.store.cancel(workload_id=self.workload_id, actor="actor", now_s=at)

    def acknowledge_cancel(self, claim: Claim, at: int) -> str:
        return self.store.acknowledge_cancel(**self.fence(claim), now_s=at)

    def expire(self, at: int) -> bool:
        """Run the deadline pass; whether it expired this workload."""
        return self.store.enforce_deadlines(now_s=at) == [self.workload_id]

    def recover(self, at: int) -> bool:
        return self.store.recover_expired(now_s=at) == [self.workload_id]


def drive(request: AdmissionRequest = REQUEST, store: WorkloadStore | None = None, **changes: Any) -> Driven:
    store = store or WorkloadStore()
    admitted = store.admit(request=evolve(request, **changes))
    assert admitted.created
    return Driven(store, admitted.workload.workload_id)


def with_policy(**changes: Any) -> Driven:
    return drive(retry_policy=evolve(POLICY, **changes))


def with_timeouts(policy: RetryPolicy = POLICY, **timeouts: int) -> Driven:
    return drive(retry_policy=policy, timeouts=evolve(NO_TIMEOUTS, **timeouts))


# --- admission


class TestAdmission:
    def test_record_of_an_admission(self) -> None:
        work = drive(not_before=50)
        record = work.record
        assert work.workload_id == "workload_a905c442ee731da96617b295"
        assert (record.contract_version, record.state, record.next_attempt_at) == (2, "READY", 50)
        assert record.execution_history == (
            Event(
                sequence=1,
                from_state="CREATED",
                to_state="READY",
                actor="a1",
                at=10,
                evidence={"not_before": "50"},
            ),
        )
        assert work.version == 1

    def test_defaults(self) -> None:
        record = drive(retry_policy=None).record
        assert record.retry_policy == evolve(POLICY, backoff="exponential")
        assert (record.timeouts, record.priority) == (NO_TIMEOUTS, 0)
        assert (record.dependencies, record.connection_scopes) == ((), frozenset())

    def test_scenario_1_replay_ignores_form_and_bystanders(self) -> None:
        first = Dependency(workload_id="w1", required_state="SUCCEEDED")
        second = Dependency(workload_id="w2", required_state="SUCCEEDED")
        request = evolve(REQUEST, input={"a": 1, "b": 2}, dependencies=(first, second))
        work = drive(request)
        again = work.store.admit(
            request=evolve(
                request,
                created_at=99,
                trigger="cron",
                session_id="z",
                input={"b": 2, "a": 1},
                dependencies=(second, first),
                timeouts=NO_TIMEOUTS,
                priority=0,
                connection_scopes=(),
            )
        )
        assert (again.workload, again.created) == (work.record, False)
        assert work.version == 1

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("definition_id", "other"),
            ("definition_revision", "r2"),
            ("environment", "staging"),
            ("input", {"id": 2}),
            ("input", {"id": 1.0}),
            ("input", {"id": True}),
            ("capability_snapshot", ("email:send", "sms:send")),
            ("connection_scopes", ("crm",)),
            ("priority", 5),
            ("retry_policy", evolve(POLICY, max_attempts=9)),
            ("retry_policy", evolve(POLICY, retry_on=frozenset({"timeout"}))),
            ("timeouts", evolve(NO_TIMEOUTS, execution_ms=60_000)),
            ("dependencies", (Dependency(workload_id="w", required_state="SUCCEEDED"),)),
            ("not_before", 5000),
        ],
    )
    def test_scenario_1_each_change_is_named(self, field: str, value: Any) -> None:
        work = drive()
        error = refused(lambda: work.store.admit(request=evolve(REQUEST, **{field: value})))
        assert (error.code, error.details) == ("IDEMPOTENCY_KEY_REUSED", {"fields": [field]})
        assert work.version == 1

    def test_scenario_2_fields_in_the_order_of_the_contract(self) -> None:
        work = drive()
        changed = evolve(
            REQUEST,
            not_before=5000,
            definition_id="z",
            timeouts=evolve(NO_TIMEOUTS, execution_ms=60_000),
        )
        error = refused(lambda: work.store.admit(request=changed))
        assert error.details == {"fields": ["definition_id", "timeouts", "not_before"]}
        assert len(work.store.snapshot()) == 1

    def test_scenario_3_layered_errors(self) -> None:
        store = drive().store
        wrong_grant = evolve(REQUEST.authorization_snapshot, subject=Subject(kind="agent", id="a2"))
        request = evolve(
            REQUEST,
            input={"a": "sk-x"},
            idempotency_key=" ",
            timeouts=evolve(NO_TIMEOUTS, queue_ms=0),
            authorization_snapshot=wrong_grant,
            priority=1,
        )
        seen = []
        repairs: list[dict[str, Any]] = [
            {},
            {"input": {"id": 1}},
            {"idempotency_key": "one"},
            {"timeouts": None},
            {"authorization_snapshot": REQUEST.authorization_snapshot},
        ]
        for repair in repairs:
            request = evolve(request, **repair)
            seen.append(code_of(partial(store.admit, request=request)))
        assert seen == [
            "WORKLOAD_SECRET_MATERIAL",
            "WORKLOAD_INVALID",
            "WORKLOAD_INVALID",
            "WORKLOAD_UNAUTHORIZED",
            "IDEMPOTENCY_KEY_REUSED",
        ]
        assert not store.admit(request=evolve(request, priority=0)).created

    @pytest.mark.parametrize(
        "grant_changes", [{"subject": Subject("user", "a1")}, {"tenant_id": "u"}, {"application_id": "other"}]
    )
    def test_grant_for_another(self, grant_changes: dict[str, Any]) -> None:
        grant = evolve(REQUEST.authorization_snapshot, **grant_changes)
        store = WorkloadStore()
        error = refused(lambda: store.admit(request=evolve(REQUEST, authorization_snapshot=grant)))
        assert (error.code, error.details) == ("WORKLOAD_UNAUTHORIZED", None)
        assert store.snapshot() == {}

    def test_scenario_4_scope(self) -> None:
        store = WorkloadStore()
        requests = [
            by("x:k1", idempotency_key="k2"),
            by("x", idempotency_key="k1:k2"),
            by("a1"),
            by("a2"),
            by("a1", idempotency_key=" one "),
        ]
        assert all(store.admit(request=request).created for request in requests)
        assert len(store.snapshot()) == 5

    def test_scenario_5_not_before_as_admitted(self) -> None:
        work = drive(not_before=50)
        assert code_of(lambda: work.claim("a", 49)) == "WORKLOAD_NOT_READY"
        assert work.fail(work.claim("a", 50), 51, "timeout") == "READY"
        assert work.record.next_attempt_at == 52
        assert not work.store.admit(request=evolve(REQUEST, not_before=50)).created
        for other in (52, None):
            changed = evolve(REQUEST, not_before=other)
            error = refused(partial(work.store.admit, request=changed))
            assert error.details == {"fields": ["not_before"]}

    def test_scenario_6_dependencies_are_a_multiset(self) -> None:
        first = Dependency(workload_id="w1", required_state="SUCCEEDED")
        second = Dependency(workload_id="w2", required_state="SUCCEEDED")
        work = drive(dependencies=(first, second))
        assert not work.store.admit(request=evolve(REQUEST, dependencies=(second, first))).created
        repeated = evolve(REQUEST, dependencies=(first, first, second))
        assert refused(lambda: work.store.admit(request=repeated)).details == {"fields": ["dependencies"]}

    @pytest.mark.parametrize("text", ["a BEGIN PRIVATE KEY", "sk-1", "fdb_live_"])
    def test_scenario_7_secrets(self, text: str) -> None:
        values: list[Json] = [{"a": text}, {"a": [{"b": text}]}, {text: 1}, text]
        for value in values:
            store = WorkloadStore()
            code = code_of(partial(store.admit, request=evolve(REQUEST, input=value)))
            assert (code, store.snapshot()) == ("WORKLOAD_SECRET_MATERIAL", {})

    @pytest.mark.parametrize("text", ["ask-sk-1", " sk-1", "Sk-1"])
    def test_scenario_7_texts_that_only_look_like_secrets(self, text: str) -> None:
        assert drive(input={"a": text}).record.input == {"a": text}

    def test_record_under_an_older_id_replays_for_its_requester(self) -> None:
        store = WorkloadStore()
        older = evolve(drive().record, workload_id="workload_older")
        store.inject(record=older, version=7)
        again = store.admit(request=REQUEST)
        assert (again.workload, again.created) == (older, False)
        assert store.admit(request=by("a2")).created

    def test_the_caller_cannot_edit_what_is_committed(self) -> None:
        given: dict[str, Json] = {"id": 1, "list": [1]}
        work = drive(input=given)
        given["id"] = 2
        for answer in (
            work.record,
            work.store.admit(request=evolve(REQUEST, input={"id": 1, "list": [1]})).workload,
        ):
            assert isinstance(answer.input, dict)
            answer.input["id"] = 3
            answer.execution_history[0].evidence["x"] = "y"  # type: ignore[index]
        assert work.record.input == {"id": 1, "list": [1]}
        assert work.record.execution_history[0].evidence == {}


# --- claim and budget


class TestClaim:
    def test_what_a_claim_changes(self) -> None:
        work = drive()
        claim = work.claim("a", 11, lease_ms=1001)
        assert (claim.fencing_token, claim.claimed_at, claim.last_heartbeat, claim.expires_at) == (
            1,
            11,
            11,
            13,
        )
        record = work.record
        assert (record.state, record.attempt_count, record.current_claim) == ("CLAIMED", 1, claim)
        assert work.event("CLAIMED") == Event(2, "READY", "CLAIMED", "a", 11, {})
        attempt = work.attempt()
        assert (attempt.status, attempt.claim_id, attempt.started_at) == ("CLAIMED", claim.claim_id, None)
        assert work.version == 2

    def test_scenario_10_backoff(self) -> None:
        work = with_policy(initial_delay_ms=2000)
        work.fail(work.claim("a", 11), 12, "timeout")
        assert code_of(lambda: work.claim("b", 13)) == "WORKLOAD_NOT_READY"
        assert work.claim("b", 14).fencing_token == 2

    def test_scenario_11_exhausted_work_is_buried_by_any_claimer(self) -> None:
        work = drive(not_before=500)
        work.store.inject(record=evolve(work.record, attempt_count=3), version=1)
        error = refused(
            lambda: work.store.claim(
                workload_id=work.workload_id, worker_id="a", capabilities=(), lease_ms=1, now_s=20
            )
        )
        assert (error.code, error.details) == ("WORKLOAD_ATTEMPTS_EXHAUSTED", None)
        event = work.event("DEAD_LETTER")
        assert (event.actor, event.evidence) == (
            "authority.claim",
            {"reason": "attempt_budget_exhausted", "attempts_used": "3", "attempt_budget": "3"},
        )
        assert work.version == 2
        assert code_of(lambda: work.claim("a", 21)) == "WORKLOAD_NOT_READY"

    def test_scenario_13_no_attempts_at_all(self) -> None:
        work = with_policy(max_attempts=0)
        assert code_of(lambda: work.claim("a", 11)) == "WORKLOAD_ATTEMPTS_EXHAUSTED"
        assert work.record.attempts == ()
        assert code_of(lambda: work.retry(12)) == "WORKLOAD_RETRY_EXHAUSTED"

    def test_capabilities(self) -> None:
        work = drive(capability_snapshot=("a", "b"))
        arguments: dict[str, Any] = {
            "workload_id": work.workload_id,
            "worker_id": "w",
            "lease_ms": 1,
            "now_s": 11,
        }
        assert (
            code_of(lambda: work.store.claim(capabilities=["a"], **arguments))
            == "WORKLOAD_CAPABILITY_MISSING"
        )
        assert work.version == 1
        assert work.store.claim(capabilities=["c", "b", "a"], **arguments).fencing_token == 1

    def test_dependencies(self) -> None:
        store = WorkloadStore()
        other = drive(by("a2"), store)
        needs = Dependency(workload_id=other.workload_id, required_state="SUCCEEDED")
        work = drive(store=store, dependencies=(needs,))
        assert code_of(lambda: work.claim("a", 11)) == "WORKLOAD_DEPENDENCY_PENDING"
        other.complete(other.claim_and_start("b", 11, 11), 12)
        assert work.claim("a", 12).fencing_token == 1

    def test_dependency_of_another_application_never_counts(self) -> None:
        grant = evolve(REQUEST.authorization_snapshot, application_id="else")
        store = WorkloadStore()
        other = drive(store=store, application_id="else", authorization_snapshot=grant)
        work = drive(
            store=store, dependencies=(Dependency(workload_id=other.workload_id, required_state="READY"),)
        )
        assert code_of(lambda: work.claim("a", 11)) == "WORKLOAD_DEPENDENCY_PENDING"

    def test_unknown_work(self) -> None:
        work = Driven(WorkloadStore(), "workload_none")
        fence = Claim("c", "w", 1, 0, 0, 0)
        calls: list[Callable[[], object]] = [
            lambda: work.claim("a", 11),
            lambda: work.start(fence, 11),
            lambda: work.heartbeat(fence, 11),
            lambda: work.context(fence, 11),
            lambda: work.checkpoint(fence, None, 11),
            lambda: work.complete(fence, 11),
            lambda: work.fail(fence, 11, "timeout"),
            lambda: work.time_out(11),
            lambda: work.cancel(11),
            lambda: work.acknowledge_cancel(fence, 11),
            lambda: work.retry(11),
        ]
        assert {code_of(call) for call in calls} == {"WORKLOAD_NOT_FOUND"}
        assert work.store.get(workload_id="workload_none") is None


# --- fence


class TestFence:
    def test_scenario_15_lost_worker(self) -> None:
        work = drive()
        lost = work.claim("a", 11, lease_ms=1000)
        assert not work.recover(11)
        assert work.recover(12)
        assert code_of(lambda: work.heartbeat(lost, 12)) == "WORKLOAD_CLAIM_INVALID"
        held = work.claim("b", 13)
        assert code_of(lambda: work.heartbeat(lost, 13)) == "WORKLOAD_STALE_FENCE"
        assert code_of(lambda: work.context(lost, 13)) == "WORKLOAD_STALE_FENCE"
        for wrong in (evolve(held, worker_id="z"), evolve(held, claim_id="z")):
            assert code_of(partial(work.heartbeat, wrong, 13)) == "WORKLOAD_CLAIM_INVALID"
        assert code_of(lambda: work.heartbeat(evolve(held, fencing_token=3), 13)) == "WORKLOAD_STALE_FENCE"

    def test_scenario_16_lapsed_lease(self) -> None:
        work = drive()
        claim = work.claim("a", 11, lease_ms=1000)
        calls: list[Callable[[], object]] = [
            lambda: work.start(claim, 12),
            lambda: work.heartbeat(claim, 12),
            lambda: work.checkpoint(claim, None, 12),
            lambda: work.complete(claim, 12),
            lambda: work.fail(claim, 12, "timeout"),
            lambda: work.context(claim, 12),
        ]
        assert {code_of(call) for call in calls} == {"WORKLOAD_CLAIM_INVALID"}
        assert (work.version, work.record.state) == (2, "CLAIMED")
        assert code_of(lambda: work.claim("b", 12)) == "WORKLOAD_NOT_READY"
        work.start(claim, 11)

    def test_scenario_17_second_start(self) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        assert code_of(lambda: work.start(claim, 13)) == "WORKLOAD_STATE_INVALID"
        assert (work.attempt().status, work.attempt().started_at, work.version) == ("RUNNING", 12, 3)

    def test_scenario_18_resume(self) -> None:
        work = drive()
        lost = work.claim_and_start("a", 11, 11, lease_ms=1000)
        work.checkpoint(lost, {"step": "reserve"}, 11)
        first = work.attempt().attempt_id
        assert work.recover(13)
        held = work.claim("b", 13)
        version = work.version
        context = work.context(held, 13, "smtp")
        assert context.input == {"id": 1}
        assert [(entry.attempt_id, entry.state) for entry in context.checkpoints] == [
            (first, {"step": "reserve"})
        ]
        assert (context.secret_references, context.fencing_token, context.expires_at) == (("smtp",), 2, 23)
        assert context.attempt_id == work.attempt().attempt_id != first
        assert work.version == version

    def test_secret_references(self) -> None:
        work = drive()
        claim = work.claim("a", 11)
        assert code_of(lambda: work.context(claim, 11, "")) == "WORKLOAD_INVALID"
        assert code_of(lambda: work.context(claim, 11, "sk-1")) == "WORKLOAD_SECRET_MATERIAL"
        assert code_of(lambda: work.context(evolve(claim, fencing_token=9), 11, "")) == "WORKLOAD_STALE_FENCE"

    def test_heartbeat_moves_the_lease_alone(self) -> None:
        work = drive()
        claim = work.claim("a", 11)
        renewed = work.heartbeat(claim, 12, extension_ms=1000)
        assert renewed == evolve(claim, last_heartbeat=12, expires_at=13) == work.record.current_claim
        assert (work.version, len(work.record.execution_history)) == (3, 2)

    def test_checkpoints_need_a_started_attempt(self) -> None:
        work = drive()
        claim = work.claim("a", 11)
        assert code_of(lambda: work.checkpoint(claim, 1, 11)) == "WORKLOAD_STATE_INVALID"
        assert code_of(lambda: work.checkpoint(claim, {"x": "sk-1"}, 11)) == "WORKLOAD_SECRET_MATERIAL"
        work.start(claim, 11)
        work.checkpoint(claim, 1, 12)
        work.checkpoint(claim, 2, 13)
        assert [entry.state for entry in work.record.checkpoints] == [1, 2]
        last = work.record.execution_history[-1]
        assert (last.from_state, last.to_state, last.actor) == ("CHECKPOINTED", "CHECKPOINTED", "a")


# --- complete


class TestComplete:
    def test_scenario_19_replay_and_conflict(self) -> None:
        work = drive()
        lost = work.claim_and_start("a", 11, 11, lease_ms=1000)
        assert work.recover(13)
        held = work.claim_and_start("b", 13, 13)
        result = work.complete(held, 14, "r1", {"sent": 1})
        version = work.version
        assert (result.produced_by, result.provenance) == (
            "b",
            {"claim_id": held.claim_id, "fencing_token": "2"},
        )
        assert work.complete(held, 15, "r1", {"sent": 1}) == result
        assert work.complete(held, 500, "r1", {"sent": 1}) == result
        assert code_of(lambda: work.complete(held, 15, "r1", {"sent": 2})) == "WORKLOAD_RESULT_CONFLICT"
        assert code_of(lambda: work.complete(lost, 15, "r1", {"sent": 1})) == "WORKLOAD_RESULT_CONFLICT"
        assert code_of(lambda: work.complete(held, 15, "r2", {"sent": 1})) == "WORKLOAD_CLAIM_INVALID"
        assert work.version == version
        assert (work.record.state, work.record.current_claim, work.attempt().status) == (
            "SUCCEEDED",
            None,
            "SUCCEEDED",
        )

    def test_result_ids_are_global_and_come_before_deadlines(self) -> None:
        store = WorkloadStore()
        other = drive(by("a2"), store)
        other.complete(other.claim_and_start("b", 11, 11), 12, "r")
        work = drive(store=store, timeouts=evolve(NO_TIMEOUTS, execution_ms=1000))
        claim = work.claim_and_start("a", 11, 11)
        assert code_of(lambda: work.complete(claim, 100, "r")) == "WORKLOAD_RESULT_DUPLICATE"
        nobody = Driven(store, "workload_none")
        assert code_of(lambda: nobody.complete(claim, 12, "r")) == "WORKLOAD_RESULT_DUPLICATE"
        assert work.record.state == "RUNNING"

    def test_scenario_21_execution_deadline(self) -> None:
        work = with_timeouts(execution_ms=5000)
        claim = work.claim_and_start("a", 11, 12)
        work.heartbeat(claim, 16)
        assert not work.expire(16)
        error = refused(lambda: work.complete(claim, 17))
        assert (error.code, error.details) == (
            "WORKLOAD_TIMED_OUT",
            {"deadline": "execution", "deadline_at": 17},
        )
        record = work.record
        assert (record.state, record.next_attempt_at, record.retry_count, record.result) == (
            "READY",
            18,
            1,
            None,
        )
        assert (work.attempt().status, work.attempt().ended_at) == ("TIMED_OUT", 17)
        assert (work.attempt().error or "").startswith("timeout: ")
        assert "execution" in (work.attempt().error or "")
        timed_out = work.event("TIMED_OUT")
        assert (timed_out.actor, timed_out.evidence) == (
            "authority.deadline",
            {"deadline": "execution", "deadline_at": "17", "claim_id": claim.claim_id, "worker_id": "a"},
        )
        assert not work.expire(30)

    def test_scenario_21_one_second_earlier(self) -> None:
        work = with_timeouts(execution_ms=5000)
        work.complete(work.claim_and_start("a", 11, 12), 16)
        assert work.record.state == "SUCCEEDED"

    def test_scenario_22_one_outcome(self) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        work.complete(claim, 13)
        assert code_of(lambda: work.fail(claim, 13, "timeout")) == "WORKLOAD_CLAIM_INVALID"
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        work.fail(claim, 13, "timeout")
        assert code_of(lambda: work.complete(claim, 13)) == "WORKLOAD_CLAIM_INVALID"
        assert (work.record.state, len(work.record.attempts)) == ("READY", 1)

    def test_claimed_work_cannot_be_completed(self) -> None:
        work = drive()
        claim = work.claim("a", 11)
        assert code_of(lambda: work.complete(claim, 11)) == "WORKLOAD_STATE_INVALID"
        assert code_of(lambda: work.complete(claim, 11, output=["sk-1"])) == "WORKLOAD_SECRET_MATERIAL"


# --- failure reports


class TestFail:
    def test_scenario_23_replay(self) -> None:
        work = drive()
        claim = work.claim("a", 11)
        assert work.fail(claim, 12, "transient_connection", "no route") == "READY"
        event = work.event("FAILED")
        assert (event.actor, event.evidence) == (
            "a",
            {
                "failure_kind": "transient_connection",
                "attempt_id": work.attempt().attempt_id,
                "effect": "none",
            },
        )
        assert work.record.last_failure == "transient_connection: no route"
        version = work.version
        assert work.fail(claim, 13, "transient_connection", "no route") == "READY"
        assert work.fail(claim, 13, "transient_connection", "no route", "none") == "READY"
        assert work.version == version
        differing = (("transient_connection", "no route", "unknown"), ("timeout", "other", None))
        for kind, text, effect in differing:
            assert code_of(partial(work.fail, claim, 13, kind, text, effect)) == "WORKLOAD_CLAIM_INVALID"
        work.claim("b", 14)
        assert code_of(lambda: work.fail(claim, 15, "timeout", "late")) == "WORKLOAD_STALE_FENCE"
        # The replay tells the present state, not that of then.
        assert work.fail(claim, 15, "transient_connection", "no route") == "CLAIMED"

    def test_scenario_25_effect_of_started_work_stays_absent(self) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        work.fail(claim, 13, "timeout")
        assert "effect" not in work.event("FAILED").evidence
        assert work.fail(claim, 14, "timeout") == "READY"
        assert code_of(lambda: work.fail(claim, 14, "timeout", effect="none")) == "WORKLOAD_CLAIM_INVALID"

    @pytest.mark.parametrize(
        ("max_attempts", "retry_on", "kind", "effect", "decision"),
        [
            (3, POLICY.retry_on, "validation", "none", "failure_kind_not_retryable"),
            (3, POLICY.retry_on, "validation", "unknown", "retry"),
            (3, {"timeout", "transient_connection"}, "timeout", "unknown", "effect_unknown_not_retryable"),
            (1, POLICY.retry_on, "validation", None, "failure_kind_not_retryable"),
            (1, POLICY.retry_on, "validation", "unknown", "attempt_budget_exhausted"),
            (1, POLICY.retry_on, "timeout", None, "attempt_budget_exhausted"),
            (2, POLICY.retry_on, "timeout", None, "retry"),
        ],
    )
    def test_scenarios_26_to_28_decisions(
        self, max_attempts: int, retry_on: set[str], kind: str, effect: str | None, decision: str
    ) -> None:
        work = with_policy(max_attempts=max_attempts, retry_on=frozenset(retry_on))
        state = work.fail(work.claim_and_start("a", 11, 12), 13, kind, effect=effect)
        assert state == ("READY" if decision == "retry" else "DEAD_LETTER")
        event = work.record.execution_history[-1]
        assert (event.actor, event.evidence) == ("authority.retry", {"decision": decision})

    def test_scenario_26_unknown_effect_word_comes_before_the_claim(self) -> None:
        work = drive()
        nonsense = Claim("c", "w", 9, 0, 0, 0)
        assert code_of(lambda: work.fail(nonsense, 12, "timeout", effect="maybe")) == "WORKLOAD_INVALID"
        assert (
            code_of(lambda: work.fail(nonsense, 12, "timeout", "sk-1", "maybe")) == "WORKLOAD_SECRET_MATERIAL"
        )

    def test_scenario_29_budget(self) -> None:
        work = with_policy(max_attempts=2, initial_delay_ms=0)
        assert work.fail(work.claim("a", 11), 12, "timeout") == "READY"
        assert work.fail(work.claim("a", 12), 12, "timeout") == "DEAD_LETTER"
        assert work.record.execution_history[-1].evidence == {"decision": "attempt_budget_exhausted"}
        assert work.record.retry_count == 1

    def test_scenario_31_report_after_the_deadline_is_not_recorded(self) -> None:
        work = with_timeouts(execution_ms=5000)
        claim = work.claim_and_start("a", 11, 12)
        assert code_of(lambda: work.fail(claim, 17, "validation")) == "WORKLOAD_TIMED_OUT"
        assert (work.record.state, work.record.last_failure) == ("READY", None)
        assert code_of(lambda: work.fail(claim, 17, "validation")) == "WORKLOAD_CLAIM_INVALID"

    @pytest.mark.parametrize(
        ("backoff", "initial_ms", "cap_ms", "delays"),
        [
            ("exponential", 1500, 5000, [1, 3, 5, 5]),
            ("fixed", 1500, 60_000, [1, 1, 1, 1]),
            ("fixed", 1999, 60_000, [1, 1, 1, 1]),
            ("fixed", 999, 60_000, [0, 0, 0, 0]),
            ("exponential", 999, 60_000, [0, 1, 3, 7]),
        ],
    )
    def test_scenario_32_backoff(self, backoff: str, initial_ms: int, cap_ms: int, delays: list[int]) -> None:
        work = with_policy(max_attempts=9, backoff=backoff, initial_delay_ms=initial_ms, max_delay_ms=cap_ms)
        seen = []
        for at in (100, 200, 300, 400):
            work.fail(work.claim("a", at), at, "timeout")
            seen.append((work.record.next_attempt_at or 0) - at)
        assert seen == delays

    def test_backoff_saturates(self) -> None:
        work = with_policy(max_attempts=9, backoff="exponential", max_delay_ms=2**63 - 1)
        work.store.inject(record=evolve(work.record, retry_count=10**9), version=1)
        work.fail(work.claim("a", 11), 12, "timeout")
        assert work.record.next_attempt_at == 12 + (2**63 - 1) // 1000

    def test_cancelling_work_takes_no_report(self) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        work.cancel(13)
        calls: list[Callable[[], object]] = [
            lambda: work.fail(claim, 13, "timeout"),
            lambda: work.complete(claim, 13),
            lambda: work.checkpoint(claim, 1, 13),
            lambda: work.start(claim, 13),
            lambda: work.time_out(13),
        ]
        assert {code_of(call) for call in calls} == {"WORKLOAD_STATE_INVALID"}


# --- deadlines


class TestDeadlines:
    @pytest.mark.parametrize(("timeout_ms", "passed_at"), [(1, 13), (4000, 16), (4001, 17)])
    def test_scenario_34_rounding(self, timeout_ms: int, passed_at: int) -> None:
        work = with_timeouts(execution_ms=timeout_ms)
        work.claim_and_start("a", 11, 12)
        assert not work.expire(passed_at - 1)
        assert work.expire(passed_at)

    def test_scenario_34_checkpoint_moves_no_deadline(self) -> None:
        work = with_timeouts(execution_ms=5000)
        work.checkpoint(work.claim_and_start("a", 11, 12), 1, 16)
        assert work.expire(17)

    def test_scenario_36_heartbeat(self) -> None:
        work = with_timeouts(heartbeat_ms=3000)
        claim = work.claim_and_start("a", 11, 12)
        work.heartbeat(claim, 13)
        assert not work.expire(15)
        assert work.expire(16)
        assert code_of(lambda: work.heartbeat(claim, 16)) == "WORKLOAD_CLAIM_INVALID"
        work = with_timeouts(heartbeat_ms=3000)
        work.claim_and_start("a", 11, 13)
        assert work.expire(14)

    def test_scenario_38_queue(self) -> None:
        work = with_timeouts(queue_ms=4000)
        error = refused(lambda: work.claim("a", 14))
        assert (error.code, error.details) == ("WORKLOAD_TIMED_OUT", {"deadline": "queue", "deadline_at": 14})
        assert (work.record.state, work.record.attempts) == ("DEAD_LETTER", ())
        assert work.record.execution_history[-1].evidence == {"decision": "deadline_not_retryable"}

    @pytest.mark.parametrize(("not_before", "passed_at"), [(100, 104), (5, 14)])
    def test_scenario_38_queue_time_starts_when_the_work_is_due(
        self, not_before: int, passed_at: int
    ) -> None:
        work = drive(not_before=not_before, timeouts=evolve(NO_TIMEOUTS, queue_ms=4000))
        assert not work.expire(passed_at - 1)
        assert work.expire(passed_at)

    def test_scenario_38_back_off_is_not_queueing(self) -> None:
        work = with_timeouts(evolve(POLICY, initial_delay_ms=3000), queue_ms=4000)
        work.fail(work.claim("a", 11), 12, "timeout")
        error = refused(lambda: work.claim("a", 19))
        assert error.details == {"deadline": "queue", "deadline_at": 19}
        assert work.attempt().status == "FAILED"
        assert work.event("TIMED_OUT").evidence == {"deadline": "queue", "deadline_at": "19"}

    def test_scenario_38_recovery_restarts_the_queue_deadline(self) -> None:
        work = with_timeouts(queue_ms=4000)
        work.claim("a", 11, lease_ms=5000)
        assert work.recover(20)
        assert not work.expire(23)
        assert work.expire(24)

    def test_scenario_38_overall_comes_first(self) -> None:
        work = with_timeouts(queue_ms=4000, overall_ms=4000)
        assert refused(lambda: work.claim("a", 14)).details == {"deadline": "overall", "deadline_at": 14}

    def test_scenario_40_whichever_call_comes_first_decides(self) -> None:
        work = with_timeouts(execution_ms=4000)
        claim = work.claim_and_start("a", 11, 12, lease_ms=5000)
        bogus = Claim("c", "w", 9, 0, 0, 0)
        assert code_of(lambda: work.heartbeat(bogus, 15)) == "WORKLOAD_STALE_FENCE"
        assert work.version == 3
        assert code_of(lambda: work.heartbeat(bogus, 16)) == "WORKLOAD_TIMED_OUT"
        assert not work.recover(16)
        work = with_timeouts(execution_ms=4000)
        claim = work.claim_and_start("a", 11, 12, lease_ms=5000)
        assert work.recover(16)
        assert work.attempt().status == "WORKER_LOST"
        assert not work.expire(16)
        assert code_of(lambda: work.heartbeat(claim, 16)) == "WORKLOAD_CLAIM_INVALID"

    def test_scenario_42_decisions(self) -> None:
        work = with_timeouts(evolve(POLICY, retry_on=frozenset({"worker_failure"})), claim_ms=2000)
        claim = work.claim("a", 11)
        assert code_of(lambda: work.start(claim, 13)) == "WORKLOAD_TIMED_OUT"
        assert work.record.execution_history[-1].evidence == {"decision": "timeout_not_retryable"}
        work = with_timeouts(evolve(POLICY, max_attempts=1), execution_ms=1000)
        work.claim_and_start("a", 11, 12)
        assert work.expire(13)
        assert work.record.execution_history[-1].evidence == {"decision": "attempt_budget_exhausted"}

    def test_scenario_43_version_1_records_have_no_deadlines(self) -> None:
        work = with_timeouts(queue_ms=1000)
        work.store.inject(record=evolve(work.record, contract_version=1), version=1)
        assert not work.expire(1_000_000)
        for at in (100, 200, 300):
            work.claim("a", at, lease_ms=1000)
            assert work.recover(at + 1)
        assert work.record.execution_history[-1].evidence == {"decision": "attempt_budget_exhausted"}

    def test_deadline_retry_waits_the_initial_delay_uncapped(self) -> None:
        policy = evolve(
            POLICY, backoff="exponential", initial_delay_ms=9000, max_delay_ms=1000, max_attempts=9
        )
        work = with_timeouts(policy, claim_ms=1000)
        for at in (100, 200):
            work.claim("a", at)
            assert work.expire(at + 1)
            assert work.record.next_attempt_at == at + 10
        assert work.record.retry_count == 2


# --- recovery


class TestRecovery:
    def test_scenario_44_bounded(self) -> None:
        work = drive()
        for n in (1, 2, 3):
            claim = work.claim("a", 100 * n)
            attempt = work.attempt()
            assert not work.recover(claim.expires_at - 1)
            assert work.recover(claim.expires_at)
            event = work.event("RECOVERING")
            assert (event.actor, event.evidence) == (
                "authority.recovery",
                {
                    "recovery_reason": "lease_expired",
                    "attempts_used": str(n),
                    "attempt_budget": "3",
                    "claim_id": claim.claim_id,
                    "worker_id": "a",
                    "lease_expired_at": str(claim.expires_at),
                    "attempt_id": attempt.attempt_id,
                },
            )
            decision = "retry" if n < 3 else "attempt_budget_exhausted"
            assert work.record.execution_history[-1].evidence == {"decision": decision}
            assert (work.record.retry_count, work.record.next_attempt_at) == (0, None)
        assert {attempt.status for attempt in work.record.attempts} == {"WORKER_LOST"}
        assert (work.attempt().error or "").startswith("worker_lost: ")
        assert code_of(lambda: work.claim("a", 1000)) == "WORKLOAD_NOT_READY"

    def test_scenario_45_policy_before_budget(self) -> None:
        work = with_policy(retry_on=frozenset({"timeout"}), max_attempts=1)
        work.claim("a", 11)
        assert work.recover(21)
        assert work.record.execution_history[-1].evidence == {"decision": "worker_failure_not_retryable"}

    def test_scenario_46_loss_while_cancelling(self) -> None:
        work = with_timeouts(execution_ms=5000, overall_ms=6000)
        claim = work.claim_and_start("a", 11, 12)
        assert work.cancel(13) == "CANCELLATION_REQUESTED"
        work.heartbeat(claim, 18, 3000)
        assert not work.expire(20)
        assert not work.recover(20)
        assert work.recover(21)
        last = work.record.execution_history[-1]
        assert (last.to_state, last.actor, last.evidence["lease_expired_at"]) == (
            "CANCELLED",
            "authority.recovery",
            "21",
        )
        assert "decision" not in last.evidence
        assert work.attempt().status == "WORKER_LOST"

    def test_passes_answer_in_the_order_of_ids(self) -> None:
        store = WorkloadStore()
        works = [drive(by(agent), store) for agent in ("a1", "a2", "a3", "a4", "a5")]
        for work in works:
            work.claim("w", 11)
        assert store.recover_expired(now_s=21) == sorted(work.workload_id for work in works)


# --- cancellation, actor timeout, operator


class TestInterventions:
    def test_cancel_of_resting_work(self) -> None:
        work = drive()
        assert work.cancel(11) == "CANCELLED"
        version = work.version
        assert work.cancel(12) == "CANCELLED"
        assert work.version == version
        work = with_policy(retry_on=frozenset())
        work.fail(work.claim("a", 11), 12, "x")
        assert work.cancel(13) == "CANCELLED"
        work = drive()
        work.complete(work.claim_and_start("a", 11, 11), 12)
        assert code_of(lambda: work.cancel(13)) == "WORKLOAD_STATE_INVALID"

    def test_acknowledged_cancellation(self) -> None:
        work = drive()
        claim = work.claim("a", 11)
        acknowledge = partial(work.acknowledge_cancel, claim)
        assert code_of(lambda: acknowledge(11)) == "WORKLOAD_STATE_INVALID"
        assert work.cancel(12) == "CANCELLATION_REQUESTED"
        assert work.record.current_claim == claim
        version = work.version
        assert work.cancel(12) == "CANCELLATION_REQUESTED"
        assert work.version == version
        assert code_of(lambda: acknowledge(21)) == "WORKLOAD_CLAIM_INVALID"
        assert acknowledge(13) == "CANCELLED"
        assert (work.attempt().status, work.attempt().ended_at) == ("CANCELLED", 13)
        assert work.record.current_claim is None
        assert code_of(lambda: acknowledge(13)) == "WORKLOAD_CLAIM_INVALID"

    def test_scenario_47_three_rearms(self) -> None:
        work = drive()
        for at in (100, 200, 300):
            work.claim("a", at)
            work.recover(at + 10)
        for n in (1, 2, 3):
            work.retry(1000 * n, "please")
            event = work.record.execution_history[-1]
            assert (event.actor, event.evidence) == (
                "operator",
                {
                    "retry": "operator",
                    "operator_retry": str(n),
                    "attempt_budget": str(3 + n),
                    "reason": "please",
                },
            )
            assert work.record.next_attempt_at == 1000 * n
            work.claim("a", 1000 * n)
            work.recover(1000 * n + 10)
            assert (work.record.state, work.record.attempt_count) == ("DEAD_LETTER", 3 + n)
        assert code_of(lambda: work.retry(9000)) == "WORKLOAD_RETRY_EXHAUSTED"

    def test_scenario_48_rearm_past_the_overall_deadline_is_wasted(self) -> None:
        work = with_timeouts(overall_ms=10_000)
        assert work.expire(20)
        for _ in range(3):
            work.retry(25)
            assert refused(lambda: work.claim("a", 25)).details == {"deadline": "overall", "deadline_at": 20}
        assert code_of(lambda: work.retry(25)) == "WORKLOAD_RETRY_EXHAUSTED"
        assert work.record.attempt_count == 0

    def test_scenario_50_reasons(self) -> None:
        work = with_policy(max_attempts=1)
        work.claim("a", 11)
        work.recover(21)
        work.retry(22, "   ")
        assert "reason" not in work.record.execution_history[-1].evidence
        assert code_of(lambda: work.retry(23)) == "WORKLOAD_STATE_INVALID"
        work = drive(timeouts=evolve(NO_TIMEOUTS, overall_ms=1))
        work.expire(20)
        work.retry(21, "  " + "é" * 300)
        assert work.record.execution_history[-1].evidence["reason"] == "  " + "é" * 254

    def test_scenario_51_actor_timeout(self) -> None:
        work = with_policy(initial_delay_ms=2500)
        assert work.time_out(12) == "READY"
        record = work.record
        assert (record.next_attempt_at, record.retry_count, record.attempts) == (14, 1, ())
        assert [(event.to_state, event.actor, event.evidence) for event in record.execution_history[1:]] == [
            ("TIMED_OUT", "actor", {}),
            ("READY", "actor", {}),
        ]
        work.fail(work.claim("a", 14), 15, "timeout")
        failed = work.attempt()
        work.time_out(20)
        assert work.attempt() == failed

    def test_scenario_51_actor_timeout_of_the_last_attempt(self) -> None:
        work = with_policy(max_attempts=1)
        work.claim("a", 11)
        assert work.time_out(12) == "DEAD_LETTER"
        assert (work.attempt().status, work.attempt().ended_at, work.attempt().error) == (
            "TIMED_OUT",
            12,
            None,
        )
        assert work.record.current_claim is None


# --- the ends of 64 bits


def test_sums_saturate() -> None:
    most = 2**63 - 1
    work = drive(created_at=most - 1, timeouts=evolve(NO_TIMEOUTS, overall_ms=most))
    assert work.claim("a", most - 1, lease_ms=most).expires_at == most
    assert work.expire(most)


def test_row_without_a_version() -> None:
    work = drive()
    work.store.inject(record=work.record, version=None)
    assert work.version is None
    found = work.store.get(workload_id=work.workload_id)
    assert found is not None
    assert found.version == 1
    work.claim("a", 11)
    assert work.version == 2
