"""Several handles and threads on one store, of either kind: lost races, and what a test may do to a store."""

from __future__ import annotations

import contextlib
import random
import threading
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import Dependency, StoreUnavailable, WorkloadError

ROUNDS = 20


class TestTwoHandles:
    def test_scenario_52_decisions_are_made_on_committed_rows(
        self, drive: Any, other: Any, asking: Any, owner: Any, code_of: Any
    ) -> None:
        work = drive()
        elsewhere = work.on(other)
        assert not other.admit(request=asking()).created
        held = work.claim("a", 11)
        assert code_of(elsewhere.claim, "b", 11) == "WORKLOAD_NOT_READY"
        elsewhere.start(held, 12)
        assert work.record.state == "RUNNING"
        assert code_of(other.admit, request=asking(input={"id": 2})) == "IDEMPOTENCY_KEY_REUSED"
        assert len(other.list_workloads(**owner, fresh=False)) == 1

    def test_results_recorded_elsewhere_are_seen_at_once(self, drive: Any, other: Any, code_of: Any) -> None:
        first = drive()
        held = first.claim_and_start("a", 11, 11)
        result = first.complete(held, 12)
        assert first.on(other).complete(held, 13) == result
        second = drive(idempotency_key="two").on(other)
        held = second.claim_and_start("a", 13, 13)
        assert code_of(second.complete, held, 13) == "WORKLOAD_RESULT_DUPLICATE"

    def test_a_new_handle_knows_what_is_committed(self, drive: Any, open_handle: Any) -> None:
        assert drive().on(open_handle()).read(fresh=False).state == "READY"

    def test_dependency_and_claim_are_read_together(self, drive: Any, other: Any) -> None:
        needed = drive(idempotency_key="needed")
        work = drive(dependencies=(Dependency(needed.workload_id, "READY"),))
        assert work.on(other).claim("a", 11).fencing_token == 1


class TestLostRaces:
    """Forced: a handle freezes between its decision and its write, and another commits."""

    def test_scenario_52_claim(self, drive: Any, other: Any, code_of: Any) -> None:
        work = drive()
        frozen = work.on(other)
        other.pause(lambda: work.claim("a", 11))
        assert code_of(frozen.claim, "b", 11) == "WORKLOAD_CONFLICT"
        assert frozen.read(fresh=False).current_claim.worker_id == "a"
        assert work.store.snapshot() == {work.workload_id: 2}
        assert code_of(frozen.claim, "b", 11) == "WORKLOAD_NOT_READY"

    def test_scenario_53_start_and_pass(self, drive: Any, other: Any, code_of: Any) -> None:
        work = drive()
        frozen = work.on(other)
        held = work.claim("a", 11)
        other.pause(lambda: work.store.recover_expired(now_s=21))
        assert code_of(frozen.start, held, 20) == "WORKLOAD_CONFLICT"
        assert frozen.read(fresh=False).state == "READY"
        assert code_of(frozen.complete, held, 20) == "WORKLOAD_CLAIM_INVALID"
        work.claim("a", 31)
        outcomes: list[list[str]] = []
        other.pause(lambda: outcomes.append(work.store.recover_expired(now_s=41)))
        outcomes.append(other.recover_expired(now_s=41))
        assert outcomes == [[work.workload_id], []]
        assert frozen.read(fresh=False) == work.record
        assert work.states.count("RECOVERING") == 2

    def test_completion(self, drive: Any, other: Any, code_of: Any) -> None:
        work = drive()
        held = work.claim_and_start("a", 11, 11)
        other.pause(lambda: work.complete(held, 12))
        assert code_of(work.on(other).complete, held, 12) == "WORKLOAD_CONFLICT"
        assert work.on(other).complete(held, 12) == work.record.result

    def test_scenario_55_completion_after_the_deadline(self, drive: Any, other: Any, code_of: Any) -> None:
        work = drive(timeouts={"execution_ms": 5000})
        held = work.claim_and_start("a", 11, 12)
        other.pause(lambda: work.complete(held, 16))
        assert code_of(work.on(other).complete, held, 17) == "WORKLOAD_CONFLICT"
        assert work.on(other).read(fresh=False).state == "SUCCEEDED"
        assert work.on(other).complete(held, 17) == work.record.result

    def test_a_pass_skips_what_it_lost_and_does_the_rest(self, drive: Any, other: Any) -> None:
        works = [drive(idempotency_key=key, timeouts={"execution_ms": 5000}) for key in "abc"]
        works.sort(key=lambda work: work.workload_id)
        claims = [work.claim_and_start("a", 11, 12) for work in works]
        other.pause(lambda: works[1].complete(claims[1], 16))
        assert other.enforce_deadlines(now_s=17) == [works[0].workload_id, works[2].workload_id]
        assert works[1].record.state == "SUCCEEDED"

    def test_a_pass_that_lost_its_first_write_does_the_rest(self, drive: Any, other: Any) -> None:
        works = [drive(idempotency_key=key, timeouts={"overall_ms": 1000}) for key in "abc"]
        works.sort(key=lambda work: work.workload_id)
        other.pause(lambda: works[0].cancel(11))
        assert other.enforce_deadlines(now_s=11) == [work.workload_id for work in works[1:]]
        assert works[0].record.state == "CANCELLED"

    def test_admission(self, store: Any, other: Any, asking: Any, owner: Any) -> None:
        other.pause(lambda: store.admit(request=asking()))
        assert not other.admit(request=asking()).created
        assert list(store.snapshot().values()) == [1]
        assert len(other.list_workloads(**owner, fresh=False)) == 1

    def test_differing_admission(self, store: Any, other: Any, asking: Any, code_of: Any) -> None:
        other.pause(lambda: store.admit(request=asking()))
        assert code_of(other.admit, request=asking(priority=1)) == "IDEMPOTENCY_KEY_REUSED"
        assert list(store.snapshot().values()) == [1]

    def test_admission_and_a_record_under_an_older_id(self, store: Any, other: Any, asking: Any) -> None:
        older = evolve(store.admit(request=asking()).workload, workload_id="older")
        store.reset()
        other.pause(lambda: store.inject(record=older, version=1))
        answer = other.admit(request=asking())
        assert (answer.created, answer.workload.workload_id) == (False, "older")
        assert store.snapshot() == {"older": 1}

    def test_result_id_taken_between_lookup_and_write(self, drive: Any, other: Any, code_of: Any) -> None:
        first, second = drive(), drive(idempotency_key="two")
        held = [work.claim_and_start("a", 11, 11) for work in (first, second)]
        other.pause(lambda: first.complete(held[0], 12))
        before = second.record
        assert code_of(second.on(other).complete, held[1], 12) == "WORKLOAD_RESULT_DUPLICATE"
        assert (second.record, before.state) == (before, "RUNNING")
        assert (first.version, second.version) == (4, 3)
        second.on(other).complete(held[1], 12, "of its own")

    def test_exhausted_claim_commits_over_the_row_that_it_read(self, drive: Any, other: Any, code_of: Any) -> None:
        """Work that was re-armed meanwhile is not buried below its budget (P-09)."""
        work = drive()
        work.inject(attempt_count=3)

        def bury_and_rearm() -> None:
            assert code_of(work.claim, "a", 11) == "WORKLOAD_ATTEMPTS_EXHAUSTED"
            work.retry(11)

        other.pause(bury_and_rearm)
        assert code_of(work.on(other).claim, "b", 11) == "WORKLOAD_CONFLICT"
        assert work.record.state == "READY"


class TestPause:
    def test_runs_once_and_only_before_a_write(self, drive: Any) -> None:
        work = drive()
        runs: list[int | None] = []
        work.store.pause(lambda: runs.append(work.version))
        assert (work.record.state, runs) == ("READY", [])
        work.claim_and_start("a", 11, 11)
        assert runs == [1]

    def test_runs_before_an_admission(self, store: Any, drive: Any) -> None:
        runs: list[int] = []
        store.pause(lambda: runs.append(len(store.snapshot())))
        drive().claim("a", 11)
        assert runs == [0]

    def test_can_be_disarmed(self, drive: Any) -> None:
        work = drive()
        work.store.pause(lambda: pytest.fail("disarmed"))
        work.store.pause(None)
        work.claim("a", 11)
        assert work.recover(50)

    def test_no_lock_is_held(self, drive: Any, other: Any, code_of: Any) -> None:
        work = drive()

        def from_another_thread() -> None:
            thread = threading.Thread(target=lambda: work.on(other).claim("b", 11), daemon=True)
            thread.start()
            thread.join(timeout=60)
            assert not thread.is_alive()

        work.store.pause(from_another_thread)
        assert code_of(work.claim, "a", 11) == "WORKLOAD_CONFLICT"


class TestAbilities:
    def test_reset_leaves_no_trace(self, drive: Any, other: Any, owner: Any, asking: Any) -> None:
        work = drive()
        work.complete(work.claim_and_start("a", 11, 11), 12)
        other.list_workloads(**owner)
        work.store.pause(lambda: pytest.fail("left over"))
        work.store.reset()
        for handle in (work.store, other):
            assert handle.snapshot() == {}
            for fresh in (False, True):
                assert handle.get(workload_id=work.workload_id, fresh=fresh) is None
                assert handle.list_workloads(**owner, fresh=fresh) == []
        # Neither the key, nor the tokens, nor the result id are taken any more.
        assert work.store.admit(request=asking(priority=3)).created
        assert work.on(other).claim("a", 11).fencing_token == 1
        second = drive(idempotency_key="two").on(other)
        assert second.complete(second.claim_and_start("a", 11, 11), 11).result_id == "r"

    def test_inject_replaces_row_and_indexes(self, drive: Any, asking: Any) -> None:
        work = drive()
        work.complete(work.claim_and_start("a", 11, 11), 12)
        work.inject(41, result=None, idempotency_key="moved", state="READY")
        assert work.store.snapshot() == {work.workload_id: 41}
        assert not work.store.admit(request=asking(idempotency_key="moved")).created
        second = drive(idempotency_key="two")
        assert second.complete(second.claim_and_start("a", 11, 11), 12).result_id == "r"

    def test_inject_takes_no_result_id_twice(self, drive: Any, code_of: Any) -> None:
        work = drive()
        work.complete(work.claim_and_start("a", 11, 11), 12)
        assert code_of(work.inject, workload_id="another") == "WORKLOAD_RESULT_DUPLICATE"
        assert work.store.snapshot() == {work.workload_id: 4}
        work.inject(priority=1)

    def test_inject_keeps_a_copy(self, drive: Any) -> None:
        work = drive()
        given = evolve(work.record, input={"id": [1]})
        work.store.inject(record=given, version=1)
        given.input["id"] = 2
        assert work.record.input == {"id": [1]}

    def test_closed_handles(self, drive: Any, other: Any, asking: Any) -> None:
        work = drive()
        store = work.store
        store.close()
        store.close()
        for call in (
            lambda: store.get(workload_id=work.workload_id),
            lambda: work.claim("a", 11),
            lambda: store.admit(request=asking(idempotency_key="two")),
            store.snapshot,
            store.reset,
        ):
            with pytest.raises(StoreUnavailable, match="closed") as caught:
                call()
            assert caught.value.definite
        assert work.on(other).record.state == "READY"

    def test_a_handle_is_its_own_context(self, open_handle: Any) -> None:
        with open_handle() as handle:
            assert handle.snapshot() == {}
        with pytest.raises(StoreUnavailable):
            handle.snapshot()

    def test_ids_come_from_the_given_source(self, open_handle: Any, asking: Any, driven: Any) -> None:
        prefixes: list[str] = []

        def new_id(prefix: str) -> str:
            prefixes.append(prefix)
            return f"the {prefix}"

        store = open_handle(new_id=new_id)
        work = driven(store, store.admit(request=asking()).workload.workload_id)
        assert work.claim("a", 11).claim_id == "the claim"
        assert work.attempt.attempt_id == "the attempt"
        assert sorted(prefixes) == ["attempt", "claim"]


class TestThreads:
    def test_scenario_9_same_admission(self, store: Any, other: Any, open_handle: Any, asking: Any, race: Any) -> None:
        handles = [store, other, open_handle()]
        for number in range(ROUNDS):
            request = asking(idempotency_key=str(number))
            answers = race(*(partial(handle.admit, request=request) for handle in handles))
            assert sorted(answer.created for answer in answers) == [False, False, True]
        assert list(store.snapshot().values()) == [1] * ROUNDS

    def test_scenario_9_differing_admissions(self, store: Any, other: Any, asking: Any, owner: Any, race: Any) -> None:
        for number in range(ROUNDS):
            requests = [asking(idempotency_key=str(number), input={"id": n}) for n in (1, 2)]
            answers = race(
                *(partial(handle.admit, request=r) for handle, r in zip((store, other), requests, strict=True))
            )
            assert answers.count("IDEMPOTENCY_KEY_REUSED") == 1
            winner = requests[answers.index("IDEMPOTENCY_KEY_REUSED") - 1]
            assert not store.admit(request=winner).created
        assert len(store.list_workloads(**owner)) == ROUNDS

    def test_scenario_53_recovery(self, drive: Any, other: Any, race: Any) -> None:
        for number in range(ROUNDS):
            work = drive(idempotency_key=str(number))
            work.claim("a", 11)
            answers = race(*(partial(handle.recover_expired, now_s=21) for handle in (work.store, other)))
            assert sorted(answers) == [[], [work.workload_id]]
            assert (work.version, work.states.count("RECOVERING")) == (3, 1)
            assert work.on(other).read(fresh=False) == work.record == work.read(fresh=False)

    def test_one_handle_used_by_many_threads(self, drive: Any, race: Any) -> None:
        work = drive(retry_policy={"max_attempts": 1000, "initial_delay_ms": 0})
        taken: list[int] = []

        def claim_and_fail(worker: str) -> None:
            for _ in range(25):
                # CONFLICT and NOT_READY are the lot of whoever lost the race.
                with contextlib.suppress(WorkloadError):
                    held = work.claim(worker, 11)
                    taken.append(held.fencing_token)
                    work.fail(held, 11, "timeout")

        race(*(partial(claim_and_fail, worker) for worker in "abcd"))
        attempts = work.record.attempts
        assert sorted(taken) == [attempt.fencing_token for attempt in attempts] == [*range(1, len(taken) + 1)]
        assert work.version == 1 + 2 * len(taken)

    def test_each_of_many_is_done_once(self, drive: Any, race: Any) -> None:
        works = [drive(idempotency_key=str(number)) for number in range(30)]
        wins: list[str] = []
        losses: list[str] = []

        def work_through(worker: str) -> None:
            for work in random.Random(worker).sample(works, len(works)):
                try:
                    held = work.claim(worker, 11)
                except WorkloadError as error:
                    losses.append(error.code)
                    continue
                wins.append(work.workload_id)
                work.start(held, 11)
                work.complete(held, 11, f"result of {work.workload_id}")

        race(*(partial(work_through, worker) for worker in "abcdef"))
        assert sorted(wins) == sorted(work.workload_id for work in works)
        assert len(losses) == 5 * len(works)
        assert set(losses) <= {"WORKLOAD_CONFLICT", "WORKLOAD_NOT_READY"}
        assert set(works[0].store.snapshot().values()) == {4}
