"""Work in the hands of a worker before its outcome: claim, fence, heartbeat, context, checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import Claim, Dependency, Event

NOBODY = Claim("c", "w", 1, 0, 0, 0)


class TestClaim:
    def test_what_a_claim_changes(self, drive: Any) -> None:
        work = drive()
        claim = work.claim("a", 11, lease_ms=1001)
        assert (claim.worker_id, claim.fencing_token) == ("a", 1)
        assert (claim.claimed_at, claim.last_heartbeat, claim.expires_at) == (11, 11, 13)
        record = work.record
        assert (record.state, record.attempt_count, record.current_claim) == ("CLAIMED", 1, claim)
        assert work.event("CLAIMED") == Event(2, "READY", "CLAIMED", "a", 11, {})
        attempt = work.attempt
        assert (attempt.status, attempt.claim_id, attempt.started_at) == ("CLAIMED", claim.claim_id, None)
        assert work.version == 2

    def test_states_are_plain_texts(self, drive: Any) -> None:
        work = drive()
        work.complete(work.claim_and_start("a", 11, 11), 12)
        record = work.record
        words = [record.state, work.attempt.status]
        words += [word for event in record.execution_history for word in (event.from_state, event.to_state)]
        assert {type(word) for word in words} == {str}
        second = drive(idempotency_key="two")
        held = second.claim("a", 11)
        assert type(second.attempt.status) is str
        second.start(held, 11)
        assert type(second.attempt.status) is str
        assert type(second.cancel(12)) is str

    def test_scenario_10_backoff(self, drive: Any, code_of: Any) -> None:
        work = drive(retry_policy={"initial_delay_ms": 2000})
        work.fail(work.claim("a", 11), 12, "timeout")
        assert code_of(work.claim, "b", 13) == "WORKLOAD_NOT_READY"
        assert work.claim("b", 14).fencing_token == 2

    def test_scenario_11_exhausted_work_is_buried_by_any_claimer(self, drive: Any, code_of: Any, refused: Any) -> None:
        work = drive(not_before=500)
        work.inject(attempt_count=3)
        error = refused(work.claim, "a", 20, capabilities=())
        assert (error.code, error.details) == ("WORKLOAD_ATTEMPTS_EXHAUSTED", None)
        event = work.record.execution_history[-1]
        assert (event.to_state, event.actor) == ("DEAD_LETTER", "authority.claim")
        assert event.evidence == {"reason": "attempt_budget_exhausted", "attempts_used": "3", "attempt_budget": "3"}
        assert work.version == 2
        assert code_of(work.claim, "a", 21) == "WORKLOAD_NOT_READY"

    def test_scenario_13_no_attempts_at_all(self, drive: Any, code_of: Any) -> None:
        work = drive(retry_policy={"max_attempts": 0})
        assert code_of(work.claim, "a", 11, capabilities=[]) == "WORKLOAD_ATTEMPTS_EXHAUSTED"
        evidence = {"reason": "attempt_budget_exhausted", "attempts_used": "0", "attempt_budget": "0"}
        assert work.event("DEAD_LETTER").evidence == evidence
        assert work.record.attempts == ()
        assert code_of(work.claim, "a", 12) == "WORKLOAD_NOT_READY"
        assert code_of(work.retry, 12) == "WORKLOAD_RETRY_EXHAUSTED"

    def test_capabilities(self, drive: Any, code_of: Any) -> None:
        work = drive(capability_snapshot=("a", "b"))
        assert code_of(work.claim, "w", 11, capabilities=["a"]) == "WORKLOAD_CAPABILITY_MISSING"
        assert work.version == 1
        assert work.claim("w", 11, capabilities=["c", "b", "a"]).fencing_token == 1

    @pytest.mark.parametrize("capabilities", [[], ("a",), ["a", "b"]])
    def test_capabilities_are_any_sequence(self, drive: Any, capabilities: Any) -> None:
        held = drive(capability_snapshot=()).claim("w", 11, lease_ms=1, capabilities=capabilities)
        assert held.expires_at == 12

    def test_dependencies(self, drive: Any, code_of: Any) -> None:
        needed = drive(requested_by={"id": "a2"})
        work = drive(dependencies=(Dependency(needed.workload_id, "SUCCEEDED"),))
        assert code_of(work.claim, "a", 11, capabilities=["none"]) == "WORKLOAD_CAPABILITY_MISSING"
        assert code_of(work.claim, "a", 11) == "WORKLOAD_DEPENDENCY_PENDING"
        needed.complete(needed.claim_and_start("b", 11, 11), 12)
        assert work.claim("a", 12).fencing_token == 1

    def test_dependency_on_another_state_than_success(self, drive: Any, code_of: Any) -> None:
        needed = drive(idempotency_key="needed")
        work = drive(dependencies=(Dependency(needed.workload_id, "CANCELLED"),))
        assert code_of(work.claim, "a", 11) == "WORKLOAD_DEPENDENCY_PENDING"
        needed.cancel(11)
        assert work.claim("a", 12).expires_at == 22

    @pytest.mark.parametrize("stranger", [{"tenant_id": "u"}, {"application_id": "else"}], ids=str)
    def test_dependency_of_another_owner_never_counts(self, drive: Any, code_of: Any, stranger: dict[str, str]) -> None:
        needed = drive(**stranger)
        work = drive(dependencies=(Dependency(needed.workload_id, "READY"),))
        assert code_of(work.claim, "a", 11) == "WORKLOAD_DEPENDENCY_PENDING"

    def test_unknown_work(self, store: Any, driven: Any, code_of: Any) -> None:
        work = driven(store, "workload_none")
        calls: list[Callable[[], object]] = [
            lambda: work.claim("a", 11),
            lambda: work.start(NOBODY, 11),
            lambda: work.heartbeat(NOBODY, 11),
            lambda: work.context(NOBODY, 11),
            lambda: work.checkpoint(NOBODY, None, 11),
            lambda: work.complete(NOBODY, 11),
            lambda: work.fail(NOBODY, 11, "timeout"),
            lambda: work.time_out(11),
            lambda: work.cancel(11),
            lambda: work.acknowledge_cancel(NOBODY, 11),
            lambda: work.retry(11),
        ]
        assert {code_of(call) for call in calls} == {"WORKLOAD_NOT_FOUND"}
        assert store.get(workload_id="workload_none") is None


class TestFence:
    def test_scenario_15_lost_worker(self, drive: Any, code_of: Any) -> None:
        work = drive()
        lost = work.claim("a", 11, lease_ms=1000)
        assert not work.recover(11)
        assert work.recover(12)
        assert code_of(work.heartbeat, lost, 12) == "WORKLOAD_CLAIM_INVALID"
        held = work.claim("b", 13)
        assert held.fencing_token > lost.fencing_token
        assert code_of(work.heartbeat, lost, 13) == "WORKLOAD_STALE_FENCE"
        assert code_of(work.context, lost, 13) == "WORKLOAD_STALE_FENCE"
        for wrong in (evolve(held, worker_id="z"), evolve(held, claim_id="z")):
            assert code_of(work.heartbeat, wrong, 13) == "WORKLOAD_CLAIM_INVALID"
            assert code_of(work.start, wrong, 13) == "WORKLOAD_CLAIM_INVALID"
        assert code_of(work.heartbeat, evolve(held, fencing_token=3), 13) == "WORKLOAD_STALE_FENCE"

    def test_scenario_16_lapsed_lease(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim("a", 11, lease_ms=1000)
        calls: list[Callable[[], object]] = [
            partial(work.start, claim, 12),
            partial(work.heartbeat, claim, 12),
            partial(work.checkpoint, claim, None, 12),
            partial(work.complete, claim, 12),
            partial(work.fail, claim, 12, "timeout"),
            partial(work.context, claim, 12),
        ]
        assert {code_of(call) for call in calls} == {"WORKLOAD_CLAIM_INVALID"}
        assert (work.version, work.record.state) == (2, "CLAIMED")
        assert code_of(work.claim, "b", 12) == "WORKLOAD_NOT_READY"
        work.start(claim, 11)

    def test_scenario_17_second_start(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        assert code_of(work.start, claim, 13) == "WORKLOAD_STATE_INVALID"
        assert (work.attempt.status, work.attempt.started_at, work.version) == ("RUNNING", 12, 3)


class TestHeartbeat:
    def test_it_moves_the_lease_alone(self, drive: Any) -> None:
        work = drive()
        claim = work.claim("a", 11)
        renewed = work.heartbeat(claim, 12, extension_ms=1001)
        assert renewed == evolve(claim, last_heartbeat=12, expires_at=14) == work.record.current_claim
        assert (work.version, work.states) == (3, ["READY", "CLAIMED"])

    def test_it_may_shorten_the_lease(self, drive: Any) -> None:
        work = drive()
        claim = work.claim("a", 11, lease_ms=10_001)
        assert claim.expires_at == 22
        renewed = work.heartbeat(claim, 13, extension_ms=1)
        assert (renewed.expires_at, renewed.last_heartbeat, renewed.claimed_at) == (14, 13, 11)


class TestContext:
    def test_scenario_18_resume(self, drive: Any) -> None:
        work = drive()
        lost = work.claim_and_start("a", 11, 11, lease_ms=1000)
        kept = work.checkpoint(lost, {"step": "reserve"}, 11)
        first = work.attempt.attempt_id
        assert (kept.attempt_id, kept.state) == (first, {"step": "reserve"})
        assert work.recover(13)
        held = work.claim("b", 13)
        version = work.version
        context = work.context(held, 13, "smtp")
        assert (context.input, context.checkpoints) == ({"id": 1}, (kept,))
        assert (context.secret_references, context.fencing_token, context.expires_at) == (("smtp",), 2, 23)
        assert context.attempt_id == work.attempt.attempt_id != first
        assert work.version == version

    def test_secret_references(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim("a", 11)
        assert code_of(work.context, claim, 11, "") == "WORKLOAD_INVALID"
        assert code_of(work.context, claim, 11, "sk-1") == "WORKLOAD_SECRET_MATERIAL"
        assert code_of(work.context, evolve(claim, fencing_token=9), 11, "") == "WORKLOAD_STALE_FENCE"

    @pytest.mark.parametrize("references", [("", "sk-1"), ("sk-1", "")])
    def test_a_secret_comes_before_an_empty_reference(
        self, drive: Any, code_of: Any, references: tuple[str, ...]
    ) -> None:
        work = drive()
        assert code_of(work.context, work.claim("a", 11), 11, *references) == "WORKLOAD_SECRET_MATERIAL"


class TestCheckpoint:
    def test_it_needs_a_started_attempt(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim("a", 11)
        assert code_of(work.checkpoint, claim, 1, 11) == "WORKLOAD_STATE_INVALID"
        assert code_of(work.checkpoint, claim, {"x": "sk-1"}, 11) == "WORKLOAD_SECRET_MATERIAL"
        work.start(claim, 11)
        work.checkpoint(claim, 1, 12)
        work.checkpoint(claim, 2, 13)
        assert [entry.state for entry in work.record.checkpoints] == [1, 2]
        last = work.record.execution_history[-1]
        assert (last.from_state, last.to_state, last.actor) == ("CHECKPOINTED", "CHECKPOINTED", "a")
