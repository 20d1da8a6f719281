"""Deadlines and lapsed leases, met by a call or by a pass, on either store."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import Claim


class TestDeadlines:
    @pytest.mark.parametrize(("timeout_ms", "passed_at"), [(1, 13), (4000, 16), (4001, 17)])
    def test_scenario_34_rounding(self, drive: Any, timeout_ms: int, passed_at: int) -> None:
        work = drive(timeouts={"execution_ms": timeout_ms})
        work.claim_and_start("a", 11, 12)
        assert not work.expire(passed_at - 1)
        assert work.expire(passed_at)

    def test_scenario_34_checkpoint_moves_no_deadline(self, drive: Any) -> None:
        work = drive(timeouts={"execution_ms": 5000})
        work.checkpoint(work.claim_and_start("a", 11, 12), 1, 16)
        assert work.expire(17)

    def test_scenario_36_heartbeat(self, drive: Any, code_of: Any) -> None:
        work = drive(timeouts={"heartbeat_ms": 3000})
        claim = work.claim_and_start("a", 11, 12)
        work.heartbeat(claim, 13)
        assert not work.expire(15)
        assert work.expire(16)
        assert code_of(work.heartbeat, claim, 16) == "WORKLOAD_CLAIM_INVALID"

    def test_scenario_36_a_start_is_no_heartbeat(self, drive: Any) -> None:
        work = drive(timeouts={"heartbeat_ms": 3000})
        work.claim_and_start("a", 11, 13)
        assert work.expire(14)

    def test_scenario_38_queue(self, drive: Any, refused: Any) -> None:
        work = drive(timeouts={"queue_ms": 4000})
        error = refused(work.claim, "a", 14)
        assert (error.code, error.details) == ("WORKLOAD_TIMED_OUT", {"deadline": "queue", "deadline_at": 14})
        assert (work.record.state, work.record.attempts) == ("DEAD_LETTER", ())
        assert work.record.execution_history[-1].evidence == {"decision": "deadline_not_retryable"}

    @pytest.mark.parametrize(("not_before", "passed_at"), [(100, 104), (5, 14)])
    def test_scenario_38_queue_time_starts_when_the_work_is_due(
        self, drive: Any, not_before: int, passed_at: int
    ) -> None:
        work = drive(not_before=not_before, timeouts={"queue_ms": 4000})
        assert not work.expire(passed_at - 1)
        assert work.expire(passed_at)
        assert work.decision == "deadline_not_retryable"

    def test_scenario_38_back_off_is_not_queueing(self, drive: Any, refused: Any) -> None:
        work = drive(retry_policy={"initial_delay_ms": 3000}, timeouts={"queue_ms": 4000})
        work.fail(work.claim("a", 11), 12, "timeout")
        assert refused(work.claim, "a", 19).details == {"deadline": "queue", "deadline_at": 19}
        assert work.attempt.status == "FAILED"
        assert work.event("TIMED_OUT").evidence == {"deadline": "queue", "deadline_at": "19"}

    def test_scenario_38_recovery_restarts_the_queue_deadline(self, drive: Any) -> None:
        work = drive(timeouts={"queue_ms": 4000})
        work.claim("a", 11, lease_ms=5000)
        assert work.recover(20)
        assert not work.expire(23)
        assert work.expire(24)

    def test_scenario_38_overall_comes_first(self, drive: Any, refused: Any) -> None:
        work = drive(timeouts={"queue_ms": 4000, "overall_ms": 4000})
        assert refused(work.claim, "a", 14).details == {"deadline": "overall", "deadline_at": 14}
        assert work.record.attempts == ()

    def test_scenario_40_an_expiry_leaves_nothing_to_recover(self, drive: Any, code_of: Any) -> None:
        work = drive(timeouts={"execution_ms": 4000})
        work.claim_and_start("a", 11, 12, lease_ms=5000)
        bogus = Claim("c", "w", 9, 0, 0, 0)
        assert code_of(work.heartbeat, bogus, 15) == "WORKLOAD_STALE_FENCE"
        assert work.version == 3
        assert code_of(work.heartbeat, bogus, 16) == "WORKLOAD_TIMED_OUT"
        assert not work.recover(16)

    def test_scenario_40_a_recovery_leaves_nothing_to_expire(self, drive: Any, code_of: Any) -> None:
        work = drive(timeouts={"execution_ms": 4000})
        claim = work.claim_and_start("a", 11, 12, lease_ms=5000)
        assert work.recover(16)
        assert work.attempt.status == "WORKER_LOST"
        assert not work.expire(16)
        assert code_of(work.heartbeat, claim, 16) == "WORKLOAD_CLAIM_INVALID"

    def test_scenario_42_policy(self, drive: Any, code_of: Any) -> None:
        work = drive(retry_policy={"retry_on": frozenset({"worker_failure"})}, timeouts={"claim_ms": 2000})
        claim = work.claim("a", 11)
        assert code_of(work.start, claim, 13) == "WORKLOAD_TIMED_OUT"
        assert work.record.execution_history[-1].evidence == {"decision": "timeout_not_retryable"}

    def test_scenario_42_budget(self, drive: Any) -> None:
        work = drive(retry_policy={"max_attempts": 1}, timeouts={"execution_ms": 1000})
        work.claim_and_start("a", 11, 12)
        assert work.expire(13)
        assert work.record.execution_history[-1].evidence == {"decision": "attempt_budget_exhausted"}

    def test_retry_waits_the_initial_delay_uncapped(self, drive: Any) -> None:
        delay = {"backoff": "exponential", "initial_delay_ms": 9000, "max_delay_ms": 1000}
        work = drive(retry_policy={"max_attempts": 9, **delay}, timeouts={"claim_ms": 1000})
        for at in (100, 200):
            work.claim("a", at)
            assert work.expire(at + 1)
            assert work.record.next_attempt_at == at + 10
        assert work.record.retry_count == 2

    def test_the_earliest_of_several_deadlines(self, drive: Any) -> None:
        work = drive(timeouts={"claim_ms": 3000, "overall_ms": 9000})
        work.claim("a", 11)
        assert not work.expire(13)
        assert work.expire(14)
        assert work.event("TIMED_OUT").evidence["deadline"] == "claim"

    def test_answers_in_the_order_of_ids(self, drive: Any) -> None:
        works = [
            drive(idempotency_key=str(number), timeouts={"overall_ms": seconds * 1000})
            for number, seconds in enumerate([3, 1, 2, 9])
        ]
        due = sorted(work.workload_id for work in works[:3])
        assert works[0].store.enforce_deadlines(now_s=13) == due


class TestRecovery:
    def test_scenario_44_bounded(self, drive: Any, code_of: Any) -> None:
        work = drive()
        for number in (1, 2, 3):
            claim = work.claim("a", 100 * number)
            attempt = work.attempt
            assert not work.recover(claim.expires_at - 1)
            assert work.recover(claim.expires_at)
            lost = work.record.execution_history[-2]
            assert (lost.to_state, lost.actor) == ("RECOVERING", "authority.recovery")
            assert lost.evidence == {
                "recovery_reason": "lease_expired",
                "attempts_used": str(number),
                "attempt_budget": "3",
                "claim_id": claim.claim_id,
                "worker_id": "a",
                "lease_expired_at": str(claim.expires_at),
                "attempt_id": attempt.attempt_id,
            }
            decision = "retry" if number < 3 else "attempt_budget_exhausted"
            assert work.record.execution_history[-1].evidence == {"decision": decision}
            assert (work.record.retry_count, work.record.next_attempt_at) == (0, None)
        assert work.record.state == "DEAD_LETTER"
        assert {attempt.status for attempt in work.record.attempts} == {"WORKER_LOST"}
        assert all(str(attempt.error).startswith("worker_lost: ") for attempt in work.record.attempts)
        assert code_of(work.claim, "a", 1000) == "WORKLOAD_NOT_READY"

    def test_scenario_45_policy_before_budget(self, drive: Any) -> None:
        work = drive(retry_policy={"retry_on": frozenset({"timeout"}), "max_attempts": 1})
        work.claim("a", 11)
        assert work.recover(21)
        assert work.record.execution_history[-1].evidence == {"decision": "worker_failure_not_retryable"}

    def test_scenario_46_loss_while_cancelling(self, drive: Any, code_of: Any) -> None:
        work = drive(timeouts={"execution_ms": 5000, "overall_ms": 6000})
        claim = work.claim_and_start("a", 11, 12)
        assert work.cancel(13) == "CANCELLATION_REQUESTED"
        assert work.cancel(13) == "CANCELLATION_REQUESTED"
        assert code_of(work.complete, claim, 13) == "WORKLOAD_STATE_INVALID"
        work.heartbeat(claim, 18, 3000)
        assert not work.expire(20)
        assert not work.recover(20)
        assert work.recover(21)
        last = work.record.execution_history[-1]
        assert (last.to_state, last.actor) == ("CANCELLED", "authority.recovery")
        assert last.evidence["lease_expired_at"] == "21"
        assert "decision" not in last.evidence
        assert (work.record.state, work.attempt.status) == ("CANCELLED", "WORKER_LOST")

    def test_answers_in_the_order_of_ids(self, drive: Any) -> None:
        works = [drive(requested_by={"id": f"a{number}"}) for number in range(6)]
        for number, work in enumerate(works):
            work.claim("w", 20 - number, lease_ms=1000)
        lapsed = sorted(work.workload_id for work in works[1:])
        assert works[0].store.recover_expired(now_s=20) == lapsed


class TestOlderRecords:
    def test_scenario_43_version_1_has_leases_and_budget_but_no_deadlines(self, drive: Any) -> None:
        work = drive(timeouts={"queue_ms": 1000})
        work.inject(contract_version=1)
        assert not work.expire(1_000_000)
        for at in (100, 200, 300):
            work.claim("a", at, lease_ms=1000)
            assert work.recover(at + 1)
            assert work.record.contract_version == 1
        assert work.record.execution_history[-1].evidence == {"decision": "attempt_budget_exhausted"}

    def test_version_1_is_buried_when_its_attempts_are_used(self, drive: Any, code_of: Any) -> None:
        work = drive(timeouts={"queue_ms": 1000})
        work.inject(contract_version=1, attempt_count=3, version=9)
        assert code_of(work.claim, "a", 1_000_000) == "WORKLOAD_ATTEMPTS_EXHAUSTED"
        assert work.version == 10

    def test_a_row_without_a_version_counts_as_one_and_gets_two(self, drive: Any) -> None:
        work = drive()
        work.inject(version=None)
        assert work.version is None
        assert work.store.get(workload_id=work.workload_id).version == 1
        work.claim("a", 11)
        assert work.version == 2

    def test_a_row_without_a_version_is_guarded_by_its_content(self, drive: Any, code_of: Any) -> None:
        work = drive()
        work.inject(version=None)
        work.store.pause(lambda: work.inject(version=None, priority=5))
        assert code_of(work.claim, "a", 11) == "WORKLOAD_CONFLICT"
        assert (work.version, work.record.priority) == (None, 5)

    def test_a_record_under_an_older_id_replays_for_its_requester(self, drive: Any, asking: Any) -> None:
        work = drive()
        older = evolve(work.record, workload_id="workload_older")
        work.store.reset()
        work.store.inject(record=older, version=7)
        again = work.store.admit(request=asking())
        assert (again.workload, again.created) == (older, False)
        assert work.store.admit(request=asking(requested_by={"id": "a2"})).created

    def test_a_result_under_a_hash_of_another_kind_replays(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 11)
        result = evolve(work.complete(claim, 12, output={"sent": 1}), output_hash="of another kind")
        work.inject(result=result, version=9)
        assert work.complete(claim, 13, output={"sent": 1}) == result
        assert code_of(work.complete, claim, 13, output={"sent": 2}) == "WORKLOAD_RESULT_CONFLICT"

    def test_a_record_without_attempts_names_none(self, drive: Any) -> None:
        work = drive()
        claim = work.claim("a", 11)
        work.inject(attempts=(), version=2)
        work.fail(claim, 12, "timeout")
        assert work.event("FAILED").evidence == {"failure_kind": "timeout", "effect": "none"}

    def test_the_claim_of_a_resting_record_is_left_to_it(self, drive: Any) -> None:
        work = drive()
        claim = work.claim("a", 11)
        work.inject(state="READY", version=2)
        assert work.cancel(12) == "CANCELLED"
        assert work.record.current_claim == claim


class TestEndsOf64Bits:
    def test_deadlines_and_leases_saturate(self, drive: Any) -> None:
        most = 2**63 - 1
        work = drive(created_at=most - 1, timeouts={"overall_ms": most})
        assert work.claim("a", most - 1, lease_ms=most).expires_at == most
        assert work.expire(most)

    def test_a_saturated_lease_lapses(self, drive: Any) -> None:
        most = 2**63 - 1
        work = drive(created_at=most - 5, timeouts={"overall_ms": most})
        assert work.claim("a", most - 5, lease_ms=most).expires_at == most
        assert work.recover(most)
