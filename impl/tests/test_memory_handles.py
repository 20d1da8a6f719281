"""Several handles and threads on one in-memory store: stale views, lost races, what a test may do to it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Admitted,
    Claim,
    Dependency,
    Grant,
    RetryPolicy,
    StoreUnavailable,
    Subject,
    Timeouts,
    Workload,
    WorkloadError,
)
from workstore.memory import WorkloadStore

AGENT = Subject(kind="agent", id="a1")
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=AGENT,
    idempotency_key="one",
    definition_id="d",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=(),
    connection_scopes=None,
    priority=None,
    retry_policy=RetryPolicy(
        max_attempts=3,
        backoff="fixed",
        initial_delay_ms=1000,
        max_delay_ms=60_000,
        retry_on=frozenset({"worker_failure", "timeout"}),
    ),
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(subject=AGENT, tenant_id="t", application_id="app", signature="s"),
)
EXECUTION_5000 = Timeouts(queue_ms=None, claim_ms=None, execution_ms=5000, heartbeat_ms=None, overall_ms=None)
LIST: dict[str, Any] = {"tenant_id": "t", "application_id": "app"}


def admit(store: WorkloadStore, **changes: Any) -> str:
    return store.admit(request=evolve(REQUEST, **changes)).workload.workload_id


def claim(store: WorkloadStore, work: str, worker: str, at: int, lease_ms: int = 10_000) -> Claim:
    return store.claim(workload_id=work, worker_id=worker, capabilities=(), lease_ms=lease_ms, now_s=at)


def fence(work: str, held: Claim) -> dict[str, Any]:
    return {
        "workload_id": work,
        "claim_id": held.claim_id,
        "worker_id": held.worker_id,
        "fencing_token": held.fencing_token,
    }


def complete(store: WorkloadStore, work: str, held: Claim, at: int, result_id: str = "r") -> Any:
    return store.complete(
        **fence(work, held), result_id=result_id, output=1, references=(), schema_version=1, now_s=at
    )


def record(store: WorkloadStore, work: str, fresh: bool = True) -> Workload:
    found = store.get(workload_id=work, fresh=fresh)
    assert found is not None
    return found.workload


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(WorkloadError) as caught:
        call()
    return str(caught.value.code)


@pytest.fixture
def store() -> WorkloadStore:
    return WorkloadStore()


# --- views


class TestViews:
    def test_scenario_52_plain_reads_may_be_behind(self, store: WorkloadStore) -> None:
        other = store.handle()
        work = admit(store)
        assert other.get(workload_id=work, fresh=False) is None
        assert other.list_workloads(**LIST, fresh=False) == []
        assert record(other, work).state == "READY"
        claim(store, work, "a", 11)
        assert record(other, work, fresh=False).state == "READY"
        assert [found.workload.state for found in other.list_workloads(**LIST)] == ["CLAIMED"]
        assert record(other, work, fresh=False).state == "CLAIMED"

    def test_scenario_52_decisions_are_made_on_committed_rows(self, store: WorkloadStore) -> None:
        other = store.handle()
        work = admit(store)
        assert not other.admit(request=REQUEST).created
        held = claim(store, work, "a", 11)
        assert code_of(lambda: claim(other, work, "b", 11)) == "WORKLOAD_NOT_READY"
        other.start(**fence(work, held), now_s=12)
        assert record(store, work).state == "RUNNING"
        assert code_of(lambda: admit(other, input={"id": 2})) == "IDEMPOTENCY_KEY_REUSED"
        assert len(other.list_workloads(**LIST, fresh=False)) == 1

    def test_results_recorded_elsewhere_are_seen_at_once(self, store: WorkloadStore) -> None:
        other = store.handle()
        work = admit(store)
        held = claim(store, work, "a", 11)
        store.start(**fence(work, held), now_s=11)
        result = complete(store, work, held, 12)
        assert complete(other, work, held, 13) == result
        second = admit(other, idempotency_key="two")
        held = claim(other, second, "a", 13)
        other.start(**fence(second, held), now_s=13)
        assert code_of(lambda: complete(other, second, held, 13)) == "WORKLOAD_RESULT_DUPLICATE"

    def test_a_new_handle_knows_what_is_committed(self, store: WorkloadStore) -> None:
        work = admit(store)
        assert record(store.handle(), work, fresh=False).state == "READY"

    def test_listing_is_by_tenant_and_application_and_in_order(self, store: WorkloadStore) -> None:
        ids = sorted(admit(store, idempotency_key=key) for key in "abcdef")
        grant = evolve(REQUEST.authorization_snapshot, tenant_id="u")
        admit(store, tenant_id="u", authorization_snapshot=grant)
        assert [found.workload.workload_id for found in store.list_workloads(**LIST)] == ids


# --- lost races, forced by pausing between decision and write


class TestPause:
    def test_scenario_52_frozen_claim(self, store: WorkloadStore) -> None:
        other = store.handle()
        work = admit(store)
        other.pause(lambda: void(claim(store, work, "a", 11)))
        assert code_of(lambda: claim(other, work, "b", 11)) == "WORKLOAD_CONFLICT"
        shown = record(other, work, fresh=False).current_claim
        assert shown is not None
        assert shown.worker_id == "a"
        assert store.snapshot() == {work: 2}

    def test_scenario_53_frozen_start_and_lost_pass(self, store: WorkloadStore) -> None:
        other = store.handle()
        work = admit(store)
        held = claim(store, work, "a", 11)
        other.pause(lambda: void(store.recover_expired(now_s=21)))
        assert code_of(lambda: other.start(**fence(work, held), now_s=20)) == "WORKLOAD_CONFLICT"
        assert record(other, work, fresh=False).state == "READY"
        assert code_of(lambda: complete(other, work, held, 20)) == "WORKLOAD_CLAIM_INVALID"
        claim(store, work, "a", 31)
        outcomes: list[list[str]] = []
        other.pause(lambda: outcomes.append(store.recover_expired(now_s=41)))
        outcomes.append(other.recover_expired(now_s=41))
        assert outcomes == [[work], []]
        assert record(other, work, fresh=False) == record(store, work)

    def test_scenario_55_frozen_completion_after_the_deadline(self, store: WorkloadStore) -> None:
        other = store.handle()
        work = admit(store, timeouts=EXECUTION_5000)
        held = claim(store, work, "a", 11)
        store.start(**fence(work, held), now_s=12)
        other.pause(lambda: void(complete(store, work, held, 16)))
        assert code_of(lambda: complete(other, work, held, 17)) == "WORKLOAD_CONFLICT"
        assert record(other, work, fresh=False).state == "SUCCEEDED"
        assert complete(other, work, held, 17) == record(store, work).result

    def test_a_pass_skips_what_it_lost_and_does_the_rest(self, store: WorkloadStore) -> None:
        other = store.handle()
        works = sorted(admit(store, idempotency_key=key, timeouts=EXECUTION_5000) for key in "abc")
        claims = {work: claim(store, work, "a", 11) for work in works}
        for work in works:
            store.start(**fence(work, claims[work]), now_s=12)
        other.pause(lambda: void(complete(store, works[1], claims[works[1]], 16)))
        assert other.enforce_deadlines(now_s=17) == [works[0], works[2]]
        assert record(store, works[1]).state == "SUCCEEDED"

    @pytest.mark.parametrize(("priority", "created"), [(None, False), (1, None)])
    def test_lost_admission_answers_by_the_replay_rules(
        self, store: WorkloadStore, priority: int | None, created: bool | None
    ) -> None:
        other = store.handle()
        other.pause(lambda: void(admit(store)))
        request = evolve(REQUEST, priority=priority)
        if created is None:
            assert code_of(lambda: other.admit(request=request)) == "IDEMPOTENCY_KEY_REUSED"
        else:
            assert other.admit(request=request).created is created
        assert list(store.snapshot().values()) == [1]
        assert len(other.list_workloads(**LIST, fresh=False)) == 1

    def test_result_id_taken_between_lookup_and_write(self, store: WorkloadStore) -> None:
        other = store.handle()
        first, second = admit(store), admit(store, idempotency_key="two")
        held = {work: claim(store, work, "a", 11) for work in (first, second)}
        for work in (first, second):
            store.start(**fence(work, held[work]), now_s=11)
        other.pause(lambda: void(complete(store, first, held[first], 12)))
        assert code_of(lambda: complete(other, second, held[second], 12)) == "WORKLOAD_RESULT_DUPLICATE"
        assert (record(store, second).state, store.snapshot()[second]) == ("RUNNING", 3)

    def test_exhausted_claim_commits_over_the_row_that_it_read(self, store: WorkloadStore) -> None:
        """Work that was re-armed meanwhile is not buried below its budget (P-09)."""
        other = store.handle()
        work = admit(store)
        store.inject(record=evolve(record(store, work), attempt_count=3), version=1)

        def bury_and_rearm() -> None:
            assert code_of(lambda: claim(store, work, "a", 11)) == "WORKLOAD_ATTEMPTS_EXHAUSTED"
            store.retry(workload_id=work, actor="o", reason=None, now_s=11)

        other.pause(bury_and_rearm)
        assert code_of(lambda: claim(other, work, "b", 11)) == "WORKLOAD_CONFLICT"
        assert record(store, work).state == "READY"

    def test_runs_once_and_only_before_a_write(self, store: WorkloadStore) -> None:
        work = admit(store)
        runs: list[int | None] = []
        store.pause(lambda: runs.append(store.snapshot()[work]))
        store.get(workload_id=work)
        assert runs == []
        held = claim(store, work, "a", 11)
        store.start(**fence(work, held), now_s=11)
        assert runs == [1]

    def test_can_be_disarmed(self, store: WorkloadStore) -> None:
        work = admit(store)
        store.pause(lambda: pytest.fail("disarmed"))
        store.pause(None)
        claim(store, work, "a", 11)

    def test_no_lock_is_held(self, store: WorkloadStore) -> None:
        work = admit(store)
        other = store.handle()

        def from_another_thread() -> None:
            thread = threading.Thread(target=lambda: claim(other, work, "b", 11), daemon=True)
            thread.start()
            thread.join(timeout=5)
            assert not thread.is_alive()

        store.pause(from_another_thread)
        assert code_of(lambda: claim(store, work, "a", 11)) == "WORKLOAD_CONFLICT"

    def test_a_row_that_came_back_with_its_old_version_is_another_row(self, store: WorkloadStore) -> None:
        work = admit(store)
        other = store.handle()
        other.pause(lambda: store.inject(record=evolve(record(store, work), priority=9), version=1))
        assert code_of(lambda: claim(other, work, "b", 11)) == "WORKLOAD_CONFLICT"
        assert record(store, work).priority == 9

    def test_dependency_and_claim_are_read_together(self, store: WorkloadStore) -> None:
        needed = admit(store, idempotency_key="needed")
        dependency = Dependency(workload_id=needed, required_state="READY")
        work = admit(store, dependencies=(dependency,))
        assert claim(store.handle(), work, "a", 11).fencing_token == 1


def void(_: object) -> None:
    """Drop an answer, for a callback that must have none."""


# --- what a test may do to a store


class TestAbilities:
    def test_reset_leaves_no_trace(self, store: WorkloadStore) -> None:
        other = store.handle()
        work = admit(store)
        held = claim(store, work, "a", 11)
        store.start(**fence(work, held), now_s=11)
        complete(store, work, held, 12)
        other.list_workloads(**LIST)
        other.pause(lambda: pytest.fail("left over"))
        store.reset()
        for handle in (store, other):
            assert handle.snapshot() == {}
            assert handle.get(workload_id=work, fresh=False) is None
            assert handle.get(workload_id=work) is None
            assert handle.list_workloads(**LIST, fresh=False) == []
        # Neither the key, nor the tokens, nor the result id are taken any more.
        assert other.admit(request=evolve(REQUEST, priority=3)).created
        assert claim(other, work, "a", 11).fencing_token == 1
        second = admit(other, idempotency_key="two")
        held = claim(other, second, "a", 11)
        other.start(**fence(second, held), now_s=11)
        assert complete(other, second, held, 11).result_id == "r"

    def test_inject_replaces_row_and_indexes(self, store: WorkloadStore) -> None:
        work = admit(store)
        held = claim(store, work, "a", 11)
        store.start(**fence(work, held), now_s=11)
        complete(store, work, held, 12)
        moved = evolve(record(store, work), result=None, idempotency_key="moved", state="READY")
        store.inject(record=moved, version=41)
        assert store.snapshot() == {work: 41}
        second = admit(store, idempotency_key="two")
        held = claim(store, second, "a", 11)
        store.start(**fence(second, held), now_s=11)
        assert complete(store, second, held, 12).result_id == "r"

    def test_inject_keeps_a_copy(self, store: WorkloadStore) -> None:
        given = evolve(record(store, admit(store)), input={"id": [1]})
        store.inject(record=given, version=1)
        assert isinstance(given.input, dict)
        given.input["id"] = 2
        assert record(store, given.workload_id).input == {"id": [1]}

    @pytest.mark.parametrize(("what", "version"), [("no record", 1), (None, 1), (..., "1"), (..., True)])
    def test_inject_refuses_wrong_types(self, store: WorkloadStore, what: Any, version: Any) -> None:
        given = record(store, admit(store)) if what is ... else what
        with pytest.raises(TypeError):
            store.inject(record=given, version=version)

    def test_closed_handles(self, store: WorkloadStore) -> None:
        other = store.handle()
        work = admit(store)
        store.close()
        store.close()
        for call in (
            lambda: store.get(workload_id=work),
            lambda: claim(store, work, "a", 11),
            lambda: admit(store, idempotency_key="two"),
            store.snapshot,
            store.reset,
        ):
            with pytest.raises(StoreUnavailable) as caught:
                call()
            assert caught.value.definite
        assert record(other, work).state == "READY"

    def test_ids_come_from_the_given_source(self) -> None:
        numbers = iter(range(100))
        store = WorkloadStore(new_id=lambda prefix: f"{prefix}_{next(numbers)}")
        work = admit(store)
        held = claim(store.handle(), work, "a", 11)
        assert held.claim_id == "claim_0"
        assert record(store, work).attempts[0].attempt_id == "attempt_1"


# --- threads


def race(*calls: Callable[[], object]) -> list[object]:
    """Run the calls at once; their answers, or the codes of their refusals, in order."""
    barrier = threading.Barrier(len(calls))
    answers: list[object] = [None] * len(calls)

    def run(index: int, call: Callable[[], object]) -> None:
        barrier.wait(timeout=10)
        try:
            answers[index] = call()
        except WorkloadError as error:
            answers[index] = error.code

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    return answers


@pytest.mark.parametrize("round_", range(20))
class TestThreads:
    def test_scenario_9_same_admission(self, store: WorkloadStore, round_: int) -> None:
        handles = [store, store.handle(), store.handle()]
        answers = race(*(partial(handle.admit, request=REQUEST) for handle in handles))
        admitted = [answer for answer in answers if isinstance(answer, Admitted)]
        assert sorted(answer.created for answer in admitted) == [False, False, True], round_
        assert list(store.snapshot().values()) == [1]

    def test_scenario_9_differing_admissions(self, store: WorkloadStore, round_: int) -> None:
        other = store.handle()
        answers = race(lambda: store.admit(request=REQUEST), lambda: admit(other, input={"id": 2}))
        assert answers.count("IDEMPOTENCY_KEY_REUSED") == 1, round_
        winner = {"id": 1} if answers[1] == "IDEMPOTENCY_KEY_REUSED" else {"id": 2}
        assert [found.workload.input for found in store.list_workloads(**LIST)] == [winner]

    def test_scenario_53_recovery_race(self, store: WorkloadStore, round_: int) -> None:
        other = store.handle()
        work = admit(store)
        claim(store, work, "a", 11)
        answers = race(lambda: store.recover_expired(now_s=21), lambda: other.recover_expired(now_s=21))
        assert sorted(map(str, answers)) == sorted([str([work]), "[]"]), round_
        history = record(store, work).execution_history
        assert [event.to_state for event in history].count("RECOVERING") == 1
        assert record(other, work, fresh=False) == record(store, work) == record(store, work, fresh=False)


def test_one_handle_used_by_many_threads(store: WorkloadStore) -> None:
    assert REQUEST.retry_policy is not None
    work = admit(store, retry_policy=evolve(REQUEST.retry_policy, max_attempts=1000, initial_delay_ms=0))
    taken: list[int] = []

    def claim_and_fail(worker: str) -> None:
        for _ in range(25):
            # CONFLICT and NOT_READY are the lot of whoever lost the race.
            with contextlib.suppress(WorkloadError):
                held = claim(store, work, worker, 11)
                taken.append(held.fencing_token)
                store.fail(**fence(work, held), kind="timeout", error="x", effect=None, now_s=11)

    race(*(partial(claim_and_fail, worker) for worker in "abcd"))
    attempts = record(store, work).attempts
    assert sorted(taken) == [attempt.fencing_token for attempt in attempts] == [*range(1, len(taken) + 1)]
    assert store.snapshot()[work] == 1 + 2 * len(taken)
