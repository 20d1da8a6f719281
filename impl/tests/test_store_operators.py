"""What others than the worker may do: cancellation, actor timeout, operator retry, on either store."""

from __future__ import annotations

from typing import Any


class TestCancel:
    def test_ready_work(self, drive: Any) -> None:
        work = drive()
        assert work.cancel(11) == "CANCELLED"
        version = work.version
        assert work.cancel(12) == "CANCELLED"
        assert work.version == version

    def test_dead_lettered_work(self, drive: Any) -> None:
        work = drive(retry_policy={"retry_on": frozenset()})
        work.fail(work.claim("a", 11), 12, "x")
        assert work.cancel(13) == "CANCELLED"

    def test_finished_work(self, drive: Any, code_of: Any) -> None:
        work = drive()
        work.complete(work.claim_and_start("a", 11, 11), 12)
        assert code_of(work.cancel, 13) == "WORKLOAD_STATE_INVALID"

    def test_acknowledged(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim("a", 11)
        assert code_of(work.acknowledge_cancel, claim, 11) == "WORKLOAD_STATE_INVALID"
        assert work.cancel(12) == "CANCELLATION_REQUESTED"
        assert work.record.current_claim == claim
        version = work.version
        assert work.cancel(12) == "CANCELLATION_REQUESTED"
        assert work.version == version
        assert code_of(work.acknowledge_cancel, claim, 21) == "WORKLOAD_CLAIM_INVALID"
        assert work.acknowledge_cancel(claim, 13) == "CANCELLED"
        assert (work.attempt.status, work.attempt.ended_at) == ("CANCELLED", 13)
        assert (work.record.current_claim, work.record.execution_history[-1].actor) == (None, "a")
        assert code_of(work.acknowledge_cancel, claim, 13) == "WORKLOAD_CLAIM_INVALID"


class TestRetry:
    def test_scenario_47_three_rearms(self, drive: Any, code_of: Any) -> None:
        work = drive()
        for at in (100, 200, 300):
            work.claim("a", at)
            work.recover(at + 10)
        for number in (1, 2, 3):
            work.retry(1000 * number, "please")
            event = work.record.execution_history[-1]
            assert event.actor == "operator"
            assert event.evidence == {
                "retry": "operator",
                "operator_retry": str(number),
                "attempt_budget": str(3 + number),
                "reason": "please",
            }
            assert work.record.next_attempt_at == 1000 * number
            assert code_of(work.retry, 1000 * number) == "WORKLOAD_STATE_INVALID"
            work.claim("a", 1000 * number)
            work.recover(1000 * number + 10)
            assert (work.record.state, work.record.attempt_count) == ("DEAD_LETTER", 3 + number)
        assert code_of(work.retry, 9000) == "WORKLOAD_RETRY_EXHAUSTED"

    def test_scenario_48_rearm_past_the_overall_deadline_is_wasted(
        self, drive: Any, code_of: Any, refused: Any
    ) -> None:
        work = drive(timeouts={"overall_ms": 10_000})
        assert work.expire(20)
        for _ in range(3):
            work.retry(25)
            error = refused(work.claim, "a", 25)
            assert error.code == "WORKLOAD_TIMED_OUT"
            assert error.details == {"deadline": "overall", "deadline_at": 20}
        assert code_of(work.retry, 25) == "WORKLOAD_RETRY_EXHAUSTED"
        assert work.record.attempt_count == 0

    def test_scenario_50_a_blank_reason_is_left_out(self, drive: Any, code_of: Any) -> None:
        work = drive(retry_policy={"max_attempts": 1})
        work.claim("a", 11)
        work.recover(21)
        work.retry(22, "   ")
        assert "reason" not in work.record.execution_history[-1].evidence
        assert code_of(work.retry, 23) == "WORKLOAD_STATE_INVALID"

    def test_scenario_50_a_long_reason_is_cut_but_not_trimmed(self, drive: Any) -> None:
        work = drive(timeouts={"overall_ms": 1})
        work.expire(20)
        work.retry(21, "  " + "é" * 300)
        assert work.record.execution_history[-1].evidence["reason"] == "  " + "é" * 254


class TestActorTimeout:
    def test_scenario_51_waiting_work(self, drive: Any) -> None:
        work = drive(retry_policy={"initial_delay_ms": 2500})
        assert work.time_out(12) == "READY"
        record = work.record
        assert (record.next_attempt_at, record.retry_count, record.attempts) == (14, 1, ())
        assert [(event.to_state, event.actor, event.evidence) for event in record.execution_history[1:]] == [
            ("TIMED_OUT", "actor", {}),
            ("READY", "actor", {}),
        ]
        work.fail(work.claim("a", 14), 15, "timeout")
        failed = work.attempt
        work.time_out(20)
        assert work.attempt == failed

    def test_scenario_51_the_last_attempt(self, drive: Any) -> None:
        work = drive(retry_policy={"max_attempts": 1})
        assert work.time_out(11) == "READY"
        work.claim("a", 12)
        assert work.time_out(13) == "DEAD_LETTER"
        (attempt,) = work.record.attempts
        assert (attempt.status, attempt.ended_at, attempt.error) == ("TIMED_OUT", 13, None)
        assert work.record.current_claim is None
