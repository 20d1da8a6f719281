"""The one outcome of an attempt, completion or failure, on either store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from workspec.workload.vocabulary import Claim

RETRIED = {"worker_failure", "timeout", "transient_connection"}


class TestComplete:
    def test_scenario_19_replay_and_conflict(self, drive: Any, code_of: Any) -> None:
        work = drive()
        lost = work.claim_and_start("a", 11, 11, lease_ms=1000)
        assert work.recover(13)
        held = work.claim_and_start("b", 13, 13)
        result = work.complete(held, 14, "r1", {"sent": 1})
        version = work.version
        provenance = {"claim_id": held.claim_id, "fencing_token": "2"}
        assert (result.produced_by, result.provenance) == ("b", provenance)
        assert work.complete(held, 15, "r1", {"sent": 1}) == result
        assert work.complete(held, 500, "r1", {"sent": 1}) == result
        for output in ({"sent": 2}, {"sent": 1.0}):
            assert code_of(work.complete, held, 15, "r1", output) == "WORKLOAD_RESULT_CONFLICT"
        assert code_of(work.complete, lost, 15, "r1", {"sent": 1}) == "WORKLOAD_RESULT_CONFLICT"
        assert code_of(work.complete, held, 15, "r2", {"sent": 1}) == "WORKLOAD_CLAIM_INVALID"
        record = work.record
        assert (work.version, record.result) == (version, result)
        assert (record.state, record.current_claim, work.attempt.status) == ("SUCCEEDED", None, "SUCCEEDED")

    def test_result_ids_are_global_and_come_before_deadlines(self, drive: Any, driven: Any, code_of: Any) -> None:
        first = drive(requested_by={"id": "a2"})
        first.complete(first.claim_and_start("b", 11, 11), 12, "r")
        work = drive(timeouts={"execution_ms": 1000})
        claim = work.claim_and_start("a", 11, 11)
        version = work.version
        assert code_of(work.complete, claim, 100, "r") == "WORKLOAD_RESULT_DUPLICATE"
        nobody = driven(work.store, "workload_none")
        assert code_of(nobody.complete, claim, 12, "r") == "WORKLOAD_RESULT_DUPLICATE"
        assert (work.record.state, work.version) == ("RUNNING", version)

    def test_a_taken_result_id_comes_before_the_claim(self, drive: Any, code_of: Any) -> None:
        first = drive(idempotency_key="first")
        held = first.claim_and_start("b", 11, 11)
        first.complete(held, 12, "r")
        work = drive(timeouts={"overall_ms": 1000})
        assert code_of(work.complete, held, 50, "r") == "WORKLOAD_RESULT_DUPLICATE"
        assert (work.record.state, work.version) == ("READY", 1)

    def test_scenario_21_execution_deadline(self, drive: Any, refused: Any) -> None:
        work = drive(timeouts={"execution_ms": 5000})
        claim = work.claim_and_start("a", 11, 12)
        work.heartbeat(claim, 16)
        assert not work.expire(16)
        error = refused(work.complete, claim, 17)
        assert error.code == "WORKLOAD_TIMED_OUT"
        assert error.details == {"deadline": "execution", "deadline_at": 17}
        record = work.record
        assert (record.state, record.next_attempt_at, record.retry_count) == ("READY", 18, 1)
        assert record.result is None
        assert (work.attempt.status, work.attempt.ended_at) == ("TIMED_OUT", 17)
        assert str(work.attempt.error).startswith("timeout: ")
        assert "execution" in str(work.attempt.error)
        timed_out = record.execution_history[-2]
        assert (timed_out.to_state, timed_out.actor) == ("TIMED_OUT", "authority.deadline")
        assert timed_out.evidence == {
            "deadline": "execution",
            "deadline_at": "17",
            "claim_id": claim.claim_id,
            "worker_id": "a",
        }
        assert not work.expire(30)

    def test_scenario_21_one_second_earlier(self, drive: Any) -> None:
        work = drive(timeouts={"execution_ms": 5000})
        work.complete(work.claim_and_start("a", 11, 12), 16)
        assert work.record.state == "SUCCEEDED"

    def test_scenario_22_one_outcome(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        work.complete(claim, 13)
        assert code_of(work.fail, claim, 13, "timeout") == "WORKLOAD_CLAIM_INVALID"
        work = drive(idempotency_key="two")
        claim = work.claim_and_start("a", 11, 12)
        work.fail(claim, 13, "timeout")
        assert code_of(work.complete, claim, 13, "other") == "WORKLOAD_CLAIM_INVALID"
        assert (work.record.state, len(work.record.attempts)) == ("READY", 1)

    def test_claimed_work_cannot_be_completed(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim("a", 11)
        assert code_of(work.complete, claim, 11) == "WORKLOAD_STATE_INVALID"
        assert code_of(work.complete, claim, 11, output=["sk-1"]) == "WORKLOAD_SECRET_MATERIAL"


class TestFail:
    def test_scenario_23_replay(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim("a", 11)
        report = partial(work.fail, claim)
        assert report(12, "transient_connection", "no route") == "READY"
        failed, decision = work.record.execution_history[-2:]
        assert (failed.to_state, failed.actor) == ("FAILED", "a")
        assert failed.evidence == {
            "failure_kind": "transient_connection",
            "attempt_id": work.attempt.attempt_id,
            "effect": "none",
        }
        assert (decision.actor, decision.evidence) == ("authority.retry", {"decision": "retry"})
        assert work.record.last_failure == "transient_connection: no route"
        version, record = work.version, work.record
        assert report(13, "transient_connection", "no route") == "READY"
        assert report(13, "transient_connection", "no route", "none") == "READY"
        for differing in (
            ("transient_connection", "no route", "unknown"),
            ("timeout", "no route"),
            ("timeout", "other"),
            ("transient_connection", "other"),
        ):
            assert code_of(report, 13, *differing) == "WORKLOAD_CLAIM_INVALID"
        assert (work.version, work.record) == (version, record)
        work.claim("b", 14)
        assert code_of(report, 15, "timeout", "late") == "WORKLOAD_STALE_FENCE"
        # The replay tells the present state, not that of then.
        assert report(15, "transient_connection", "no route") == "CLAIMED"

    def test_scenario_25_effect_of_started_work_stays_absent(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        work.fail(claim, 13, "timeout")
        assert "effect" not in work.event("FAILED").evidence
        assert work.fail(claim, 14, "timeout") == "READY"
        assert code_of(work.fail, claim, 14, "timeout", effect="none") == "WORKLOAD_CLAIM_INVALID"

    @pytest.mark.parametrize(
        ("max_attempts", "retry_on", "kind_of_failure", "effect", "decision"),
        [
            (3, RETRIED, "validation", "none", "failure_kind_not_retryable"),
            (3, RETRIED, "validation", "unknown", "retry"),
            (3, {"timeout", "transient_connection"}, "timeout", "unknown", "effect_unknown_not_retryable"),
            (3, {"worker_failure"}, "validation", None, "failure_kind_not_retryable"),
            (3, {"worker_failure"}, "validation", "unknown", "retry"),
            (1, RETRIED, "validation", None, "failure_kind_not_retryable"),
            (1, RETRIED, "validation", "unknown", "attempt_budget_exhausted"),
            (1, RETRIED, "timeout", None, "attempt_budget_exhausted"),
            (2, RETRIED, "timeout", None, "retry"),
        ],
    )
    def test_scenarios_26_to_28_decisions(
        self,
        drive: Any,
        max_attempts: int,
        retry_on: set[str],
        kind_of_failure: str,
        effect: str | None,
        decision: str,
    ) -> None:
        work = drive(retry_policy={"max_attempts": max_attempts, "retry_on": frozenset(retry_on)})
        state = work.fail(work.claim_and_start("a", 11, 12), 13, kind_of_failure, effect=effect)
        assert state == work.record.state == ("READY" if decision == "retry" else "DEAD_LETTER")
        event = work.record.execution_history[-1]
        assert (event.actor, event.evidence) == ("authority.retry", {"decision": decision})

    def test_scenario_26_unknown_effect_word_comes_before_the_claim(self, drive: Any, code_of: Any) -> None:
        work = drive()
        report = partial(work.fail, Claim("c", "w", 9, 0, 0, 0), 12, "timeout")
        assert code_of(report, effect="maybe") == "WORKLOAD_INVALID"
        assert code_of(report, "sk-1", "maybe") == "WORKLOAD_SECRET_MATERIAL"

    def test_scenario_29_budget(self, drive: Any) -> None:
        work = drive(retry_policy={"max_attempts": 2, "initial_delay_ms": 0})
        assert work.fail(work.claim("a", 11), 12, "timeout") == "READY"
        assert work.fail(work.claim("a", 12), 12, "timeout") == "DEAD_LETTER"
        assert work.decision == "attempt_budget_exhausted"
        assert work.record.retry_count == 1

    def test_scenario_31_report_after_the_deadline_is_not_recorded(self, drive: Any, code_of: Any) -> None:
        work = drive(timeouts={"execution_ms": 5000})
        claim = work.claim_and_start("a", 11, 12)
        assert code_of(work.fail, claim, 17, "validation") == "WORKLOAD_TIMED_OUT"
        assert (work.record.state, work.record.last_failure) == ("READY", None)
        assert code_of(work.fail, claim, 17, "validation") == "WORKLOAD_CLAIM_INVALID"

    @pytest.mark.parametrize(
        ("backoff", "initial_ms", "cap_ms", "delays"),
        [
            ("exponential", 1500, 5000, [1, 3, 5, 5]),
            ("fixed", 1500, 60_000, [1, 1, 1, 1]),
            ("fixed", 1500, 1000, [1, 1, 1, 1]),
            ("fixed", 1999, 60_000, [1, 1, 1, 1]),
            ("fixed", 999, 60_000, [0, 0, 0, 0]),
            ("exponential", 999, 60_000, [0, 1, 3, 7]),
        ],
    )
    def test_scenario_32_backoff(
        self, drive: Any, backoff: str, initial_ms: int, cap_ms: int, delays: list[int]
    ) -> None:
        delay = {"backoff": backoff, "initial_delay_ms": initial_ms, "max_delay_ms": cap_ms}
        work = drive(retry_policy={"max_attempts": 9, **delay})
        at = 11
        for delay_s in delays:
            work.fail(work.claim("a", at), at, "timeout")
            assert work.record.next_attempt_at == at + delay_s
            at += delay_s

    def test_backoff_saturates(self, drive: Any) -> None:
        work = drive(retry_policy={"max_attempts": 9, "backoff": "exponential", "max_delay_ms": 2**63 - 1})
        work.inject(retry_count=10**9)
        work.fail(work.claim("a", 11), 12, "timeout")
        assert work.record.next_attempt_at == 12 + (2**63 - 1) // 1000

    def test_cancelling_work_takes_no_report(self, drive: Any, code_of: Any) -> None:
        work = drive()
        claim = work.claim_and_start("a", 11, 12)
        work.cancel(13)
        calls: list[Callable[[], object]] = [
            partial(work.fail, claim, 13, "timeout"),
            partial(work.complete, claim, 13),
            partial(work.checkpoint, claim, 1, 13),
            partial(work.start, claim, 13),
            partial(work.time_out, 13),
        ]
        assert {code_of(call) for call in calls} == {"WORKLOAD_STATE_INVALID"}
